/* From rules to mounts.
 *
 * Rules only change what is allowed at the paths they name ("boundaries"): the
 * paths that exist at start and that some rule really names (protected names at
 * the top of a writable root have such rules too). Everything between two
 * boundaries has one access, and decide() says which. So:
 *
 *   1. collect the boundaries;
 *   2. walk them from "/" down, asking decide() at each; a boundary that changes
 *      nothing against the region around it is dropped (redundant), every other
 *      becomes a region with one step;
 *   3. give steps whose surroundings are a tmpfs of ours a place to attach to
 *      (entries), links included, never anything on the host;
 *   4. pin the directories between a writable region and what is less than
 *      writable inside it, so that no rename carries it away (attack 5);
 *   5. sort: shallow to deep.
 *
 * Because the access of every region is decide()'s own answer, the plan cannot
 * disagree with it; tests/property tries to prove that wrong. */
#include "base/map.h"
#include "base/path.h"
#include "host/degraded.h"
#include "plan/internal.h"
#include "policy/built_in.h"
#include "policy/resolve.h"
#include "policy/variables.h"

#include <stdlib.h>

struct region;

/* A path at which the access may change. */
struct boundary {
    struct slice path;
    enum node node;
    struct region *region; /* if it does */
};

struct region {
    struct slice path;
    enum node node;
    struct effect effect;
    const struct region *around; /* the region it lies in; NULL for "/" */
    struct step *step;
};

struct builder {
    struct plan *plan;
    const struct policy *policy;
    const struct tree *tree;
    struct arena *arena;
    struct map known; /* path -> struct boundary */
    struct boundary **boundaries;
    size_t boundary_count;
    size_t boundary_capacity;
    struct map entries; /* paths that have an entry in some step */
    struct map pins;    /* paths that are pinned */
    struct step **steps;
    size_t step_count;
    size_t step_capacity;
};

struct effect plan_effect_at(const struct policy *policy, struct slice path)
{
    struct decision reading;
    struct decision writing;

    decide_access(policy, path, &reading, &writing);

    struct effect effect = {.backing = reading.backing, .shown = reading.origin, .written = writing.origin};

    if (!reading.allowed) {
        effect.access = ACCESS_NONE;
        effect.passage = reading.passage;
    } else if (reading.access == ACCESS_EMPTY) {
        effect.access = ACCESS_EMPTY;
    } else if (writing.allowed) {
        effect.access = ACCESS_WRITE;
        effect.backing = writing.backing;
    } else {
        effect.access = ACCESS_READ;
    }
    return effect;
}

static void add_boundary(struct builder *builder, struct slice path, enum node node)
{
    struct boundary *boundary;
    void **place;

    if (built_in_place(path) || (node != NODE_FILE && node != NODE_DIRECTORY))
        return;
    place = map_at(&builder->known, path);
    if (*place)
        return;
    boundary = ARENA_NEW(builder->arena, struct boundary);
    *boundary = (struct boundary){.path = path, .node = node};
    *place = boundary;
    builder->boundaries =
        arena_grow(builder->arena, builder->boundaries, builder->boundary_count, builder->boundary_count + 1,
                   &builder->boundary_capacity, sizeof *builder->boundaries);
    builder->boundaries[builder->boundary_count++] = boundary;
}

static void collect_boundaries(struct builder *builder)
{
    const struct policy *policy = builder->policy;

    /* Given up on that backend, so that something can be made beside them. */
    bool without_protection =
        policy->around.backend == BACKEND_LANDLOCK && (policy->around.accepted & 1U << DEGRADED_PROTECTED_NAMES) != 0;

    add_boundary(builder, SLICE("/"), NODE_DIRECTORY);
    for (size_t i = 0; i < policy->paths.count; i++) {
        const struct path_rule *rule = &policy->paths.items[i];
        bool mounted = (rule->pattern.literal || rule->widened) && !(without_protection && rule->protects) &&
                       !plan_leaves_to_doorman(builder->plan, rule);
        if (!rule->dropped && (mounted || plan_shows_by_pattern(rule)))
            add_boundary(builder, rule->real, rule->node);
    }
}

