/* A session is the words a run is called with. They are tried once, by asking the
 * binary to explain them: what is wrong with a policy is said then, and not by
 * each command. */
#include "lib/handles.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { STATUS_REFUSED = 125 };

bool session_words(const cloche_session *session, const char *verb, const struct words *policy, struct words *words,
                   cloche_error **error)
{
    bool good = words_add(words, session->binary, error) && words_add(words, verb, error);

    if (session->project)
        good = good && words_add(words, "--project", error) && words_add(words, session->project, error);
    return good && words_add_all(words, (const char *const *)policy->items, error) &&
           words_add_all(words, (const char *const *)session->arguments.items, error) &&
           words_add_all(words, (const char *const *)session->grants.items, error);
}

/* ---- what the binary says of itself and of the policy ---- */

static bool check_version(const cloche_session *session, cloche_error **error)
{
    char *argv[] = {session->binary, (char *)"--version", NULL};
    char *said;
    char *complaint;
    int status = launch_and_listen(argv, -1, -1, &said, &complaint, error);

    if (status < 0)
        return false;
    said[strcspn(said, "\n")] = '\0';
    bool same = status == 0 && strcmp(said, "cloche " CLOCHE_VERSION) == 0;
    if (!same)
        fail(error, CLOCHE_ERROR_VERSION, 0,
             "%s says it is \"%.60s\", but this library is of cloche %s: use the two together", session->binary, said,
             CLOCHE_VERSION);
    free(said);
    free(complaint);
    return same;
}

/* The plan of a run, as the binary sees it. */
static json_t *ask_for_plan(const cloche_session *session, const struct words *policy, cloche_error **error)
{
    struct words words = {0};
    char *said = NULL;
    char *complaint = NULL;
    json_t *plan = NULL;

    if (session_words(session, "explain", policy, &words, error) && words_add(&words, "--json", error)) {
        int status = launch_and_listen(words.items, -1, -1, &said, &complaint, error);
        plan = status >= 0 && status != STATUS_REFUSED ? json_loads(said, 0, NULL) : NULL;
        if (status >= 0 && !plan)
            fail(error, CLOCHE_ERROR_POLICY, 0, "%s", complaint);
        if (status >= 0) {
            free(said);
            free(complaint);
        }
    }
    words_free(&words);
    return plan;
}

static bool is_refused(json_t *plan, cloche_error **error)
{
    json_t *refusals = json_object_get(plan, "refusals");
    char text[2048] = "";
    size_t length = 0;

    for (size_t i = 0; i < json_array_size(refusals) && length + 1 < sizeof text; i++) {
        json_t *refusal = json_array_get(refusals, i);
        const char *what = json_string_value(json_object_get(refusal, "what"));
        if (json_is_true(json_object_get(refusal, "waived")) || !what)
            continue;
        char *end = text + length;
        size_t room = sizeof text - length;
        size_t more = strnlen(what, room - 2);
        memcpy(end, what, more);
        end[more] = '\n';
        length += more + 1;
    }
    if (length == 0)
        return false;
    text[length - 1] = '\0';
    fail(error, CLOCHE_ERROR_REFUSED, 0, "%s", text);
    return true;
}

/* Whether it can be kept here, and what the session has to know of it. */
static bool try_policy(cloche_session *session, const struct words *policy, bool *filtered, cloche_error **error)
{
    json_t *plan = ask_for_plan(session, policy, error);

    if (!plan)
        return false;
    bool good = !is_refused(plan, error);
    const char *mode = json_string_value(json_object_get(json_object_get(plan, "network"), "mode"));
    *filtered = mode && strcmp(mode, "filtered") == 0;
    good = good && session_hold_tmp(session, policy, json_string_value(json_object_get(plan, "tmp")), error);
    json_decref(plan);
    return good;
}

/* ---- its life ---- */

static bool fill(cloche_session *session, const cloche_policy *policy, const struct cloche_options *given,
                 cloche_error **error)
{
    struct cloche_options options = {0};

    if (given)
        memcpy(&options, given, given->size < sizeof options ? given->size : sizeof options);
    session->binary = strdup(options.binary ? options.binary : "cloche");
    session->project = options.project ? strdup(options.project) : NULL;
    if (!session->binary || (options.project && !session->project))
        return fail_memory(error);
    session->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (session->epoll < 0)
        return fail(error, CLOCHE_ERROR_SYSTEM, errno, "cannot watch over processes");
    for (size_t i = 0; options.arguments && options.arguments[i]; i++)
        session->asks = session->asks || strcmp(options.arguments[i], "--ask") == 0;
    return words_add_all(&session->arguments, options.arguments, error) &&
           (!policy || words_add_all(&session->policy, (const char *const *)policy->options.items, error));
}

