/* Names are gathered by what stands at the top of the home, or in one of the few
 * directories there that belong to nobody (~/.config, ~/.local/share): what a
 * program does in its own corner becomes one grant, the deepest directory that
 * holds all of it. Never "/", the home, a directory above it, one that belongs to
 * nobody, the system, a secret or a protected name. */
#include "watch/learn.h"

#include "base/path.h"
#include "policy/decide.h"
#include "policy/protect.h"
#include "policy/temporary.h"

#include <errno.h>

/* That many files of one corner are named one by one. */
enum { FILES_MAX = 8 };

/* What was done below one corner of the home. */
struct corner {
    struct slice top;
    struct slice common; /* the deepest directory that holds everything */
    const struct watched **events;
    size_t count;
    size_t capacity;
    struct corner *next;
};

static struct lesson *add(struct lessons *lessons, struct lesson lesson)
{
    for (size_t i = 0; i < lessons->count; i++) {
        struct lesson *known = &lessons->items[i];
        if (known->tier == lesson.tier && known->list == lesson.list && slice_equal(known->object, lesson.object)) {
            known->count += lesson.count;
            return known;
        }
    }
    lessons->items = arena_grow(lessons->arena, lessons->items, lessons->count, lessons->count + 1, &lessons->capacity,
                                sizeof *lessons->items);
    lessons->items[lessons->count] = lesson;
    return &lessons->items[lessons->count++];
}

static void refuse(struct lessons *lessons, enum lesson_list list, const struct watched *watched, struct slice why)
{
    add(lessons, (struct lesson){.tier = LESSON_REFUSED,
                                 .list = list,
                                 .object = watched->event.object,
                                 .program = watched->event.program,
                                 .count = watched->count,
                                 .why = why});
}

/* ---- what may be granted ---- */

/* Bytes that mean something in a rule, or cannot be written in one. */
static bool can_be_written(struct slice path)
{
    uint32_t value;

    for (size_t i = 0; i < path.len;) {
        size_t length = text_decode(slice_from(path, i), &value);
        if (length == 0 || value < ' ' || (value < 0x80 && strchr("*?[]{}!\\$~", (int)value)))
            return false;
        i += length;
    }
    return path.len > 0;
}

static enum node node_at(const struct learning *learning, struct arena *arena, struct slice path)
{
    struct slice ignored;

    return learning->tree->look(learning->tree->context, path, arena, &ignored);
}

/* How many components of a path below the home name its corner. */
static size_t corner_depth(struct slice below)
{
    static const struct {
        const char *path;
        size_t depth;
    } shared[] = {{".local/share", 3}, {".local/state", 3}, {".local/lib", 3},
                  {".local", 2},       {".config", 2},      {".cache", 2}};

    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        if (path_covers(slice_of(shared[i].path), below))
            return shared[i].depth;
    }
    return 1;
}

/* The corner of the home that a path lies in; empty: in none. */
static struct slice corner_of(const struct learning *learning, struct slice path)
{
    struct slice home = learning->policy->around.home;

    if (!path_covers(home, path) || path.len <= home.len + 1)
        return (struct slice){0};
    size_t depth = path_depth(home) + corner_depth(slice_from(path, home.len + 1));
    if (path_depth(path) < depth)
        return (struct slice){0};
    return path_prefix(path, depth);
}

/* NULL: it may be granted. */
static const char *why_never(const struct learning *learning, struct slice path, bool write)
{
    static const char *const system[] = {"/etc", "/usr", "/bin",  "/sbin", "/lib", "/lib64", "/boot",
                                         "/dev", "/sys", "/proc", "/run",  "/var", "/nix",   "/root"};
    const struct policy *policy = learning->policy;
    struct protected_match match;

    if (!can_be_written(path))
        return "its name cannot be written in a rule";
    if (path_covers(path, policy->around.home))
        return "the whole home is never granted";
    if (path_covers(path, policy->around.project))
        return "it holds the project";
    bool at_home = path_covers(policy->around.home, path);
    if (at_home && corner_of(learning, path).len == 0)
        return "too many programs keep their things there";
    for (size_t i = 0; !at_home && i < sizeof system / sizeof *system; i++) {
        if (path_covers(slice_of(system[i]), path))
            return "it belongs to the system";
    }
    if (!at_home && path_depth(path) < 2)
        return "it lies at the top of the system";
    if (write && protect_matches(policy, path, 0, &match))
        return "its name is protected";
    struct decision decision = decide_real_path(policy, OPERATION_READ, path);
    return decision.allowed ? NULL : decision.why;
}

