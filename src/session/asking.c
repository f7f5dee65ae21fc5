/* Questions are put off until the embedder has greeted: its lists may have changed
 * since it gave us ours. After that, one that no list decides is sent to it and
 * waits for its answer; no answer in time is a no, and so is its end. The table is
 * bounded: a command that asks for more at once is refused the rest. */
#include "session/asking.h"

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"

#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { GREETING_MS = 1000, ANSWER_MS = 5 * 60 * 1000, TICK_MS = 250 };

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

void asking_open(struct peer *peer, struct asking *asking)
{
    *asking = (struct asking){.peer = peer, .timer = -1};
}

void asking_close(struct asking *asking)
{
    fd_close(&asking->timer);
}

static bool start_timer(struct asking *asking)
{
    const struct itimerspec ticks = {.it_interval.tv_nsec = TICK_MS * 1000000L, .it_value.tv_nsec = TICK_MS * 1000000L};

    if (asking->timer < 0)
        asking->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return asking->timer >= 0 && timerfd_settime(asking->timer, 0, &ticks, NULL) == 0;
}

static struct asking_open *put(struct asking *asking, const struct net_question *question, bool asked)
{
    for (size_t i = 0; i < ASKING_OPEN_MAX; i++) {
        struct asking_open *open = &asking->open[i];
        if (open->used)
            continue;
        if (!start_timer(asking))
            return NULL;
        *open = (struct asking_open){.used = true,
                                     .asked = asked,
                                     .number = ++asking->last_number,
                                     .until = now() + (asked ? ANSWER_MS : GREETING_MS),
                                     .question = *question};
        return open;
    }
    return NULL;
}

bool asking_postpone(struct asking *asking, const struct net_question *question)
{
    return peer_is_there(asking->peer) && !asking->peer->greeted && !asking->late && put(asking, question, false);
}

static bool is_same_connection(const struct net_question *one, const struct net_question *other)
{
    return one->port == other->port && one->client_port == other->client_port && one->client_v6 == other->client_v6 &&
           one->protocol == other->protocol &&
           slice_equal((struct slice){one->name, one->name_length}, (struct slice){other->name, other->name_length});
}

/* Taken back as it is found: the same port may be another connection's next. */
static bool take_grant(struct asking *asking, const struct net_question *question)
{
    for (size_t i = 0; i < ASKING_GRANTS_MAX; i++) {
        struct net_question *granted = &asking->grants[i].question;
        if (granted->name_length > 0 && is_same_connection(granted, question)) {
            granted->name_length = 0;
            return true;
        }
    }
    return false;
}

static bool ask(struct asking *asking, const struct net_question *question)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct asking_open *open = put(asking, question, true);

    if (!open)
        return false;
    struct text line = text_in(&arena);
    text_appendf(&line, "{\"ask\":%u,\"host\":", open->number);
    text_append_json(&line, (struct slice){question->name, question->name_length});
    text_appendf(&line, ",\"port\":%u}", (unsigned)question->port);
    open->used = peer_say(asking->peer, text_slice(&line));
    return open->used;
}

enum net_appeal asking_appeal(struct asking *asking, const struct net_question *question)
{
    bool can_ask = peer_is_there(asking->peer) && asking->peer->greeted && asking->peer->asks;

    switch ((enum net_question_kind)question->kind) {
    case NET_ASK_DNS:
        return can_ask ? NET_GRANTED : NET_NO_APPEAL;
    case NET_ASK_ADDRESSES:
        return take_grant(asking, question) ? NET_GRANTED : NET_NO_APPEAL;
    case NET_ASK_CONNECT:
    case NET_ASK_SNI:
        return can_ask && ask(asking, question) ? NET_APPEALED : NET_NO_APPEAL;
    default:
        return NET_NO_APPEAL;
    }
}

static void settle(struct asking *asking, struct asking_open *open, struct net_judge *judge, int link,
                   const struct net_answer *answer)
{
    const struct net_question question = open->question;

    open->used = false;
    if (answer && answer->allowed && question.kind == NET_ASK_CONNECT) {
        asking->grants[asking->next_grant].question = question;
        asking->next_grant = (asking->next_grant + 1) % ASKING_GRANTS_MAX;
    }
    if (link >= 0)
        (void)!net_judge_resume(judge, link, &question, answer);
}

static void settle_unasked(struct asking *asking, struct net_judge *judge, int link)
{
    for (size_t i = 0; i < ASKING_OPEN_MAX; i++) {
        if (asking->open[i].used && !asking->open[i].asked)
            settle(asking, &asking->open[i], judge, link, NULL);
    }
}

static void hear_answer(struct asking *asking, struct net_judge *judge, int link, const json_t *root)
{
    json_int_t number = json_integer_value(json_object_get(root, "answer"));
    const json_t *reason = json_object_get(root, "reason");
    const struct net_answer answer = {.allowed = json_is_true(json_object_get(root, "allow")),
                                      .reason = json_is_string(reason) ? json_slice(reason) : SLICE("")};

    for (size_t i = 0; i < ASKING_OPEN_MAX; i++) {
        struct asking_open *open = &asking->open[i];
        if (open->used && open->asked && open->number == number) {
            settle(asking, open, judge, link, &answer);
            return;
        }
    }
}

bool asking_hear(struct asking *asking, struct net_judge *judge, int link, struct slice line)
{
    JSON_CLEANUP json_t *root = NULL;
    struct error ignored;

    /* What is about lists is long, and parsed by whoever loads them. */
    if (!slice_starts(line, SLICE("{\"ready\":")) && !slice_starts(line, SLICE("{\"answer\":")))
        return false;
    if (!json_parse(line, "", &root, &ignored))
        return true;
    if (json_object_get(root, "answer")) {
        hear_answer(asking, judge, link, root);
        return true;
    }
    asking->peer->greeted = true;
    asking->peer->asks = json_is_true(json_object_get(root, "asks"));
    settle_unasked(asking, judge, link);
    return true;
}

static void stop_timer_when_idle(struct asking *asking)
{
    const struct itimerspec off = {0};

    for (size_t i = 0; i < ASKING_OPEN_MAX; i++) {
        if (asking->open[i].used)
            return;
    }
    timerfd_settime(asking->timer, 0, &off, NULL);
}

void asking_tick(struct asking *asking, struct net_judge *judge, int link)
{
    static const struct net_answer no = {.reason = SLICE("nobody answered in time")};
    uint64_t ticks;
    uint64_t time = now();

    (void)!read(asking->timer, &ticks, sizeof ticks);
    for (size_t i = 0; i < ASKING_OPEN_MAX; i++) {
        struct asking_open *open = &asking->open[i];
        if (!open->used || open->until > time)
            continue;
        if (!open->asked)
            asking->late = true;
        settle(asking, open, judge, link, open->asked ? &no : NULL);
    }
    stop_timer_when_idle(asking);
}

void asking_end(struct asking *asking, struct net_judge *judge, int link)
{
    static const struct net_answer no = {.reason = SLICE("the program that could be asked has ended")};

    for (size_t i = 0; i < ASKING_OPEN_MAX; i++) {
        if (asking->open[i].used)
            settle(asking, &asking->open[i], judge, link, asking->open[i].asked ? &no : NULL);
    }
}
