/* Ids inside are the ids outside: files keep their owners, and nobody becomes
 * root by entering. An ordinary user may map himself alone, and only after
 * giving up setgroups(2) (else a group that is denied a file could be dropped).
 * Root maps every id he has, so that files of others do not all turn into
 * nobody's. */
#include "jail/identity.h"

#include "base/fd.h"
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAP_TEXT_MAX = 16384 };

static bool write_file(const char *path, const char *text, size_t length, struct error *err)
{
    FD_CLEANUP int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write(fd, text, length) != (ssize_t)length)
        return error_set_errno(err, errno,
                               "cannot write %s, so that the sandbox has no user of its own (is this system "
                               "restricting user namespaces? `cloche doctor` tells how to allow them)",
                               path);
    return true;
}

static bool write_to_child(pid_t child, const char *name, const char *text, size_t length, struct error *err)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/%s", (int)child, name);
    return write_file(path, text, length, err);
}

static bool write_own_map(pid_t child, const char *name, unsigned id, struct error *err)
{
    char line[64];
    int length = snprintf(line, sizeof line, "%u %u 1\n", id, id);

    return write_to_child(child, name, line, (size_t)length, err);
}

/* Of the buffers only what is used is touched, which on the stack would be all. */
struct buffers {
    char map[MAP_TEXT_MAX];
    char lines[MAP_TEXT_MAX];
};

static bool copy_map(pid_t child, const char *name, struct buffers *buffers, struct error *err)
{
    char path[64];
    char *lines = buffers->lines;
    size_t used = 0;

    snprintf(path, sizeof path, "/proc/self/%s", name);
    FD_CLEANUP int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, buffers->map, sizeof buffers->map - 1);
    if (length < 0)
        return error_set_errno(err, errno, "cannot read %s", path);
    buffers->map[length] = '\0';

    for (const char *line = buffers->map; *line; line = strchr(line, '\n') + 1) {
        uint32_t inside;
        uint32_t outside;
        uint32_t count;
        /* NOLINTNEXTLINE(cert-err34-c): the kernel wrote these numbers. */
        if (sscanf(line, "%" SCNu32 "%" SCNu32 "%" SCNu32, &inside, &outside, &count) != 3 || !strchr(line, '\n'))
            return error_set(err, "cannot understand %s", path);
        int written =
            snprintf(lines + used, MAP_TEXT_MAX - used, "%" PRIu32 " %" PRIu32 " %" PRIu32 "\n", inside, inside, count);
        if (written < 0 || (size_t)written >= MAP_TEXT_MAX - used)
            return error_set(err, "cannot copy %s: it is too long", path);
        used += (size_t)written;
    }
    return write_to_child(child, name, lines, used, err);
}

/* All that there are, which only who is in no user namespace himself can give: then his own
 * need not be read. What was refused can be written again. */
static bool write_whole_map(pid_t child, const char *name)
{
    static const char whole[] = "0 0 4294967295\n";
    struct error refused;

    return write_to_child(child, name, whole, sizeof whole - 1, &refused);
}

static bool map_every_id(pid_t child, const char *name, struct error *err)
{
    if (write_whole_map(child, name))
        return true;
    struct buffers *buffers = malloc(sizeof *buffers);
    if (!buffers)
        return error_set_errno(err, errno, "cannot copy the id maps");
    bool written = copy_map(child, name, buffers, err);
    free(buffers);
    return written;
}

bool identity_map_child(pid_t child, struct error *err)
{
    if (!proc_is_own())
        return error_set(err, "no /proc of this pid namespace is mounted, so the sandbox cannot be given a user (mount "
                              "it: mount -t proc proc /proc)");
    if (geteuid() == 0)
        return map_every_id(child, "uid_map", err) && map_every_id(child, "gid_map", err);
    return write_to_child(child, "setgroups", "deny", 4, err) && write_own_map(child, "uid_map", geteuid(), err) &&
           write_own_map(child, "gid_map", getegid(), err);
}
