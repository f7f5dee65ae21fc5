/* What srt 0.0.83 takes, key by key, in the order in which it complains. The
 * texts are srt's own, so that whoever knows or parses them is not surprised. */
#include "policy/srt_schema.h"

#include "policy/srt_host.h"
#include "policy/srt_regex.h"
#include "policy/srt_rules.h"

#define DOMAIN_TEXT                                                                                                  \
    "Invalid domain pattern. Must be a valid domain (e.g., \"example.com\"), a wildcard (e.g., \"*.example.com\"), " \
    "or a bracketed IPv6 literal (e.g., \"[::1]\", \"[2001:db8::1]:443\"). Overly broad patterns like \"*.com\" or " \
    "\"*\" are not allowed for security reasons."

static const char *judge_domain(struct arena *arena, struct slice value)
{
    (void)arena;
    return srt_domain_is_valid(value) ? NULL : DOMAIN_TEXT;
}

static const char *judge_allowed_domain(struct arena *arena, struct slice value)
{
    return srt_allowed_domain_is_valid(arena, value) ? NULL
                                                     : DOMAIN_TEXT
               " An optional \":port\" suffix (1-65535) restricts the entry to that port.";
}

static const char *judge_denied_domain(struct arena *arena, struct slice value)
{
    return srt_denied_domain_is_valid(arena, value) ? NULL
                                                    : DOMAIN_TEXT
               " In deniedDomains a bare \"*\" (deny-all) is also accepted, and an optional \":port\" "
               "suffix (1-65535) restricts the entry to that port.";
}

static const char *judge_address_range(struct arena *arena, struct slice value)
{
    (void)arena;
    return srt_address_range_is_valid(value)
               ? NULL
               : "Invalid IP address or CIDR range. Use an IPv4/IPv6 literal or CIDR, e.g. \"10.0.0.0/8\", "
                 "\"192.168.1.10\", \"fc00::/7\" (IPv6 unbracketed).";
}

static const char *judge_binary(struct arena *arena, struct slice value)
{
    (void)arena;
    return slice_starts(value, SLICE("/")) ? NULL : "Binary path must be absolute";
}

static const char *judge_url(struct arena *arena, struct slice value)
{
    return srt_url_parse(arena, value, NULL) ? NULL : "Invalid url";
}

static bool is_hex(char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}

static const char *judge_uuid(struct arena *arena, struct slice value)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    bool good = value.len == sizeof(form) - 1;

    (void)arena;
    for (size_t i = 0; good && i < value.len; i++)
        good = form[i] == 'x' ? is_hex(value.ptr[i]) : value.ptr[i] == form[i];
    return good ? NULL : "Invalid uuid";
}

static const char *judge_variable(struct arena *arena, struct slice value)
{
    bool good = value.len > 0;

    (void)arena;
    for (size_t i = 0; good && i < value.len; i++) {
        char byte = value.ptr[i];
        good = byte == '_' || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
               (i > 0 && byte >= '0' && byte <= '9');
    }
    return good ? NULL
                : "Environment variable name must start with a letter or underscore and contain only letters, digits, "
                  "and underscores";
}

static const char *judge_mach_name(struct arena *arena, struct slice value)
{
    (void)arena;
    return slice_find(value, '*') + 1 >= value.len
               ? NULL
               : "Wildcards are only allowed as a single trailing \"*\" (e.g., \"com.example.*\" or \"*\" for all "
                 "services).";
}

static const char *judge_extract(struct arena *arena, struct slice value)
{
    size_t groups = 0;
    const char *problem = srt_regex_check(arena, value, &groups);

    if (problem)
        return arena_printf(arena, "extract is not a valid regular expression: Invalid regular expression: /%s/: %s",
                            srt_shown(arena, value), problem);
    if (groups == 0)
        return "extract must contain at least one capturing group — group 1 is the credential value to mask (e.g. "
               "\"token:\\s*(\\S+)\").";
    return NULL;
}

static bool has_text(const json_t *object, const char *key)
{
    return json_string_length(json_object_get(object, key)) > 0;
}

