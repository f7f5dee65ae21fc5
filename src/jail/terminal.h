/* The terminal cloche was started on, given back in the state it had. */
#ifndef CLOCHE_JAIL_TERMINAL_H
#define CLOCHE_JAIL_TERMINAL_H

#include <stdbool.h>
#include <termios.h>

struct terminal {
    int fd; /* -1: none */
    struct termios modes;
};

/* Remembers the terminal if cloche is in its foreground. */
void terminal_save(struct terminal *terminal);

/* `killed`: the command had no chance to tidy up. */
void terminal_restore(const struct terminal *terminal, bool killed);

#endif
