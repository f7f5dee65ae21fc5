/* Threads are started when they are needed. One that may have to wait for the
 * world (a FIFO's other end, a full backlog) says so and is replaced; a warden
 * looks from time to time whether its caller is still there and has no signal to
 * attend to, and else breaks the wait off. There are bounds to everything: when they are
 * reached the reader stops reading, and callers wait in the kernel. */
#include "doorman/pool.h"

#include "base/fd.h"
#include "doorman/appeal.h"
#include "doorman/confine.h"
#include "doorman/copy.h"
#include "doorman/line.h"
#include "doorman/lock.h"
#include "doorman/perform.h"
#include "doorman/receive.h"
#include "doorman/tell.h"
#include "doorman/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { ACTIVE_MAX = 4, WAITING_MAX = 256, STACK_SIZE = 256 * 1024 };

struct waiter {
    bool used;
    bool broken_off;
    pthread_t thread;
    uint64_t id;
    pid_t caller;
};

struct pool {
    struct house *house;
    struct placement placement;
    pthread_mutex_t mutex;
    pthread_cond_t freed;
    struct line lines[POOL_KINDS];
    struct request *free[REQUESTS_MAX];
    size_t free_count;
    size_t made_count;
    struct waiter waiters[WAITING_MAX];
    size_t waiter_count;
    bool has_warden;
    pthread_cond_t awaited;
    pthread_cond_t wanted; /* threads, by one who cannot start them */
};

struct start {
    struct pool *pool;
    enum pool_kind kind;
    struct performer performer;
};

static enum pool_kind kind_of(const struct request *request)
{
    if (request->is_appealed)
        return POOL_APPEALS;
    return request->kind == REQUEST_CONNECT || request->kind == REQUEST_SEND ? POOL_SOCKETS : POOL_FILES;
}

struct number worker_number(int fd)
{
    struct number number;

    snprintf(number.text, sizeof number.text, "%d", fd);
    return number;
}

/* The caller is woken for it, and not for its own sake: it sleeps again until it is
 * answered. The kernel would wake it on an idle processor, as if it had work to do
 * there beside ours; so it is held on ours. It cannot notice: no signal but a fatal one
 * reaches it before the answer. But other threads could, and what they set meanwhile
 * would be lost; and if there are other callers, they must not wait until this one
 * gets its turn here. */
static int install(const struct house *house, const struct request *request, const struct performer *performer,
                   struct seccomp_notif_addfd *add)
{
    bool hold = performer->processor != PLACEMENT_ANYWHERE && copy_is_single(house, request->thread);
    struct placement_pull pull = {.pulled = false};

    if (hold)
        placement_pull(&house->pool->placement, request->thread, &pull);
    int number = ioctl(house->listener, SECCOMP_IOCTL_NOTIF_ADDFD, add);
    int error = errno;
    if (hold)
        placement_let_go(request->thread, &pull);
    return number < 0 ? -error : number;
}

