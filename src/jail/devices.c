/* /dev with what programs expect and nothing that reaches hardware (attack 23).
 * An unprivileged user cannot make device nodes, so the host's own are bound,
 * read-only: a capless root must not be able to change the mode of the host's
 * /dev/null. Writing to a device needs no writable mount. */
#include "jail/mounts.h"

#include "base/fd.h"
#include "policy/built_in.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { DEVICE_ATTRIBUTES = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC };

static const struct {
    const char *name;
    const char *target;
} links[] = {
    {"fd", "/proc/self/fd"},       {"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"},
    {"stderr", "/proc/self/fd/2"}, {"core", "/proc/kcore"},      {"ptmx", "pts/ptmx"},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The directories above `name` in the new /dev. */
static bool make_parents(int devices, const char *name, struct error *err)
{
    for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        char parent[256];
        size_t length = (size_t)(slash - name);

        if (length >= sizeof parent)
            return error_set(err, "cannot make %s in the new /dev: its name is too long", name);
        memcpy(parent, name, length);
        parent[length] = '\0';
        if (mkdirat(devices, parent, 0755) < 0 && errno != EEXIST)
            return error_set_errno(err, errno, "cannot make %s in the new /dev", parent);
    }
    return true;
}

/* Binds the host's device `place` at `name` of the new /dev, where a file or
 * directory is made to hold it. */
static bool add_device(struct mounts *mounts, int place, const char *name, struct error *err)
{
    int directory = mounts->devices_directory;
    struct stat status;
    int mount;

    if (!make_parents(directory, name, err))
        return false;
    if (fstat(place, &status) < 0)
        return error_set_errno(err, errno, "cannot inspect what becomes /dev/%s", name);

    int made = S_ISDIR(status.st_mode) ? mkdirat(directory, name, 0755) : mknodat(directory, name, S_IFREG | 0444, 0);
    if (made < 0 && errno != EEXIST)
        return error_set_errno(err, errno, "cannot make %s in the new /dev", name);
    if (!mountfd_clone(place, "", DEVICE_ATTRIBUTES, &mount, err))
        return false;
    prepared_add(mounts->arena, &mounts->devices, mount, name);
    return true;
}

/* The host's terminal is not in the sandbox's own devpts, so ttyname(3) and the
 * programs that ask it (tty, tmux, gpg) would find no name for it. They do find
 * one anywhere in /dev; what they can open by it they have open already. */
static bool add_own_terminal(struct mounts *mounts, struct error *err)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        FD_CLEANUP int place = -1;
        char link[sizeof "/proc/self/fd/0"];
        char path[64];
        struct stat wanted;
        struct stat found;
        struct error ignored;

        /* Not the other end of one: opening that makes a new terminal, of the host's. */
        if (!isatty(fd) || fstat(fd, &wanted) < 0 || wanted.st_rdev == makedev(5, 2))
            continue;
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, path, sizeof path);
        if (length < 0 || length == sizeof path)
            continue;
        struct slice name = {path, (size_t)length};
        if (slice_is(name, "/dev/tty") || !mountfd_place(name, &place, &ignored) || fstat(place, &found) < 0 ||
            found.st_dev != wanted.st_dev || found.st_ino != wanted.st_ino)
            continue;
        return add_device(mounts, place, "console", err);
    }
    return true;
}

static bool add_terminals(struct mounts *mounts, struct error *err)
{
    static const struct mount_option options[] = {{"newinstance", NULL}, {"ptmxmode", "0666"}, {"mode", "0620"}};
    int mount;

    if (mkdirat(mounts->devices_directory, "pts", 0755) < 0)
        return error_set_errno(err, errno, "cannot make /dev/pts");
    if (!mountfd_new("devpts", options, COUNT(options), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, &mount, err))
        return false;
    prepared_add(mounts->arena, &mounts->devices, mount, "pts");
    return true;
}

/* The host's `path`, which is in /dev. */
static bool add_path(struct mounts *mounts, const char *path, struct error *err)
{
    const char *name = path + sizeof "/dev/" - 1;
    FD_CLEANUP int place = -1;

    return mountfd_place_at(mounts->host_devices, name, path, &place, err) && add_device(mounts, place, name, err);
}

bool devices_prepare(struct mounts *mounts, struct error *err)
{
    for (size_t i = 0; device_nodes[i]; i++) {
        if (!add_path(mounts, device_nodes[i], err))
            return false;
    }
    for (size_t i = 0; i < COUNT(links); i++) {
        if (symlinkat(links[i].target, mounts->devices_directory, links[i].name) < 0)
            return error_set_errno(err, errno, "cannot make the link /dev/%s", links[i].name);
    }
    if (!add_terminals(mounts, err) || !add_own_terminal(mounts, err))
        return false;
    if (mkdirat(mounts->devices_directory, "shm", 0755) < 0)
        return error_set_errno(err, errno, "cannot make /dev/shm");
    return true;
}

bool devices_add(struct mounts *mounts, const struct step *step, struct error *err)
{
    for (size_t i = 0; i < step->entry_count; i++) {
        const struct entry *entry = &step->entries[i];
        if (entry->kind != ENTRY_DEVICE)
            continue;
        if (!add_path(mounts, arena_slice(mounts->arena, entry->path).ptr, err))
            return false;
    }
    return true;
}

bool devices_prepare_memory(struct mounts *mounts, struct error *err)
{
    int mount;

    if (mkdirat(mounts->scratch.tree, "shm", 01777) < 0)
        return error_set_errno(err, errno, "cannot make /dev/shm");
    if (!mountfd_clone(mounts->scratch.tree, "shm", 0, &mount, err))
        return false;
    prepared_add(mounts->arena, &mounts->devices, mount, "shm");
    return true;
}
