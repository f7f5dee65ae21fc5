/* One system call of the command that waits for an answer: everything in it is
 * the doorman's own copy. Private to this room. */
#ifndef CLOCHE_DOORMAN_REQUEST_H
#define CLOCHE_DOORMAN_REQUEST_H

#include "base/slice.h"

#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <time.h>

enum request_kind {
    REQUEST_OPEN,
    REQUEST_LOOK, /* opening for reading: looked at only */
    REQUEST_MKDIR,
    REQUEST_MKNOD,
    REQUEST_SYMLINK,
    REQUEST_LINK,
    REQUEST_UNLINK, /* and rmdir */
    REQUEST_RENAME,
    REQUEST_TRUNCATE,
    REQUEST_CHMOD,
    REQUEST_CHOWN,
    REQUEST_TIMES,
    REQUEST_SET_ATTRIBUTE,
    REQUEST_REMOVE_ATTRIBUTE,
    REQUEST_BIND,
    REQUEST_CONNECT,
    REQUEST_SEND,
    REQUEST_REFUSED /* whatever it is about */
};

/* What a path is relative to, and the path. */
struct operand {
    int base;     /* O_PATH; -1: the root */
    bool is_base; /* there is no path: the descriptor itself is meant */
    char path[PATH_MAX];
    size_t length;
};

enum { ATTRIBUTE_NAME_MAX = 256, ATTRIBUTE_VALUE_MAX = 65536 };

/* The kernel's SCM_MAX_FD: descriptors in one message. */
enum { RIGHTS_MAX = 253 };

struct refusal_of_call;

struct request {
    uint64_t id;  /* the kernel's, for the answer */
    pid_t thread; /* the caller, as the host numbers it */
    enum request_kind kind;
    struct operand operands[2];

    struct open_how how; /* REQUEST_OPEN */
    bool has_resolve;    /* it was openat2: `how.resolve` counts */
    unsigned flags;      /* AT_*, RENAME_*, XATTR_*, MSG_* */
    bool no_follow;      /* a link at the end is meant itself */
    mode_t mode;
    mode_t umask;
    bool other_user; /* than the run was started by: `as_user` and `as_group` count */
    uid_t as_user;
    gid_t as_group;
    dev_t device;
    uid_t user;
    gid_t group;
    off_t size;
    bool now; /* REQUEST_TIMES without times */
    struct timespec times[2];
    char text[PATH_MAX]; /* a link's target, or the name of an attribute */
    void *value;         /* of an attribute, or what is sent: from malloc */
    size_t value_size;

    bool is_appealed; /* policy has refused it, and somebody can be asked */

    const struct refusal_of_call *refusal; /* REQUEST_REFUSED */
    int call;                              /* the system call's number */

    int socket; /* the caller's own, duplicated; -1: none */
    struct sockaddr_storage address;
    socklen_t address_length; /* 0: none is given */

    /* REQUEST_SEND; what is sent is `value`. */
    int domain; /* of the socket, and its type */
    int type;
    void *control; /* its messages, from malloc; descriptors in them are our own ... */
    size_t control_size;
    int rights[RIGHTS_MAX]; /* ... and these */
    size_t right_count;
    int caller;           /* a pidfd */
    int memory;           /* the caller's, who wants to be told there how much was sent; -1: it does not */
    uint64_t length_at;   /* there */
    struct request *next; /* sendmmsg: another message for the same socket; only what differs is in it */
};

/* The kernel's own ERESTARTSYS: the call is made again after a signal, or fails
 * with EINTR, as the caller has arranged. */
enum { ANSWER_RESTART = 512 };

/* Never told to anybody: it has to be done once more, with the lock held alone. */
enum { ANSWER_ALONE = 513 };

/* What the caller gets. */
struct answer {
    int error; /* an errno, 0 if it succeeded */
    int64_t value;
    int fd; /* a descriptor to be installed, whose number is the value; -1: none */
    bool close_on_exec;
    bool goes_on; /* it was only looked at, and the kernel does it: never to allow what was asked about */
};

static inline struct answer answer_error(int error)
{
    return (struct answer){.error = error, .fd = -1};
}

static inline struct answer answer_value(int64_t value)
{
    return (struct answer){.value = value, .fd = -1};
}

/* Of a call that returned -1 and set errno, or did not. */
struct answer answer_of(int64_t result);

/* Closes and frees whatever it holds. */
void request_clear(struct request *request);

/* Everything as if nothing was asked, but for the texts: their lengths count. */
void request_begin(struct request *request, uint64_t id, pid_t thread);

/* Closes the caller's descriptors: before the answer, or the caller could find
 * something still open that it has closed. */
void request_let_go(struct request *request);

#endif