static struct slice entry_of(const struct learning *learning, struct arena *arena, struct slice path)
{
    struct slice home = learning->policy->around.home;

    if (!path_covers(home, path))
        return path;
    return slice_of(arena_printf(arena, "~%.*s", (int)(path.len - home.len), path.ptr + home.len));
}

static void grant(const struct learning *learning, struct lessons *lessons, enum lesson_tier tier,
                  enum lesson_list list, struct slice path, bool is_directory, const struct watched *watched,
                  uint64_t count)
{
    const char *never = why_never(learning, path, list == LESSON_WRITE);
    struct lesson lesson = {.tier = tier,
                            .list = list,
                            .object = path,
                            .program = watched->event.program,
                            .count = count,
                            .must_be_made = node_at(learning, lessons->arena, path) == NODE_ABSENT,
                            .is_directory = is_directory};

    struct slice beside;
    if (!never && lesson.must_be_made && !is_directory && temporary_is(learning->tree, lessons->arena, path, &beside))
        never = arena_printf(lessons->arena, "a temporary file beside %.*s; a directory has to be writable for it",
                             (int)beside.len, beside.ptr);
    if (never) {
        lesson.tier = LESSON_REFUSED;
        lesson.why = slice_of(never);
    } else {
        lesson.entry = entry_of(learning, lessons->arena, path);
    }
    add(lessons, lesson);
}

/* ---- corners ---- */

static struct slice common_directory(struct slice a, struct slice b)
{
    while (!path_covers(a, b))
        a = path_parent(a);
    return a;
}

static void note_corner(struct arena *arena, struct corner **corners, struct slice top, const struct watched *watched)
{
    struct slice object = watched->event.object;
    struct slice directory = slice_equal(object, top) ? top : path_parent(object);
    struct corner *corner = *corners;

    while (corner && !slice_equal(corner->top, top))
        corner = corner->next;
    if (!corner) {
        corner = ARENA_NEW(arena, struct corner);
        *corner = (struct corner){.top = top, .common = directory, .next = *corners};
        *corners = corner;
    }
    corner->common = common_directory(corner->common, directory);
    corner->events =
        arena_grow(arena, corner->events, corner->count, corner->count + 1, &corner->capacity, sizeof *corner->events);
    corner->events[corner->count++] = watched;
}

static struct corner *gather(const struct learning *learning, const struct watch *watch, enum event_kind kind,
                             struct lessons *lessons)
{
    struct corner *corners = NULL;

    for (size_t i = 0; i < watch->count; i++) {
        const struct watched *watched = watch->items[i];
        const struct event *event = &watched->event;
        /* What is kept apart of reads was none: a mask was lost. */
        if (event->kind != kind || event->verdict != EVENT_OBSERVED || (kind == EVENT_FS_READ && event->apart.len))
            continue;
        struct slice top = corner_of(learning, event->object);
        if (top.len)
            note_corner(lessons->arena, &corners, top, watched);
        else
            refuse(lessons, kind == EVENT_FS_READ ? LESSON_READ : LESSON_WRITE, watched,
                   SLICE("the whole home is never granted"));
    }
    return corners;
}

static uint64_t count_of(const struct corner *corner)
{
    uint64_t count = 0;

    for (size_t i = 0; i < corner->count; i++)
        count += corner->events[i]->count;
    return count;
}

/* Nothing can be granted that is not there: the first directory that was missing. */
static struct slice first_missing(const struct learning *learning, struct arena *arena, const struct corner *corner)
{
    for (size_t depth = path_depth(corner->top); depth < path_depth(corner->common); depth++) {
        struct slice prefix = path_prefix(corner->common, depth);
        if (node_at(learning, arena, prefix) == NODE_ABSENT)
            return prefix;
    }
    return corner->common;
}

/* Was anything done below it, or in it as a directory? */
static bool is_directory(const struct learning *learning, struct arena *arena, const struct corner *corner,
                         struct slice path)
{
    for (size_t i = 0; i < corner->count; i++) {
        if (corner->events[i]->event.object.len > path.len || slice_is(corner->events[i]->event.op, "mkdirat") ||
            slice_is(corner->events[i]->event.op, "mkdir"))
            return true;
    }
    return node_at(learning, arena, path) == NODE_DIRECTORY;
}

