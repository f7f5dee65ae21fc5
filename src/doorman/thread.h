/* Begins threads of the doorman. Private to this room. */
#ifndef CLOCHE_DOORMAN_THREAD_H
#define CLOCHE_DOORMAN_THREAD_H

#include <stdbool.h>
#include <stddef.h>

/* `stack_size` 0: as much as usual. Nobody waits for its end. */
struct thread {
    void *(*main)(void *argument);
    void *argument;
    size_t stack_size;
};

/* False: there cannot be one now. */
bool thread_start(const struct thread *thread);

/* Waits until there can be, some seconds: a command may have used up the processes that its user may have, which count
 * threads, and may wait for us before it ends any. */
bool thread_start_in_the_end(const struct thread *thread);

#endif
