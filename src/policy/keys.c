/* Every key, object by object, in the order of the manual. A row says what the
 * value may be, where it goes, and what a person has to know about it; apply.c
 * does the rest. A key that is not here does not exist. */
#include "policy/keys.h"

#include "policy/loader.h"

#include <stddef.h>

#define AT(field) offsetof(struct policy, field)

static const char *const read_mode_words[] = {"all", "listed", NULL};
static const char *const tmp_words[] = {"private", "session", "host", NULL};
static const char *const caches_words[] = {"private", "host", "none", NULL};
static const char *const network_mode_words[] = {"none", "filtered", "host", NULL};
static const char *const target_words[] = {"refuse", "asSpelled", "normalize", NULL};
static const char *const access_words[] = {"none", "read", "write", "deny", "ro-bind", "bind", "ro-bind-null", NULL};
static const char *const watch_words[] = {"writes", "all", "off", NULL};
static const char *const credential_mode_words[] = {"deny", "mask", NULL};
static const char *const no_match_words[] = {"warn", "deny", "error", NULL};
static const char *const decode_words[] = {"jwt", NULL};
static const char *const sigv4_words[] = {"deny", "passthrough", NULL};
static const char *const windows_words[] = {"mxc", "srt-win", NULL};
static const char *const capability_words[] = {"none", "files", NULL};

static const char macos_only[] = "it is for macOS and does nothing on Linux";
static const char windows_only[] = "it is for Windows and does nothing on Linux";
static const char goes_with_code[] = "it goes with filterRequest, which only the library can take";
static const char no_helper[] = "cloche is one binary and starts no such helper";
static const char masking[] = "credential masking";
static const char signing[] = "signing AWS requests anew";

static const struct key entry_keys[] = {
    {.name = "path", .type = KEY_TEXT, .flags = KEY_IN_SRT | KEY_REQUIRED, .about = "a path"},
    {.name = "literal", .type = KEY_BOOLEAN, .flags = KEY_IN_SRT},
    {.name = NULL},
};

static const struct key read_entry_keys[] = {
    {.name = "path", .type = KEY_TEXT, .flags = KEY_IN_SRT | KEY_REQUIRED, .about = "a path"},
    {.name = "literal", .type = KEY_BOOLEAN, .flags = KEY_IN_SRT},
    {.name = "atStart", .type = KEY_BOOLEAN},
    {.name = NULL},
};

static const struct key filesystem_keys[] = {
    {.name = "readMode",
     .type = KEY_WORD,
     .words = read_mode_words,
     .offset = AT(filesystem.read_mode),
     .origin_offset = AT(filesystem.read_mode_origin)},
    {.name = "platformDefaults", .type = KEY_BOOLEAN, .offset = AT(filesystem.platform_defaults)},
    {.name = "allowRead",
     .type = KEY_PATHS,
     .flags = KEY_IN_SRT | KEY_STRICT,
     .list = LIST_ALLOW_READ,
     .children = read_entry_keys},
    {.name = "denyRead",
     .type = KEY_PATHS,
     .flags = KEY_IN_SRT | KEY_STRICT,
     .list = LIST_DENY_READ,
     .children = read_entry_keys},
    {.name = "allowWrite",
     .type = KEY_PATHS,
     .flags = KEY_IN_SRT | KEY_STRICT,
     .list = LIST_ALLOW_WRITE,
     .children = entry_keys},
    {.name = "denyWrite",
     .type = KEY_PATHS,
     .flags = KEY_IN_SRT | KEY_STRICT,
     .list = LIST_DENY_WRITE,
     .children = entry_keys},
    {.name = "protect", .type = KEY_NAMES, .offset = AT(filesystem.protect), .check = protected_name_check},
    {.name = "mandatoryDenyWrite", .type = KEY_NAMES, .offset = AT(filesystem.protect), .check = protected_name_check},
    {.name = "unprotect", .type = KEY_NAMES, .offset = AT(filesystem.unprotect), .check = protected_name_check},
    {.name = "tmp", .type = KEY_WORD, .words = tmp_words, .offset = AT(filesystem.tmp)},
    {.name = "caches", .type = KEY_WORD, .words = caches_words, .offset = AT(filesystem.caches)},
    {.name = "devices", .type = KEY_FILES, .offset = AT(filesystem.devices), .check = device_check},
    {.name = "allowGitConfig", .type = KEY_BOOLEAN, .flags = KEY_IN_SRT, .offset = AT(filesystem.allow_git_config)},
    {.name = "disabled", .type = KEY_BOOLEAN, .flags = KEY_IN_SRT, .offset = AT(filesystem.disabled)},
    {.name = NULL},
};

