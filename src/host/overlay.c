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

static bool write_byte(const char *path, int flags)
{
    FD_CLEANUP int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0600);

    return fd >= 0 && write(fd, "x", 1) == 1;
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
        mkdir("both", 0700) != 0 || !write_byte("lower/file", O_CREAT))
        return errno;
    report->step = STEP_MOUNT;
    if (mount("overlay", "both", "overlay", MS_NOSUID | MS_NODEV,
              "userxattr,lowerdir=lower,upperdir=upper,workdir=work") != 0)
        return errno;
    report->step = STEP_WRITE;
    if (!write_byte("both/file", O_APPEND) || stat("lower/file", &lower) != 0)
        return errno;
    return lower.st_size == 1 && access("upper/file", F_OK) == 0 ? 0 : EIO;
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

    if (examine_by_probe(arena, examination, probe_overlay, "mounted with userxattr and written through", finding,
                         &report))
        return;
    if (report.errnum == ENODEV) {
        finding->detail = "this kernel does not offer it (ENODEV)";
        finding->remedy = "load the module: sudo modprobe overlay\n"
                          "for good:        echo overlay | sudo tee /etc/modules-load.d/cloche.conf";
    } else {
        finding->detail = arena_printf(arena, "refused (%s)", examine_errno(arena, report.errnum));
        finding->remedy = "until it works, set filesystem.caches to \"host\" or \"none\"";
    }
}
