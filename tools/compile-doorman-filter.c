/* Compiles the filter that the doorman itself stands under into a C array: an
 * allow-list. Whatever a mistake in it could be made to do, it starts no program,
 * traces nobody, mounts nothing and enters no namespace.
 *
 * usage: compile-doorman-filter ARCHITECTURE > own_filter.c */
#include <linux/filter.h>
#include <linux/sched.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PROGRAM_MAX = 4096 };

static const char *const needed[] = {
    /* the calls it performs for others */
    "openat",
    "openat2",
    "mkdirat",
    "mknodat",
    "symlinkat",
    "linkat",
    "unlinkat",
    "renameat2",
    "truncate",
    "fchmodat",
    "fchmod",
    "fchownat",
    "utimensat",
    "setxattr",
    "removexattr",
    "bind",
    "connect",
    "getsockname",
    "getpeername",
    "getsockopt",
    "sendmsg",
    "recvfrom",
    "poll",
    "ppoll",
    "pwrite64",
    "pidfd_send_signal",
    "umask",
    "setfsuid",
    "setfsgid",
    /* what it looks at meanwhile */
    "readlinkat",
    "newfstatat",
    "fstatat64",
    "fstat",
    "statx",
    "fstatfs",
    "faccessat2",
    "getdents64",
    "process_vm_readv",
    "pidfd_open",
    "pidfd_getfd",
    "prlimit64",
    "flock",
    "fchdir",
    "fcntl",
    "read",
    "write",
    "close",
    "lseek",
    "ioctl",
    "dup",
    /* its threads */
    "futex",
    "mmap",
    "munmap",
    "mprotect",
    "madvise",
    "mremap",
    "brk",
    "clone",
    "clone3",
    "set_robust_list",
    "rseq",
    "rt_sigprocmask",
    "rt_sigaction",
    "rt_sigreturn",
    "tgkill",
    "getpid",
    "gettid",
    "getsid",
    "geteuid",
    "getegid",
    "clock_nanosleep",
    "nanosleep",
    "unshare",
    "capset",
    "landlock_restrict_self",
    "prctl",
    "sched_yield",
    "sched_getaffinity",
    "sched_setaffinity",
    "getcpu",
    "getrandom",
    "restart_syscall",
    "exit",
    "exit_group",
};

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "compile-doorman-filter: %s\n", what);
    exit(1);
}

int main(int argc, char **argv)
{
    static struct sock_filter program[PROGRAM_MAX];
    uint32_t architecture = argc == 2 ? seccomp_arch_resolve_name(argv[1]) : 0;
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_KILL_PROCESS);
    int file = memfd_create("filter", MFD_CLOEXEC);

    if (architecture == 0)
        fail("name an architecture that libseccomp knows");
    if (!context || file < 0)
        fail("cannot start");
    if (architecture != seccomp_arch_native() &&
        (seccomp_arch_add(context, architecture) < 0 || seccomp_arch_remove(context, seccomp_arch_native()) < 0))
        fail("libseccomp does not know this architecture");
    seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        int number = seccomp_syscall_resolve_name(needed[i]);
        if (number != __NR_SCMP_ERROR && seccomp_rule_add(context, SCMP_ACT_ALLOW, number, 0) < 0)
            fail(needed[i]);
    }
    if (seccomp_export_bpf(context, file) < 0)
        fail("cannot export the filter");
    seccomp_release(context); /* the sanitizers look at the build as well */
    ssize_t size = pread(file, program, sizeof program, 0);
    if (size <= 0 || (size_t)size % sizeof *program != 0)
        fail("cannot read the exported filter");
    size_t length = (size_t)size / sizeof *program;
    printf("/* Made by tools/compile-doorman-filter.c. */\n#include \"doorman/own_filter.h\"\n\n"
           "const struct sock_filter own_filter[] = {\n");
    for (size_t i = 0; i < length; i++)
        printf("    {0x%02x, %u, %u, 0x%08x},\n", program[i].code, program[i].jt, program[i].jf, program[i].k);
    printf("};\n\nconst size_t own_filter_length = %zu;\n", length);
    return 0;
}
