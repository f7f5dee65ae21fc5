/* Rules say names; this file finds what they really are, once, before anything
 * is decided. In order:
 *
 *   1. follow the links of every written rule, and list what the patterns over
 *      one top directory match now;
 *   2. add the built-in rules (they give way to written ones on some paths);
 *   3. see to it that no link inside a writable root chooses what is allowed;
 *   4. drop what grants a path that does not exist (there is nothing to attach a
 *      grant to, and decide() must not promise it);
 *   5. add what protected names and git's pointers lead to;
 *   6. index all rules by what they really name.
 *
 * A denial whose place cannot be inspected is widened to the nearest directory
 * that can be (attack 17): it is never lost. */
#include "policy/resolve.h"

#include "base/path.h"
#include "base/text.h"
#include "policy/built_in.h"
#include "policy/codex.h"
#include "policy/decide.h"
#include "policy/git_layout.h"
#include "policy/protect.h"

bool rule_is_visible(const struct path_rule *rule)
{
    return rule->list == LIST_ALLOW_READ || rule->list == LIST_ALLOW_WRITE ||
           ((rule->list == LIST_RULES || rule->list == LIST_BUILT_IN) && rule->access != ACCESS_NONE);
}

bool rule_is_grant(const struct path_rule *rule)
{
    return rule_is_visible(rule) && !(rule->list == LIST_RULES && rule->access == ACCESS_EMPTY);
}

bool rule_grants_writing(const struct path_rule *rule)
{
    return rule->list == LIST_ALLOW_WRITE ||
           ((rule->list == LIST_RULES || rule->list == LIST_BUILT_IN) && rule->access == ACCESS_WRITE);
}

/* A directory of the host below which the command may write. */
static bool is_host_root(const struct path_rule *rule)
{
    return !rule->dropped && rule_grants_writing(rule) && rule->backing == BACKING_HOST && rule->pattern.literal &&
           rule->node == NODE_DIRECTORY;
}

static void drop(struct path_rule *rule, const char *because)
{
    rule->dropped = true;
    rule->dropped_because = because;
}

static void refuse(struct problems *problems, const struct path_rule *rule, const char *text)
{
    problem_add(problems, rule->origin.file, rule->origin.path, "%s", text);
}

/* The written form of a pattern with its fixed part replaced by what that
 * really is. */
static void rebase_pattern(struct policy *policy, struct path_rule *rule)
{
    struct slice rest = slice_from(rule->pattern.text, rule->pattern.fixed.len);
    struct slice text;

    while (rest.len && rest.ptr[0] == '/')
        rest = slice_from(rest, 1);
    text = path_join(policy->arena, rule->real, rest);
    /* Bytes of the real directory that look like wildcards must stay ordinary,
     * so only a fixed part free of them can be put back into a pattern. */
    if (!name_has_wildcard(rule->real) && !slice_equal(text, rule->pattern.text))
        pattern_parse(policy->arena, text, false, &rule->pattern, NULL);
}

static void follow(struct policy *policy, const struct tree *tree, struct path_rule *rule, struct problems *problems,
                   struct error *err)
{
    struct tree_place place;
    struct slice start = rule->pattern.literal ? rule->pattern.text : rule->pattern.fixed;

    rule->real = start;
    /* In a file system of the sandbox's own: the host's has no say there. */
    if (rule->list == LIST_BUILT_IN && rule->backing == BACKING_FRESH) {
        rule->node = rule->access == ACCESS_NONE ? NODE_FILE : NODE_DIRECTORY;
        return;
    }
    if (rule->made_anew) {
        rule->node = NODE_DIRECTORY;
        return;
    }
    if (!tree_follow(tree, policy->arena, start, &place, err)) {
        if (rule_is_grant(rule) && rule->derived)
            drop(rule, "its links run in a circle");
        else
            refuse(problems, rule, err->text);
        return;
    }
    rule->real = place.path;
    rule->node = place.node;
    rule->links = place.links;
    rule->link_count = place.link_count;
    if (place.node == NODE_UNKNOWN) {
        if (rule->list == LIST_RULES && rule->access == ACCESS_READ) {
            rule->node = NODE_ABSENT; /* it also refuses writing, and whoever closed that directory can open it */
        } else if (rule_is_grant(rule)) {
            drop(rule, "the directory above it cannot be searched");
        } else {
            rule->real = place.blocked;
            rule->node = NODE_DIRECTORY;
            rule->widened = true;
        }
    }
    if (!rule->pattern.literal)
        rebase_pattern(policy, rule);
}

