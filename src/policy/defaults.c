/* What no source said, and what can be judged only when all of them are in:
 * defaults, the directories of $PATH, the reasons of denied domains, and the
 * features that the finished policy asks for and nothing holds yet. */
#include "policy/loader.h"

#include "base/path.h"
#include "base/text.h"
#include "policy/variables.h"

/* ---- $PATH ---- */

static bool opens_too_much(const struct loader *loader, struct slice directory)
{
    return path_covers(directory, loader->around.home);
}

static void add_derived(struct loader *loader, enum path_list list, struct slice text, struct slice path,
                        struct origin origin)
{
    struct path_rule rule = {.list = list,
                             .text = text,
                             .pattern = {.text = path, .fixed = path, .literal = true},
                             .derived = true,
                             .origin = origin};

    policy_add_path(loader->policy, rule);
}

/* ~/.nvm/versions/node/v22/bin is of no use without the lib beside it. */
static bool is_part_of_a_toolchain(const struct loader *loader, struct slice directory)
{
    struct slice name = path_name(directory);
    struct slice holder = path_parent(directory);

    return (slice_is(name, "bin") || slice_is(name, "sbin") || slice_is(name, "shims")) &&
           !opens_too_much(loader, holder) && !slice_is(path_name(holder), ".local") && !slice_is(holder, "/usr");
}

void search_path_add(struct loader *loader, const struct place *place)
{
    enum { DIRECTORIES_MAX = 200 };
    struct origin origin = loader_origin(loader, place);
    struct slice rest;

    loader_leave_out(loader, LIST_ALLOW_READ, SLICE("$PATH"));
    if (!environment_find(loader->around.environment, SLICE("PATH"), &rest))
        return;
    for (size_t i = 0; i < DIRECTORIES_MAX && rest.len; i++) {
        struct slice entry = {rest.ptr, slice_find(rest, ':')};
        rest = slice_from(rest, entry.len < rest.len ? entry.len + 1 : entry.len);
        if (entry.len == 0 || entry.ptr[0] != '/' || entry.len > PATTERN_TEXT_MAX)
            continue;
        struct slice directory = path_normal(loader->arena, SLICE("/"), entry);
        if (opens_too_much(loader, directory))
            continue;
        add_derived(loader, LIST_ALLOW_READ, SLICE("$PATH"), directory, origin);
        if (is_part_of_a_toolchain(loader, directory))
            add_derived(loader, LIST_ALLOW_READ, SLICE("$PATH"), arena_slice(loader->arena, path_parent(directory)),
                        origin);
    }
}

/* Where what rules hide begins. Gathered, because rules are large and this is looked
 * through for each directory of $PATH. */
struct secrets {
    struct slice *places;
    size_t count;
};

static struct secrets gather_secrets(const struct loader *loader)
{
    const struct path_rules *paths = &loader->policy->paths;
    struct secrets secrets = {.places = arena_alloc(loader->arena, paths->count * sizeof *secrets.places)};

    for (size_t i = 0; i < paths->count; i++) {
        if (paths->items[i].list == LIST_DENY_READ)
            secrets.places[secrets.count++] = paths->items[i].pattern.fixed;
    }
    return secrets;
}

static bool is_hidden_below(const struct secrets *secrets, struct slice directory)
{
    for (size_t i = 0; i < secrets->count; i++) {
        if (secrets->places[i].len > directory.len && path_covers(directory, secrets->places[i]))
            return true;
    }
    return false;
}

/* A directory that holds something hidden is not a toolchain to be opened
 * because its bin is on PATH. (What a denyRead covers, policy_resolve drops: it
 * knows what the names really are.) */
static void drop_derived_around_secrets(struct loader *loader)
{
    struct path_rules *paths = &loader->policy->paths;
    struct secrets secrets = gather_secrets(loader);
    size_t kept = 0;

    for (size_t i = 0; i < paths->count; i++) {
        const struct path_rule *rule = &paths->items[i];
        if (rule->derived && rule->list == LIST_ALLOW_READ && is_hidden_below(&secrets, rule->pattern.text))
            continue;
        if (kept != i)
            paths->items[kept] = *rule;
        kept++;
    }
    paths->count = kept;
}

/* ---- srt ---- */

static bool is_read_denied(const struct policy *policy, struct slice path)
{
    size_t depth;

    for (size_t i = 0; i < policy->paths.count; i++) {
        const struct path_rule *rule = &policy->paths.items[i];
        if (rule->list == LIST_DENY_READ && pattern_covers(&rule->pattern, path, &depth))
            return true;
    }
    return false;
}

