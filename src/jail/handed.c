/* A descriptor carries the mount it was opened on. Those of the caller are of the
 * host's mounts, which are writable: whoever owns the file can change its mode,
 * times and attributes through a descriptor that is for reading only, or empty
 * the file through /proc/self/fd (attack 10). A capless root could even change
 * the mode of the host's /dev/null, or a user that of his terminal, so that
 * others can write to it.
 *
 * So the same thing is opened once more in the same way, on a read-only mount:
 * files on a mount of their own, devices in the sandbox's /dev. A file's offset
 * is no longer shared with the caller while the command runs; it begins where the
 * caller was, and the caller goes on where the command ended.
 *
 * What cannot be opened again (it has no name any more, or its name is not ours
 * to open) stays as it is. Files opened for writing do too: they are the
 * command's to write. */
#include "jail/handed.h"

#include "base/fd.h"
#include "jail/mountfd.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { MEMORY_DEVICES = 1, CONSOLES = 4, PSEUDO_TERMINALS_FIRST = 136, PSEUDO_TERMINALS_LAST = 143 };

static bool is_same_file(int a, int b)
{
    struct stat one;
    struct stat other;

    if (fstat(a, &one) < 0 || fstat(b, &other) < 0)
        return false;
    /* These are the same wherever their nodes are; the number of a pseudo terminal says nothing. */
    if (S_ISCHR(one.st_mode) && major(one.st_rdev) == MEMORY_DEVICES)
        return S_ISCHR(other.st_mode) && one.st_rdev == other.st_rdev;
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

static bool is_file_for_reading(int fd)
{
    struct stat status;
    int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && !(flags & O_PATH) && (flags & O_ACCMODE) == O_RDONLY && fstat(fd, &status) == 0 &&
           S_ISREG(status.st_mode);
}

/* The file's name, opened for nothing but mounting. */
static bool find_place(int fd, int *place)
{
    char link[32];
    char path[4096];
    struct error ignored;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path);
    if (length <= 0 || path[0] != '/' || length == sizeof path)
        return false;
    return mountfd_place((struct slice){path, (size_t)length}, place, &ignored) && is_same_file(fd, *place);
}

static bool open_on_own_mount(int fd, int *again)
{
    FD_CLEANUP int place = -1;
    FD_CLEANUP int mount = -1;
    char link[32];
    struct error ignored;
    int flags = fcntl(fd, F_GETFL);

    if (!find_place(fd, &place) || !mountfd_clone(place, "", MOUNT_SAFE_READ_ONLY, &mount, &ignored))
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", mount);
    *again = open(link, flags | O_CLOEXEC);
    if (*again >= 0 && is_same_file(fd, *again) && lseek(*again, lseek(fd, 0, SEEK_CUR), SEEK_SET) >= 0)
        return true;
    fd_close(again);
    return false;
}

bool handed_open_again(int fd, int *again)
{
    *again = -1;
    return is_file_for_reading(fd) && open_on_own_mount(fd, again);
}

void handed_replace_files(struct handed *handed, int first)
{
    handed->count = 0;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        FD_CLEANUP int again = -1;

        if (!is_file_for_reading(fd))
            continue;
        int kept = fcntl(fd, F_DUPFD_CLOEXEC, first + (int)handed->count);
        if (kept < 0 || !open_on_own_mount(fd, &again)) {
            fd_close(&kept);
            continue;
        }
        dup2(again, fd);
        handed->original[handed->count] = kept;
        handed->given[handed->count] = fd;
        handed->count++;
    }
}

void handed_give_back_one(int given, int original)
{
    off_t end = lseek(given, 0, SEEK_CUR);

    if (end >= 0)
        lseek(original, end, SEEK_SET);
}

void handed_give_back(const struct handed *handed)
{
    for (size_t i = 0; i < handed->count; i++)
        handed_give_back_one(handed->given[i], handed->original[i]);
}

const char *handed_name_of_memory_device(dev_t device)
{
    static const struct {
        unsigned minor;
        const char *name;
    } memory[] = {
        {3, "/dev/null"}, {5, "/dev/zero"}, {7, "/dev/full"}, {8, "/dev/random"}, {9, "/dev/urandom"},
    };

    for (size_t i = 0; major(device) == MEMORY_DEVICES && i < sizeof memory / sizeof *memory; i++) {
        if (minor(device) == memory[i].minor)
            return memory[i].name;
    }
    return NULL;
}

/* What stands for this device in the sandbox. NULL: nothing, or opening it would
 * make a new one (/dev/ptmx). */
static const char *name_of_device(dev_t device)
{
    const dev_t own_terminal = makedev(5, 0);

    if (device == own_terminal)
        return "/dev/tty";
    if (major(device) == CONSOLES ||
        (major(device) >= PSEUDO_TERMINALS_FIRST && major(device) <= PSEUDO_TERMINALS_LAST))
        return "/dev/console"; /* devices.c puts it there */
    return handed_name_of_memory_device(device);
}

void handed_replace_device(int fd)
{
    struct stat status;
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || (flags & O_PATH) || fstat(fd, &status) < 0 || !S_ISCHR(status.st_mode))
        return;
    const char *name = name_of_device(status.st_rdev);
    if (!name)
        return;
    /* A serial line would wait for its carrier. */
    FD_CLEANUP int again = open(name, flags | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (again < 0 || !is_same_file(fd, again))
        return;
    fcntl(again, F_SETFL, flags);
    dup2(again, fd);
}

void handed_replace_devices(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        handed_replace_device(fd);
}