/* The directory, of those in `roots`, that holds one of the links a rule passes
 * through. */
static const struct slice *root_of_link(const struct map *roots, const struct path_rule *rule, struct slice *at)
{
    for (size_t i = 0; i < rule->link_count; i++) {
        *at = rule->links[i].at;
        for (struct slice above = path_parent(*at);; above = path_parent(above)) {
            const struct slice *root = map_get(roots, above);
            if (root)
                return root;
            if (above.len <= 1)
                break;
        }
    }
    return NULL;
}

/* A link inside a writable root may have been put there by an earlier run to
 * choose what this one is allowed (attacks 2 and 4). Denials follow such links
 * gladly; grants do not: what the user did not write is dropped. */
static void judge_links(struct policy *policy, const struct map *roots, struct path_rule *rule,
                        struct problems *problems)
{
    struct slice at;
    const struct slice *root;

    if (rule->dropped || !rule_is_grant(rule) || !rule->link_count)
        return;
    /* Nobody wrote this one, so nobody vouches for where a link in it leads:
     * /tmp/claude may be anybody's link to the user's own home. */
    if (rule->derived && rule_grants_writing(rule)) {
        drop(rule, "it passes through a link");
        return;
    }
    root = root_of_link(roots, rule, &at);
    if (!root)
        return;
    if (rule->derived || slice_starts(slice_of(rule->origin.file), SLICE("preset:")) ||
        policy->around.personality == PERSONALITY_SRT) {
        drop(rule, "it passes through a link inside a directory that runs may write");
        return;
    }
    problem_add(
        problems, rule->origin.file, rule->origin.path,
        "%s passes through the link %s in %s, where runs may write: whatever ran there before could have chosen its "
        "target. Name the target itself: %s",
        escaped(policy->arena, rule->text), escaped(policy->arena, at), escaped(policy->arena, *root),
        escaped(policy->arena, rule->real));
}

static void judge_all_links(struct policy *policy, struct problems *problems)
{
    struct map roots = map_in(policy->arena);

    for (size_t i = 0; i < policy->paths.count; i++) {
        struct path_rule *rule = &policy->paths.items[i];
        if (is_host_root(rule))
            *map_at(&roots, rule->real) = &rule->real;
    }
    /* Even if this run may not write to its project, one under another policy may have. Nobody works in "/", and
     * its links are the system's. */
    if (policy->around.personality != PERSONALITY_SRT && policy->around.project.len > 1)
        *map_at(&roots, policy->around.project) = &policy->around.project;
    for (size_t i = 0; i < policy->paths.count; i++)
        judge_links(policy, &roots, &policy->paths.items[i], problems);
}

/* Entries of $PATH and other things nobody wrote give way to what hides them;
 * the skeleton of $HOME itself is made to be filled by them. */
static bool covers_a_home(const struct policy *policy, struct slice path)
{
    return path_covers(path, policy->around.home) ||
           (policy->around.passwd_home.len && path_covers(path, policy->around.passwd_home));
}

/* What rules hide by name. Gathered, because rules are large and this is looked through
 * for each of those that give way. */
struct hidden {
    struct slice *paths;
    size_t count;
};

static struct hidden gather_hidden(const struct policy *policy)
{
    struct hidden hidden = {.paths = arena_alloc(policy->arena, policy->paths.count * sizeof *hidden.paths)};

    for (size_t i = 0; i < policy->paths.count; i++) {
        const struct path_rule *rule = &policy->paths.items[i];
        bool hides = rule->list == LIST_DENY_READ || (rule->list == LIST_RULES && rule->access == ACCESS_NONE);
        if (hides && !rule->dropped && rule->pattern.literal && !covers_a_home(policy, rule->real))
            hidden.paths[hidden.count++] = rule->real;
    }
    return hidden;
}

