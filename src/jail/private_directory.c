/* The supervisor chooses the name, init makes the directory and takes it away
 * again; should init be killed, the supervisor knows what to remove.
 *
 * What the command left in it may be hostile: links are never followed, modes
 * that keep us out are changed, and the walk keeps one descriptor open however
 * deep the tree is (it goes back up by ".."). */
#include "jail/private_directory.h"

#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
    int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = again < 0 ? NULL : fdopendir(again);
    bool full = false;

    if (!listing) {
        fd_close(&again);
        return true;
    }
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

static int enter(int directory, const char *name)
{
    struct stat status;
    int entered = openat(directory, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);

    if (entered < 0 || fstat(entered, &status) < 0 || status.st_uid != geteuid() ||
        ((status.st_mode & 0700) != 0700 && fchmodat(directory, name, 0700, 0) < 0)) {
        fd_close(&entered);
        return -1;
    }
    return entered;
}

void private_directory_remove(const char *path)
{
    FD_CLEANUP int at = enter(AT_FDCWD, path);
    char name[256];
    size_t depth = 0;
    unsigned fruitless = 0; /* directories left as they were since something was removed */

    while (at >= 0 && fruitless < 2) {
        bool progress = false;
        bool done = empty(at, name, &progress);
        if (done && depth == 0)
            break;
        fruitless = progress ? 0 : fruitless + done;
        int next = done ? openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC) : enter(at, name);
        depth = done ? depth - 1 : depth + 1;
        fd_close(&at);
        at = next;
    }
    rmdir(path);
}
