/* The tamper-evident chain of a log (violation.chain): the last key of each line
 * is the SHA-256, in hex, of the value before it and of the line without that key.
 * Whoever changes, removes or adds a line in the middle would have to make all
 * values behind it anew, and the last one would no longer be the one that was
 * noted down elsewhere. */
#ifndef CLOCHE_WATCH_LOG_CHAIN_H
#define CLOCHE_WATCH_LOG_CHAIN_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

enum { LOG_CHAIN_DIGITS = 64 };

struct log_chain_value {
    char text[LOG_CHAIN_DIGITS + 1]; /* empty before the first line */
};

/* The value that follows `before` for `line`, a JSON object without a chain and
 * without a newline. */
struct log_chain_value log_chain_next(const struct log_chain_value *before, struct slice line);

/* Does `line` end in a chain? Then `*body` is what is before its comma (the object
 * without its closing brace), and `*value` what it says. */
bool log_chain_find(struct slice line, struct slice *body, struct log_chain_value *value);

struct log_chain {
    struct log_chain_value last;
    bool begun;     /* a line of the chain was seen */
    bool headless;  /* its first line follows one that is not here any more */
    size_t chained; /* lines in the chain */
    size_t outside; /* lines without one: written by runs that keep none, or put in */
};

/* Follows the chain through the next line; false where it is broken, after which
 * it goes on from what this line says. `older_gone`: lines before the first may
 * have been rotated away. */
bool log_chain_follow(struct log_chain *chain, struct slice line, bool older_gone);

#endif
