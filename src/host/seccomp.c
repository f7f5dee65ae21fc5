/* System-call filters and their notifications. The probe takes a listener and
 * carries one notified call through to its end, with a descriptor of the caller's
 * taken and one handed over: that is all the doorman lives on. */
#include "host/degraded.h"
#include "host/subjects.h"

#include "base/fd.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Newer than the oldest headers that we build with. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif
#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

enum { STEP_FILTER = 1, STEP_LISTEN, STEP_RECEIVE, STEP_SEND };
enum { FOUND_FILTER = 1, FOUND_NOTIFY = 2, FOUND_KILLABLE = 4, FOUND_WAKE_UP = 8, FOUND_SEND = 16, FOUND_TAKE = 32 };

static int install(unsigned flags, struct sock_fprog *program)
{
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
}

static int install_allowing_filter(void)
{
    struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {.len = 1, .filter = allow};

    return install(0, &program);
}

/* Notifies getpgid and nothing else: neither side of the exchange needs it. */
static int install_listener(unsigned flags)
{
    struct sock_filter notify[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(notify) / sizeof(notify[0]), .filter = notify};

    return install(SECCOMP_FILTER_FLAG_NEW_LISTENER | flags, &program);
}

static bool can_take_descriptor(pid_t caller)
{
    FD_CLEANUP int process = (int)syscall(SYS_pidfd_open, caller, 0);
    FD_CLEANUP int taken = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, STDIN_FILENO, 0);

    return taken >= 0;
}

static void answer_one_call(int listener, struct probe_report *report)
{
    struct seccomp_notif request = {0};
    pid_t caller = fork();

    if (caller == 0) {
        long handed = syscall(SYS_getpgid, 0);
        _exit(handed > 2 && fcntl((int)handed, F_GETFD) >= 0 ? 0 : 1);
    }
    report->step = STEP_RECEIVE;
    if (caller < 0 || ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0) {
        report->errnum = errno;
        return;
    }
    if (can_take_descriptor(caller))
        report->found |= FOUND_TAKE;
    report->step = STEP_SEND;
    struct seccomp_notif_addfd handover = {
        .id = request.id, .flags = SECCOMP_ADDFD_FLAG_SEND, .srcfd = (__u32)listener, .newfd_flags = O_CLOEXEC};
    int status = 1;
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &handover) < 0) {
        report->errnum = errno;
        return;
    }
    if (waitpid(caller, &status, 0) == caller && status == 0)
        report->found |= FOUND_SEND;
}

static void probe_seccomp(struct probe_report *report, const void *context)
{
    __u64 wake_up = SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP;

    (void)context;
    report->step = STEP_FILTER;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || install_allowing_filter() != 0) {
        report->errnum = errno;
        return;
    }
    report->found |= FOUND_FILTER;
    report->step = STEP_LISTEN;
    FD_CLEANUP int listener = install_listener(SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
    if (listener >= 0)
        report->found |= FOUND_KILLABLE;
    else if (errno == EINVAL)
        listener = install_listener(0);
    if (listener < 0) {
        report->errnum = errno;
        return;
    }
    report->found |= FOUND_NOTIFY;
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, wake_up) == 0)
        report->found |= FOUND_WAKE_UP;
    answer_one_call(listener, report);
}

static void examine_filter(struct arena *arena, struct examination *examination, const struct probe_report *report)
{
    struct finding *finding = examination_add(examination, "seccomp", "system-call filter",
                                              "every run: closes the kernel surface no build needs", WEIGHT_REQUIRED);

    if ((report->found & FOUND_FILTER) != 0) {
        finding->detail = "installed without privilege";
        return;
    }
    const char *broken_off = examine_broken_off(arena, report);
    finding->status = FINDING_MISSING;
    finding->detail =
        broken_off ? broken_off : arena_printf(arena, "refused (%s)", examine_errno(arena, report->errnum));
    finding->remedy = "use a kernel built with CONFIG_SECCOMP_FILTER=y, outside filters that refuse further ones";
}

static void examine_notifications(struct arena *arena, struct examination *examination,
                                  const struct probe_report *report)
{
    struct text lacking = text_in(arena);
    struct finding *finding = examination_add(
        examination, "seccomp-notify", "call notifications",
        "the doorman: protected names that do not exist yet, patterns, sockets of the host by path", WEIGHT_DEFAULT);

    finding->token = degraded_tokens[DEGRADED_LATE_NAMES];
    if ((report->found & FOUND_NOTIFY) == 0 && report->step == STEP_LISTEN && report->errnum == EBUSY) {
        finding->status = FINDING_MISSING;
        finding->detail =
            "taken: a sandbox around this process already listens, and the kernel allows one only (EBUSY)";
        finding->remedy = "start cloche outside that sandbox";
        return;
    }
    const char *broken_off = examine_broken_off(arena, report);
    if ((report->found & FOUND_NOTIFY) == 0) {
        finding->status = FINDING_MISSING;
        finding->detail =
            broken_off ? broken_off : arena_printf(arena, "refused (%s)", examine_errno(arena, report->errnum));
        finding->remedy = "use a kernel from 6.1 on, outside filters that refuse a listener";
        return;
    }
    if ((report->found & FOUND_KILLABLE) == 0)
        text_append_string(&lacking, ", WAIT_KILLABLE_RECV (kernel 5.19)");
    if ((report->found & FOUND_SEND) == 0)
        text_append_string(&lacking, ", ADDFD_SEND (kernel 5.14)");
    if ((report->found & FOUND_TAKE) == 0)
        text_append_string(&lacking, ", pidfd_getfd (kernel 5.6, or a security module refuses it)");
    bool usable = lacking.len == 0;
    if ((report->found & FOUND_WAKE_UP) == 0)
        text_append_string(&lacking, ", SYNC_WAKE_UP (kernel 6.6; only faster)");
    if (lacking.len == 0) {
        finding->detail = "with WAIT_KILLABLE_RECV, ADDFD_SEND, SYNC_WAKE_UP and pidfd_getfd";
        return;
    }
    finding->status = usable ? FINDING_LIMITED : FINDING_MISSING;
    finding->detail =
        arena_printf(arena, "%s, without %s", usable ? "works" : "not enough", lacking.ptr + strlen(", "));
    finding->remedy = "a newer kernel";
}

void examine_seccomp(struct arena *arena, struct examination *examination)
{
    struct probe_report report;

    probe_run(probe_seccomp, NULL, &report);
    examine_filter(arena, examination, &report);
    examine_notifications(arena, examination, &report);
}
