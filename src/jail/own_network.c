/* A network namespace takes the kernel longer than any other step of a launch, and
 * nothing but the network needs it. So a thread makes it, and brings its loopback
 * up, while pid 1 makes the mounts; and besides whatever else can be done beside those:
 * what is waited for first, and what pid 1 calls it for later. pid 1 then enters it, and
 * the thread is gone. */
#include "jail/own_network.h"

#include "base/fd.h"
#include "jail/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
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

/* It must be gone: a signal for pid 1 that the kernel gave to it instead would be lost, and if
 * that tells of the command's end the run would not end. */
static void join_soon(pthread_t thread)
{
    for (size_t i = 0; i < LOOKS_MAX; i++) {
        if (pthread_tryjoin_np(thread, NULL) == 0)
            return;
        sched_yield();
    }
    pthread_join(thread, NULL);
}

static bool work(struct own_network *own, own_network_work *what)
{
    return !what || what(own->argument, &own->error);
}

static bool work_when_called(struct own_network *own, own_network_work *what)
{
    if (what)
        take_soon(&own->called);
    return work(own, what);
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
    good = good && work(own, own->soon);
    own->failed_soon = !good;
    sem_post(&own->done);
    own->failed_later = good && !((early || loopback_up(own)) && work_when_called(own, own->later));
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

bool own_network_begin(struct own_network *own, int any, struct error *err)
{
    pthread_attr_t attributes;

    enlarge_table(any);
    own->space = -1;
    sem_init(&own->told, 0, 0);
    sem_init(&own->done, 0, 0);
    sem_init(&own->called, 0, 0);
    int errnum = pthread_attr_init(&attributes);
    if (errnum == 0) {
        pthread_attr_setstacksize(&attributes, STACK_SIZE);
        errnum = pthread_create(&own->thread, &attributes, make, own);
        pthread_attr_destroy(&attributes);
    }
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

bool own_network_enter(struct own_network *own, struct error *err)
{
    if (!own->begun)
        return true;
    join_soon(own->thread);
    own->begun = false;
    FD_CLEANUP int space = own->space;
    if (own->failed_soon || own->failed_later) {
        *err = own->error;
        return false;
    }
    return setns(space, CLONE_NEWNET) == 0 ||
           error_set_errno(err, errno, "cannot enter the sandbox's network namespace");
}

bool own_network_wait(struct own_network *own, struct error *err)
{
    if (own->begun)
        take_soon(&own->done);
    return !own->failed_soon || own_network_enter(own, err);
}

bool own_network_is_forbidden(const struct own_network *own)
{
    return !own->begun && own->forbidden; /* a thread that was not waited for may still write there */
}
