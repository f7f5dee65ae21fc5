/* A line takes effect as a whole or not at all: what cannot be read, or is not
 * valid, is said and changes nothing (attack 94). Who writes is whoever started
 * cloche; the descriptor is closed in all other processes. */
#include "session/reload.h"

#include "base/fd.h"
#include "base/json.h"
#include "base/log.h"
#include "policy/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool reload_open(const struct session *session, int fd, struct reload *reload, struct error *err)
{
    *reload = (struct reload){.session = session, .fd = -1, .policy = &session->policy};
    if (fd == 0)
        return true;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return error_set_errno(err, errno, "--control-fd %d", fd);
    if ((flags & O_ACCMODE) == O_WRONLY)
        return error_set(err, "--control-fd %d is not open for reading", fd);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    reload->fd = fd;
    return true;
}

static void say_problems(const struct problems *problems, struct arena *arena)
{
    for (size_t i = 0; i < problems->count; i++) {
        if (!problems->items[i].warning)
            log_error("%s", problem_line(arena, &problems->items[i]));
    }
    log_error("a line of --control-fd is not a valid policy: the old one stays in force");
}

/* A list in a line: several policies, each as --settings takes it. */
static bool read_list(struct arena *arena, struct slice line, struct policy_request *request, struct error *err)
{
    JSON_CLEANUP json_t *list = NULL;

    if (!json_parse(line, "--control-fd", &list, err))
        return false;
    request->source_count = json_array_size(list);
    struct policy_source *sources = arena_alloc(arena, (request->source_count + 1) * sizeof *sources);
    for (size_t i = 0; i < request->source_count; i++) {
        struct slice word = json_slice(json_array_get(list, i));
        if (!word.ptr || word.len == 0 || slice_find(word, '\0') < word.len)
            return error_set(err, "--control-fd: [%zu]: must be a text that --settings could take", i);
        sources[i] = policy_source_named(arena_slice(arena, word).ptr);
    }
    request->sources = sources;
    return request->source_count > 0 || error_set(err, "--control-fd: []: an empty list is no policy");
}

static void apply(struct reload *reload, struct slice line)
{
    struct arena arena = {0};
    struct policy loaded;
    struct problems problems = {.arena = &arena};
    struct policy_source source = {.kind = SOURCE_TEXT, .name = "--control-fd", .text = line};
    struct policy_request request = {.sources = &source, .source_count = 1};
    struct error err;

    if (line.ptr[0] == '[' && !read_list(&arena, line, &request, &err)) {
        log_error("%s: the old policy stays in force", err.text);
        arena_free(&arena);
        return;
    }
    if (!policy_load(&arena, &reload->session->around, &request, &loaded, &problems)) {
        say_problems(&problems, &arena);
        arena_free(&arena);
        return;
    }
    struct policy next = reload->session->policy;
    next.network.mode = NETWORK_FILTERED;
    next.network.allowed = loaded.network.allowed;
    next.network.denied = loaded.network.denied;
    next.network.denied_resolved = loaded.network.denied_resolved;
    next.network.mitm_proxy = loaded.network.mitm_proxy;
    arena_free(&reload->arena);
    reload->arena = arena;
    reload->replacement = next;
    reload->policy = &reload->replacement;
    log_detail("--control-fd: %zu allowed and %zu denied hosts are in force now", next.network.allowed.count,
               next.network.denied.count);
}

static bool is_blank(struct slice line)
{
    for (size_t i = 0; i < line.len; i++) {
        if (line.ptr[i] != ' ' && line.ptr[i] != '\t' && line.ptr[i] != '\r')
            return false;
    }
    return true;
}

static void end_line(struct reload *reload)
{
    struct slice line = {reload->line, reload->length};

    if (reload->too_long)
        log_error("a line of --control-fd is longer than %d bytes: the old policy stays in force", RELOAD_LINE_MAX);
    else if (!is_blank(line) && (!reload->heard || !reload->heard(reload->argument, line)))
        apply(reload, line);
    reload->length = 0;
    reload->too_long = false;
}

static bool make_room(struct reload *reload, size_t more)
{
    if (reload->length + more <= reload->capacity)
        return true;
    if (reload->length + more > RELOAD_LINE_MAX)
        return false;
    size_t wanted = 2 * (reload->length + more);
    char *larger = realloc(reload->line, wanted);
    if (!larger)
        return false;
    reload->line = larger;
    reload->capacity = wanted;
    return true;
}

static void take(struct reload *reload, struct slice bytes)
{
    while (bytes.len > 0) {
        size_t end = slice_find(bytes, '\n');
        if (!reload->too_long && make_room(reload, end)) {
            if (end > 0)
                memcpy(reload->line + reload->length, bytes.ptr, end);
            reload->length += end;
        } else {
            reload->too_long = true;
        }
        if (end == bytes.len)
            return;
        end_line(reload);
        bytes = slice_from(bytes, end + 1);
    }
}

void reload_read(struct reload *reload)
{
    char bytes[65536];
    ssize_t got = read(reload->fd, bytes, sizeof bytes);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0) {
        take(reload, (struct slice){bytes, (size_t)got});
        return;
    }
    if (reload->length > 0)
        end_line(reload);
    reload->fd = -1;
}

void reload_close(struct reload *reload)
{
    free(reload->line);
    arena_free(&reload->arena);
    *reload = (struct reload){.fd = -1};
}