cloche_session *cloche_session_new(const cloche_policy *policy, const struct cloche_options *options,
                                   cloche_error **error)
{
    cloche_session *session = calloc(1, sizeof *session);

    if (!session) {
        fail_memory(error);
        return NULL;
    }
    session->epoll = session->tmp = -1;
    if (fill(session, policy, options, error) && check_version(session, error) &&
        try_policy(session, &session->policy, &session->filtered, error))
        return session;
    cloche_session_free(session);
    return NULL;
}

void cloche_session_free(cloche_session *session)
{
    if (!session)
        return;
    while (session->processes)
        cloche_process_free(session->processes);
    if (session->epoll >= 0)
        close(session->epoll);
    if (session->tmp >= 0)
        close(session->tmp);
    words_free(&session->arguments);
    words_free(&session->policy);
    words_free(&session->grants);
    free(session->binary);
    free(session->project);
    free(session);
}

/* ---- another policy ---- */

/* One line for --session-fd: a list of what --settings takes. A preset has a
 * prefix there. */
static char *control_line(const struct words *policy, cloche_error **error)
{
    json_t *list = json_array();
    char *text = NULL;

    for (size_t i = 0; i + 1 < policy->count; i += 2) {
        bool preset = strcmp(policy->items[i], "--preset") == 0;
        json_array_append_new(list, json_sprintf("%s%s", preset ? "preset:" : "", policy->items[i + 1]));
    }
    if (json_array_size(list) == policy->count / 2)
        text = json_dumps(list, JSON_COMPACT);
    json_decref(list);
    if (!text)
        fail_memory(error);
    return text;
}

bool cloche_session_update(cloche_session *session, const cloche_policy *policy, cloche_error **error)
{
    struct words words = {0};
    bool filtered = false;
    char *line = NULL;

    if (!policy || policy->options.count == 0)
        return fail(error, CLOCHE_ERROR_ARGUMENT, 0, "there is no policy to replace the old one with");
    bool good = try_policy(session, &policy->options, &filtered, error) &&
                words_add_all(&words, (const char *const *)policy->options.items, error) &&
                (line = control_line(&policy->options, error));
    for (cloche_process *process = session->processes; good && process; process = process->next) {
        if (process->talk.fd >= 0 && !process->ended)
            good = talk_send(process, line, error);
    }
    free(line);
    if (!good) {
        words_free(&words);
        return false;
    }
    words_free(&session->policy);
    session->policy = words;
    session->filtered = filtered;
    return true;
}

bool cloche_explain(cloche_session *session, const char *question, bool *allowed, char **answer, cloche_error **error)
{
    struct words words = {0};
    char *said;
    char *complaint;
    int status = -1;

    if (!question || !*question || *question == '-')
        return fail(error, CLOCHE_ERROR_ARGUMENT, 0, "a question is \"read:PATH\", \"net:HOST\" or the like");
    if (session_words(session, "explain", &session->policy, &words, error) && words_add(&words, "--json", error) &&
        words_add(&words, question, error))
        status = launch_and_listen(words.items, -1, -1, &said, &complaint, error);
    words_free(&words);
    if (status < 0)
        return false;
    bool good = status == 0 || status == 1;
    if (!good)
        fail(error, CLOCHE_ERROR_ARGUMENT, 0, "%s", complaint);
    *allowed = status == 0;
    free(complaint);
    if (good && answer)
        *answer = said;
    else
        free(said);
    return good;
}

void cloche_session_on_event(cloche_session *session, cloche_event_callback *callback, void *argument)
{
    session->on_event = callback;
    session->event_argument = argument;
}

void cloche_session_on_ask(cloche_session *session, cloche_ask_callback *callback, void *argument)
{
    session->on_ask = callback;
    session->ask_argument = argument;
}

int cloche_session_fd(const cloche_session *session)
{
    return session->epoll;
}