/* Paths of one policy have much in common: whole words of it are skipped at once. */
static size_t shared_start(struct slice a, struct slice b)
{
    size_t shared = a.len < b.len ? a.len : b.len;
    size_t at = 0;

    for (uint64_t left = 0, right = 0; at + sizeof left <= shared; at += sizeof left) {
        memcpy(&left, a.ptr + at, sizeof left);
        memcpy(&right, b.ptr + at, sizeof right);
        if (left != right)
            break;
    }
    while (at < shared && a.ptr[at] == b.ptr[at])
        at++;
    return at;
}

/* Tree order: a directory, then everything in it, then what sorts behind. */
static int tree_order(const void *left, const void *right)
{
    struct slice a = (*(struct boundary *const *)left)->path;
    struct slice b = (*(struct boundary *const *)right)->path;
    size_t at = shared_start(a, b);

    if (at == a.len || at == b.len)
        return (a.len > b.len) - (a.len < b.len);
    if (a.ptr[at] == '/' || b.ptr[at] == '/')
        return a.ptr[at] == '/' ? -1 : 1;
    return (unsigned char)a.ptr[at] < (unsigned char)b.ptr[at] ? -1 : 1;
}

static struct step *add_step(struct builder *builder, enum step_kind kind, struct slice path, struct origin origin)
{
    struct step *step = ARENA_NEW(builder->arena, struct step);

    *step = (struct step){.kind = kind, .path = path, .origin = origin};
    builder->steps = arena_grow(builder->arena, builder->steps, builder->step_count, builder->step_count + 1,
                                &builder->step_capacity, sizeof *builder->steps);
    builder->steps[builder->step_count++] = step;
    return step;
}

/* Is what one sees at this region a tmpfs of ours rather than the host's tree? */
static bool is_own_tmpfs(const struct region *region)
{
    switch (region->step->kind) {
    case STEP_ROOT_EMPTY:
    case STEP_HIDE_DIRECTORY:
    case STEP_PRIVATE:
    case STEP_SESSION:
        return true;
    case STEP_ROOT:
    case STEP_BIND:
    case STEP_PIN:
    case STEP_HIDE_FILE:
    case STEP_EMPTY_FILE:
    case STEP_COPY:
    case STEP_OVERLAY:
    case STEP_DEVICES:
    case STEP_PROC:
    case STEP_PROC_OF_HOST:
        break;
    }
    return false;
}

/* The region whose tmpfs one sees at `region`, if it is one of ours: a pin shows
 * what is around it. */
static const struct region *tmpfs_owner(const struct region *region)
{
    while (region && region->step->kind == STEP_PIN)
        region = region->around;
    return region && is_own_tmpfs(region) ? region : NULL;
}

static enum step_kind kind_of(const struct region *region)
{
    bool directory = region->node == NODE_DIRECTORY;

    if (!region->around)
        return region->effect.access < ACCESS_READ ? STEP_ROOT_EMPTY : STEP_ROOT;
    switch (region->effect.access) {
    case ACCESS_NONE:
        return directory ? STEP_HIDE_DIRECTORY : STEP_HIDE_FILE;
    case ACCESS_EMPTY:
        return directory ? STEP_HIDE_DIRECTORY : STEP_EMPTY_FILE;
    case ACCESS_READ:
    case ACCESS_WRITE:
        break;
    }
    /* Less than writable inside a place of our own: that place, bound again. */
    if (region->effect.backing != BACKING_HOST && region->around->effect.backing == region->effect.backing)
        return STEP_PIN;
    if (region->effect.backing == BACKING_PRIVATE)
        return STEP_PRIVATE;
    if (region->effect.backing == BACKING_SESSION)
        return STEP_SESSION;
    return region->effect.backing == BACKING_OVERLAY ? STEP_OVERLAY : STEP_BIND;
}

