/* The part of Codex's meaning that depends on what is there.
 *
 * Patterns. What one matches when the run starts is hidden by rules of its own, files
 * and directories alike, which mounts hold. The pattern itself stays in force for names
 * that come into being: the doorman lets none be made, and opens none. The walk
 * follows the pattern, enters only what could hold a match, follows no link and is
 * bounded; beyond that the run is refused. A directory that cannot be listed is hidden
 * whole.
 *
 * Protected names hold at the top of every writable root, whether they exist or
 * not: a read rule each, which a longer write entry reopens. */
#include "policy/codex.h"

#include "base/path.h"
#include "base/text.h"
#include "policy/decide.h"
#include "policy/git_layout.h"
#include "policy/resolve.h"

enum { MATCHES_MAX = 8192, ENTRIES_MAX = 500000, DEPTH_MAX = 128 };

static const char *const protected_by_codex[] = {".git", ".agents", ".codex", ".aws", NULL};

/* ---- patterns ---- */

struct walk {
    struct policy *policy;
    const struct tree *tree;
    struct path_rule rule; /* the pattern */
    struct map *matched;   /* each path once: two stars may lead there twice */
    size_t matches;
    size_t entries;
    bool too_much;
};

/* One directory on the way. */
struct level {
    struct walk *walk;
    struct slice directory;
    struct slice component; /* of the pattern, for the entries of `directory` */
    struct slice rest;      /* of the pattern, behind it */
    struct slice stars;     /* two stars before it, and all behind them: they go on below each entry */
    size_t depth;
};

static void hide(struct walk *walk, struct slice path)
{
    struct path_rule rule = walk->rule;
    void **place = map_at(walk->matched, path);

    if (*place)
        return;
    *place = walk;
    walk->too_much = walk->too_much || ++walk->matches > MATCHES_MAX;
    rule.pattern = (struct pattern){.text = path, .fixed = path, .literal = true};
    rule.expanded = false;
    rule.no_links = false;
    rule.derived = true;
    policy_add_path(walk->policy, rule);
}

static void descend(struct walk *walk, struct slice path, struct slice rest, size_t depth);

static void visit(void *argument, struct slice name)
{
    const struct level *level = argument;
    struct walk *walk = level->walk;
    bool matches = name_matches(level->component, name);

    if (++walk->entries > ENTRIES_MAX)
        walk->too_much = true;
    if (walk->too_much || (!matches && !level->stars.len))
        return;
    struct slice path = path_join(walk->policy->arena, level->directory, name);
    if (matches)
        descend(walk, path, level->rest, level->depth + 1);
    bool is_hidden = matches && !level->rest.len; /* whole: what is below need not be looked for */
    if (level->stars.len && !is_hidden)
        descend(walk, path, level->stars, level->depth + 1);
}

/* `rest` of the pattern is to be matched below `path`; none left: this is it. */
static void descend(struct walk *walk, struct slice path, struct slice rest, size_t depth)
{
    struct slice target;
    struct level level = {.walk = walk, .directory = path, .depth = depth};

    if (walk->too_much)
        return;
    level.rest = rest;
    if (!path_next(&level.rest, &level.component)) {
        hide(walk, path);
        return;
    }
    enum node node = walk->tree->look(walk->tree->context, path, walk->policy->arena, &target);
    if (node == NODE_UNKNOWN)
        hide(walk, path); /* with the directory around it, which can be listed and not searched */
    if (node != NODE_DIRECTORY)
        return;
    while (slice_is(level.component, "**")) {
        level.stars = (struct slice){level.component.ptr, level.component.len + level.rest.len};
        if (!path_next(&level.rest, &level.component)) {
            hide(walk, path);
            return;
        }
    }
    if (depth >= DEPTH_MAX || !walk->tree->list(walk->tree->context, path, visit, &level))
        hide(walk, path);
}

void codex_expand(struct policy *policy, const struct tree *tree, struct problems *problems)
{
    size_t count = policy->paths.count;

    for (size_t i = 0; i < count; i++) {
        const struct path_rule *rule = &policy->paths.items[i];
        struct map matched = map_in(policy->arena);

        if (!rule->expanded || rule->dropped || rule->node != NODE_DIRECTORY)
            continue;
        if (rule->widened)
            continue; /* hidden whole already */
        struct walk walk = {.policy = policy, .tree = tree, .rule = *rule, .matched = &matched};
        rule = &walk.rule; /* rules move when others are added */
        descend(&walk, rule->real, slice_from(rule->pattern.text, rule->pattern.fixed.len), 0);
        if (walk.too_much)
            problem_add(problems, rule->origin.file, rule->origin.path,
                        "%s matches more than %d paths or needs a look at more than %d: name a directory instead",
                        escaped(policy->arena, rule->text), MATCHES_MAX, ENTRIES_MAX);
    }
}

/* ---- protected names ---- */

