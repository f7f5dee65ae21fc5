/* Copy-on-write by overlayfs, as an ordinary user: mounted in a user namespace
 * over a tmpfs, with its notes kept in user.* attributes, and written through. */
#include "host/subjects.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STEP_ENTER = 1, STEP_PREPARE, STEP_MOUNT, STEP_WRITE };
enum { FOUND_REMOVAL = 1 };

static bool write_byte(const char *path, int flags)
{
    FD_CLEANUP int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0600);

    return fd >= 0 && write(fd, "x", 1) == 1;
}

/* A directory of the lower layer that had something in it is removed by a note in its place. */
static bool can_remove_directory(void)
{
    return unlink("both/directory/file") == 0 && rmdir("both/directory") == 0;
}

static int overlay_steps(struct probe_report *report)
{
    struct stat lower;

    report->step = STEP_ENTER;
    int errnum = probe_enter(CLONE_NEWNS);
    if (errnum != 0)
        return errnum;
    report->step = STEP_PREPARE;
    if (mount("tmpfs", "/proc", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700") != 0 || chdir("/proc") != 0 ||
        mkdir("lower", 0700) != 0 || mkdir("upper", 0700) != 0 || mkdir("work", 0700) != 0 ||
        mkdir("both", 0700) != 0 || !write_byte("lower/file", O_CREAT) || mkdir("lower/directory", 0700) != 0 ||
        !write_byte("lower/directory/file", O_CREAT))
        return errno;
    report->step = STEP_MOUNT;
    if (mount("overlay", "both", "overlay", MS_NOSUID | MS_NODEV,
              "userxattr,lowerdir=lower,upperdir=upper,workdir=work") != 0)
        return errno;
    report->step = STEP_WRITE;
    if (!write_byte("both/file", O_APPEND) || stat("lower/file", &lower) != 0)
        return errno;
    if (lower.st_size != 1 || access("upper/file", F_OK) != 0)
        return EIO;
    report->found = can_remove_directory() ? FOUND_REMOVAL : 0;
    return 0;
}

static void probe_overlay(struct probe_report *report, const void *context)
{
    (void)context;
    report->errnum = overlay_steps(report);
}

void examine_overlay(struct arena *arena, struct examination *examination)
{
    struct probe_report report;
    struct finding *finding = examination_add(examination, "overlay", "overlay file system",
                                              "private caches (copy-on-write over the host's)", WEIGHT_DEFAULT);

    report.found = FOUND_REMOVAL;
    if (examine_by_probe(arena, examination, probe_overlay, "mounted with userxattr and written through", finding,
                         &report)) {
        if (finding->status == FINDING_OK && (report.found & FOUND_REMOVAL) == 0) {
            finding->status = FINDING_LIMITED;
            finding->detail = "works, but directories that the host's caches have cannot be removed from the copy "
                              "(EIO), for want of user.* attributes on tmpfs";
            finding->remedy = "a kernel from 6.6 on; or set filesystem.caches to \"host\" or \"none\"";
        }
        return;
    }
    if (report.errnum == ENODEV) {
        finding->detail = "this kernel does not offer it (ENODEV)";
        finding->remedy = "load the module: sudo modprobe overlay\n"
                          "for good:        echo overlay | sudo tee /etc/modules-load.d/cloche.conf";
    } else {
        finding->detail = arena_printf(arena, "refused (%s)", examine_errno(arena, report.errnum));
        finding->remedy = "until it works, set filesystem.caches to \"host\" or \"none\"";
    }
}