static const struct key when_keys[] = {
    {.name = "command", .type = KEY_TEXT},
    {.name = "project", .type = KEY_TEXT},
    {.name = "user", .type = KEY_TEXT},
    {.name = "host", .type = KEY_TEXT},
    {.name = "env", .type = KEY_TEXT, .about = "NAME or NAME=VALUE"},
    {.name = "exists", .type = KEY_TEXT, .about = "a path"},
    {.name = NULL},
};

static const struct key rule_keys[] = {
    {.name = "path", .type = KEY_TEXT, .flags = KEY_REQUIRED, .about = "a path"},
    {.name = "access", .type = KEY_WORD, .flags = KEY_REQUIRED, .words = access_words},
    {.name = "required", .type = KEY_BOOLEAN},
    {.name = "when", .type = KEY_OBJECT, .children = when_keys},
    {.name = NULL},
};

static const struct key mitm_keys[] = {
    {.name = "socketPath", .type = KEY_TEXT, .flags = KEY_IN_SRT | KEY_REQUIRED, .about = "the path of a socket"},
    {.name = "domains",
     .type = KEY_HOSTS,
     .flags = KEY_IN_SRT | KEY_REQUIRED | KEY_NOT_EMPTY,
     .offset = AT(network.mitm_proxy.domains)},
    {.name = NULL},
};

static const struct key parent_proxy_keys[] = {
    {.name = "http",
     .type = KEY_TEXT,
     .flags = KEY_IN_SRT,
     .about = "a proxy's URL",
     .offset = AT(network.parent_proxy.http)},
    {.name = "https",
     .type = KEY_TEXT,
     .flags = KEY_IN_SRT,
     .about = "a proxy's URL",
     .offset = AT(network.parent_proxy.https)},
    {.name = "noProxy",
     .type = KEY_TEXT,
     .flags = KEY_IN_SRT | KEY_MAY_BE_EMPTY,
     .offset = AT(network.parent_proxy.no_proxy)},
    {.name = NULL},
};

static const struct key tls_keys[] = {
    {.name = "caCertPath", .type = KEY_TEXT, .flags = KEY_IN_SRT, .about = "a path"},
    {.name = "caKeyPath", .type = KEY_TEXT, .flags = KEY_IN_SRT, .about = "a path"},
    {.name = "excludeDomains", .type = KEY_HOSTS, .flags = KEY_IN_SRT},
    {.name = "extraCaCertPaths", .type = KEY_TEXTS, .flags = KEY_IN_SRT},
    {.name = "maxTunnels", .type = KEY_INTEGER, .flags = KEY_IN_SRT, .least = 1, .most = 65536},
    {.name = "handshakeTimeoutMs", .type = KEY_INTEGER, .flags = KEY_IN_SRT, .least = 100, .most = 600000},
    {.name = NULL},
};

