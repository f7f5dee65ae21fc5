/* A shell inside makes process groups of its own and puts them in the
 * foreground. When it is gone, the terminal may be left to a group that no
 * longer exists, and whoever reads from it next would be stopped. And a command
 * that was killed may have left it without echo (attack 60). Modes that a command
 * changed and then ended in peace are its own doing (stty) and stay. */
#include "jail/terminal.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

void terminal_save(struct terminal *terminal)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        terminal->fd = fd;
        if (tcgetattr(fd, &terminal->modes) == 0 && tcgetpgrp(fd) == getpgrp())
            return;
    }
    terminal->fd = -1;
}

void terminal_restore(const struct terminal *terminal, bool killed)
{
    sigset_t from_background;
    sigset_t before;

    if (terminal->fd < 0)
        return;
    /* Without this the kernel would stop us for touching it. */
    sigemptyset(&from_background);
    sigaddset(&from_background, SIGTTOU);
    sigprocmask(SIG_BLOCK, &from_background, &before);

    pid_t foreground = tcgetpgrp(terminal->fd);
    bool is_ours = foreground == getpgrp();
    /* A living group is that of the shell that sent us to the background. */
    if (!is_ours && foreground > 0 && kill(-foreground, 0) < 0 && errno == ESRCH)
        is_ours = tcsetpgrp(terminal->fd, getpgrp()) == 0;
    if (is_ours && killed)
        tcsetattr(terminal->fd, TCSANOW, &terminal->modes);
    sigprocmask(SIG_SETMASK, &before, NULL);
}