/* What is to be sent, with the descriptor in its place. */
static struct seccomp_notif_resp prepare(const struct house *house, const struct request *request, struct answer answer,
                                         const struct performer *performer)
{
    struct seccomp_notif_resp response = {.id = request->id, .error = -answer.error, .val = answer.value};

    if (answer.fd >= 0) {
        struct seccomp_notif_addfd add = {
            .id = request->id,
            .srcfd = (unsigned)answer.fd,
            .newfd_flags = answer.close_on_exec ? O_CLOEXEC : 0,
        };
        int number = install(house, request, performer, &add);
        if (number < 0)
            response.error = number;
        response.val = number;
        /* While it is open here for writing, the caller could not execute it. */
        close(answer.fd);
    }
    if (answer.goes_on)
        response = (struct seccomp_notif_resp){.id = request->id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    if (response.error)
        response.val = 0;
    return response;
}

void pool_answer_error(const struct house *house, const struct request *request, int error)
{
    receive_answer(house, (struct seccomp_notif_resp){.id = request->id, .error = -error});
}

/* To those who may ask. */
static void hand_on(struct pool *pool, struct request *request)
{
    pthread_mutex_lock(&pool->mutex);
    request->is_appealed = true;
    struct performer *performer = line_give(&pool->lines[POOL_APPEALS], request, &pool->placement, PLACEMENT_ANYWHERE);
    pthread_cond_signal(&pool->wanted); /* not by us, who stand under the rules */
    pthread_mutex_unlock(&pool->mutex);
    if (performer)
        performer_hand(performer, request);
}

/* The next request, if there is one already; what the performer is done with is free
 * again. */
static struct request *take_next(struct pool *pool, struct line *line, struct performer *performer,
                                 struct request *done)
{
    pthread_mutex_lock(&pool->mutex);
    if (done) {
        pool->free[pool->free_count++] = done;
        pthread_cond_signal(&pool->freed);
    }
    struct request *next = line_take(line, performer);
    pthread_mutex_unlock(&pool->mutex);
    return next;
}

static void *worker_main(void *argument)
{
    struct start *start = argument; /* lives as long as the thread, which is for ever */
    struct performer *performer = &start->performer;
    struct pool *pool = start->pool;
    struct house *house = pool->house;
    struct line *line = &pool->lines[start->kind];
    struct worker worker = {.house = house, .lock = lock_open(house->self, house->lock)};

    performer->thread = gettid();
    if (worker.lock < 0 || !confine_performer(house, start->kind == POOL_FILES))
        _exit(1);
    pthread_mutex_lock(&pool->mutex);
    line->starting--;
    struct request *request = line_take(line, performer);
    pthread_mutex_unlock(&pool->mutex);
    for (;;) {
        if (!request)
            request = performer_wait(performer);
        struct answer answer =
            start->kind == POOL_APPEALS ? appeal_perform(&worker, request) : perform(&worker, request);
        if (start->kind != POOL_APPEALS && appeal_is_open(&worker, &answer)) {
            hand_on(pool, request);
            request = take_next(pool, line, performer, NULL);
            continue;
        }
        /* Before the caller goes on: a file that we hold open for writing it could not execute. */
        request_clear(request);
        tell_send(&worker, &answer);
        struct seccomp_notif_resp response = prepare(house, request, answer, performer);
        request = take_next(pool, line, performer, request);
        receive_answer(house, response);
    }
    return NULL;
}

/* With the mutex held. A thread that cannot be had is done without, if there is
 * another; else it is waited for, and the mutex let go meanwhile: then this says true. */
static bool start_thread(struct pool *pool, enum pool_kind kind)
{
    struct start *start = malloc(sizeof *start);
    const struct thread thread = {worker_main, start, STACK_SIZE};
    struct line *line = &pool->lines[kind];
    bool is_first = line->threads == line->waiting;
    bool waits = false;

    line->threads++;
    line->starting++;
    if (start) {
        *start = (struct start){pool, kind, {.processor = PLACEMENT_ANYWHERE}};
        sem_init(&start->performer.given, 0, 0);
    }
    bool started = start && thread_start(&thread);
    if (start && !started && is_first) {
        waits = true;
        pthread_mutex_unlock(&pool->mutex);
        started = thread_start_in_the_end(&thread);
        pthread_mutex_lock(&pool->mutex);
    }
    if (!started) {
        line->threads--;
        line->starting--;
        free(start);
        if (is_first)
            _exit(1);
    }
    return waits;
}

/* True: something may have come meanwhile. */
static bool attend_to(struct pool *pool, enum pool_kind kind)
{
    struct line *line = &pool->lines[kind];

    return line->queued > line->starting && line->threads - line->waiting < ACTIVE_MAX && start_thread(pool, kind);
}

static bool attend_to_all(struct pool *pool)
{
    bool again = false;

    for (size_t i = 0; i < POOL_KINDS; i++)
        again |= attend_to(pool, (enum pool_kind)i);
    return again;
}

/* A thread inherits the Landlock rules of the one that starts it, and can take on
 * only so many on top of them: so performers do not start one another. */
static void *starter_main(void *argument)
{
    struct pool *pool = argument;

    if (!confine_starter(pool->house))
        _exit(1);
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        while (attend_to_all(pool))
            continue;
        pthread_cond_wait(&pool->wanted, &pool->mutex);
    }
    return NULL;
}

struct request *pool_take(struct house *house)
{
    struct pool *pool = house->pool;
    struct request *request = NULL;

