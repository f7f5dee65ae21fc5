/* Opened by the doorman, /dev/tty would be the doorman's, which is the terminal
 * cloche was started from. The caller may have that one too, or one of its own that
 * it made inside (tmux, script), or none. Terminals inside have numbers of their own, which
 * may be those of the host's: only who is in the doorman's own session has the
 * doorman's terminal. */
#include "doorman/terminal.h"

#include "doorman/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Made inside: /dev/pts there is the sandbox's own. */
static int open_inside(int number, int flags)
{
    char path[64];

    if (number < 0) {
        errno = ENXIO;
        return -1;
    }
    snprintf(path, sizeof path, "/dev/pts/%d", number);
    return open(path, flags | O_NONBLOCK);
}

int terminal_of_caller(const struct house *house, pid_t caller, int flags)
{
    struct session session;

    if (fetch_session(house, caller, &session) != 0) {
        errno = ENXIO;
        return -1;
    }
    int fd = session.id == getsid(0) ? open("/dev/tty", flags | O_NONBLOCK) : open_inside(session.terminal, flags);
    if (fd >= 0 && !(flags & O_NONBLOCK))
        fcntl(fd, F_SETFL, flags & O_APPEND);
    return fd;
}
