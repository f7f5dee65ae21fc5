/* Attacks on the moment between a judgement and the act: names that come to be, or
 * become something else, while the doorman looks. Each tries for a while and
 * shows how often it tried, which is often enough however busy the machine is; what came of it
 * is seen from outside. */
#include "attacker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE (1 << 1)
#endif

enum { ROUNDS_MIN = 30 };

static long milliseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A child that does something over and over, until it is killed. */
static pid_t over_and_over(void (*act)(char **words), char **words)
{
    pid_t child = fork();

    if (child == 0) {
        for (;;)
            act(words);
    }
    return child;
}

static void end(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void touch(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0644);

    if (fd >= 0)
        close(fd);
}

static void touch_first(char **words)
{
    touch(words[0]);
}

/* FIRST and SECOND are each harmless without the other. Until both are there, or
 * the time (MILLISECONDS) is over. */
static int make_both(char **words)
{
    long until = milliseconds() + (long)number(words[2]);
    pid_t first = over_and_over(touch_first, words);
    pid_t second = over_and_over(touch_first, words + 1);
    long rounds = 0;
    bool both = false;

    while (!both && (rounds < ROUNDS_MIN || milliseconds() < until)) {
        rounds++;
        both = access(words[0], F_OK) == 0 && access(words[1], F_OK) == 0;
        if (!both) {
            unlink(words[0]);
            unlink(words[1]);
        }
    }
    end(first);
    end(second);
    printf("%ld", rounds);
    return 0;
}

static void rename_source(char **words)
{
    rename("source", words[0]);
}

/* Renames what is not there to TARGET while a link to WHERE is put in its place,
 * in a directory so deep (DEPTH times "deep") that judging takes long. For MILLISECONDS. */
static int rename_absent(char **words)
{
    long rounds = 0;

    for (unsigned long i = 0; i < number(words[2]); i++) {
        if ((mkdir("deep", 0755) < 0 && errno != EEXIST) || chdir("deep") < 0)
            return -1;
    }
    long until = milliseconds() + (long)number(words[3]);
    pid_t first = over_and_over(rename_source, words);
    pid_t second = over_and_over(rename_source, words);
    for (; rounds < ROUNDS_MIN || milliseconds() < until; rounds++) {
        if (symlink(words[1], "source") < 0 && errno != EEXIST)
            break;
        unlink("source");
    }
    end(first);
    end(second);
    printf("%ld", rounds);
    return 0;
}

static void exchange_link(char **words)
{
    (void)words;
    unlink("link");
    if (symlink("..", "link") == 0)
        syscall(SYS_renameat2, AT_FDCWD, "link", AT_FDCWD, "new", RENAME_EXCHANGE);
}

static void make_with_slash(char **words)
{
    (void)words;
    mkdir("new/", 0755);
    unlink("new");
    rmdir("new");
    rmdir("link");
}

/* In a new directory DIRECTORY: makes "new/" while a link to ".." takes its place,
 * so that the directory above may be believed to be made here; then makes TARGET in that. For MILLISECONDS. */
static int claim_above(char **words)
{
    long until = milliseconds() + (long)number(words[2]);
    const struct timespec pause = {.tv_nsec = 20000000};
    long rounds = 0;

    if (mkdir(words[0], 0755) < 0 || chdir(words[0]) < 0)
        return -1;
    pid_t first = over_and_over(exchange_link, words);
    pid_t second = over_and_over(make_with_slash, words);
    for (; rounds < ROUNDS_MIN || milliseconds() < until; rounds++) {
        touch(words[1]);
        nanosleep(&pause, NULL);
    }
    end(first);
    end(second);
    printf("%ld", rounds);
    return 0;
}

const struct operation race_operations[] = {
    {"make-both", 3, make_both},
    {"rename-absent", 4, rename_absent},
    {"claim-above", 3, claim_above},
    {NULL, 0, NULL},
};
