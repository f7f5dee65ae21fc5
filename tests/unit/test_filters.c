/* The compiled filters, run instruction by instruction as the kernel would: every
 * variant, also for architectures and argument values that no test can produce
 * on this machine. */
#include "doorman/refuse.h"
#include "jail/filters.h"
#include "plan/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cmocka.h>

#if defined __x86_64__
enum { OWN = (int)AUDIT_ARCH_X86_64, FOREIGN = (int)AUDIT_ARCH_I386 };
#elif defined __aarch64__
enum { OWN = (int)AUDIT_ARCH_AARCH64, FOREIGN = (int)AUDIT_ARCH_ARM };
#endif

enum { ALLOWED = 0, ASKED = -2 };

/* Opens for reading come by wherever they are to, whether or not refusals are told. */
static int reading(size_t variant)
{
    const size_t all = FILTER_FILES_ASKED | FILTER_READS_WATCHED;

    return (variant & (all | FILTER_NESTED)) == all ? ASKED : ALLOWED;
}

static uint32_t word_at(const struct seccomp_data *data, uint32_t offset)
{
    uint32_t word;

    assert_true(offset % 4 == 0 && offset + sizeof word <= sizeof *data);
    memcpy(&word, (const char *)data + offset, sizeof word);
    return word;
}

/* The errno a call gets, or ALLOWED, or ASKED if the doorman is. */
static int run_filter(size_t variant, const struct seccomp_data *data)
{
    const struct compiled_filter *filter = &compiled_filters[variant];
    uint32_t accumulator = 0;

    for (size_t i = 0; i < filter->length; i++) {
        struct sock_filter line = filter->program[i];
        bool taken = false;
        switch (line.code) {
        case BPF_LD | BPF_W | BPF_ABS:
            accumulator = word_at(data, line.k);
            continue;
        case BPF_ALU | BPF_AND | BPF_K:
            accumulator &= line.k;
            continue;
        case BPF_JMP | BPF_JA:
            i += line.k;
            continue;
        case BPF_JMP | BPF_JEQ | BPF_K:
            taken = accumulator == line.k;
            break;
        case BPF_JMP | BPF_JGT | BPF_K:
            taken = accumulator > line.k;
            break;
        case BPF_JMP | BPF_JGE | BPF_K:
            taken = accumulator >= line.k;
            break;
        case BPF_JMP | BPF_JSET | BPF_K:
            taken = (accumulator & line.k) != 0;
            break;
        case BPF_RET | BPF_K:
            if (line.k == SECCOMP_RET_ALLOW)
                return ALLOWED;
            if (line.k == SECCOMP_RET_USER_NOTIF)
                return ASKED;
            assert_int_equal(line.k & SECCOMP_RET_ACTION_FULL, SECCOMP_RET_ERRNO);
            return (int)(line.k & SECCOMP_RET_DATA);
        default:
            fail_msg("instruction %zu has the unknown code 0x%x", i, line.code);
        }
        i += taken ? line.jt : line.jf;
    }
    fail_msg("the filter ends without an answer");
    return -1;
}

/* Where refusals are told of, the doorman gives the error that else the filter gives. */
static int judge(size_t variant, const struct seccomp_data *data)
{
    const struct refusal_of_call *refusal = refuse_find(data, variant & FILTER_NO_UNIX, variant & FILTER_ROOT);
    int answer = run_filter(variant, data);

    return answer == ASKED && refusal && variant & FILTER_WATCHED ? refusal->error : answer;
}

static int call_with_four(size_t variant, long number, uint64_t first, uint64_t second, uint64_t third, uint64_t fourth)
{
    const struct seccomp_data data = {.nr = (int)number, .arch = (uint32_t)OWN, .args = {first, second, third, fourth}};

    return judge(variant, &data);
}

static int call(size_t variant, long number, uint64_t first, uint64_t second, uint64_t third)
{
    return call_with_four(variant, number, first, second, third, 0);
}

static const uint64_t rubbish = 0xdeadbeef00000000;

static void test_other_architectures_are_refused_whatever_the_number(void **state)
{
    (void)state;
    for (size_t variant = 0; variant < FILTER_COUNT; variant++) {
        for (int number = -1; number < 600; number++) {
            const struct seccomp_data data = {.nr = number, .arch = (uint32_t)FOREIGN};
            assert_int_equal(judge(variant, &data), EPERM);
        }
    }
}

