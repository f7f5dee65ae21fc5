#include "watch/log_book.h"

#include "base/text.h"

struct log_run *log_book_run(struct log_book *book, const struct log_entry *entry)
{
    struct log_run *run = map_get(&book->by_id, entry->run);

    if (!run && book->run_count >= LOG_BOOK_RUNS_MAX) {
        book->left_out++;
        return NULL;
    }
    if (!run) {
        run = ARENA_NEW(book->arena, struct log_run);
        *run = (struct log_run){.id = arena_slice(book->arena, entry->run),
                                .started = entry->time,
                                .status = -1,
                                .seen = map_in(book->arena)};
        book->runs = arena_grow(book->arena, book->runs, book->run_count, book->run_count + 1, &book->run_capacity,
                                sizeof *book->runs);
        book->runs[book->run_count++] = run;
        *map_at(&book->by_id, run->id) = run;
    }
    if (entry->time > run->latest)
        run->latest = entry->time;
    if (log_entry_is_run(entry) && slice_is(entry->op, "start")) {
        run->command = arena_slice(book->arena, entry->object);
        run->project = arena_slice(book->arena, entry->project);
        run->policy = arena_slice(book->arena, entry->policy);
        run->version = arena_slice(book->arena, entry->version);
        run->started = entry->time;
    } else if (log_entry_is_run(entry) && slice_is(entry->op, "end")) {
        run->ended = true;
        run->status = entry->status;
        run->milliseconds = entry->milliseconds;
    }
    return run;
}

/* What makes two events the same. No field holds a newline. */
static struct slice key_of(struct arena *arena, const struct log_entry *entry)
{
    const struct slice parts[] = {entry->kind, entry->op, entry->object, entry->verdict, entry->error, entry->program};
    struct text key = text_in(arena);

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        text_append(&key, parts[i]);
        text_append_byte(&key, '\n');
    }
    return text_slice(&key);
}

static struct log_entry copied(struct arena *arena, const struct log_entry *entry)
{
    struct log_entry copy = *entry;
    struct slice *const texts[] = {&copy.run,      &copy.kind,    &copy.op,        &copy.object,
                                   &copy.verdict,  &copy.error,   &copy.program,   &copy.parent,
                                   &copy.protocol, &copy.reason,  &copy.rule_file, &copy.rule_path,
                                   &copy.hint,     &copy.project, &copy.policy,    &copy.version};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = arena_slice(arena, *texts[i]);
    return copy;
}

void log_book_keep(struct log_book *book, struct log_run *run, const struct log_entry *entry)
{
    struct slice key = key_of(book->arena, entry);
    /* The place in the array plus one: the array moves when it grows. */
    size_t at = (size_t)map_get(&run->seen, key);

    if (entry->folded && at) {
        struct log_entry *first = &run->events[at - 1];
        first->count = entry->count;
        first->sent = entry->sent;
        first->received = entry->received;
        first->milliseconds = entry->milliseconds;
        return;
    }
    if (book->event_count >= LOG_BOOK_EVENTS_MAX) {
        book->left_out++;
        return;
    }
    run->events = arena_grow(book->arena, run->events, run->event_count, run->event_count + 1, &run->event_capacity,
                             sizeof *run->events);
    run->events[run->event_count++] = copied(book->arena, entry);
    book->event_count++;
    *map_at(&run->seen, key) = (void *)run->event_count;
}
