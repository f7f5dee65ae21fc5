/* A refusal is told when policy is what made the call fail, and only then. The
 * kernel is asked whether it would have allowed the call without the sandbox: a
 * file that its mode keeps shut, or a name that is there already, is nobody's
 * news. Nothing here is done for a call that is allowed.
 *
 * A supervisor that reads slowly slows down whoever causes much to be told: the
 * thread that tells counts as waiting, and another takes its place. */
#include "doorman/tell.h"

#include "base/fd.h"
#include "base/path.h"
#include "doorman/fetch.h"
#include "doorman/receive.h"
#include "doorman/records.h"
#include "policy/built_in.h"
#include "policy/decide.h"
#include "policy/later.h"
#include "policy/protect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { FUSE_MAGIC = 0x65735546 };

/* How policy refuses; everything else is an ordinary failure. */
static bool is_refusal(int error)
{
    return error == EACCES || error == EROFS || error == EPERM || error == EBUSY || error == EXDEV;
}

static bool is_silent(const struct house *house)
{
    return house->records < 0 || house->policy->violation.watch == WATCH_OFF;
}

/* What is refused is noticed for those who can be asked as well. */
static bool is_off(const struct house *house)
{
    return is_silent(house) && !house->grants;
}

/* Taken while the lock is held: a directory is not moved meanwhile. */
static uint64_t next_number(struct house *house)
{
    return atomic_fetch_add(&house->told, 1) + 1;
}

/* The first thing that was refused is why the call failed. */
static void notice(struct worker *worker, enum doorman_record_kind kind, enum doorman_record_verdict verdict,
                   struct slice path, const char *reason)
{
    struct noticed *noticed = &worker->noticed;

    if (noticed->any)
        return;
    noticed->any = true;
    noticed->kind = kind;
    noticed->verdict = verdict;
    noticed->reason = reason;
    noticed->error = 0;
    noticed->number = next_number(worker->house);
    noticed->length = path.len < sizeof noticed->path ? path.len : sizeof noticed->path;
    memcpy(noticed->path, path.ptr, noticed->length);
}

/* Of the mount the kernel speaks last, with EROFS: EACCES means the modes. */
static bool modes_allow(int fd, int access)
{
    return faccessat(fd, "", access, AT_EMPTY_PATH | AT_EACCESS) == 0 || errno == EROFS;
}

static void tell_write(struct worker *worker, const struct name *name, const char *why)
{
    if (name->kind != NAME_DOUBTFUL)
        notice(worker, RECORD_WRITE, RECORD_DENIED, name_slice(name), why);
}

/* Hidden by policy: what stands there is a mask, or shows only a part, and its mode
 * says nothing. */
static bool is_hidden(const struct house *house, struct slice path)
{
    return !decide_real_path(house->policy, OPERATION_READ, path).allowed;
}

/* Would it be allowed without a sandbox? */
static bool is_policys(const struct worker *worker, int directory, const struct entry_name *entry, int error)
{
    return is_refusal(error) && !is_off(worker->house) &&
           (modes_allow(directory, W_OK | X_OK) || is_hidden(worker->house, path_parent(name_slice(&entry->name))));
}

void tell_entry(struct worker *worker, int directory, const struct entry_name *entry, int error)
{
    if (is_policys(worker, directory, entry, error))
        tell_write(worker, &entry->name, judge_why(worker->house, &entry->name));
}

void tell_carrying(struct worker *worker, int directory, const struct entry_name *entry, int error)
{
    if (is_policys(worker, directory, entry, error))
        tell_write(worker, &entry->name, RECORD_CARRIES);
}

/* Whose modes, owner and times are changed must be one's own; for the rest the
 * mode counts. */
static bool would_be_allowed(const struct worker *worker, int object, const struct name *name)
{
    const struct request *request = worker->request;
    struct stat status;

    if (is_hidden(worker->house, name_slice(name)))
        return true;
    switch (request->kind) {
    case REQUEST_CHMOD:
    case REQUEST_CHOWN:
        break;
    case REQUEST_TIMES:
        if (request->now && modes_allow(object, W_OK))
            return true;
        break;
    case REQUEST_LINK:
        return true;
    default:
        return modes_allow(object, request->how.flags & O_ACCMODE & O_RDWR ? R_OK | W_OK : W_OK);
    }
    return fstat(object, &status) == 0 &&
           (status.st_uid == geteuid() || (geteuid() == 0 && worker->house->plan->keep_file_capabilities));
}

