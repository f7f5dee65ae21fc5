/* Events are made here from what the doorman says and what limits were hit. The
 * doorman handles what the command wants of it, so its records are parsed as if
 * they were hostile; the supervisor never waits for one.
 *
 * Most runs have nothing to tell. So nothing is opened, and nobody is asked, before
 * the first event. */
#include "session/events.h"

#include "base/fd.h"
#include "base/json.h"
#include "base/log.h"
#include "base/path.h"
#include "doorman/records.h"
#include "policy/protect.h"
#include "session/event_rule.h"
#include "session/hint.h"
#include "session/peer.h"
#include "watch/calls.h"
#include "watch/ignore.h"
#include "watch/summary.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* How many records are read before signals and reports have their turn; how many
 * hints are tried in one run. */
enum { AT_ONCE_MAX = 64, HINTS_MAX = 200, COMMAND_MAX = 4096, MEGABYTE = 1024 * 1024 };

/* ---- lines ---- */

static struct slice join_command(struct arena *arena, const struct session *session, bool quoted)
{
    struct text out = text_in(arena);
    char *const *word = session->around.command;

    for (; word && *word && out.len < COMMAND_MAX; word++)
        text_appendf(&out, "%s%s", out.len ? " " : "", quoted ? shell_word(arena, *word) : *word);
    return text_slice(&out);
}

/* The run's own line is written before its first event, or with its last. */
static struct event_run describe(struct arena *arena, struct events *events)
{
    const struct session *session = events->session;
    const char **policies = arena_alloc(arena, (session->source_count + 1) * sizeof *policies);

    for (size_t i = 0; i < session->source_count; i++)
        policies[i] = source_name(arena, &session->sources[i]);
    return (struct event_run){
        .id = watch_run(&events->watch),
        .start = events->start,
        .command = join_command(arena, session, true),
        .project = session->around.project,
        .policies = policies,
        .policy_count = session->source_count,
        .pid = getpid(),
    };
}

static void start_lines(struct events *events)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct text out = text_in(&arena);

    if (events->log_started)
        return;
    const struct event_run run = describe(&arena, events);
    event_write_start(&out, &run);
    event_log_append(&events->log, text_slice(&out));
    if (!events->stream_started)
        event_stream_write(&events->stream, text_slice(&out));
    events->log_started = events->stream_started = true;
}

static void write_line(void *argument, struct slice line)
{
    struct events *events = argument;

    start_lines(events);
    event_log_append(&events->log, line);
    event_stream_write(&events->stream, line);
    /* Lost where the embedder does not read; --events is for one that wants all of them. */
    if (events->session->request->peer && events->stream.fd < 0)
        peer_tell(events->session->request->peer, line);
}

/* --events gets the run's lines even if there is nothing between them. */
static void end_lines(struct events *events, int status)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct text start = text_in(&arena);
    struct text end = text_in(&arena);

    if (!events->log_started && events->stream.fd < 0)
        return;
    const struct event_run run = describe(&arena, events);
    event_write_start(&start, &run);
    event_write_end(&end, &run, status, events->watch.denied);
    if (!events->stream_started)
        event_stream_write(&events->stream, text_slice(&start));
    event_stream_write(&events->stream, text_slice(&end));
    if (events->log_started)
        event_log_append(&events->log, text_slice(&end));
}

/* ---- events ---- */

static void say(const struct event *event)
{
    struct arena arena ARENA_CLEANUP = {0};

    if (log_is_verbose())
        log_detail("%s: %s %s%s%s%s%s", event_kind_name(event->kind), event_verdict_name(event->verdict),
                   escaped(&arena, event->object), event->program.len ? " by " : "", escaped(&arena, event->program),
                   event->reason.len ? ": " : "", escaped(&arena, event->reason));
}

static bool is_ignored(const struct session *session, const struct event *event)
{
    struct arena arena ARENA_CLEANUP = {0};

    return session->policy.ignored_count > 0 &&
           event_is_ignored(&session->policy, join_command(&arena, session, false), event);
}

/* What is hidden looks inside like what is not there, and much is tried that is
 * nowhere. Of what was to be made, the directory counts. */
