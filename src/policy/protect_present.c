/* Which protected names exist at the top of a writable root when a run starts:
 * those can be held by mounts.
 *
 * A name without wildcards costs one look. A name with one (worktrees of git,
 * settings files of agents, patterns in `protect`) costs one readdir of the
 * directory it stands in, if that exists; a double star is taken for one
 * component. The project's own top is read once more, to compare names with
 * ASCII case ignored. What lies deeper is left to the decision for names that
 * come later. */
#include "policy/protect.h"

#include "base/path.h"

struct search {
    const struct policy *policy;
    const struct tree *tree;
    struct slice root;
    void (*found)(void *argument, struct slice path);
    void *argument;

    /* The name being looked for, cut at the component a listing is for. */
    struct slice directory;
    struct slice component;
    struct slice rest;

    struct slice first; /* the last first component that was looked at */
    bool first_is_there;
};

static void report_if_present(struct search *search, struct slice path)
{
    struct tree_place place;

    if (!tree_follow(search->tree, search->policy->arena, path, &place, NULL))
        return;
    if (place.node == NODE_FILE || place.node == NODE_DIRECTORY)
        search->found(search->argument, place.path);
    /* A directory that was closed (chmod 0 .git in an earlier run) may hold the name:
     * it is held whole. */
    if (place.node == NODE_UNKNOWN && place.blocked.len > 1)
        search->found(search->argument, place.blocked);
}

/* Most names are not there, and many begin alike: their first component is looked
 * at once, directly, before anything is followed. */
static bool begins(struct search *search, struct slice path)
{
    size_t end = search->root.len == 1 ? 1 : search->root.len + 1;
    struct slice target;

    while (end < path.len && path.ptr[end] != '/')
        end++;
    struct slice first = {path.ptr, end};
    if (!slice_equal(first, search->first)) {
        search->first = first;
        search->first_is_there =
            search->tree->look(search->tree->context, first, search->policy->arena, &target) != NODE_ABSENT;
    }
    return search->first_is_there;
}

static void report_candidate(void *argument, struct slice path)
{
    if (begins(argument, path))
        report_if_present(argument, path);
}

static struct slice lowered(struct arena *arena, struct slice text)
{
    char *copy = arena_alloc(arena, text.len + 1);

    for (size_t i = 0; i < text.len; i++)
        copy[i] = slice_lower(text.ptr[i]);
    return (struct slice){copy, text.len};
}

/* What is left of a name behind its first components, below `path`. */
static void report_below(struct search *search, struct slice path, struct slice rest)
{
    while (rest.len && rest.ptr[0] == '/')
        rest = slice_from(rest, 1);
    report_if_present(search, rest.len ? path_normal(search->policy->arena, path, rest) : path);
}

static void judge_entry(void *argument, struct slice name)
{
    struct search *search = argument;
    struct arena *arena = search->policy->arena;
    if (!name_matches(lowered(arena, search->component), lowered(arena, name)))
        return;
    report_below(search, path_join(arena, search->directory, name), search->rest);
}

static void list(struct search *search, void (*judge)(void *argument, struct slice name))
{
    struct tree_place place;

    if (search->directory.len > search->root.len && !begins(search, search->directory))
        return;
    if (!tree_follow(search->tree, search->policy->arena, search->directory, &place, NULL) ||
        place.node != NODE_DIRECTORY || place.link_count)
        return;
    if (!search->tree->list(search->tree->context, place.path, judge, search) && place.path.len > search->root.len)
        search->found(search->argument, place.path); /* what cannot be listed is held whole */
}

/* Cuts `name` at its first component with a wildcard and lists there. */
static void look_for_pattern(struct search *search, struct slice name)
{
    struct slice rest = name;

    if (!name_has_wildcard(name) || protect_is_lifted(search->policy, name))
        return;
    search->directory = search->root;
    while (path_next(&rest, &search->component) && !name_has_wildcard(search->component))
        search->directory = path_join(search->policy->arena, search->directory, search->component);
    if (slice_is(search->component, "**"))
        search->component = SLICE("*");
    search->rest = rest;
    if (!name_has_wildcard(rest))
        list(search, judge_entry);
}

/* The same name in another case: a file system that ignores case would take it. */
static void judge_other_case(void *argument, struct slice entry)
{
    struct search *search = argument;
    struct arena *arena = search->policy->arena;

    if (!entry.len || entry.ptr[0] != '.')
        return;
    for (size_t i = 0; protected_names[i]; i++) {
        struct slice rest = slice_of(protected_names[i]);
        struct slice first;
        if (name_has_wildcard(rest) || protect_is_lifted(search->policy, rest) || !path_next(&rest, &first) ||
            slice_equal(entry, first) || !slice_equal_ignoring_case(entry, first))
            continue;
        report_below(search, path_join(arena, search->root, entry), rest);
    }
}

static void protect_git_file(struct search *search)
{
    struct slice path = path_join(search->policy->arena, search->root, SLICE(".git"));
    struct slice target;

    /* Whoever can write `gitdir: ...` here chooses whose config git obeys. */
    if (search->tree->look(search->tree->context, path, search->policy->arena, &target) == NODE_FILE)
        search->found(search->argument, path);
}

static void search_in(struct search *search, struct slice directory)
{
    const struct policy *policy = search->policy;

    search->root = directory;
    search->first = (struct slice){0};
    protect_candidates(policy, directory, policy->arena, report_candidate, search);
    for (size_t i = 0; protected_names[i]; i++)
        look_for_pattern(search, slice_of(protected_names[i]));
    for (size_t i = 0; i < policy->filesystem.protect.count; i++)
        look_for_pattern(search, policy->filesystem.protect.items[i].text);
}

void protect_present(const struct policy *policy, const struct tree *tree, struct slice root,
                     void (*found)(void *argument, struct slice path), void *argument)
{
    struct search search = {.policy = policy, .tree = tree, .root = root, .found = found, .argument = argument};

    search_in(&search, root);
    protect_git_file(&search);
    if (slice_equal(root, policy->around.project)) {
        search.directory = root;
        list(&search, judge_other_case);
    }
    /* A root inside a git directory: the names begin above it. */
    for (size_t depth = path_depth(root); depth > 0; depth--) {
        struct slice above = path_prefix(root, depth);
        if (slice_equal_ignoring_case(path_name(above), SLICE(".git")))
            search_in(&search, path_parent(above));
    }
}