void tell_object(struct worker *worker, int object, const struct entry_name *entry, int error)
{
    if (is_refusal(error) && !is_off(worker->house) && would_be_allowed(worker, object, &entry->name))
        tell_write(worker, &entry->name, judge_why(worker->house, &entry->name));
}

void tell_unresolved(struct worker *worker, const struct operand *operand, int error)
{
    struct name name;

    if ((error != ENOENT && error != EACCES) || is_off(worker->house) ||
        !resolve_spelled(worker->house, operand, &name))
        return;
    if (worker->request->kind == REQUEST_CONNECT || worker->request->kind == REQUEST_SEND) {
        if (decide_real_path(worker->house->policy, OPERATION_READ, name_slice(&name)).backing != BACKING_HOST ||
            is_hidden(worker->house, name_slice(&name)))
            tell_connect(worker, name_slice(&name));
    } else if (is_hidden(worker->house, path_parent(name_slice(&name)))) {
        notice(worker, RECORD_WRITE, RECORD_DENIED, name_slice(&name), NULL);
    }
}

void tell_git(struct worker *worker, const struct name *name, enum doorman_record_verdict verdict, const char *words)
{
    if (is_off(worker->house))
        return;
    snprintf(worker->noticed.words, sizeof worker->noticed.words, "%s", words);
    notice(worker, RECORD_WRITE, verdict, name_slice(name), worker->noticed.words);
}

void tell_connect(struct worker *worker, struct slice name)
{
    if (worker->house->records >= 0 && !decide_unix(worker->house->policy, name).allowed)
        notice(worker, RECORD_CONNECT, RECORD_DENIED, name, NULL);
}

/* The stub of systemd-resolved, which is where many hosts have their names from: in
 * here nobody is there, but a datagram socket learns that only when it sends. */
static bool is_resolver_of_host(const struct sockaddr_in *address)
{
    enum { STUB = 0x7f000035, DNS_PORT = 53 };

    return address->sin_addr.s_addr == htonl(STUB) && address->sin_port == htons(DNS_PORT);
}

void tell_network(struct worker *worker, const struct sockaddr_storage *address, socklen_t length, int error)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
    char host[INET6_ADDRSTRLEN] = "";
    char text[INET6_ADDRSTRLEN + 16];
    bool is_v4 = address->ss_family == AF_INET && length >= sizeof *v4;
    bool is_v6 = address->ss_family == AF_INET6 && length >= sizeof *v6;

    if (worker->house->plan->network != NETWORK_NONE || (!is_v4 && !is_v6) ||
        (error != ENETUNREACH && !(is_v4 && is_resolver_of_host(v4))))
        return;
    inet_ntop(address->ss_family, is_v4 ? (const void *)&v4->sin_addr : &v6->sin6_addr, host, sizeof host);
    int written = snprintf(text, sizeof text, is_v4 ? "%s:%u" : "[%s]:%u", host,
                           (unsigned)ntohs(is_v4 ? v4->sin_port : v6->sin6_port));
    notice(worker, RECORD_NETWORK, RECORD_DENIED, (struct slice){text, (size_t)written}, NULL);
    worker->noticed.error = ENETUNREACH;
}

static bool is_in_node_modules(struct slice path)
{
    static const struct slice directory = SLICE("/node_modules/");

    return memmem(path.ptr, path.len, directory.ptr, directory.len) != NULL;
}

static bool is_on_search_path(const struct house *house, struct slice path)
{
    struct slice directory = path_parent(path);

    for (size_t i = 0; i < house->search_count; i++) {
        if (slice_equal(directory, house->search[i]))
            return true;
    }
    return false;
}

/* A file that says where git's directory is, or what a rebase that goes on is to do: both ordinary to
 * whoever makes them, as far as names go. */
