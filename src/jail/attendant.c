/* An attendant is forked from the supervisor, so it has the policy and the plan
 * in its memory; it keeps what it works with and nothing else that was open. It is in a
 * process group of its own: what the terminal sends is not for it.
 *
 * Many commands end before anything is asked of it, so it is not made before: the
 * supervisor looks at the message for it, which stays where it is, and waits with
 * the listener for the first call. It never reads one.
 *
 * Afterwards it looks at the listener, at most once a second, whether calls wait there
 * that nobody takes up (attack 69): each look costs a wake-up, none where nothing is
 * asked. With unix datagrams the attendant is there first and has the listener alone. */
#include "jail/attendant.h"

#include "base/fd.h"
#include "base/passing.h"
#include "jail/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SENT_MAX = 4, ATTEMPTS = 2000, BETWEEN_LOOKS = 1000 /* milliseconds */, IDLE_LOOKS_MAX = 10 };

static void attend(const struct attending *attending, pid_t supervisor, pid_t init)
{
    enum { SOCKET = 3, KEPT };
    bool keeps = attending->attendant->kept >= 0;
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != supervisor)
        _exit(0);
    setpgid(0, 0);
    prctl(PR_SET_NAME, attending->attendant->name, 0, 0, 0);
    /* Each may stand in the other's place. */
    int kept = keeps ? fcntl(attending->attendant->kept, F_DUPFD_CLOEXEC, KEPT + 1) : -1;
    if ((keeps && kept < 0) || (attending->socket != SOCKET && dup3(attending->socket, SOCKET, O_CLOEXEC) < 0) ||
        (keeps && dup3(kept, KEPT, O_CLOEXEC) < 0))
        _exit(1);
    close_range(keeps ? KEPT + 1 : KEPT, ~0U, 0);
    attending->attendant->main(attending->attendant->argument, SOCKET, keeps ? KEPT : -1, init, attending->taken);
    _exit(1);
}

static bool start(struct attending *attending, pid_t init, struct error *err)
{
    pid_t supervisor = getpid();

    attending->taken = mmap(NULL, sizeof *attending->taken, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (attending->taken == MAP_FAILED)
        return error_set_errno(err, errno, "cannot share memory with %s", attending->attendant->name);
    attending->pid = fork();
    if (attending->pid < 0)
        return error_set_errno(err, errno, "cannot make a process for %s", attending->attendant->name);
    if (attending->pid == 0)
        attend(attending, supervisor, init);
    /* Not for the network process, which is forked later. */
    madvise(attending->taken, sizeof *attending->taken, MADV_DONTFORK);
    fd_close(&attending->socket);
    attending->pidfd = (int)syscall(SYS_pidfd_open, attending->pid, 0);
    if (attending->pidfd < 0)
        return error_set_errno(err, errno, "cannot watch %s", attending->attendant->name);
    return true;
}

bool attending_begin(struct attending *attending, pid_t init, struct error *err)
{
    if (!attending->attendant)
        fd_close(&attending->socket);
    return !attending->attendant || !attending->attendant->at_once || start(attending, init, err);
}

int attending_watched(const struct attending *attending)
{
    if (attending->pidfd >= 0)
        return attending->pidfd;
    bool asked_early = attending->listener < 0 && attending->attendant && attending->attendant->asked_early;
    return asked_early ? attending->socket : attending->listener;
}

int attending_calls(const struct attending *attending)
{
    return attending->pidfd >= 0 && attending->next.milliseconds == 0 ? attending->listener : -1;
}

int attending_patience(const struct attending *attending, int patience)
{
    return deadline_sooner(&attending->next, patience);
}

/* Nobody is left who could ask. */
static void desert(struct attending *attending)
{
    fd_close(&attending->listener);
    attending->deserted = true;
}

bool attending_answers(struct attending *attending, short events)
{
    if (attending->next.milliseconds) {
        if (deadline_is_over(&attending->next))
            attending->next = (struct deadline){0};
    } else if (events & POLLIN) {
        unsigned taken = atomic_load(attending->taken);
        attending->idle_looks = taken == attending->taken_before ? attending->idle_looks + 1 : 0;
        attending->taken_before = taken;
        attending->next = deadline_after(BETWEEN_LOOKS);
    } else if (events) {
        desert(attending);
    }
    return attending->idle_looks <= IDLE_LOOKS_MAX;
}

/* It is the first of the descriptors that are waiting in the socket. */
void attending_look(struct attending *attending)
{
    int found[SENT_MAX] = {-1, -1, -1, -1};
    size_t count = SENT_MAX;
    char byte;

    if (attending->socket < 0 || attending->listener >= 0 ||
        passing_receive(attending->socket, &byte, sizeof byte, found, &count, MSG_PEEK | MSG_DONTWAIT) != 1 ||
        count == 0)
        return;
    for (size_t i = 1; i < count; i++)
        fd_close(&found[i]);
    attending->listener = found[0];
}

enum attending_news attending_hear(struct attending *attending, short events, pid_t init, struct error *err)
{
    if (attending->pidfd >= 0)
        return ATTENDING_ENDED;
    if (attending->listener < 0) {
        attending_look(attending);
        if (attending->listener < 0)
            fd_close(&attending->socket); /* there will be no command */
        return ATTENDING_GOES_ON;
    }
    if (events & POLLIN)
        return start(attending, init, err) ? ATTENDING_GOES_ON : ATTENDING_FAILED;
    desert(attending);
    fd_close(&attending->socket);
    return ATTENDING_GOES_ON;
}

void attending_kill(const struct attending *attending)
{
    if (attending->pid > 0)
        kill(attending->pid, SIGKILL);
}

void attending_end(struct attending *attending)
{
    fd_close(&attending->socket);
    fd_close(&attending->listener);
    fd_close(&attending->pidfd);
    if (attending->pid <= 0)
        return;
    attending_kill(attending);
    spawn_wait(attending->pid);
    attending->pid = -1;
    munmap(attending->taken, sizeof *attending->taken);
    if (attending->attendant->ended)
        attending->attendant->ended();
}

bool attending_send(int socket, const int *descriptors, size_t count, struct error *err)
{
    const char byte = 0;
    int sent[SENT_MAX] = {0};
    size_t sent_count = 0;

    for (size_t i = 0; i < count && sent_count < SENT_MAX; i++) {
        if (descriptors[i] >= 0)
            sent[sent_count++] = descriptors[i];
    }
    /* What a user's processes have on the way is counted together, against the limit
     * of open files of whoever sends: many runs at once may reach a low one. */
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int attempt = 0; passing_send(socket, &byte, sizeof byte, sent, sent_count, 0) < 0; attempt++) {
        if (errno != ETOOMANYREFS || attempt == ATTEMPTS)
            return error_set_errno(err, errno, "cannot hand descriptors to a process of the run");
        nanosleep(&pause, NULL);
    }
    return true;
}
