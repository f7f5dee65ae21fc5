/* Compiles the system-call filters into C arrays, when cloche is built: doing it
 * at each launch would cost more than loading them.
 *
 * Other architectures are refused before any number is compared (attack 62),
 * numbers nobody has judged do not exist (13; the x32 bit makes a number such, 63).
 * All calls that are not simply allowed are the leaves of a search tree: when the
 * kernel loads a filter it walks it for every number there is. Arguments are
 * compared in the lower word only, because that is all the kernel reads of them
 * (58, 64).
 *
 * libseccomp, which knows the numbers, cannot say all that; so the tree is made
 * here.
 *
 * usage: compile-filter ARCHITECTURE > filters.c */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROGRAM_MAX = 4096, CASES_MAX = 256, SETTLED_AFTER = 100, EXCEPTIONS_MAX = 3 };

#define SETTLED SIZE_MAX

/* Bits of the number of a variant; jail/filter.c counts the same way. */
enum {
    VARIANT_NESTED = 1,
    VARIANT_NO_UNIX = 2,
    VARIANT_UNIX_DATAGRAM = 4,
    VARIANT_ROOT = 8,
    VARIANT_FILES_ASKED = 16,
    VARIANT_SOCKETS_ASKED = 32,
    VARIANT_WATCHED = 64,
    VARIANT_READS_WATCHED = 128,
    VARIANTS = 256
};

/* The newest call that was judged, of Linux 6.18 (file_setattr). From 424 on,
 * numbers are the same on every architecture. */
enum { NEWEST_CALL = 469 };

/* Newer than the oldest libseccomp we build with. */
enum {
    CALL_FCHMODAT2 = 452,
    CALL_LSM_SET_SELF_ATTR = 460,
    CALL_SETXATTRAT = 463,
    CALL_REMOVEXATTRAT = 466,
    CALL_OPEN_TREE_ATTR = 467,
    CALL_FILE_SETATTR = 469
};

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define ARGUMENT(number) (offsetof(struct seccomp_data, args) + sizeof(uint64_t) * (number))

static const char *const refused[] = {
    /* kernel surface that no build needs (66) */
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "kexec_load",
    "kexec_file_load",
    "init_module",
    "finit_module",
    "delete_module",
    "create_module",
    "query_module",
    "get_kernel_syms",
    "nfsservctl",
    "uselib",
    "lookup_dcookie",
    "vhangup",
    "iopl",
    "ioperm",
    "_sysctl",
    "vm86",
    "vm86old",
    /* the user's kernel keys (53) */
    "keyctl",
    "add_key",
    "request_key",
    /* the machine's state */
    "quotactl",
    "quotactl_fd",
    "swapon",
    "swapoff",
    "reboot",
    "syslog",
    "acct",
    "settimeofday",
    "stime",
    "adjtimex",
    "clock_settime",
    "clock_settime64",
    "clock_adjtime",
    "clock_adjtime64",
    "sethostname",
    "setdomainname",
    /* files by number instead of by name */
    "name_to_handle_at",
    "open_by_handle_at",
};

/* The way out of the mounts (12, 13). */
static const char *const refused_unless_nested[] = {
    "mount",  "umount",   "umount2", "pivot_root", "chroot",        "open_tree", "move_mount",
    "fsopen", "fsconfig", "fsmount", "fspick",     "mount_setattr", "setns",
};

/* What changes a file by its name, or what it is, whatever its arguments: asked
 * of the doorman, as is what makes the mode of files. */
static const char *const asked_about_files[] = {
    "mkdir",    "mkdirat",     "symlink",      "symlinkat",    "link",      "linkat",   "unlink",    "unlinkat",
    "rmdir",    "rename",      "renameat",     "renameat2",    "truncate",  "chown",    "lchown",    "fchown",
    "fchownat", "utime",       "utimes",       "futimesat",    "utimensat", "setxattr", "lsetxattr", "fsetxattr",
    "openat2",  "removexattr", "lremovexattr", "fremovexattr", "umask",
};

static const char *const asked_about_sockets[] = {"connect", "bind"};
static const char *const asked_about_datagrams[] = {"sendmsg"};

/* Not seen by filters (61). */
static const char *const absent[] = {"io_uring_setup", "io_uring_enter", "io_uring_register"};