static bool is_hidden_by_name(const struct hidden *hidden, struct slice path)
{
    for (size_t i = 0; i < hidden->count; i++) {
        if (path_covers(hidden->paths[i], path))
            return true;
    }
    return false;
}

static bool is_always_there(struct slice path)
{
    static const char *const names[] = {"/dev/shm",   "/dev/pts",    "/dev/ptmx",   "/dev/fd",
                                        "/dev/stdin", "/dev/stdout", "/dev/stderr", NULL};

    for (size_t i = 0; names[i]; i++) {
        if (path_covers(slice_of(names[i]), path))
            return true;
    }
    for (size_t i = 0; device_nodes[i]; i++) {
        if (slice_is(path, device_nodes[i]))
            return true;
    }
    return path_depth(path) == 1; /* /proc and /dev themselves */
}

/* /proc and /dev are made anew for each run and no rule reaches into them: one
 * that tries is refused rather than believed. */
static void judge_own_places(struct policy *policy, struct path_rule *rule, struct problems *problems)
{
    bool by_name = built_in_place(rule->pattern.text);

    if (rule->dropped || rule->list == LIST_BUILT_IN || (!by_name && !built_in_place(rule->real)))
        return;
    if (rule_is_grant(rule) && (rule->derived || (by_name && is_always_there(rule->pattern.text)))) {
        drop(rule, "the sandbox has its own");
        return;
    }
    if (rule_is_grant(rule) && policy->around.personality != PERSONALITY_CLOCHE) {
        drop(rule, "the sandbox has its own /proc and /dev");
        return;
    }
    if (path_covers(SLICE("/dev"), rule->pattern.text))
        problem_add(problems, rule->origin.file, rule->origin.path,
                    "%s lies in /dev, which is made anew for each run with the usual nodes only: name a device to add "
                    "it (filesystem.devices, --device); none of the usual ones can be taken away",
                    escaped(policy->arena, rule->text));
    else
        problem_add(problems, rule->origin.file, rule->origin.path,
                    "%s leads into %s, which is made anew for each run: no rule reaches into it",
                    escaped(policy->arena, rule->text), path_covers(SLICE("/dev"), rule->real) ? "/dev" : "/proc");
}

static void drop_unusable(struct policy *policy, const struct hidden *hidden, struct path_rule *rule,
                          struct problems *problems)
{
    if (rule->dropped || !rule->pattern.literal)
        return;
    if (rule->required && rule->node != NODE_FILE && rule->node != NODE_DIRECTORY) {
        problem_add(problems, rule->origin.file, rule->origin.path,
                    "%s is required, but there is nothing at %s: create it, or take \"required\" away",
                    escaped(policy->arena, rule->text), escaped(policy->arena, rule->real));
        return;
    }
    /* A rule that says read also refuses writing, which matters for what is made
     * later; every other grant has nothing to be attached to. */
    bool restricts = rule->list == LIST_RULES && rule->access < ACCESS_WRITE;
    if (rule_is_visible(rule) && !restricts && rule->node == NODE_ABSENT && rule->list != LIST_BUILT_IN)
        drop(rule, "it does not exist");
    else if (rule->derived && rule->list == LIST_ALLOW_READ && is_hidden_by_name(hidden, rule->real))
        drop(rule, "a denyRead covers it");
}

static void drop_all_unusable(struct policy *policy, struct problems *problems)
{
    struct hidden hidden = gather_hidden(policy);

    for (size_t i = 0; i < policy->paths.count; i++)
        drop_unusable(policy, &hidden, &policy->paths.items[i], problems);
}

bool pattern_is_at_top(const struct policy *policy, const struct path_rule *rule)
{
    struct slice last = path_name(rule->pattern.text);

    return !rule->pattern.literal && !slice_is(last, "**") &&
           path_depth(rule->pattern.text) == path_depth(rule->real) + 1 &&
           (slice_equal(rule->real, policy->around.project) || slice_equal(rule->real, policy->around.home));
}

