/* Read from /proc, which a process cannot forge: what it runs is what the kernel
 * says, not what it calls itself. */
#include "session/caller.h"

#include "base/fd.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STATUS_MAX = 4096 };

/* A field of /proc/PID/status. Names of programs in it are escaped: no line of it
 * is anybody's but the kernel's. */
static const char *field(const char *status, const char *name)
{
    const char *found = strstr(status, name);

    return found ? found + strlen(name) : "";
}

static void find_program(pid_t pid, char program[PATH_MAX])
{
    char link[32];

    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    ssize_t length = readlink(link, program, PATH_MAX - 1);
    program[length < 0 ? 0 : length] = '\0';
}

static bool read_entry(pid_t thread, const char *name, char text[STATUS_MAX])
{
    char path[32];

    snprintf(path, sizeof path, "/proc/%d/%s", (int)thread, name);
    FD_CLEANUP int file = thread > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t length = file < 0 ? -1 : read(file, text, STATUS_MAX - 1);
    text[length < 0 ? 0 : length] = '\0';
    return length > 0;
}

bool caller_executes(pid_t thread)
{
    char text[STATUS_MAX];

    /* "59 0x7ffd... " */
    long call = read_entry(thread, "syscall", text) ? strtol(text, NULL, 10) : -1;
    return call == SYS_execve || call == SYS_execveat;
}

bool caller_find(pid_t thread, struct caller *caller)
{
    char status[STATUS_MAX];

    *caller = (struct caller){0};
    if (!read_entry(thread, "status", status))
        return false;
    caller->pid = (pid_t)strtol(field(status, "\nTgid:\t"), NULL, 10);
    caller->parent = (pid_t)strtol(field(status, "\nPPid:\t"), NULL, 10);
    const char *numbers = field(status, "\nNSpid:\t");
    caller->is_inside = strcspn(numbers, "\t") < strcspn(numbers, "\n");
    if (caller->pid <= 0)
        return false;
    find_program(caller->pid, caller->program);
    if (caller->parent > 0)
        find_program(caller->parent, caller->parent_program);
    return true;
}
