/* A probe does for real what a run would do: makes namespaces, mounts, filters.
 * It runs in a forked child because none of that can be taken back, and because
 * a hardened host may answer with a signal instead of an errno. The child has
 * its own process group, dies with its parent and has a time limit; namespaces
 * vanish with their last process.
 *
 * What may go wrong: fork itself (the report then carries its errno at step 0). */
#include "host/probe.h"

#include "base/fd.h"
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void quiet_standard_streams(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int stream = 0; stream <= 2; stream++) {
        if (null >= 0)
            dup2(null, stream);
        else
            close(stream);
    }
}

static void run_child(probe_function function, const void *context, struct probe_report *shared, pid_t parent)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    quiet_standard_streams();
    function(shared, context);
    shared->ended = true;
    _exit(0);
}

/* The far end of the pipe is closed when the child is gone. */
static bool ends_in_time(int pipe_end)
{
    struct pollfd wait = {.fd = pipe_end, .events = POLLIN};
    int count;

    do
        count = poll(&wait, 1, PROBE_LIMIT_MILLISECONDS);
    while (count < 0 && errno == EINTR);
    return count != 0;
}

static int reap(pid_t child)
{
    int status = 0;

    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return 0;
    }
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

void probe_run(probe_function function, const void *context, struct probe_report *report)
{
    FD_CLEANUP int read_end = -1;
    FD_CLEANUP int write_end = -1;
    int ends[2];

    *report = (struct probe_report){0};
    struct probe_report *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || pipe2(ends, O_CLOEXEC) != 0) {
        report->errnum = errno;
        if (shared != MAP_FAILED)
            munmap(shared, sizeof(*shared));
        return;
    }
    read_end = ends[0];
    write_end = ends[1];

    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0)
        run_child(function, context, shared, parent);
    if (child < 0) {
        report->errnum = errno;
        munmap(shared, sizeof(*shared));
        return;
    }
    fd_close(&write_end);
    bool in_time = ends_in_time(read_end);
    if (!in_time) {
        /* The group does not exist yet if the child never ran. */
        kill(-child, SIGKILL);
        kill(child, SIGKILL);
    }
    int killed_by = reap(child);
    *report = *shared;
    report->note[sizeof(report->note) - 1] = '\0';
    report->timed_out = !in_time;
    report->killed_by = in_time ? killed_by : 0;
    munmap(shared, sizeof(*shared));
}

void probe_nested(probe_function function, const void *context, struct probe_report *report)
{
    pid_t child = fork();

    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        function(report, context);
        _exit(0);
    }
    if (child < 0) {
        report->errnum = errno;
        return;
    }
    int killed_by = reap(child);
    if (killed_by != 0 && report->errnum == 0)
        report->errnum = EINTR;
}

static int write_file(const char *path, const char *text)
{
    FD_CLEANUP int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return errno;
    return write(fd, text, strlen(text)) < 0 ? errno : 0;
}

int probe_enter(int flags)
{
    char map[64];
    uid_t uid = geteuid();
    gid_t gid = getegid();

    if (unshare(CLONE_NEWUSER | flags) != 0)
        return errno;
    /* A run writes the maps of its child by number. */
    int errnum = proc_is_own() ? write_file("/proc/self/setgroups", "deny") : ENOENT;
    if (errnum == 0) {
        snprintf(map, sizeof(map), "%u %u 1", uid, uid);
        errnum = write_file("/proc/self/uid_map", map);
    }
    if (errnum == 0) {
        snprintf(map, sizeof(map), "%u %u 1", gid, gid);
        errnum = write_file("/proc/self/gid_map", map);
    }
    if (errnum == 0 && (flags & CLONE_NEWNS) != 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        errnum = errno;
    return errnum;
}