static void test_numbers_nobody_has_judged_do_not_exist(void **state)
{
    const long x32 = 0x40000000;

    (void)state;
    for (size_t variant = 0; variant < FILTER_COUNT; variant++) {
        for (long number = 470; number < 1000; number++)
            assert_int_equal(call(variant, number, 0, 0, 0), ENOSYS);
        for (long number = 0; number < 600; number++)
            assert_int_equal(call(variant, x32 + number, 0, 0, 0), ENOSYS);
        assert_int_equal(call(variant, -1, 0, 0, 0), ENOSYS);
    }
}

static void test_ordinary_calls_are_allowed(void **state)
{
    static const long ordinary[] = {SYS_read,         SYS_write,      SYS_openat, SYS_close,    SYS_execve,
                                    SYS_exit,         SYS_wait4,      SYS_kill,   SYS_ptrace,   SYS_futex,
                                    SYS_mmap,         SYS_connect,    SYS_bind,   SYS_sendmsg,  SYS_getrandom,
                                    SYS_prctl,        SYS_seccomp,    SYS_statx,  SYS_renameat, SYS_process_vm_readv,
                                    SYS_memfd_create, SYS_close_range};

    (void)state;
    for (size_t variant = 0; variant < FILTER_COUNT; variant++) {
        for (size_t i = 0; i < sizeof ordinary / sizeof *ordinary; i++) {
            if (!(variant & (FILTER_FILES_ASKED | FILTER_SOCKETS_ASKED)))
                assert_int_equal(call(variant, ordinary[i], 1, 2, 3), ALLOWED);
            else
                assert_true(call(variant, ordinary[i], 1, 2, 3) <= ALLOWED);
        }
    }
}

static void test_kernel_surface_is_refused_in_every_variant(void **state)
{
    static const long refused[] = {
        SYS_bpf,          SYS_perf_event_open, SYS_userfaultfd,   SYS_kexec_load,  SYS_init_module,
        SYS_finit_module, SYS_keyctl,          SYS_add_key,       SYS_request_key, SYS_open_by_handle_at,
        SYS_quotactl,     SYS_swapon,          SYS_reboot,        SYS_syslog,      SYS_acct,
        SYS_settimeofday, SYS_sethostname,     SYS_clock_settime, SYS_adjtimex};

    (void)state;
    for (size_t variant = 0; variant < FILTER_COUNT; variant++) {
        for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
            assert_int_equal(call(variant, refused[i], 0, 0, 0), EPERM);
        assert_int_equal(call(variant, SYS_io_uring_setup, 0, 0, 0), ENOSYS);
        assert_int_equal(call(variant, SYS_io_uring_enter, 0, 0, 0), ENOSYS);
        assert_int_equal(call(variant, SYS_io_uring_register, 0, 0, 0), ENOSYS);
    }
}

static void test_mounts_and_namespaces_only_for_nested_sandboxes(void **state)
{
    const long open_tree_attr = 467;
    const long mounts[] = {SYS_mount,      SYS_umount2,       SYS_pivot_root, SYS_open_tree,
                           SYS_move_mount, SYS_fsopen,        SYS_fsconfig,   SYS_fsmount,
                           SYS_fspick,     SYS_mount_setattr, SYS_setns,      open_tree_attr};

    (void)state;
    for (size_t variant = 0; variant < FILTER_COUNT; variant++) {
        int expected = variant & FILTER_NESTED ? ALLOWED : EPERM;
        for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++)
            assert_int_equal(call(variant, mounts[i], 0, 0, 0), expected);
        assert_int_equal(call(variant, SYS_clone3, 0, 0, 0), variant & FILTER_NESTED ? ALLOWED : ENOSYS);
        assert_int_equal(call(variant, SYS_unshare, CLONE_NEWUSER, 0, 0), expected);
        assert_int_equal(call(variant, SYS_unshare, rubbish | CLONE_NEWNS, 0, 0), expected);
        assert_int_equal(call(variant, SYS_unshare, CLONE_FILES, 0, 0), ALLOWED);
        assert_int_equal(call(variant, SYS_clone, CLONE_NEWPID | 17U, 0, 0), expected);
        assert_int_equal(call(variant, SYS_clone, CLONE_VM | CLONE_VFORK | 17U, 0, 0), ALLOWED);
    }
}

