/* The doorman's process: forked from the supervisor, so that it has the policy;
 * in the run's user and mount namespaces, so that names mean there what they mean
 * to the command; not in its pid namespace, so that nothing inside can see, trace
 * or signal it.
 *
 * It settles in at the first call that wants more than a glance (foyer.c).
 *
 * Threads: the reader (this one) sits in SECCOMP_IOCTL_NOTIF_RECV and only copies
 * arguments; performers act (pool.c); the fetcher looks into /proc for them
 * (fetch.c); the warden ends waits that have become pointless.
 *
 * It ends with the supervisor, which ends the run if this process ends first;
 * and once it has ended, every call that would have been asked of it fails. */
#include "doorman/doorman.h"

#include "base/fd.h"
#include "base/passing.h"
#include "doorman/at_once.h"
#include "doorman/confine.h"
#include "doorman/fetch.h"
#include "doorman/foyer.h"
#include "doorman/grants.h"
#include "doorman/lock.h"
#include "doorman/name.h"
#include "doorman/own_view.h"
#include "doorman/pool.h"
#include "doorman/read.h"
#include "doorman/receive.h"
#include "doorman/refuse.h"
#include "doorman/sticky.h"
#include "policy/variables.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Not to be used, only to be known again. */
static void note_handed_in(struct house *house)
{
    for (int fd = 0; fd < HANDED_MAX; fd++) {
        struct stat status;
        if (fstat(fd, &status) == 0)
            house->handed[fd] = (struct handed_in){true, status.st_dev, status.st_ino};
        close(fd);
    }
}

static void note_search_path(struct house *house)
{
    const struct surroundings *around = &house->policy->around;
    struct slice rest;

    if (!environment_find(around->environment, SLICE("PATH"), &rest))
        return;
    while (rest.len > 0 && house->search_count < SEARCH_MAX) {
        struct slice directory = {rest.ptr, slice_find(rest, ':')};
        rest = slice_from(rest, directory.len + (directory.len < rest.len));
        while (slice_ends(directory, SLICE("/")))
            directory.len--;
        if (directory.len > 1 && directory.ptr[0] == '/')
            house->search[house->search_count++] = directory;
    }
}

static bool open_host(struct house *house)
{
    house->self = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
    house->lock = lock_find();
    sticky_note(house);
    return house->self >= 0 && house->lock >= 0;
}

static bool receive_descriptors(int socket, int received[2])
{
    size_t count = 2;
    char byte;

    return passing_receive(socket, &byte, sizeof byte, received, &count, 0) == (ssize_t)sizeof byte && count > 0;
}

/* The process cannot send us what would have us asked whether it may: it says the
 * number, and waits until we have it. */
static int take_listener(int socket, int process)
{
    int number;

    if (read(socket, &number, sizeof number) != (ssize_t)sizeof number)
        return -1;
    int listener = (int)syscall(SYS_pidfd_getfd, process, number, 0);
    int error = listener < 0 ? errno : 0;
    return write(socket, &error, sizeof error) == (ssize_t)sizeof error ? listener : -1;
}

/* From the command's own process right before it becomes the command: by then all
 * mounts are made. The first descriptor is the listener or, where sending is asked
 * about, the process. */
static bool receive(struct house *house, int socket)
{
    int received[2] = {-1, -1};

    if (!receive_descriptors(socket, received))
        return false;
    house->listener = received[0];
    house->ruleset = received[1];
    if (house->plan->doorman.datagrams) {
        house->listener = take_listener(socket, received[0]);
        close(received[0]);
    }
    return house->listener >= 0;
}

/* From pid 1, once the command runs. */
static bool receive_tree(struct house *house, int socket)
{
    int received[2] = {-1, -1};

    house->whole = -1;
    if (!house->plan->doorman.asks)
        return true;
    if (!receive_descriptors(socket, received) || !grants_make(house))
        return false;
    house->whole = received[0];
    return true;
}

