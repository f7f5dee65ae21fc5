#include "doorman/request.h"

#include "base/fd.h"

#include <errno.h>
#include <stdlib.h>

struct answer answer_of(int64_t result)
{
    return result < 0 ? answer_error(errno) : answer_value(result);
}

void request_clear(struct request *request)
{
    for (size_t i = 0; i < 2; i++)
        fd_close(&request->operands[i].base);
    fd_close(&request->socket);
    free(request->value);
    request->value = NULL;
}