static const char *judge_tls(const json_t *value)
{
    return has_text(value, "caCertPath") == has_text(value, "caKeyPath")
               ? NULL
               : "caCertPath and caKeyPath must be provided together";
}

static const char *judge_port_range(const json_t *value)
{
    double low = json_number_value(json_array_get(value, 0));
    double high = json_number_value(json_array_get(value, 1));

    return low <= high && high - low <= 64 ? NULL : "low must be ≤ high and range width ≤ 64";
}

static const struct srt_schema boolean = {.kind = SRT_BOOLEAN};
static const struct srt_schema string = {.kind = SRT_STRING};
static const struct srt_schema text = {.kind = SRT_STRING, .minimum = 1};
static const struct srt_schema strings = {.kind = SRT_LIST, .item = &string};
static const struct srt_schema texts = {.kind = SRT_LIST, .item = &text};
static const struct srt_schema path = {.kind = SRT_STRING, .minimum = 1, .too_short = "Path cannot be empty"};
static const struct srt_schema binary = {
    .kind = SRT_STRING, .minimum = 1, .too_short = "Path cannot be empty", .judge_string = judge_binary};
static const struct srt_schema variable = {.kind = SRT_STRING, .judge_string = judge_variable};
static const struct srt_schema url = {.kind = SRT_STRING, .judge_string = judge_url};
static const struct srt_schema uuid = {.kind = SRT_STRING, .judge_string = judge_uuid};
static const struct srt_schema port = {.kind = SRT_INTEGER, .minimum = 1, .maximum = 65535};
static const struct srt_schema function = {.kind = SRT_FUNCTION};

static const struct srt_schema domain = {.kind = SRT_STRING, .judge_string = judge_domain};
static const struct srt_schema domains = {.kind = SRT_LIST, .item = &domain};
static const struct srt_schema some_domains = {.kind = SRT_LIST, .item = &domain, .minimum = 1};
static const struct srt_schema allowed_domain = {
    .kind = SRT_STRING, .judge_string = judge_allowed_domain, .any_when_extended = true};
static const struct srt_schema allowed_domains = {.kind = SRT_LIST, .item = &allowed_domain};
static const struct srt_schema denied_domain = {.kind = SRT_STRING, .judge_string = judge_denied_domain};
static const struct srt_schema denied_domains = {.kind = SRT_LIST, .item = &denied_domain};
static const struct srt_schema reasons = {.kind = SRT_MAP, .item = &text};
static const struct srt_schema address_range = {.kind = SRT_STRING, .judge_string = judge_address_range};
static const struct srt_schema address_ranges = {.kind = SRT_LIST, .item = &address_range};
static const struct srt_schema mach_name = {.kind = SRT_STRING, .judge_string = judge_mach_name};
static const struct srt_schema mach_names = {.kind = SRT_LIST, .item = &mach_name};

static const struct srt_schema mitm_proxy = {
    .kind = SRT_OBJECT,
    .keys = (const struct srt_key[]){{"socketPath", &text, true}, {"domains", &some_domains, true}, {0}}};

static const struct srt_schema parent_proxy = {
    .kind = SRT_OBJECT,
    .keys = (const struct srt_key[]){{"http", &url, false}, {"https", &url, false}, {"noProxy", &string, false}, {0}}};

static const struct srt_schema max_tunnels = {.kind = SRT_INTEGER, .minimum = 1, .maximum = 65536};
static const struct srt_schema handshake = {.kind = SRT_INTEGER, .minimum = 100, .maximum = 600000};
static const struct srt_schema tls_terminate = {.kind = SRT_OBJECT,
                                                .judge = judge_tls,
                                                .keys =
                                                    (const struct srt_key[]){{"caCertPath", &text, false},
                                                                             {"caKeyPath", &text, false},
                                                                             {"excludeDomains", &domains, false},
                                                                             {"extraCaCertPaths", &texts, false},
                                                                             {"maxTunnels", &max_tunnels, false},
                                                                             {"handshakeTimeoutMs", &handshake, false},
                                                                             {0}}};

static const struct srt_schema ambiguous = {.kind = SRT_WORD,
                                            .words = (const char *const[]){"refuse", "asSpelled", "normalize", NULL}};

