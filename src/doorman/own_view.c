#include "doorman/own_view.h"

#include "base/fd.h"
#include "base/path.h"
#include "doorman/grants.h"
#include "doorman/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where it cannot be had (the host's own mount is read-only, say), the doorman
 * does without: what would need it fails as it would without a doorman. */
static void clone_root(struct house *house, struct slice path)
{
    struct mount_attr writable = {.attr_clr = MOUNT_ATTR_RDONLY, .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
    FD_CLEANUP int place = resolve_exactly(AT_FDCWD, path, O_PATH | O_DIRECTORY);

    if (place < 0)
        return; /* a file has nothing below it */
    FD_CLEANUP int mount = open_tree(place, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    struct statx status;
    if (mount >= 0 && mount_setattr(mount, "", AT_EMPTY_PATH, &writable, sizeof writable) == 0 &&
        statx(mount, "", AT_EMPTY_PATH, house->mount_id, &status) == 0)
        house->roots[house->root_count++] = (struct own_root){path, fd_take(&mount), status.stx_mnt_id};
}

void own_view_make(struct house *house)
{
    for (size_t i = 0; i < house->plan->doorman_root_count && house->root_count < OWN_ROOTS_MAX; i++)
        clone_root(house, house->plan->doorman_roots[i].path);
}

static const struct own_root *root_of(const struct house *house, struct slice path)
{
    const struct own_root *best = NULL;

    for (size_t i = 0; i < house->root_count; i++) {
        const struct own_root *root = &house->roots[i];
        if (path_covers(root->path, path) && (!best || root->path.len > best->path.len))
            best = root;
    }
    return best;
}

/* `granted`: somebody who was asked has allowed it. */
static int find(const struct house *house, int original, struct slice path, bool granted)
{
    const struct own_root *root = root_of(house, path);
    int saved = errno;
    int found = -1;

    if (root) {
        struct slice inside = slice_from(path, root->path.len);
        while (inside.len && inside.ptr[0] == '/')
            inside = slice_from(inside, 1);
        found = resolve_exactly(root->mount, inside, O_PATH);
    }
    if (found < 0 && granted)
        found = resolve_whole(house, path, 0);
    if (found >= 0 && !fd_is_same_file(found, original))
        fd_close(&found);
    errno = saved;
    return found;
}

int own_view_directory(const struct house *house, int directory, struct slice path)
{
    return find(house, directory, path_parent(path), grants_cover(house, OPERATION_WRITE, path));
}

int own_view_object(const struct house *house, int object, struct slice path)
{
    return find(house, object, path, grants_cover(house, OPERATION_WRITE, path));
}
