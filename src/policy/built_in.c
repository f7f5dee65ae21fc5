/* cloche's own rules: the run's private /tmp, /run, /dev and /proc, private
 * caches, the platform's files with `listed`, and its own policy and state
 * files, which nothing inside may ever write (attack 36). */
#include "policy/built_in.h"

#include "base/path.h"
#include "policy/variables.h"

/* Kernel interfaces. A fresh /proc under uid 0 lets even a root without
 * capabilities write sysctls, because their check is for the uid alone
 * (attack 104). */
const char *const proc_read_only[] = {"/proc/sys",  "/proc/irq",  "/proc/bus",    "/proc/fs",
                                      "/proc/scsi", "/proc/acpi", "/proc/driver", NULL};
const char *const proc_hidden[] = {"/proc/kcore",         "/proc/kallsyms",
                                   "/proc/kmem",          "/proc/kmsg",
                                   "/proc/kpagecount",    "/proc/kpageflags",
                                   "/proc/kpagecgroup",   "/proc/keys",
                                   "/proc/key-users",     "/proc/timer_list",
                                   "/proc/sched_debug",   "/proc/latency_stats",
                                   "/proc/sysrq-trigger", NULL};

const char *const device_nodes[] = {"/dev/null",    "/dev/zero", "/dev/full", "/dev/random",
                                    "/dev/urandom", "/dev/tty",  NULL};

/* What a build needs of the system when reads are listed. */
static const char *const platform_paths[] = {"/usr",
                                             "/bin",
                                             "/sbin",
                                             "/lib",
                                             "/lib32",
                                             "/lib64",
                                             "/libx32",
                                             "/etc",

                                             "/nix/store",
                                             "/run/current-system/sw",
                                             "/sys/devices/system/cpu",
                                             NULL};

/* Caches of tools, relative to $HOME: private copies where they exist. */
static const char *const cache_paths[] = {".cache",
                                          ".npm",
                                          ".yarn/berry/cache",
                                          ".local/share/pnpm/store",
                                          ".bun/install/cache",
                                          ".cargo/registry",
                                          ".cargo/git",
                                          "go/pkg",
                                          ".gradle/caches",
                                          ".m2/repository",
                                          ".ivy2/cache",
                                          ".nuget/packages",
                                          ".gem",
                                          ".deno",
                                          ".ccache",
                                          NULL};

bool built_in_place(struct slice path)
{
    return path_covers(SLICE("/proc"), path) || path_covers(SLICE("/dev"), path);
}

static const char learning[] = "what is learned from";

static struct path_rule built_in(const char *what, struct slice path, enum access access, enum backing backing)
{
    return (struct path_rule){.list = LIST_BUILT_IN,
                              .access = access,
                              .backing = backing,
                              .text = path,
                              .pattern = {.text = path, .fixed = path, .literal = true},
                              .derived = true,
                              .origin = {"built-in", what}};
}

static void add(struct policy *policy, const char *what, const char *path, enum access access, enum backing backing)
{
    policy_add_path(policy, built_in(what, slice_of(path), access, backing));
}

/* Did somebody write a rule about exactly this path? */
static bool is_spoken_for(const struct policy *policy, size_t written, struct slice path)
{
    for (size_t i = 0; i < written; i++) {
        const struct path_rule *rule = &policy->paths.items[i];
        if (rule->pattern.literal && !rule->dropped && !rule->derived && slice_equal(rule->real, path))
            return true;
    }
    return false;
}

static void add_private(struct policy *policy, size_t written, const char *path, enum backing backing)
{
    if (!is_spoken_for(policy, written, slice_of(path)))
        add(policy, "filesystem.tmp", path, ACCESS_WRITE, backing);
}

/* The host's, hidden, where no private one can be mounted over it. */
static void add_hidden(struct policy *policy, size_t written, const char *path)
{
    if (!is_spoken_for(policy, written, slice_of(path)))
        add(policy, "filesystem.tmp", path, ACCESS_NONE, BACKING_HOST);
}

static void add_temporary(struct policy *policy, size_t written, bool mounts)
{
    static const char *const places[] = {"/tmp", "/var/tmp", "/run"};
    bool shared = policy->filesystem.tmp == TMP_SESSION;

    for (size_t i = 0; i < 3; i++) {
        if (!mounts)
            add_hidden(policy, written, places[i]);
        else
            add_private(policy, written, places[i], shared && i < 2 ? BACKING_SESSION : BACKING_PRIVATE);
    }
}

