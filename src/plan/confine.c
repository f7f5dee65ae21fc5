/* A plan for hosts where nothing can be mounted: the regions of plan/mounts.c,
 * said in Landlock's rules.
 *
 * A rule grants rights on a path and on all below it, and nothing takes them
 * away again. So a region that holds something withheld cannot be granted whole:
 * each directory from its top down to what is withheld (a "level") is granted
 * entry by entry, as it is when the run starts. What is made there later can
 * neither be read nor written, and where writing is withheld below a level,
 * nothing new can be made in that level at all: more is refused than decide()
 * says, never less.
 *
 * Reading and writing are worked out separately, by the same walk. A level can
 * be listed unless a hidden directory lies below it: the right to list is
 * inherited like every other. */
#include "base/path.h"
#include "base/text.h"
#include "host/degraded.h"
#include "plan/internal.h"
#include "policy/built_in.h"

#include <string.h>

enum { ABI_OLDEST = 2, ABI_TRUNCATE = 3, ABI_SCOPES = 6 };

struct confinement {
    struct plan *plan;
    const struct tree *tree;
    enum access wanted; /* at least this: ACCESS_READ or ACCESS_WRITE */
    struct map levels;
    struct map unlistable;
    struct text crowded; /* levels in which nothing new can be made */
    bool by_protected_name;
};

static void grant(struct plan *plan, enum grant_kind kind, struct slice path, bool entries, struct origin origin)
{
    plan->grants = arena_grow(plan->arena, plan->grants, plan->grant_count, plan->grant_count + 1,
                              &plan->grant_capacity, sizeof *plan->grants);
    plan->grants[plan->grant_count++] = (struct grant){kind, path, entries, origin};
}

static void withhold(struct confinement *confinement, struct slice path)
{
    struct plan *plan = confinement->plan;

    plan->withheld = arena_grow(plan->arena, plan->withheld, plan->withheld_count, plan->withheld_count + 1,
                                &plan->withheld_capacity, sizeof *plan->withheld);
    plan->withheld[plan->withheld_count++] = (struct withheld){path, confinement->wanted == ACCESS_WRITE};
}

/* Pins hold directories down that a mount could be carried away with; here they
 * are levels. */
static bool is_region(const struct confinement *confinement, const struct step *step)
{
    struct slice ignored;

    if (step->kind == STEP_PROC || step->kind == STEP_DEVICES) /* a bare chroot may have neither */
        return confinement->tree->look(confinement->tree->context, step->path, confinement->plan->arena, &ignored) ==
               NODE_DIRECTORY;
    return step->kind != STEP_PIN;
}

static bool is_granted(const struct confinement *confinement, struct slice path)
{
    return plan_access_at(confinement->plan, path) >= confinement->wanted;
}

/* True if it was not there before. */
static bool mark(struct map *map, struct slice path)
{
    static const char present;
    void **place = map_at(map, path);

    if (*place)
        return false;
    *place = (void *)(uintptr_t)&present;
    return true;
}

static void add_level(struct confinement *confinement, struct slice path, const struct step *because)
{
    struct plan *plan = confinement->plan;
    bool write = confinement->wanted == ACCESS_WRITE;

    if (!mark(&confinement->levels, path))
        return;
    withhold(confinement, path);
    grant(plan, write ? GRANT_WRITE : GRANT_READ, path, true, because->origin);
    if (write)
        text_appendf(&confinement->crowded, "%s%s", confinement->crowded.len ? ", " : "", escaped(plan->arena, path));
}

/* The directories above something withheld, as far as they are granted. */
static void find_levels(struct confinement *confinement, const struct step *step)
{
    if (step->path.len <= 1 || is_granted(confinement, step->path))
        return;
    for (struct slice above = path_parent(step->path); is_granted(confinement, above); above = path_parent(above)) {
        if (slice_equal(above, path_parent(step->path)))
            withhold(confinement, step->path);
        add_level(confinement, above, step);
        if (above.len <= 1)
            break;
    }
    if (confinement->wanted == ACCESS_WRITE && step->origin.path && strcmp(step->origin.path, "protected names") == 0)
        confinement->by_protected_name = true;
}