static unsigned mode_of(const struct region *region)
{
    switch (region->step->kind) {
    case STEP_ROOT_EMPTY:
        return 0555;
    case STEP_HIDE_DIRECTORY:
        return region->effect.passage || region->effect.access == ACCESS_EMPTY ? 0555 : 0;
    case STEP_PRIVATE:
        return slice_is(path_name(region->path), "tmp") ? 01777 : 0755;
    case STEP_SESSION:
        return 01777;
    default:
        return 0;
    }
}

static void open_region(struct builder *builder, struct boundary *boundary, const struct region *around)
{
    struct region *region;
    struct effect effect = plan_effect_at(builder->policy, boundary->path);
    bool judged = effect.access == ACCESS_NONE && boundary->node == NODE_DIRECTORY &&
                  plan_shows_for_doorman(builder->plan, boundary->path);

    if (judged)
        effect.access = ACCESS_READ;
    if (around && around->effect.access == effect.access && around->step->judged == judged &&
        effect.access != ACCESS_EMPTY && (effect.access == ACCESS_NONE || around->effect.backing == effect.backing))
        return; /* redundant: the region around it says the same */
    if (around && around->effect.access == ACCESS_EMPTY && effect.access == ACCESS_NONE)
        return; /* there is nothing in a directory that is shown empty */

    region = ARENA_NEW(builder->arena, struct region);
    *region = (struct region){.path = boundary->path, .node = boundary->node, .effect = effect, .around = around};
    /* Read-only inside something writable is the work of what refuses writing. */
    bool about_writing = effect.access == ACCESS_WRITE ||
                         (effect.access == ACCESS_READ && around && around->effect.access == ACCESS_WRITE);
    region->step = add_step(builder, kind_of(region), boundary->path, about_writing ? effect.written : effect.shown);
    region->step->mode = mode_of(region);
    region->step->writable = effect.access == ACCESS_WRITE;
    region->step->judged = judged;
    builder->plan->doorman.performs_reads |= judged;
    builder->plan->doorman.files |= judged;
    boundary->region = region;
}

static const struct region *region_at(const struct builder *builder, struct slice path)
{
    const struct boundary *boundary = map_get(&builder->known, path);

    return boundary ? boundary->region : NULL;
}

static const struct region *region_around(const struct builder *builder, struct slice path)
{
    while (path.len > 1) {
        path = path_parent(path);
        const struct region *region = region_at(builder, path);
        if (region)
            return region;
    }
    return NULL;
}

static void open_regions(struct builder *builder)
{
    qsort(builder->boundaries, builder->boundary_count, sizeof(struct boundary *), tree_order);
    for (size_t i = 0; i < builder->boundary_count; i++)
        open_region(builder, builder->boundaries[i], region_around(builder, builder->boundaries[i]->path));
}

static void add_entry(struct builder *builder, struct step *step, enum entry_kind kind, struct slice path,
                      struct slice target)
{
    void **place = map_at(&builder->entries, path);

    if (*place)
        return;
    step->entries = arena_grow(builder->arena, step->entries, step->entry_count, step->entry_count + 1,
                               &step->entry_capacity, sizeof *step->entries);
    *place = step;
    step->entries[step->entry_count++] = (struct entry){kind, path, target};
}

/* A place for `path` in the tmpfs of the region around it, parents first. */
static void place_entry(struct builder *builder, const struct region *around, enum entry_kind kind, struct slice path,
                        struct slice target)
{
    size_t depth = path_depth(path);

    for (size_t i = path_depth(around->path) + 1; i < depth; i++)
        add_entry(builder, around->step, ENTRY_DIRECTORY, path_prefix(path, i), (struct slice){0});
    add_entry(builder, around->step, kind, path, target);
}

