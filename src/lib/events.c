/* Lines of JSON from the binary. They come from our own program, and names in them
 * from the command: a line is bounded, and what is no event is passed over. */
#include "lib/handles.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINE_MAX_LENGTH = 256 * 1024, CHUNK = 32768, READY_MAX = 16 };

static const char *text_of(json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static bool note(cloche_process *process, const char *line, size_t length)
{
    json_t *root = json_loadb(line, length, 0, NULL);
    json_t *rule = json_object_get(root, "rule");
    struct cloche_event event = {
        .size = sizeof event,
        .json = line,
        .kind = text_of(root, "kind"),
        .operation = text_of(root, "op"),
        .object = text_of(root, "object"),
        .verdict = text_of(root, "verdict"),
        .error = text_of(root, "errno"),
        .program = text_of(root, "program"),
        .rule_file = text_of(rule, "file"),
        .rule_path = text_of(rule, "path"),
        .hint = text_of(root, "hint"),
        .reason = text_of(root, "reason"),
        .pid = (pid_t)json_integer_value(json_object_get(root, "pid")),
        .count = (uint64_t)json_integer_value(json_object_get(root, "count")),
    };
    bool is_event = event.kind && event.verdict;

    if (is_event && strcmp(event.kind, "run") == 0 && event.operation && strcmp(event.operation, "start") == 0)
        process->started = true;
    if (is_event && process->session->on_event)
        process->session->on_event(process->session->argument, process, &event);
    json_decref(root);
    return is_event;
}

/* Takes the whole lines out of what was read. */
static int take_lines(cloche_process *process)
{
    char *rest = process->line;
    size_t length = process->line_length;
    int count = 0;

    for (char *end; (end = memchr(rest, '\n', length)); rest = end + 1) {
        *end = '\0';
        count += note(process, rest, (size_t)(end - rest));
        length -= (size_t)(end - rest) + 1;
    }
    memmove(process->line, rest, length);
    process->line_length = length;
    return count;
}

static bool make_room(cloche_process *process, cloche_error **error)
{
    if (process->line_length > LINE_MAX_LENGTH)
        process->line_length = 0; /* not a line of ours */
    if (process->line_capacity - process->line_length >= CHUNK)
        return true;
    size_t capacity = process->line_length + 2 * (size_t)CHUNK;
    char *grown = realloc(process->line, capacity);
    if (!grown)
        return fail_memory(error);
    process->line = grown;
    process->line_capacity = capacity;
    return true;
}

int events_read(cloche_process *process, cloche_error **error)
{
    int count = 0;

    while (process->events >= 0) {
        if (!make_room(process, error))
            return -1;
        ssize_t got = recv(process->events, process->line + process->line_length, CHUNK, MSG_DONTWAIT);
        if (got > 0) {
            process->line_length += (size_t)got;
            count += take_lines(process);
        } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
            close(process->events); /* which takes it out of the session's descriptor, too */
            process->events = -1;
        } else if (errno == EAGAIN) {
            break;
        }
    }
    return count;
}

int cloche_dispatch(cloche_session *session, cloche_error **error)
{
    struct epoll_event ready[READY_MAX];
    int count = 0;
    int got = epoll_wait(session->epoll, ready, READY_MAX, 0);

    if (got < 0 && errno != EINTR) {
        fail(error, CLOCHE_ERROR_SYSTEM, errno, "cannot look after the runs of a session");
        return -1;
    }
    for (int i = 0; i < got; i++) {
        cloche_process *process = ready[i].data.ptr;
        int told = events_read(process, error);
        if (told < 0 || !process_look(process, error))
            return -1;
        count += told;
    }
    return count;
}