struct expansion {
    struct policy *policy;
    struct path_rule rule;
};

/* One entry of the directory: a literal rule of its own, so that a link among
 * the entries hides what it leads to. */
static void expand_entry(void *argument, struct slice name)
{
    struct expansion *expansion = argument;
    struct path_rule rule = expansion->rule;
    struct slice path = arena_slice(expansion->policy->arena, path_join(expansion->policy->arena, rule.real, name));

    if (!pattern_matches(&rule.pattern, path))
        return;
    rule.pattern = (struct pattern){.text = path, .fixed = path, .literal = true};
    rule.derived = true;
    policy_add_path(expansion->policy, rule);
}

static void expand_patterns(struct policy *policy, const struct tree *tree, struct problems *problems)
{
    size_t count = policy->paths.count;

    for (size_t i = 0; i < count; i++) {
        const struct path_rule *rule = &policy->paths.items[i];
        if (rule->dropped || rule->pattern.literal || rule->expanded || rule_is_grant(rule))
            continue;
        struct expansion expansion = {policy, *rule}; /* rules move when others are added */
        if (pattern_is_at_top(policy, &expansion.rule)) {
            if (expansion.rule.node == NODE_DIRECTORY &&
                !tree->list(tree->context, expansion.rule.real, expand_entry, &expansion))
                refuse(problems, &expansion.rule,
                       arena_printf(policy->arena, "%s cannot be listed by you, so its entries cannot be hidden",
                                    escaped(policy->arena, expansion.rule.real)));
        } else if (expansion.rule.at_start)
            refuse(problems, &expansion.rule,
                   "atStart needs a pattern over the entries of the project's top directory or $HOME");
    }
}

static void add_protected_path(void *argument, struct slice path)
{
    struct policy *policy = argument;
    struct path_rule rule = {.list = LIST_DENY_WRITE,
                             .text = path,
                             .pattern = {.text = path, .fixed = path, .literal = true},
                             .derived = true,
                             .protects = true,
                             .origin = {"built-in", "protected names"}};

    policy_add_path(policy, rule);
}

/* What protected names stand for in each writable root now, links followed, and
 * what git's pointers lead to. */
static void add_protected(struct policy *policy, const struct tree *tree)
{
    size_t count = policy->paths.count;

    for (size_t i = 0; i < count; i++) {
        const struct path_rule *rule = &policy->paths.items[i];
        if (!is_host_root(rule))
            continue;
        struct slice root = rule->real; /* rules move when others are added */
        protect_present(policy, tree, root, add_protected_path, policy);
        git_layout_protected(tree, policy->arena, root, add_protected_path, policy);
    }
}

/* git in a linked worktree writes objects and branches into its repository, which
 * lies elsewhere. Where the project itself may be written, so may that; hooks,
 * config and pointers in it stay protected. */
static void grant_below(struct policy *policy, enum path_list list, struct slice directory, const char *const *names)
{
    for (size_t i = 0; names[i]; i++) {
        struct slice path = path_join(policy->arena, directory, slice_of(names[i]));
        policy_add_path(policy, (struct path_rule){.list = list,
                                                   .text = path,
                                                   .pattern = {.text = path, .fixed = path, .literal = true},
                                                   .derived = true,
                                                   .origin = {"built-in", "the repository of this git worktree"}});
    }
}