static void place_regions(struct builder *builder)
{
    for (size_t i = 0; i < builder->boundary_count; i++) {
        const struct region *region = builder->boundaries[i]->region;
        const struct region *owner = region ? tmpfs_owner(region->around) : NULL;
        if (owner)
            place_entry(builder, owner, region->node == NODE_DIRECTORY ? ENTRY_DIRECTORY : ENTRY_FILE, region->path,
                        (struct slice){0});
    }
}

/* A rule may name its object through a link (/bin for /usr/bin): where the link
 * stands in a tmpfs of ours, it is made again, so that the name works. */
static void place_links(struct builder *builder)
{
    for (size_t i = 0; i < builder->policy->paths.count; i++) {
        const struct path_rule *rule = &builder->policy->paths.items[i];
        if (rule->dropped || !rule->link_count || rule->node == NODE_ABSENT || !rule_is_visible(rule) ||
            (rule->pattern.literal && !decide_real_path(builder->policy, OPERATION_READ, rule->real).allowed))
            continue;
        for (size_t j = 0; j < rule->link_count; j++) {
            const struct region *owner = tmpfs_owner(region_around(builder, rule->links[j].at));
            if (owner && !built_in_place(rule->links[j].at))
                place_entry(builder, owner, ENTRY_LINK, rule->links[j].at, rule->links[j].target);
        }
    }
}

static void pin_ancestors(struct builder *builder)
{
    static const char present;

    for (size_t i = 0; i < builder->boundary_count; i++) {
        const struct region *region = builder->boundaries[i]->region;
        if (!region || !region->around || region->around->effect.access != ACCESS_WRITE)
            continue;
        size_t depth = path_depth(region->path);
        for (size_t level = path_depth(region->around->path) + 1; level < depth; level++) {
            struct slice path = path_prefix(region->path, level);
            void **place = map_at(&builder->pins, path);
            if (*place)
                continue;
            *place = (void *)(uintptr_t)&present;
            add_step(builder, STEP_PIN, path, region->step->origin)->writable = true;
        }
    }
}

/* /proc and /dev, with places to attach them where the root is ours. */
static void add_special(struct builder *builder)
{
    const struct region *root = region_at(builder, SLICE("/"));
    struct step *devices;

    bool own = builder->policy->around.backend == BACKEND_NAMESPACES;
    bool shared = own && builder->policy->around.shares_proc;
    add_step(builder, shared ? STEP_PROC_OF_HOST : STEP_PROC, SLICE("/proc"),
             (struct origin){"built-in", own && !shared ? "own /proc" : "the host's /proc"});
    devices = add_step(builder, STEP_DEVICES, SLICE("/dev"),
                       (struct origin){"built-in", own ? "own /dev" : "the host's /dev"});
    devices->mode = 0755;
    for (size_t i = 0; i < builder->policy->filesystem.devices.count; i++)
        add_entry(builder, devices, ENTRY_DEVICE, builder->policy->filesystem.devices.items[i].text, (struct slice){0});
    if (is_own_tmpfs(root)) {
        add_entry(builder, root->step, ENTRY_DIRECTORY, SLICE("/proc"), (struct slice){0});
        add_entry(builder, root->step, ENTRY_DIRECTORY, SLICE("/dev"), (struct slice){0});
    }
}

/* Where no rule speaks of them, and the host's would be shown. */
static void add_copies(struct builder *builder)
{
    struct copy copies[COPIES_MAX];
    size_t count = plan_find_copies(builder->policy, builder->tree, copies);

    for (size_t i = 0; i < count; i++) {
        if (!region_at(builder, copies[i].path))
            add_step(builder, STEP_COPY, copies[i].path,
                     (struct origin){"built-in", "a copy of the user's own, for ssh"})
                ->content = copies[i].content;
    }
}

