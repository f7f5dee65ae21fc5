/* Attacks on files: every way to read, change, move or rename one. */
#include "attacker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

/* A directory opened early by `hold`, for `read-held`. */
static int held = -1;

static int put(int fd, const char *text)
{
    if (fd < 0)
        return -1;
    ssize_t written = write(fd, text, strlen(text));
    int errnum = errno;
    close(fd);
    errno = errnum;
    return written < 0 ? -1 : 0;
}

static int read_path(char **words)
{
    return show(open(words[0], O_RDONLY));
}

static int read_openat2(char **words)
{
    struct open_how how = {.flags = O_RDONLY};

    return show((int)syscall(SYS_openat2, AT_FDCWD, words[0], &how, sizeof how));
}

static int read_below(char **words)
{
    return show(openat((int)number(words[0]), words[1], O_RDONLY));
}

/* Files by number instead of by name. */
static int read_by_handle(char **words)
{
    struct file_handle *handle = calloc(1, sizeof *handle + MAX_HANDLE_SZ);
    int mount;

    handle->handle_bytes = MAX_HANDLE_SZ;
    if (name_to_handle_at(AT_FDCWD, words[0], handle, &mount, 0) < 0)
        return -1;
    int root = open("/", O_RDONLY | O_DIRECTORY);
    return show(open_by_handle_at(root, handle, O_RDONLY));
}

static int hold(char **words)
{
    held = open(words[0], O_PATH);
    return held;
}

static int read_held(char **words)
{
    return show(openat(held, words[0], O_RDONLY));
}

static int list(char **words)
{
    DIR *directory = opendir(words[0]);

    if (!directory)
        return -1;
    for (const struct dirent *entry; (entry = readdir(directory));)
        printf("%s ", entry->d_name);
    closedir(directory);
    return 0;
}

static int write_path(char **words)
{
    return put(open(words[0], O_WRONLY | O_APPEND), words[1]);
}

static int create(char **words)
{
    return put(open(words[0], O_WRONLY | O_CREAT | O_EXCL, 0600), words[1]);
}

/* No reader, no waiting. */
static int write_fifo(char **words)
{
    return put(open(words[0], O_WRONLY | O_NONBLOCK), words[1]);
}

static int write_again(char **words)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/self/fd/%lu", number(words[0]));
    return put(open(path, O_WRONLY | O_APPEND), words[1]);
}

static int open_to_write(char **words)
{
    return open(words[0], O_WRONLY | O_NONBLOCK);
}

static int open_truncating(char **words)
{
    return open(words[0], O_RDONLY | O_TRUNC);
}

static int truncate_path(char **words)
{
    return truncate(words[0], 0);
}

static int change_mode(char **words)
{
    return chmod(words[0], (mode_t)number(words[1]));
}

static int change_mode_by_descriptor(char **words)
{
    int fd = open(words[0], O_RDONLY);

    return fd < 0 ? -1 : fchmod(fd, (mode_t)number(words[1]));
}

static int change_times_by_descriptor(char **words)
{
    static const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    int fd = open(words[0], O_RDONLY);

    return fd < 0 ? -1 : futimens(fd, long_ago);
}

static int change_attribute_by_descriptor(char **words)
{
    int fd = open(words[0], O_RDONLY);

    return fd < 0 ? -1 : fsetxattr(fd, "user.attack", "x", 1, 0);
}

static int make_directory(char **words)
{
    return mkdir(words[0], 0700);
}

static int make_link(char **words)
{
    return symlink(words[0], words[1]);
}

static int hard_link(char **words)
{
    return link(words[0], words[1]);
}

static int hard_link_by_descriptor(char **words)
{
    char path[64];
    int fd = open(words[0], O_RDONLY);

    if (fd < 0)
        return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, path, AT_FDCWD, words[1], AT_SYMLINK_FOLLOW);
}

static int rename_path(char **words)
{
    return rename(words[0], words[1]);
}

