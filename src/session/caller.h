/* Which process a thread of the run belongs to. */
#ifndef CLOCHE_SESSION_CALLER_H
#define CLOCHE_SESSION_CALLER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct caller {
    pid_t pid;
    pid_t parent;   /* 0: not known */
    bool is_inside; /* in a pid namespace below ours */
    char program[PATH_MAX];
    char parent_program[PATH_MAX]; /* both empty where they are not known */
};

/* False if there is none any more. */
bool caller_find(pid_t thread, struct caller *caller);

/* Is this thread, which waits in a system call, about to execute something? */
bool caller_executes(pid_t thread);

#endif
