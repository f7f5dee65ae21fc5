/* Lines of JSON from the binary. They come from our own program, and names in them
 * from the command: a line is bounded. */
#include "lib/handles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINE_MAX_LENGTH = 256 * 1024, CHUNK = 32768 };

void lines_close(struct lines *lines)
{
    if (lines->fd >= 0)
        close(lines->fd); /* which takes it out of the session's descriptor, too */
    free(lines->text);
    *lines = (struct lines){.fd = -1};
}

static bool make_room(struct lines *lines, cloche_error **error)
{
    if (lines->length > LINE_MAX_LENGTH)
        lines->length = 0; /* not a line of ours */
    if (lines->capacity - lines->length >= CHUNK)
        return true;
    size_t capacity = lines->length + 2 * (size_t)CHUNK;
    char *grown = realloc(lines->text, capacity);
    if (!grown)
        return fail_memory(error);
    lines->text = grown;
    lines->capacity = capacity;
    return true;
}

/* Takes the whole lines out of what was read. */
static int take_lines(struct lines *lines,
                      bool (*take)(struct cloche_process *process, const char *line, size_t length),
                      struct cloche_process *process)
{
    char *rest = lines->text;
    size_t length = lines->length;
    int count = 0;

    for (char *end; (end = memchr(rest, '\n', length)); rest = end + 1) {
        *end = '\0';
        count += take(process, rest, (size_t)(end - rest));
        length -= (size_t)(end - rest) + 1;
    }
    memmove(lines->text, rest, length);
    lines->length = length;
    return count;
}

int lines_read(struct lines *lines, bool (*take)(struct cloche_process *process, const char *line, size_t length),
               struct cloche_process *process, cloche_error **error)
{
    int count = 0;

    while (lines->fd >= 0) {
        if (!make_room(lines, error))
            return -1;
        ssize_t got = recv(lines->fd, lines->text + lines->length, CHUNK, MSG_DONTWAIT);
        if (got > 0) {
            lines->length += (size_t)got;
            count += take_lines(lines, take, process);
        } else if (got == 0 || errno != EINTR) {
            if (got == 0 || errno != EAGAIN)
                lines_close(lines);
            return count;
        }
    }
    return count;
}
