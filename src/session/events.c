/* Events are made here from what the doorman says. It handles what the command
 * wants of it, so its records are parsed as if they were hostile; the supervisor
 * never waits for one. */
#include "session/events.h"

#include "base/fd.h"
#include "base/path.h"
#include "doorman/records.h"
#include "policy/decide.h"
#include "watch/calls.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* How many records are read before signals and reports have their turn. */
enum { AT_ONCE_MAX = 64 };

static enum event_kind kind_of(const struct doorman_record *record)
{
    switch ((enum doorman_record_kind)record->kind) {
    case RECORD_READ:
        return EVENT_FS_READ;
    case RECORD_WRITE:
        return EVENT_FS_WRITE;
    case RECORD_CONNECT:
        return EVENT_UNIX_CONNECT;
    case RECORD_LATER:
        return EVENT_EXEC_LATER;
    case RECORD_CALL:
    case RECORD_KINDS:
        break;
    }
    return EVENT_SYSCALL;
}

static enum event_verdict verdict_of(const struct doorman_record *record)
{
    if (record->verdict == RECORD_DENIED)
        return EVENT_DENIED;
    return record->verdict == RECORD_ALLOWED ? EVENT_ALLOWED : EVENT_OBSERVED;
}

static struct slice next_text(struct slice *rest, uint32_t length)
{
    struct slice text = {rest->ptr, length};

    *rest = slice_from(*rest, length);
    return text;
}

/* What is hidden looks inside like what is not there, and much is tried that is
 * nowhere. Of what was to be made, the directory counts. */
static bool is_nowhere(const struct event *event)
{
    struct slice object = event->kind == EVENT_FS_WRITE ? path_parent(event->object) : event->object;
    struct stat status;
    char path[PATH_MAX];

    if (event->error != ENOENT || object.len >= sizeof path)
        return false;
    memcpy(path, object.ptr, object.len);
    path[object.len] = '\0';
    if (stat(path, &status) < 0)
        return true;
    return event->kind == EVENT_UNIX_CONNECT && !S_ISSOCK(status.st_mode);
}

static void tell_record(struct events *events, const struct doorman_record *record)
{
    struct slice rest = {record->text, sizeof record->text};
    struct event event = {
        .kind = kind_of(record),
        .verdict = verdict_of(record),
        .op = slice_of(call_name(record->call)),
        .error = record->error,
        .pid = record->process,
        .parent = record->parent,
    };

    event.object = next_text(&rest, record->path_length);
    event.program = next_text(&rest, record->program_length);
    event.parent_program = next_text(&rest, record->parent_program_length);
    event.reason = next_text(&rest, record->reason_length);
    if (event.kind == EVENT_SYSCALL)
        event.object = event.op;
    if (!is_nowhere(&event))
        events_tell(events, &event);
}

static void read_records(void *argument, struct jail_watch *watch)
{
    struct events *events = argument;
    struct doorman_record record;

    for (int i = 0; i < AT_ONCE_MAX; i++) {
        if (!doorman_record_receive(watch->fd, &record))
            return;
        tell_record(events, &record);
    }
}

static void find_rule(const struct policy *policy, struct event *event)
{
    struct decision decision;
    bool is_path = event->object.len > 0 && event->object.ptr[0] == '/';

    if (event->kind == EVENT_FS_READ && is_path)
        decision = decide_real_path(policy, OPERATION_READ, event->object);
    else if (event->kind == EVENT_FS_WRITE && is_path)
        decision = decide_real_path(policy, OPERATION_WRITE, event->object);
    else if (event->kind == EVENT_UNIX_CONNECT)
        decision = decide_unix(policy, event->object);
    else
        return;
    /* What the doorman knows beyond decide(): git's directories, what would be moved. */
    if (decision.allowed && event->kind == EVENT_FS_WRITE && event->verdict == EVENT_DENIED && event->reason.len)
        event->rule = (struct origin){"built-in", "protected names"};
    if (decision.allowed != (event->verdict != EVENT_DENIED))
        return;
    event->rule = decision.origin;
    if (event->reason.len == 0 && event->verdict == EVENT_DENIED)
        event->reason = decision.reason.len || !decision.why ? decision.reason : slice_of(decision.why);
}

void events_tell(struct events *events, const struct event *event)
{
    struct event full = *event;

    if (!full.rule.file && !watch_find(&events->watch, event))
        find_rule(&events->session->policy, &full);
    watch_note(&events->watch, &full);
}

bool events_open(const struct session *session, struct jail_watch *watch, struct events *events, struct error *err)
{
    int ends[2];

    *events = (struct events){.session = session, .records = -1, .doorman = -1};
    *watch = (struct jail_watch){.fd = -1};
    watch_open(&events->watch);
    if (!plan_has_doorman(&session->plan))
        return true;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return error_set_errno(err, errno, "cannot make a socket for the doorman");
    events->records = ends[0];
    events->doorman = ends[1];
    *watch = (struct jail_watch){.fd = events->records, .ready = read_records, .argument = events};
    return true;
}

void events_close(struct events *events)
{
    struct doorman_record record;

    /* Nobody sends any more, so this comes to an end. */
    while (events->records >= 0 && doorman_record_receive(events->records, &record))
        tell_record(events, &record);
    fd_close(&events->records);
    fd_close(&events->doorman);
    watch_finish(&events->watch);
    watch_close(&events->watch);
}
