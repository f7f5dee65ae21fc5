/* Making namespaces takes the kernel about as long as reading and resolving a
 * policy takes us, and nothing of it depends on the policy but a few things that
 * are nearly always the same. So pid 1 is born first, guesses those (outset.h),
 * and does all it can without a plan, on another processor. When the plan is made,
 * what the jail needs of it is copied into memory that pid 1 shares, and an order
 * tells it to go on.
 *
 * Nothing hostile runs before that. If the guess was wrong, or the plan is larger
 * than the memory, that pid 1 is ended and another one made. */
#include "jail/head_start.h"

#include "base/fd.h"
#include "jail/control.h"
#include "jail/identity.h"
#include "jail/spawn.h"
#include "jail/supervise.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

/* More than plans of thousands of rules need; what is not used costs nothing. */
enum { SHARED_SIZE = 16 * 1024 * 1024 };

enum jail_end head_start_make(struct head_start *head_start, int cgroup, struct error *err)
{
    int doorman[2] = {-1, -1};
    int control[2] = {-1, -1};

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, doorman) < 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0) {
        error_set_errno(err, errno, "cannot make a socket");
        fd_close(&doorman[0]);
        fd_close(&doorman[1]);
        return JAIL_REFUSED;
    }
    head_start->doorman = doorman[0];
    head_start->control = control[0];
    placement_find(&head_start->placement);
    if (!spawn_namespaces(cgroup, &head_start->child, err)) {
        enum jail_end end = spawn_is_forbidden(errno) ? JAIL_NO_NAMESPACES : JAIL_REFUSED;
        fd_close(&doorman[0]);
        fd_close(&doorman[1]);
        fd_close(&control[0]);
        fd_close(&control[1]);
        return end;
    }
    if (head_start->child == 0)
        init_in_namespaces(&head_start->outset, &head_start->placement, doorman, control[1], head_start->init);
    placement_apart(&head_start->placement, head_start->child);
    fd_close(&doorman[1]);
    fd_close(&control[1]);
    if (!identity_map_child(head_start->child, err)) {
        jail_abandon(head_start);
        return JAIL_NO_NAMESPACES;
    }
    order_send(head_start->control, ORDER_MAPPED, 0);
    return JAIL_ENDED;
}

static char *const *copy_words(struct arena *arena, char *const *words)
{
    size_t count = 0;

    while (words[count])
        count++;
    char **copy = arena_alloc(arena, (count + 1) * sizeof *copy);
    for (size_t i = 0; i < count; i++)
        copy[i] = arena_string(arena, words[i]);
    return copy;
}

void head_start_go(struct head_start *head_start)
{
    const struct jail_network *network = head_start->init->network;

    jail_tell_network(head_start, head_start->init->target.plan->network != NETWORK_HOST);
    /* It goes on where we are, because we wait next. */
    placement_keep(&head_start->placement, head_start->child, placement_here(&head_start->placement));
    order_send(head_start->control, ORDER_START, 0);
    if (network)
        descriptor_send(head_start->control, network->inside);
    if (head_start->init->tripwire >= 0)
        descriptor_send(head_start->control, head_start->init->tripwire);
    for (size_t i = 0; i < head_start->init->session.count; i++)
        descriptor_send(head_start->control, head_start->init->session.trees[i]);
    passed_send(&head_start->init->target.passed, head_start->control);
}

bool head_start_use(struct head_start *head_start, const struct init *init)
{
    const struct plan *plan = init->target.plan;
    struct outset outset = outset_of(plan);

    if (plan->memory.way == LIMIT_BY_CGROUP || plan->processes.way == LIMIT_BY_CGROUP ||
        !outset_equal(&head_start->outset, &outset))
        return false;
    *head_start->init = *init;
    head_start->init->target.plan = plan_copy(&head_start->shared, plan);
    head_start->init->target.argv = copy_words(&head_start->shared, init->target.argv);
    if (!arena_is_shared(&head_start->shared))
        return false;
    head_start_go(head_start);
    return true;
}

void jail_tell_network(struct head_start *head_start, bool own)
{
    if (!head_start || head_start->told_network)
        return;
    order_send(head_start->control, ORDER_NETWORK, own);
    head_start->told_network = true;
}

struct arena *jail_shared(struct head_start *head_start)
{
    return &head_start->shared;
}

struct head_start *jail_begin(struct arena *arena)
{
    struct head_start *head_start = ARENA_NEW(arena, struct head_start);
    struct sigaction child_action;
    sigset_t passed_on;
    sigset_t before;
    struct error ignored;

    /* Were SIGCHLD ignored, pid 1's number could be another's when it is to be ended. */
    if (sigaction(SIGCHLD, NULL, &child_action) < 0 || child_action.sa_handler == SIG_IGN)
        return NULL;
    arena_share(&head_start->shared, SHARED_SIZE);
    if (!arena_is_shared(&head_start->shared))
        return NULL;
    head_start->init = ARENA_NEW(&head_start->shared, struct init);
    head_start->outset = outset_guess();
    /* What pid 1 gets before the command is there is kept for it. */
    supervise_signals(&passed_on);
    if (sigprocmask(SIG_BLOCK, &passed_on, &before) < 0)
        return NULL;
    enum jail_end end = head_start_make(head_start, -1, &ignored);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return end == JAIL_ENDED ? head_start : NULL;
}

void jail_abandon(struct head_start *head_start)
{
    if (!head_start || head_start->child <= 0)
        return;
    kill(head_start->child, SIGKILL);
    spawn_wait(head_start->child);
    head_start->child = 0;
    fd_close(&head_start->doorman);
    fd_close(&head_start->control);
}
