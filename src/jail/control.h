/* What the supervisor and pid 1 say to each other, over a SOCK_SEQPACKET pair:
 * one small record per message. */
#ifndef CLOCHE_JAIL_CONTROL_H
#define CLOCHE_JAIL_CONTROL_H

#include "base/error.h"

#include <stddef.h>

/* Supervisor to pid 1. */
enum order_kind {
    ORDER_MAPPED,       /* the id maps are written */
    ORDER_NETWORK,      /* `value` is 1 if the run has a network of its own, 0 if it has the host's */
    ORDER_START,        /* the plan is made */
    ORDER_SIGNAL,       /* cloche got signal `value` ... */
    ORDER_GROUP_SIGNAL, /* ... and everything in its process group did, for certain */
    ORDER_HOLD,         /* everything inside is to stop where it is: a question is put to somebody */
    ORDER_LOOK,         /* ... does it still stand where it did? */
    ORDER_RELEASE,      /* ... and to go on */
    ORDER_CONTINUE,     /* the command is to go on; `value` is 1 if the terminal is for it, else 0 */
    ORDER_ENDING        /* nobody is left who could ask the doorman: the last process is about to end */
};

struct order {
    enum order_kind kind;
    int value;
};

/* Pid 1 to supervisor. */
enum report_kind {
    REPORT_REFUSED,       /* could not be set up: `error` */
    REPORT_NO_NAMESPACES, /* because this system gives no usable ones */
    REPORT_NO_PROC,       /* because a fresh /proc is refused, which all else here does not depend on */
    REPORT_NO_COMMAND,    /* 126 or 127 in `value`, `error` */
    REPORT_STARTED,       /* the command is there, and has what it is passed. More reports follow */
    REPORT_STOPPED,       /* the command was stopped by signal `value` */
    REPORT_HELD,          /* everything stands still, if `value` is 1; more reports follow */
    REPORT_LOOKED,        /* ... and has not moved since, if `value` is 1; more reports follow */
    REPORT_TIMED_OUT,     /* the limit was reached, and nothing is alive any more */
    REPORT_LIMIT,         /* a limit was hit: `error` says which. More reports follow */
    REPORT_RENEWED,       /* what has the number `value` is hidden again, see jail_listener. More reports follow */
    REPORT_LED_AWAY,      /* ... cannot be hidden again, see jail_listener. More reports follow */
    REPORT_BLIND,         /* changes of what is hidden are not told any more: it is looked at. More reports follow */
    REPORT_SAID,          /* `error` is for whoever reads what cloche says. More reports follow */
    REPORT_ENDED          /* wait status in `value` */
};

struct report {
    enum report_kind kind;
    int value;
    struct error error;
};

/* All of these are false when the other side is gone. */
bool order_send(int socket, enum order_kind kind, int value);
bool order_receive(int socket, struct order *order);
/* Between two records. Where they cannot be sent, a message without any comes instead. */
bool descriptors_send(int socket, const int *fds, size_t count);
/* One. -1: it did not come. */
bool descriptor_send(int socket, int fd);
int descriptor_receive(int socket);
bool report_send(int socket, enum report_kind kind, int value, const char *text);
/* Without a text, and only if it need not wait for a supervisor that is stopped. */
bool report_offer(int socket, enum report_kind kind, int value);
bool report_receive(int socket, struct report *report);

#endif
