/* What the doorman tells the supervisor while a run lasts: records over a socket
 * of packets, one each, in this form. The supervisor never waits for them and
 * the doorman waits until there is room: a command that causes many is slowed, and none
 * is lost.
 *
 * A record is sent BEFORE its call is answered: whoever got an answer has been
 * told of, even if the doorman is killed in the next moment. And not while the lock
 * that runs share is held (lock.c): a supervisor that is stopped reads nothing. */
#ifndef CLOCHE_DOORMAN_RECORDS_H
#define CLOCHE_DOORMAN_RECORDS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum doorman_record_kind {
    RECORD_READ,
    RECORD_WRITE,
    RECORD_CONNECT, /* a socket by its path, or "@name" */
    RECORD_NETWORK, /* where there is none: the address is in place of a path, as "1.2.3.4:80" or "[::1]:80" */
    RECORD_CALL,    /* a system call that is refused whatever its arguments; no path */
    RECORD_LATER,   /* a name that the host may run one day was made, or removed; observed */
    RECORD_MOVED,   /* something has the name `path` now; the one it had is in place of the program */
    RECORD_KINDS
};

/* The reason of a RECORD_LATER: it is in a directory of $PATH, and counts if it can be executed. */
#define RECORD_ON_PATH "on PATH"
/* The same: this directory has become a git directory, whatever its name, or has ceased to be one. */
#define RECORD_GIT "a git directory"
/* The reason of a RECORD_MOVED: each of the two has the other's name now. */
#define RECORD_EXCHANGED "exchanged"

/* The reason of a RECORD_WRITE: the directory was to be moved. */
#define RECORD_CARRIES "a rule speaks of something in it, which would get another name"

/* RECORD_ASKED: it is refused unless the supervisor says otherwise, and the call waits for that. */
enum doorman_record_verdict { RECORD_DENIED, RECORD_ALLOWED, RECORD_OBSERVED, RECORD_ASKED, RECORD_VERDICTS };

/* What the supervisor says to a RECORD_ASKED, over the same socket. */
/* REPLY_DIRECTORY: for the run, with all of the directory that it is in. */
enum doorman_reply { REPLY_NO, REPLY_ONCE, REPLY_RUN, REPLY_DIRECTORY, REPLY_NEVER };

struct doorman_answer {
    uint64_t number; /* the record's */
    uint32_t reply;
};

enum { RECORD_REASON_MAX = 512, RECORD_TEXT_MAX = 3 * PATH_MAX + RECORD_REASON_MAX };

struct doorman_record {
    uint32_t kind;
    uint32_t verdict;
    uint64_t number; /* what was done first has the smaller one, in whatever order records come; gaps are none lost */
    int32_t call;    /* the system call's number */
    int32_t error;   /* errno as the command sees it; 0: none */
    int32_t process; /* as the host counts; 0: not known */
    int32_t parent;
    /* Lengths of what stands in `text`, one behind the other: the object's path as
     * the host names it, what the process and its parent execute, and words of the
     * doorman's own where policy alone does not explain the verdict. No NULs. */
    uint32_t path_length, program_length, parent_program_length, reason_length;
    char text[RECORD_TEXT_MAX];
};

/* Puts the next text behind those that are there, in the order of the lengths;
 * what does not fit is cut. `*length` is the record's field for it. */
void doorman_record_add(struct doorman_record *record, uint32_t *length, const char *bytes, size_t count);

/* How many bytes of a record are used, and sent. */
size_t doorman_record_size(const struct doorman_record *record);

/* Waits until there is room. `fd` of -1: nobody listens. */
void doorman_record_send(int fd, const struct doorman_record *record);

/* In the supervisor: never waits. False: there is none, or nobody sends any more.
 * What is not a whole record of known kind is passed over. */
bool doorman_record_receive(int fd, struct doorman_record *record);

#endif