static const uint32_t namespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

struct program;

/* What happens to the call with this number: an action, or what `judge` emits,
 * which must answer on every path. */
struct call_case {
    int number;
    uint32_t action;
    void (*judge)(struct program *program, unsigned variant);
};

/* A part and, if there are exceptions, twice as many more: an exception of one number, and the rest with the
 * answer of the first. */
struct unit {
    size_t first;
    size_t exceptions;
};

/* A side of a comparison that leads to an answer which is not emitted yet. */
struct leaving {
    size_t at;
    bool on_true;
    uint32_t action;
};

struct program {
    struct sock_filter code[PROGRAM_MAX];
    size_t length;
    struct call_case cases[CASES_MAX];
    size_t case_count;
    struct call_case parts[2 * CASES_MAX + 1]; /* each up to the next one's number */
    size_t part_count;
    struct unit units[2 * CASES_MAX + 1];
    size_t unit_count;
    struct leaving leavings[PROGRAM_MAX];
    size_t leaving_count;
    size_t aim; /* the last instruction that another one jumps to */
};

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "compile-filter: %s\n", what);
    exit(1);
}

static void begin(struct program *program)
{
    program->length = 0;
    program->leaving_count = 0;
    program->aim = 0;
}

static void emit(struct program *program, uint16_t code, uint32_t value, uint8_t if_true, uint8_t if_false)
{
    if (program->length == PROGRAM_MAX)
        fail("the filter is too long");
    program->code[program->length++] = (struct sock_filter){code, if_true, if_false, value};
}

