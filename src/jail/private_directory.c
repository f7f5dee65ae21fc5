/* The supervisor chooses the name, init makes the directory and takes it away
 * again; should init be killed, the supervisor knows what to remove.
 *
 * What the command left in it may be hostile: links are never followed, modes
 * that keep us out are changed, and the walk keeps one descriptor open however
 * deep the tree is. It goes back up by "..", which a neighbour that may write
 * here can make lead elsewhere by moving a directory: every directory that was
 * entered is remembered, and the walk ends where the way up is not the way it
 * came. */
#include "jail/private_directory.h"

#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

bool private_directory_name(char *path, struct error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
    size_t length = strlen(path);

    for (size_t i = length; i-- > 0 && path[i] == 'X';) {
        unsigned char byte;
        if (getrandom(&byte, 1, 0) != 1)
            return error_set_errno(err, errno, "cannot get random bytes");
        path[i] = letters[byte % (sizeof letters - 1)];
    }
    return true;
}

bool private_directory_make(const char *path, struct error *err)
{
    if (mkdir(path, 0700) < 0)
        return error_set_errno(err, errno,
                               "cannot make %s, the directory of this run for temporary files (a policy with "
                               "\"tmp\": \"host\" needs none)",
                               path);
    return true;
}

/* Empties the directory as far as it goes in one pass. False, with the name of a
 * directory that is not empty, if there is one. */
static bool empty(int directory, char name[256], bool *progress)
{
    DIR *listing = fd_list(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    bool full = false;

    if (!listing)
        return true;
    for (const struct dirent *entry; !full && (entry = readdir(listing));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(directory, entry->d_name, 0) == 0 || unlinkat(directory, entry->d_name, AT_REMOVEDIR) == 0) {
            *progress = true;
            continue;
        }
        full = errno == ENOTEMPTY || errno == EEXIST;
        if (full)
            memcpy(name, entry->d_name, strlen(entry->d_name) + 1);
    }
    closedir(listing);
    return !full;
}

/* Where the walk came from. */
struct level {
    dev_t device;
    ino_t inode;
};

struct way {
    struct level *levels;
    size_t depth;
    size_t capacity;
};

static bool remember(struct way *way, const struct stat *status)
{
    if (!way->levels || way->depth == way->capacity) {
        size_t capacity = way->capacity ? way->capacity * 2 : 64;
        struct level *levels = reallocarray(way->levels, capacity, sizeof *levels);
        if (!levels)
            return false;
        way->levels = levels;
        way->capacity = capacity;
    }
    way->levels[way->depth++] = (struct level){status->st_dev, status->st_ino};
    return true;
}

/* By descriptor: what the name means may have changed since it was opened. */
static bool open_up(int entered)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/self/fd/%d", entered);
    return chmod(path, 0700) == 0;
}

static int enter(int directory, const char *name, struct way *way)
{
    struct stat status;
    int entered = openat(directory, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);

    if (entered < 0 || fstat(entered, &status) < 0 || status.st_uid != geteuid() ||
        ((status.st_mode & 0700) != 0700 && !open_up(entered)) || !remember(way, &status))
        fd_close(&entered);
    return entered;
}

static int leave(int directory, struct way *way)
{
    struct stat status;

    if (!way->levels || way->depth < 2)
        return -1;
    int above = openat(directory, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const struct level *expected = &way->levels[--way->depth - 1];

    if (above >= 0 &&
        (fstat(above, &status) < 0 || status.st_dev != expected->device || status.st_ino != expected->inode))
        fd_close(&above);
    return above;
}

void private_directory_remove(const char *path)
{
    struct way way = {0};
    FD_CLEANUP int at = enter(AT_FDCWD, path, &way);
    char name[256];
    unsigned fruitless = 0; /* directories left as they were since something was removed */

    while (at >= 0 && fruitless < 2) {
        bool progress = false;
        bool done = empty(at, name, &progress);
        if (done && way.depth == 1)
            break;
        fruitless = progress ? 0 : fruitless + done;
        int next = done ? leave(at, &way) : enter(at, name, &way);
        fd_close(&at);
        at = next;
    }
    free(way.levels);
    rmdir(path);
}
