#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum log_level current_level = LOG_NORMAL;
static const char *current_name = "cloche";

void log_set_level(enum log_level level)
{
    current_level = level;
}

void log_set_name(const char *name)
{
    current_name = name;
}

/* Every line of a message gets the prefix, and is written in one call so that
 * lines of several processes do not mix. */
static __attribute__((format(printf, 1, 0))) void say(const char *format, va_list arguments)
{
    char message[8192];
    char line[8300];
    int saved = errno;

    vsnprintf(message, sizeof message, format, arguments);
    for (char *start = message; *start;) {
        size_t length = strcspn(start, "\n");
        int written = snprintf(line, sizeof line, "%s: %.*s\n", current_name, (int)length, start);
        for (int i = 0; i < written - 1 && i < (int)sizeof line; i++) {
            unsigned char byte = (unsigned char)line[i];
            if (byte < 0x20 || byte == 0x7f)
                line[i] = '?';
        }
        if (written > 0) {
            size_t size = (size_t)written < sizeof line ? (size_t)written : sizeof line - 1;
            ssize_t ignored = write(STDERR_FILENO, line, size);
            (void)ignored;
        }
        start += length;
        if (*start == '\n')
            start++;
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