static const struct key network_keys[] = {
    {.name = "mode",
     .type = KEY_WORD,
     .words = network_mode_words,
     .offset = AT(network.mode),
     .origin_offset = AT(network.mode_origin)},
    {.name = "allowedDomains", .type = KEY_HOSTS, .flags = KEY_IN_SRT, .offset = AT(network.allowed)},
    {.name = "deniedDomains", .type = KEY_HOSTS, .flags = KEY_IN_SRT, .offset = AT(network.denied)},
    {.name = "deniedDomainReasons", .type = KEY_MAP, .flags = KEY_IN_SRT, .apply = reasons_apply},
    {.name = "strictAllowlist", .type = KEY_BOOLEAN, .flags = KEY_IN_SRT},
    {.name = "deniedResolvedAddresses",
     .type = KEY_HOSTS,
     .flags = KEY_IN_SRT,
     .check = address_range_check,
     .offset = AT(network.denied_resolved)},
    {.name = "hostPorts", .type = KEY_PORTS, .offset = AT(network.host_ports)},
    {.name = "publishPorts", .type = KEY_PORTS, .offset = AT(network.publish_ports)},
    {.name = "allowUnixSockets",
     .type = KEY_FILES,
     .flags = KEY_IN_SRT | KEY_SRT_IGNORES,
     .offset = AT(network.unix_sockets)},
    {.name = "allowAllUnixSockets",
     .type = KEY_BOOLEAN,
     .flags = KEY_IN_SRT,
     .offset = AT(network.allow_all_unix_sockets),
     .origin_offset = AT(network.all_unix_origin)},
    {.name = "unixDatagram",
     .type = KEY_BOOLEAN,
     .offset = AT(network.unix_datagram),
     .origin_offset = AT(network.unix_datagram_origin)},
    {.name = "allowLocalBinding",
     .type = KEY_BOOLEAN,
     .flags = KEY_IN_SRT,
     .no_effect = "a command has a loopback of its own here and may always bind to it"},
    {.name = "allowMachLookup", .type = KEY_TEXTS, .flags = KEY_IN_SRT | KEY_MAY_BE_EMPTY, .no_effect = macos_only},
    {.name = "httpProxyPort",
     .type = KEY_INTEGER,
     .flags = KEY_IN_SRT,
     .least = 1,
     .most = 65535,
     .offset = AT(network.http_proxy_port)},
    {.name = "socksProxyPort",
     .type = KEY_INTEGER,
     .flags = KEY_IN_SRT,
     .least = 1,
     .most = 65535,
     .offset = AT(network.socks_proxy_port)},
    {.name = "mitmProxy", .type = KEY_OBJECT, .flags = KEY_IN_SRT, .children = mitm_keys, .apply = mitm_proxy_apply},
    {.name = "parentProxy",
     .type = KEY_OBJECT,
     .flags = KEY_IN_SRT,
     .children = parent_proxy_keys,
     .origin_offset = AT(network.parent_proxy.origin)},
    {.name = "filterRequest", .type = KEY_CODE, .flags = KEY_IN_SRT},
    {.name = "allowPlaintextHeaderSet", .type = KEY_BOOLEAN, .flags = KEY_IN_SRT, .no_effect = goes_with_code},
    {.name = "ambiguousRequestTarget",
     .type = KEY_WORD,
     .flags = KEY_IN_SRT,
     .words = target_words,
     .no_effect = goes_with_code},
    {.name = "stripResponseHeaders",
     .type = KEY_TEXTS,
     .flags = KEY_IN_SRT,
     .unbuilt = "taking headers out of responses"},
    {.name = "refuseOpaqueTunnels",
     .type = KEY_BOOLEAN,
     .flags = KEY_IN_SRT,
     .offset = AT(network.refuse_opaque_tunnels)},
    {.name = "requireHostMatch", .type = KEY_BOOLEAN, .flags = KEY_IN_SRT, .offset = AT(network.require_host_match)},
    {.name = "tlsTerminate",
     .type = KEY_OBJECT,
     .flags = KEY_IN_SRT,
     .children = tls_keys,
     .apply = tls_apply,
     .unbuilt = "TLS termination"},
    {.name = "enableProxy", .type = KEY_BOOLEAN, .apply = enable_proxy_apply},
    {.name = NULL},
};

static const struct key environment_keys[] = {
    {.name = "pass",
     .type = KEY_NAMES,
     .offset = AT(environment.pass),
     .check = environment_pattern_check,
     .apply = environment_pass_apply},
    {.name = "deny", .type = KEY_NAMES, .offset = AT(environment.deny), .check = environment_pattern_check},
    {.name = "set", .type = KEY_MAP, .apply = environment_set_apply},
    {.name = NULL},
};

static const struct key seccomp_keys[] = {
    {.name = "enabled", .type = KEY_BOOLEAN, .offset = AT(seccomp.enabled)},
    {.name = "blockUnixSockets", .type = KEY_BOOLEAN, .offset = AT(seccomp.block_unix_sockets)},
    {.name = "allow", .type = KEY_NAMES, .offset = AT(seccomp.allow), .check = system_call_check},
    {.name = "deny", .type = KEY_NAMES, .offset = AT(seccomp.deny), .check = system_call_check},
    {.name = "applyPath", .type = KEY_TEXT, .flags = KEY_IN_SRT | KEY_MAY_BE_EMPTY, .no_effect = no_helper},
    {.name = "argv0", .type = KEY_TEXT, .flags = KEY_IN_SRT | KEY_MAY_BE_EMPTY, .no_effect = no_helper},
    {.name = NULL},
};

