/* Events: what is no event is passed over. */
#include "lib/handles.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum { READY_MAX = 16 };

static const char *text_of(json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void keep_denial(cloche_process *process, const char *line, size_t length)
{
    enum { KEPT_MAX = 1024 * 1024 };
    char *grown = process->denials_length + length < KEPT_MAX
                      ? realloc(process->denials, process->denials_length + length + 1)
                      : NULL;

    if (!grown)
        return;
    process->denials = grown;
    memcpy(grown + process->denials_length, line, length);
    grown[process->denials_length + length] = '\n';
    process->denials_length += length + 1;
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
    if (is_event && strcmp(event.verdict, "denied") == 0)
        keep_denial(process, line, length);
    if (is_event && process->session->on_event)
        process->session->on_event(process->session->event_argument, process, &event);
    json_decref(root);
    return is_event;
}

int process_hear(cloche_process *process, cloche_error **error)
{
    int told = lines_read(&process->events, note, process, error);
    int asked = told < 0 ? -1 : lines_read(&process->talk, talk_note, process, error);

    return asked < 0 ? -1 : told + asked;
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
        int told = process_hear(process, error);
        if (told < 0 || !process_look(process, error))
            return -1;
        count += told;
    }
    return count;
}
