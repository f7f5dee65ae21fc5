/* Attacks on names: every other call, spelling and descriptor by which a name can be
 * made, written, moved or given another mode, owner, time or attribute. What is
 * plain is in attack_files.c. */
#include "attacker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

/* Numbers that are newer than the headers of some distributions. */
enum { FCHMODAT2 = 452, SETXATTRAT = 463, REMOVEXATTRAT = 466, FILE_SETATTR = 469 };

static const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};

static int finish(int fd, const char *text)
{
    if (fd < 0)
        return -1;
    ssize_t written = text ? write(fd, text, strlen(text)) : 0;
    int errnum = errno;
    close(fd);
    errno = errnum;
    return written < 0 ? -1 : 0;
}

/* Splits "a/b/c" into a descriptor of "a/b" and "c". */
static int parent_of(const char *path, const char **name)
{
    char above[4096];
    const char *slash = strrchr(path, '/');

    if (!slash) {
        *name = path;
        return open(".", O_PATH | O_DIRECTORY);
    }
    snprintf(above, sizeof above, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    *name = slash + 1;
    return open(above, O_PATH | O_DIRECTORY);
}

static const char *through_proc(int fd)
{
    static char path[64];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

/* --- making ------------------------------------------------------------------ */

static int create_old(char **words)
{
#ifdef SYS_creat
    return finish((int)syscall(SYS_creat, words[0], 0600), words[1]);
#else
    return finish(open(words[0], O_WRONLY | O_CREAT | O_TRUNC, 0600), words[1]);
#endif
}

static int create_to_read(char **words)
{
    return finish(open(words[0], O_RDONLY | O_CREAT, 0600), NULL);
}

static int create_below(char **words)
{
    const char *name;
    int above = parent_of(words[0], &name);

    return above < 0 ? -1 : finish(openat(above, name, O_RDWR | O_CREAT, 0600), words[1]);
}

static int create_below_proc(char **words)
{
    char path[4096];
    const char *name;
    int above = parent_of(words[0], &name);

    snprintf(path, sizeof path, "/proc/self/fd/%d/%s", above, name);
    return above < 0 ? -1 : finish(open(path, O_RDWR | O_CREAT, 0600), words[1]);
}

static int create_openat2(char **words)
{
    struct open_how how = {.flags = O_RDWR | O_CREAT, .mode = 0600, .resolve = number(words[0])};

    return finish((int)syscall(SYS_openat2, AT_FDCWD, words[1], &how, sizeof how), words[2]);
}

static int create_nameless(const char *path, const char *text, bool empty)
{
    const char *name;
    int above = parent_of(path, &name);
    int fd = open(above < 0 ? "." : through_proc(above), O_TMPFILE | O_RDWR, 0600);

    if (fd < 0 || above < 0 || write(fd, text, strlen(text)) < 0)
        return -1;
    if (empty)
        return linkat(fd, "", above, name, AT_EMPTY_PATH);
    return linkat(AT_FDCWD, through_proc(fd), above, name, AT_SYMLINK_FOLLOW);
}

static int create_nameless_through_proc(char **words)
{
    return create_nameless(words[0], words[1], false);
}

static int create_nameless_by_empty_path(char **words)
{
    return create_nameless(words[0], words[1], true);
}

static int make_special(char **words)
{
    return mknod(words[0], (mode_t)number(words[1]) | 0600, 0);
}

static int make_special_below(char **words)
{
    const char *name;
    int above = parent_of(words[0], &name);

    return above < 0 ? -1 : mknodat(above, name, (mode_t)number(words[1]) | 0600, 0);
}

static int make_directory_below(char **words)
{
    const char *name;
    int above = parent_of(words[0], &name);

    return above < 0 ? -1 : mkdirat(above, name, 0700);
}

static int make_link_below(char **words)
{
    const char *name;
    int above = parent_of(words[1], &name);

    return above < 0 ? -1 : symlinkat(words[0], above, name);
}

static void *create_in_thread_body(void *argument)
{
    char **words = argument;

    words[2] = finish(open(words[0], O_RDWR | O_CREAT, 0600), words[1]) < 0 ? NULL : words[0];
    return (void *)(intptr_t)errno;
}

static int create_in_thread(char **words)
{
    char *given[3] = {words[0], words[1], NULL};
    pthread_t thread;
    void *errnum;

    if (pthread_create(&thread, NULL, create_in_thread_body, given) || pthread_join(thread, &errnum))
        return -1;
    errno = (int)(intptr_t)errnum;
    return given[2] ? 0 : -1;
}

/* A child that shares everything but its number. */
static int create_in_vfork(char **words)
{
    volatile int result = -1;
    volatile int errnum = 0;

    pid_t child = vfork();
    if (child == 0) {
        result = open(words[0], O_RDWR | O_CREAT, 0600);
        errnum = errno;
        if (result >= 0)
            result = write(result, words[1], strlen(words[1])) < 0 ? -1 : 0;
        _exit(0);
    }
    waitpid(child, NULL, 0);
    errno = errnum;
    return result;
}

/* The name stands in memory that others share and change: here it only has to work. */
static int create_by_shared_name(char **words)
{
    char *name = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (name == MAP_FAILED)
        return -1;
    snprintf(name, 4096, "%s", words[0]);
    return finish(open(name, O_RDWR | O_CREAT, 0600), words[1]);
}

/* A file made under a harmless name, which stays open for writing. */
static int hold_file = -1;

static int hold_for_writing(char **words)
{
    hold_file = open(words[0], O_RDWR | O_CREAT, 0600);
    return hold_file;
}

static int write_held(char **words)
{
    return write(hold_file, words[0], strlen(words[0])) < 0 ? -1 : 0;
}

static int hold_directory = -1;

static int hold_below(char **words)
{
    hold_directory = open(words[0], O_PATH | O_DIRECTORY);
    return hold_directory;
}

static int create_below_held(char **words)
{
    return finish(openat(hold_directory, words[0], O_RDWR | O_CREAT, 0600), words[1]);
}

/* Makes and enters words[1] directories, each with a name as long as can be, below
 * words[0]: beyond what a path can hold. */
static int descend(char **words)
{
    char name[251];

    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    if (chdir(words[0]) < 0)
        return -1;
    for (unsigned long i = 0; i < number(words[1]); i++) {
        if ((mkdir(name, 0700) < 0 && errno != EEXIST) || chdir(name) < 0)
            return -1;
    }
    return 0;
}

static int enter_directory(char **words)
{
    return chdir(words[0]);
}

/* --- writing ----------------------------------------------------------------- */

static int write_reopened(char **words)
{
    int fd = open(words[0], O_RDONLY | O_NONBLOCK);

    return fd < 0 ? -1 : finish(open(through_proc(fd), O_WRONLY | O_APPEND), words[1]);
}

static int write_path_only_reopened(char **words)
{
    int fd = open(words[0], O_PATH);

    return fd < 0 ? -1 : finish(open(through_proc(fd), O_WRONLY | O_APPEND), words[1]);
}

static int write_openat2(char **words)
{
    struct open_how how = {.flags = O_RDWR, .resolve = number(words[0])};

    return finish((int)syscall(SYS_openat2, AT_FDCWD, words[1], &how, sizeof how), words[2]);
}

static int write_below(char **words)
{
    const char *name;
    int above = parent_of(words[0], &name);

    return above < 0 ? -1 : finish(openat(above, name, O_RDWR), words[1]);
}

static int truncate_reopened(char **words)
{
    int fd = open(words[0], O_PATH);

    return fd < 0 ? -1 : truncate(through_proc(fd), 0);
}

static int truncate_by_descriptor(char **words)
{
    int fd = open(words[0], O_RDONLY);

    return fd < 0 ? -1 : ftruncate(fd, 0);
}

static int map_for_writing(char **words)
{
    int fd = open(words[0], O_RDONLY);

    if (fd < 0)
        return -1;
    void *mapping = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    return mapping == MAP_FAILED ? -1 : mprotect(mapping, 4096, PROT_READ | PROT_WRITE);
}

static int allocate_by_descriptor(char **words)
{
    int fd = open(words[0], O_RDONLY);

    return fd < 0 ? -1 : fallocate(fd, 0, 0, 4096);
}

/* --- moving and removing ----------------------------------------------------- */

static int rename_below(char **words)
{
    const char *from;
    const char *to;
    int from_above = parent_of(words[0], &from), to_above = parent_of(words[1], &to);

    return from_above < 0 || to_above < 0 ? -1 : renameat(from_above, from, to_above, to);
}

static int link_below(char **words)
{
    const char *from;
    const char *to;
    int from_above = parent_of(words[0], &from), to_above = parent_of(words[1], &to);

    return from_above < 0 || to_above < 0 ? -1 : linkat(from_above, from, to_above, to, 0);
}

static int link_by_empty_path(char **words)
{
    int fd = open(words[0], O_PATH);

    return fd < 0 ? -1 : linkat(fd, "", AT_FDCWD, words[1], AT_EMPTY_PATH);
}

static int remove_below(char **words)
{
    const char *name;
    int above = parent_of(words[0], &name);

    return above < 0 ? -1 : unlinkat(above, name, 0);
}

/* --- modes, owners, times, attributes ---------------------------------------- */

static int change_mode_below(char **words)
{
    const char *name;
    int above = parent_of(words[0], &name);

    return above < 0 ? -1 : (int)syscall(SYS_fchmodat, above, name, 0777);
}

static int change_mode_reopened(char **words)
{
    int fd = open(words[0], O_PATH);

    return fd < 0 ? -1 : chmod(through_proc(fd), 0777);
}

static int change_mode_by_empty_path(char **words)
{
    int fd = open(words[0], O_PATH);

    return fd < 0 ? -1 : (int)syscall(FCHMODAT2, fd, "", 0777, AT_EMPTY_PATH);
}

static int change_mode2(char **words)
{
    return (int)syscall(FCHMODAT2, AT_FDCWD, words[0], 0777, 0);
}

static int change_owner(char **words)
{
    return chown(words[0], getuid(), getgid());
}

static int change_owner_of_link(char **words)
{
    return lchown(words[0], getuid(), getgid());
}

static int change_owner_by_descriptor(char **words)
{
    int fd = open(words[0], O_RDONLY);

    return fd < 0 ? -1 : fchown(fd, getuid(), getgid());
}

static int change_owner_by_empty_path(char **words)
{
    int fd = open(words[0], O_PATH);

    return fd < 0 ? -1 : fchownat(fd, "", getuid(), getgid(), AT_EMPTY_PATH);
}

static int change_times(char **words)
{
    return utimensat(AT_FDCWD, words[0], long_ago, 0);
}

static int change_times_old(char **words)
{
    const struct utimbuf times = {1, 1};

#ifdef SYS_utime
    return (int)syscall(SYS_utime, words[0], &times);
#else
    return utime(words[0], &times);
#endif
}

static int change_times_of_link(char **words)
{
    return utimensat(AT_FDCWD, words[0], long_ago, AT_SYMLINK_NOFOLLOW);
}

static int change_times_by_empty_path(char **words)
{
    int fd = open(words[0], O_PATH);

    return fd < 0 ? -1 : (int)syscall(SYS_utimensat, fd, "", long_ago, AT_EMPTY_PATH);
}

static int change_times_reopened(char **words)
{
    int fd = open(words[0], O_PATH);

    return fd < 0 ? -1 : utimensat(AT_FDCWD, through_proc(fd), long_ago, 0);
}

static int set_attribute(char **words)
{
    return setxattr(words[0], "user.attack", "x", 1, 0);
}

static int set_attribute_of_link(char **words)
{
    return lsetxattr(words[0], "user.attack", "x", 1, 0);
}

static int set_attribute_reopened(char **words)
{
    int fd = open(words[0], O_PATH);

    return fd < 0 ? -1 : setxattr(through_proc(fd), "user.attack", "x", 1, 0);
}

static int set_attribute_at(char **words)
{
    struct {
        uint64_t value;
        uint32_t size, flags;
    } arguments = {.value = (uintptr_t) "x", .size = 1};

    return (int)syscall(SETXATTRAT, AT_FDCWD, words[0], 0, "user.attack", &arguments, sizeof arguments);
}

static int remove_attribute(char **words)
{
    return removexattr(words[0], "user.kept");
}

static int remove_attribute_by_descriptor(char **words)
{
    int fd = open(words[0], O_RDONLY);

    return fd < 0 ? -1 : fremovexattr(fd, "user.kept");
}

static int remove_attribute_at(char **words)
{
    return (int)syscall(REMOVEXATTRAT, AT_FDCWD, words[0], 0, "user.kept");
}

static int set_flags(char **words)
{
    int fd = open(words[0], O_RDONLY);
    int flags = 0;

    if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
        return -1;
    flags |= FS_NODUMP_FL;
    return ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

static int set_extended_flags(char **words)
{
    struct fsxattr attributes;
    int fd = open(words[0], O_RDONLY);

    if (fd < 0 || ioctl(fd, FS_IOC_FSGETXATTR, &attributes) < 0)
        return -1;
    attributes.fsx_xflags |= FS_XFLAG_NODUMP;
    return ioctl(fd, FS_IOC_FSSETXATTR, &attributes);
}

/* The number that tells an inode from an earlier one. */
static int set_version(char **words)
{
    int fd = open(words[0], O_RDONLY);
    long version = 7;

    return fd < 0 ? -1 : ioctl(fd, FS_IOC_SETVERSION, &version);
}

static int set_flags_by_call(char **words)
{
    struct {
        uint64_t xflags;
        uint32_t extent_size, extents, project, copied;
    } attributes = {.xflags = FS_XFLAG_NODUMP};

    return (int)syscall(FILE_SETATTR, AT_FDCWD, words[0], &attributes, sizeof attributes, 0);
}

static int show_flags(char **words)
{
    int fd = open(words[0], O_RDONLY);
    int flags = 0;

    if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
        return -1;
    printf("%s", flags & FS_NODUMP_FL ? "changed" : "plain");
    return 0;
}

const struct operation name_operations[] = {
    {"create-old", 2, create_old},
    {"create-to-read", 1, create_to_read},
    {"create-below", 2, create_below},
    {"create-below-proc", 2, create_below_proc},
    {"create-openat2", 3, create_openat2},
    {"create-nameless", 2, create_nameless_through_proc},
    {"create-nameless-by-empty-path", 2, create_nameless_by_empty_path},
    {"create-in-thread", 2, create_in_thread},
    {"create-in-vfork", 2, create_in_vfork},
    {"create-by-shared-name", 2, create_by_shared_name},
    {"make-special", 2, make_special},
    {"make-special-below", 2, make_special_below},
    {"mkdir-below", 1, make_directory_below},
    {"symlink-below", 2, make_link_below},
    {"hold-for-writing", 1, hold_for_writing},
    {"write-held", 1, write_held},
    {"hold-below", 1, hold_below},
    {"create-below-held", 2, create_below_held},
    {"enter", 1, enter_directory},
    {"write-reopened", 2, write_reopened},
    {"write-path-reopened", 2, write_path_only_reopened},
    {"write-openat2", 3, write_openat2},
    {"write-below", 2, write_below},
    {"truncate-reopened", 1, truncate_reopened},
    {"truncate-by-descriptor", 1, truncate_by_descriptor},
    {"map-for-writing", 1, map_for_writing},
    {"allocate-by-descriptor", 1, allocate_by_descriptor},
    {"rename-below", 2, rename_below},
    {"link-below", 2, link_below},
    {"link-by-empty-path", 2, link_by_empty_path},
    {"remove-below", 1, remove_below},
    {"chmod-below", 1, change_mode_below},
    {"chmod-reopened", 1, change_mode_reopened},
    {"chmod-by-empty-path", 1, change_mode_by_empty_path},
    {"chmod2", 1, change_mode2},
    {"chown", 1, change_owner},
    {"chown-link", 1, change_owner_of_link},
    {"chown-by-descriptor", 1, change_owner_by_descriptor},
    {"chown-by-empty-path", 1, change_owner_by_empty_path},
    {"change-times", 1, change_times},
    {"change-times-old", 1, change_times_old},
    {"change-times-of-link", 1, change_times_of_link},
    {"change-times-by-empty-path", 1, change_times_by_empty_path},
    {"change-times-reopened", 1, change_times_reopened},
    {"set-attribute", 1, set_attribute},
    {"set-attribute-of-link", 1, set_attribute_of_link},
    {"set-attribute-reopened", 1, set_attribute_reopened},
    {"set-attribute-at", 1, set_attribute_at},
    {"remove-attribute", 1, remove_attribute},
    {"remove-attribute-by-descriptor", 1, remove_attribute_by_descriptor},
    {"remove-attribute-at", 1, remove_attribute_at},
    {"set-flags", 1, set_flags},
    {"set-extended-flags", 1, set_extended_flags},
    {"set-flags-by-call", 1, set_flags_by_call},
    {"set-version", 1, set_version},
    {"descend", 2, descend},
    {"show-flags", 1, show_flags},
    {0},
};
