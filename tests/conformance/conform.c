/* File-system conformance: does a program find the same kernel inside as outside?
 *
 *   conform DIRECTORY [SUBJECT...]
 *   conform --wait                    a program that runs until somebody writes to it
 *
 * Makes thousands of calls in the empty DIRECTORY and prints one line for each:
 * what was called, its result or the name of its error, and what it made. Nothing
 * printed depends on the time, the place or a process number, so the lines of two
 * runs can be compared. tests/system/test_conformance.py runs it outside and inside
 * and lists, with reasons, the lines that may differ.
 *
 * Each subject runs in a process and a directory of its own; one that takes longer
 * than PATIENCE is killed and says so.
 *
 * Root gives its capabilities up first: a run inside has none either, and what they
 * allow is not what is compared here. */
#include "conform.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 30000, SHOWN = 40 };

static const char *current;

void give_up(const char *what)
{
    printf("%s: the test itself failed: %s: %s\n", current, what, strerrorname_np(errno));
    exit(3);
}

static void __attribute__((format(printf, 1, 0))) say_head(const char *words, va_list values)
{
    printf("%s: ", current);
    vprintf(words, values);
}

static const char *error_name(int errnum)
{
    const char *name = strerrorname_np(errnum);

    return name ? name : "unknown error";
}

bool say(long result, const char *words, ...)
{
    int errnum = errno;
    va_list values;

    va_start(values, words);
    say_head(words, values);
    va_end(values);
    if (result < 0)
        printf(": %s\n", error_name(errnum));
    else if (result > 0)
        printf(": %ld\n", result);
    else
        printf(": ok\n");
    return result >= 0;
}

static char type_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return 'f';
    case S_IFDIR:
        return 'd';
    case S_IFLNK:
        return 'l';
    case S_IFIFO:
        return 'p';
    case S_IFSOCK:
        return 's';
    case S_IFCHR:
        return 'c';
    default:
        return '?';
    }
}

bool say_opened(int fd, const char *words, ...)
{
    int errnum = errno;
    va_list values;

    va_start(values, words);
    say_head(words, values);
    va_end(values);
    if (fd < 0) {
        printf(": %s\n", error_name(errnum));
        return false;
    }
    struct stat found;
    if (fstat(fd, &found) < 0)
        give_up("fstat");
    printf(": descriptor %d, flags %o, %s, %c%o", fd, (unsigned)fcntl(fd, F_GETFL),
           fcntl(fd, F_GETFD) & FD_CLOEXEC ? "closed on exec" : "kept", type_of(found.st_mode),
           (unsigned)found.st_mode & 07777);
    if (S_ISREG(found.st_mode))
        printf(", %ld bytes, offset %ld", (long)found.st_size, (long)lseek(fd, 0, SEEK_CUR));
    printf("\n");
    close(fd);
    return true;
}

static void print_bytes(const char *bytes, ssize_t length)
{
    for (ssize_t i = 0; i < length; i++)
        putchar(bytes[i] >= ' ' && bytes[i] < 127 ? bytes[i] : '?');
}

void look(const char *path)
{
    struct stat found;
    char bytes[SHOWN];

    printf("%s:   there: %.20s: ", current, path);
    if (lstat(path, &found) < 0) {
        printf("%s\n", error_name(errno));
        return;
    }
    printf("%c%o", type_of(found.st_mode), (unsigned)found.st_mode & 07777);
    if (!S_ISDIR(found.st_mode))
        printf(", %lu links, %ld bytes", (unsigned long)found.st_nlink, (long)found.st_size);
    if (S_ISLNK(found.st_mode)) {
        printf(" -> ");
        print_bytes(bytes, readlink(path, bytes, sizeof bytes));
    }
    int fd = S_ISREG(found.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        printf(" = ");
        print_bytes(bytes, read(fd, bytes, sizeof bytes));
        close(fd);
    }
    printf("\n");
}

void clear(const char *path)
{
    struct stat found;

    if (lstat(path, &found) < 0)
        return;
    if (!S_ISDIR(found.st_mode)) {
        if (unlink(path) < 0)
            give_up(path);
        return;
    }
    chmod(path, 0700);
    DIR *directory = opendir(path);
    if (!directory)
        give_up(path);
    for (const struct dirent *entry; (entry = readdir(directory));) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            unlinkat(dirfd(directory), entry->d_name, 0) < 0 &&
            unlinkat(dirfd(directory), entry->d_name, AT_REMOVEDIR) < 0)
            give_up(entry->d_name);
    }
    closedir(directory);
    if (rmdir(path) < 0)
        give_up(path);
}

void put_file(const char *path, const char *content)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (fd < 0 || write(fd, content, strlen(content)) < 0)
        give_up(path);
    close(fd);
}

void put_directory(const char *path)
{
    if (mkdir(path, 0755) < 0)
        give_up(path);
}

void put_link(const char *target, const char *path)
{
    if (symlink(target, path) < 0)
        give_up(path);
}

void put_fifo(const char *path)
{
    if (mkfifo(path, 0644) < 0)
        give_up(path);
}

void rest(long milliseconds)
{
    struct timespec time = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};

    while (nanosleep(&time, &time) < 0 && errno == EINTR)
        ;
}

int status_of(pid_t child)
{
    int status;

    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            give_up("waitpid");
    }
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void run_subject(const struct subject *subject)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        current = subject->name;
        setpgid(0, 0);
        umask(022);
        if (mkdir(subject->name, 0755) < 0 || chdir(subject->name) < 0)
            give_up(subject->name);
        subject->run();
        exit(0);
    }
    struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN};
    if (child < 0 || ended.fd < 0 || (poll(&ended, 1, PATIENCE) == 0 && kill(-child, SIGKILL) < 0))
        give_up("starting");
    int status = status_of(child);
    kill(-child, SIGKILL);
    close(ended.fd);
    if (status != 0)
        printf("%s: ended with status %d\n", subject->name, status);
}

static void drop_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};

    if (syscall(SYS_capset, &head, none) < 0)
        give_up("capset");
    /* Giving up capabilities makes a process private, as programs of others are; this
     * is an ordinary one. */
    prctl(PR_SET_DUMPABLE, 1);
}

int main(int argc, char **argv)
{
    const struct subject *const parts[] = {open_subjects,       name_subjects,    metadata_subjects,
                                           descriptor_subjects, process_subjects, socket_subjects};

    current = "conform";
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    if (argc == 2 && strcmp(argv[1], "--wait") == 0)
        return (int)read(0, &(char){0}, 1);
    if (argc < 2 || chdir(argv[1]) < 0) {
        fprintf(stderr, "usage: conform DIRECTORY [SUBJECT...]\n");
        return 2;
    }
    close_range(3, ~0U, 0);
    drop_capabilities();
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        for (const struct subject *subject = parts[i]; subject->name; subject++) {
            bool wanted = argc == 2;
            for (int word = 2; word < argc; word++)
                wanted = wanted || strcmp(argv[word], subject->name) == 0;
            if (wanted)
                run_subject(subject);
        }
    }
    return 0;
}