/* Is what stands in the user's home a directory of the run's own, in which something can be made? */
static bool home_is_hidden(const struct policy *policy, size_t written, struct slice home)
{
    bool hidden = false;

    for (size_t i = 0; i < written; i++) {
        const struct path_rule *rule = &policy->paths.items[i];
        if (rule->dropped || !rule->pattern.literal || !slice_equal(rule->real, home))
            continue;
        if (rule->list != LIST_DENY_READ)
            return false;
        hidden = true;
    }
    return hidden;
}

/* Programs that want a cache, and make it where there is none, do not work if they cannot. */
static bool is_wanted_by_many(const char *cache)
{
    return strcmp(cache, ".cache") == 0 || strcmp(cache, ".npm") == 0;
}

/* Where a run is learned from, it can make them itself. */
static void add_new_cache(struct policy *policy, struct slice path)
{
    bool made_anew = !policy->around.is_learning;
    struct path_rule rule =
        built_in("filesystem.caches", path, ACCESS_WRITE, made_anew ? BACKING_PRIVATE : BACKING_OVERLAY);

    rule.made_anew = made_anew;
    policy_add_path(policy, rule);
}

static void add_caches(struct policy *policy, const struct tree *tree, size_t written)
{
    bool shared = policy->filesystem.caches == CACHES_HOST;
    bool read_only = !shared && policy->around.backend == BACKEND_LANDLOCK;
    enum access access = read_only ? ACCESS_READ : ACCESS_WRITE;
    enum backing backing = shared || read_only ? BACKING_HOST : BACKING_OVERLAY;

    if (policy->filesystem.caches != CACHES_HOST && policy->filesystem.caches != CACHES_PRIVATE)
        return;
    for (size_t i = 0; cache_paths[i]; i++) {
        struct slice path = path_normal(policy->arena, policy->around.home, slice_of(cache_paths[i]));
        struct tree_place place;

        if (!tree_follow(tree, policy->arena, path, &place, NULL))
            continue;
        if (place.node == NODE_ABSENT && backing == BACKING_OVERLAY && is_wanted_by_many(cache_paths[i]) &&
            !is_spoken_for(policy, written, path) && home_is_hidden(policy, written, path_parent(path)))
            add_new_cache(policy, path);
        if (place.node != NODE_DIRECTORY)
            continue;
        /* A cache that is a link leads somewhere the user did not name here. */
        if (place.link_count || is_spoken_for(policy, written, place.path))
            continue;
        policy_add_path(policy, built_in("filesystem.caches", place.path, access, backing));
    }
}

/* What a run is learned from: the user's own files in a layer that is discarded. */
static void add_learning(struct policy *policy)
{
    if (policy->around.home.len > 1)
        policy_add_path(policy, built_in(learning, policy->around.home, ACCESS_WRITE, BACKING_OVERLAY));
}

bool built_in_is_learned(const struct origin *origin)
{
    return origin->path && strcmp(origin->path, learning) == 0;
}

/* Read rules that are taken for granted: dropped where absent, never refused. */
static void add_readable(struct policy *policy, const char *what, struct slice path)
{
    struct path_rule rule = built_in(what, path, ACCESS_READ, BACKING_HOST);

    rule.list = LIST_ALLOW_READ;
    policy_add_path(policy, rule);
}

static void deny_writing(struct policy *policy, const char *what, struct slice path)
{
    struct path_rule rule = built_in(what, path, ACCESS_READ, BACKING_HOST);

    rule.list = LIST_DENY_WRITE;
    rule.vital = true;
    policy_add_path(policy, rule);
}

static void deny_own_files(struct policy *policy)
{
    struct arena *arena = policy->arena;
    struct slice state = xdg_directory(arena, &policy->around, "XDG_STATE_HOME");
    struct slice config = xdg_directory(arena, &policy->around, "XDG_CONFIG_HOME");
    struct slice named;

    deny_writing(policy, "cloche's own state", path_normal(arena, state, SLICE("cloche")));
    deny_writing(policy, "cloche's own policy", path_normal(arena, config, SLICE("cloche")));
    deny_writing(policy, "cloche's own policy", path_normal(arena, config, SLICE("cloche/policy.json")));
    deny_writing(policy, "cloche's own policy", path_normal(arena, policy->around.home, SLICE(".srt-settings.json")));
    if (environment_find(policy->around.environment, SLICE("CLOCHE_POLICY"), &named) && named.len &&
        named.ptr[0] == '/')
        deny_writing(policy, "cloche's own policy", named);
    for (size_t i = 0; i < policy->sources.count; i++)
        deny_writing(policy, "the policy of this run", policy->sources.items[i].text);
    if (policy->events_file.len > 0)
        deny_writing(policy, "the events of this run", policy->events_file);
}

