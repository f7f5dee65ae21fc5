/* A FUSE mount in a user namespace: /dev/fuse must be there, ours to open, and
 * the kernel must accept the mount. The device is opened inside, because its
 * namespace has to be the mount's. */
#include "host/subjects.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STEP_ENTER = 1, STEP_OPEN, STEP_MOUNT };

static int fuse_steps(struct probe_report *report)
{
    char options[128];
    uid_t uid = geteuid();
    gid_t gid = getegid();

    report->step = STEP_ENTER;
    int errnum = probe_enter(CLONE_NEWNS);
    if (errnum != 0)
        return errnum;
    report->step = STEP_OPEN;
    FD_CLEANUP int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (device < 0)
        return errno;
    report->step = STEP_MOUNT;
    snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=%u", device, uid, gid);
    return mount("cloche", "/proc", "fuse", MS_NOSUID | MS_NODEV, options) == 0 ? 0 : errno;
}

static void probe_fuse(struct probe_report *report, const void *context)
{
    (void)context;
    report->errnum = fuse_steps(report);
}

void examine_fuse(struct arena *arena, struct examination *examination)
{
    struct probe_report report;
    struct finding *finding =
        examination_add(examination, "fuse", "/dev/fuse", "reports of refused reads", WEIGHT_OPTIONAL);

    if (examine_by_probe(arena, examination, probe_fuse, "opened and mounted in a user namespace", finding, &report))
        return;
    if (report.errnum == ENOENT || report.errnum == ENXIO || report.errnum == ENODEV) {
        finding->detail = arena_printf(arena, "there is none (%s)", examine_errno(arena, report.errnum));
        finding->remedy = "load the module: sudo modprobe fuse\nin a container: --device /dev/fuse";
    } else if (report.step == STEP_OPEN) {
        finding->detail = arena_printf(arena, "cannot be opened (%s)", examine_errno(arena, report.errnum));
        finding->remedy = "distributions make it world-writable: sudo chmod 0666 /dev/fuse";
    } else {
        finding->detail = arena_printf(arena, "the mount is refused (%s)", examine_errno(arena, report.errnum));
    }
}
