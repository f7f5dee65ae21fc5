/* race --content: the content of a file is changed while it is renamed to where only
 * harmless content may be.
 *
 * .git/config.lock is made again and again, with words that are either harmless or
 * evil, and renamed to .git/config; a thread, a mapping and another process rewrite
 * those words meanwhile, before and after. No call that has returned may have left the evil
 * ones there. With --content-racy the victim is its own supervisor: it reads the file,
 * finds it harmless, and renames it, as one must not. */
#include "race.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CONTENT_MAX = 65536, LOOKS = 6, PATIENCE_MICROSECONDS = 20000 };

/* One key, of the same length either way. */
static const char harmless[] = "[user]\n\tname = fool\n";
static const char evil[] = "[core]\n\tpager= evil\n";

/* In memory that all processes share. */
struct board {
    atomic_bool stop;
    atomic_ulong writes;
    unsigned turn;
};

static long now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Goes on writing into the file, whatever it is called by then. */
static void rewrite(struct board *board, int file, size_t at, size_t size)
{
    char *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

    for (unsigned i = 0; !board->stop; i++) {
        const char *words = i % 2 ? evil : harmless;
        if (i % 3 || mapped == MAP_FAILED)
            i += pwrite(file, words, sizeof evil - 1, (off_t)at) < 0;
        else
            memcpy(mapped + at, words, sizeof evil - 1);
        board->writes++;
    }
}

/* Until it has been written to again. */
static void wait_for_writer(struct board *board)
{
    unsigned long before = board->writes;

    for (int i = 0; board->writes < before + 2 && i < PATIENCE_MICROSECONDS / 10; i++)
        usleep(10);
}

/* A new file each time: a copy of the old configuration and the words behind it. */
static pid_t make_lock(struct board *board, const char *old, size_t length)
{
    int file = open(".git/config.lock", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    const char *words = board->turn++ % 2 ? evil : harmless;

    if (file < 0 || write(file, old, length) < 0 || write(file, words, sizeof evil - 1) < 0) {
        perror("race: config.lock");
        exit(2);
    }
    board->stop = false;
    pid_t writer = fork();
    if (writer == 0) {
        rewrite(board, file, length, length + sizeof evil - 1);
        _exit(0);
    }
    close(file);
    wait_for_writer(board);
    return writer;
}

static bool holds_evil(const char *path)
{
    static char content[CONTENT_MAX];
    int file = open(path, O_RDONLY);
    ssize_t length = file < 0 ? -1 : read(file, content, sizeof content - 1);

    if (file >= 0)
        close(file);
    if (length < 0)
        return false;
    content[length] = '\0';
    return strstr(content, "pager") != NULL; /* words that are half of the one and half of the other may be harmless */
}

int race_content(long milliseconds, bool racy)
{
    struct board *board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    static char old[CONTENT_MAX];
    int file = open(".git/config", O_RDONLY);
    ssize_t length = file < 0 ? -1 : read(file, old, sizeof old);
    unsigned long replaced = 0, refused = 0, other = 0, evils = 0;

    if (board == MAP_FAILED || length < 0) {
        perror("race: .git/config");
        return 2;
    }
    for (long end = now() + milliseconds; now() < end;) {
        pid_t writer = make_lock(board, old, (size_t)length);
        bool judged_harmless = !racy || !holds_evil(".git/config.lock");
        if (judged_harmless && rename(".git/config.lock", ".git/config") == 0)
            replaced++;
        else if (judged_harmless && errno != EACCES)
            other++;
        else
            refused++;
        /* Now, and when whoever held it open has had time. */
        for (int i = 0; i < LOOKS; i++) {
            evils += holds_evil(".git/config");
            wait_for_writer(board);
        }
        board->stop = true;
        waitpid(writer, NULL, 0);
        unlink(".git/config.lock");
    }
    printf("replaced %lu refused %lu other %lu evil %lu\n", replaced, refused, other, evils);
    return 0;
}
