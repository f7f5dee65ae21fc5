/* A run is a process of the binary with three descriptors beside its standard
 * ones: a lifeline, whose other end only this program has, so that the run ends
 * with the handle and with the program; events; and one to talk about hosts. */
#include "lib/handles.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_REFUSED = 125, STATUS_SIGNAL = 128 };

static void close_if_open(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Two ends of a socket, both beyond the standard descriptors. */
static bool make_pair(int *ours, int *theirs)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    *ours = beyond_standard(pair[0]);
    *theirs = beyond_standard(pair[1]);
    return *ours >= 0 && *theirs >= 0;
}

static bool add_descriptor(struct words *words, const char *option, const char *prefix, int fd, cloche_error **error)
{
    char number[32];

    snprintf(number, sizeof number, "%s%d", prefix, fd);
    return words_add(words, option, error) && words_add(words, number, error);
}

/* ---- starting ---- */

struct ends {
    int lifeline;
    int events;
    int talk;
    int tmp; /* the session's */
};

static bool open_ends(cloche_process *process, struct ends *ends, cloche_error **error)
{
    bool good = make_pair(&process->lifeline, &ends->lifeline) && make_pair(&process->events.fd, &ends->events) &&
                ((!process->session->filtered && !process->session->asks) || make_pair(&process->talk.fd, &ends->talk));

    return good || fail(error, CLOCHE_ERROR_SYSTEM, errno, "cannot make the descriptors of a run");
}

/* Before it is there: its connections wait for this. */
static bool greet(cloche_process *process, cloche_error **error)
{
    return process->talk.fd < 0 ||
           talk_send(process,
                     process->session->on_ask ? "{\"ready\":true,\"asks\":true}" : "{\"ready\":true,\"asks\":false}",
                     error);
}

/* Before anything is opened here: a number that is free now might be taken for what gets it. */
static bool check_descriptors(const struct cloche_spawn *spawn, cloche_error **error)
{
    for (size_t i = 0; spawn->descriptors && spawn->descriptors[i] >= 0; i++) {
        if (i == CLOCHE_DESCRIPTORS_MAX)
            return fail(error, CLOCHE_ERROR_ARGUMENT, 0, "a command can be given at most %d more descriptors",
                        CLOCHE_DESCRIPTORS_MAX);
        if (fcntl(spawn->descriptors[i], F_GETFD) < 0)
            return fail(error, CLOCHE_ERROR_ARGUMENT, errno, "descriptor %d is not open", spawn->descriptors[i]);
    }
    return true;
}

static bool pass_descriptors(const struct cloche_spawn *spawn, struct words *words, cloche_error **error)
{
    for (const int *fd = spawn->descriptors; fd && *fd >= 0; fd++) {
        if (!add_descriptor(words, "--pass-fd", "", *fd, error))
            return false;
    }
    return true;
}

static bool write_words(const cloche_process *process, const struct ends *ends, const struct cloche_spawn *spawn,
                        struct words *words, cloche_error **error)
{
    return session_words(process->session, "run", &process->session->policy, words, error) &&
           add_descriptor(words, "--lifeline-fd", "", ends->lifeline, error) &&
           add_descriptor(words, "--events", "fd:", ends->events, error) &&
           (ends->talk < 0 || add_descriptor(words, "--session-fd", "", ends->talk, error)) &&
           (ends->tmp < 0 || add_descriptor(words, "--session-tmp", "/proc/self/fd/", ends->tmp, error)) &&
           pass_descriptors(spawn, words, error) && words_add(words, "--", error) &&
           words_add_all(words, spawn->argv, error);
}

static bool start(cloche_process *process, const struct cloche_spawn *spawn, const struct ends *ends,
                  const struct words *words, cloche_error **error)
{
    struct launch how = {.file = process->session->binary,
                         .argv = words->items,
                         .environment = spawn->environment ? (char *const *)spawn->environment : environ,
                         .directory = spawn->directory,
                         .standard = {spawn->input, spawn->output, spawn->diagnostics},
                         .kept = {ends->lifeline, ends->events},
                         .kept_count = 2};
    if (ends->talk >= 0)
        how.kept[how.kept_count++] = ends->talk;
    if (ends->tmp >= 0)
        how.kept[how.kept_count++] = ends->tmp;
    for (const int *fd = spawn->descriptors; fd && *fd >= 0; fd++)
        how.kept[how.kept_count++] = *fd;

    process->pid = launch(&how, error);
    if (process->pid < 0)
        return false;
    process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    if (process->pidfd < 0)
        return fail(error, CLOCHE_ERROR_SYSTEM, errno, "cannot watch over a run");
    struct epoll_event end = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = process};
    struct epoll_event news = {.events = EPOLLIN, .data.ptr = process};
    if (epoll_ctl(process->session->epoll, EPOLL_CTL_ADD, process->pidfd, &end) < 0 ||
        epoll_ctl(process->session->epoll, EPOLL_CTL_ADD, process->events.fd, &news) < 0 ||
        (process->talk.fd >= 0 && epoll_ctl(process->session->epoll, EPOLL_CTL_ADD, process->talk.fd, &news) < 0))
        return fail(error, CLOCHE_ERROR_SYSTEM, errno, "cannot watch over a run");
    return true;
}

