/* Copy-on-write over a directory of the host. Its layers live in the run's own
 * tmpfs: when the run ends, by whatever means, they are gone.
 *
 * The lower directory is named by descriptor, so no byte of its path can be
 * taken for a separator of the option's. It must be a place in this mount
 * namespace (kernels before 6.15 refuse detached layers), which is why overlays
 * are made before the root changes.
 *
 * `userxattr` is what a user namespace may use. tmpfs stores such attributes
 * from 6.6; before, the kernel mounts the overlay without them, and removing a
 * directory of the host's that is not empty gives EIO (doctor tells). */
#include "jail/mounts.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LAYER_NAME_MAX = 32 };

/* The overlay's top directory shows the mode and owner of its upper layer. */
static bool make_layers(int scratch, const char *upper, const char *work, int lower, struct error *err)
{
    struct stat status;

    if (fstat(lower, &status) < 0)
        return error_set_errno(err, errno, "cannot inspect it");
    if (!S_ISDIR(status.st_mode))
        return error_set(err, "only a directory can be copied on write");
    if (mkdirat(scratch, upper, 0700) < 0 || mkdirat(scratch, work, 0700) < 0)
        return error_set_errno(err, errno, "cannot make its layers");
    if (status.st_uid != geteuid() && fchownat(scratch, upper, status.st_uid, status.st_gid, 0) < 0)
        return error_set_errno(err, errno, "cannot give its upper layer the owner it has on the host");
    if (fchmodat(scratch, upper, status.st_mode & 07777, 0) < 0)
        return error_set_errno(err, errno, "cannot give its upper layer the mode it has on the host");
    return true;
}

static bool prepare(const struct step *step, size_t number, const struct scratch *scratch, struct prepared *prepared,
                    struct error *err)
{
    FD_CLEANUP int lower = -1;
    char lower_name[LAYER_NAME_MAX];
    char upper_name[LAYER_NAME_MAX];
    char work_name[LAYER_NAME_MAX];
    char upper_path[2 * LAYER_NAME_MAX];
    char work_path[2 * LAYER_NAME_MAX];
    const struct mount_option options[] = {
        {"userxattr", NULL},
        {"lowerdir", lower_name},
        {"upperdir", upper_path},
        {"workdir", work_path},
    };

    if (!mountfd_place(step->path, &lower, err))
        return false;
    snprintf(lower_name, sizeof lower_name, "/proc/self/fd/%d", lower);
    snprintf(upper_name, sizeof upper_name, "upper-%zu", number);
    snprintf(work_name, sizeof work_name, "work-%zu", number);
    snprintf(upper_path, sizeof upper_path, "/proc/self/fd/%d/%s", scratch->tree, upper_name);
    snprintf(work_path, sizeof work_path, "/proc/self/fd/%d/%s", scratch->tree, work_name);

    if (!make_layers(scratch->tree, upper_name, work_name, lower, err))
        return error_wrap(err, "cannot copy %.*s on write", (int)step->path.len, step->path.ptr);
    if (!mountfd_new("overlay", options, sizeof options / sizeof *options,
                     step->writable ? MOUNT_SAFE : MOUNT_SAFE_READ_ONLY, &prepared->mount, err))
        return error_wrap(err,
                          "cannot copy %.*s on write (a file system mounted below it? then set filesystem.caches "
                          "to \"host\" or \"none\")",
                          (int)step->path.len, step->path.ptr);
    return true;
}

bool mounts_make_overlays(struct mounts *mounts, size_t most, struct error *err)
{
    const struct plan *plan = mounts->plan;
    size_t i;

    while (most > 0 && (i = atomic_fetch_add(&mounts->overlaid, 1)) < plan->step_count) {
        const struct step *step = &plan->steps[i];
        if (step->kind != STEP_OVERLAY)
            continue;
        if (!prepare(step, i, &mounts->scratch, &mounts->prepared[i], err))
            return error_wrap(err, "%.*s", (int)step->path.len, step->path.ptr);
        most--;
    }
    return true;
}
