/* A descriptor is what it was opened for, whatever the policy says of its name.
 * That is the caller's word. But some are more than that:
 *
 *   - a directory leads around every mount, and so does the bare name of a file
 *     (O_PATH): attacks 10 and 11;
 *   - a socket belongs to the network it was made in. One for TCP or UDP, connected
 *     or not, can be disconnected and connected to anywhere, and one for unix
 *     datagrams can send to every name there. What is left are unix streams with a
 *     peer, or with peers to come: they cannot be pointed elsewhere;
 *   - whoever asked for a signal when there is something to read (F_SETOWN) would be
 *     sent the one that the command chooses;
 *   - files of the kernel's own are doors to processes, namespaces and settings of the
 *     system; devices are drivers.
 *
 * Standard descriptors were not named by anybody. So of those less is asked: many read
 * from /proc or a disk that way, and they did not ask for more than that. */
#include "jail/handed.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

static int socket_option(int fd, int option)
{
    int value = -1;
    socklen_t length = sizeof value;

    return getsockopt(fd, SOL_SOCKET, option, &value, &length) == 0 ? value : -1;
}

static bool has_peers(int fd)
{
    struct sockaddr_storage peer;
    socklen_t length = sizeof peer;

    return socket_option(fd, SO_ACCEPTCONN) == 1 || getpeername(fd, (struct sockaddr *)&peer, &length) == 0;
}

static bool check_socket(int fd, const char *name, bool host_network, struct error *err)
{
    int domain = socket_option(fd, SO_DOMAIN);
    int type = socket_option(fd, SO_TYPE);

    if (domain == AF_INET || domain == AF_INET6) {
        if (host_network && (type == SOCK_STREAM || type == SOCK_DGRAM))
            return true;
        return error_set(err,
                         "%s is a socket of the host's network: the command could connect it to anywhere. Put a pipe "
                         "in between, or give the command that network (network.mode: host)",
                         name);
    }
    if (domain != AF_UNIX)
        return error_set(err, "%s is a socket of a kind that the command may not have: hand it a pipe", name);
    if (type != SOCK_STREAM && type != SOCK_SEQPACKET)
        return error_set(err,
                         "%s is a socket for unix datagrams: the command could send to every socket of the host "
                         "through it. Hand it a pipe or a stream",
                         name);
    return has_peers(fd) ||
           error_set(err,
                     "%s is a socket that is neither connected nor listening: the command could connect it to "
                     "any other of the host",
                     name);
}

/* Terminals, which can have one too, are opened anew (handed_replace_device), and have none then. */
static bool has_owner(int fd, const struct stat *status)
{
    return (S_ISSOCK(status->st_mode) || S_ISFIFO(status->st_mode)) && fcntl(fd, F_GETOWN) != 0;
}

/* By whichever of its names it was opened. */
static bool is_same_terminal(int a, int b)
{
    unsigned one;
    unsigned other;

    return ioctl(a, TIOCGDEV, &one) == 0 && ioctl(b, TIOCGDEV, &other) == 0 && one == other;
}

static bool is_given_as_standard(int terminal)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (is_same_terminal(terminal, fd))
            return true;
    }
    return false;
}

/* The other side of a terminal says it is one, too. */
static bool is_master(dev_t device)
{
    const dev_t multiplexer = makedev(5, 2);

    return device == multiplexer;
}

static bool check_device(int fd, const char *name, dev_t device, struct error *err)
{
    if (handed_name_of_memory_device(device))
        return true;
    if (!isatty(fd) || is_master(device))
        return error_set(err, "%s is a device: allow its path (--device), and the command can open it", name);
    return is_given_as_standard(fd) ||
           error_set(err,
                     "%s is a terminal that the command has neither as standard input nor output nor error: without "
                     "that it is to have none",
                     name);
}

/* Files of the kernel's take no room anywhere. Those in memory may say so too, and
 * whoever serves a file system may say anything. */
static bool check_file(int fd, const char *name, struct error *err)
{
    struct statfs system;

    if (fstatfs(fd, &system) < 0)
        return error_set_errno(err, errno, "cannot inspect %s", name);
    switch ((uint32_t)system.f_type) {
    case TMPFS_MAGIC:
    case RAMFS_MAGIC:
    case HUGETLBFS_MAGIC:
    case FUSE_SUPER_MAGIC:
        return true;
    case EFIVARFS_MAGIC:
        break;
    default:
        if (system.f_blocks > 0)
            return true;
    }
    return error_set(err,
                     "%s is not a file of data but one of the kernel's own (of /proc or /sys, a namespace, a process, "
                     "an event): it could lead out of the sandbox. Hand the command a file or a pipe",
                     name);
}

static bool check_named(int fd, const char *name, const struct stat *status, struct error *err)
{
    if (S_ISFIFO(status->st_mode) || S_ISSOCK(status->st_mode))
        return true;
    if (S_ISBLK(status->st_mode))
        return error_set(err, "%s is a disk: the command could reach all that is on it", name);
    return S_ISCHR(status->st_mode) ? check_device(fd, name, status->st_rdev, err) : check_file(fd, name, err);
}

bool handed_check(int fd, const char *name, enum handed_as as, bool host_network, struct error *err)
{
    const char *instead = as == HANDED_AS_STANDARD ? "Redirect it elsewhere" : "Hand the command a file or a pipe";
    struct stat status;
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fstat(fd, &status) < 0)
        return error_set_errno(err, errno, "cannot inspect %s", name);
    if (S_ISDIR(status.st_mode))
        return error_set(err, "%s is a directory: the command could reach the host's files through it. %s", name,
                         instead);
    if (flags & O_PATH)
        return error_set(err,
                         "%s only names a file (O_PATH): the command could open it in ways that the policy does not "
                         "allow. %s",
                         name, instead);
    if (has_owner(fd, &status))
        return error_set(err,
                         "%s has an owner, who gets its signals (F_SETOWN): the command could send him any other. Take "
                         "the owner away, or hand the command a pipe of its own",
                         name);
    if (S_ISSOCK(status.st_mode) && !check_socket(fd, name, host_network, err))
        return false;
    return as == HANDED_AS_STANDARD || check_named(fd, name, &status, err);
}