cloche_process *cloche_spawn(cloche_session *session, const struct cloche_spawn *given, cloche_error **error)
{
    struct cloche_spawn spawn = {.input = -1, .output = -1, .diagnostics = -1};
    struct ends ends = {-1, -1, -1, session ? session->tmp : -1};
    struct words words = {0};

    if (session && given)
        memcpy(&spawn, given, given->size < sizeof spawn ? given->size : sizeof spawn);
    if (!spawn.argv || !spawn.argv[0]) {
        fail(error, CLOCHE_ERROR_ARGUMENT, 0, "there is no command to start");
        return NULL;
    }
    if (!check_descriptors(&spawn, error))
        return NULL;
    cloche_process *process = calloc(1, sizeof *process);
    if (!process) {
        fail_memory(error);
        return NULL;
    }
    process->session = session;
    process->pid = process->pidfd = process->lifeline = process->events.fd = process->talk.fd = -1;
    process->next = session->processes;
    session->processes = process;
    bool good = open_ends(process, &ends, error) && greet(process, error) &&
                write_words(process, &ends, &spawn, &words, error) && start(process, &spawn, &ends, &words, error);
    words_free(&words);
    close_if_open(&ends.lifeline);
    close_if_open(&ends.events);
    close_if_open(&ends.talk);
    if (good)
        return process;
    cloche_process_free(process);
    return NULL;
}

/* ---- its end ---- */

bool process_look(cloche_process *process, cloche_error **error)
{
    siginfo_t info = {0};

    if (process->ended)
        return true;
    /* By descriptor: a number may be somebody else's by now. */
    if (waitid(P_PIDFD, (id_t)process->pidfd, &info, WEXITED | WNOHANG) < 0) {
        if (errno == EINTR)
            return true;
        return fail(error, CLOCHE_ERROR_SYSTEM, errno,
                    "cannot learn how a run ended; does this program wait for children that are not its own?");
    }
    if (info.si_pid == 0)
        return true;
    process->ended = true;
    process->status.code = info.si_code == CLD_EXITED ? info.si_status : STATUS_SIGNAL + info.si_status;
    epoll_ctl(process->session->epoll, EPOLL_CTL_DEL, process->pidfd, NULL);
    return true;
}

static int64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void tell(const cloche_process *process, struct cloche_status *status)
{
    struct cloche_status told = process->status;

    told.size = status->size;
    told.refused = told.code == STATUS_REFUSED && !process->started;
    memcpy(status, &told, status->size < sizeof told ? status->size : sizeof told);
}

int cloche_wait(cloche_process *process, int milliseconds, struct cloche_status *status, cloche_error **error)
{
    int64_t end = now() + milliseconds;

    for (;;) {
        int left = milliseconds < 0 ? -1 : (int)(end > now() ? end - now() : 0);
        struct pollfd polled[3] = {{.fd = process->ended ? -1 : process->pidfd, .events = POLLIN},
                                   {.fd = process->events.fd, .events = POLLIN},
                                   {.fd = process->talk.fd, .events = POLLIN}};
        /* What was told last comes with the end. */
        if (process->ended && process->events.fd < 0)
            break;
        int ready = poll(polled, 3, left);
        if (ready < 0 && errno != EINTR) {
            fail(error, CLOCHE_ERROR_SYSTEM, errno, "cannot wait for a run");
            return -1;
        }
        if (ready == 0)
            return 0;
        if (ready > 0 && (polled[1].revents || polled[2].revents) && process_hear(process, error) < 0)
            return -1;
        if (ready > 0 && polled[0].revents && !process_look(process, error))
            return -1;
    }
    if (status)
        tell(process, status);
    return 1;
}

bool cloche_signal(cloche_process *process, int signal, cloche_error **error)
{
    if (process->ended)
        return fail(error, CLOCHE_ERROR_ARGUMENT, ESRCH, "the run has ended");
    if (syscall(SYS_pidfd_send_signal, process->pidfd, signal, NULL, 0) < 0)
        return fail(error, CLOCHE_ERROR_SYSTEM, errno, "cannot send signal %d to a run", signal);
    return true;
}

/* By the lifeline, not by a signal: so that cloche itself ends in order, and tells
 * what there was to tell. */
bool cloche_kill(cloche_process *process, cloche_error **error)
{
    (void)error;
    close_if_open(&process->lifeline);
    return true;
}

pid_t cloche_process_pid(const cloche_process *process)
{
    return process->pid;
}

/* Its lifeline is cut: it ends by itself, unless somebody has stopped it. */
static void end(int pidfd)
{
    enum { PATIENCE = 2000 };
    struct pollfd polled = {.fd = pidfd, .events = POLLIN};
    siginfo_t info;

    if (poll(&polled, 1, PATIENCE) <= 0)
        syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
    while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED) < 0 && errno == EINTR)
        ;
}

void cloche_process_free(cloche_process *process)
{
    if (!process)
        return;
    close_if_open(&process->lifeline);
    lines_close(&process->events);
    lines_close(&process->talk);
    talk_forget(process);
    free(process->denials);
    if (!process->ended && process->pidfd >= 0)
        end(process->pidfd);
    close_if_open(&process->pidfd);
    for (cloche_process **link = &process->session->processes; *link; link = &(*link)->next) {
        if (*link == process) {
            *link = process->next;
            break;
        }
    }
    free(process);
}
