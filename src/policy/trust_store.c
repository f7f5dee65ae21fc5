/* Trust records: $XDG_STATE_HOME/cloche/trust/KEY, mode 0600.
 *
 * A record is a decision of the user, so nobody else may have been able to make
 * it: directories and files that belong to somebody else or that others can
 * write are refused, and below the state directory no link is followed. Records
 * are written beside their place and renamed into it: a full disk or a kill
 * leaves the old one, never half of a new one. */
#include "policy/trust_store.h"

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/variables.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECORD_MAX = 64 * 1024 };

static const struct slice record_header = SLICE("cloche trust 1\n");

static bool check_owner(int fd, const char *name, struct error *err)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return error_set_errno(err, errno, "cannot inspect %s", name);
    if (status.st_uid != geteuid())
        return error_set(err, "%s belongs to another user: what it says about trust cannot be relied on; remove it",
                         name);
    if (status.st_mode & (S_IWGRP | S_IWOTH))
        return error_set(err,
                         "%s can be written by others: what it says about trust cannot be relied on; remove it, "
                         "or if nobody else wrote there: chmod go-w %s",
                         name, name);
    return true;
}

/* `*directory` stays -1 and `*absent` is set when it is not there and not to be
 * made. */
static bool open_store(struct arena *arena, const struct surroundings *around, bool make, int *directory,
                       const char **name, bool *absent, struct error *err)
{
    static const char *const levels[] = {"cloche", "trust"};
    struct slice state = arena_slice(arena, xdg_directory(arena, around, "XDG_STATE_HOME"));
    FD_CLEANUP int fd = -1;

    *absent = false;
    /* A home that does not exist is not ours to make. */
    if (make && !directory_make(arena, path_covers(around->home, state) ? around->home : SLICE("/"), state, err))
        return false;
    fd = open(state.ptr, O_PATH | O_DIRECTORY | O_CLOEXEC);
    *name = state.ptr;
    for (size_t i = 0; fd >= 0 && i < sizeof levels / sizeof *levels; i++) {
        *name = arena_printf(arena, "%s/%s", *name, levels[i]);
        if (make && mkdirat(fd, levels[i], 0700) < 0 && errno != EEXIST)
            return error_set_errno(err, errno, "cannot make the directory %s", *name);
        int next = openat(fd, levels[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        fd_close(&fd);
        fd = next;
        if (fd >= 0 && !check_owner(fd, *name, err))
            return false;
    }
    if (fd < 0 && errno == ENOENT && !make) {
        *absent = true;
        return true;
    }
    if (fd < 0)
        return error_set_errno(err, errno, "cannot open the directory %s", *name);
    *directory = fd_take(&fd);
    return true;
}

bool trust_store_write(struct arena *arena, const struct surroundings *around, const char key[TRUST_DIGEST_TEXT],
                       const char digest[TRUST_DIGEST_TEXT], struct slice path, struct error *err)
{
    FD_CLEANUP int directory = -1;
    FD_CLEANUP int fd = -1;
    const char *name;
    bool absent;
    unsigned long long nonce;
    struct text record = text_in(arena);

    if (!open_store(arena, around, true, &directory, &name, &absent, err))
        return false;
    if (getrandom(&nonce, sizeof nonce, 0) != (ssize_t)sizeof nonce)
        return error_set_errno(err, errno, "cannot get random bytes for a file name");

    const char *fresh = arena_printf(arena, ".new-%016llx", nonce);
    fd = openat(directory, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot write to %s", name);

    text_append(&record, record_header);
    text_appendf(&record, "%s\n", digest);
    text_append_escaped(&record, path);
    text_append_byte(&record, '\n');
    if (!fd_write_all(fd, text_slice(&record)) || fsync(fd) < 0 || renameat(directory, fresh, directory, key) < 0) {
        int failure = errno;
        unlinkat(directory, fresh, 0);
        return error_set_errno(err, failure, "cannot write %s/%s", name, key);
    }
    return true;
}

bool trust_store_read(struct arena *arena, const struct surroundings *around, const char key[TRUST_DIGEST_TEXT],
                      char digest[TRUST_DIGEST_TEXT], bool *present, struct error *err)
{
    FD_CLEANUP int directory = -1;
    FD_CLEANUP int fd = -1;
    const char *name;
    bool absent;
    struct slice record;

    *present = false;
    if (!open_store(arena, around, false, &directory, &name, &absent, err))
        return false;
    if (absent)
        return true;

    name = arena_printf(arena, "%s/%s", name, key);
    fd = openat(directory, key, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return true;
    if (fd < 0)
        return error_set_errno(err, errno, "cannot open %s", name);
    if (!check_owner(fd, name, err) || !fd_read_all(fd, name, RECORD_MAX, arena, &record, err))
        return false;
    if (!slice_starts(record, record_header) || record.len < record_header.len + TRUST_DIGEST_TEXT ||
        record.ptr[record_header.len + TRUST_DIGEST_TEXT - 1] != '\n')
        return error_set(err, "%s is not a trust record of this cloche; remove it, and trust the policy again", name);
    memcpy(digest, record.ptr + record_header.len, TRUST_DIGEST_TEXT - 1);
    digest[TRUST_DIGEST_TEXT - 1] = '\0';
    *present = true;
    return true;
}

bool trust_store_remove(struct arena *arena, const struct surroundings *around, const char key[TRUST_DIGEST_TEXT],
                        struct error *err)
{
    FD_CLEANUP int directory = -1;
    const char *name;
    bool absent;

    if (!open_store(arena, around, false, &directory, &name, &absent, err))
        return false;
    if (!absent && unlinkat(directory, key, 0) < 0 && errno != ENOENT)
        return error_set_errno(err, errno, "cannot remove %s/%s", name, key);
    return true;
}
