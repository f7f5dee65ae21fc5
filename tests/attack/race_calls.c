/* The victim's calls: each makes, changes or removes a protected name at the place it
 * aims at, or reads a file there. In the run's own directory that is allowed, and undone, so that the next
 * try can succeed as well; anywhere else it is what the test looks for afterwards. */
#include "race.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

static void put(int directory, const char *name)
{
    int fd = openat(directory, name, O_WRONLY | O_CREAT, 0600);

    if (fd >= 0)
        close(fd);
}

static long try_create(const struct aim *aim)
{
    int fd = openat(aim->directory, aim->path, O_WRONLY | O_CREAT | O_EXCL, 0600);

    if (fd < 0)
        return -1;
    if (write(fd, "evil", 4) != 4)
        return -1;
    close(fd);
    unlinkat(aim->ours, ".bashrc", 0);
    return 0;
}

static long try_write(const struct aim *aim)
{
    int fd = openat(aim->directory, aim->path, O_WRONLY);

    if (fd < 0)
        return -1;
    if (write(fd, "evil", 4) != 4)
        return -1;
    close(fd);
    return 0;
}

static long try_empty(const struct aim *aim)
{
    int fd = openat(aim->directory, aim->path, O_RDONLY | O_TRUNC);

    if (fd >= 0)
        close(fd);
    return fd;
}

static long try_mkdir(const struct aim *aim)
{
    long result = mkdirat(aim->directory, aim->path, 0700);
    int errnum = errno;

    if (result == 0)
        unlinkat(aim->ours, ".vscode", AT_REMOVEDIR);
    errno = errnum;
    return result;
}

static long try_rename_to(const struct aim *aim)
{
    put(aim->ours, "source");
    long result = renameat(aim->ours, "source", aim->directory, aim->path);
    int errnum = errno;
    if (result == 0)
        unlinkat(aim->ours, ".zshrc", 0);
    errno = errnum;
    return result;
}

static long try_rename_from(const struct aim *aim)
{
    long result = renameat(aim->directory, aim->path, aim->ours, "taken");
    int errnum = errno;

    if (result == 0)
        renameat(aim->ours, "taken", aim->ours, ".zprofile");
    errno = errnum;
    return result;
}

static long try_link(const struct aim *aim)
{
    put(aim->ours, "second");
    long result = linkat(aim->ours, "second", aim->directory, aim->path, 0);
    int errnum = errno;
    if (result == 0)
        unlinkat(aim->ours, ".profile", 0);
    errno = errnum;
    return result;
}

static long try_symlink(const struct aim *aim)
{
    long result = symlinkat("nowhere", aim->directory, aim->path);
    int errnum = errno;

    if (result == 0)
        unlinkat(aim->ours, ".zlogin", 0);
    errno = errnum;
    return result;
}

static long try_mknod(const struct aim *aim)
{
    long result = mknodat(aim->directory, aim->path, S_IFIFO | 0600, 0);
    int errnum = errno;

    if (result == 0)
        unlinkat(aim->ours, ".bash_login", 0);
    errno = errnum;
    return result;
}

static long try_unlink(const struct aim *aim)
{
    long result = unlinkat(aim->directory, aim->path, 0);
    int errnum = errno;

    if (result == 0)
        put(aim->ours, ".ripgreprc");
    errno = errnum;
    return result;
}

static long try_chmod(const struct aim *aim)
{
    return syscall(SYS_fchmodat, aim->directory, aim->path, 0777);
}

static long try_times(const struct aim *aim)
{
    static const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};

    return utimensat(aim->directory, aim->path, long_ago, 0);
}

/* Git's way: config.lock, which anybody may make anywhere, becomes config. */
static long try_git_config(const struct aim *aim)
{
    static const char evil[] = "[core]\n\tpager = evil\n";
    char lock[128];

    mkdirat(aim->ours, ".git", 0700);
    snprintf(lock, sizeof lock, "%s.lock", aim->path);
    int fd = openat(aim->directory, lock, O_WRONLY | O_CREAT, 0600);
    if (fd < 0 || write(fd, evil, sizeof evil - 1) < 0)
        return -1;
    close(fd);
    return renameat(aim->directory, lock, aim->directory, aim->path);
}

