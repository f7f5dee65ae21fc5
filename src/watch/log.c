/* Many runs append to one file. O_APPEND puts each line whole behind the others;
 * what needs more than one step (rotating, chaining) is done under an flock, for
 * which nobody waits for long: a run that was stopped while it held it must not stop
 * the others. It is of a file that nobody may read, PATH.lock: a command that can
 * read the log could keep a lock of the log itself for ever.
 *
 * What others could have written says nothing, so a file or directory of somebody
 * else's is not used, and no link is followed to it. */
#include "watch/log.h"

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/variables.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_ATTEMPTS = 200, TAIL_MAX = EVENT_LOG_BYTES + 256 * 1024 };

const char *event_log_path(struct arena *arena, const struct policy *policy)
{
    struct slice path = policy->violation.log_path;

    if (path.len == 0)
        path = path_normal(arena, xdg_directory(arena, &policy->around, "XDG_STATE_HOME"),
                           SLICE("cloche/violations.jsonl"));
    return arena_slice(arena, path).ptr;
}

void event_log_open(struct event_log *log, const char *path, const struct policy *policy)
{
    *log = (struct event_log){
        .path = path, .around = &policy->around, .chain = policy->violation.chain, .fd = -1, .lock = -1};
}

static bool lose(struct event_log *log, const char *what)
{
    if (log->lost++ == 0)
        error_set_errno(&log->why, errno, "%s %s", what, log->path);
    return false;
}

static bool lose_because(struct event_log *log, const struct error *err)
{
    if (log->lost++ == 0)
        log->why = *err;
    return false;
}

static bool check(int fd, const char *path, struct error *err)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return error_set_errno(err, errno, "cannot inspect the log %s", path);
    if (!S_ISREG(status.st_mode))
        return error_set(err, "the log %s is not a regular file", path);
    if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)))
        return error_set(err, "others can write the log %s: move it away", path);
    return true;
}

static bool make_directory(const struct event_log *log, struct error *err)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct slice directory = path_parent(slice_of(log->path));
    /* A home that does not exist is not ours to make. */
    bool at_home = path_covers(log->around->home, directory);

    return directory_make(&arena, at_home ? log->around->home : SLICE("/"), directory, err);
}

static bool still_has_the_name(const struct event_log *log)
{
    struct stat open_one, named;

    return fstat(log->fd, &open_one) == 0 && stat(log->path, &named) == 0 && open_one.st_ino == named.st_ino &&
           open_one.st_dev == named.st_dev;
}

/* Opens the file that now has the name, if it is not open. */
static bool find_file(struct event_log *log)
{
    if (log->fd >= 0 && still_has_the_name(log))
        return true;
    fd_close(&log->fd);
    int flags = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    FD_CLEANUP int fd = open(log->path, flags, 0600);
    struct error err;
    if (fd < 0 && errno == ENOENT) {
        if (!make_directory(log, &err))
            return lose_because(log, &err);
        fd = open(log->path, flags, 0600);
    }
    if (fd < 0)
        return lose(log, "cannot open the log");
    if (!check(fd, log->path, &err))
        return lose_because(log, &err);
    log->fd = fd_take(&fd);
    log->chained_to = -1;
    return true;
}

static bool lock(struct event_log *log)
{
    struct arena arena ARENA_CLEANUP = {0};
    const struct timespec pause = {.tv_nsec = 1000000};

    if (log->lock < 0)
        log->lock = open(arena_printf(&arena, "%s.lock", log->path), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0200);
    for (int i = 0; flock(log->lock, LOCK_EX | LOCK_NB) < 0; i++) {
        if (errno == EBADF || log->lock_is_stuck || i == LOCK_ATTEMPTS) {
            log->lock_is_stuck = true;
            return false;
        }
        nanosleep(&pause, NULL);
    }
    log->lock_is_stuck = false;
    return true;
}

static void unlock(const struct event_log *log)
{
    flock(log->lock, LOCK_UN);
}

