/* What a run leaves of the terminal.
 *
 * The command uses the user's own terminal; there is no second one with a relay
 * between. A relay would have to put the user's terminal into raw mode, which it
 * stays in if cloche is killed, and it breaks pipelines: of two programs that
 * share a terminal (`cloche run make | less`) only one can be the relay's. What a
 * relay would hold is held otherwise: typing (56-58) and line disciplines by the
 * filter; the foreground and the settings (60) here; signals to cloche's process
 * group by Landlock. A command none of whose standard descriptors is a terminal
 * is cut off from it altogether (target.c): that is how other programs run
 * theirs.
 *
 * What sharing cannot hold: as long as the run lives, in the background or
 * stopped too, a hostile command that was given the terminal can read from it. */
#include "jail/terminal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool is_exclusive(int fd)
{
    int exclusive = 0;

    return ioctl(fd, TIOCGEXCL, &exclusive) == 0 && exclusive;
}

void terminal_find(struct terminal *terminal)
{
    *terminal = (struct terminal){.fd = -1};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        /* Only the controlling terminal tells. */
        pid_t group = tcgetpgrp(fd);
        if (group < 0)
            continue;
        terminal->fd = fd;
        terminal->owner = group;
        terminal_note(terminal);
        return;
    }
}

bool terminal_is_foreground(const struct terminal *terminal)
{
    return terminal->fd >= 0 && tcgetpgrp(terminal->fd) == getpgrp();
}

void terminal_note(struct terminal *terminal)
{
    if (!terminal_is_foreground(terminal))
        return;
    terminal->owner = getpgrp();
    /* In the background one would see the settings of the shell's line editor. */
    if (terminal->noted || tcgetattr(terminal->fd, &terminal->settings) < 0)
        return;
    terminal->exclusive = is_exclusive(terminal->fd);
    terminal->noted = true;
}

static bool is_gone(pid_t group)
{
    return group > 1 && kill(-group, 0) < 0 && errno == ESRCH;
}

static bool is_same(const struct termios *a, const struct termios *b)
{
    return a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag && a->c_cflag == b->c_cflag &&
           a->c_lflag == b->c_lflag && memcmp(a->c_cc, b->c_cc, sizeof a->c_cc) == 0;
}

static void restore(const struct terminal *terminal, bool killed)
{
    struct termios now;

    /* Output the command has halted would keep everybody else waiting; what the
     * user has halted with Ctrl-S is not touched by this. */
    tcflow(terminal->fd, TCOON);
    if (!terminal->exclusive && is_exclusive(terminal->fd))
        ioctl(terminal->fd, TIOCNXCL);
    /* A command that ended in peace may have meant it (stty). */
    if (killed && tcgetattr(terminal->fd, &now) == 0 && !is_same(&now, &terminal->settings))
        tcsetattr(terminal->fd, TCSANOW, &terminal->settings);
}

void terminal_take_back(const struct terminal *terminal, bool killed)
{
    if (terminal->fd < 0)
        return;
    /* A shell inside cannot do it: it does not see the group it got it from. */
    if (is_gone(tcgetpgrp(terminal->fd)))
        tcsetpgrp(terminal->fd, is_gone(terminal->owner) ? getpgrp() : terminal->owner);
    if (terminal->noted && terminal_is_foreground(terminal))
        restore(terminal, killed);
}
