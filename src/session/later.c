/* Keeps the names that were told of as they are now. Directories are moved with all
 * that is in them, and names removed again: each such step is taken here as well.
 *
 * Threads of the doorman tell of what they did one beside the other. Steps wait here
 * until many more have come, and are taken in the order of their numbers; who comes
 * even later is counted, and so is what there is no room for. Memory is bounded:
 * what is no longer needed is left behind when it has become much. */
#include "session/later.h"

#include "base/path.h"
#include "doorman/records.h"

#include <limits.h>
#include <string.h>

enum { COPIED_MAX = 32 * 1024 * 1024 };

static struct slice keep(struct later *later, struct slice text)
{
    later->copied += text.len + 1;
    return arena_slice(&later->arena, text);
}

static void keep_event(struct later *later, struct event *event)
{
    event->object = keep(later, event->object);
    event->op = keep(later, event->op);
    event->program = keep(later, event->program);
    event->parent_program = keep(later, event->parent_program);
    event->reason = keep(later, event->reason);
}

static void leave_the_rest_behind(struct later *later)
{
    if (later->copied < COPIED_MAX)
        return;
    struct arena old = later->arena;
    later->arena = (struct arena){0};
    later->copied = 0;
    for (size_t i = 0; i < later->count; i++)
        keep_event(later, &later->items[i]);
    for (size_t i = 0; i < later->pending_count; i++) {
        keep_event(later, &later->pending[i].event);
        later->pending[i].from = keep(later, later->pending[i].from);
    }
    arena_free(&old);
}

static bool is_git(const struct event *event)
{
    return slice_is(event->reason, RECORD_GIT);
}

static bool is_removal(const struct event *event)
{
    return slice_starts(event->op, SLICE("unlink")) || slice_is(event->op, "rmdir");
}

static void take_out(struct later *later, size_t place)
{
    memmove(later->items + place, later->items + place + 1, (--later->count - place) * sizeof *later->items);
}

static void take_note(struct later *later, const struct event *event)
{
    size_t place = 0;

    while (place < later->count &&
           (is_git(&later->items[place]) != is_git(event) || !slice_equal(later->items[place].object, event->object)))
        place++;
    if (is_removal(event)) {
        if (place < later->count)
            take_out(later, place);
    } else if (place < LATER_MAX) {
        later->items[place] = *event;
        later->count += place == later->count;
    } else {
        later->unseen++;
    }
}

/* False: the new name is longer than any that can be looked at. */
static bool rename_item(struct later *later, struct event *item, struct slice from, struct slice to)
{
    struct slice rest = slice_from(item->object, from.len);
    char name[PATH_MAX];

    if (to.len + rest.len >= sizeof name)
        return false;
    memcpy(name, to.ptr, to.len);
    memcpy(name + to.len, rest.ptr, rest.len);
    item->object = keep(later, (struct slice){name, to.len + rest.len});
    return true;
}

static void take_move(struct later *later, const struct later_step *step)
{
    struct slice to = step->event.object;

    for (size_t i = later->count; i-- > 0;) {
        struct event *item = &later->items[i];
        bool fits = true;
        if (path_covers(step->from, item->object))
            fits = rename_item(later, item, step->from, to);
        else if (step->exchanged && path_covers(to, item->object))
            fits = rename_item(later, item, to, step->from);
        if (!fits) {
            take_out(later, i);
            later->unseen++;
        }
    }
}

static void take_first(struct later *later)
{
    struct later_step step = later->pending[0];

    memmove(later->pending, later->pending + 1, --later->pending_count * sizeof *later->pending);
    later->last = step.number;
    if (step.moved)
        take_move(later, &step);
    else
        take_note(later, &step.event);
}

static void add(struct later *later, struct later_step step)
{
    leave_the_rest_behind(later);
    if (later->pending_count == LATER_PENDING_MAX)
        take_first(later);
    if (step.number < later->last) {
        later->unseen++;
        return;
    }
    keep_event(later, &step.event);
    step.from = keep(later, step.from);
    size_t place = later->pending_count++;
    for (; place > 0 && later->pending[place - 1].number > step.number; place--)
        later->pending[place] = later->pending[place - 1];
    later->pending[place] = step;
}

void later_note(struct later *later, uint64_t number, const struct event *event)
{
    if (event->object.len > 0)
        add(later, (struct later_step){.number = number, .event = *event});
}

void later_moved(struct later *later, uint64_t number, struct slice from, struct slice to, bool exchanged)
{
    /* "/" is not moved, and would cover everything. */
    if (from.len > 1 && to.len > 1)
        add(later, (struct later_step){
                       .number = number, .moved = true, .exchanged = exchanged, .from = from, .event = {.object = to}});
}

void later_settle(struct later *later)
{
    while (later->pending_count > 0)
        take_first(later);
}

void later_close(struct later *later)
{
    arena_free(&later->arena);
}
