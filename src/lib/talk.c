/* With the supervisor of a run: it asks about hosts and files, and is told answers and new
 * lists. docs/node.md has the lines. */
#include "lib/handles.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The binary reads whenever it is not stopped. A line of which a part is all that
 * could be sent must not be gone on with: it gets no more of them. */
bool talk_send(cloche_process *process, const char *line, cloche_error **error)
{
    enum { PATIENCE = 2000 };
    size_t length = strlen(line);

    for (size_t done = 0; done <= length;) {
        struct pollfd polled = {.fd = process->talk.fd, .events = POLLOUT};
        struct iovec parts[2] = {{(char *)line + done, length - done}, {(char *)"\n", 1}};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        ssize_t sent = sendmsg(process->talk.fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0)
            done += (size_t)sent;
        else if (errno == EPIPE || errno == ECONNRESET)
            return true; /* what has ended has no use for it */
        else if (errno != EINTR && (errno != EAGAIN || poll(&polled, 1, PATIENCE) == 0)) {
            int number = errno;
            shutdown(process->talk.fd, SHUT_RDWR); /* closed by whoever reads: this may be called by its callback */
            return fail(error, CLOCHE_ERROR_SYSTEM, number, "cannot tell a run what it is to know");
        }
    }
    return true;
}

void talk_forget(cloche_process *process)
{
    for (size_t i = 0; i < ASKED_MAX; i++) {
        free(process->asked[i].value);
        process->asked[i].value = NULL;
    }
}

/* NULL: an option would take it for a pattern. A dollar stands for itself. */
static char *path_value(const char *path)
{
    char *text = strpbrk(path, "*?[") ? NULL : malloc(2 * strlen(path) + 1);
    char *at = text;

    if (!text)
        return NULL;
    for (; *path; path++) {
        if (*path == '$')
            *at++ = '$';
        *at++ = *path;
    }
    *at = '\0';
    return text;
}

static char *host_value(const struct cloche_question *question)
{
    size_t size = strlen(question->host) + 16;
    char *value = malloc(size);
    bool six = strchr(question->host, ':') != NULL;

    if (value)
        snprintf(value, size, "%s%s%s:%u", six ? "[" : "", question->host, six ? "]" : "", question->port);
    return value;
}

static void remember(cloche_process *process, const struct cloche_question *question)
{
    struct asked *asked = &process->asked[process->asked_count++ % ASKED_MAX];

    free(asked->value);
    *asked = (struct asked){.number = question->number,
                            .value = question->host ? host_value(question) : path_value(question->path)};
    asked->option = question->host                         ? "--allow-domain"
                    : strcmp(question->kind, "read") == 0  ? "--allow-read"
                    : strcmp(question->kind, "write") == 0 ? "--allow-write"
                                                           : "--allow-unix";
}

bool talk_note(cloche_process *process, const char *line, size_t length)
{
    json_t *root = json_loadb(line, length, 0, NULL);
    struct cloche_question question = {
        .size = sizeof question,
        .number = (uint32_t)json_integer_value(json_object_get(root, "ask")),
        .host = json_string_value(json_object_get(root, "host")),
        .port = (uint16_t)json_integer_value(json_object_get(root, "port")),
        .kind = "host",
        .program = json_string_value(json_object_get(root, "program")),
        .pid = (pid_t)json_integer_value(json_object_get(root, "pid")),
    };
    static const char *const kinds[] = {"read", "write", "unix"};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !question.host && !question.path; i++) {
        question.kind = kinds[i];
        question.path = json_string_value(json_object_get(root, kinds[i]));
    }
    bool is_question = json_is_integer(json_object_get(root, "ask")) && (question.host || question.path);

    if (is_question)
        remember(process, &question);
    if (is_question && process->session->on_ask)
        process->session->on_ask(process->session->ask_argument, process, &question);
    json_decref(root);
    return is_question;
}

static bool send_answer(cloche_process *process, uint32_t number, bool allow, bool whole_run, const char *reason,
                        cloche_error **error)
{
    json_t *answer = json_pack("{s:I, s:b}", "answer", (json_int_t)number, "allow", (int)allow);

    if (answer && whole_run)
        json_object_set_new(answer, "for", json_string("run"));
    if (answer && reason)
        json_object_set_new(answer, "reason", json_string(reason));
    char *line = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
    json_decref(answer);
    bool good = line ? process->talk.fd < 0 || talk_send(process, line, error) : fail_memory(error);
    free(line);
    return good;
}

bool cloche_answer(cloche_process *process, uint32_t number, bool allow, const char *reason, cloche_error **error)
{
    return send_answer(process, number, allow, false, reason, error);
}

bool cloche_answer_for_run(cloche_process *process, uint32_t number, bool allow, const char *reason,
                           cloche_error **error)
{
    return send_answer(process, number, allow, true, reason, error);
}

bool cloche_allow_for_session(cloche_process *process, uint32_t number, cloche_error **error)
{
    struct words *grants = &process->session->grants;

    for (size_t i = 0; i < ASKED_MAX; i++) {
        const struct asked *asked = &process->asked[i];
        if (asked->option && asked->number == number)
            return send_answer(process, number, true, true, NULL, error) &&
                   (!asked->value ||
                    (words_add(grants, asked->option, error) && words_add(grants, asked->value, error)));
    }
    return fail(error, CLOCHE_ERROR_ARGUMENT, 0, "there is no question %u, or it is too long ago", number);
}
