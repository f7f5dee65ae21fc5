/* A second, small system-call filter for runs without namespaces. It stands
 * beside the usual one and is not touched by the policy's seccomp settings,
 * because here it is the only lock on these:
 *
 *   - the network, where there is to be none;
 *   - unix sockets: Landlock does not see a connect to a socket by its path, and
 *     the user's message bus or container engine would carry out anything
 *     (attack 46); pairs stay;
 *   - memory, semaphores and queues that other processes of the user share by
 *     number: there is no IPC namespace;
 *   - limits of other processes: prlimit can end them;
 *   - set-user-id and set-group-id bits: chmod works on every file of the user's;
 *   - modes and attributes altogether for root, to whom the system belongs: with
 *     or without capabilities, an owner may change them.
 *
 * io_uring is refused here too: no filter sees what goes through it. */
#include "jail/confine.h"

#include "jail/filters.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PROGRAM_MAX = 256, X32_BIT = 0x40000000 };

/* Newer than the headers we may be built with; the same on every architecture. */
enum { CALL_FCHMODAT2 = 452, CALL_SETXATTRAT = 463, CALL_REMOVEXATTRAT = 466, CALL_FILE_SETATTR = 469 };

/* Arguments are compared in the lower word: that is all the kernel reads of
 * these. */
#define ARGUMENT(number) ((uint32_t)(offsetof(struct seccomp_data, args) + sizeof(uint64_t) * (number)))

static const int refused[] = {
    SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_shmget, SYS_shmat,  SYS_shmctl, SYS_semget,
    SYS_semop,          SYS_semctl,         SYS_semtimedop,        SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl,
    SYS_mq_open,        SYS_mq_unlink,
};

static const int metadata[] = {
#if defined(SYS_chmod)
    SYS_chmod,
#endif
#if defined(SYS_chown)
    SYS_chown,        SYS_lchown,
#endif
    SYS_fchmod,       SYS_fchmodat,    CALL_FCHMODAT2,     SYS_fchown,        SYS_fchownat,
    SYS_setxattr,     SYS_lsetxattr,   SYS_fsetxattr,      SYS_removexattr,   SYS_lremovexattr,
    SYS_fremovexattr, CALL_SETXATTRAT, CALL_REMOVEXATTRAT, CALL_FILE_SETATTR,
};

struct program {
    struct sock_filter code[PROGRAM_MAX];
    size_t length;
};

static void emit(struct program *program, unsigned code, uint32_t value, unsigned if_true, unsigned if_false)
{
    program->code[program->length++] = (struct sock_filter){(uint16_t)code, (uint8_t)if_true, (uint8_t)if_false, value};
}

static void load(struct program *program, uint32_t offset)
{
    emit(program, BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
}

static void refuse(struct program *program, int errnum)
{
    emit(program, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)errnum, 0, 0);
}

static void refuse_if_equal(struct program *program, uint32_t value, int errnum)
{
    emit(program, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    refuse(program, errnum);
}

static void allow(struct program *program)
{
    emit(program, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

static void judge_chmod(struct program *program, int call, unsigned mode_argument)
{
    emit(program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 4);
    load(program, ARGUMENT(mode_argument));
    emit(program, BPF_JMP | BPF_JSET | BPF_K, S_ISUID | S_ISGID, 0, 1);
    refuse(program, EPERM);
    allow(program);
}

static void judge_prlimit(struct program *program)
{
    emit(program, BPF_JMP | BPF_JEQ | BPF_K, SYS_prlimit64, 0, 4);
    load(program, ARGUMENT(0));
    emit(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
    refuse(program, EPERM);
    allow(program);
}

/* Without a network all families but two are refused: some carry TCP under
 * another number. Netlink only tells which interfaces there are. */
static void judge_socket(struct program *program, const struct plan *plan)
{
    size_t jump = program->length;

    emit(program, BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 0);
    load(program, ARGUMENT(0));
    if (!plan->policy->network.allow_all_unix_sockets)
        refuse_if_equal(program, AF_UNIX, EPERM);
    if (plan->network == NETWORK_NONE) {
        emit(program, BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 2, 0);
        emit(program, BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 1, 0);
        refuse(program, EACCES);
    }
    allow(program);
    program->code[jump].jf = (uint8_t)(program->length - jump - 1);
}

bool confine_calls(const struct plan *plan, struct error *err)
{
    struct program program = {.length = 0};
    struct sock_fprog loaded = {.filter = program.code};

    load(&program, offsetof(struct seccomp_data, arch));
    emit(&program, BPF_JMP | BPF_JEQ | BPF_K, compiled_architecture, 1, 0);
    refuse(&program, EPERM);
    load(&program, offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
    emit(&program, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
    refuse(&program, ENOSYS);
#endif
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        refuse_if_equal(&program, (uint32_t)refused[i], i < 3 ? ENOSYS : EPERM);
    judge_socket(&program, plan);
    judge_prlimit(&program);
    for (size_t i = 0; plan->keep_metadata && i < sizeof metadata / sizeof *metadata; i++)
        refuse_if_equal(&program, (uint32_t)metadata[i], EPERM);
#if defined(SYS_chmod)
    judge_chmod(&program, SYS_chmod, 1);
#endif
    judge_chmod(&program, SYS_fchmod, 1);
    judge_chmod(&program, SYS_fchmodat, 2);
    judge_chmod(&program, CALL_FCHMODAT2, 2);
    allow(&program);

    loaded.len = (unsigned short)program.length;
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &loaded) < 0)
        return error_set_errno(err, errno, "cannot load the system-call filter");
    return true;
}
