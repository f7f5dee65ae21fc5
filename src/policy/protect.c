/* Protected names (product: "Refused for writing, creating, renaming, linking,
 * deleting, whether they exist or not"). Each name makes some program on the
 * host run code later: shells, git, editors, agents, direnv, cloche itself.
 *
 * A name is a list of components; each component is a name pattern, and `**`
 * stands for any number of them except git's own data directories, so that a
 * branch called "config" in a submodule stays an ordinary file. */
#include "policy/protect.h"

#include "base/path.h"

enum { COMPONENTS_MAX = 512, NAME_LENGTH_MAX = 255 };

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
    ".git/commondir",
    ".git/info/attributes",
    ".git/objects/info/alternates",
    ".git/worktrees/*/commondir",
    ".git/worktrees/*/gitdir",
    ".git/worktrees/*/config.worktree",
    ".git/modules/**/hooks/",
    ".git/modules/**/config",
    ".git/modules/**/config.worktree",
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

struct components {
    struct slice items[COMPONENTS_MAX];
    size_t count;
};

static void split(struct slice path, struct components *components)
{
    struct slice component;

    components->count = 0;
    while (components->count < COMPONENTS_MAX && path_next(&path, &component))
        components->items[components->count++] = component;
}

/* ASCII case is ignored because the tree may be on a file system that does
 * (attack 111). Table and user names are compared the same way. */
static bool component_matches(struct slice pattern, struct slice component)
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

static bool is_git_data(struct slice component)
{
    return slice_equal_ignoring_case(component, SLICE("refs")) || slice_equal_ignoring_case(component, SLICE("logs")) ||
           slice_equal_ignoring_case(component, SLICE("objects"));
}

/* Matches `name` against the components from `at` on; `*end` is the index
 * behind the last one used. Names have at most one `**`, so this is bounded by
 * one retry per component. */
static bool matches_from(struct slice name, const struct components *path, size_t at, size_t *end)
{
    struct slice component;

    while (path_next(&name, &component)) {
        if (slice_is(component, "**")) {
            for (size_t skipped = at; skipped <= path->count; skipped++) {
                if (matches_from(name, path, skipped, end))
                    return true;
                if (skipped < path->count && is_git_data(path->items[skipped]))
                    return false;
            }
            return false;
        }
        if (at >= path->count || !component_matches(component, path->items[at]))
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

static bool is_git_config(struct slice name)
{
    return slice_ends(name, SLICE("/config")) || slice_ends(name, SLICE("/config.worktree"));
}

bool protect_is_lifted(const struct policy *policy, struct slice name)
{
    if (policy->filesystem.allow_git_config && is_git_config(name))
        return true;
    for (size_t i = 0; i < policy->filesystem.unprotect.count; i++) {
        if (same_name(policy->filesystem.unprotect.items[i].text, name))
            return true;
    }
    return false;
}

static bool search(const struct components *path, struct slice name, size_t from, size_t *depth)
{
    for (size_t start = 0; start < path->count; start++) {
        size_t end = 0;
        if (name.ptr[0] == '.' && path->items[start].ptr[0] != '.')
            continue;
        if (matches_from(name, path, start, &end) && end > from) {
            *depth = end;
            return true;
        }
    }
    return false;
}

bool protect_matches(const struct policy *policy, struct slice path, size_t from, const char **name,
                     struct origin *origin, size_t *depth)
{
    const struct name_rules *added = &policy->filesystem.protect;

    /* All built-in names begin with a dot: most paths are done with here. */
    if (!added->count && !memmem(path.ptr, path.len, "/.", 2))
        return false;

    struct components components;
    split(path, &components);
    for (size_t i = 0; protected_names[i]; i++) {
        struct slice candidate = slice_of(protected_names[i]);
        if (!search(&components, candidate, from, depth) || protect_is_lifted(policy, candidate))
            continue;
        *name = protected_names[i];
        *origin = (struct origin){"built-in", "protected names"};
        return true;
    }
    for (size_t i = 0; i < added->count; i++) {
        if (!added->items[i].text.len || !search(&components, added->items[i].text, from, depth))
            continue;
        *name = arena_slice(policy->arena, added->items[i].text).ptr;
        *origin = added->items[i].origin;
        return true;
    }
    return false;
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