/* For calls that know no directory but the current one. */
static const char *whole_path(const struct aim *aim, char *buffer, size_t size)
{
    if (aim->directory == AT_FDCWD)
        return aim->path;
    snprintf(buffer, size, "/proc/self/fd/%d/%s", aim->directory, aim->path);
    return buffer;
}

static long try_truncate(const struct aim *aim)
{
    char buffer[128];

    return truncate(whole_path(aim, buffer, sizeof buffer), 1);
}

static long try_attribute(const struct aim *aim)
{
    char buffer[128];

    return setxattr(whole_path(aim, buffer, sizeof buffer), "user.evil", "x", 1, 0);
}

/* The address lies where `path` does: it changes under the call as well. */
static long with_address(const struct aim *aim, long (*call)(int fd, const struct sockaddr *address, socklen_t length))
{
    struct sockaddr_un own = {.sun_family = AF_UNIX};
    const struct sockaddr_un *address = &own;
    char buffer[128];
    size_t length = strlen(whole_path(aim, buffer, sizeof buffer));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    if (aim->directory == AT_FDCWD && length >= 8)
        address = (const struct sockaddr_un *)(const void *)(aim->path - offsetof(struct sockaddr_un, sun_path));
    else
        strcpy(own.sun_path, whole_path(aim, buffer, sizeof buffer));
    long result =
        call(fd, (const struct sockaddr *)address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1));
    int errnum = errno;
    close(fd);
    errno = errnum;
    return result;
}

static long call_bind(int fd, const struct sockaddr *address, socklen_t length)
{
    return bind(fd, address, length);
}

static long call_connect(int fd, const struct sockaddr *address, socklen_t length)
{
    return connect(fd, address, length);
}

static long try_bind(const struct aim *aim)
{
    long result = with_address(aim, call_bind);
    int errnum = errno;

    if (result == 0)
        unlinkat(aim->ours, ".bash_profile", 0);
    errno = errnum;
    return result;
}

static long try_connect(const struct aim *aim)
{
    return with_address(aim, call_connect);
}

/* Ours is empty: whatever can be read is of the other directory, and said aloud. */
static long try_read(const struct aim *aim)
{
    char content[64];
    int fd = openat(aim->directory, aim->path, O_RDONLY);

    if (fd < 0)
        return -1;
    ssize_t length = read(fd, content, sizeof content);
    if (length > 0)
        printf("READ %.*s\n", (int)length, content);
    close(fd);
    return 0;
}

static void *serve(void *server)
{
    for (int client; (client = accept(*(int *)server, NULL, NULL)) >= 0 || errno == ECONNABORTED;)
        close(client);
    return NULL;
}

void race_serve(int ours)
{
    static int server;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    pthread_t thread;

    unlinkat(ours, "socket", 0);
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/socket", ours);
    server = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(server, (struct sockaddr *)&address, sizeof address) < 0 || listen(server, 64) < 0 ||
        pthread_create(&thread, NULL, serve, &server)) {
        perror("race: a server of its own");
        exit(2);
    }
}

const struct race_call race_calls[] = {
    {"create", ".bashrc", false, try_create},
    {"write", ".envrc", true, try_write},
    {"empty", ".envrc", true, try_empty},
    {"mkdir", ".vscode", false, try_mkdir},
    {"rename-to", ".zshrc", false, try_rename_to},
    {"rename-from", ".zprofile", true, try_rename_from},
    {"link", ".profile", false, try_link},
    {"symlink", ".zlogin", false, try_symlink},
    {"mknod", ".bash_login", false, try_mknod},
    {"unlink", ".ripgreprc", true, try_unlink},
    {"chmod", ".mcp.json", true, try_chmod},
    {"times", ".mcp.json", true, try_times},
    {"truncate", ".envrc", true, try_truncate},
    {"attribute", ".mcp.json", true, try_attribute},
    {"bind", ".bash_profile", false, try_bind},
    {"git-config", ".git/config", false, try_git_config},
    {"connect", "socket", false, try_connect},
    {"read", "content", true, try_read},
    {0},
};
