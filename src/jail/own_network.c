/* A network namespace takes the kernel longer than any other step of a launch, and
 * nothing but the network needs it. So a thread makes it, and brings its loopback
 * up, while pid 1 makes the mounts; and besides whatever else can be done beside those:
 * what is waited for first, and what pid 1 calls it for later. pid 1 enters the namespace when it
 * is there. The command's process waits for the rest, and when it has become the command
 * pid 1 sees the thread off.
 *
 * The thread holds all signals back: one for pid 1 that the kernel gave to it instead would be
 * lost, and if that tells of the command's end the run would not end. */
#include "jail/own_network.h"

#include "base/fd.h"
#include "jail/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* A large one may get a huge page, which takes longer to clear than all the rest. */
enum { STACK_SIZE = 128 * 1024 };

enum { LOOKS_MAX = 500 };

static bool loopback_up(struct own_network *own)
{
    FD_CLEANUP int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};

    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
        return error_set_errno(&own->error, errno, "cannot bring up the sandbox's own loopback interface");
    own->space = ioctl(fd, SIOCGSKNS); /* works without a /proc */
    return own->space >= 0 ||
           error_set_errno(&own->error, errno, "cannot take hold of the sandbox's network namespace");
}

static bool make_space(struct own_network *own)
{
    if (unshare(CLONE_NEWNET) == 0)
        return true;
    spawn_fail(&own->error);
    own->forbidden = spawn_is_forbidden(errno);
    return false;
}

/* It is a matter of microseconds, and to be woken by another processor takes more of
 * them than to look again. */
static void take_soon(sem_t *semaphore)
{
    for (size_t i = 0; i < LOOKS_MAX; i++) {
        if (sem_trywait(semaphore) == 0)
            return;
        sched_yield();
    }
    while (sem_wait(semaphore) < 0)
        ;
}

static void join_soon(pthread_t thread)
{
    for (size_t i = 0; i < LOOKS_MAX; i++) {
        if (pthread_tryjoin_np(thread, NULL) == 0)
            return;
        sched_yield();
    }
    pthread_join(thread, NULL);
}

/* Before pid 1 goes on and puts its own in order. */
static bool take_descriptors(struct own_network *own)
{
    return unshare(CLONE_FILES) == 0 || error_set_errno(&own->error, errno, "cannot copy a table of descriptors");
}

static bool stand_ready(struct own_network *own)
{
    if (!own->later)
        return true;
    take_soon(&own->called);
    return take_descriptors(own);
}

/* Nothing is done after what fails: without the namespace, it would be done to the
 * host's network. */
static void *make(void *argument)
{
    struct own_network *own = argument;
    bool good = make_space(own);
    bool told = sem_trywait(&own->told) == 0;
    bool early = !told; /* there is time */

    good = good && (!early || loopback_up(own));
    if (!told)
        take_soon(&own->told);
    good = good && (!own->soon || own->soon(own->argument, &own->error));
    own->failed_soon = !good;
    sem_post(&own->done);
    good = good && (early || loopback_up(own)) && stand_ready(own);
    own->failed_made = !good;
    sem_post(&own->made);
    own->failed_later = !good || (own->later && !own->later(own->argument, &own->error));
    sem_post(&own->finished);
    return NULL;
}

/* The thread shares the table of descriptors, and to enlarge a shared one the kernel
 * waits for every processor. Where there may not be so many, it need not grow. */
static void enlarge_table(int any)
{
    int last = fcntl(any, F_DUPFD_CLOEXEC, OWN_NETWORK_DESCRIPTORS - 1);

    if (last >= 0)
        close(last);
}

static int start(struct own_network *own)
{
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;
    int errnum = pthread_attr_init(&attributes);

    if (errnum != 0)
        return errnum;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    errnum = pthread_create(&own->thread, &attributes, make, own);
    pthread_attr_destroy(&attributes);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return errnum;
}

bool own_network_begin(struct own_network *own, int any, struct error *err)
{
    enlarge_table(any);
    own->space = -1;
    sem_init(&own->told, 0, 0);
    sem_init(&own->done, 0, 0);
    sem_init(&own->called, 0, 0);
    sem_init(&own->made, 0, 0);
    sem_init(&own->finished, 0, 0);
    int errnum = start(own);
    if (errnum != 0)
        return error_set_errno(err, errnum, "cannot make a thread for the sandbox's network");
    own->begun = true;
    return true;
}

void own_network_then(struct own_network *own, own_network_work *soon, own_network_work *later, void *argument)
{
    own->soon = soon;
    own->later = later;
    own->argument = argument;
    if (own->begun)
        sem_post(&own->told);
}

void own_network_call(struct own_network *own)
{
    if (own->begun)
        sem_post(&own->called);
}

static bool fail(struct own_network *own, struct error *err)
{
    own_network_end(own);
    *err = own->error;
    return false;
}

bool own_network_wait(struct own_network *own, struct error *err)
{
    if (!own->begun)
        return true;
    take_soon(&own->done);
    return !own->failed_soon || fail(own, err);
}

bool own_network_enter(struct own_network *own, struct error *err)
{
    if (!own->begun)
        return true;
    take_soon(&own->made);
    if (own->failed_made)
        return fail(own, err);
    return setns(own->space, CLONE_NEWNET) == 0 ||
           error_set_errno(err, errno, "cannot enter the sandbox's network namespace");
}

bool own_network_complete(struct own_network *own, struct error *err)
{
    if (!own->begun)
        return true;
    take_soon(&own->finished);
    if (own->failed_later)
        *err = own->error;
    return !own->failed_later;
}

void own_network_end(struct own_network *own)
{
    if (!own->begun)
        return;
    join_soon(own->thread);
    own->begun = false;
}

bool own_network_is_forbidden(const struct own_network *own)
{
    return !own->begun && own->forbidden; /* a thread that was not waited for may still write there */
}
