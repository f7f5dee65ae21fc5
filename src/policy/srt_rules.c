/* Credentials against domains, denied globs that could match nothing, AWS pairs:
 * what srt checks once every key by itself is of the right type. The order of
 * the checks is the order of srt's messages. */
#include "policy/srt_rules.h"

#include "base/json.h"
#include "base/text.h"
#include "policy/srt_host.h"

struct rules {
    const json_t *root;
    const char *file;
    struct problems *problems;
    bool masks; /* a credential is masked */
};

const char *srt_shown(struct arena *arena, struct slice text)
{
    struct text out = text_in(arena);

    while (text.len) {
        size_t plain = slice_find(text, '\\');
        text_append_escaped(&out, (struct slice){text.ptr, plain});
        if (plain < text.len)
            text_append_byte(&out, text.ptr[plain++]);
        text = slice_from(text, plain);
    }
    return out.ptr ? out.ptr : "";
}

static bool is_word(const json_t *value, const char *word)
{
    return json_is_string(value) && slice_is(json_slice(value), word);
}

/* An entry that ends in a slash is a glob that matches nothing: a deny without
 * effect. Relative ones lose their slash when they are resolved. */
static void check_denied_glob(struct rules *rules, const char *path, const json_t *entry)
{
    struct arena *arena = rules->problems->arena;

    if (!json_is_string(entry))
        return;
    struct slice value = json_slice(entry);
    struct slice bare = value;
    bool glob = false;
    for (size_t i = 0; i < value.len; i++)
        glob = glob || memchr("*?[]", value.ptr[i], 4);
    while (bare.len && bare.ptr[bare.len - 1] == '/')
        bare.len--;
    if (!glob || bare.len == value.len || (value.ptr[0] != '/' && value.ptr[0] != '~'))
        return;
    problem_add(rules->problems, rules->file, path,
                "Deny glob \"%s\" ends in a separator, so as a pattern it can match no path. Write \"%s\", which is "
                "also read as the path of that name where it exists, or add a \"**\" segment to match at any depth.",
                srt_shown(arena, value), srt_shown(arena, bare));
}

static void check_denied_globs(struct rules *rules, const char *list)
{
    const json_t *entries = json_object_get(json_object_get(rules->root, "filesystem"), list);

    for (size_t i = 0; i < json_array_size(entries); i++)
        check_denied_glob(rules, arena_printf(rules->problems->arena, "filesystem.%s.%zu", list, i),
                          json_array_get(entries, i));
}

/* Does the list of patterns cover every host of `host`? */
static bool is_covered(struct rules *rules, struct slice host, const json_t *patterns)
{
    for (size_t i = 0; i < json_array_size(patterns); i++) {
        struct slice pattern = srt_domain_host(rules->problems->arena, json_slice(json_array_get(patterns, i)));
        if (srt_domain_covered(host, pattern))
            return true;
    }
    return false;
}

static bool are_all_covered(struct rules *rules, const json_t *hosts, const json_t *patterns)
{
    for (size_t i = 0; i < json_array_size(hosts); i++) {
        struct slice host = srt_domain_host(rules->problems->arena, json_slice(json_array_get(hosts, i)));
        if (!is_covered(rules, host, patterns))
            return false;
    }
    return json_array_size(hosts) > 0;
}

/* A host whose connections are not opened can never receive the real value. */
static void check_excluded(struct rules *rules, const char *path, const json_t *inject, const json_t *allowed,
                           const json_t *excluded)
{
    struct arena *arena = rules->problems->arena;

    if (!inject && are_all_covered(rules, allowed, excluded))
        problem_add(rules->problems, rules->file, path,
                    "This masked credential has no injectHosts, so it defaults to network.allowedDomains — but "
                    "network.tlsTerminate.excludeDomains covers every allowed domain, so it could never be injected "
                    "anywhere. Credential injection only runs on TLS-terminated connections.");
    for (size_t i = 0; i < json_array_size(inject); i++) {
        struct slice host = json_slice(json_array_get(inject, i));
        if (is_covered(rules, host, excluded))
            problem_add(rules->problems, rules->file, arena_printf(arena, "%s.injectHosts.%zu", path, i),
                        "injectHosts entry \"%s\" is entirely covered by network.tlsTerminate.excludeDomains. "
                        "Credential injection only runs on TLS-terminated connections, so this host would receive the "
                        "placeholder instead of the credential. Remove it from one of the two lists.",
                        srt_shown(arena, host));
    }
}