static void mark_unlistable(struct confinement *confinement, const struct step *step)
{
    if (step->kind != STEP_HIDE_DIRECTORY && step->kind != STEP_DEVICES)
        return;
    for (struct slice path = step->path; mark(&confinement->unlistable, path) && path.len > 1;)
        path = path_parent(path);
}

static void grant_regions(struct confinement *confinement)
{
    struct plan *plan = confinement->plan;
    enum grant_kind kind = confinement->wanted == ACCESS_WRITE ? GRANT_WRITE : GRANT_READ;

    confinement->levels = map_in(plan->arena);
    for (size_t i = 0; i < plan->step_count; i++) {
        if (is_region(confinement, &plan->steps[i]))
            find_levels(confinement, &plan->steps[i]);
    }
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct step *step = &plan->steps[i];
        if (is_region(confinement, step) && is_granted(confinement, step->path) &&
            !map_get(&confinement->levels, step->path))
            grant(plan, kind, step->path, false, step->origin);
    }
}

static void grant_listing(struct confinement *confinement)
{
    struct plan *plan = confinement->plan;
    size_t count = plan->grant_count;

    confinement->unlistable = map_in(plan->arena);
    for (size_t i = 0; i < plan->step_count; i++)
        mark_unlistable(confinement, &plan->steps[i]);
    for (size_t i = 0; i < count; i++) {
        const struct grant level = plan->grants[i];
        if (level.kind == GRANT_READ && level.entries && !map_get(&confinement->unlistable, level.path))
            grant(plan, GRANT_LIST, level.path, false, level.origin);
    }
}

static void grant_devices(struct plan *plan)
{
    const struct name_rules *devices = &plan->policy->filesystem.devices;

    for (size_t i = 0; device_nodes[i]; i++)
        grant(plan, GRANT_DEVICE, slice_of(device_nodes[i]), false, (struct origin){"built-in", "the host's /dev"});
    for (size_t i = 0; i < devices->count; i++)
        grant(plan, GRANT_DEVICE, devices->items[i].text, false, devices->items[i].origin);
}

static bool is_withheld(const struct plan *plan, struct slice path, bool write)
{
    for (size_t i = 0; i < plan->withheld_count; i++) {
        if (plan->withheld[i].write == write && slice_equal(plan->withheld[i].path, path))
            return true;
    }
    return false;
}

static bool reaches(const struct plan *plan, const struct tree *tree, const struct grant *grant, struct slice path)
{
    struct slice ignored;

    if (!grant->entries || !path_covers(grant->path, path))
        return path_covers(grant->path, path);
    if (slice_equal(grant->path, path))
        return false;
    struct slice entry = path_prefix(path, path_depth(grant->path) + 1);
    return !is_withheld(plan, entry, grant->kind == GRANT_WRITE) &&
           tree->look(tree->context, entry, plan->arena, &ignored) != NODE_ABSENT;
}

bool plan_grants(const struct plan *plan, const struct tree *tree, struct slice path, bool write)
{
    for (size_t i = 0; i < plan->grant_count; i++) {
        const struct grant *grant = &plan->grants[i];
        bool right = grant->kind == GRANT_DEVICE || grant->kind == (write ? GRANT_WRITE : GRANT_READ);
        if (right && reaches(plan, tree, grant, path))
            return true;
    }
    return false;
}

