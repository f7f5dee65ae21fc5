/* The kernel is asked (readlink of /proc/self/fd): the doorman is in the mount
 * namespace of the run, so what it says is the name inside. But of an object whose
 * mount is not in this namespace it says the path below that mount's root,
 * which may look like another one's name: it has none in here. */
#include "doorman/name.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Since Linux 6.8. */
#ifndef SYS_listmount
enum { SYS_listmount = 458 };
#endif
#ifndef STATX_MNT_ID_UNIQUE
enum { STATX_MNT_ID_UNIQUE = 0x4000 };
#endif

struct mounts_wanted {
    uint32_t size;
    uint32_t spare;
    uint64_t below;
    uint64_t after;
};

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static bool add_mount(struct house *house, uint64_t mount, size_t *capacity)
{
    if (house->mount_count == *capacity) {
        size_t more = *capacity ? 2 * *capacity : 64;
        uint64_t *mounts = reallocarray(house->mounts, more, sizeof *mounts);
        if (!mounts)
            return false;
        house->mounts = mounts;
        *capacity = more;
    }
    house->mounts[house->mount_count++] = mount;
    return true;
}

/* By the numbers that no other mount will ever have, in a twentieth of the time that
 * it takes to have all of mountinfo written. */
static bool list_mounts(struct house *house)
{
    const uint64_t all = UINT64_MAX;
    struct mounts_wanted wanted = {.size = sizeof wanted, .below = all};
    uint64_t found[256];
    size_t capacity = 0;
    struct statx root;
    long count;

    if (statx(AT_FDCWD, "/", AT_STATX_DONT_SYNC, STATX_MNT_ID_UNIQUE, &root) < 0 ||
        !(root.stx_mask & STATX_MNT_ID_UNIQUE))
        return false;
    house->mount_id = STATX_MNT_ID_UNIQUE;
    while ((count = syscall(SYS_listmount, &wanted, found, sizeof found / sizeof *found, 0)) > 0) {
        for (long i = 0; i < count; i++) {
            if (!add_mount(house, found[i], &capacity))
                return false;
        }
        wanted.after = found[count - 1];
    }
    return count == 0 && house->mount_count > 0;
}

/* Each line of mountinfo begins with the mount's number. */
static bool read_mounts(struct house *house)
{
    FD_CLEANUP int fd = openat(house->proc, "self/mountinfo", O_RDONLY | O_CLOEXEC);
    char buffer[16384];
    size_t capacity = 0;
    uint64_t number = 0;
    bool in_number = true;
    ssize_t size;

    house->mount_id = STATX_MNT_ID;
    house->mount_count = 0; /* whatever was listed had the other numbers */
    if (fd < 0)
        return false;
    while ((size = read(fd, buffer, sizeof buffer)) > 0) {
        for (ssize_t i = 0; i < size; i++) {
            if (in_number && buffer[i] >= '0' && buffer[i] <= '9') {
                number = number * 10 + (uint64_t)(buffer[i] - '0');
            } else if (in_number) {
                if (!add_mount(house, number, &capacity))
                    return false;
                number = 0;
                in_number = false;
            }
            if (buffer[i] == '\n')
                in_number = true;
        }
    }
    return size == 0 && house->mount_count > 0;
}

bool name_note_mounts(struct house *house)
{
    if (!list_mounts(house) && !read_mounts(house))
        return false;
    qsort(house->mounts, house->mount_count, sizeof *house->mounts, compare);
    return true;
}

static bool is_in_tree(const struct house *house, uint64_t mount)
{
    return bsearch(&mount, house->mounts, house->mount_count, sizeof mount, compare) != NULL;
}

/* What was opened where only a pattern grants is on a clone of the doorman's, and
 * called as below that. */
static bool is_in_own_view(const struct house *house, uint64_t mount, struct name *name)
{
    for (size_t i = 0; i < house->root_count; i++) {
        struct slice root = house->roots[i].path.len == 1 ? SLICE("") : house->roots[i].path;
        size_t length = name->length == 1 ? 0 : name->length;
        if (house->roots[i].id != mount)
            continue;
        if (root.len + length >= sizeof name->text)
            return false;
        memmove(name->text + root.len, name->text, length);
        memcpy(name->text, root.ptr, root.len);
        name->length = root.len + length;
        name->text[name->length] = '\0';
        return true;
    }
    return false;
}

static bool is_at(unsigned mount_id, int directory, const char *path, const struct statx *status)
{
    struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    struct statx again;
    FD_CLEANUP int fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);

    return fd >= 0 && statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | mount_id, &again) == 0 &&
           again.stx_mnt_id == status->stx_mnt_id && again.stx_ino == status->stx_ino;
}

/* What was opened because somebody allowed it is in the host's tree as it is. */
static bool is_in_whole(const struct house *house, const struct name *name, const struct statx *status)
{
    return house->whole >= 0 && name->length >= 2 && is_at(house->mount_id, house->whole, name->text + 1, status);
}

/* Is it really called "... (deleted)"? */
static bool is_found_again(const struct house *house, const struct name *name, const struct statx *status)
{
    return is_at(house->mount_id, AT_FDCWD, name->text, status);
}

void name_of(const struct house *house, int fd, struct name *name)
{
    char number[16];
    struct statx status;

    name->kind = NAME_DOUBTFUL;
    name->length = 0;
    name->is_lifted = false;
    name->was_named = false;
    snprintf(number, sizeof number, "%d", fd);
    ssize_t length = readlinkat(house->self, number, name->text, sizeof name->text);
    if (length <= 0 || (size_t)length >= sizeof name->text ||
        statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | house->mount_id | STATX_NLINK, &status) < 0)
        return;
    name->length = (size_t)length;
    name->text[length] = '\0';
    bool deleted = slice_ends(name_slice(name), SLICE(NAME_DELETED));
    /* pipe:[1], socket:[1], anon_inode:... */
    if (name->text[0] != '/') {
        name->kind = NAME_NONE;
        return;
    }
    bool inside = is_in_tree(house, status.stx_mnt_id) || is_in_own_view(house, status.stx_mnt_id, name) ||
                  is_in_whole(house, name, &status);
    if (deleted && status.stx_nlink == 0) {
        name->kind = NAME_NONE;
        name->was_named = inside;
    } else if (!inside) {
        name->kind = NAME_FOREIGN;
    } else if (!deleted || is_found_again(house, name, &status)) {
        name->kind = NAME_KNOWN; /* where it is gone but there are others, it may have any */
    }
}

bool name_append(struct name *name, struct slice component)
{
    size_t length = name->length == 1 ? 0 : name->length;

    if (length + 1 + component.len >= sizeof name->text)
        return false;
    name->text[length++] = '/';
    memcpy(name->text + length, component.ptr, component.len);
    name->length = length + component.len;
    name->text[name->length] = '\0';
    return true;
}
