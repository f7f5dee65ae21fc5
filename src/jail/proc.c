/* A fresh /proc of the new pid namespace, which shows no process of the host.
 * Its system-wide half is the host's all the same, and checks the user id, not
 * capabilities: a root without any capability could write core_pattern and have
 * the host run a program (attack 104). So that half becomes read-only, and what
 * only tells secrets of the kernel is hidden.
 *
 * The kernel refuses a fresh one where parts of the /proc around us are covered,
 * as container engines do: it would uncover them. Then the one around us is
 * shown, and nothing in it can be written. Its processes cannot be hidden by
 * mounts (they come and go); what is secret in them (memory, environment, open
 * files) the kernel shows to nobody who may not trace them, and no process may
 * trace one outside its own user namespace. */
#include "jail/mounts.h"

#include "base/fd.h"
#include "policy/built_in.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *name_in_proc(const char *path)
{
    return path + sizeof "/proc/" - 1;
}

/* Names that are there, and could be read. */
static bool hide_kernel_interfaces(struct mounts *mounts, struct error *err)
{
    for (size_t i = 0; proc_hidden[i]; i++) {
        const char *name = name_in_proc(proc_hidden[i]);
        struct stat status;
        int mount;
        if (fstatat(mounts->proc.mount, name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
            if (errno == ENOENT)
                continue;
            return error_set_errno(err, errno, "cannot inspect %s", proc_hidden[i]);
        }
        /* Root's alone: nobody else could read it anyway. */
        if (geteuid() != 0 && (status.st_mode & 0077) == 0)
            continue;
        if (!mountfd_clone(mounts->scratch.read_only, MASK_HIDDEN_FILE, 0, &mount, err))
            return false;
        prepared_add(mounts->arena, &mounts->proc, mount, name);
    }
    return true;
}

/* With all that the container's engine has mounted over parts of it. */
static bool clone_of_host(int *mount, struct error *err)
{
    FD_CLEANUP int place = -1;

    return mountfd_place(SLICE("/proc"), &place, err) &&
           mountfd_clone(place, "", MOUNT_SAFE_READ_ONLY | MOUNT_ATTR_NOEXEC, mount, err);
}

bool proc_prepare(const struct outset *outset, struct mounts *mounts, struct error *err)
{
    int *mount = &mounts->proc.mount;

    if (outset->shares_proc)
        return clone_of_host(mount, err) && hide_kernel_interfaces(mounts, err);
    if (!mountfd_new("proc", NULL, 0, MOUNT_SAFE | MOUNT_ATTR_NOEXEC, mount, err))
        return error_wrap(err, "this system does not let cloche have a /proc of its own");
    return proc_protect(mounts, err) && hide_kernel_interfaces(mounts, err);
}

bool proc_protect(struct mounts *mounts, struct error *err)
{
    int proc = mounts->proc.mount;

    mounts->proc_is_protected = false;
    for (size_t i = 0; proc_read_only[i]; i++) {
        const char *name = name_in_proc(proc_read_only[i]);
        FD_CLEANUP int mount = open_tree(proc, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        if (mount < 0 && errno == ENOENT)
            continue;
        if (mount < 0 && errno == EINVAL && i == 0)
            return true; /* a kernel that wants it attached first */
        if (mount < 0)
            return error_set_errno(err, errno, "cannot copy the mount of %s", proc_read_only[i]);
        if (!mountfd_set(mount, MOUNT_ATTR_RDONLY, err) || !mountfd_attach_at(mount, proc, name, err))
            return error_wrap(err, "cannot make %s read-only", proc_read_only[i]);
    }
    mounts->proc_is_protected = true;
    return true;
}
