/* A command that could write where events are written would forge them, and one at the
 * descriptor that policies are read from would make its own. Numbers do not tell: two
 * may be of one pipe, and its two ends are one file to the kernel. */
#include "session/passed.h"

#include "base/fd.h"

#include <fcntl.h>

bool passed_are_open(const struct session_request *request, struct error *err)
{
    for (size_t i = 0; i < request->passed_count; i++) {
        if (fcntl(request->passed[i], F_GETFD) < 0)
            return error_set(err, "--pass-fd %d is not open: open it for cloche (in a shell: %d<FILE or %d>FILE)",
                             request->passed[i], request->passed[i], request->passed[i]);
    }
    return true;
}

bool passed_are_apart(const struct session_request *request, struct error *err)
{
    const struct {
        int fd; /* 0: none */
        const char *option;
    } own[] = {
        {request->control_fd, "--control-fd"},
        {request->lifeline_fd, "--lifeline-fd"},
        {request->session_fd, "--session-fd"},
        {request->events_fd, "--events"},
    };

    for (size_t i = 0; i < request->passed_count; i++) {
        for (size_t j = 0; j < sizeof own / sizeof *own; j++) {
            if (own[j].fd > 0 && (own[j].fd == request->passed[i] || fd_is_same_file(own[j].fd, request->passed[i])))
                return error_set(err, "--pass-fd %d is what %s is for: the command must not have it",
                                 request->passed[i], own[j].option);
        }
    }
    return true;
}
