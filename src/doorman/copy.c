#include "doorman/copy.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE_SIZE = 4096, PIDFD_THREAD_FLAG = O_EXCL };

int copy_bytes(pid_t thread, uint64_t address, void *bytes, size_t size)
{
    struct iovec there = {(void *)(uintptr_t)address, size};

    return copy_parts(thread, &there, 1, bytes, size);
}

int copy_parts(pid_t thread, const struct iovec *parts, size_t count, void *bytes, size_t size)
{
    struct iovec here = {bytes, size};

    if (size == 0)
        return 0;
    ssize_t copied = process_vm_readv(thread, &here, 1, parts, count, 0);
    if (copied < 0)
        return errno == EPERM || errno == ESRCH ? EACCES : EFAULT;
    return (size_t)copied == size ? 0 : EFAULT;
}

/* Page by page: what follows the text may not be readable. Most end on the first. */
int copy_text(pid_t thread, uint64_t address, char *text, size_t size, size_t *length)
{
    size_t done = 0;

    while (done < size) {
        size_t part = PAGE_SIZE - (address + done) % PAGE_SIZE;
        if (part > size - done)
            part = size - done;
        int error = copy_bytes(thread, address + done, text + done, part);
        if (error)
            return error;
        const char *end = memchr(text + done, '\0', part);
        if (end) {
            *length = (size_t)(end - text);
            return 0;
        }
        done += part;
    }
    return ENAMETOOLONG;
}

int copy_base(const struct house *house, pid_t thread, int descriptor, int *base)
{
    char name[64];

    if (descriptor != AT_FDCWD)
        return copy_descriptor(house, thread, descriptor, base);
    snprintf(name, sizeof name, "%d/cwd", thread);
    *base = openat(house->proc, name, O_PATH | O_CLOEXEC);
    if (*base >= 0)
        return 0;
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
        return ENOMEM;
    return errno == EACCES || errno == EPERM ? EACCES : ENOENT;
}

static bool read_status(const struct house *house, pid_t thread, char *text, size_t size)
{
    char name[64];

    snprintf(name, sizeof name, "%d/status", thread);
    FD_CLEANUP int fd = openat(house->proc, name, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);
    if (length <= 0)
        return false;
    text[length] = '\0';
    return true;
}

/* The fourth number behind the label: real, effective, saved, of files. */
static bool fourth_number(const char *text, const char *label, unsigned *number)
{
    const char *line = strstr(text, label);
    char *end = NULL;

    if (!line)
        return false;
    line += strlen(label);
    for (int i = 0; i < 4; i++, line = end) {
        *number = (unsigned)strtoul(line, &end, 10);
        if (end == line)
            return false;
    }
    return true;
}

bool copy_user(const struct house *house, pid_t thread, uid_t *user, gid_t *group)
{
    char text[1024];

    return house->plan->keep_file_capabilities && read_status(house, thread, text, sizeof text) &&
           fourth_number(text, "\nUid:", user) && fourth_number(text, "\nGid:", group);
}

mode_t copy_umask(const struct house *house, pid_t thread)
{
    char text[512];

    if (!atomic_load(&house->umask_varies))
        return house->umask;
    const char *line = read_status(house, thread, text, sizeof text) ? strstr(text, "\nUmask:\t") : NULL;
    return line ? (mode_t)strtol(line + strlen("\nUmask:\t"), NULL, 8) : 0777;
}

/* Each thread has a directory there. */
bool copy_is_single(const struct house *house, pid_t thread)
{
    const nlink_t of_one = 3;
    char name[64];
    struct stat status;

    snprintf(name, sizeof name, "%d/task", thread);
    return fstatat(house->proc, name, &status, 0) == 0 && status.st_nlink == of_one;
}

static uint64_t signals_of(const char *text, const char *label)
{
    const char *line = strstr(text, label);

    return line ? strtoull(line + strlen(label), NULL, 16) : 0;
}

bool copy_has_signal(const struct house *house, pid_t thread)
{
    char text[4096];

    if (!read_status(house, thread, text, sizeof text))
        return true;
    uint64_t pending = signals_of(text, "\nSigPnd:\t") | signals_of(text, "\nShdPnd:\t");
    return pending & ~signals_of(text, "\nSigBlk:\t") & ~signals_of(text, "\nSigIgn:\t");
}

/* Before Linux 6.9 a pidfd is of a whole process only. */
static pid_t process_of(const struct house *house, pid_t thread)
{
    char text[512];
    const char *line = read_status(house, thread, text, sizeof text) ? strstr(text, "\nTgid:\t") : NULL;

    return line ? (pid_t)strtol(line + strlen("\nTgid:\t"), NULL, 10) : -1;
}

int copy_caller(const struct house *house, pid_t thread, int *pidfd)
{
    *pidfd = (int)syscall(SYS_pidfd_open, thread, PIDFD_THREAD_FLAG);
    if (*pidfd < 0 && errno == EINVAL)
        *pidfd = (int)syscall(SYS_pidfd_open, process_of(house, thread), 0);
    if (*pidfd >= 0)
        return 0;
    return errno == EMFILE || errno == ENFILE ? ENOMEM : EACCES;
}

int copy_descriptor(const struct house *house, pid_t thread, int descriptor, int *copy)
{
    FD_CLEANUP int pidfd = -1;
    int error = copy_caller(house, thread, &pidfd);

    return error ? error : copy_descriptor_of(pidfd, descriptor, copy);
}

int copy_memory(const struct house *house, pid_t thread, int *memory)
{
    char name[64];

    snprintf(name, sizeof name, "%d/mem", thread);
    *memory = openat(house->proc, name, O_WRONLY | O_CLOEXEC);
    return *memory < 0 ? errno : 0;
}

/* Not through /proc/PID/fd: a process that is not dumpable keeps that shut. */
int copy_descriptor_of(int pidfd, int descriptor, int *copy)
{
    if (descriptor < 0)
        return EBADF;
    *copy = (int)syscall(SYS_pidfd_getfd, pidfd, descriptor, 0);
    if (*copy >= 0)
        return 0;
    return errno == EBADF ? EBADF : errno == EPERM || errno == ESRCH ? EACCES : errno;
}
