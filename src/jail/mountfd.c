/* The new mount API (5.2, 5.12) in the few forms the jail needs. Nothing here
 * resolves a path twice: a place is opened once without following links, and
 * everything after that works on its descriptor (attack 4). */
#include "jail/mountfd.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *explain_place(int errnum)
{
    switch (errnum) {
    case ELOOP:
        return "; part of it is a symbolic link, or has become one since the policy was read. Name what the link leads "
               "to, and find out what replaces it if nobody should";
    case ENOENT:
        return "; it is not there, or no longer since the policy was read";
    case EACCES:
        return "; a directory above it cannot be searched by you. Name that directory in the policy instead";
    case EMFILE:
        return "; the policy has more rules than this process may open files. Raise the limit (ulimit -n)";
    default:
        return "";
    }
}

bool mountfd_place_at(int directory, const char *name, const char *path, int *fd, struct error *err)
{
    /* Without O_NOFOLLOW, which would open a link at the end instead of refusing it. */
    struct open_how how = {
        .flags = O_PATH | O_CLOEXEC,
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };

    *fd = (int)syscall(SYS_openat2, directory, name, &how, sizeof how);
    if (*fd < 0) {
        int errnum = errno;
        return error_set(err, "cannot open %s: %s%s", path, strerror(errnum), explain_place(errnum));
    }
    return true;
}

bool mountfd_place(struct slice path, int *fd, struct error *err)
{
    char name[4096] __attribute__((uninitialized)); /* zeroed for each of a thousand masks it would take its time */

    if (path.len >= sizeof name)
        return error_set(err, "cannot open a path of %zu bytes: the kernel's limit is %zu", path.len, sizeof name - 1);
    memcpy(name, path.ptr, path.len);
    name[path.len] = '\0';
    return mountfd_place_at(AT_FDCWD, name, name, fd, err);
}

static bool set(int mount, unsigned flags, uint64_t attributes, struct error *err)
{
    struct mount_attr attr = {.attr_set = attributes};

    if (mount_setattr(mount, "", AT_EMPTY_PATH | flags, &attr, sizeof attr) < 0)
        return error_set_errno(err, errno, "cannot set the flags of a mount");
    return true;
}

bool mountfd_set(int mount, uint64_t attributes, struct error *err)
{
    return set(mount, AT_RECURSIVE, attributes, err);
}

bool mountfd_set_alone(int mount, uint64_t attributes, struct error *err)
{
    return set(mount, 0, attributes, err);
}

bool mountfd_clone(int directory, const char *name, uint64_t attributes, int *mount, struct error *err)
{
    unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW;

    *mount = open_tree(directory, name, flags);
    if (*mount < 0)
        return error_set_errno(err, errno, "cannot copy the mount at it");
    return attributes == 0 || mountfd_set(*mount, attributes, err);
}

bool mountfd_configure(int context, const char *type, const struct mount_option *options, size_t option_count,
                       struct error *err)
{
    for (size_t i = 0; i < option_count; i++) {
        unsigned command = options[i].value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;
        if (fsconfig(context, command, options[i].name, options[i].value, 0) < 0)
            return error_set_errno(err, errno, "cannot set the option %s of a new %s", options[i].name, type);
    }
    if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return error_set_errno(err, errno, "cannot make a file system of type %s", type);
    return true;
}

bool mountfd_new(const char *type, const struct mount_option *options, size_t option_count, uint64_t attributes,
                 int *mount, struct error *err)
{
    FD_CLEANUP int context = fsopen(type, FSOPEN_CLOEXEC);

    if (context < 0)
        return error_set_errno(err, errno, "cannot make a file system of type %s", type);
    if (!mountfd_configure(context, type, options, option_count, err))
        return false;
    *mount = fsmount(context, FSMOUNT_CLOEXEC, (unsigned)attributes);
    if (*mount < 0)
        return error_set_errno(err, errno, "cannot mount a new %s", type);
    return true;
}

bool mountfd_new_tmpfs(unsigned mode, uint64_t size, int *mount, struct error *err)
{
    const uint64_t page = 4096;
    const uint64_t least_inodes = 16384;
    char mode_text[8];
    char size_text[32];
    char inodes_text[32];
    struct mount_option options[] = {{"mode", mode_text}, {"size", size_text}, {"nr_inodes", inodes_text}};
    uint64_t inodes = size / page > least_inodes ? size / page : least_inodes;

    snprintf(mode_text, sizeof mode_text, "%o", mode & 07777U);
    snprintf(size_text, sizeof size_text, "%" PRIu64, size);
    /* An inode takes memory of the kernel's, even if its file is empty. */
    snprintf(inodes_text, sizeof inodes_text, "%" PRIu64, inodes);
    return mountfd_new("tmpfs", options, size ? 3 : 1, MOUNT_SAFE, mount, err);
}

bool mountfd_cut_propagation(struct error *err)
{
    struct mount_attr attr = {.propagation = MS_PRIVATE};

    if (mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof attr) < 0)
        return error_set_errno(err, errno,
                               "cannot take the mount namespace for its own (does the system restrict user "
                               "namespaces? `cloche doctor` tells)");
    return true;
}

/* The old root ends up stacked on the new one and is detached with all that is
 * mounted below it: no name leads back. */
bool mountfd_replace_root(int mount, int along, const char *name, struct error *err)
{
    if (move_mount(mount, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return error_set_errno(err, errno, "cannot mount the new root");
    if (along >= 0 && !mountfd_attach_at(along, mount, name, err))
        return false;
    if (fchdir(mount) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
        return error_set_errno(err, errno, "cannot change to the new root");
    if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        return error_set_errno(err, errno, "cannot detach the old root");
    return true;
}

bool mountfd_attach(int mount, struct slice path, struct error *err)
{
    FD_CLEANUP int place = -1;

    if (!mountfd_place(path, &place, err))
        return false;
    if (move_mount(mount, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0) {
        int errnum = errno;
        const char *hint = errnum == ENOTDIR ? "; it was a file and is a directory now, or the reverse" : "";
        return error_set(err, "cannot mount on %.*s: %s%s", (int)path.len, path.ptr, strerror(errnum), hint);
    }
    return true;
}

bool mountfd_attach_at(int mount, int directory, const char *name, struct error *err)
{
    if (move_mount(mount, "", directory, name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return error_set_errno(err, errno, "cannot mount on %s", name);
    return true;
}
