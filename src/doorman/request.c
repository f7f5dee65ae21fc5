#include "doorman/request.h"

#include "base/fd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct answer answer_of(int64_t result)
{
    return result < 0 ? answer_error(errno) : answer_value(result);
}

void request_begin(struct request *request, uint64_t id, pid_t thread)
{
    request->id = id;
    request->thread = thread;
    for (size_t i = 0; i < 2; i++) {
        request->operands[i].base = -1;
        request->operands[i].is_base = false;
        request->operands[i].length = 0;
        request->operands[i].path[0] = '\0';
    }
    request->is_appealed = false;
    request->socket = -1;
    request->caller = -1;
    request->memory = -1;
    request->right_count = 0;
    request->value = NULL;
    request->value_size = 0;
    request->control = NULL;
    request->control_size = 0;
    request->address_length = 0;
    request->next = NULL;
    request->how = (struct open_how){0};
    request->has_resolve = false;
    request->no_follow = false;
    request->flags = 0;
    request->mode = 0;
    request->umask = 0;
    request->other_user = false;
    request->device = 0;
    request->now = false;
    memset(request->times, 0, sizeof request->times);
}

void request_let_go(struct request *request)
{
    fd_close(&request->socket);
    for (size_t i = 0; i < request->right_count; i++)
        fd_close(&request->rights[i]);
    request->right_count = 0;
}

static void clear(struct request *request)
{
    for (size_t i = 0; i < 2; i++)
        fd_close(&request->operands[i].base);
    request_let_go(request);
    fd_close(&request->caller);
    fd_close(&request->memory);
    free(request->value);
    request->value = NULL;
    free(request->control);
    request->control = NULL;
}

void request_clear(struct request *request)
{
    struct request *next = request->next;

    clear(request);
    request->next = NULL;
    while (next) {
        struct request *cleared = next;
        next = cleared->next;
        clear(cleared);
        free(cleared);
    }
}
