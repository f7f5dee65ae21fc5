/* Loads one of the filters compiled at build time. The policy's own
 * seccomp.allow and seccomp.deny are a few comparisons put between the head of
 * the filter and the rest, the denied ones first. */
#include "jail/filter.h"

#include "jail/filters.h"
#include "jail/landlock.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Far below the kernel's own limit of 4096 instructions. */
enum { NAMES_MAX = 400 };

enum { PROCESS_GROUP_LENGTH = 5 };

static size_t choose(const struct plan *plan)
{
    size_t number = 0;

    if (plan->nested_user_namespaces)
        number |= FILTER_NESTED;
    if (plan->policy->seccomp.block_unix_sockets)
        number |= FILTER_NO_UNIX;
    if (plan->policy->network.allow_all_unix_sockets)
        number |= FILTER_UNIX_DATAGRAM;
    if (geteuid() == 0)
        number |= FILTER_ROOT;
    if (plan->doorman.files)
        number |= FILTER_FILES_ASKED;
    if (plan->doorman.sockets)
        number |= FILTER_SOCKETS_ASKED;
    if (plan->doorman.calls)
        number |= FILTER_WATCHED;
    if (plan_reads_come_by(plan))
        number |= FILTER_FILES_ASKED | FILTER_READS_WATCHED;
    if (plan->doorman.sockets && plan->doorman.datagrams)
        number |= FILTER_UNIX_DATAGRAM;
    return number;
}

/* Those with which the listener is handed over: nobody could answer yet. */
static bool is_made_before_anybody_listens(int number)
{
    return number == SYS_sendmsg || number == SYS_sendto || number == SYS_write || number == SYS_read ||
           number == SYS_recvmsg || number == SYS_recvfrom;
}

static bool add_names(const struct name_rules *names, uint32_t action, struct sock_filter *program, size_t *length,
                      struct error *err)
{
    for (size_t i = 0; i < names->count; i++) {
        struct slice text = names->items[i].text;
        char name[64];

        if (text.len >= sizeof name)
            return error_set(err, "%s: no system call has so long a name", names->items[i].origin.path);
        memcpy(name, text.ptr, text.len);
        name[text.len] = '\0';
        int number = seccomp_syscall_resolve_name(name);
        if (number < 0)
            return error_set(err, "%s: this machine has no system call called \"%s\"", names->items[i].origin.path,
                             name);
        program[(*length)++] = (struct sock_filter){BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)number};
        bool untold = action == SECCOMP_RET_USER_NOTIF && is_made_before_anybody_listens(number);
        program[(*length)++] = (struct sock_filter){BPF_RET | BPF_K, 0, 0, untold ? SECCOMP_RET_ERRNO | EPERM : action};
    }
    return true;
}

/* A call that the doorman has begun to perform is not interrupted by signals
 * that do not kill: it would be performed twice. */
static bool load(const struct plan *plan, const struct sock_filter *program, size_t length, int *listener,
                 struct error *err)
{
    struct sock_fprog loaded = {.len = (unsigned short)length, .filter = (struct sock_filter *)(uintptr_t)program};
    unsigned long flags = 0;

    if (plan_has_doorman(plan))
        flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &loaded);
    if (result < 0 && errno == EBUSY)
        return error_set(err, "cannot watch over names that do not exist yet: this is already inside a sandbox that "
                              "does. To do without: --allow-degraded late-names");
    if (result < 0)
        return error_set_errno(err, errno, "cannot load the system-call filter");
    if (flags)
        *listener = (int)result;
    return true;
}

/* The command is in its caller's process group, and kill(0) is the one call that
 * reaches it there. */
static void add_process_group(struct sock_filter *program, size_t *length)
{
    const uint32_t first_argument = offsetof(struct seccomp_data, args);
    const struct sock_filter refuse_kill_0[PROCESS_GROUP_LENGTH] = {
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 4, SYS_kill}, {BPF_LD | BPF_W | BPF_ABS, 0, 0, first_argument},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0},        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };

    memcpy(program + *length, refuse_kill_0, sizeof refuse_kill_0);
    *length += PROCESS_GROUP_LENGTH;
}

bool filter_apply(const struct plan *plan, int *listener, struct error *err)
{
    const struct compiled_filter *base = &compiled_filters[choose(plan)];
    const struct name_rules *denied = &plan->policy->seccomp.deny;
    const struct name_rules *allowed = &plan->policy->seccomp.allow;

    *listener = -1;
    if (!plan->filter_enabled)
        return true;
    bool signals_can_leave = !landlock_keeps_signals_inside(plan);
    if (denied->count == 0 && allowed->count == 0 && !signals_can_leave)
        return load(plan, base->program, base->length, listener, err);
    if (denied->count > NAMES_MAX || allowed->count > NAMES_MAX)
        return error_set(err, "seccomp.allow and seccomp.deny may name %d system calls each", NAMES_MAX);

    size_t room = base->length + 2 * (denied->count + allowed->count) + PROCESS_GROUP_LENGTH;
    struct sock_filter *program = arena_alloc(plan->arena, room * sizeof *program);
    size_t length = base->head_length;
    memcpy(program, base->program, length * sizeof *program);
    uint32_t refusal = plan->doorman.calls ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO | EPERM;
    if (!add_names(denied, refusal, program, &length, err) ||
        !add_names(allowed, SECCOMP_RET_ALLOW, program, &length, err))
        return false;
    if (signals_can_leave)
        add_process_group(program, &length);
    size_t rest = base->length - base->head_length;
    memcpy(program + length, base->program + base->head_length, rest * sizeof *program);
    return load(plan, program, length + rest, listener, err);
}
