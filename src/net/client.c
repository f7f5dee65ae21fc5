/* The kernel's table of the sandbox's sockets, read through its pid 1, says which
 * socket has the port; the descriptors of the processes in pid 1's namespace
 * say whose that is. */
#include "net/client.h"

#include "base/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How much is looked at before giving up. */
enum { TABLE_MAX = 1 << 20, PROCESSES_MAX = 20000, DESCRIPTORS_MAX = 100000 };

/* The words of "  1: 0100007F:A1B2 0100007F:0050 01 00000000:00000000 00:00000000 00000000  1000  0 INODE ..." */
enum { WORD_LOCAL = 1, WORD_INODE = 9 };

static struct slice word_of(struct slice line, unsigned number)
{
    for (;; number--) {
        while (line.len > 0 && *line.ptr == ' ')
            line = slice_from(line, 1);
        struct slice word = {line.ptr, slice_find(line, ' ')};
        if (number == 0)
            return word;
        line = slice_from(line, word.len);
    }
}

static bool read_line(struct slice line, uint16_t port, unsigned long *inode)
{
    struct slice local = word_of(line, WORD_LOCAL);
    size_t colon = slice_find(local, ':');

    /* The words end with a blank, the number there. */
    if (colon == local.len || strtoul(local.ptr + colon + 1, NULL, 16) != port)
        return false;
    struct slice number = word_of(line, WORD_INODE);
    *inode = number.len > 0 ? strtoul(number.ptr, NULL, 10) : 0;
    return *inode != 0;
}

static bool find_inode(pid_t init, const char *table, uint16_t port, unsigned long *inode)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct slice content;
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/net/%s", (int)init, table);
    FD_CLEANUP int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || !fd_read_all(fd, path, TABLE_MAX, &arena, &content, NULL))
        return false;
    while (content.len > 0) {
        struct slice line = {content.ptr, slice_find(content, '\n')};
        if (read_line(line, port, inode))
            return true;
        content = slice_from(content, line.len + (line.len < content.len));
    }
    return false;
}

static bool link_is(int directory, const char *name, const char *wanted)
{
    char text[64];
    ssize_t length = readlinkat(directory, name, text, sizeof text - 1);

    if (length < 0)
        return false;
    text[length] = '\0';
    return strcmp(text, wanted) == 0;
}

static bool holds(int process, const char *socket, unsigned *patience)
{
    int fd = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    bool found = false;

    if (!entries) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    for (struct dirent *entry; !found && *patience > 0 && (entry = readdir(entries));) {
        (*patience)--;
        found = entry->d_name[0] != '.' && link_is(dirfd(entries), entry->d_name, socket);
    }
    closedir(entries);
    return found;
}

static bool is_it(const char *name, const char *namespace, const char *socket, unsigned *patience,
                  struct net_client *client)
{
    char path[64];

    if (name[0] < '1' || name[0] > '9' || strlen(name) > 10)
        return false;
    snprintf(path, sizeof path, "/proc/%s", name);
    FD_CLEANUP int process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (process < 0 || !link_is(process, "ns/pid", namespace) || !holds(process, socket, patience))
        return false;
    ssize_t length = readlinkat(process, "exe", client->program, sizeof client->program - 1);
    client->program[length > 0 ? length : 0] = '\0';
    client->pid = (pid_t)strtol(name, NULL, 10);
    return length > 0;
}

static bool find_holder(pid_t init, unsigned long inode, struct net_client *client)
{
    unsigned descriptors = DESCRIPTORS_MAX;
    char namespace[64];
    char socket[40];
    char path[64];
    bool found = false;

    snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)init);
    ssize_t length = readlink(path, namespace, sizeof namespace - 1);
    DIR *processes = length > 0 ? opendir("/proc") : NULL;
    if (!processes)
        return false;
    namespace[length] = '\0';
    snprintf(socket, sizeof socket, "socket:[%lu]", inode);
    struct dirent *entry;
    for (int i = 0; !found && i < PROCESSES_MAX && (entry = readdir(processes)); i++)
        found = is_it(entry->d_name, namespace, socket, &descriptors, client);
    closedir(processes);
    return found;
}

bool net_client_find(pid_t init, bool udp, uint16_t port, struct net_client *client)
{
    unsigned long inode;

    *client = (struct net_client){0};
    if (port == 0 || init <= 0)
        return false;
    return (find_inode(init, udp ? "udp" : "tcp", port, &inode) ||
            find_inode(init, udp ? "udp6" : "tcp6", port, &inode)) &&
           find_holder(init, inode, client);
}