static void add_worktree_grant(struct policy *policy, const struct tree *tree)
{
    /* Not the directory as a whole: whoever forges a repository around somebody
     * else's files must not have them opened. */
    static const char *const read[] = {"HEAD",    "config", "config.worktree", "packed-refs", "info",
                                       "shallow", "hooks",  "description",     "modules",     NULL};
    static const char *const written[] = {"objects", "refs", "logs", NULL};
    struct slice common;
    struct slice directory;
    bool project_is_writable = false;

    if (policy->filesystem.disabled || policy->around.personality == PERSONALITY_SRT || policy->filesystem.codex ||
        !git_layout_worktree(tree, policy->arena, policy->around.project, &common, &directory) ||
        path_covers(common, policy->around.home))
        return;
    const char *own = arena_slice(policy->arena, path_name(directory)).ptr;
    for (size_t i = 0; i < policy->paths.count; i++) {
        const struct path_rule *rule = &policy->paths.items[i];
        if (!is_host_root(rule))
            continue;
        /* In reach of the command, the repository's word would be the command's;
         * and then the grant is not needed. */
        if (path_covers(rule->real, directory))
            return;
        project_is_writable = project_is_writable || slice_equal(rule->real, policy->around.project);
    }
    if (!project_is_writable)
        return;
    grant_below(policy, LIST_ALLOW_READ, common, read);
    grant_below(policy, LIST_ALLOW_WRITE, common, written);
    grant_below(policy, LIST_ALLOW_WRITE, path_parent(directory), (const char *const[]){own, NULL});
}

static void index_at(struct policy *policy, struct slice path, struct path_rule *rule)
{
    struct rule_chain *link = ARENA_NEW(policy->arena, struct rule_chain);
    void **place = map_at(policy->by_path, path);

    *link = (struct rule_chain){rule, *place};
    *place = link;
}

static void index_rule(struct policy *policy, struct path_rule *rule)
{
    index_at(policy, rule->real, rule);
    /* A link on the way there must not be exchanged either: what it led to would be an
     * ordinary file to the next run. */
    for (size_t i = 0; rule->list == LIST_DENY_WRITE && i < rule->link_count; i++)
        index_at(policy, rule->links[i].at, rule);
}

/* Every directory above `path` leads to something visible. */
static void mark_passages(struct policy *policy, struct slice path)
{
    static const char present;

    while (path.len > 1) {
        path = path_parent(path);
        void **place = map_at(policy->passages, path);
        if (*place)
            return;
        *place = (void *)(uintptr_t)&present;
    }
}

/* A pattern that stands for the entries there are when the run starts, which have
 * rules of their own by now. */
static bool means_what_is_there(const struct policy *policy, const struct path_rule *rule)
{
    return rule->at_start || (policy->around.personality == PERSONALITY_SRT && !rule_is_grant(rule) &&
                              rule->list != LIST_DENY_WRITE && pattern_is_at_top(policy, rule));
}

static void build_index(struct policy *policy)
{
    policy->by_path = ARENA_NEW(policy->arena, struct map);
    *policy->by_path = map_in(policy->arena);
    size_t in_force = 0;
    for (size_t i = 0; i < policy->paths.count; i++)
        in_force += !policy->paths.items[i].dropped;
    map_reserve(policy->by_path, in_force);
    policy->passages = ARENA_NEW(policy->arena, struct map);
    *policy->passages = map_in(policy->arena);
    policy->patterns = arena_alloc(policy->arena, (policy->paths.count + 1) * sizeof *policy->patterns);
    policy->pattern_count = 0;

    /* Backwards, so that chains run in the order the rules were read. */
    for (size_t i = policy->paths.count; i-- > 0;) {
        struct path_rule *rule = &policy->paths.items[i];
        if (rule->dropped)
            continue;
        if (rule->pattern.literal || rule->widened)
            index_rule(policy, rule);
        else if (!means_what_is_there(policy, rule))
            policy->patterns[policy->pattern_count++] = rule;
    }

    for (size_t i = 0; i < policy->paths.count; i++) {
        const struct path_rule *rule = &policy->paths.items[i];
        if (rule->dropped || !rule_is_visible(rule) || rule->real.len <= 1 ||
            (rule->node == NODE_ABSENT && rule->list != LIST_BUILT_IN) ||
            (rule->pattern.literal && !decide_real_path(policy, OPERATION_READ, rule->real).allowed))
            continue;
        mark_passages(policy, rule->real);
        for (size_t j = 0; j < rule->link_count; j++)
            mark_passages(policy, rule->links[j].at);
    }
}

/* A directory that policy hides is nobody's project by accident: as the project
 * it would be shown and written (`cd ~/.ssh; cloche run x`). */