static void rotate(struct event_log *log)
{
    struct arena arena ARENA_CLEANUP = {0};

    if (!lock(log))
        return; /* whoever holds it does this, or the next line */
    for (int i = EVENT_LOG_OLD - 1; i >= 0 && still_has_the_name(log); i--) {
        const char *from = i ? arena_printf(&arena, "%s.%d", log->path, i) : log->path;
        rename(from, arena_printf(&arena, "%s.%d", log->path, i + 1));
    }
    unlock(log);
}

/* The last value of the chain in an open file. */
static bool find_last(int fd, off_t size, struct log_chain_value *value)
{
    struct arena arena ARENA_CLEANUP = {0};
    size_t wanted = size < TAIL_MAX ? (size_t)size : TAIL_MAX;
    char *bytes = arena_alloc(&arena, wanted + 1);
    ssize_t got = pread(fd, bytes, wanted, size - (off_t)wanted);

    for (size_t end = got > 0 ? (size_t)got : 0; end > 0;) {
        size_t start = end - 1;
        while (start > 0 && bytes[start - 1] != '\n')
            start--;
        struct slice line = {bytes + start, end - start - (bytes[end - 1] == '\n')};
        struct slice body;
        if (log_chain_find(line, &body, value))
            return true;
        end = start;
    }
    return false;
}

/* Where the chain stands: in this file, or in the newest of the old ones that has
 * any. */
static struct log_chain_value chain_before(const struct event_log *log, off_t size)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct log_chain_value value = {0};

    if (log->chained_to == size)
        return log->last;
    if (find_last(log->fd, size, &value))
        return value;
    for (int i = 1; i <= EVENT_LOG_OLD; i++) {
        FD_CLEANUP int fd =
            open(arena_printf(&arena, "%s.%d", log->path, i), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        struct stat status;
        if (fd >= 0 && fstat(fd, &status) == 0 && find_last(fd, status.st_size, &value))
            return value;
    }
    return (struct log_chain_value){0};
}

static bool write_line(struct event_log *log, struct slice line)
{
    ssize_t wrote = write(log->fd, line.ptr, line.len);

    if (wrote == (ssize_t)line.len)
        return true;
    if (wrote >= 0)
        errno = ENOSPC;
    return lose(log, "cannot write to the log");
}

static void append_chained(struct event_log *log, struct slice line)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct text out = text_in(&arena);
    struct stat status;

    /* Between our open and our lock another run may have moved it. */
    bool locked = lock(log);
    if (locked && !still_has_the_name(log)) {
        unlock(log);
        locked = find_file(log) && lock(log);
    }
    if (!locked || fstat(log->fd, &status) < 0) {
        lose(log, "cannot lock the log");
        return;
    }
    struct log_chain_value before = chain_before(log, status.st_size);
    struct log_chain_value next = log_chain_next(&before, line);
    text_append(&out, (struct slice){line.ptr, line.len - 1});
    text_appendf(&out, ",\"chain\":\"%s\"}\n", next.text);
    if (write_line(log, text_slice(&out))) {
        log->last = next;
        log->chained_to = status.st_size + (off_t)out.len;
    }
    unlock(log);
}

static void append_plain(struct event_log *log, struct slice line)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct text out = text_in(&arena);

    text_append(&out, line);
    text_append_byte(&out, '\n');
    write_line(log, text_slice(&out));
}

void event_log_append(struct event_log *log, struct slice line)
{
    struct stat status;

    if (!log->path || !find_file(log))
        return;
    if (fstat(log->fd, &status) == 0 && status.st_size >= EVENT_LOG_BYTES) {
        rotate(log);
        if (!find_file(log))
            return;
    }
    if (log->chain)
        append_chained(log, line);
    else
        append_plain(log, line);
}

void event_log_close(struct event_log *log)
{
    fd_close(&log->fd);
    fd_close(&log->lock);
}