static void test_upper_half_of_an_argument_hides_nothing(void **state)
{
    const uint64_t tiocsti = 0x5412;
    const uint64_t tioclinux = 0x541c;
    const uint64_t tcgets = 0x5401;

    (void)state;
    for (size_t variant = 0; variant < FILTER_COUNT; variant++) {
        assert_int_equal(call(variant, SYS_ioctl, 0, tiocsti, 0), EPERM);
        assert_int_equal(call(variant, SYS_ioctl, 0, rubbish | tiocsti, 0), EPERM);
        assert_int_equal(call(variant, SYS_ioctl, 0, rubbish | tioclinux, 0), EPERM);
        assert_int_equal(call(variant, SYS_ioctl, 0, rubbish | tcgets, 0), ALLOWED);
        assert_int_equal(call(variant, SYS_socket, rubbish | AF_PACKET, SOCK_RAW, 0), EAFNOSUPPORT);
        assert_int_equal(call(variant, SYS_personality, rubbish | 0x400000, 0, 0), EPERM);
        assert_int_equal(call(variant, SYS_personality, 0x40000, 0, 0), ALLOWED);
    }
}

static void test_unix_sockets_by_type(void **state)
{
    (void)state;
    for (size_t variant = 0; variant < FILTER_COUNT; variant++) {
        int blocked = variant & FILTER_NO_UNIX ? EPERM : ALLOWED;
        int datagram = variant & FILTER_UNIX_DATAGRAM ? ALLOWED : EACCES;
        for (uint64_t flags = 0; flags <= SOCK_CLOEXEC; flags += SOCK_CLOEXEC) {
            assert_int_equal(call(variant, SYS_socket, AF_UNIX, SOCK_STREAM | flags, 0), blocked);
            assert_int_equal(call(variant, SYS_socket, AF_UNIX, SOCK_DGRAM | flags, 0), blocked ? blocked : datagram);
            assert_int_equal(call(variant, SYS_socket, AF_UNIX, SOCK_RAW | flags, 0), blocked ? blocked : datagram);
            assert_int_equal(call(variant, SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | flags, 0), ALLOWED);
            assert_int_equal(call(variant, SYS_socketpair, AF_UNIX, SOCK_DGRAM | flags, 0), datagram);
            assert_int_equal(call(variant, SYS_socketpair, AF_UNIX, rubbish | SOCK_DGRAM | flags, 0), datagram);
        }
    }
}

static void test_families_of_sockets(void **state)
{
    (void)state;
    for (uint64_t family = 0; family < 60; family++) {
        int expected = family == AF_INET || family == AF_INET6 || family == AF_UNIX || family == AF_NETLINK
                           ? ALLOWED
                           : EAFNOSUPPORT;
        assert_int_equal(call(0, SYS_socket, family, SOCK_STREAM, 0), expected);
    }
    for (uint64_t protocol = 1; protocol < 40; protocol++)
        assert_int_equal(call(0, SYS_socket, AF_NETLINK, SOCK_RAW, protocol), EPROTONOSUPPORT);
}

static void assert_mode_judged(size_t variant, uint64_t mode, int expected)
{
    const long fchmodat2 = 452;

    assert_int_equal(call(variant, SYS_fchmod, 0, mode, 0), expected);
    assert_int_equal(call(variant, SYS_fchmodat, 0, 0, mode), expected);
    assert_int_equal(call(variant, fchmodat2, 0, 0, mode), expected);
    assert_int_equal(call(variant, SYS_mknodat, 0, 0, S_IFREG | mode), expected);
#if defined __x86_64__
    assert_int_equal(call(variant, SYS_chmod, 0, mode, 0), expected);
    assert_int_equal(call(variant, SYS_mknod, 0, S_IFREG | mode, 0), expected);
#endif
}

static void assert_open_judged(size_t variant, uint64_t flags, uint64_t mode, int expected)
{
    assert_int_equal(call_with_four(variant, SYS_openat, 0, 0, flags, mode), expected);
#if defined __x86_64__
    assert_int_equal(call(variant, SYS_open, 0, flags, mode), expected);
#endif
}

