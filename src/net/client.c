/* The kernel's table of the sandbox's sockets, read through its pid 1, says which
 * socket has the port; the descriptors of the processes in pid 1's namespace
 * say whose that is. Needs a kernel that lists the children of a task
 * (CONFIG_PROC_CHILDREN, which distributions have). */
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
    DIR *entries = fd_list(openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    bool found = false;

    if (!entries)
        return false;
    for (struct dirent *entry; !found && *patience > 0 && (entry = readdir(entries));) {
        (*patience)--;
        found = entry->d_name[0] != '.' && link_is(dirfd(entries), entry->d_name, socket);
    }
    closedir(entries);
    return found;
}

static bool program_of(int process, char program[CLIENT_PROGRAM_MAX])
{
    ssize_t length = readlinkat(process, "exe", program, CLIENT_PROGRAM_MAX - 1);

    program[length > 0 ? length : 0] = '\0';
    return length > 0;
}

/* "PID (NAME) STATE PARENT ...", where a name may hold anything. */
static pid_t parent_of(int process)
{
    enum { STAT_MAX = 512 };
    char text[STAT_MAX];
    FD_CLEANUP int fd = openat(process, "stat", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

    if (length <= 0)
        return 0;
    text[length] = '\0';
    const char *end = strrchr(text, ')');
    return end && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : 0;
}

static int open_process(pid_t pid)
{
    char path[32];

    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static bool is_it(pid_t pid, const char *socket, unsigned *patience, struct net_client *client)
{
    FD_CLEANUP int process = open_process(pid);

    if (process < 0 || !holds(process, socket, patience) || !program_of(process, client->program))
        return false;
    client->pid = pid;
    client->parent = parent_of(process);
    FD_CLEANUP int parent = client->parent > 0 ? open_process(client->parent) : -1;
    if (parent < 0 || !program_of(parent, client->parent_program))
        client->parent = 0;
    return true;
}

/* Processes that are still to be looked at. */
struct crowd {
    pid_t pids[PROCESSES_MAX];
    size_t count;
};

static void add_children(int tasks, const char *task, struct crowd *crowd)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct slice content;
    char path[64];

    snprintf(path, sizeof path, "%.20s/children", task);
    FD_CLEANUP int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || !fd_read_all(fd, path, TABLE_MAX, &arena, &content, NULL))
        return;
    while (content.len > 0 && crowd->count < PROCESSES_MAX) {
        struct slice word = {content.ptr, slice_find(content, ' ')};
        pid_t pid = (pid_t)strtol(word.ptr, NULL, 10); /* each ends with a blank */
        if (pid > 0)
            crowd->pids[crowd->count++] = pid;
        content = slice_from(content, word.len + (word.len < content.len));
    }
}

/* Every process of the sandbox is a child of another, up to its pid 1. */
static void add_all_children(pid_t pid, struct crowd *crowd)
{
    char path[48];

    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return;
    for (struct dirent *entry; (entry = readdir(tasks));) {
        if (entry->d_name[0] != '.')
            add_children(dirfd(tasks), entry->d_name, crowd);
    }
    closedir(tasks);
}

static bool find_holder(pid_t init, unsigned long inode, struct net_client *client)
{
    unsigned descriptors = DESCRIPTORS_MAX;
    unsigned processes = PROCESSES_MAX;
    struct crowd *crowd = malloc(sizeof *crowd);
    char socket[40];
    bool found = false;

    if (!crowd)
        return false;
    snprintf(socket, sizeof socket, "socket:[%lu]", inode);
    crowd->pids[0] = init;
    crowd->count = 1;
    while (!found && crowd->count > 0 && processes-- > 0) {
        pid_t pid = crowd->pids[--crowd->count];
        found = is_it(pid, socket, &descriptors, client);
        if (!found)
            add_all_children(pid, crowd);
    }
    free(crowd);
    return found;
}

bool net_client_find(pid_t init, bool udp, uint16_t port, struct net_client *client)
{
    unsigned long inode;

    *client = (struct net_client){0};
    if (port == 0 || init <= 0)
        return false;
    bool found = (find_inode(init, udp ? "udp" : "tcp", port, &inode) ||
                  find_inode(init, udp ? "udp6" : "tcp6", port, &inode)) &&
                 find_holder(init, inode, client);
    if (!found)
        *client = (struct net_client){0};
    return found;
}