enum {
    PROCESSES_MAX = 4194304, /* the kernel's PID_MAX_LIMIT */
    OPEN_FILES_MAX = 1048576,
    YEAR_SECONDS = 365 * 24 * 3600
};

static const struct key limits_keys[] = {
    {.name = "memory", .type = KEY_SIZE, .offset = AT(limits.memory), .origin_offset = AT(limits.memory_origin)},
    {.name = "processes",
     .type = KEY_INTEGER,
     .most = PROCESSES_MAX,
     .offset = AT(limits.processes),
     .origin_offset = AT(limits.processes_origin)},
    {.name = "wallSeconds",
     .type = KEY_INTEGER,
     .most = YEAR_SECONDS,
     .offset = AT(limits.wall_seconds),
     .origin_offset = AT(limits.wall_seconds_origin)},
    {.name = "fileSize",
     .type = KEY_SIZE,
     .offset = AT(limits.file_size),
     .origin_offset = AT(limits.file_size_origin)},
    {.name = "openFiles",
     .type = KEY_INTEGER,
     .most = OPEN_FILES_MAX,
     .offset = AT(limits.open_files),
     .origin_offset = AT(limits.open_files_origin)},
    {.name = NULL},
};

static const struct key violation_keys[] = {
    {.name = "enableDetection", .type = KEY_BOOLEAN, .offset = AT(violation.detection)},
    {.name = "watch", .type = KEY_WORD, .words = watch_words, .offset = AT(violation.watch)},
    {.name = "logViolations", .type = KEY_BOOLEAN, .offset = AT(violation.log)},
    {.name = "violationLogPath",
     .type = KEY_TEXT,
     .about = "a path",
     .apply = log_path_apply,
     .origin_offset = AT(violation.log_path_origin)},
    {.name = "chain", .type = KEY_BOOLEAN, .offset = AT(violation.chain)},
    {.name = "useStrace", .type = KEY_BOOLEAN, .no_effect = "what is refused is seen without strace"},
    {.name = NULL},
};

static const struct key credential_file_keys[] = {
    {.name = "path", .type = KEY_TEXT, .flags = KEY_IN_SRT | KEY_REQUIRED, .about = "a path"},
    {.name = "mode", .type = KEY_WORD, .flags = KEY_IN_SRT | KEY_REQUIRED, .words = credential_mode_words},
    {.name = "extract", .type = KEY_TEXT, .flags = KEY_IN_SRT, .about = "a regular expression"},
    {.name = "onExtractNoMatch", .type = KEY_WORD, .flags = KEY_IN_SRT, .words = no_match_words},
    {.name = "decode", .type = KEY_WORD, .flags = KEY_IN_SRT, .words = decode_words},
    {.name = "maskClaims", .type = KEY_TEXTS, .flags = KEY_IN_SRT},
    {.name = "maskDuplicates", .type = KEY_BOOLEAN, .flags = KEY_IN_SRT},
    {.name = "injectHosts", .type = KEY_HOSTS, .flags = KEY_IN_SRT},
    {.name = NULL},
};

static const struct key credential_variable_keys[] = {
    {.name = "name",
     .type = KEY_TEXT,
     .flags = KEY_IN_SRT | KEY_REQUIRED,
     .about = "the name of an environment variable",
     .check = environment_name_check},
    {.name = "mode", .type = KEY_WORD, .flags = KEY_IN_SRT | KEY_REQUIRED, .words = credential_mode_words},
    {.name = "extract", .type = KEY_TEXT, .flags = KEY_IN_SRT, .about = "a regular expression"},
    {.name = "onExtractNoMatch", .type = KEY_WORD, .flags = KEY_IN_SRT, .words = no_match_words},
    {.name = "decode", .type = KEY_WORD, .flags = KEY_IN_SRT, .words = decode_words},
    {.name = "maskClaims", .type = KEY_TEXTS, .flags = KEY_IN_SRT},
    {.name = "injectHosts", .type = KEY_HOSTS, .flags = KEY_IN_SRT},
    {.name = NULL},
};

