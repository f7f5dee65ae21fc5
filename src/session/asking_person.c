/* A person is asked one thing after the other, at a terminal (prompt.c), in words of ask_text.c. What nobody can
 * answer in good time is a no: a question that stays open, a word that is no answer three times, too many questions in
 * a minute, a question that something in the sandbox may have written over. */
#include "session/asking_parts.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "session/always.h"

enum { SHOWN_MS = ASK_SECONDS * 1000, RATE_MS = 60 * 1000, MISTAKES_MAX = 3 };

/* What else can be offered. */
static struct slice directory_of(const struct asking *asking, const struct asking_open *open)
{
    const struct ask_text about = asking_describe(open);

    if (about.operation != OPERATION_WRITE)
        return SLICE("");
    return decide_grantable_directory(&asking->session->policy, about.object);
}

static bool is_same(const struct asking_open *one, const struct asking_open *other)
{
    struct ask_text a = asking_describe(one);
    struct ask_text b = asking_describe(other);

    return a.operation == b.operation && a.port == b.port && slice_equal(a.object, b.object);
}

static bool is_too_often(struct asking *asking)
{
    uint64_t *oldest = &asking->shown_at[asking->shown_count % ASKING_RATE];

    if (asking->too_many)
        return true;
    if (asking->shown_count >= ASKING_RATE && *oldest + RATE_MS > milliseconds_now()) {
        asking->too_many = true;
        log_warning("--ask: %d questions in a minute are too many for a person: nothing more is asked, and what would "
                    "have been is refused",
                    ASKING_RATE);
        return true;
    }
    *oldest = milliseconds_now();
    asking->shown_count++;
    return false;
}

static struct asking_open *first_waiting(struct asking *asking)
{
    struct asking_open *first = NULL;

    for (size_t i = 0; i < asking->open_max; i++) {
        struct asking_open *open = &asking->open[i];
        if (open->used && open->asked && (!first || open->number < first->number))
            first = open;
    }
    return first;
}

void asking_show_next(struct asking *asking)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct error err;

    if (asking->shown)
        return;
    while ((asking->shown = first_waiting(asking)) && is_too_often(asking))
        asking_settle(asking, asking->shown, ASKING_NO, SLICE("too much was asked"));
    if (!asking->shown) {
        prompt_release(asking->prompt);
        return;
    }
    struct ask_text about = asking_describe(asking->shown);
    about.directory = directory_of(asking, asking->shown);
    const char *file = asking->policy_is_exposed ? NULL : always_file(&arena, asking->session, &err);
    asking->mistakes = 0;
    asking->shown->until = milliseconds_now() + SHOWN_MS;
    prompt_put(asking->prompt, ask_text_question(&arena, &about, file));
}

/* One answer is enough for those who want the same: a yes to a single call is for that one. */
void asking_settle_shown(struct asking *asking, enum asking_reply reply, const char *why)
{
    struct asking_open shown = *asking->shown;
    bool may_be_others = !shown.record && reply != ASKING_ONCE; /* there is never a second one of the doorman's */
    const struct net_answer answer = {.allowed = reply == ASKING_RUN || reply == ASKING_ALWAYS,
                                      .reason = slice_of(why)};

    asking_settle(asking, asking->shown, reply, slice_of(why));
    for (size_t i = 0; may_be_others && i < asking->open_max; i++) {
        struct asking_open *open = &asking->open[i];
        if (open->used && open->asked && !open->record && is_same(open, &shown))
            asking_settle_network(asking, open, &answer);
    }
    asking->shown = NULL;
    asking_show_next(asking);
}

static void keep_always(struct asking *asking)
{
    struct arena arena ARENA_CLEANUP = {0};
    const struct ask_text about = asking_describe(asking->shown);
    const char *change;
    struct error err;

    bool kept = asking->policy_is_exposed ? error_set(&err, ALWAYS_EXPOSED)
                                          : always_add(&arena, asking->session, about.operation,
                                                       ask_text_entry(&arena, &about), &change, &err);
    if (kept)
        prompt_say(asking->prompt, arena_printf(&arena, "cloche: allowed, now and from now on, by %s", change));
    else
        prompt_say(asking->prompt, arena_printf(&arena, "cloche: allowed for this run only: %s\n",
                                                escaped(&arena, slice_of(err.text))));
}

/* Is this an answer to what was asked? */
static bool is_offered(const struct asking *asking, enum asking_reply reply)
{
    if (reply == ASKING_DIRECTORY)
        return directory_of(asking, asking->shown).len > 0;
    return (reply != ASKING_RUN && reply != ASKING_ALWAYS) || !asking_describe(asking->shown).makes_link;
}

/* Whoever may write where the policy file lies could get hold of one that is written there. */
static void note_exposure(struct asking *asking, enum asking_reply reply)
{
    struct arena arena ARENA_CLEANUP = {0};
    const struct ask_text about = asking_describe(asking->shown);
    struct slice granted = reply == ASKING_DIRECTORY ? directory_of(asking, asking->shown) : about.object;

    if (about.operation == OPERATION_WRITE && reply != ASKING_NO && reply != ASKING_NEVER &&
        always_lies_below(&arena, asking->session, granted))
        asking->policy_is_exposed = true;
}

/* There is nobody to answer, or somebody who does not want to wait: all that waits is refused. */
static void refuse_all(struct asking *asking)
{
    struct asking_open *open;

    asking->shown = NULL;
    while ((open = first_waiting(asking)))
        asking_settle(asking, open, ASKING_NO, SLICE("nobody could be asked"));
    prompt_release(asking->prompt);
}

void asking_answered(void *argument, const char *word)
{
    struct asking *asking = argument;
    enum asking_reply reply = ASKING_NO;

    if (!asking->shown || !*word) {
        asking->too_many = asking->too_many || asking->prompt->spoiled;
        prompt_say(asking->prompt, asking->prompt->spoiled ? ASK_SPOILED : ask_text_said(ASKING_NO));
        refuse_all(asking);
        return;
    }
    bool understood = ask_text_reply(word, &reply) && is_offered(asking, reply);
    if (!understood && ++asking->mistakes < MISTAKES_MAX) {
        prompt_again(asking->prompt, ASK_AGAIN);
        return;
    }
    if (!understood)
        reply = ASKING_NO;
    note_exposure(asking, reply);
    if (reply == ASKING_ALWAYS)
        keep_always(asking);
    else
        prompt_say(asking->prompt, ask_text_said(reply));
    asking_settle_shown(asking, reply, "whoever was asked said no");
}
