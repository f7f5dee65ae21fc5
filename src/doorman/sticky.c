/* As fs/namei.c has it (may_follow_link, may_create_in_sticky), with one
 * difference: whatever belongs to a user that the run's namespace does not know
 * looks the same, the directory's owner and a stranger. So what is nobody's counts
 * as a stranger's, also where the kernel would see that both are root's. */
#include "doorman/sticky.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static unsigned read_setting(const struct house *house, const char *name)
{
    FD_CLEANUP int fd = openat(house->proc, name, O_RDONLY | O_CLOEXEC);
    char digit = '0';

    if (fd < 0 || read(fd, &digit, 1) != 1 || digit < '0' || digit > '9')
        return 0;
    return (unsigned)(digit - '0');
}

void sticky_note(struct house *house)
{
    house->protected_links = read_setting(house, "sys/fs/protected_symlinks");
    house->protected_files = read_setting(house, "sys/fs/protected_regular");
    house->protected_fifos = read_setting(house, "sys/fs/protected_fifos");
}

static bool is_trusted(const struct request *request, const struct stat *directory, const struct stat *object)
{
    uid_t user = request->other_user ? request->as_user : geteuid();

    return object->st_uid == user || (object->st_uid == directory->st_uid && object->st_uid != NOBODY);
}

int sticky_judge_link(const struct house *house, const struct request *request, int directory, const struct stat *link)
{
    const mode_t anybody = S_ISVTX | S_IWOTH;
    struct stat status;

    if (!house->protected_links || fstat(directory, &status) < 0 || (status.st_mode & anybody) != anybody)
        return 0;
    return is_trusted(request, &status, link) ? 0 : EACCES;
}

int sticky_judge_open(const struct house *house, const struct request *request, int directory,
                      const struct stat *object)
{
    unsigned level = S_ISREG(object->st_mode)    ? house->protected_files
                     : S_ISFIFO(object->st_mode) ? house->protected_fifos
                                                 : 0;
    struct stat status;

    if (level == 0 || fstat(directory, &status) < 0 || !(status.st_mode & S_ISVTX) ||
        is_trusted(request, &status, object))
        return 0;
    return status.st_mode & S_IWOTH || (level >= 2 && status.st_mode & S_IWGRP) ? EACCES : 0;
}