static bool is_git_word(const struct worker *worker, struct slice path)
{
    return !protect_is_off(worker->house->policy) &&
           ((protect_is_git_pointer(path) && worker->request->kind != REQUEST_MKDIR) || later_is_sequence(path));
}

/* A directory or a link may bring things under protected names at once: `.claude`, with its commands. A git
 * directory is one by what is in it, and told of then. */
static bool brings_protected(const struct worker *worker, struct slice path)
{
    static const struct slice git = SLICE("/.git/");

    return (worker->request->kind == REQUEST_RENAME || worker->request->kind == REQUEST_SYMLINK) &&
           !memmem(path.ptr, path.len, git.ptr, git.len) && !protect_is_git_pointer(path) &&
           (protect_is_prefix(worker->house->policy, path) || later_is_prefix(path));
}

/* Is it a name that may run outside one day? The supervisor looks at what became
 * of it when the run is over. */
static bool tell_later(struct worker *worker, const struct name *name)
{
    struct slice path = name_slice(name);
    const char *reason = NULL;

    if (is_off(worker->house) || name->kind != NAME_KNOWN)
        return false;
    /* Git puts examples into every new repository, and runs none. */
    bool lifted = name->is_lifted && !slice_ends(path, SLICE(".sample"));
    if (!lifted && judge_marks_new_git(worker->house, path) &&
        (worker->request->kind == REQUEST_UNLINK || judge_looks_like_git(worker->house, path_parent(path)))) {
        notice(worker, RECORD_LATER, RECORD_OBSERVED, path_parent(path), RECORD_GIT);
        return true;
    }
    lifted = lifted || is_git_word(worker, path) || brings_protected(worker, path);
    if (!lifted && is_in_node_modules(path))
        return false;
    if (!lifted && is_on_search_path(worker->house, path))
        reason = RECORD_ON_PATH;
    else if (!lifted && !slice_is(path_name(path), "package.json") && !later_words(path))
        return false;
    notice(worker, RECORD_LATER, RECORD_OBSERVED, path, reason);
    return true;
}

void tell_moved(struct worker *worker, const struct name *from, const struct name *to, bool exchanged)
{
    struct noticed *noticed = &worker->noticed;

    if (is_off(worker->house) || from->kind != NAME_KNOWN || to->kind != NAME_KNOWN)
        return;
    noticed->moved = true;
    noticed->exchanged = exchanged;
    noticed->moved_number = next_number(worker->house);
    noticed->from_length = from->length;
    memcpy(noticed->from, from->text, from->length);
    noticed->to_length = to->length;
    memcpy(noticed->to, to->text, to->length);
}

void tell_made(struct worker *worker, const struct name *name)
{
    tell_written(worker, name);
}

/* Where a run is learned from, only what its policy does not give anyway is worth telling. */
static bool is_news(const struct house *house, enum operation operation, struct slice path)
{
    if (!house->policy->around.is_learning)
        return operation == OPERATION_WRITE;
    struct decision decision = decide_real_path(house->policy, operation, path);
    return decision.allowed && built_in_is_learned(&decision.origin);
}

void tell_written(struct worker *worker, const struct name *name)
{
    if (tell_later(worker, name))
        return;
    if (worker->house->policy->violation.watch == WATCH_ALL && name->kind == NAME_KNOWN &&
        is_news(worker->house, OPERATION_WRITE, name_slice(name)))
        notice(worker, RECORD_WRITE, RECORD_OBSERVED, name_slice(name), NULL);
}

/* Where a mask stands, its mode says nothing. */
void tell_read(struct worker *worker, int object, const struct name *name)
{
    if (name->kind == NAME_DOUBTFUL || is_off(worker->house))
        return;
    if (plan_access_at(worker->house->plan, name_slice(name)) == ACCESS_NONE || modes_allow(object, R_OK))
        notice(worker, RECORD_READ, RECORD_DENIED, name_slice(name), NULL);
}

