#include "base/log.h"

#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static enum log_level current_level = LOG_NORMAL;
static const char *current_name = "cloche";

void log_set_level(enum log_level level)
{
    current_level = level;
}

bool log_is_verbose(void)
{
    return current_level == LOG_VERBOSE;
}

void log_set_name(const char *name)
{
    current_name = name;
}

const char *log_name(void)
{
    return current_name;
}

void log_block(struct slice lines)
{
    while (current_level >= LOG_NORMAL && lines.len > 0) {
        ssize_t wrote = write(STDERR_FILENO, lines.ptr, lines.len);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return;
        lines = slice_from(lines, (size_t)wrote);
    }
}

/* Written in one call, so that lines of several processes do not mix. */
static __attribute__((format(printf, 1, 0))) void say(const char *format, va_list arguments)
{
    char message[8192];
    char line[8300];
    int saved = errno;

    vsnprintf(message, sizeof message, format, arguments);
    text_make_safe(message);
    int written = snprintf(line, sizeof line, "%s: %s\n", current_name, message);
    if (written > 0 && (size_t)written < sizeof line) {
        ssize_t ignored = write(STDERR_FILENO, line, (size_t)written);
        (void)ignored;
    }
    errno = saved;
}

#define SAY_WHEN(condition)          \
    do {                             \
        va_list arguments;           \
        if (!(condition))            \
            return;                  \
        va_start(arguments, format); \
        say(format, arguments);      \
        va_end(arguments);           \
    } while (0)

void log_error(const char *format, ...)
{
    SAY_WHEN(true);
}

void log_warning(const char *format, ...)
{
    SAY_WHEN(current_level >= LOG_NORMAL);
}

void log_detail(const char *format, ...)
{
    SAY_WHEN(current_level >= LOG_VERBOSE);
}