static void load(struct program *program, size_t offset)
{
    emit(program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* How far the instruction at `from` has to jump to come to the next one. */
static uint8_t distance(struct program *program, size_t from)
{
    size_t skipped = program->length - from - 1;

    if (skipped > UINT8_MAX)
        fail("a jump is too long");
    program->aim = program->length;
    return (uint8_t)skipped;
}

/* To be answered by an instruction that is shared: the kernel's time to load a
 * filter grows with its length. */
static void leave(struct program *program, size_t at, bool on_true, uint32_t action)
{
    if (program->leaving_count == COUNT(program->leavings))
        fail("the filter is too long");
    program->leavings[program->leaving_count++] = (struct leaving){at, on_true, action};
}

/* Does nothing come here but the false side of the comparison before, whose true side leaves? */
static bool is_other_side(const struct program *program)
{
    size_t count = program->leaving_count;

    return count > 0 && program->leavings[count - 1].at + 1 == program->length &&
           program->leavings[count - 1].on_true && program->aim != program->length;
}

static void answer(struct program *program, uint32_t action)
{
    if (is_other_side(program))
        leave(program, program->length - 1, false, action);
    else
        emit(program, BPF_RET | BPF_K, action, 0, 0);
}

/* Emits the answers that are due: all that are awaited, if one is for more than so
 * many instructions. Only where nothing comes by that goes on to the next one. */
static void settle(struct program *program, size_t patience)
{
    if (program->leaving_count == 0 || program->length - program->leavings[0].at <= patience)
        return;
    for (size_t i = 0; i < program->leaving_count; i++) {
        uint32_t action = program->leavings[i].action;
        bool due = false;
        for (size_t other = i; other < program->leaving_count; other++) {
            const struct leaving *leaving = &program->leavings[other];
            if (leaving->at == SETTLED || leaving->action != action)
                continue;
            struct sock_filter *comparison = &program->code[leaving->at];
            *(leaving->on_true ? &comparison->jt : &comparison->jf) = distance(program, leaving->at);
            program->leavings[other].at = SETTLED;
            due = true;
        }
        if (due)
            emit(program, BPF_RET | BPF_K, action, 0, 0);
    }
    program->leaving_count = 0;
}

static void answer_if_equal(struct program *program, uint32_t value, uint32_t action)
{
    leave(program, program->length, true, action);
    emit(program, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 0);
}

static void answer_if_any_bit(struct program *program, uint32_t bits, uint32_t action)
{
    leave(program, program->length, true, action);
    emit(program, BPF_JMP | BPF_JSET | BPF_K, bits, 0, 0);
}

static uint32_t error(int errnum)
{
    return SECCOMP_RET_ERRNO | ((uint32_t)errnum & SECCOMP_RET_DATA);
}

/* What is refused in any case: by the doorman, if somebody is to be told. */
static uint32_t refusal(unsigned variant, int errnum)
{
    return variant & VARIANT_WATCHED ? SECCOMP_RET_USER_NOTIF : error(errnum);
}

static void add_case(struct program *program, struct call_case added)
{
    if (program->case_count == CASES_MAX)
        fail("there are too many cases");
    program->cases[program->case_count++] = added;
}

/* Calls this architecture does not have are left out. */
static void for_call(struct program *program, uint32_t architecture, const char *name,
                     void (*judge)(struct program *program, unsigned variant))
{
    int number = seccomp_syscall_resolve_name_arch(architecture, name);

    if (number >= 0)
        add_case(program, (struct call_case){.number = number, .judge = judge});
}

/* A unix datagram's destination is an argument no filter can read. SOCK_RAW is
 * another name for datagrams there. (47, 48) */
static void judge_unix_type(struct program *program, unsigned variant)
{
    const uint32_t type_bits = 0xf;

    if (variant & VARIANT_UNIX_DATAGRAM) {
        answer(program, SECCOMP_RET_ALLOW);
        return;
    }
    load(program, ARGUMENT(1));
    emit(program, BPF_ALU | BPF_AND | BPF_K, type_bits, 0, 0);
    answer_if_equal(program, SOCK_STREAM, SECCOMP_RET_ALLOW);
    answer_if_equal(program, SOCK_SEQPACKET, SECCOMP_RET_ALLOW);
    answer(program, refusal(variant, EACCES));
}

static void judge_socketpair(struct program *program, unsigned variant)
{
    load(program, ARGUMENT(0));
    emit(program, BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0);
    answer(program, refusal(variant, EAFNOSUPPORT));
    judge_unix_type(program, variant);
}

static void judge_socket(struct program *program, unsigned variant)
{
    const uint32_t netlink_route = 0;

    load(program, ARGUMENT(0));
    answer_if_equal(program, AF_INET, SECCOMP_RET_ALLOW);
    answer_if_equal(program, AF_INET6, SECCOMP_RET_ALLOW);
    size_t other = program->length;
    emit(program, BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 0);
    load(program, ARGUMENT(2));
    answer_if_equal(program, netlink_route, SECCOMP_RET_ALLOW);
    answer(program, refusal(variant, EPROTONOSUPPORT));
    program->code[other].jf = distance(program, other);
    emit(program, BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0);
    answer(program, refusal(variant, EAFNOSUPPORT));
    if (variant & VARIANT_NO_UNIX)
        answer(program, refusal(variant, EPERM));
    else
        judge_unix_type(program, variant);
}

/* btrfs makes and removes names by ioctl(2) on a directory. Of its calls, those that
 * other file systems have too share content between files. */
static void judge_subvolumes(struct program *program, unsigned variant)
{
    const uint32_t type_bits = 0xff00;
    const uint32_t btrfs = 0x9400;
    static const uint32_t of_all[] = {FICLONE, FICLONERANGE, FIDEDUPERANGE};

    emit(program, BPF_ALU | BPF_AND | BPF_K, type_bits, 0, 0);
    size_t other = program->length;
    emit(program, BPF_JMP | BPF_JEQ | BPF_K, btrfs, 0, 0);
    load(program, ARGUMENT(1));
    for (size_t i = 0; i < COUNT(of_all); i++)
        answer_if_equal(program, of_all[i], SECCOMP_RET_ALLOW);
    answer(program, refusal(variant, EPERM));
    program->code[other].jf = distance(program, other);
}

/* Typing into the terminal cloche was started from (56, 57); line disciplines,
 * which are code nobody needs and have had their share of holes (N_HDLC, N_GSM). */
static void judge_ioctl(struct program *program, unsigned variant)
{
    const uint32_t tiocsti = 0x5412;
    const uint32_t tioclinux = 0x541c;
    const uint32_t tiocsetd = 0x5423;
    /* Attributes of files that need no more than a descriptor to read. */
    const uint32_t set_encryption_policy = 0x800c6613;
    const uint32_t enable_verity = 0x40806685;
    const uint32_t attributes[] = {FS_IOC_SETFLAGS,   FS_IOC32_SETFLAGS,     FS_IOC_FSSETXATTR,
                                   FS_IOC_SETVERSION, set_encryption_policy, enable_verity};

    load(program, ARGUMENT(1));
    answer_if_equal(program, tiocsti, refusal(variant, EPERM));
    answer_if_equal(program, tioclinux, refusal(variant, EPERM));
    answer_if_equal(program, tiocsetd, refusal(variant, EPERM));
    for (size_t i = 0; variant & VARIANT_FILES_ASKED && i < COUNT(attributes); i++)
        answer_if_equal(program, attributes[i], refusal(variant, EPERM));
    if (variant & VARIANT_FILES_ASKED)
        judge_subvolumes(program, variant);
    answer(program, SECCOMP_RET_ALLOW);
}

/* Whoever opens a file with a lease on it waits for its holder: the doorman would,
 * with others behind it. */
static void judge_fcntl(struct program *program, unsigned variant)
{
    const uint32_t set_lease = 1024;

    load(program, ARGUMENT(1));
    answer_if_equal(program, set_lease, refusal(variant, EACCES));
    answer(program, SECCOMP_RET_ALLOW);
}

static void judge_clone(struct program *program, unsigned variant)
{
    load(program, ARGUMENT(0));
    if (!(variant & VARIANT_NESTED))
        answer_if_any_bit(program, namespaces, refusal(variant, EPERM));
    answer(program, SECCOMP_RET_ALLOW);
}

static void judge_unshare(struct program *program, unsigned variant)
{
    const uint32_t clone_newtime = 0x80;

    load(program, ARGUMENT(0));
    if (!(variant & VARIANT_NESTED))
        answer_if_any_bit(program, namespaces | clone_newtime, refusal(variant, EPERM));
    answer(program, SECCOMP_RET_ALLOW);
}

/* Its flags are in memory, where no filter sees them; libraries fall back on
 * clone when it does not exist. */
static void judge_clone3(struct program *program, unsigned variant)
{
    answer(program, variant & VARIANT_NESTED ? SECCOMP_RET_ALLOW : error(ENOSYS));
}

/* Linux, 32-bit Linux, either with the old version number or (for debuggers)
 * without randomized addresses, and the question which it is. */
static void judge_personality(struct program *program, unsigned variant)
{
    static const uint32_t harmless[] = {0x0, 0x8, 0x20000, 0x20008, 0x40000, 0x40008, 0xffffffff};

    load(program, ARGUMENT(0));
    for (size_t i = 0; i < COUNT(harmless); i++)
        answer_if_equal(program, harmless[i], SECCOMP_RET_ALLOW);
    answer(program, refusal(variant, EPERM));
}

/* What a run leaves behind must not lend its user's rights to others (root's
 * above all). An ordinary user keeps the set-group-id bit, which directories
 * that are shared by a group need (git init --shared). */
static void refuse_set_id_mode(struct program *program, unsigned variant, unsigned argument)
{
    load(program, ARGUMENT(argument));
    answer_if_any_bit(program, variant & VARIANT_ROOT ? S_ISUID | S_ISGID : S_ISUID, refusal(variant, EPERM));
    answer(program, variant & VARIANT_FILES_ASKED ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW);
}

static void judge_mode_second(struct program *program, unsigned variant)
{
    refuse_set_id_mode(program, variant, 1);
}

static void judge_mode_third(struct program *program, unsigned variant)
{
    refuse_set_id_mode(program, variant, 2);
}

/* A nameless file is nothing to ask about, it is when it gets a name, but one that
 * cannot be had is told of. And what is
 * opened as a mere path is neither made nor changed, whatever else is said. */
static void ask_about_open(struct program *program, unsigned variant, unsigned argument)
{
    const uint32_t tmpfile_bit = O_TMPFILE & ~O_DIRECTORY;

    load(program, ARGUMENT(argument));
    answer_if_any_bit(program, O_PATH, SECCOMP_RET_ALLOW);
    emit(program, BPF_JMP | BPF_JSET | BPF_K, O_ACCMODE | O_CREAT | O_TRUNC | tmpfile_bit, 1, 0);
    answer(program, variant & VARIANT_READS_WATCHED ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW);
    if (variant & VARIANT_WATCHED) {
        answer(program, SECCOMP_RET_USER_NOTIF); /* whether it is asked about or refused */
        return;
    }
    emit(program, BPF_JMP | BPF_JSET | BPF_K, O_CREAT | tmpfile_bit, 1, 0);
    answer(program, SECCOMP_RET_USER_NOTIF);
    size_t nameless = program->length;
    emit(program, BPF_JMP | BPF_JSET | BPF_K, tmpfile_bit, 0, 0);
    refuse_set_id_mode(program, variant, argument + 1);
    program->code[nameless].jt = distance(program, nameless);
    refuse_set_id_mode(program, variant & ~(unsigned)VARIANT_FILES_ASKED, argument + 1);
}

/* The mode counts only where a file may be made. */
static void judge_open_flags(struct program *program, unsigned variant, unsigned argument)
{
    const uint32_t tmpfile_bit = O_TMPFILE & ~O_DIRECTORY;

    if (variant & VARIANT_FILES_ASKED) {
        ask_about_open(program, variant, argument);
        return;
    }
    load(program, ARGUMENT(argument));
    emit(program, BPF_JMP | BPF_JSET | BPF_K, O_CREAT | tmpfile_bit, 1, 0);
    answer(program, SECCOMP_RET_ALLOW);
    refuse_set_id_mode(program, variant, argument + 1);
}

static void judge_open(struct program *program, unsigned variant)
{
    judge_open_flags(program, variant, 1);
}

static void judge_openat(struct program *program, unsigned variant)
{
    judge_open_flags(program, variant, 2);
}

/* Its mode is in memory. Sandboxes that are set up inside need it. */
static void judge_openat2(struct program *program, unsigned variant)
{
    answer(program, variant & VARIANT_NESTED ? SECCOMP_RET_ALLOW : error(ENOSYS));
}

/* Groups and users have members outside: the command is in its caller's process
 * group. */
static void judge_setpriority(struct program *program, unsigned variant)
{
    load(program, ARGUMENT(0));
    answer_if_equal(program, PRIO_PROCESS, SECCOMP_RET_ALLOW);
    answer(program, refusal(variant, EPERM));
}

static void judge_ioprio_set(struct program *program, unsigned variant)
{
    const uint32_t ioprio_who_process = 1;

    load(program, ARGUMENT(0));
    answer_if_equal(program, ioprio_who_process, SECCOMP_RET_ALLOW);
    answer(program, refusal(variant, EPERM));
}

/* An empty file is all that can be had with the bits this way: writing takes them
 * off. But they stay on when root, outside, writes to it later. For others the
 * kernel's cache of calls that are always allowed is worth more. */
static void judge_opens(struct program *program, uint32_t architecture, unsigned variant)
{
    for_call(program, architecture, "openat", judge_openat);
    for_call(program, architecture, "open", judge_open);
    if (!(variant & VARIANT_FILES_ASKED))
        for_call(program, architecture, "openat2", judge_openat2);
    for_call(program, architecture, "creat", judge_mode_second);
}

/* A datagram that names no destination goes where its socket was connected to. */
static void judge_sendto(struct program *program, unsigned variant)
{
    (void)variant;
    load(program, ARGUMENT(4));
    emit(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
    answer(program, SECCOMP_RET_USER_NOTIF);
    load(program, ARGUMENT(4) + sizeof(uint32_t));
    answer_if_equal(program, 0, SECCOMP_RET_ALLOW);
    answer(program, SECCOMP_RET_USER_NOTIF);
}

/* The doorman sends at least one of the messages: there must be one. */
static void judge_sendmmsg(struct program *program, unsigned variant)
{
    (void)variant;
    load(program, ARGUMENT(2));
    answer_if_equal(program, 0, SECCOMP_RET_ALLOW);
    answer(program, SECCOMP_RET_USER_NOTIF);
}

static bool asks_about_datagrams(unsigned variant)
{
    return variant & VARIANT_SOCKETS_ASKED && variant & VARIANT_UNIX_DATAGRAM;
}

static void judge_arguments(struct program *program, uint32_t architecture, unsigned variant)
{
    static const struct {
        const char *name;
        void (*judge)(struct program *program, unsigned variant);
    } calls[] = {
        {"ioctl", judge_ioctl},
        {"clone", judge_clone},
        {"clone3", judge_clone3},
        {"socket", judge_socket},
        {"unshare", judge_unshare},
        {"socketpair", judge_socketpair},
        {"personality", judge_personality},
        {"chmod", judge_mode_second},
        {"fchmod", judge_mode_second},
        {"fchmodat", judge_mode_third},
        {"mknod", judge_mode_second},
        {"mknodat", judge_mode_third},
        {"setpriority", judge_setpriority},
        {"ioprio_set", judge_ioprio_set},
    };

    if (variant & (VARIANT_ROOT | VARIANT_FILES_ASKED))
        judge_opens(program, architecture, variant);
    if (variant & VARIANT_FILES_ASKED)
        for_call(program, architecture, "fcntl", judge_fcntl);
    if (asks_about_datagrams(variant)) {
        for_call(program, architecture, "sendto", judge_sendto);
        for_call(program, architecture, "sendmmsg", judge_sendmmsg);
    }
    add_case(program, (struct call_case){.number = CALL_FCHMODAT2, .judge = judge_mode_third});
    for (size_t i = 0; i < COUNT(calls); i++)
        for_call(program, architecture, calls[i].name, calls[i].judge);
}

static void answer_all(struct program *program, uint32_t architecture, uint32_t action, const char *const *names,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int number = seccomp_syscall_resolve_name_arch(architecture, names[i]);
        if (number == __NR_SCMP_ERROR)
            fail(names[i]);
        if (number >= 0)
            add_case(program, (struct call_case){.number = number, .action = action});
    }
}

static void ask_doorman(struct program *program, uint32_t architecture, unsigned variant)
{
    /* What the doorman does not perform. Libraries do without. */
    static const int absent_with_it[] = {CALL_SETXATTRAT, CALL_REMOVEXATTRAT, CALL_FILE_SETATTR};
    /* It performs under the run's rules and knows of no stricter ones: a sandbox that
     * a program inside believed to have made for itself would hold nothing. */
    static const char *const other_rules[] = {"landlock_create_ruleset"};
    const uint32_t ask = SECCOMP_RET_USER_NOTIF;

    if (variant & VARIANT_FILES_ASKED) {
        answer_all(program, architecture, ask, asked_about_files, COUNT(asked_about_files));
        answer_all(program, architecture, refusal(variant, EOPNOTSUPP), other_rules, COUNT(other_rules));
        for (size_t i = 0; i < COUNT(absent_with_it); i++)
            add_case(program, (struct call_case){.number = absent_with_it[i], .action = error(ENOSYS)});
    }
    if (variant & VARIANT_SOCKETS_ASKED)
        answer_all(program, architecture, ask, asked_about_sockets, COUNT(asked_about_sockets));
    if (asks_about_datagrams(variant))
        answer_all(program, architecture, ask, asked_about_datagrams, COUNT(asked_about_datagrams));
}

static void collect_cases(struct program *program, uint32_t architecture, unsigned variant)
{
    program->case_count = 0;
    judge_arguments(program, architecture, variant);
    answer_all(program, architecture, refusal(variant, EPERM), refused, COUNT(refused));
    answer_all(program, architecture, refusal(variant, ENOSYS), absent, COUNT(absent));
    add_case(program, (struct call_case){.number = CALL_LSM_SET_SELF_ATTR, .action = refusal(variant, EPERM)});
    ask_doorman(program, architecture, variant);
    if (variant & VARIANT_NESTED)
        return;
    answer_all(program, architecture, refusal(variant, EPERM), refused_unless_nested, COUNT(refused_unless_nested));
    add_case(program, (struct call_case){.number = CALL_OPEN_TREE_ATTR, .action = refusal(variant, EPERM)});
}

/* Do all arguments get the same answer? A case that is judged needs room for the judgement. */
static bool answers_alike(const struct call_case *judged, unsigned variant, uint32_t *action)
{
    static struct program trial;
    size_t answers = 0;

    begin(&trial);
    judged->judge(&trial, variant);
    settle(&trial, 0);
    for (size_t i = 0; i < trial.length; i++) {
        if (BPF_CLASS(trial.code[i].code) != BPF_RET)
            continue;
        if (answers++ > 0 && trial.code[i].k != *action)
            return false;
        *action = trial.code[i].k;
    }
    return true;
}

static void judge_less(struct program *program, unsigned variant)
{
    for (size_t i = 0; i < program->case_count; i++) {
        struct call_case *judged = &program->cases[i];
        uint32_t action = 0;

        if (judged->judge && answers_alike(judged, variant, &action))
            *judged = (struct call_case){.number = judged->number, .action = action};
    }
}

static int compare_cases(const void *a, const void *b)
{
    return ((const struct call_case *)a)->number - ((const struct call_case *)b)->number;
}

static void sort_cases(struct program *program)
{
    qsort(program->cases, program->case_count, sizeof *program->cases, compare_cases);
    for (size_t i = 1; i < program->case_count; i++) {
        if (program->cases[i - 1].number == program->cases[i].number)
            fail("a call is judged twice");
    }
}

/* Of the calls whose arguments are looked at, programs make this one most. The others
 * that are made often the kernel knows to be allowed, without the filter. */
static void judge_first(struct program *program, uint32_t architecture, unsigned variant)
{
    int number = seccomp_syscall_resolve_name_arch(architecture, "openat");

    for (size_t i = 0; i < program->case_count; i++) {
        const struct call_case judged = program->cases[i];
        if (judged.number != number || !judged.judge)
            continue;
        size_t jump = program->length;
        emit(program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 0);
        judged.judge(program, variant);
        program->code[jump].jf = distance(program, jump);
        program->cases[i] = (struct call_case){.number = number, .action = SECCOMP_RET_ALLOW}; /* never asked again */
    }
}

static void add_part(struct program *program, struct call_case part)
{
    const struct call_case *last = program->part_count ? &program->parts[program->part_count - 1] : NULL;

    if (last && !last->judge && !part.judge && last->action == part.action)
        return;
    program->parts[program->part_count++] = part;
}

/* All numbers up to the newest, cut where the answer changes. */
static void cut(struct program *program)
{
    int next = 0; /* the first number that is in no part yet */

    program->part_count = 0;
    for (size_t i = 0; i <= program->case_count; i++) {
        const struct call_case *judged = &program->cases[i];
        int end = i < program->case_count ? judged->number : NEWEST_CALL + 1;

        if (next < end)
            add_part(program, (struct call_case){.number = next, .action = SECCOMP_RET_ALLOW});
        if (i < program->case_count)
            add_part(program, *judged);
        next = end + 1;
    }
}

/* One number between two parts with the same answer takes one comparison instead of two. */
static bool is_exception(const struct program *program, size_t number)
{
    const struct call_case *part = &program->parts[number];

    return number > 0 && number + 1 < program->part_count && part[1].number == part->number + 1 && !part[-1].judge &&
           !part[1].judge && part[-1].action == part[1].action;
}

/* Parts that are told apart by such comparisons, one after the other: not too many, or the last would be deep. */
static void join(struct program *program)
{
    program->unit_count = 0;
    for (size_t next = 0; next < program->part_count;) {
        struct unit *unit = &program->units[program->unit_count++];

        *unit = (struct unit){.first = next++};
        while (unit->exceptions < EXCEPTIONS_MAX && is_exception(program, next)) {
            unit->exceptions++;
            next += 2;
        }
    }
}

static void emit_unit(struct program *program, const struct unit *unit, unsigned variant)
{
    const struct call_case *part = &program->parts[unit->first];

    if (unit->exceptions == 0 && part->judge)
        part->judge(program, variant);
    else if (unit->exceptions == 0)
        answer(program, part->action);
    for (size_t i = 1; i <= unit->exceptions; i++) {
        const struct call_case *exception = &part[2 * i - 1];
        size_t at = program->length;

        emit(program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)exception->number, 0, 0);
        if (i == unit->exceptions)
            leave(program, at, false, part->action);
        if (!exception->judge) {
            leave(program, at, true, exception->action);
            continue;
        }
        exception->judge(program, variant);
        if (i < unit->exceptions)
            program->code[at].jf = distance(program, at);
    }
}

static void emit_tree(struct program *program, const struct unit *units, size_t count, unsigned variant);

/* Where one side of the comparison at `at` leads. A part that is simply answered
 * costs no instruction of its own. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the tree. */
static void emit_side(struct program *program, size_t at, bool on_true, const struct unit *units, size_t count,
                      unsigned variant)
{
    const struct call_case *part = &program->parts[units->first];

    if (count == 1 && units->exceptions == 0 && !part->judge) {
        leave(program, at, on_true, part->action);
        return;
    }
    if (on_true)
        program->code[at].jt = distance(program, at);
    else
        program->code[at].jf = distance(program, at);
    emit_tree(program, units, count, variant);
}

/* The search tree over some units, which are sorted. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the tree. */
static void emit_tree(struct program *program, const struct unit *units, size_t count, unsigned variant)
{
    const size_t near = 16; /* what so many units take is never too far for a comparison */

    if (count == 1) {
        emit_unit(program, units, variant);
        return;
    }
    size_t middle = count / 2;
    size_t at = program->length;
    emit(program, BPF_JMP | BPF_JGE | BPF_K, (uint32_t)program->parts[units[middle].first].number, 0, 0);
    if (middle > near) {
        program->code[at].jf = 1;
        emit(program, BPF_JMP | BPF_JA, 0, 0, 0);
        emit_tree(program, units, middle, variant);
        settle(program, SETTLED_AFTER);
        program->code[at + 1].k = (uint32_t)(program->length - at - 2);
        program->aim = program->length;
        emit_tree(program, units + middle, count - middle, variant);
    } else {
        emit_side(program, at, false, units, middle, variant);
        settle(program, SETTLED_AFTER);
        emit_side(program, at, true, units + middle, count - middle, variant);
    }
    settle(program, SETTLED_AFTER);
}

static void compile(struct program *program, uint32_t architecture, unsigned variant, size_t *head_length)
{
    begin(program);
    load(program, offsetof(struct seccomp_data, arch));
    emit(program, BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0);
    answer(program, error(EPERM));
    load(program, offsetof(struct seccomp_data, nr));
    *head_length = program->length;
    emit(program, BPF_JMP | BPF_JGT | BPF_K, NEWEST_CALL, 0, 1);
    answer(program, error(ENOSYS));
    collect_cases(program, architecture, variant);
    judge_less(program, variant);
    sort_cases(program);
    judge_first(program, architecture, variant);
    cut(program);
    join(program);
    emit_tree(program, program->units, program->unit_count, variant);
    settle(program, 0);
}

static void print(const struct program *program, unsigned variant)
{
    printf("\nstatic const struct sock_filter filter_%u[] = {\n", variant);
    for (size_t i = 0; i < program->length; i++) {
        const struct sock_filter *line = &program->code[i];
        printf("    {0x%02x, %u, %u, 0x%08x},\n", line->code, line->jt, line->jf, line->k);
    }
    printf("};\n");
}

/* The same filter is made once. Without a doorman there is nobody to tell. (Reads come by
 * whether or not refusals are told: rules may depend on it.) */
static unsigned canonical(unsigned variant)
{
    unsigned asked = variant & VARIANT_NESTED ? 0 : variant & (VARIANT_FILES_ASKED | VARIANT_SOCKETS_ASKED);

    if (!asked)
        variant &= ~(unsigned)VARIANT_WATCHED;
    if (!(asked & VARIANT_FILES_ASKED))
        variant &= ~(unsigned)VARIANT_READS_WATCHED;
    return variant;
}

int main(int argc, char **argv)
{
    static struct program program;
    size_t lengths[VARIANTS];
    size_t head_length = 0;

    uint32_t architecture = argc == 2 ? seccomp_arch_resolve_name(argv[1]) : 0;
    if (architecture == 0)
        fail("name an architecture that libseccomp knows");

    printf("/* Made by tools/compile-filter.c. */\n#include \"jail/filters.h\"\n");
    for (unsigned variant = 0; variant < VARIANTS; variant++) {
        if (canonical(variant) != variant)
            continue;
        compile(&program, architecture, variant, &head_length);
        lengths[variant] = program.length;
        print(&program, variant);
    }
    printf("\nconst uint32_t compiled_architecture = 0x%08x;\n", architecture);
    printf("\nconst struct compiled_filter compiled_filters[%d] = {\n", VARIANTS);
    for (unsigned variant = 0; variant < VARIANTS; variant++)
        printf("    {filter_%u, %zu, %zu},\n", canonical(variant), lengths[canonical(variant)], head_length);
    printf("};\n");
    return 0;
}
