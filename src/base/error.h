/* An error is a sentence: what was attempted, on what, why it failed, what to
 * do. Functions that can fail return false and fill one in. */
#ifndef CLOCHE_BASE_ERROR_H
#define CLOCHE_BASE_ERROR_H

#include <stdbool.h>

enum { ERROR_TEXT_MAX = 4096 };

struct error {
    char text[ERROR_TEXT_MAX]; /* one line, fit for a terminal (attack 101) */
};

/* All of these return false, so that `return error_set(...)` reads well. A NULL
 * error is for callers who need no words. Cold: what leads to one is put where the
 * rest does not have to be read around it. */
bool error_set(struct error *err, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));
/* As error_set, with ": " and the text of errnum behind it. */
bool error_set_errno(struct error *err, int errnum, const char *format, ...)
    __attribute__((cold, format(printf, 3, 4)));
/* Puts "words: " before the text that is there. */
bool error_wrap(struct error *err, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));

#endif
