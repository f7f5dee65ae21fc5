#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Control characters in a file name must not reach a terminal through an error
 * message (attack 101), so the finished text is cleaned in place. Non-ASCII
 * bytes stay: they are people's own names; text_append_escaped does the full
 * job where names are quoted on purpose. */
static void clean(char *text)
{
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if ((byte < 0x20 && byte != '\n') || byte == 0x7f)
            *text = '?';
    }
}

static __attribute__((format(printf, 2, 0))) void fill(struct error *err, const char *format, va_list arguments)
{
    vsnprintf(err->text, sizeof err->text, format, arguments);
}

bool error_set(struct error *err, const char *format, ...)
{
    va_list arguments;

    if (!err)
        return false;
    va_start(arguments, format);
    fill(err, format, arguments);
    va_end(arguments);
    clean(err->text);
    return false;
}

bool error_set_errno(struct error *err, int errnum, const char *format, ...)
{
    va_list arguments;

    if (!err)
        return false;
    va_start(arguments, format);
    fill(err, format, arguments);
    va_end(arguments);

    size_t used = strlen(err->text);
    snprintf(err->text + used, sizeof err->text - used, ": %s", strerror(errnum));
    clean(err->text);
    return false;
}

bool error_wrap(struct error *err, const char *format, ...)
{
    struct error outer;
    va_list arguments;

    if (!err)
        return false;
    va_start(arguments, format);
    fill(&outer, format, arguments);
    va_end(arguments);

    size_t used = strlen(outer.text);
    snprintf(outer.text + used, sizeof outer.text - used, ": %s", err->text);
    *err = outer;
    clean(err->text);
    return false;
}