static const struct key aws_pair_keys[] = {
    {.name = "accessKeyIdVar", .type = KEY_TEXT, .flags = KEY_IN_SRT | KEY_REQUIRED},
    {.name = "secretAccessKeyVar", .type = KEY_TEXT, .flags = KEY_IN_SRT | KEY_REQUIRED},
    {.name = "sessionTokenVar", .type = KEY_TEXT, .flags = KEY_IN_SRT},
    {.name = NULL},
};

static const struct key sigv4_keys[] = {
    {.name = "streaming", .type = KEY_WORD, .flags = KEY_IN_SRT, .words = sigv4_words},
    {.name = "presigned", .type = KEY_WORD, .flags = KEY_IN_SRT, .words = sigv4_words},
    {.name = "sigv4a", .type = KEY_WORD, .flags = KEY_IN_SRT, .words = sigv4_words},
    {.name = NULL},
};

static const struct key credentials_keys[] = {
    {.name = "files",
     .type = KEY_OBJECTS,
     .flags = KEY_IN_SRT,
     .children = credential_file_keys,
     .apply = credential_file_apply,
     .unbuilt = masking},
    {.name = "envVars",
     .type = KEY_OBJECTS,
     .flags = KEY_IN_SRT,
     .children = credential_variable_keys,
     .apply = credential_variable_apply,
     .unbuilt = masking},
    {.name = "allowPlaintextInject", .type = KEY_BOOLEAN, .flags = KEY_IN_SRT, .unbuilt = masking},
    {.name = "awsPairs",
     .type = KEY_OBJECTS,
     .flags = KEY_IN_SRT | KEY_STRICT,
     .children = aws_pair_keys,
     .unbuilt = signing},
    {.name = "sigv4", .type = KEY_OBJECT, .flags = KEY_IN_SRT | KEY_STRICT, .children = sigv4_keys, .unbuilt = signing},
    {.name = NULL},
};

static const struct key ripgrep_keys[] = {
    {.name = "command", .type = KEY_TEXT, .flags = KEY_IN_SRT | KEY_REQUIRED | KEY_MAY_BE_EMPTY},
    {.name = "args", .type = KEY_TEXTS, .flags = KEY_IN_SRT | KEY_MAY_BE_EMPTY},
    {.name = "argv0", .type = KEY_TEXT, .flags = KEY_IN_SRT | KEY_MAY_BE_EMPTY},
    {.name = NULL},
};

static const struct key git_keys[] = {
    {.name = "safeDirectories",
     .type = KEY_TEXTS,
     .flags = KEY_IN_SRT | KEY_MAY_BE_EMPTY,
     .apply = safe_directories_apply},
    {.name = NULL},
};

static const struct key windows_helper_keys[] = {
    {.name = "path", .type = KEY_TEXT, .flags = KEY_IN_SRT | KEY_REQUIRED},
    {.name = NULL},
};

static const struct key windows_keys[] = {
    {.name = "backend", .type = KEY_WORD, .flags = KEY_IN_SRT, .words = windows_words},
    {.name = "sandboxUser", .type = KEY_TEXT, .flags = KEY_IN_SRT},
    {.name = "sublayerGuid", .type = KEY_TEXT, .flags = KEY_IN_SRT},
    {.name = "wfpSublayerGuid", .type = KEY_TEXT, .flags = KEY_IN_SRT},
    {.name = "proxyPortRange", .type = KEY_ANY, .flags = KEY_IN_SRT},
    {.name = "srtWin", .type = KEY_OBJECT, .flags = KEY_IN_SRT, .children = windows_helper_keys},
    {.name = NULL},
};