static void judge_project(struct policy *policy, struct problems *problems)
{
    for (size_t i = 0; i < policy->paths.count; i++) {
        const struct path_rule *rule = &policy->paths.items[i];
        if (rule->list != LIST_DENY_READ || rule->dropped || !rule->pattern.literal || rule->node != NODE_DIRECTORY ||
            covers_a_home(policy, rule->real) || !path_covers(rule->real, policy->around.project))
            continue;
        problem_add(problems, rule->origin.file, rule->origin.path,
                    "the current directory would be the project, and it lies in %s, which this rule hides: name it "
                    "with -C if you mean it",
                    escaped(policy->arena, rule->text));
        return;
    }
}

/* A socket that may be connected to must be in sight, also where /run and /tmp are
 * the run's own or a secret lies around it. */
static void add_sockets(struct policy *policy)
{
    const struct name_rules *sockets = &policy->network.unix_sockets;

    for (size_t i = 0; i < sockets->count; i++) {
        struct slice path = sockets->items[i].text;
        if (path.ptr[0] != '/' || policy->around.personality == PERSONALITY_SRT)
            continue;
        policy_add_path(policy, (struct path_rule){.list = LIST_ALLOW_READ,
                                                   .text = path,
                                                   .pattern = {.text = path, .fixed = path, .literal = true},
                                                   .socket = true,
                                                   .origin = sockets->items[i].origin});
    }
}

/* Whoever may connect to what lies in a directory is not thereby shown the
 * directory. */
static void judge_socket(struct path_rule *rule)
{
    if (rule->socket && !rule->dropped && rule->node == NODE_DIRECTORY)
        drop(rule, "a directory: the sockets in it that are in sight");
}

static void follow_sockets(struct policy *policy, const struct tree *tree)
{
    struct name_rules *sockets = &policy->network.unix_sockets;

    for (size_t i = 0; i < sockets->count; i++) {
        struct tree_place place;
        if (sockets->items[i].text.ptr[0] == '/' &&
            tree_follow(tree, policy->arena, sockets->items[i].text, &place, NULL))
            sockets->items[i].text = place.path;
    }
}

void policy_resolve(struct policy *policy, const struct tree *tree, struct problems *problems)
{
    struct error err; /* one for all: it is large */

    add_sockets(policy);
    size_t written = policy->paths.count;

    for (size_t i = 0; i < written; i++) {
        if (policy->filesystem.disabled)
            drop(&policy->paths.items[i], "filesystem.disabled is true");
        else
            follow(policy, tree, &policy->paths.items[i], problems, &err);
    }
    if (!policy->filesystem.disabled) {
        expand_patterns(policy, tree, problems);
        codex_expand(policy, tree, problems);
    }
    built_in_rules(policy, tree);
    for (size_t i = written; i < policy->paths.count; i++)
        follow(policy, tree, &policy->paths.items[i], problems, &err);

    for (size_t i = 0; i < policy->paths.count; i++)
        judge_own_places(policy, &policy->paths.items[i], problems);
    judge_all_links(policy, problems);
    for (size_t i = 0; i < policy->paths.count; i++)
        judge_socket(&policy->paths.items[i]);
    drop_all_unusable(policy, problems);

    written = policy->paths.count;
    add_worktree_grant(policy, tree);
    for (size_t i = written; i < policy->paths.count; i++)
        follow(policy, tree, &policy->paths.items[i], problems, &err);
    written = policy->paths.count;
    if (!protect_is_off(policy))
        add_protected(policy, tree);
    for (size_t i = written; i < policy->paths.count; i++)
        follow(policy, tree, &policy->paths.items[i], problems, &err);
    if (policy->filesystem.codex && !policy->filesystem.disabled) {
        build_index(policy);                   /* it asks what could be written without it */
        codex_protect(policy, tree, problems); /* follows them itself */
    }

    follow_sockets(policy, tree);
    build_index(policy);
    if (!policy->around.project_is_named && policy->around.personality == PERSONALITY_CLOCHE)
        judge_project(policy, problems);
}
