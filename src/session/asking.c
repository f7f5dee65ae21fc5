/* An embedder's questions are put off until it has greeted: its lists may have changed
 * since it gave us ours. After that, one that no list decides is sent to it and
 * waits for its answer. At a terminal one is shown after the other (asking_person.c).
 *
 * No answer in time is a no, and so is the end of whoever could give it. The table is bounded: a
 * command that asks for more at once is refused the rest; and one that has a person asked too
 * often is refused all that follows. */
#include "session/asking_parts.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "session/prepare.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { GREETING_MS = 1000, ANSWER_MS = 5 * 60 * 1000, TICK_MS = 250 };
enum { WATCH_TIMER, WATCH_TERMINAL };

static bool start_timer(struct asking *asking)
{
    const struct itimerspec ticks = {.it_interval.tv_nsec = TICK_MS * 1000000L, .it_value.tv_nsec = TICK_MS * 1000000L};

    if (asking->timer < 0)
        asking->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    asking->watches[WATCH_TIMER].fd = asking->timer;
    return asking->timer >= 0 && timerfd_settime(asking->timer, 0, &ticks, NULL) == 0;
}

static struct asking_open *put(struct asking *asking, const struct net_question *question, bool asked)
{
    for (size_t i = 0; i < asking->open_max; i++) {
        struct asking_open *open = &asking->open[i];
        if (open->used)
            continue;
        if (!start_timer(asking))
            return NULL;
        *open = (struct asking_open){.used = true,
                                     .asked = asked,
                                     .number = ++asking->last_number,
                                     .until = milliseconds_now() + (asked ? ANSWER_MS : GREETING_MS)};
        if (question)
            open->question = *question;
        if (asked && asking->prompt)
            open->until = 0;
        return open;
    }
    return NULL;
}

static struct slice name_of(const struct net_question *question)
{
    return (struct slice){question->name, question->name_length};
}

static bool makes_link(int call)
{
#ifdef SYS_symlink
    if (call == SYS_symlink)
        return true;
#endif
    return call == SYS_symlinkat;
}

struct ask_text asking_describe(const struct asking_open *open)
{
    const struct doorman_record *record = open->record;

    if (!record)
        return (struct ask_text){
            .operation = OPERATION_CONNECT, .object = name_of(&open->question), .port = open->question.port};
    return (struct ask_text){
        .operation = record->kind == RECORD_WRITE  ? OPERATION_WRITE
                     : record->kind == RECORD_READ ? OPERATION_READ
                                                   : OPERATION_UNIX,
        .object = {record->text, record->path_length},
        .program = {record->text + record->path_length, record->program_length},
        .process = record->process,
        .makes_link = makes_link(record->call),
    };
}

/* ---- answers ---- */