static void refuse_what_cannot_be_held(struct plan *plan, const struct facts *facts)
{
    struct origin backend = {"command line", "--backend"};

    if (facts->landlock_abi < ABI_OLDEST)
        plan_refuse(plan, backend, NULL,
                    "the kernel's Landlock (from ABI 2, Linux 5.19) is not there, and without namespaces there is no "
                    "other lock on files");
    else if (facts->landlock_abi < ABI_TRUNCATE)
        plan_refuse(plan, backend, degraded_tokens[DEGRADED_TRUNCATE],
                    "the kernel's Landlock (ABI 2) cannot keep the command from emptying any file that is yours");
    if (plan->nested_user_namespaces)
        plan_refuse(plan, (struct origin){"built-in", "allowNestedUserNamespaces"}, NULL,
                    "namespaces cannot be allowed inside (allowNestedUserNamespaces) where cloche has none itself");
    if (plan->policy->filesystem.tmp == TMP_SESSION)
        plan_refuse(plan, (struct origin){"built-in", "filesystem.tmp"}, NULL,
                    "a /tmp that the commands of a session share (filesystem.tmp \"session\") needs namespaces: "
                    "\"private\" gives each a directory of its own");
    /* A mount would hide it; here it could be entered, and nothing in it read. */
    struct effect here = plan_effect_at(plan->policy, plan->working_directory);
    if (here.access == ACCESS_NONE && !here.passage)
        plan_refuse(
            plan, here.shown, NULL,
            arena_printf(plan->arena,
                         "the working directory %s is hidden: allow it with --allow-read, or start from another "
                         "directory",
                         escaped(plan->arena, plan->working_directory)));
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct step *step = &plan->steps[i];
        if (plan_effect_at(plan->policy, step->path).access == ACCESS_EMPTY)
            plan_refuse(plan, step->origin, NULL,
                        arena_printf(plan->arena,
                                     "%s cannot be shown empty without namespaces: use the access \"none\"",
                                     escaped(plan->arena, step->path)));
    }
}

/* A directory of this run for temporary files, where the policy gives it a
 * private /tmp. */
static void plan_private_directory(struct plan *plan)
{
    if (plan->policy->filesystem.tmp == TMP_PRIVATE && !plan->policy->filesystem.disabled &&
        plan_access_at(plan, SLICE("/tmp")) == ACCESS_NONE)
        plan->private_directory = arena_string(plan->arena, "/tmp/cloche-XXXXXXXXXXXXXXXX");
}

static void say_what_is_weaker(struct confinement *confinement, const struct facts *facts)
{
    struct plan *plan = confinement->plan;
    struct text words = text_in(plan->arena);

    if (plan->keep_metadata)
        text_append_string(&words, "times of root's files can be changed everywhere, and modes and attributes of files "
                                   "nowhere (--allow-degraded metadata lets them be changed everywhere)");
    else
        text_append_string(&words, "modes, times and attributes of your files can be changed everywhere");
    text_append_string(&words, ", the names and sizes of hidden files, the host's processes and tables of the kernel "
                               "in /proc can be seen, device files outside /dev can be used");
    if (facts->landlock_abi < ABI_SCOPES)
        text_appendf(&words, ", every process of yours can be sent signals (Landlock ABI %d)", facts->landlock_abi);
    if (!plan->policy->network.allow_all_unix_sockets)
        text_append_string(&words, "; there are no unix sockets, new terminals or shared memory");
    if (plan->doorman_root_count)
        text_append_string(&words, "; protected names that are made later, or lie deeper than the top of what is "
                                   "writable, are not held");
    if (plan->policy->filesystem.caches == CACHES_PRIVATE)
        text_append_string(&words, ", and caches are read-only");
    if (confinement->crowded.len)
        text_appendf(&words, "; nothing new can be made directly in %s, because it holds what must not be %s",
                     confinement->crowded.ptr,
                     confinement->by_protected_name ? "written (--allow-degraded protected-names gives up the "
                                                      "protected names there)"
                                                    : "written");
    plan->weaker = text_slice(&words).ptr;
}

void plan_confine(struct plan *plan, const struct tree *tree, const struct facts *facts)
{
    struct confinement confinement = {
        .plan = plan, .tree = tree, .wanted = ACCESS_READ, .crowded = text_in(plan->arena)};

    plan->use_landlock = true;
    /* To root, even without capabilities, belongs everything. */
    plan->keep_metadata = facts->is_root && !(plan->policy->around.accepted & 1U << DEGRADED_METADATA);
    plan->landlock_reads = true;
    grant_regions(&confinement);
    grant_listing(&confinement);
    confinement.wanted = ACCESS_WRITE;
    grant_regions(&confinement);
    grant_devices(plan);
    plan_private_directory(plan);
    refuse_what_cannot_be_held(plan, facts);
    say_what_is_weaker(&confinement, facts);
}
