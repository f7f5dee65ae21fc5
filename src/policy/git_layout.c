/* Follows git's own pointers: a `.git` file, then `commondir`. Contents are
 * hostile (an earlier run may have written them): bounded, one line, and what
 * they name is only ever *denied*, so a forged pointer opens nothing. */
#include "policy/git_layout.h"

#include "base/path.h"
#include "policy/protect.h"

enum { POINTER_LENGTH_MAX = 4096 };

/* What git obeys or runs, below any git directory, and the protected name by
 * which a policy may lift it. */
static const struct {
    const char *inside;
    const char *name;
} dangerous[] = {
    {"hooks", ".git/hooks/"},
    {"config", ".git/config"},
    {"config.worktree", ".git/config.worktree"},
    {"remotes", ".git/remotes/"},
    {"branches", ".git/branches/"},
    {"commondir", ".git/commondir"},
    {"gitdir", ".git/worktrees/*/gitdir"},
    {"info/attributes", ".git/info/attributes"},
    {"objects/info/alternates", ".git/objects/info/alternates"},
    {NULL, NULL},
};

static struct slice first_line(struct slice text)
{
    text.len = slice_find(text, '\n');
    while (text.len && (text.ptr[text.len - 1] == '\r' || text.ptr[text.len - 1] == ' '))
        text.len--;
    return text;
}

/* What a pointer file names, links followed; false if it names nothing. */
static bool follow_pointer(const struct tree *tree, struct arena *arena, struct slice file, struct slice prefix,
                           struct tree_place *place)
{
    struct slice content;

    if (!tree->read || !tree->read(tree->context, file, POINTER_LENGTH_MAX, arena, &content))
        return false;
    content = first_line(content);
    if (!slice_starts(content, prefix))
        return false;
    content = slice_from(content, prefix.len);
    while (content.len && content.ptr[0] == ' ')
        content = slice_from(content, 1);
    if (!content.len || memchr(content.ptr, '\0', content.len))
        return false;
    if (content.ptr[0] != '/')
        content = path_join(arena, path_parent(file), content);
    return tree_follow(tree, arena, content, place, NULL);
}

/* The same, and it must be a directory. */
static bool read_pointer(const struct tree *tree, struct arena *arena, struct slice file, struct slice prefix,
                         struct slice *directory)
{
    struct tree_place place;

    if (!follow_pointer(tree, arena, file, prefix, &place) || place.node != NODE_DIRECTORY)
        return false;
    *directory = place.path;
    return true;
}

bool git_layout_pointer(const struct tree *tree, struct arena *arena, struct slice dot_git, struct tree_place *place)
{
    return follow_pointer(tree, arena, dot_git, SLICE("gitdir:"), place) && place->node != NODE_UNKNOWN;
}

void git_layout_dangerous(struct arena *arena, struct slice directory, void (*found)(void *argument, struct slice path),
                          void *argument)
{
    for (size_t i = 0; dangerous[i].inside; i++)
        found(argument, path_normal(arena, directory, slice_of(dangerous[i].inside)));
}

bool git_layout_common(const struct tree *tree, struct arena *arena, struct slice directory, struct slice *common)
{
    return read_pointer(tree, arena, path_join(arena, directory, SLICE("commondir")), SLICE(""), common);
}

void git_layout_protected(const struct tree *tree, struct arena *arena, struct slice root,
                          void (*found)(void *argument, struct slice path), void *argument)
{
    struct slice dot_git = path_join(arena, root, SLICE(".git"));
    struct slice directory;
    struct slice common;
    struct tree_place place;

    if (!tree_follow(tree, arena, dot_git, &place, NULL))
        return;
    if (place.node == NODE_FILE) {
        if (!read_pointer(tree, arena, place.path, SLICE("gitdir:"), &directory))
            return;
    } else if (place.node == NODE_DIRECTORY) {
        directory = place.path;
    } else {
        return;
    }
    if (!slice_equal(directory, dot_git))
        git_layout_dangerous(arena, directory, found, argument);
    if (git_layout_common(tree, arena, directory, &common))
        git_layout_dangerous(arena, common, found, argument);
}

static bool is_repository(const struct tree *tree, struct arena *arena, struct slice directory)
{
    struct slice target;

    return tree->look(tree->context, path_join(arena, directory, SLICE("HEAD")), arena, &target) == NODE_FILE &&
           tree->look(tree->context, path_join(arena, directory, SLICE("objects")), arena, &target) == NODE_DIRECTORY &&
           tree->look(tree->context, path_join(arena, directory, SLICE("refs")), arena, &target) == NODE_DIRECTORY;
}

bool git_layout_worktree(const struct tree *tree, struct arena *arena, struct slice project, struct slice *common,
                         struct slice *directory)
{
    struct slice dot_git = path_join(arena, project, SLICE(".git"));
    struct slice target;
    struct slice back;

    if (tree->look(tree->context, dot_git, arena, &target) != NODE_FILE ||
        !read_pointer(tree, arena, dot_git, SLICE("gitdir:"), directory) ||
        !git_layout_common(tree, arena, *directory, common))
        return false;
    /* Only the layout git itself makes: COMMON/worktrees/NAME, with a file in it
     * that names this worktree. And outside of it, or else the project vouches
     * for itself. */
    if (!slice_equal(path_parent(*directory), path_join(arena, *common, SLICE("worktrees"))) ||
        path_covers(project, *directory) || path_covers(*common, project) || !is_repository(tree, arena, *common))
        return false;
    if (!tree->read(tree->context, path_join(arena, *directory, SLICE("gitdir")), POINTER_LENGTH_MAX, arena, &back))
        return false;
    return slice_equal(path_normal(arena, *directory, first_line(back)), dot_git);
}

/* Is `path` at or below `name`, component by component? */
static bool lies_below(struct slice path, struct slice name)
{
    struct slice part;
    struct slice component;

    while (path_next(&name, &part)) {
        if (!path_next(&path, &component) || !slice_equal_ignoring_case(part, component))
            return false;
    }
    return true;
}

bool git_layout_is_dangerous(const struct policy *policy, struct slice inside)
{
    const char case_bit = 'a' ^ 'A';

    if (inside.len == 0 || protect_is_off(policy))
        return false;
    for (size_t i = 0; dangerous[i].inside; i++) {
        /* Asked for every directory above every new file: most names are told apart by a letter. */
        if ((inside.ptr[0] | case_bit) == dangerous[i].inside[0] && lies_below(inside, slice_of(dangerous[i].inside)))
            return !protect_is_lifted(policy, slice_of(dangerous[i].name));
    }
    return false;
}