static bool is_nowhere(const struct event *event)
{
    struct slice object = event->kind == EVENT_FS_WRITE ? path_parent(event->object) : event->object;
    struct stat status;
    char path[PATH_MAX];

    /* In a directory that is hidden as a whole a read is refused whatever it is of. */
    bool unknown = event->error == ENOENT || (event->error == EACCES && event->kind == EVENT_FS_READ);
    if (!unknown || object.len >= sizeof path)
        return false;
    memcpy(path, object.ptr, object.len);
    path[object.len] = '\0';
    if (stat(path, &status) < 0)
        return event->error == ENOENT || errno == ENOENT || errno == ENOTDIR;
    return event->kind == EVENT_UNIX_CONNECT && !S_ISSOCK(status.st_mode);
}

/* The tree is looked at as it is now. The run's own remembers all that it ever saw,
 * and would grow with each name that a command invents. */
static void find_rule(struct arena *arena, struct events *events, struct event *event)
{
    struct session now = *events->session;
    /* srt has no option to name. */
    bool with_hint =
        event->verdict == EVENT_DENIED && events->hints < HINTS_MAX && now.around.personality != PERSONALITY_SRT;

    now.tree = tree_of_host(arena);
    events->hints += with_hint;
    event_find_rule(arena, &now, with_hint, event);
}

void events_tell(struct events *events, const struct event *event)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct event full = *event;

    if (!events->session->policy.violation.detection || is_nowhere(event) || is_ignored(events->session, event))
        return;
    if (watch_wants(&events->watch, event)) {
        find_rule(&arena, events, &full);
        say(&full);
    }
    watch_note(&events->watch, &full);
}

/* ---- the doorman's ---- */

