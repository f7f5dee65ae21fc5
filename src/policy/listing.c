/* A name that is not in the list must not be there: a secret taken for absent
 * would stay visible. (What is in it is pinned and checked again by the jail.) So a list is used only where that is
 * certain:
 *
 *   - on file systems that show every entry they have (others mount on first use
 *     or have hidden directories of snapshots);
 *   - where another spelling of a name finds nothing: case counts;
 *   - when the directory has been at rest for a while: no rename is under way
 *     that moves an entry past the reader;
 *   - when it is small enough to be read in one call, during which the kernel
 *     lets nobody change it. */
#include "policy/listing.h"

#include "base/fd.h"
#include "base/map.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_SIZE = 32 * 1024, REST_SECONDS = 2, F2FS_MAGIC = 0xF2F52010, XFS_MAGIC = 0x58465342 };
enum { AVERAGE_ENTRY = 32, SHORTEST_ENTRY = offsetof(struct dirent64, d_name) + 2 };

struct listing {
    struct map names;
    struct slice *in_order; /* as they were read; "." and ".." too */
    size_t count;
};

static bool shows_every_entry(int directory)
{
    struct statfs system;

    if (fstatfs(directory, &system) < 0)
        return false;
    switch ((uint32_t)system.f_type) {
    case EXT4_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case XFS_MAGIC:
    case TMPFS_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
    case (uint32_t)F2FS_MAGIC:
        return true;
    default:
        return false;
    }
}

static bool is_at_rest(int directory)
{
    struct stat status;
    struct timespec now;

    return fstat(directory, &status) == 0 && clock_gettime(CLOCK_REALTIME_COARSE, &now) == 0 &&
           status.st_ctim.tv_sec + REST_SECONDS < now.tv_sec && status.st_mtim.tv_sec + REST_SECONDS < now.tv_sec;
}

static bool is_absent(int directory, const char *name)
{
    struct stat status;

    return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

static bool can_be_searched(int directory)
{
    struct stat status;

    return fstatat(directory, ".", &status, 0) == 0;
}

static bool is_ascii(const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name >= 0x80)
            return false;
    return true;
}

/* Looks for the first name that has a letter under another spelling. */
static bool case_counts(int directory, const struct listing *listing, const char *entries, size_t size)
{
    for (size_t at = 0; at < size;) {
        const struct dirent64 *entry = (const struct dirent64 *)(const void *)(entries + at);
        char other[sizeof entry->d_name];
        size_t length = strlen(entry->d_name);
        size_t letter = strcspn(entry->d_name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

        at += entry->d_reclen;
        /* A name that is not text is compared byte by byte even where case does not count. */
        if (letter == length || !is_ascii(entry->d_name))
            continue;
        memcpy(other, entry->d_name, length + 1);
        other[letter] ^= 'a' ^ 'A';
        if (listing_find(listing, (struct slice){other, length}) == NODE_ABSENT)
            return is_absent(directory, other);
    }
    return false;
}

static bool is_empty(const struct listing *listing)
{
    return listing->names.count == 2; /* "." and ".." */
}

/* All entries, in `buffer`; 0 if they do not fit. */
static size_t read_entries(int directory, char *buffer)
{
    char rest[sizeof(struct dirent64)];
    ssize_t size = getdents64(directory, buffer, BUFFER_SIZE);

    return size > 0 && getdents64(directory, rest, sizeof rest) == 0 ? (size_t)size : 0;
}

/* Never NODE_ABSENT, so it can stand for itself in the map. */
static enum node kind_of(unsigned char type)
{
    switch (type) {
    case DT_DIR:
        return NODE_DIRECTORY;
    case DT_REG:
    case DT_SOCK:
    case DT_FIFO:
    case DT_CHR:
    case DT_BLK:
        return NODE_FILE;
    default:
        return NODE_UNKNOWN;
    }
}

static struct listing *index_names(struct arena *arena, const char *entries, size_t size)
{
    struct listing *listing = ARENA_NEW(arena, struct listing);

    listing->names = map_in(arena);
    map_reserve(&listing->names, size / AVERAGE_ENTRY);
    listing->in_order = arena_alloc(arena, size / SHORTEST_ENTRY * sizeof *listing->in_order);
    for (size_t at = 0; at < size;) {
        const struct dirent64 *entry = (const struct dirent64 *)(const void *)(entries + at);
        struct slice name = arena_slice(arena, slice_of(entry->d_name));
        *map_at(&listing->names, name) = (void *)(uintptr_t)kind_of(entry->d_type);
        listing->in_order[listing->count++] = name;
        at += entry->d_reclen;
    }
    return listing;
}

struct listing *listing_read(struct arena *arena, const char *path)
{
    FD_CLEANUP int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct listing *listing = NULL;

    /* Asked before, so as not to read in vain, and again after reading. */
    if (directory < 0 || !is_at_rest(directory) || !shows_every_entry(directory))
        return NULL;
    char *buffer = malloc(BUFFER_SIZE);
    size_t size = buffer ? read_entries(directory, buffer) : 0;
    if (size) {
        listing = index_names(arena, buffer, size);
        if ((!is_empty(listing) && !case_counts(directory, listing, buffer, size)) || !can_be_searched(directory) ||
            !is_at_rest(directory))
            listing = NULL;
    }
    free(buffer);
    return listing;
}

void listing_each(const struct listing *listing, void (*found)(void *argument, struct slice name), void *argument)
{
    for (size_t i = 0; i < listing->count; i++) {
        struct slice name = listing->in_order[i];
        if (!slice_is(name, ".") && !slice_is(name, ".."))
            found(argument, name);
    }
}

enum node listing_find(const struct listing *listing, struct slice name)
{
    return (enum node)(uintptr_t)map_get(&listing->names, name);
}