static void check_hosts(struct rules *rules, const char *path, const json_t *entry)
{
    struct arena *arena = rules->problems->arena;
    const json_t *network = json_object_get(rules->root, "network");
    const json_t *allowed = json_object_get(network, "allowedDomains");
    const json_t *excluded = json_object_get(json_object_get(network, "tlsTerminate"), "excludeDomains");
    const json_t *inject = json_object_get(entry, "injectHosts");

    for (size_t i = 0; i < json_array_size(inject); i++) {
        struct slice host = json_slice(json_array_get(inject, i));
        const char *shown = srt_shown(arena, host);
        if (!is_covered(rules, host, allowed))
            problem_add(rules->problems, rules->file, arena_printf(arena, "%s.injectHosts.%zu", path, i),
                        "injectHosts entry \"%s\" is not reachable via network.allowedDomains — add \"%s\" (or a "
                        "covering wildcard) to allowedDomains, or remove it from injectHosts.",
                        shown, shown);
    }
    if (!is_word(json_object_get(entry, "mode"), "mask"))
        return;
    rules->masks = true;
    if (json_array_size(excluded) > 0)
        check_excluded(rules, path, inject, allowed, excluded);
    if (inject && json_array_size(inject) == 0)
        problem_add(rules->problems, rules->file, path,
                    "injectHosts is explicitly empty — the credential would be masked but never injected. Omit "
                    "injectHosts to default to network.allowedDomains, or list the intended hosts.");
}

static void check_claims(struct rules *rules, const char *path, const json_t *entry, const char *whole)
{
    const json_t *claims = json_object_get(entry, "maskClaims");
    const char *at = arena_printf(rules->problems->arena, "%s.maskClaims", path);

    if (claims && !json_object_get(entry, "decode"))
        problem_add(rules->problems, rules->file, at,
                    "maskClaims requires decode — it names claims inside the decoded payload. Set decode (e.g. "
                    "\"jwt\"), or remove maskClaims to mask the %s.",
                    whole);
    if (claims && json_array_size(claims) == 0)
        problem_add(rules->problems, rules->file, at,
                    "maskClaims is explicitly empty — no claim would ever be masked. Omit maskClaims to mask the "
                    "whole token, or list the claims to protect.");
}

static void check_variables(struct rules *rules, const json_t *variables)
{
    for (size_t i = 0; i < json_array_size(variables); i++) {
        const char *path = arena_printf(rules->problems->arena, "credentials.envVars.%zu", i);
        check_hosts(rules, path, json_array_get(variables, i));
        check_claims(rules, path, json_array_get(variables, i), "whole value");
    }
}

static void check_files(struct rules *rules, const json_t *files, bool enforced)
{
    struct arena *arena = rules->problems->arena;

    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *entry = json_array_get(files, i);
        const char *path = arena_printf(arena, "credentials.files.%zu", i);
        const char *name_path = arena_printf(arena, "%s.path", path);
        const json_t *mode = json_object_get(entry, "mode");
        struct slice name = json_slice(json_object_get(entry, "path"));

        check_hosts(rules, path, entry);
        check_claims(rules, path, entry, "extracted value whole");
        if (is_word(mode, "mask") && slice_ends(name, SLICE("/")))
            problem_add(rules->problems, rules->file, name_path,
                        "Credential mode \"mask\" applies to a single file, not a directory. Use mode \"deny\" for "
                        "\"%s\", or point at the credential file inside it.",
                        srt_shown(arena, name));
        if (enforced && is_word(mode, "deny"))
            check_denied_glob(rules, name_path, json_object_get(entry, "path"));
    }
}