static enum event_kind kind_of(const struct doorman_record *record)
{
    switch ((enum doorman_record_kind)record->kind) {
    case RECORD_READ:
        return EVENT_FS_READ;
    case RECORD_WRITE:
        return EVENT_FS_WRITE;
    case RECORD_CONNECT:
        return EVENT_UNIX_CONNECT;
    case RECORD_NETWORK:
        return EVENT_NET_CONNECT;
    case RECORD_LATER:
    case RECORD_MOVED:
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

static void note_later(struct events *events, const struct doorman_record *record, const struct event *event)
{
    if (!events->later)
        events->later = ARENA_NEW(&events->watch.arena, struct later);
    if (record->kind == RECORD_MOVED)
        later_moved(events->later, record->number, event->program, event->object, event->reason.len > 0);
    else
        later_note(events->later, record->number, event);
}

static void tell_later(void *argument, const struct event *event)
{
    events_tell(argument, event);
}

/* A name server was asked for, and which name it was to be asked about nobody will know. */
static void make_dns(struct event *event)
{
    event->kind = EVENT_NET_DNS;
    event->reason = SLICE("there is no network");
    event->hint = SLICE("--allow-domain HOST, with the name it wanted");
}

static void tell_record(struct events *events, const struct doorman_record *record)
{
    if (record->verdict == RECORD_ASKED) {
        asking_hear_doorman(events->asking, record);
        return;
    }

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
    /* Each key of git's configuration is worth a line. */
    if (event.kind == EVENT_FS_WRITE && protect_is_git_config(event.object))
        event.apart = event.reason;
    if (event.kind == EVENT_SYSCALL)
        event.object = event.op;
    if (event.kind == EVENT_NET_CONNECT && slice_ends(event.object, SLICE(":53")))
        make_dns(&event);
    if (event.kind == EVENT_EXEC_LATER)
        note_later(events, record, &event);
    else
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

/* ---- limits ---- */

static void tell_limit(void *argument, enum jail_limit limit, const char *words)
{
    struct events *events = argument;
    const struct policy *policy = &events->session->policy;
    const struct plan *plan = &events->session->plan;
    const struct {
        const char *key;
        const char *option; /* NULL: only a policy can say it */
        uint64_t value;
        struct origin origin;
    } limits[] = {
        [JAIL_MEMORY] = {"limits.memory", "--memory", plan->memory.value, policy->limits.memory_origin},
        [JAIL_PROCESSES] = {"limits.processes", "--pids", plan->processes.value, policy->limits.processes_origin},
        [JAIL_OPEN_FILES] = {"limits.openFiles", NULL, plan->open_files, policy->limits.open_files_origin},
        [JAIL_FILE_SIZE] = {"limits.fileSize", NULL, plan->file_size, policy->limits.file_size_origin},
        [JAIL_TIME] = {"limits.wallSeconds", "--timeout", plan->wall_seconds, policy->limits.wall_seconds_origin},
    };
    struct arena arena ARENA_CLEANUP = {0};
    struct hint hint = {0};

    if ((size_t)limit >= sizeof limits / sizeof *limits)
        return;
    /* Twice as much is a guess; that it was not enough is known. */
    unsigned long long more = 2 * (unsigned long long)limits[limit].value;
    if (limits[limit].option && limit == JAIL_MEMORY && more % MEGABYTE == 0)
        hint.option = arena_printf(&arena, "%s %lluM", limits[limit].option, more / MEGABYTE);
    else if (limits[limit].option)
        hint.option = arena_printf(&arena, "%s %llu", limits[limit].option, more);
    else
        hint.policy = arena_printf(&arena, "\"limits\": {\"%s\": %llu}", limits[limit].key + strlen("limits."), more);
    const struct event event = {
        .kind = EVENT_LIMIT,
        .verdict = EVENT_DENIED,
        .op = SLICE("reach"),
        .object = slice_of(limits[limit].key),
        .reason = slice_of(words),
        .rule = limits[limit].origin,
        .hint = slice_of(hint_text(&arena, events->session, &hint)),
    };
    events_tell(events, &event);
}

/* ---- masks ---- */

static void tell_renewed(void *argument, size_t number, bool hidden)
{
    struct events *events = argument;
    const struct plan *plan = &events->session->plan;

    struct event event = {
        .kind = EVENT_FS_READ,
        .verdict = EVENT_OBSERVED,
        .op = SLICE("mask"),
        .apart = SLICE("mask"),
    };

    if (number < plan->step_count) {
        event.object = plan->steps[number].path;
        event.rule = plan->steps[number].origin;
        event.reason = SLICE("replaced on the host while the command ran: in sight for a moment, then hidden again");
    } else if (number - plan->step_count < plan->awaited_count) {
        event.object = plan->awaited[number - plan->step_count].path;
        event.rule = plan->awaited[number - plan->step_count].rule->origin;
        event.reason = SLICE("came into being while the command ran: in sight for a moment, then hidden");
    } else {
        return;
    }
    /* The doorman let nobody open it meanwhile. */
    if (!hidden) {
        event.apart = SLICE("led away");
        event.reason = SLICE("not hidden any more: a directory above it is a link now");
    } else if (plan->doorman.performs_reads) {
        event.apart = (struct slice){0};
        event.reason = SLICE("replaced or made on the host while the command ran, and hidden all the time");
    }
    events_tell(events, &event);
}

/* ---- the whole ---- */

/* The log must be out of reach. In the state directory it is; a place of the
 * user's choosing is looked at: what stands in a directory that the command may
 * write could be exchanged when it is rotated. */
static bool check_log(const struct session *session, const char *path, struct error *err)
{
    const struct policy *policy = &session->policy;
    struct slice real;
    struct decision decision;
    struct error ignored;

    if (policy->violation.log_path.len == 0 || policy->filesystem.disabled)
        return true;
    if (!decide_path(session->arena, policy, session->tree, OPERATION_WRITE, path_parent(slice_of(path)), &real,
                     &decision, &ignored) ||
        !decision.allowed || decision.backing != BACKING_HOST)
        return true;
    return error_set(err,
                     "the log %s would stand in a directory that the command may write, and could be forged "
                     "(%s: %s): name another place",
                     path, policy->violation.log_path_origin.file, policy->violation.log_path_origin.path);
}

bool events_open(const struct session *session, struct jail_watch *watch, struct asking *asking, struct events *events,
                 struct error *err)
{
    const struct policy *policy = &session->policy;
    int ends[2];

    *events = (struct events){.session = session,
                              .asking = asking,
                              .stream = {.fd = session->request->events_fd > 0 ? session->request->events_fd : -1},
                              .log = {.fd = -1, .lock = -1},
                              .reads_watched = session->plan.doorman.reads,
                              .records = -1,
                              .doorman = -1,
                              .listener = {tell_limit, tell_renewed, events}};
    *watch = (struct jail_watch){.fd = -1};
    /* The policy has been read; what is from now on, for hints and by who embeds us, is for a moment. */
    json_give_memory_back();
    watch_open(&events->watch);
    events->watch.write = write_line;
    events->watch.argument = events;
    clock_gettime(CLOCK_REALTIME, &events->start);
    if (policy->violation.detection && policy->violation.log) {
        const char *path = event_log_path(session->arena, policy);
        if (!check_log(session, path, err))
            return false;
        event_log_open(&events->log, path, policy);
    }
    if (!plan_has_doorman(&session->plan) || (!policy->violation.detection && !session->plan.doorman.asks))
        return true;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return error_set_errno(err, errno, "cannot make a socket for the doorman");
    events->records = asking->doorman = ends[0];
    events->doorman = ends[1];
    *watch = (struct jail_watch){.fd = events->records, .ready = read_records, .argument = events};
    return true;
}

/* A directory of the user's of which only a part is shown: what is not, is simply not
 * there, and nobody is asked about it. */
static struct slice partly_shown(const struct session *session)
{
    const struct plan *plan = &session->plan;

    for (size_t i = 0; i < plan->step_count; i++) {
        const struct step *step = &plan->steps[i];
        bool is_theirs = path_covers(session->around.home, step->path) || path_covers(step->path, session->around.home);
        if (step->kind == STEP_HIDE_DIRECTORY && !step->watched && is_theirs)
            return step->path;
    }
    return (struct slice){0};
}

/* NULL: all reads were watched. */
static const char *unwatched_text(struct arena *arena, const struct events *events)
{
    const struct session *session = events->session;
    const struct hint hint = {.policy = "\"violation\": {\"watch\": \"all\"}"};
    const char *to_watch = hint_text(arena, session, &hint);
    struct slice part = partly_shown(session);

    if (session->plan.doorman.reads)
        return NULL;
    if (!events->reads_watched)
        return arena_printf(arena, "reads were not watched; to watch them: %s", to_watch);
    return part.len == 0 ? NULL
                         : arena_printf(arena, "reads of what is hidden in %s were not watched; to watch them: %s",
                                        escaped(arena, part), to_watch);
}

static void say_summary(const struct events *events, int status)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct text out = text_in(&arena);
    const struct summary_style style = {
        .name = log_name(),
        .colour = events->watch.count > 0 && fd_wants_colour(STDERR_FILENO),
        /* Whoever looks for the reason of a failure may look in vain. */
        .note = status != 0 || log_is_verbose() ? unwatched_text(&arena, events) : NULL,
    };

    /* srt and codex-linux-sandbox say nothing of their own, and have no option to name. */
    if (events->session->around.personality != PERSONALITY_CLOCHE)
        return;
    summary_write(&out, &events->watch, &style);
    log_block(text_slice(&out));
    if (events->log.lost)
        log_warning("%zu lines are not in the log: %s", events->log.lost, events->log.why.text);
    if (events->stream.lost)
        log_warning("%zu lines were not written to --events: %s", events->stream.lost, strerror(events->stream.error));
}

void events_close(struct events *events, enum jail_end end, int status)
{
    struct doorman_record record;

    /* Nobody sends any more, so this comes to an end. */
    while (events->records >= 0 && doorman_record_receive(events->records, &record))
        tell_record(events, &record);
    if (events->asking)
        events->asking->doorman = -1;
    fd_close(&events->records);
    fd_close(&events->doorman);
    if (events->later) {
        later_look(events->later, events->session->around.project, tell_later, events);
        later_close(events->later);
    }
    watch_finish(&events->watch);
    if (end == JAIL_ENDED) {
        end_lines(events, status);
        if (events->session->request->learn)
            events->session->request->learn(events->session->request->argument, events->session, &events->watch,
                                            status);
        else
            say_summary(events, status);
    }
    event_log_close(&events->log);
    watch_close(&events->watch);
}
