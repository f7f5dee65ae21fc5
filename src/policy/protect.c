/* Protected names (product: "Refused for writing, creating, renaming, linking,
 * deleting, whether they exist or not"). Each name makes some program on the
 * host run code later: shells, git, editors, agents, direnv, cloche itself.
 *
 * A name is a list of components; each component is a name pattern, and `**`
 * stands for any number of them except git's own data directories, so that a
 * branch called "config" in a submodule stays an ordinary file.
 *
 * Nothing here allocates or remembers: the doorman asks from several threads. A
 * path is read where it lies, however many components it has. */
#include "policy/protect.h"

#include "base/path.h"

enum { NAME_LENGTH_MAX = 255 };

const char *const protected_names[] = {
    /* shells and the tools that hook into them */
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".envrc",
    /* git and tools that read a configuration which names programs */
    ".gitconfig",
    ".gitmodules",
    ".ripgreprc",
    ".git/hooks/",
    ".git/config",
    ".git/config.worktree",
    ".git/remotes/",
    ".git/branches/",
    ".git/commondir",
    ".git/info/attributes",
    ".git/objects/info/alternates",
    ".git/worktrees/*/commondir",
    ".git/worktrees/*/gitdir",
    ".git/worktrees/*/config.worktree",
    ".git/modules/**/hooks/",
    ".git/modules/**/config",
    ".git/modules/**/config.worktree",
    ".git/modules/**/remotes/",
    ".git/modules/**/branches/",
    ".git/modules/**/commondir",
    ".git/modules/**/info/attributes",
    ".git/modules/**/objects/info/alternates",
    /* editors */
    ".vscode/",
    ".idea/",
    ".devcontainer/",
    ".husky/",
    /* agents, and cloche */
    ".mcp.json",
    ".cloche.json",
    ".claude/commands/",
    ".claude/agents/",
    ".claude/settings*.json",
    ".codex/",
    ".cursor/",
    NULL,
};

bool protect_component_matches(struct slice pattern, struct slice component)
{
    char lowered_pattern[NAME_LENGTH_MAX];
    char lowered[NAME_LENGTH_MAX];

    if (pattern.len > NAME_LENGTH_MAX || component.len > NAME_LENGTH_MAX)
        return false;
    for (size_t i = 0; i < pattern.len; i++)
        lowered_pattern[i] = slice_lower(pattern.ptr[i]);
    for (size_t i = 0; i < component.len; i++)
        lowered[i] = slice_lower(component.ptr[i]);
    return name_matches((struct slice){lowered_pattern, pattern.len}, (struct slice){lowered, component.len});
}

bool protect_is_git_data(struct slice component)
{
    return slice_equal_ignoring_case(component, SLICE("refs")) || slice_equal_ignoring_case(component, SLICE("logs")) ||
           slice_equal_ignoring_case(component, SLICE("objects"));
}

/* Matches `name` against the components of `rest`, of which the first has the
 * number `at`; `*end` is the number behind the last one used. Names have at most
 * one `**`, so this is bounded by one retry per component. */
static bool matches_from(struct slice name, struct slice rest, size_t at, size_t *end)
{
    struct slice part;
    struct slice component;

    while (path_next(&name, &part)) {
        if (slice_is(part, "**")) {
            while (!matches_from(name, rest, at, end)) {
                if (!path_next(&rest, &component) || protect_is_git_data(component))
                    return false;
                at++;
            }
            return true;
        }
        if (!path_next(&rest, &component) || !protect_component_matches(part, component))
            return false;
        at++;
    }
    *end = at;
    return true;
}

static struct slice without_slash(struct slice name)
{
    while (name.len && name.ptr[name.len - 1] == '/')
        name.len--;
    return name;
}

static bool same_name(struct slice a, struct slice b)
{
    return slice_equal_ignoring_case(without_slash(a), without_slash(b));
}

bool protect_is_git_config(struct slice path)
{
    return slice_ends(path, SLICE("/config")) || slice_ends(path, SLICE("/config.worktree"));
}

bool protect_is_off(const struct policy *policy)
{
    return policy->filesystem.disabled || policy->around.personality == PERSONALITY_CODEX;
}

bool protect_is_lifted(const struct policy *policy, struct slice name)
{
    if (policy->filesystem.allow_git_config && protect_is_git_config(name))
        return true;
    for (size_t i = 0; i < policy->filesystem.unprotect.count; i++) {
        if (same_name(policy->filesystem.unprotect.items[i].text, name))
            return true;
    }
    return false;
}

/* How many components at the end of `name` must lie in a directory of this very
 * run for the name not to count. A git directory is one thing: what is made in a
 * new `.git`, or in what git keeps for a new worktree or submodule, belongs to it.
 * Other names must begin in a new directory: a `.claude` made today in a project
 * of old is none of its own (attack 34). */
static size_t tail_length(struct slice name)
{
    bool is_git = slice_starts(name, SLICE(".git/"));
    size_t tail = 0;
    struct slice part;

    for (bool first = true; path_next(&name, &part); first = false)
        tail = is_git && (first || slice_is(part, "*") || slice_is(part, "**")) ? 0 : tail + 1;
    return tail;
}

static bool can_begin(struct slice name, struct slice component)
{
    return name.len && (name.ptr[0] != '.' || component.ptr[0] == '.');
}

