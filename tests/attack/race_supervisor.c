/* A supervisor as it should not be: gets each call by seccomp, reads the path out of
 * the caller's memory, looks where it leads, and then lets the kernel do what the
 * caller's memory and directories say by then. It stands here so that the race
 * harness can be seen to catch one. */
#include "race.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* Which argument holds the path, and which the directory (-1: the current one). */
struct judged {
    int number;
    int path, directory;
    bool is_address;
};

static const struct judged judged[] = {
    {SYS_openat, 1, 0, false},    {SYS_mkdirat, 1, 0, false},   {SYS_renameat, 3, 2, false},
    {SYS_renameat, 1, 0, false},  {SYS_linkat, 3, 2, false},    {SYS_symlinkat, 2, 1, false},
    {SYS_mknodat, 1, 0, false},   {SYS_unlinkat, 1, 0, false},  {SYS_fchmodat, 1, 0, false},
    {SYS_utimensat, 1, 0, false}, {SYS_truncate, 0, -1, false}, {SYS_setxattr, 0, -1, false},
    {SYS_bind, 1, -1, true},      {SYS_connect, 1, -1, true},
};

enum { JUDGED = sizeof judged / sizeof *judged };

static int install_filter(void)
{
    struct sock_filter code[2 * JUDGED + 4];
    size_t length = 0;

    code[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < JUDGED; i++) {
        code[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)judged[i].number, 0, 1);
        code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    }
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = (unsigned short)length, .filter = code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static bool is_protected_name(const char *name)
{
    for (const struct race_call *call = race_calls; call->name; call++) {
        if (strcmp(call->file, name) == 0)
            return true;
    }
    return false;
}

/* Would this path name something protected, where it leads right now? */
static bool is_refused(const struct seccomp_notif *request, const struct judged *call, const struct stat *ours)
{
    char path[256] = "", above[512];
    struct iovec to = {.iov_base = path, .iov_len = 128};
    uintptr_t address =
        request->data.args[call->path] + (call->is_address ? offsetof(struct sockaddr_un, sun_path) : 0);
    struct iovec from = {.iov_base = (void *)address, .iov_len = 128};
    struct stat found;

    if (process_vm_readv((pid_t)request->pid, &to, 1, &from, 1, 0) < 0)
        return true;
    const char *slash = strrchr(path, '/');
    if (!is_protected_name(slash ? slash + 1 : path))
        return false;
    int directory = call->directory < 0 ? AT_FDCWD : (int)request->data.args[call->directory];
    if (path[0] == '/')
        snprintf(above, sizeof above, "/proc/%d/%s", request->pid, path + strlen("/proc/self/"));
    else if (directory == AT_FDCWD)
        snprintf(above, sizeof above, "/proc/%d/cwd/%s", request->pid, path);
    else
        snprintf(above, sizeof above, "/proc/%d/fd/%d/%s", request->pid, directory, path);
    *strrchr(above, '/') = '\0';
    return stat(above, &found) < 0 || found.st_ino != ours->st_ino || found.st_dev != ours->st_dev;
}

static void answer(int listener, const struct stat *ours)
{
    struct seccomp_notif request = {0};
    struct seccomp_notif_resp response = {0};

    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
        return;
    response.id = request.id;
    response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    for (size_t i = 0; i < JUDGED; i++) {
        if (judged[i].number == request.data.nr && is_refused(&request, &judged[i], ours))
            response.error = -EACCES;
    }
    if (response.error)
        response.flags = 0;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

int race_under_racy_supervisor(int ours, int (*body)(void *argument), void *argument)
{
    struct stat allowed;
    int pair[2];
    int listener = -1;
    int status;

    if (fstat(ours, &allowed) < 0 || pipe(pair) < 0)
        return 2;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        listener = install_filter();
        if (write(pair[1], &listener, sizeof listener) != sizeof listener)
            _exit(2);
        exit(body(argument));
    }
    if (read(pair[0], &listener, sizeof listener) != sizeof listener || listener < 0)
        return 2;
    int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
    listener = (int)syscall(SYS_pidfd_getfd, pidfd, listener, 0);
    if (listener < 0) {
        perror("race: the listener");
        kill(child, SIGKILL);
        return 2;
    }
    struct pollfd waiting[2] = {{.fd = listener, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};
    while (poll(waiting, 2, -1) > 0 && !(waiting[1].revents & POLLIN)) {
        if (waiting[0].revents & POLLIN)
            answer(listener, &allowed);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
