/* The terminal the user sits at, seen from outside. Private to this room. */
#ifndef CLOCHE_JAIL_TERMINAL_H
#define CLOCHE_JAIL_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

struct terminal {
    int fd;      /* the standard descriptor that is the controlling terminal; -1: none is */
    pid_t owner; /* the process group outside that had the foreground */

    /* As they were when the run had the foreground for the first time. */
    bool noted;
    bool exclusive;
    struct termios settings;
};

void terminal_find(struct terminal *terminal);

/* Is cloche's own process group in the foreground? */
bool terminal_is_foreground(const struct terminal *terminal);

/* To be called whenever the run may have come into the foreground. */
void terminal_note(struct terminal *terminal);

/* To be called when nothing is alive inside: the foreground is again whose it
 * was, and the settings are what they were if the command had no chance to tidy
 * up (`killed`). Needs SIGTTOU blocked. */
void terminal_take_back(const struct terminal *terminal, bool killed);

#endif