static bool is_writable_root(const struct path_rule *rule)
{
    return !rule->dropped && rule_grants_writing(rule) && rule->backing == BACKING_HOST && rule->pattern.literal &&
           rule->node == NODE_DIRECTORY;
}

static bool is_in_a_writable_root(const struct policy *policy, struct slice path)
{
    for (size_t i = 0; i < policy->paths.count; i++) {
        if (is_writable_root(&policy->paths.items[i]) && path_covers(policy->paths.items[i].real, path))
            return true;
    }
    return false;
}

/* Only what would be writable needs to be held: elsewhere a rule that says read could show what is
 * hidden, and who wrote the pointer of a `.git` file may be an earlier run. */
static bool would_be_written(const struct policy *policy, struct slice path)
{
    return decide_real_path(policy, OPERATION_WRITE, path).allowed;
}

/* A link where the command may write can lead elsewhere a moment later, and what
 * was meant would be open: refused, as Codex does. */
static bool refuse_link(const struct policy *policy, struct problems *problems, struct origin origin, struct slice path,
                        const struct tree_link *links, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_in_a_writable_root(policy, path_parent(links[i].at)))
            continue;
        problem_add(problems, origin.file, origin.path,
                    "cannot hold %s, because it passes through the link %s in a directory that may be written: name "
                    "what it leads to, or put that in its place",
                    escaped(policy->arena, path), escaped(policy->arena, links[i].at));
        return true;
    }
    return false;
}

struct protection {
    struct policy *policy;
    const struct tree *tree;
    struct problems *problems;
    struct map spoken; /* paths that an entry names */
};

static void note_spoken(struct protection *protection)
{
    for (size_t i = 0; i < protection->policy->paths.count; i++) {
        struct path_rule *rule = &protection->policy->paths.items[i];
        if (rule->list == LIST_RULES && rule->pattern.literal && !rule->dropped)
            *map_at(&protection->spoken, rule->real) = protection;
    }
}

static void add_read_rule(struct protection *protection, const struct tree_place *place, struct origin origin)
{
    void **spoken = map_at(&protection->spoken, place->path);

    if (*spoken || !would_be_written(protection->policy, place->path))
        return;
    *spoken = protection;
    policy_add_path(protection->policy,
                    (struct path_rule){.list = LIST_RULES,
                                       .access = ACCESS_READ,
                                       .text = place->path,
                                       .pattern = {.text = place->path, .fixed = place->path, .literal = true},
                                       .real = place->path,
                                       .node = place->node,
                                       .origin = origin});
}

static const struct origin names_of_codex = {"built-in", "the names that Codex protects"};

static void protect_place(struct protection *protection, const struct tree_place *place)
{
    if (!refuse_link(protection->policy, protection->problems, names_of_codex, place->path, place->links,
                     place->link_count))
        add_read_rule(protection, place, names_of_codex);
}

/* What git runs, in the directory that a worktree shares with others. */
static void protect_shared(void *argument, struct slice path)
{
    struct protection *protection = argument;
    struct tree_place place;

    if (tree_follow(protection->tree, protection->policy->arena, path, &place, NULL) && place.node != NODE_UNKNOWN)
        protect_place(protection, &place);
}

static void protect_name(struct protection *protection, struct slice path)
{
    const struct origin origin = names_of_codex;
    const struct policy *policy = protection->policy;
    struct tree_place place;
    struct tree_place pointed;
    struct slice common;

    if (map_get(&protection->spoken, path) || !tree_follow(protection->tree, policy->arena, path, &place, NULL) ||
        refuse_link(policy, protection->problems, origin, path, place.links, place.link_count))
        return;
    /* A root that was closed (chmod 0, in an earlier run) can be opened again by the
     * command: then the name is held as one that is to come. */
    if (place.node == NODE_UNKNOWN) {
        place.path = path;
        place.node = NODE_ABSENT;
    }
    add_read_rule(protection, &place, origin);
    if (place.node != NODE_FILE || !slice_is(path_name(place.path), ".git"))
        return;
    if (!git_layout_pointer(protection->tree, policy->arena, place.path, &pointed))
        return;
    protect_place(protection, &pointed);
    if (git_layout_common(protection->tree, policy->arena, pointed.path, &common) &&
        !map_get(&protection->spoken, common))
        git_layout_dangerous(policy->arena, common, protect_shared, protection);
}

void codex_protect(struct policy *policy, const struct tree *tree, struct problems *problems)
{
    struct protection protection = {policy, tree, problems, map_in(policy->arena)};
    size_t count = policy->paths.count;

    note_spoken(&protection);
    for (size_t i = 0; i < count; i++) {
        const struct path_rule rule = policy->paths.items[i];
        if (rule.no_links && !rule.dropped)
            refuse_link(policy, problems, rule.origin, rule.text, rule.links, rule.link_count);
        for (size_t j = 0; is_writable_root(&rule) && rule.list == LIST_RULES && protected_by_codex[j]; j++)
            protect_name(&protection, path_join(policy->arena, rule.real, slice_of(protected_by_codex[j])));
    }
}