static int rename_with(char **words, unsigned flags)
{
    return (int)syscall(SYS_renameat2, AT_FDCWD, words[0], AT_FDCWD, words[1], flags);
}

static int exchange(char **words)
{
    return rename_with(words, RENAME_EXCHANGE);
}

/* Exchanges each pair of paths again and again, at moments nobody can foresee and
 * with some rest in between, until the file words[0] exists; then says how often
 * each could be. */
static int exchange_until(char **words)
{
    unsigned long done[8] = {0};
    unsigned long random = (unsigned long)getpid();

    while (access(words[0], F_OK) < 0) {
        for (size_t i = 0; words[1 + 2 * i] && words[2 + 2 * i] && i < sizeof done / sizeof *done; i++)
            done[i] += exchange(words + 1 + 2 * i) == 0;
        random = random * 6364136223846793005UL + 1442695040888963407UL;
        long rest = (random >> 60) == 0 ? 20000000 : 1000000;
        struct timespec pause = {.tv_nsec = (long)(random >> 33) % rest};
        nanosleep(&pause, NULL);
    }
    for (size_t i = 0; words[1 + 2 * i] && words[2 + 2 * i] && i < sizeof done / sizeof *done; i++)
        printf("%lu ", done[i]);
    return 0;
}

static int rename_leaving_whiteout(char **words)
{
    return rename_with(words, RENAME_WHITEOUT);
}

static int rename_without_replacing(char **words)
{
    return rename_with(words, RENAME_NOREPLACE);
}

static int remove_file(char **words)
{
    return unlink(words[0]);
}

static int remove_directory(char **words)
{
    return rmdir(words[0]);
}

static int make_device(char **words)
{
    return mknod(words[0], S_IFCHR | 0666, makedev(1, 3));
}

/* The kernel's own back door to mappings that cannot be written. */
static int patch_mapping(char **words)
{
    int file = open(words[0], O_RDONLY);
    int memory = open("/proc/self/mem", O_RDWR);
    void *mapping = file < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);

    if (mapping == MAP_FAILED || memory < 0)
        return -1;
    return pwrite(memory, words[1], strlen(words[1]), (off_t)(uintptr_t)mapping) < 0 ? -1 : 0;
}

/* Mapped writable from the start: what patch-mapping would gain. */
static int write_mapping(char **words)
{
    int file = open(words[0], O_RDWR);
    char *mapping = file < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

    if (mapping == MAP_FAILED)
        return -1;
    memcpy(mapping, words[1], strlen(words[1]));
    return 0;
}

const struct operation file_operations[] = {
    {"read", 1, read_path},
    {"read-openat2", 1, read_openat2},
    {"read-below", 2, read_below},
    {"read-by-handle", 1, read_by_handle},
    {"hold", 1, hold},
    {"read-held", 1, read_held},
    {"list", 1, list},
    {"write", 2, write_path},
    {"create", 2, create},
    {"write-fifo", 2, write_fifo},
    {"write-again", 2, write_again},
    {"open-to-write", 1, open_to_write},
    {"open-truncating", 1, open_truncating},
    {"truncate", 1, truncate_path},
    {"chmod", 2, change_mode},
    {"chmod-by-descriptor", 2, change_mode_by_descriptor},
    {"change-times-by-descriptor", 1, change_times_by_descriptor},
    {"change-attribute-by-descriptor", 1, change_attribute_by_descriptor},
    {"mkdir", 1, make_directory},
    {"symlink", 2, make_link},
    {"link", 2, hard_link},
    {"link-by-descriptor", 2, hard_link_by_descriptor},
    {"rename", 2, rename_path},
    {"exchange", 2, exchange},
    {"exchange-until", 3, exchange_until},
    {"rename-whiteout", 2, rename_leaving_whiteout},
    {"rename-noreplace", 2, rename_without_replacing},
    {"unlink", 1, remove_file},
    {"rmdir", 1, remove_directory},
    {"mknod", 1, make_device},
    {"patch-mapping", 2, patch_mapping},
    {"write-mapping", 2, write_mapping},
    {0},
};