const struct key policy_keys[] = {
    {.name = "$schema", .type = KEY_TEXT},
    {.name = "extends", .type = KEY_EXTENDS},
    {.name = "filesystem", .type = KEY_OBJECT, .flags = KEY_IN_SRT, .children = filesystem_keys},
    {.name = "rules", .type = KEY_OBJECTS, .children = rule_keys, .apply = rule_apply, .remove = rule_remove},
    {.name = "network", .type = KEY_OBJECT, .flags = KEY_IN_SRT, .children = network_keys},
    {.name = "environment", .type = KEY_OBJECT, .children = environment_keys},
    {.name = "seccomp", .type = KEY_OBJECT, .flags = KEY_IN_SRT, .children = seccomp_keys},
    {.name = "limits", .type = KEY_OBJECT, .children = limits_keys},
    {.name = "violation", .type = KEY_OBJECT, .children = violation_keys},
    {.name = "ignoreViolations", .type = KEY_MAP, .flags = KEY_IN_SRT, .apply = ignore_violations_apply},
    {.name = "credentials", .type = KEY_OBJECT, .flags = KEY_IN_SRT | KEY_STRICT, .children = credentials_keys},
    {.name = "git", .type = KEY_OBJECT, .flags = KEY_IN_SRT, .children = git_keys},
    {.name = "allowNestedUserNamespaces",
     .type = KEY_BOOLEAN,
     .flags = KEY_IN_SRT,
     .offset = AT(seccomp.allow_nested_user_namespaces)},
    {.name = "rootCapabilities",
     .type = KEY_WORD,
     .words = capability_words,
     .offset = AT(root_capabilities),
     .origin_offset = AT(root_capabilities_origin)},
    {.name = "enableWeakerNestedSandbox",
     .type = KEY_BOOLEAN,
     .flags = KEY_IN_SRT,
     .no_effect = "nothing is weakened by it here; where this host cannot enforce something, "
                  "`cloche doctor` names the --allow-degraded word to give"},
    {.name = "mandatoryDenySearchDepth",
     .type = KEY_INTEGER,
     .flags = KEY_IN_SRT,
     .least = 1,
     .most = 10,
     .no_effect = "nothing is searched: names are protected at any depth, whether they exist or not"},
    {.name = "ripgrep", .type = KEY_OBJECT, .flags = KEY_IN_SRT, .children = ripgrep_keys, .no_effect = no_helper},
    {.name = "bwrapPath", .type = KEY_TEXT, .flags = KEY_IN_SRT, .about = "a path", .no_effect = no_helper},
    {.name = "socatPath", .type = KEY_TEXT, .flags = KEY_IN_SRT, .about = "a path", .no_effect = no_helper},
    {.name = "javaAgentJarPath",
     .type = KEY_TEXT,
     .flags = KEY_IN_SRT,
     .about = "a path",
     .no_effect = "Java needs no agent here: its connections are filtered like all others"},
    {.name = "allowPty", .type = KEY_BOOLEAN, .flags = KEY_IN_SRT, .no_effect = macos_only},
    {.name = "allowAppleEvents", .type = KEY_BOOLEAN, .flags = KEY_IN_SRT, .no_effect = macos_only},
    {.name = "enableWeakerNetworkIsolation", .type = KEY_BOOLEAN, .flags = KEY_IN_SRT, .no_effect = macos_only},
    {.name = "windows", .type = KEY_OBJECT, .flags = KEY_IN_SRT, .children = windows_keys, .no_effect = windows_only},
    {.name = NULL},
};

const struct key *key_find(const struct key *table, const char *name)
{
    for (; table->name; table++) {
        if (strcmp(table->name, name) == 0)
            return table;
    }
    return NULL;
}

struct search {
    struct arena *arena;
    void (*found)(void *argument, const char *path, const struct key *key);
    void *argument;
};

static bool holds_entries(const struct key *key)
{
    return key->type == KEY_OBJECTS || key->type == KEY_PATHS;
}

static void each(struct search *search, const struct key *table, const char *above)
{
    for (; table->name; table++) {
        const char *path = arena_printf(search->arena, "%s%s%s", above, *above ? "." : "", table->name);
        search->found(search->argument, path, table);
        if (table->children)
            each(search, table->children, holds_entries(table) ? arena_printf(search->arena, "%s[]", path) : path);
    }
}

void keys_each(struct arena *arena, void (*found)(void *argument, const char *path, const struct key *key),
               void *argument)
{
    struct search search = {.arena = arena, .found = found, .argument = argument};

    each(&search, policy_keys, "");
}

struct wanted {
    const char *name;
    const char *path;
};

static void note_wanted(void *argument, const char *path, const struct key *key)
{
    struct wanted *wanted = argument;

    if (!wanted->path && strcmp(key->name, wanted->name) == 0 && !strchr(path, '['))
        wanted->path = path;
}

const char *key_path_of(struct arena *arena, const char *name)
{
    struct wanted wanted = {.name = name};

    keys_each(arena, note_wanted, &wanted);
    return wanted.path;
}