/* Is there, or nearest above, a mask that tells of itself whom it meets (watch/tripwire.c)? */
static bool is_wired(int object, struct slice path)
{
    FD_CLEANUP int above = -1;
    struct statfs status;

    while (object < 0 && above < 0 && path.len > 1) {
        path = path_parent(path);
        above = resolve_exactly(AT_FDCWD, path, O_PATH);
    }
    return fstatfs(object < 0 ? above : object, &status) == 0 && status.f_type == FUSE_MAGIC;
}

void tell_reading(struct worker *worker, const struct operand *operand, int object, int error)
{
    struct name name;

    if (object < 0) {
        if ((error != ENOENT && error != EACCES) || !resolve_spelled(worker->house, operand, &name))
            return;
    } else {
        name_of(worker->house, object, &name);
        if (name.kind != NAME_KNOWN)
            return;
        if (faccessat(object, "", R_OK, AT_EMPTY_PATH | AT_EACCESS) == 0) {
            if (is_news(worker->house, OPERATION_READ, name_slice(&name)))
                notice(worker, RECORD_READ, RECORD_OBSERVED, name_slice(&name), NULL);
            return;
        }
        error = errno;
    }
    if (is_hidden(worker->house, name_slice(&name)) &&
        (worker->house->grants || !is_wired(object, name_slice(&name)))) {
        notice(worker, RECORD_READ, RECORD_DENIED, name_slice(&name), NULL);
        worker->noticed.error = error;
    }
}

void tell_call(struct worker *worker, const char *reason, bool is_probe)
{
    if (!is_off(worker->house))
        notice(worker, RECORD_CALL, is_probe ? RECORD_OBSERVED : RECORD_DENIED, SLICE(""), reason);
}

static bool send_at_once(int fd, const struct doorman_record *record)
{
    struct iovec part = {(void *)(uintptr_t)record, doorman_record_size(record)};
    const struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno != EAGAIN;
}

static void send_record(struct worker *worker, const struct doorman_record *record)
{
    int fd = worker->house->records;

    if (send_at_once(fd, record))
        return;
    bool is_replaced = worker_may_wait(worker);
    doorman_record_send(fd, record);
    if (is_replaced)
        worker_has_waited(worker);
}

static void send_move(struct worker *worker)
{
    const struct noticed *noticed = &worker->noticed;
    struct doorman_record record = {.kind = RECORD_MOVED,
                                    .verdict = RECORD_OBSERVED,
                                    .number = noticed->moved_number,
                                    .call = worker->request->call};

    doorman_record_add(&record, &record.path_length, noticed->to, noticed->to_length);
    doorman_record_add(&record, &record.program_length, noticed->from, noticed->from_length);
    if (noticed->exchanged)
        doorman_record_add(&record, &record.reason_length, RECORD_EXCHANGED, strlen(RECORD_EXCHANGED));
    send_record(worker, &record);
}

void tell_send(struct worker *worker, const struct answer *answer)
{
    const struct noticed *noticed = &worker->noticed;
    struct caller caller = {0};

    if (is_silent(worker->house))
        return;
    if (noticed->moved)
        send_move(worker);
    if (!noticed->any)
        return;
    int error = noticed->error ? noticed->error : answer->error;
    /* What was refused has failed, and what was seen to be done was done. */
    if (noticed->kind != RECORD_CALL && (noticed->verdict == RECORD_DENIED) != (error != 0))
        return;
    fetch_caller(worker->house, worker->request->thread, &caller);
    /* Was it the caller, and not a newcomer with its number? */
    if (!receive_is_valid(worker->house, worker->request->id))
        caller = (struct caller){0};
    struct doorman_record record = {
        .kind = noticed->kind,
        .verdict = noticed->verdict,
        .number = noticed->number,
        .call = worker->request->call,
        .error = error,
        .process = caller.process,
        .parent = caller.parent,
    };
    doorman_record_add(&record, &record.path_length, noticed->path, noticed->length);
    doorman_record_add(&record, &record.program_length, caller.program, caller.program_length);
    doorman_record_add(&record, &record.parent_program_length, caller.parent_program, caller.parent_program_length);
    if (noticed->reason)
        doorman_record_add(&record, &record.reason_length, noticed->reason, strlen(noticed->reason));
    send_record(worker, &record);
}