/* The run-time directory of the user, which programs expect to be there. */
static void place_runtime_directory(struct builder *builder)
{
    struct slice value;

    if (!environment_find(builder->policy->around.environment, SLICE("XDG_RUNTIME_DIR"), &value) || !value.len ||
        value.ptr[0] != '/')
        return;
    struct slice path = path_normal(builder->arena, SLICE("/"), value);
    const struct region *around = tmpfs_owner(region_around(builder, path));
    if (around && around->step->kind == STEP_PRIVATE && !region_at(builder, path))
        place_entry(builder, around, ENTRY_DIRECTORY, path, (struct slice){0});
}

/* What a person hides, and what is hidden of theirs. The rest of the system, where
 * the presets hide what nobody misses, is not worth what it would cost every run. */
static void choose_watched(struct builder *builder)
{
    const struct surroundings *around = &builder->policy->around;

    for (size_t i = 0; i < builder->step_count; i++) {
        struct step *step = builder->steps[i];
        bool own = path_covers(around->home, step->path) || path_covers(around->project, step->path) ||
                   (around->passwd_home.len && path_covers(around->passwd_home, step->path));
        step->watched = step_is_mask(step) && (own || !origin_is_built_in(&step->origin));
    }
}

/* Something to be put in order of depth, then of name. */
struct placed {
    size_t depth;
    struct slice path;
    const void *what;
};

static int placed_order(const void *left, const void *right)
{
    const struct placed *a = left;
    const struct placed *b = right;

    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    return slice_compare(a->path, b->path);
}

static void sort_entries(struct arena *arena, struct step *step)
{
    struct placed *placed = arena_alloc(arena, step->entry_count * sizeof *placed);
    struct entry *sorted = arena_alloc(arena, step->entry_count * sizeof *sorted);

    for (size_t i = 0; i < step->entry_count; i++)
        placed[i] = (struct placed){path_depth(step->entries[i].path), step->entries[i].path, &step->entries[i]};
    qsort(placed, step->entry_count, sizeof *placed, placed_order);
    for (size_t i = 0; i < step->entry_count; i++)
        sorted[i] = *(const struct entry *)placed[i].what;
    step->entries = sorted;
}

static void sort_steps(struct builder *builder)
{
    struct plan *plan = builder->plan;
    struct placed *placed = arena_alloc(builder->arena, builder->step_count * sizeof *placed);

    for (size_t i = 0; i < builder->step_count; i++)
        placed[i] = (struct placed){path_depth(builder->steps[i]->path), builder->steps[i]->path, builder->steps[i]};
    qsort(placed, builder->step_count, sizeof *placed, placed_order);

    plan->step_count = builder->step_count;
    plan->steps = arena_alloc(builder->arena, plan->step_count * sizeof *plan->steps);
    plan->by_path = map_in(builder->arena);
    map_reserve(&plan->by_path, plan->step_count);
    for (size_t i = 0; i < plan->step_count; i++) {
        struct step *step = &plan->steps[i];
        *step = *(const struct step *)placed[i].what;
        if (step->entry_count)
            sort_entries(builder->arena, step);
        *map_at(&plan->by_path, step->path) = step;
    }
}

bool plan_mounts(struct plan *plan, const struct tree *tree, struct error *err)
{
    struct arena *arena = plan->arena;
    struct builder builder = {.plan = plan,
                              .policy = plan->policy,
                              .tree = tree,
                              .arena = arena,
                              .known = map_in(arena),
                              .entries = map_in(arena),
                              .pins = map_in(arena)};

    collect_boundaries(&builder);
    open_regions(&builder);
    place_regions(&builder);
    place_links(&builder);
    place_runtime_directory(&builder);
    pin_ancestors(&builder);
    add_special(&builder);
    add_copies(&builder);
    choose_watched(&builder);
    sort_steps(&builder);
    if (plan->steps[0].path.len != 1)
        return error_set(err, "cannot plan the run: the first step is not the root (this is a defect of cloche)");
    return true;
}