/* /proc and /dev of the run's own; or the host's /proc, where no other can be
 * had, of which nothing can be written. */
static void add_kernel_places(struct policy *policy)
{
    if (policy->around.shares_proc)
        add(policy, "the host's /proc", "/proc", ACCESS_READ, BACKING_HOST);
    else
        add(policy, "own /proc", "/proc", ACCESS_WRITE, BACKING_FRESH);
    for (size_t i = 0; proc_read_only[i]; i++)
        add(policy, "kernel interfaces", proc_read_only[i], ACCESS_READ, BACKING_FRESH);
    for (size_t i = 0; proc_hidden[i]; i++)
        add(policy, "kernel interfaces", proc_hidden[i], ACCESS_NONE, BACKING_FRESH);

    add(policy, "own /dev", "/dev", ACCESS_NONE, BACKING_PRIVATE);
    for (size_t i = 0; device_nodes[i]; i++)
        add(policy, "own /dev", device_nodes[i], ACCESS_WRITE, BACKING_PRIVATE);
    add(policy, "own /dev", "/dev/shm", ACCESS_WRITE, BACKING_PRIVATE);
    add(policy, "own /dev", "/dev/pts", ACCESS_WRITE, BACKING_PRIVATE);
    add(policy, "own /dev", "/dev/ptmx", ACCESS_WRITE, BACKING_PRIVATE);
}

/* The host's own, where nothing can be mounted. In /proc no entry can be hidden
 * (processes come and go, and each would need a rule), so the kernel's own
 * checks hold what is in it; nothing there can be written (attack 104). The
 * host's shared memory and terminals are left out of /dev. */
static void add_kernel_places_of_host(struct policy *policy)
{
    add(policy, "the host's /proc", "/proc", ACCESS_READ, BACKING_HOST);
    add(policy, "the host's /dev", "/dev", ACCESS_NONE, BACKING_HOST);
    for (size_t i = 0; device_nodes[i]; i++)
        add(policy, "the host's /dev", device_nodes[i], ACCESS_WRITE, BACKING_HOST);
}

void built_in_rules(struct policy *policy, const struct tree *tree)
{
    size_t written = policy->paths.count;
    bool mounts = policy->around.backend == BACKEND_NAMESPACES;

    if (policy->filesystem.disabled) {
        add(policy, "filesystem.disabled", "/", ACCESS_WRITE, BACKING_HOST);
    } else {
        deny_own_files(policy);
        add_caches(policy, tree, written);
        if (policy->around.is_learning && mounts)
            add_learning(policy);
        if (policy->filesystem.tmp != TMP_HOST)
            add_temporary(policy, written, mounts);
        bool listed = policy->filesystem.read_mode == READ_LISTED;
        /* systemd keeps resolv.conf under /run; NixOS keeps its programs there. */
        if (!policy->filesystem.codex || !listed || policy->filesystem.platform_defaults) {
            add_readable(policy, "name resolution", SLICE("/etc/resolv.conf"));
            add_readable(policy, "platform files", SLICE("/run/current-system/sw"));
        }
        if (listed && policy->filesystem.platform_defaults) {
            for (size_t i = 0; platform_paths[i]; i++)
                add_readable(policy, "filesystem.platformDefaults", slice_of(platform_paths[i]));
        }
    }

    (mounts ? add_kernel_places : add_kernel_places_of_host)(policy);
    for (size_t i = 0; i < policy->filesystem.devices.count; i++) {
        struct path_rule rule = built_in("filesystem.devices", policy->filesystem.devices.items[i].text, ACCESS_WRITE,
                                         mounts ? BACKING_PRIVATE : BACKING_HOST);
        rule.origin = policy->filesystem.devices.items[i].origin;
        policy_add_path(policy, rule);
    }
}
