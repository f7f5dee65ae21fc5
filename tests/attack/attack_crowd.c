/* Attacks by numbers: many callers at once, many that wait, many signals. */
#include "attacker.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Processes that open a FIFO nobody will ever read: they wait in the call. */
static int wait_in_fifo(char **words)
{
    unsigned long count = number(words[1]);

    if (mkfifo(words[0], 0600) < 0 && errno != EEXIST)
        return -1;
    for (unsigned long i = 0; i < count; i++) {
        pid_t child = fork();
        if (child < 0)
            return -1;
        if (child == 0) {
            open(words[0], O_WRONLY);
            _exit(0);
        }
    }
    struct timespec moment = {.tv_nsec = 300000000};
    nanosleep(&moment, NULL);
    return 0;
}

static void *create_many(void *argument)
{
    char **words = argument;
    long done = 0;

    for (unsigned long i = 0; i < 20; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s-%lx-%lu", words[0], (unsigned long)pthread_self(), i);
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
        if (fd < 0)
            continue;
        close(fd);
        done += unlink(path) == 0;
    }
    return (void *)done;
}

/* Threads that all make files at once. Shows how many of them failed. */
static int create_in_crowd(char **words)
{
    unsigned long count = number(words[1]);
    pthread_t *threads = calloc(count, sizeof *threads);
    long done = 0;

    for (unsigned long i = 0; i < count; i++) {
        if (pthread_create(&threads[i], NULL, create_many, words))
            return -1;
    }
    for (unsigned long i = 0; i < count; i++) {
        void *result;
        pthread_join(threads[i], &result);
        done += (long)result;
    }
    printf("%ld", (long)count * 20 - done);
    return 0;
}

static void ignore(int number_of_signal)
{
    (void)number_of_signal;
}

/* Forks, closes and pipes under a rain of signals whose handler does not restart
 * calls: none of these may be interrupted. Shows how many were. */
static int work_in_rain(char **words)
{
    struct sigaction action = {.sa_handler = ignore};
    struct itimerval often = {.it_interval = {.tv_usec = 300}, .it_value = {.tv_usec = 300}};
    unsigned long interrupted = 0;

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (unsigned long i = 0; i < number(words[0]); i++) {
        int pair[2];
        struct stat found;
        if (pipe(pair) < 0 || close(pair[0]) < 0 || close(pair[1]) < 0 || stat("/", &found) < 0)
            interrupted++;
        int fd = open("/", O_RDONLY | O_CLOEXEC);
        if (fd < 0 || close(fd) < 0)
            interrupted++;
        pid_t child = fork();
        if (child < 0)
            interrupted++;
        if (child == 0)
            _exit(0);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    printf("%lu", interrupted);
    return 0;
}

const struct operation crowd_operations[] = {
    {"wait-in-fifo", 2, wait_in_fifo},
    {"create-in-crowd", 2, create_in_crowd},
    {"work-in-rain", 1, work_in_rain},
    {0},
};