static void srt_defaults(struct loader *loader)
{
    static const char *const system[] = {"/dev/stdout", "/dev/stderr", "/dev/null", "/dev/tty", "/tmp/claude"};
    static const char *const at_home[] = {".npm/_logs", ".claude/debug"};
    struct policy *policy = loader->policy;
    struct origin origin = {"built-in", "srt's default writable paths"};

    /* With cloche's own keys single sockets can be named, and the doorman holds the rest. */
    policy->seccomp.block_unix_sockets =
        !policy->network.allow_all_unix_sockets && policy->network.unix_sockets.count == 0;
    size_t count = sizeof system / sizeof *system;
    for (size_t i = 0; i < count - (policy->filesystem.tmp != TMP_HOST); i++) /* in a /tmp of ours there is none */
        add_derived(loader, LIST_ALLOW_WRITE, slice_of(system[i]), slice_of(system[i]), origin);
    for (size_t i = 0; i < sizeof at_home / sizeof *at_home; i++) {
        struct slice path = path_join(loader->arena, loader->around.home, slice_of(at_home[i]));
        if (!is_read_denied(policy, path))
            add_derived(loader, LIST_ALLOW_WRITE, path, path, origin);
    }
}

/* ---- the end ---- */

static void note_unbuilt(struct loader *loader)
{
    for (size_t i = 0; i < loader->unbuilt_count; i++) {
        const struct pending_unbuilt *pending = &loader->unbuilt[i];
        if (pending->active)
            policy_add_unbuilt(loader->policy, pending->origin, pending->key->unbuilt);
    }
}

/* What is hidden in $HOME is hidden in the account's own home too, where that is
 * another directory: HOME alone must not decide what is a secret. */
static void hide_in_passwd_home(struct loader *loader)
{
    struct policy *policy = loader->policy;
    struct slice home = loader->around.home;
    size_t count = policy->paths.count;

    if (!loader->around.passwd_home.len || loader->srt)
        return;
    for (size_t i = 0; i < count; i++) {
        struct path_rule rule = policy->paths.items[i];
        if (rule.list != LIST_DENY_READ || !rule.pattern.literal || !path_covers(home, rule.pattern.text))
            continue;
        struct slice below = slice_from(rule.pattern.text, home.len);
        struct slice path = below.len ? path_normal(loader->arena, loader->around.passwd_home, slice_from(below, 1))
                                      : loader->around.passwd_home;
        rule.pattern = (struct pattern){.text = path, .fixed = path, .literal = true};
        rule.derived = true;
        policy_add_path(policy, rule);
    }
}

void policy_finish(struct loader *loader)
{
    struct policy *policy = loader->policy;
    struct origin by_default = {"built-in", "default"};

    if (policy->filesystem.read_mode == READ_UNSET) {
        policy->filesystem.read_mode = READ_ALL;
        policy->filesystem.read_mode_origin = (struct origin){"built-in", "filesystem.readMode"};
    }
    if (policy->network.mode == NETWORK_UNSET)
        policy->network.mode_origin = (struct origin){"built-in", "network.mode"};
    if (policy->filesystem.tmp == TMP_UNSET && loader->srt)
        policy->filesystem.tmp = TMP_HOST;
    policy->filesystem.tmp_asked = policy->filesystem.tmp;
    bool shared = loader->around.has_session &&
                  (policy->filesystem.tmp == TMP_SESSION || loader->around.backend == BACKEND_NAMESPACES);
    if (policy->filesystem.tmp == TMP_UNSET || policy->filesystem.tmp == TMP_SESSION)
        policy->filesystem.tmp = shared ? TMP_SESSION : TMP_PRIVATE;
    if (policy->filesystem.caches == CACHES_UNSET)
        policy->filesystem.caches = CACHES_NONE;
    if (policy->violation.watch == WATCH_UNSET)
        policy->violation.watch = WATCH_WRITES;
    if (!policy->violation.detection)
        policy->violation.watch = WATCH_OFF;
    if (!loader->pass_given)
        policy_add_name(policy, &policy->environment.pass, SLICE("*"), by_default);
    if (loader->srt)
        srt_defaults(loader);
    hide_in_passwd_home(loader);
    drop_derived_around_secrets(loader);
    reasons_finish(loader);
    unprotect_finish(loader);
    safe_directories_finish(loader);
    note_unbuilt(loader);
    if (loader->problems_unsaid)
        problem_add(loader->problems, loader->file, "", "there are more problems than the %d listed", PROBLEMS_MAX);
}
