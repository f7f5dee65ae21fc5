/* A caller, the reader and a performer take turns: none of them has anything to do
 * while another has. On one processor that costs a context switch each time; where
 * a sleeping processor has to be woken instead, as the scheduler likes to do, many
 * times that, and the caller has lost what its caches held. So:
 *
 * - The performer who was idle last is the first to be taken: it counts as idle as
 *   soon as it has nothing to do but to answer, so that one is enough for one caller.
 * - It is kept on the processor of the reader, who was woken on the caller's, unless
 *   others are at work: then there are several callers, and the scheduler places it. */
#include "doorman/line.h"

static struct performer *take_idle(struct line *line, int processor)
{
    struct performer **at = &line->idle;

    while (*at && (*at)->processor != processor)
        at = &(*at)->below;
    if (!*at)
        at = &line->idle;
    struct performer *performer = *at;
    *at = performer->below;
    line->idle_count--;
    return performer;
}

struct performer *line_give(struct line *line, struct request *request, const struct placement *placement, int here)
{
    size_t at_work = line->threads - line->waiting - line->idle_count;
    int processor = at_work > 0 ? PLACEMENT_ANYWHERE : here;

    if (!line->idle) {
        line->queue[(line->first + line->queued++) % REQUESTS_MAX] = request;
        return NULL;
    }
    struct performer *performer = take_idle(line, processor);
    if (performer->processor != processor && placement_keep(placement, performer->thread, processor))
        performer->processor = processor;
    return performer;
}

void performer_hand(struct performer *performer, struct request *request)
{
    performer->request = request;
    sem_post(&performer->given);
}

struct request *line_take(struct line *line, struct performer *performer)
{
    if (line->queued == 0) {
        performer->below = line->idle;
        line->idle = performer;
        line->idle_count++;
        return NULL;
    }
    struct request *request = line->queue[line->first];
    line->first = (line->first + 1) % REQUESTS_MAX;
    line->queued--;
    return request;
}

struct request *performer_wait(struct performer *performer)
{
    while (sem_wait(&performer->given) < 0)
        continue; /* a wait that was over was broken off */
    return performer->request;
}
