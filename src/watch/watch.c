/* The store. Events are the same if kind, operation, object, verdict, error and
 * program are: the first is written, the others only counted. Nothing is walked
 * when an event comes, so a flood costs the same per event to its end. */
#include "watch/watch.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

void watch_open(struct watch *watch)
{
    *watch = (struct watch){.write = NULL};
    watch->known = map_in(&watch->arena);
}

const char *watch_run(struct watch *watch)
{
    uint64_t number = 0;

    if (watch->run[0])
        return watch->run;
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        number = (uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec;
    }
    snprintf(watch->run, sizeof watch->run, "%016llx", (unsigned long long)number);
    return watch->run;
}

static struct slice key_of(struct arena *arena, const struct event *event)
{
    struct text key = text_in(arena);

    text_appendf(&key, "%d %d %d %zu %zu ", (int)event->kind, (int)event->verdict, event->error, event->op.len,
                 event->object.len);
    text_append(&key, event->op);
    text_append(&key, event->object);
    text_append(&key, event->program);
    text_append(&key, event->apart);
    return text_slice(&key);
}

static bool has_room(const struct watch *watch)
{
    return watch->count < WATCH_EVENTS_MAX && watch->bytes < WATCH_BYTES_MAX;
}

bool watch_wants(const struct watch *watch, const struct event *event)
{
    struct arena arena ARENA_CLEANUP = {0};

    return has_room(watch) && !map_get(&watch->known, key_of(&arena, event));
}

static void write_line(const struct watch *watch, const struct event *event, const struct event_line *line)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct text out = text_in(&arena);

    if (!watch->write)
        return;
    event_write(&out, event, line);
    watch->write(watch->argument, text_slice(&out));
}

static struct event copy_event(struct arena *arena, const struct event *event)
{
    struct event copy = *event;

    copy.op = arena_slice(arena, event->op);
    copy.object = arena_slice(arena, event->object);
    copy.program = arena_slice(arena, event->program);
    copy.parent_program = arena_slice(arena, event->parent_program);
    copy.protocol = arena_slice(arena, event->protocol);
    copy.reason = arena_slice(arena, event->reason);
    copy.hint = arena_slice(arena, event->hint);
    copy.apart = arena_slice(arena, event->apart);
    if (event->rule.file)
        copy.rule.file = arena_string(arena, event->rule.file);
    if (event->rule.path)
        copy.rule.path = arena_string(arena, event->rule.path);
    return copy;
}

static size_t size_of(const struct event *event)
{
    return 2 * (event->op.len + event->object.len + event->program.len + event->apart.len) + event->parent_program.len +
           event->reason.len + event->hint.len + sizeof(struct watched);
}

static void keep(struct watch *watch, struct slice key, const struct event *event)
{
    struct watched *watched = ARENA_NEW(&watch->arena, struct watched);

    watch_run(watch);
    watched->event = copy_event(&watch->arena, event);
    watched->count = 1;
    clock_gettime(CLOCK_REALTIME, &watched->first);
    *map_at(&watch->known, arena_slice(&watch->arena, key)) = watched;
    watch->items =
        arena_grow(&watch->arena, watch->items, watch->count, watch->count + 1, &watch->capacity, sizeof *watch->items);
    watch->items[watch->count++] = watched;
    watch->bytes += size_of(event);
    const struct event_line line = {.run = watch->run, .time = watched->first, .count = 1};
    write_line(watch, &watched->event, &line);
}

void watch_note(struct watch *watch, const struct event *event)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct slice key = key_of(&arena, event);
    struct watched *known = map_get(&watch->known, key);

    watch->denied += event->verdict == EVENT_DENIED;
    if (known) {
        known->count++;
        known->event.sent += event->sent;
        known->event.received += event->received;
        known->event.milliseconds += event->milliseconds;
    } else if (has_room(watch)) {
        keep(watch, key, event);
    } else {
        watch->unkept[event->kind]++;
    }
}

static void tell_unkept(const struct watch *watch, enum event_kind kind, const struct event_line *line)
{
    const struct event rest = {
        .kind = kind,
        .verdict = EVENT_OBSERVED,
        .object = SLICE("more of this kind"),
        .reason = SLICE("there were more different events than are kept of one run; these are only counted"),
    };

    write_line(watch, &rest, line);
}

void watch_finish(struct watch *watch)
{
    struct event_line line = {.run = watch->run, .folded = true};

    clock_gettime(CLOCK_REALTIME, &line.time);
    for (size_t i = 0; i < watch->count; i++) {
        line.count = watch->items[i]->count;
        if (line.count > 1)
            write_line(watch, &watch->items[i]->event, &line);
    }
    for (int kind = 0; kind < EVENT_KINDS; kind++) {
        line.count = watch->unkept[kind];
        if (line.count)
            tell_unkept(watch, (enum event_kind)kind, &line);
    }
}

void watch_close(struct watch *watch)
{
    arena_free(&watch->arena);
}