struct match_search {
    struct slice path;
    size_t from;
    bool but_git_config;
    bool found;
    struct protected_match *match;
};

/* The deepest holder counts: what is forbidden in a directory was forbidden when
 * something was made below it. */
static void try_name(struct match_search *search, struct slice name, struct origin origin, struct slice rest, size_t at)
{
    size_t end = 0;

    if (!matches_from(name, rest, at, &end) || end <= search->from)
        return;
    size_t begin = slice_starts(name, SLICE(".git/")) ? end - tail_length(name) : at;
    struct slice holder = path_prefix(search->path, begin);
    if (search->found && holder.len <= search->match->holder.len)
        return;
    search->found = true;
    *search->match = (struct protected_match){name, origin, holder};
}

static bool find_match(const struct policy *policy, struct match_search *search)
{
    const struct name_rules *added = &policy->filesystem.protect;
    struct slice path = search->path;
    struct slice rest = path;
    struct slice component;

    /* All built-in names begin with a dot: most paths are done with here. */
    if (!added->count && !memmem(path.ptr, path.len, "/.", 2))
        return false;

    for (size_t at = 0; path_next(&rest, &component); at++) {
        struct slice here = slice_from(path, (size_t)(component.ptr - path.ptr));
        for (size_t i = 0; component.ptr[0] == '.' && protected_names[i]; i++) {
            struct slice name = slice_of(protected_names[i]);
            if (!protect_is_lifted(policy, name) && !(search->but_git_config && protect_is_git_config(name)))
                try_name(search, name, (struct origin){"built-in", "protected names"}, here, at);
        }
        for (size_t i = 0; i < added->count; i++) {
            if (can_begin(added->items[i].text, component))
                try_name(search, added->items[i].text, added->items[i].origin, here, at);
        }
    }
    return search->found;
}

bool protect_matches(const struct policy *policy, struct slice path, size_t from, struct protected_match *match)
{
    struct match_search search = {.path = path, .from = from, .match = match};

    return find_match(policy, &search);
}

bool protect_matches_but_git_config(const struct policy *policy, struct slice path, size_t from)
{
    struct protected_match match;
    struct match_search search = {.path = path, .from = from, .but_git_config = true, .match = &match};

    return find_match(policy, &search);
}

struct rest_search {
    void (*found)(void *argument, struct slice rest);
    void *argument;
};

static struct slice without_leading_slash(struct slice text)
{
    while (text.len && text.ptr[0] == '/')
        text = slice_from(text, 1);
    return text;
}

/* Gives what is left of `name` when `rest` comes to its end first. */
static void rests_from(const struct rest_search *search, struct slice name, struct slice rest)
{
    struct slice part;
    struct slice component;

    for (;;) {
        struct slice whole = without_leading_slash(name);
        if (!path_next(&name, &part))
            return;
        if (slice_is(part, "**")) {
            rests_from(search, name, rest);
            while (path_next(&rest, &component)) {
                if (protect_is_git_data(component))
                    return;
                rests_from(search, name, rest);
            }
            search->found(search->argument, whole);
            return;
        }
        if (!path_next(&rest, &component)) {
            search->found(search->argument, whole);
            return;
        }
        if (!protect_component_matches(part, component))
            return;
    }
}

void protect_rests(const struct policy *policy, struct slice path, void (*found)(void *argument, struct slice rest),
                   void *argument)
{
    const struct name_rules *added = &policy->filesystem.protect;
    const struct rest_search search = {found, argument};
    struct slice rest = path;
    struct slice component;

    if (protect_is_off(policy))
        return;
    while (path_next(&rest, &component)) {
        struct slice here = slice_from(path, (size_t)(component.ptr - path.ptr));
        for (size_t i = 0; component.ptr[0] == '.' && protected_names[i]; i++) {
            if (!protect_is_lifted(policy, slice_of(protected_names[i])))
                rests_from(&search, slice_of(protected_names[i]), here);
        }
        for (size_t i = 0; i < added->count; i++) {
            if (can_begin(added->items[i].text, component))
                rests_from(&search, added->items[i].text, here);
        }
    }
}

static void note_rest(void *argument, struct slice rest)
{
    (void)rest;
    *(bool *)argument = true;
}

bool protect_is_prefix(const struct policy *policy, struct slice path)
{
    bool any = false;

    protect_rests(policy, path, note_rest, &any);
    return any;
}

bool protect_is_git_pointer(struct slice path)
{
    return slice_equal_ignoring_case(path_name(path), SLICE(".git"));
}

static void offer(const struct policy *policy, struct arena *arena, struct slice root, struct slice name,
                  void (*found)(void *argument, struct slice path), void *argument)
{
    if (name.len && !name_has_wildcard(name) && !protect_is_lifted(policy, name))
        found(argument, path_normal(arena, root, name));
}

void protect_candidates(const struct policy *policy, struct slice root, struct arena *arena,
                        void (*found)(void *argument, struct slice path), void *argument)
{
    for (size_t i = 0; protected_names[i]; i++)
        offer(policy, arena, root, slice_of(protected_names[i]), found, argument);
    for (size_t i = 0; i < policy->filesystem.protect.count; i++)
        offer(policy, arena, root, policy->filesystem.protect.items[i].text, found, argument);
}