static void answer_doorman(const struct asking *asking, uint64_t number, enum asking_reply reply)
{
    static const enum doorman_reply replies[] = {
        [ASKING_NO] = REPLY_NO,      [ASKING_ONCE] = REPLY_ONCE,
        [ASKING_RUN] = REPLY_RUN,    [ASKING_DIRECTORY] = REPLY_DIRECTORY,
        [ASKING_ALWAYS] = REPLY_RUN, [ASKING_NEVER] = REPLY_NEVER,
    };
    const struct doorman_answer answer = {.number = number, .reply = replies[reply]};

    if (asking->doorman >= 0)
        (void)!send(asking->doorman, &answer, sizeof answer, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void settle_doorman(const struct asking *asking, struct asking_open *open, enum asking_reply reply)
{
    answer_doorman(asking, open->record->number, reply);
    free(open->record);
    open->record = NULL;
    open->used = false;
}

void asking_settle_network(struct asking *asking, struct asking_open *open, const struct net_answer *answer)
{
    const struct net_question question = open->question;

    open->used = false;
    if (answer && answer->allowed && question.kind == NET_ASK_CONNECT) {
        asking->grants[asking->next_grant].question = question;
        asking->next_grant = (asking->next_grant + 1) % asking->grants_max;
    }
    if (asking->resume)
        asking->resume(asking->argument, &question, answer);
}

/* What is said for the whole run is said of hosts here; of the rest the doorman keeps it. */
static void remember_host(struct asking *asking, const struct net_question *question, bool allowed)
{
    if (asking->host_count == ASKING_HOSTS_MAX)
        return;
    struct asking_host *host = &asking->hosts[asking->host_count++];
    *host = (struct asking_host){.name_length = question->name_length, .port = question->port, .allowed = allowed};
    memcpy(host->name, question->name, question->name_length);
}

static const struct asking_host *find_host(const struct asking *asking, const struct net_question *question)
{
    for (size_t i = 0; i < asking->host_count; i++) {
        const struct asking_host *host = &asking->hosts[i];
        if (host->port == question->port &&
            slice_equal((struct slice){host->name, host->name_length}, name_of(question)))
            return host;
    }
    return NULL;
}

void asking_settle(struct asking *asking, struct asking_open *open, enum asking_reply reply, struct slice why)
{
    bool allowed = reply != ASKING_NO && reply != ASKING_NEVER;
    const struct net_answer answer = {.allowed = allowed, .reason = why};

    if (open->record) {
        settle_doorman(asking, open, reply);
        return;
    }
    if (reply != ASKING_NO && reply != ASKING_ONCE)
        remember_host(asking, &open->question, allowed);
    asking_settle_network(asking, open, &answer);
}

/* ---- questions ---- */

static bool waits_for_greeting(const struct asking *asking)
{
    return asking->peer && peer_is_there(asking->peer) && !asking->peer->greeted && !asking->late;
}

bool asking_postpone(struct asking *asking, const struct net_question *question)
{
    return waits_for_greeting(asking) && put(asking, question, false);
}

static bool is_same_connection(const struct net_question *one, const struct net_question *other)
{
    return one->port == other->port && one->client_port == other->client_port && one->client_v6 == other->client_v6 &&
           one->protocol == other->protocol && slice_equal(name_of(one), name_of(other));
}

/* Taken back as it is found: the same port may be another connection's next. */
static bool take_grant(struct asking *asking, const struct net_question *question)
{
    for (size_t i = 0; i < asking->grants_max; i++) {
        struct net_question *granted = &asking->grants[i].question;
        if (granted->name_length > 0 && is_same_connection(granted, question)) {
            granted->name_length = 0;
            return true;
        }
    }
    return false;
}

static bool can_tell_peer(const struct asking *asking)
{
    return asking->peer && peer_is_there(asking->peer) && asking->peer->greeted && asking->peer->asks;
}

static bool tell_peer(struct asking *asking, struct asking_open *open)
{
    struct arena arena ARENA_CLEANUP = {0};
    const struct ask_text about = asking_describe(open);

    return peer_say(asking->peer, slice_of(ask_text_line(&arena, &about, open->number)));
}

/* False: it was not put to anybody, or has been answered already. */
static bool ask(struct asking *asking, struct asking_open *open)
{
    if (!open)
        return false;
    if (asking->prompt && !asking->too_many) {
        if (asking->prompt->state == PROMPT_IDLE)
            asking_show_next(asking);
        return open->used;
    }
    open->used = can_tell_peer(asking) && tell_peer(asking, open);
    return open->used;
}

enum net_appeal asking_appeal(struct asking *asking, const struct net_question *question)
{
    bool can_ask = (asking->prompt && !asking->too_many) || can_tell_peer(asking);
    const struct asking_host *known = find_host(asking, question);

    switch ((enum net_question_kind)question->kind) {
    case NET_ASK_DNS:
        return can_ask || asking->host_count > 0 ? NET_GRANTED : NET_NO_APPEAL;
    case NET_ASK_ADDRESSES:
        return (known && known->allowed) || take_grant(asking, question) ? NET_GRANTED : NET_NO_APPEAL;
    case NET_ASK_CONNECT:
    case NET_ASK_SNI:
        if (known)
            return known->allowed ? NET_GRANTED : NET_NO_APPEAL;
        return can_ask && ask(asking, put(asking, question, true)) ? NET_APPEALED : NET_NO_APPEAL;
    default:
        return NET_NO_APPEAL;
    }
}

/* The doorman asks about nothing else, unless somebody has got hold of it. */
static bool may_be_asked(const struct asking *asking, struct asking_open *open)
{
    const struct ask_text about = asking_describe(open);

    return asking->everything && about.object.len > 0 && (about.object.ptr[0] == '/' || about.object.ptr[0] == '@') &&
           decide_may_be_granted(&asking->session->policy, about.operation, about.object);
}

void asking_hear_doorman(struct asking *asking, const struct doorman_record *record)
{
    bool early = waits_for_greeting(asking);
    struct doorman_record *kept = malloc(sizeof *kept);
    struct asking_open *open =
        kept && (asking->prompt || early || can_tell_peer(asking)) ? put(asking, NULL, !early) : NULL;

    if (!open) {
        free(kept);
        answer_doorman(asking, record->number, ASKING_NO);
        return;
    }
    *kept = *record;
    open->record = kept;
    if (!may_be_asked(asking, open) || (!early && !ask(asking, open) && open->record))
        settle_doorman(asking, open, ASKING_NO);
}

/* ---- the embedder ---- */

/* It has greeted, or will not: policy decides about the network's, and may have them asked anew. */
static void settle_unasked(struct asking *asking, struct asking_open *open)
{
    if (!open->record) {
        asking_settle_network(asking, open, NULL);
        return;
    }
    open->asked = true;
    open->until = milliseconds_now() + ANSWER_MS;
    if (!ask(asking, open) && open->record)
        settle_doorman(asking, open, ASKING_NO);
}

static void hear_answer(struct asking *asking, const json_t *root)
{
    json_int_t number = json_integer_value(json_object_get(root, "answer"));
    const json_t *reason = json_object_get(root, "reason");
    const json_t *term = json_object_get(root, "for");
    bool allowed = json_is_true(json_object_get(root, "allow"));
    struct slice how_long = json_is_string(term) ? json_slice(term) : SLICE("");
    bool whole_run = slice_is(how_long, "run");
    enum asking_reply reply = allowed ? ASKING_ONCE : ASKING_NO;

    if (whole_run)
        reply = allowed ? ASKING_RUN : ASKING_NEVER;
    else if (allowed && slice_is(how_long, "directory"))
        reply = ASKING_DIRECTORY;

    for (size_t i = 0; i < asking->open_max; i++) {
        struct asking_open *open = &asking->open[i];
        if (open->used && open->asked && open->number == number && !asking->prompt) {
            asking_settle(asking, open, reply, json_is_string(reason) ? json_slice(reason) : SLICE(""));
            return;
        }
    }
}

bool asking_hear(struct asking *asking, struct slice line)
{
    JSON_CLEANUP json_t *root = NULL;
    struct error ignored;

    /* What is about lists is long, and parsed by whoever loads them. */
    if (!asking->peer || (!slice_starts(line, SLICE("{\"ready\":")) && !slice_starts(line, SLICE("{\"answer\":"))))
        return false;
    if (!json_parse(line, "", &root, &ignored))
        return true;
    if (json_object_get(root, "answer")) {
        hear_answer(asking, root);
        return true;
    }
    asking->peer->greeted = true;
    asking->peer->asks = json_is_true(json_object_get(root, "asks"));
    for (size_t i = 0; i < asking->open_max; i++) {
        if (asking->open[i].used && !asking->open[i].asked)
            settle_unasked(asking, &asking->open[i]);
    }
    return true;
}

void asking_end(struct asking *asking)
{
    static const struct slice gone = SLICE("the program that could be asked has ended");

    for (size_t i = 0; asking->peer && i < asking->open_max; i++) {
        struct asking_open *open = &asking->open[i];
        if (open->used && (open->asked || open->record))
            asking_settle(asking, open, ASKING_NO, gone);
        else if (open->used)
            asking_settle_network(asking, open, NULL);
    }
}

/* ---- time ---- */

static void stop_timer_when_idle(struct asking *asking)
{
    const struct itimerspec off = {0};

    for (size_t i = 0; i < asking->open_max; i++) {
        if (asking->open[i].used)
            return;
    }
    timerfd_settime(asking->timer, 0, &off, NULL);
}

static void tick(void *argument, struct jail_watch *watch)
{
    struct asking *asking = argument;
    uint64_t ticks;
    uint64_t time = milliseconds_now();

    (void)!read(watch->fd, &ticks, sizeof ticks);
    if (asking->prompt)
        prompt_look(asking->prompt);
    for (size_t i = 0; i < asking->open_max; i++) {
        struct asking_open *open = &asking->open[i];
        if (!open->used || open->until == 0 || open->until > time)
            continue;
        if (open == asking->shown) {
            prompt_say(asking->prompt, ASK_TOO_LATE);
            asking_settle_shown(asking, ASKING_NO, "nobody answered in time");
        } else if (open->asked) {
            asking_settle(asking, open, ASKING_NO, SLICE("nobody answered in time"));
        } else {
            asking->late = true;
            settle_unasked(asking, open);
        }
    }
    stop_timer_when_idle(asking);
}

/* ---- the whole ---- */

static void make_room(struct asking *asking, struct arena *arena)
{
    asking->open_max = ASKING_OPEN_MAX;
    asking->open = arena_alloc(arena, ASKING_OPEN_MAX * sizeof *asking->open);
    asking->grants_max = ASKING_GRANTS_MAX;
    asking->grants = arena_alloc(arena, ASKING_GRANTS_MAX * sizeof *asking->grants);
    asking->hosts = arena_alloc(arena, ASKING_HOSTS_MAX * sizeof *asking->hosts);
}

bool asking_begin(const struct session *session, struct jail_watch *watches, struct prompt *prompt,
                  struct asking *asking, struct error *err)
{
    *asking = (struct asking){.session = session,
                              .peer = session->request->peer,
                              .everything = session->request->asks,
                              .timer = -1,
                              .watches = watches,
                              .doorman = -1};
    watches[WATCH_TIMER] = (struct jail_watch){.fd = -1, .ready = tick, .argument = asking};
    watches[WATCH_TERMINAL] = (struct jail_watch){.fd = -1};
    if (asking->everything || asking->peer)
        make_room(asking, session->arena);
    if (!asking->everything || asking->peer)
        return true;
    if (!prompt_open(prompt, &watches[WATCH_TERMINAL], err))
        return false;
    prompt->answered = asking_answered;
    prompt->argument = asking;
    asking->prompt = prompt;
    return true;
}

void asking_close(struct asking *asking)
{
    if (asking->prompt)
        prompt_close(asking->prompt);
    for (size_t i = 0; i < asking->open_max; i++)
        free(asking->open[i].record);
    fd_close(&asking->timer);
}