static const struct srt_schema network = {
    .kind = SRT_OBJECT,
    .keys = (const struct srt_key[]){{"allowedDomains", &allowed_domains, true},
                                     {"deniedDomains", &denied_domains, true},
                                     {"deniedDomainReasons", &reasons, false},
                                     {"strictAllowlist", &boolean, false},
                                     {"deniedResolvedAddresses", &address_ranges, false},
                                     {"allowUnixSockets", &strings, false},
                                     {"allowAllUnixSockets", &boolean, false},
                                     {"allowLocalBinding", &boolean, false},
                                     {"allowMachLookup", &mach_names, false},
                                     {"httpProxyPort", &port, false},
                                     {"socksProxyPort", &port, false},
                                     {"mitmProxy", &mitm_proxy, false},
                                     {"filterRequest", &function, false},
                                     {"allowPlaintextHeaderSet", &boolean, false},
                                     {"stripResponseHeaders", &texts, false},
                                     {"refuseOpaqueTunnels", &boolean, false},
                                     {"requireHostMatch", &boolean, false},
                                     {"ambiguousRequestTarget", &ambiguous, false},
                                     {"tlsTerminate", &tls_terminate, false},
                                     {"parentProxy", &parent_proxy, false},
                                     {0}}};

static const struct srt_schema marked_path = {
    .kind = SRT_OBJECT,
    .strict = true,
    .keys = (const struct srt_key[]){{"path", &path, true}, {"literal", &boolean, true}, {0}}};
static const struct srt_schema path_entry = {.kind = SRT_PATH_ENTRY, .item = &path, .second = &marked_path};
static const struct srt_schema path_entries = {.kind = SRT_LIST, .item = &path_entry};

static const struct srt_schema filesystem = {.kind = SRT_OBJECT,
                                             .keys = (const struct srt_key[]){{"disabled", &boolean, false},
                                                                              {"denyRead", &path_entries, true},
                                                                              {"allowRead", &path_entries, false},
                                                                              {"allowWrite", &path_entries, true},
                                                                              {"denyWrite", &path_entries, true},
                                                                              {"allowGitConfig", &boolean, false},
                                                                              {0}}};

static const struct srt_schema mode = {.kind = SRT_WORD, .words = (const char *const[]){"deny", "mask", NULL}};
static const struct srt_schema extract = {.kind = SRT_STRING, .judge_string = judge_extract};
static const struct srt_schema no_match = {.kind = SRT_WORD,
                                           .words = (const char *const[]){"warn", "deny", "error", NULL}};
static const struct srt_schema decode = {.kind = SRT_WORD, .words = (const char *const[]){"jwt", NULL}};

static const struct srt_schema credential_file = {.kind = SRT_OBJECT,
                                                  .keys =
                                                      (const struct srt_key[]){{"path", &path, true},
                                                                               {"mode", &mode, true},
                                                                               {"extract", &extract, false},
                                                                               {"onExtractNoMatch", &no_match, false},
                                                                               {"decode", &decode, false},
                                                                               {"maskClaims", &texts, false},
                                                                               {"maskDuplicates", &boolean, false},
                                                                               {"injectHosts", &domains, false},
                                                                               {0}}};
static const struct srt_schema credential_files = {.kind = SRT_LIST, .item = &credential_file};

static const struct srt_schema credential_variable = {
    .kind = SRT_OBJECT,
    .keys = (const struct srt_key[]){{"name", &variable, true},
                                     {"mode", &mode, true},
                                     {"extract", &extract, false},
                                     {"onExtractNoMatch", &no_match, false},
                                     {"decode", &decode, false},
                                     {"maskClaims", &texts, false},
                                     {"injectHosts", &domains, false},
                                     {0}}};
static const struct srt_schema credential_variables = {.kind = SRT_LIST, .item = &credential_variable};

static const struct srt_schema aws_pair = {.kind = SRT_OBJECT,
                                           .strict = true,
                                           .keys = (const struct srt_key[]){{"accessKeyIdVar", &variable, true},
                                                                            {"secretAccessKeyVar", &variable, true},
                                                                            {"sessionTokenVar", &variable, false},
                                                                            {0}}};