    pthread_mutex_lock(&pool->mutex);
    while (!request) {
        if (pool->free_count > 0) {
            request = pool->free[--pool->free_count];
        } else if (pool->made_count < REQUESTS_MAX && (request = malloc(sizeof *request))) {
            pool->made_count++;
        } else {
            pthread_cond_wait(&pool->freed, &pool->mutex);
        }
    }
    pthread_mutex_unlock(&pool->mutex);
    return request;
}

void pool_give_back(struct house *house, struct request *request)
{
    struct pool *pool = house->pool;

    request_clear(request);
    pthread_mutex_lock(&pool->mutex);
    pool->free[pool->free_count++] = request;
    pthread_mutex_unlock(&pool->mutex);
}

void pool_submit(struct house *house, struct request *request)
{
    struct pool *pool = house->pool;
    enum pool_kind kind = kind_of(request);

    pthread_mutex_lock(&pool->mutex);
    struct performer *performer =
        line_give(&pool->lines[kind], request, &pool->placement, placement_here(&pool->placement));
    attend_to(pool, kind);
    pthread_mutex_unlock(&pool->mutex);
    if (performer)
        performer_hand(performer, request);
}

static void *warden_main(void *argument)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    struct pool *pool = argument;

    for (;;) {
        pthread_mutex_lock(&pool->mutex);
        while (pool->waiter_count == 0)
            pthread_cond_wait(&pool->awaited, &pool->mutex);
        for (size_t i = 0; i < WAITING_MAX; i++) {
            struct waiter *waiter = &pool->waiters[i];
            if (waiter->used &&
                (!receive_is_valid(pool->house, waiter->id) || copy_has_signal(pool->house, waiter->caller))) {
                waiter->broken_off = true;
                pthread_kill(waiter->thread, SIGUSR1);
            }
        }
        pthread_mutex_unlock(&pool->mutex);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static struct waiter *waiter_for(struct pool *pool, bool used, uint64_t id)
{
    for (size_t i = 0; i < WAITING_MAX; i++) {
        if (pool->waiters[i].used == used && (!used || pool->waiters[i].id == id))
            return &pool->waiters[i];
    }
    return NULL;
}

bool worker_may_wait(struct worker *worker)
{
    struct pool *pool = worker->house->pool;
    const struct request *request = worker->request;
    enum pool_kind kind = kind_of(request);
    const struct thread warden = {.main = warden_main, .argument = pool};

    lock_leave(worker->lock); /* what was judged is pinned; nobody is to wait for us */
    pthread_mutex_lock(&pool->mutex);
    struct waiter *waiter = waiter_for(pool, false, 0);
    bool room = waiter != NULL;
    if (room && !pool->has_warden)
        room = pool->has_warden = thread_start(&warden);
    if (room) {
        *waiter = (struct waiter){.used = true, .thread = pthread_self(), .id = request->id, .caller = request->thread};
        pool->waiter_count++;
        pool->lines[kind].waiting++;
        pthread_cond_signal(&pool->wanted);
        pthread_cond_signal(&pool->awaited);
    }
    pthread_mutex_unlock(&pool->mutex);
    return room;
}

bool worker_has_waited(struct worker *worker)
{
    struct pool *pool = worker->house->pool;

    pthread_mutex_lock(&pool->mutex);
    struct waiter *waiter = waiter_for(pool, true, worker->request->id);
    bool broken_off = waiter->broken_off;
    waiter->used = false;
    pool->waiter_count--;
    pool->lines[kind_of(worker->request)].waiting--;
    pthread_mutex_unlock(&pool->mutex);
    return broken_off;
}

bool pool_start_threads(struct house *house)
{
    const struct thread starter = {.main = starter_main, .argument = house->pool};

    return thread_start_in_the_end(&starter);
}

bool pool_make(struct house *house)
{
    struct pool *pool = calloc(1, sizeof *pool);

    if (!pool)
        return false;
    *pool = (struct pool){.house = house,
                          .mutex = PTHREAD_MUTEX_INITIALIZER,
                          .freed = PTHREAD_COND_INITIALIZER,
                          .awaited = PTHREAD_COND_INITIALIZER,
                          .wanted = PTHREAD_COND_INITIALIZER};
    placement_find(&pool->placement);
    house->pool = pool;
    return true;
}