static void learn_written(const struct learning *learning, const struct corner *corners, struct lessons *lessons)
{
    for (const struct corner *corner = corners; corner; corner = corner->next) {
        struct slice path = first_missing(learning, lessons->arena, corner);
        grant(learning, lessons, LESSON_NEEDED, LESSON_WRITE, path,
              is_directory(learning, lessons->arena, corner, path), corner->events[0], count_of(corner));
    }
}

static bool is_granted(const struct lessons *lessons, struct slice path)
{
    for (size_t i = 0; i < lessons->count; i++) {
        const struct lesson *lesson = &lessons->items[i];
        if (lesson->tier == LESSON_NEEDED && (lesson->list == LESSON_WRITE || lesson->list == LESSON_READ) &&
            path_covers(lesson->object, path))
            return true;
    }
    return false;
}

static void learn_read(const struct learning *learning, const struct corner *corners, struct lessons *lessons)
{
    for (const struct corner *corner = corners; corner; corner = corner->next) {
        if (corner->count > FILES_MAX && !is_granted(lessons, corner->common)) {
            grant(learning, lessons, LESSON_NEEDED, LESSON_READ, corner->common, true, corner->events[0],
                  count_of(corner));
            continue;
        }
        for (size_t i = 0; i < corner->count; i++) {
            struct slice path = corner->events[i]->event.object;
            /* What the run made itself is not there, and will be made again. */
            if (!is_granted(lessons, path) && node_at(learning, lessons->arena, path) != NODE_ABSENT)
                grant(learning, lessons, LESSON_NEEDED, LESSON_READ, path, false, corner->events[i],
                      corner->events[i]->count);
        }
    }
}

/* ---- the rest ---- */

static void learn_denied(const struct learning *learning, const struct watched *watched, struct lessons *lessons)
{
    const struct event *event = &watched->event;
    enum lesson_tier tier = learning->succeeded ? LESSON_OPTIONAL : LESSON_NEEDED;
    struct slice path = event->object;

    switch (event->kind) {
    case EVENT_FS_READ:
        refuse(lessons, LESSON_READ, watched, event->reason);
        break;
    case EVENT_FS_WRITE:
        if (decide_real_path(learning->policy, OPERATION_READ, path).allowed == false ||
            path_covers(learning->policy->around.project, path)) {
            refuse(lessons, LESSON_WRITE, watched, event->reason);
            break;
        }
        if (node_at(learning, lessons->arena, path) == NODE_ABSENT)
            path = path_parent(path);
        grant(learning, lessons, tier, LESSON_WRITE, path, false, watched, watched->count);
        break;
    case EVENT_UNIX_CONNECT:
        add(lessons, (struct lesson){.tier = can_be_written(path) ? LESSON_OPTIONAL : LESSON_REFUSED,
                                     .list = LESSON_SOCKET,
                                     .object = path,
                                     .entry = path,
                                     .program = event->program,
                                     .count = watched->count,
                                     .why = event->reason});
        break;
    case EVENT_NET_CONNECT:
    case EVENT_NET_DNS:
        refuse(lessons, LESSON_HOST, watched, event->reason);
        break;
    case EVENT_SYSCALL:
        refuse(lessons, LESSON_NONE, watched, event->reason);
        break;
    case EVENT_LIMIT:
    case EVENT_EXEC_LATER:
    case EVENT_RUN:
    case EVENT_KINDS:
        break;
    }
}

static void learn_connected(const struct watched *watched, struct lessons *lessons)
{
    add(lessons, (struct lesson){.tier = LESSON_NEEDED,
                                 .list = LESSON_HOST,
                                 .object = watched->event.object,
                                 .entry = watched->event.object,
                                 .program = watched->event.program,
                                 .count = watched->count});
}

void learn(const struct learning *learning, const struct watch *watch, struct lessons *lessons)
{
    learn_written(learning, gather(learning, watch, EVENT_FS_WRITE, lessons), lessons);
    learn_read(learning, gather(learning, watch, EVENT_FS_READ, lessons), lessons);
    for (size_t i = 0; i < watch->count; i++) {
        const struct watched *watched = watch->items[i];
        if (watched->event.verdict == EVENT_DENIED)
            learn_denied(learning, watched, lessons);
        else if (watched->event.kind == EVENT_NET_CONNECT && watched->event.verdict == EVENT_ALLOWED)
            learn_connected(watched, lessons);
    }
}
