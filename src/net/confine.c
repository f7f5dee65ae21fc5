/* In order:
 *   1. no descriptor but those it serves; its standard ones lead nowhere;
 *   2. a session of its own, all signals held back, death with the supervisor;
 *   3. no core dumps, nobody may trace it; as many descriptors as are allowed;
 *   4. (files are read here)
 *   5. user and mount namespaces of its own, with an empty root; where this
 *      system gives none, 6 and 7 have to do;
 *   6. no capabilities, no_new_privs, a Landlock ruleset that grants nothing;
 *   7. a list of the system calls that are needed; any other kills it.
 * Sockets of its own can only be of the internet's families: a unix socket of
 * the host's cannot even be made. */
#include "net/confine.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { ARCHITECTURE = (int)AUDIT_ARCH_X86_64 };
#elif defined(__aarch64__)
enum { ARCHITECTURE = (int)AUDIT_ARCH_AARCH64 };
#else
/* cppcheck-suppress preprocessorErrorDirective ; it tries all branches */
#error "name this architecture's AUDIT_ARCH here"
#endif

static bool lead_nowhere(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    return null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0 &&
           dup2(null, STDERR_FILENO) >= 0 && close(null) == 0;
}

static void limit(void)
{
    const struct rlimit none = {0, 0};
    struct rlimit files;

    /* A pipe as core_pattern runs its handler at 0 too, but not for who cannot be dumped. */
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_FSIZE, &none);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

bool confine_process(const int *kept, size_t count, struct error *err)
{
    pid_t supervisor = getppid();
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    if (!lead_nowhere() || !fd_close_others(kept, count))
        return error_set_errno(err, errno, "cannot close descriptors");
    setsid();
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != supervisor)
        return error_set(err, "the supervisor is gone");
    limit();
    return true;
}

/* An empty directory as root, and the old one gone. */
static bool empty_root(void)
{
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return false;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return false;
    int context = fsopen("tmpfs", FSOPEN_CLOEXEC);
    if (context < 0 || fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return false;
    int root =
        fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
    return root >= 0 && move_mount(root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) == 0 && fchdir(root) == 0 &&
           syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0 && chdir("/") == 0 &&
           close(root) == 0 && close(context) == 0;
}

static bool drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {0};

    return syscall(SYS_capset, &header, none) == 0;
}

/* True where the kernel has no Landlock: the list of calls has none that takes a
 * path. */
static bool deny_files(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    /* In the order of the bits; each version but the fourth and sixth added to the files'. */
    static const unsigned bits[] = {0, 13, 14, 15, 15, 16};

    if (version <= 0)
        return true;
    unsigned known = version < 6 ? bits[version] : bits[5];
    struct {
        uint64_t files;
        uint64_t ports;
        uint64_t scoped;
    } attributes = {.files = (UINT64_C(1) << known) - 1, .scoped = version >= 6 ? 3 : 0};
    size_t size = version >= 6 ? sizeof attributes : sizeof attributes.files;
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, size, 0);
    bool done = ruleset >= 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
    if (ruleset >= 0)
        close(ruleset);
    return done;
}

static const int allowed_calls[] = {
    /* the relay, most used first */
    SYS_recvfrom,
    SYS_sendto,
    SYS_epoll_pwait,
#ifdef SYS_epoll_wait
    SYS_epoll_wait,
#endif
    SYS_splice,
    SYS_accept4,
    SYS_close,
    SYS_connect,
    SYS_epoll_ctl,
    SYS_setsockopt,
    SYS_getsockopt,
    SYS_getsockname,
    SYS_getpeername,
    SYS_shutdown,
    SYS_sendmsg,
    SYS_recvmsg,
    SYS_pipe2,
    SYS_fcntl,
    /* c-ares over TCP */
    SYS_writev,
    SYS_read,
    SYS_write,
    /* the C library */
    SYS_clock_gettime,
    SYS_gettimeofday,
    SYS_getrandom,
    SYS_brk,
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_futex,
    SYS_restart_syscall,
    SYS_exit_group,
};

enum { CALLS = sizeof allowed_calls / sizeof *allowed_calls, FILTER_MAX = 2 * CALLS + 32 };

#define LOAD(field) ((struct sock_filter){BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, field)})
#define UNLESS(value, skipped) ((struct sock_filter){BPF_JMP | BPF_JEQ | BPF_K, 0, (skipped), (uint32_t)(value)})
#define RETURN(action) ((struct sock_filter){BPF_RET | BPF_K, 0, 0, (action)})

static bool filter_calls(void)
{
    struct sock_filter program[FILTER_MAX];
    unsigned short length = 0;

    program[length++] = LOAD(arch);
    program[length++] = (struct sock_filter){BPF_JMP | BPF_JEQ | BPF_K, 1, 0, (uint32_t)ARCHITECTURE};
    program[length++] = RETURN(SECCOMP_RET_KILL_PROCESS);
    program[length++] = LOAD(nr);
    for (size_t i = 0; i < CALLS; i++) {
        program[length++] = UNLESS(allowed_calls[i], 1);
        program[length++] = RETURN(SECCOMP_RET_ALLOW);
    }
    /* Sockets of the internet's families only. */
    program[length++] = UNLESS(SYS_socket, 5);
    program[length++] = LOAD(args[0]);
    program[length++] = UNLESS(AF_INET, 1);
    program[length++] = RETURN(SECCOMP_RET_ALLOW);
    program[length++] = UNLESS(AF_INET6, 1);
    program[length++] = RETURN(SECCOMP_RET_ALLOW);
    program[length++] = LOAD(nr);
    /* Memory, but none that can be executed. */
    program[length++] = UNLESS(SYS_mmap, 3);
    program[length++] = LOAD(args[2]);
    program[length++] = (struct sock_filter){BPF_JMP | BPF_JSET | BPF_K, 1, 0, PROT_EXEC};
    program[length++] = RETURN(SECCOMP_RET_ALLOW);
    program[length++] = RETURN(SECCOMP_RET_KILL_PROCESS);
    const struct sock_fprog loaded = {.len = length, .filter = program};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &loaded) == 0;
}

bool confine_finally(struct error *err)
{
    (void)empty_root(); /* 5: not every system gives one */
    if (!drop_capabilities() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || !deny_files() || !filter_calls())
        return error_set_errno(err, errno, "the network process cannot shut itself in");
    return true;
}