static void test_no_set_id_bits_for_files_that_are_left_behind(void **state)
{
    (void)state;
    for (size_t variant = 0; variant < FILTER_COUNT; variant++) {
        bool root = variant & FILTER_ROOT;
        bool asked = variant & FILTER_FILES_ASKED;
        int otherwise = asked ? ASKED : ALLOWED;
        int for_root = root ? EPERM : otherwise;
        /* Without a doorman these stay in the kernel's cache. */
        int when_opened = root || asked ? EPERM : ALLOWED;

        assert_mode_judged(variant, 0755, otherwise);
        assert_mode_judged(variant, S_ISVTX | 0777, otherwise);
        assert_mode_judged(variant, S_ISUID | 0755, EPERM);
        assert_mode_judged(variant, rubbish | S_ISUID, EPERM);
        assert_mode_judged(variant, S_ISGID | 0755, for_root);
        assert_open_judged(variant, O_CREAT | O_WRONLY, 0755, otherwise);
        assert_open_judged(variant, O_RDONLY | O_DIRECTORY, S_ISUID | S_ISGID, reading(variant));
        assert_open_judged(variant, O_CREAT | O_WRONLY, S_ISUID | 0755, when_opened);
        assert_open_judged(variant, rubbish | O_CREAT, S_ISGID, for_root);
        assert_open_judged(variant, O_TMPFILE | O_RDWR, S_ISUID, when_opened);
        assert_int_equal(call(variant, SYS_openat2, 0, 0, 0), asked                                ? ASKED
                                                              : root && !(variant & FILTER_NESTED) ? ENOSYS
                                                                                                   : ALLOWED);
#if defined __x86_64__
        assert_int_equal(call(variant, SYS_creat, 0, S_ISUID, 0), when_opened);
#endif
    }
}

static void test_priorities_of_one_process_at_a_time(void **state)
{
    enum { IO_PROCESS = 1, IO_GROUP, IO_USER };

    (void)state;
    for (size_t variant = 0; variant < FILTER_COUNT; variant++) {
        assert_int_equal(call(variant, SYS_setpriority, PRIO_PROCESS, 0, 5), ALLOWED);
        assert_int_equal(call(variant, SYS_setpriority, PRIO_PGRP, 0, 5), EPERM);
        assert_int_equal(call(variant, SYS_setpriority, rubbish | PRIO_USER, 0, 5), EPERM);
        assert_int_equal(call(variant, SYS_ioprio_set, IO_PROCESS, 0, 0), ALLOWED);
        assert_int_equal(call(variant, SYS_ioprio_set, IO_GROUP, 0, 0), EPERM);
        assert_int_equal(call(variant, SYS_ioprio_set, IO_USER, 0, 0), EPERM);
    }
}

/* What changes a file by its name, and only that. */
static void test_doorman_is_asked_about_names_and_where_it_is_to_about_reading(void **state)
{
    static const long names[] = {SYS_mkdirat,   SYS_linkat,      SYS_symlinkat, SYS_unlinkat,  SYS_renameat2,
                                 SYS_truncate,  SYS_fchownat,    SYS_setxattr,  SYS_fsetxattr, SYS_removexattr,
                                 SYS_utimensat, SYS_openat2,     SYS_fchown,    SYS_umask,     SYS_renameat,
                                 SYS_lsetxattr, SYS_fremovexattr};
    static const int written[] = {O_WRONLY, O_RDWR, O_ACCMODE, O_TRUNC, O_CREAT, O_WRONLY | O_APPEND};
    static const int read[] = {0, O_DIRECTORY, O_NOFOLLOW | O_CLOEXEC, O_PATH, O_PATH | O_RDWR | O_CREAT, O_NONBLOCK};

    (void)state;
    for (size_t variant = 0; variant < FILTER_COUNT; variant++) {
        if (!(variant & FILTER_FILES_ASKED))
            continue;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            assert_int_equal(call(variant, names[i], 0, 0, 0), ASKED);
        for (size_t i = 0; i < sizeof written / sizeof *written; i++)
            assert_int_equal(call_with_four(variant, SYS_openat, 0, 0, rubbish | (unsigned)written[i], 0644), ASKED);
        for (size_t i = 0; i < sizeof read / sizeof *read; i++)
            assert_int_equal(call_with_four(variant, SYS_openat, 0, 0, rubbish | (unsigned)read[i], 0),
                             read[i] & O_PATH ? ALLOWED : reading(variant));
        /* Attributes can be set through a descriptor to read. */
        assert_int_equal(call(variant, SYS_ioctl, 0, 0x40086602, 0), EPERM);
        /* So can subvolumes be made. */
        assert_int_equal(call(variant, SYS_ioctl, 0, rubbish | 0x50009401, 0), EPERM);
        assert_int_equal(call(variant, SYS_ioctl, 0, 0x5000940e, 0), EPERM);
        assert_int_equal(call(variant, SYS_ioctl, 0, 0x40049409, 0), ALLOWED);
        assert_int_equal(call(variant, SYS_ioctl, 0, 0x5413, 0), ALLOWED);
        assert_int_equal(call(variant, SYS_fcntl, 0, rubbish | F_SETLEASE, F_RDLCK), EACCES);
        assert_int_equal(call(variant, SYS_fcntl, 0, F_SETLK, 0), ALLOWED);
        assert_int_equal(call(variant, 463, 0, 0, 0), ENOSYS);
        assert_int_equal(call(variant, 469, 0, 0, 0), ENOSYS);
    }
}