static const json_t *find_variable(const json_t *variables, struct slice name)
{
    for (size_t i = 0; i < json_array_size(variables); i++) {
        const json_t *entry = json_array_get(variables, i);
        if (slice_equal(json_slice(json_object_get(entry, "name")), name))
            return entry;
    }
    return NULL;
}

static const char *const aws_slots[] = {"accessKeyIdVar", "secretAccessKeyVar", "sessionTokenVar"};
enum { AWS_SLOTS = sizeof(aws_slots) / sizeof(aws_slots[0]) };

/* Does a slot before this one hold the same name? */
static bool is_taken(const json_t *pairs, size_t pair, size_t slot, struct slice name)
{
    for (size_t i = 0; i < pair * AWS_SLOTS + slot; i++) {
        const json_t *earlier = json_object_get(json_array_get(pairs, i / AWS_SLOTS), aws_slots[i % AWS_SLOTS]);
        if (earlier && slice_equal(json_slice(earlier), name))
            return true;
    }
    return false;
}

static void check_aws_pairs(struct rules *rules, const json_t *pairs, const json_t *variables)
{
    struct arena *arena = rules->problems->arena;

    for (size_t i = 0; i < json_array_size(pairs) * AWS_SLOTS; i++) {
        size_t pair = i / AWS_SLOTS;
        size_t slot = i % AWS_SLOTS;
        const json_t *value = json_object_get(json_array_get(pairs, pair), aws_slots[slot]);
        if (!value)
            continue;
        struct slice name = json_slice(value);
        const json_t *entry = find_variable(variables, name);
        const char *path = arena_printf(arena, "credentials.awsPairs.%zu.%s", pair, aws_slots[slot]);
        const char *shown = srt_shown(arena, name);

        if (is_taken(pairs, pair, slot, name))
            problem_add(rules->problems, rules->file, path,
                        "\"%s\" appears in more than one awsPairs slot (within or across pairs) — each variable can "
                        "fill exactly one slot.",
                        shown);
        else if (!is_word(json_object_get(entry, "mode"), "mask"))
            problem_add(rules->problems, rules->file, path,
                        "\"%s\" does not reference a credentials.envVars entry with mode \"mask\" — an AWS pair links "
                        "already-masked variables; add the entry (masking is the opt-in for SigV4 re-signing).",
                        shown);
        else if (json_object_get(entry, "extract") || json_object_get(entry, "decode"))
            problem_add(rules->problems, rules->file, path,
                        "\"%s\" uses extract/decode, but an AWS pair member must be masked whole-value: the SigV4 "
                        "trigger is an exact match of the fake access key id, and the signer needs the entire real "
                        "value.",
                        shown);
    }
}

void srt_check_rules(const json_t *root, const char *file, struct problems *problems)
{
    struct rules rules = {.root = root, .file = file, .problems = problems};
    const json_t *credentials = json_object_get(root, "credentials");
    const json_t *variables = json_object_get(credentials, "envVars");
    bool enforced = !json_is_true(json_object_get(json_object_get(root, "filesystem"), "disabled"));

    if (enforced) {
        check_denied_globs(&rules, "denyRead");
        check_denied_globs(&rules, "denyWrite");
    }
    if (!credentials)
        return;
    check_variables(&rules, variables);
    check_files(&rules, json_object_get(credentials, "files"), enforced);
    check_aws_pairs(&rules, json_object_get(credentials, "awsPairs"), variables);
    if (rules.masks && !json_object_get(json_object_get(root, "network"), "tlsTerminate") &&
        !json_is_true(json_object_get(credentials, "allowPlaintextInject")))
        problem_add(problems, file, "credentials",
                    "Credential masking requires network.tlsTerminate so substitution runs only over a verified TLS "
                    "connection. Enable tlsTerminate, or set credentials.allowPlaintextInject to opt out (not "
                    "recommended).");
}
