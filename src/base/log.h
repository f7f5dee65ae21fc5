/* cloche's own words: stderr, one line each, prefixed "cloche: " (or the name
 * of the personality). stdout belongs to the command. What a message quotes can
 * neither drive a terminal nor forge a second line (attack 101). */
#ifndef CLOCHE_BASE_LOG_H
#define CLOCHE_BASE_LOG_H

#include "base/slice.h"

#include <stdbool.h>

enum log_level { LOG_QUIET, LOG_NORMAL, LOG_VERBOSE };

void log_set_level(enum log_level level);
bool log_is_verbose(void);
void log_set_name(const char *name); /* lives as long as the process */

/* Errors are always said; warnings unless quiet; details only when verbose. */
void log_error(const char *format, ...) __attribute__((cold, format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((cold, format(printf, 1, 2)));
void log_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Lines that are safe as they stand and say who speaks; unless quiet. */
void log_block(struct slice lines);
const char *log_name(void);

#endif