static const struct srt_schema aws_pairs = {.kind = SRT_LIST, .item = &aws_pair};

static const struct srt_schema signing = {.kind = SRT_WORD,
                                          .words = (const char *const[]){"deny", "passthrough", NULL}};
static const struct srt_schema sigv4 = {
    .kind = SRT_OBJECT,
    .strict = true,
    .keys = (const struct srt_key[]){
        {"streaming", &signing, false}, {"presigned", &signing, false}, {"sigv4a", &signing, false}, {0}}};

static const struct srt_schema credentials = {.kind = SRT_OBJECT,
                                              .strict = true,
                                              .keys =
                                                  (const struct srt_key[]){{"files", &credential_files, false},
                                                                           {"envVars", &credential_variables, false},
                                                                           {"allowPlaintextInject", &boolean, false},
                                                                           {"awsPairs", &aws_pairs, false},
                                                                           {"sigv4", &sigv4, false},
                                                                           {0}}};

static const struct srt_schema ignore_violations = {.kind = SRT_MAP, .item = &strings};
static const struct srt_schema ripgrep = {
    .kind = SRT_OBJECT,
    .keys = (const struct srt_key[]){
        {"command", &string, true}, {"args", &strings, false}, {"argv0", &string, false}, {0}}};
static const struct srt_schema search_depth = {.kind = SRT_INTEGER, .minimum = 1, .maximum = 10};
static const struct srt_schema seccomp = {
    .kind = SRT_OBJECT,
    .keys = (const struct srt_key[]){{"applyPath", &string, false}, {"argv0", &string, false}, {0}}};
static const struct srt_schema git = {.kind = SRT_OBJECT,
                                      .keys = (const struct srt_key[]){{"safeDirectories", &strings, false}, {0}}};

static const struct srt_schema backend = {.kind = SRT_WORD, .words = (const char *const[]){"mxc", "srt-win", NULL}};
static const struct srt_schema sandbox_user = {.kind = SRT_STRING,
                                               .minimum = 1,
                                               .maximum = 20,
                                               .too_long = "Windows local usernames are limited to 20 characters"};
static const struct srt_schema low_port = {.kind = SRT_INTEGER, .minimum = 1};
static const struct srt_schema high_port = {.kind = SRT_INTEGER, .maximum = 65535};
static const struct srt_schema port_range = {
    .kind = SRT_PAIR, .item = &low_port, .second = &high_port, .judge = judge_port_range};
static const struct srt_schema srt_win = {.kind = SRT_OBJECT,
                                          .keys = (const struct srt_key[]){{"path", &text, true}, {0}}};
static const struct srt_schema windows = {.kind = SRT_OBJECT,
                                          .keys = (const struct srt_key[]){{"backend", &backend, false},
                                                                           {"sandboxUser", &sandbox_user, false},
                                                                           {"sublayerGuid", &uuid, false},
                                                                           {"wfpSublayerGuid", &uuid, false},
                                                                           {"proxyPortRange", &port_range, false},
                                                                           {"srtWin", &srt_win, false},
                                                                           {0}}};

const struct srt_schema srt_settings = {.kind = SRT_OBJECT,
                                        .keys =
                                            (const struct srt_key[]){{"network", &network, true},
                                                                     {"filesystem", &filesystem, true},
                                                                     {"credentials", &credentials, false},
                                                                     {"ignoreViolations", &ignore_violations, false},
                                                                     {"enableWeakerNestedSandbox", &boolean, false},
                                                                     {"allowNestedUserNamespaces", &boolean, false},
                                                                     {"enableWeakerNetworkIsolation", &boolean, false},
                                                                     {"allowAppleEvents", &boolean, false},
                                                                     {"ripgrep", &ripgrep, false},
                                                                     {"mandatoryDenySearchDepth", &search_depth, false},
                                                                     {"allowPty", &boolean, false},
                                                                     {"seccomp", &seccomp, false},
                                                                     {"bwrapPath", &binary, false},
                                                                     {"socatPath", &binary, false},
                                                                     {"javaAgentJarPath", &binary, false},
                                                                     {"windows", &windows, false},
                                                                     {"git", &git, false},
                                                                     {0}}};
