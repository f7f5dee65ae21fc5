/* The sandbox's own network namespace, made beside other work. Private to this room. */
#ifndef CLOCHE_JAIL_OWN_NETWORK_H
#define CLOCHE_JAIL_OWN_NETWORK_H

#include "base/error.h"

#include <pthread.h>
#include <semaphore.h>

typedef bool own_network_work(void *argument, struct error *err);

struct own_network {
    bool begun;
    sem_t told;              /* what is to be done next: */
    own_network_work *soon;  /* NULL: nothing */
    own_network_work *later; /* NULL: nothing */
    void *argument;
    pthread_t thread;
    sem_t done;
    sem_t called; /* for what comes later */
    sem_t made;   /* the namespace is, its loopback is up, and what comes later has begun */
    sem_t finished;
    int space; /* the namespace; -1: there is none */
    bool forbidden;
    /* `error` tells why, and nothing was done after it. */
    bool failed_soon;
    bool failed_made;
    bool failed_later;
    struct error error;
};

/* With more descriptors than these, nothing should be done beside the thread. */
enum { OWN_NETWORK_DESCRIPTORS = 512 };

/* `own` must stay where it is until own_network_end. `any` is any descriptor. */
bool own_network_begin(struct own_network *own, int any, struct error *err);

/* What the thread is to do then, in its namespace, one after the other; NULL: nothing. Only
 * what comes later can count on its loopback; it has descriptors of its own: those that
 * the caller has until it enters. To be told it once, and as soon as it is known: it
 * waits for that. Without a thread nothing is done. */
void own_network_then(struct own_network *own, own_network_work *soon, own_network_work *later, void *argument);

/* The time for what comes later has come; once, and before the namespace is entered. */
void own_network_call(struct own_network *own);

/* Waits until it has done what was to be done soon, if there is a thread; once. */
bool own_network_wait(struct own_network *own, struct error *err);

/* Enters the namespace as soon as it is there, which may be before the thread has done
 * all; once. Nothing, if it was not begun. */
bool own_network_enter(struct own_network *own, struct error *err);

/* Waits until the thread has done what comes later. For whoever shares our memory, once;
 * it may be another process. */
bool own_network_complete(struct own_network *own, struct error *err);

/* Waits until the thread is gone. */
void own_network_end(struct own_network *own);

/* Was that not to be had because this system gives no such namespaces? */
bool own_network_is_forbidden(const struct own_network *own);

#endif