static void test_what_is_refused_is_told_of_where_somebody_listens(void **state)
{
    static const long refused[] = {SYS_mount, SYS_bpf, SYS_keyctl, SYS_setns, SYS_io_uring_setup, SYS_chroot};

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const struct seccomp_data data = {.nr = (int)refused[i], .arch = (uint32_t)OWN};
        assert_non_null(refuse_find(&data, false, false));
        assert_int_equal(run_filter(FILTER_FILES_ASKED | FILTER_WATCHED, &data), ASKED);
        assert_true(run_filter(FILTER_FILES_ASKED, &data) > ALLOWED);
        assert_true(run_filter(FILTER_WATCHED, &data) > ALLOWED); /* nobody listens there */
    }
}

static void test_doorman_is_asked_about_sockets(void **state)
{
    (void)state;
    for (size_t variant = 0; variant < FILTER_COUNT; variant++) {
        bool asked = variant & FILTER_SOCKETS_ASKED;
        int sends = asked && variant & FILTER_UNIX_DATAGRAM ? ASKED : ALLOWED;
        struct seccomp_data send = {.nr = SYS_sendto, .arch = (uint32_t)OWN};

        assert_int_equal(call(variant, SYS_connect, 0, 0, 0), asked ? ASKED : ALLOWED);
        assert_int_equal(call(variant, SYS_bind, 0, 0, 0), asked ? ASKED : ALLOWED);
        assert_int_equal(call(variant, SYS_sendmsg, 0, 0, 0), sends);
        assert_int_equal(call(variant, SYS_sendmmsg, 0, 0, 1), sends);
        assert_int_equal(call(variant, SYS_sendmmsg, 0, 0, rubbish), ALLOWED); /* no message */
        assert_int_equal(judge(variant, &send), ALLOWED);
        send.args[4] = 1;
        assert_int_equal(judge(variant, &send), sends);
        send.args[4] = 1ULL << 32;
        assert_int_equal(judge(variant, &send), sends);
    }
}

/* seccomp.allow of a call that the doorman is asked about takes the doorman away: plan/doorman.c has their names. */
static void test_calls_that_come_before_the_doorman_are_known_by_name(void **state)
{
    const size_t asked = FILTER_FILES_ASKED | FILTER_SOCKETS_ASKED | FILTER_UNIX_DATAGRAM | FILTER_READS_WATCHED;
    const uint64_t values[] = {0, ~(uint64_t)0, O_CREAT | O_WRONLY};
    size_t found = 0;
    (void)state;

    for (int number = 0; number < 500; number++) {
        char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
        bool comes = false;
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            uint64_t value = values[i];
            const struct seccomp_data data = {
                .nr = number, .arch = (uint32_t)OWN, .args = {value, value, value, value, value, value}};
            comes |= run_filter(asked, &data) == ASKED;
        }
        /* What it does to umask is only noted. */
        if (name && comes && strcmp(name, "umask") != 0 && !plan_doorman_is_asked_about(slice_of(name)))
            fail_msg("%s comes before the doorman", name);
        found += comes;
        free(name);
    }
    assert_true(found > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_that_come_before_the_doorman_are_known_by_name),
        cmocka_unit_test(test_other_architectures_are_refused_whatever_the_number),
        cmocka_unit_test(test_numbers_nobody_has_judged_do_not_exist),
        cmocka_unit_test(test_ordinary_calls_are_allowed),
        cmocka_unit_test(test_kernel_surface_is_refused_in_every_variant),
        cmocka_unit_test(test_mounts_and_namespaces_only_for_nested_sandboxes),
        cmocka_unit_test(test_upper_half_of_an_argument_hides_nothing),
        cmocka_unit_test(test_unix_sockets_by_type),
        cmocka_unit_test(test_families_of_sockets),
        cmocka_unit_test(test_no_set_id_bits_for_files_that_are_left_behind),
        cmocka_unit_test(test_priorities_of_one_process_at_a_time),
        cmocka_unit_test(test_doorman_is_asked_about_names_and_where_it_is_to_about_reading),
        cmocka_unit_test(test_what_is_refused_is_told_of_where_somebody_listens),
        cmocka_unit_test(test_doorman_is_asked_about_sockets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
