#include "doorman/thread.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

enum { ATTEMPTS = 10000 };

static int start(const struct thread *thread)
{
    pthread_attr_t attributes;
    pthread_t started;

    int error = pthread_attr_init(&attributes);
    if (error)
        return error;
    if (thread->stack_size)
        pthread_attr_setstacksize(&attributes, thread->stack_size);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    error = pthread_create(&started, &attributes, thread->main, thread->argument);
    pthread_attr_destroy(&attributes);
    return error;
}

bool thread_start(const struct thread *thread)
{
    return start(thread) == 0;
}

bool thread_start_in_the_end(const struct thread *thread)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    int error = start(thread);

    for (int i = 0; error == EAGAIN && i < ATTEMPTS; i++) {
        nanosleep(&pause, NULL);
        error = start(thread);
    }
    return error == 0;
}