static bool enter(pid_t init)
{
    FD_CLEANUP int pidfd = (int)syscall(SYS_pidfd_open, init, 0);

    return pidfd >= 0 && setns(pidfd, CLONE_NEWUSER | CLONE_NEWNS) == 0;
}

static void set_limits(const struct plan *plan)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    /* No file grows by truncate(2) beyond what the command may write. */
    struct rlimit size = {plan->file_size, plan->file_size};
    if (plan->file_size)
        setrlimit(RLIMIT_FSIZE, &size);
}

static void interrupted(int signal)
{
    (void)signal;
}

/* The warden's way to break off a system call. */
static bool be_interruptible(void)
{
    const struct sigaction action = {.sa_handler = interrupted};
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    return sigaction(SIGUSR1, &action, NULL) == 0 && sigprocmask(SIG_UNBLOCK, &set, NULL) == 0;
}

static void go_on(const struct house *house, uint64_t id)
{
    receive_answer(house, (struct seccomp_notif_resp){.id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE});
}

/* umask is observed only, and its argument is in a register: nobody can exchange
 * it. From now on each caller is asked what its own is. */
static bool is_umask(struct house *house, const struct seccomp_notif *call)
{
    if (call->data.nr != SYS_umask || refuse_find_denied(house, SYS_umask))
        return false;
    atomic_store(&house->umask_varies, true);
    go_on(house, call->id);
    return true;
}

static void serve(struct house *house, const struct seccomp_notif *call)
{
    if (is_umask(house, call))
        return;
    struct request *request = pool_take(house);
    int error = read_request(house, call, request);
    if (!error)
        error = at_once(house, request);
    /* Was it the caller's memory and not that of a newcomer with its number? */
    bool valid = receive_is_valid(house, call->id);
    if (valid && !error) {
        pool_submit(house, request);
        return;
    }
    request_clear(request);
    /* The kernel finds the same fault, and it is its to tell. */
    bool is_look = request->kind == REQUEST_LOOK;
    if (valid && is_look)
        go_on(house, call->id);
    else if (valid)
        pool_answer_error(house, request, error);
    pool_give_back(house, request);
}

static void serve_all(struct house *house, struct seccomp_notif *call, atomic_uint *taken)
{
    do
        serve(house, call);
    while (receive_call(house, taken, call));
}

void doorman_main(void *argument, int socket, int records, pid_t init, atomic_uint *taken)
{
    const struct plan *plan = argument;
    static struct house house;
    struct seccomp_notif call;

    house = (struct house){
        .plan = plan,
        .policy = plan->policy,
        .records = records,
        .made.mutex = PTHREAD_MUTEX_INITIALIZER,
        .abstract.mutex = PTHREAD_MUTEX_INITIALIZER,
        .is_root = geteuid() == 0,
        .proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC),
        .umask = umask(0),
    };
    note_handed_in(&house);
    /* The run was refused: the supervisor knows why, says so, and ends us. */
    while (!receive(&house, socket))
        pause();
    receive_begin(&house);
    if (house.proc < 0 || !confine_foyer() || !foyer_wait(&house, taken, &call))
        _exit(1);
    note_search_path(&house);
    set_limits(plan);
    /* The supervisor's memory, and pid 1's: not for one that hostile arguments come to. */
    if (!arena_part(plan->policy->arena) || !open_host(&house))
        _exit(1);
    rename_index(plan->policy, &house.renames);
    if (!receive_tree(&house, socket) || !refuse_note_denied(&house) || !enter(init) || !name_note_mounts(&house) ||
        !pool_make(&house))
        _exit(1);
    own_view_make(&house);
    at_once_begin(&house);
    if (!be_interruptible() || !confine_doorman(&house) || !fetch_start(&house) || !pool_start_threads(&house))
        _exit(1);
    serve_all(&house, &call, taken);
    _exit(1);
}

void doorman_clear_away(void)
{
    lock_clear_away();
}
