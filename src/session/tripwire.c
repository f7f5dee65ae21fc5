/* Every refusal is told with the path as the plan has it, the name below it, and
 * the process, which waits for its answer meanwhile and so is still there to be
 * looked at. The doorman's own looks are not the command's, and are told of by
 * itself.
 *
 * One answer follows each request at once: a process whose request was read and
 * not answered could not even be killed. */
#include "session/tripwire.h"

#include "base/path.h"
#include "session/caller.h"
#include "watch/tripwire.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* How many requests are answered before signals and reports have their turn. */
enum { AT_ONCE_MAX = 64 };

static enum wire wire_at(const void *argument, size_t number)
{
    const struct plan *plan = argument;
    const struct step *step = &plan->steps[number];

    if (!step->watched)
        return WIRE_NONE;
    return step->kind == STEP_HIDE_FILE ? WIRE_FILE : WIRE_DIRECTORY;
}

static void tell(struct session_tripwire *tripwire, const struct tripped *tripped)
{
    struct arena arena ARENA_CLEANUP = {0};
    const struct step *step = &tripwire->events->session->plan.steps[tripped->number];
    struct caller caller;

    if (tripped->if_executing && !caller_executes(tripped->thread))
        return;
    if (!caller_find(tripped->thread, &caller) || !caller.is_inside)
        return;
    struct event event = {
        .kind = EVENT_FS_READ,
        .verdict = EVENT_DENIED,
        .op = slice_of(tripped->op),
        .object = tripped->name.len ? path_join(&arena, step->path, tripped->name) : step->path,
        .error = EACCES,
        .pid = caller.pid,
        .parent = caller.parent,
        .program = slice_of(caller.program),
        .parent_program = slice_of(caller.parent_program),
    };
    events_tell(tripwire->events, &event);
}

static bool answer(void *argument, int device)
{
    struct session_tripwire *tripwire = argument;
    const struct plan *plan = &tripwire->events->session->plan;
    const struct tripwires wires = {.count = plan->step_count,
                                    .at = wire_at,
                                    .argument = plan,
                                    .user = geteuid(),
                                    .group = getegid(),
                                    .time = (uint64_t)tripwire->made};
    char request[TRIPWIRE_REQUEST_MAX] __attribute__((uninitialized));
    _Alignas(uint64_t) char reply[TRIPWIRE_ANSWER_MAX] __attribute__((uninitialized));
    struct tripped tripped;

    for (int i = 0; i < AT_ONCE_MAX; i++) {
        ssize_t size = read(device, request, sizeof request);
        /* ENOENT: whoever asked was interrupted meanwhile. */
        if (size < 0 && (errno == EINTR || errno == ENOENT))
            continue;
        if (size <= 0)
            return size < 0 && errno == EAGAIN;
        size_t length = tripwire_answer(&wires, request, (size_t)size, reply, &tripped);
        if (tripped.by_somebody)
            tell(tripwire, &tripped);
        if (tripped.by_first)
            tripwire->events->reads_watched = true;
        if (length > 0 && write(device, reply, length) < 0 && errno != ENOENT)
            return false;
    }
    return true;
}

struct jail_tripwire *session_tripwire_open(struct events *events, struct session_tripwire *tripwire)
{
    const struct plan *plan = &events->session->plan;
    bool hides = false;

    *tripwire = (struct session_tripwire){
        .events = events, .hooks = {.argument = tripwire, .answer = answer}, .made = time(NULL)};
    for (size_t i = 0; i < plan->step_count && !hides; i++)
        hides = plan->steps[i].watched;
    events->reads_watched = plan->doorman.reads;
    /* Root that may read every file meets masks of another kind. */
    bool possible = plan->backend == BACKEND_NAMESPACES && !plan->keep_file_capabilities;
    bool wanted = events->session->policy.violation.watch != WATCH_OFF;
    return possible && wanted && hides ? &tripwire->hooks : NULL;
}
