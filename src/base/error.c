#include "base/error.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
    text_make_safe(err->text);
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
    text_make_safe(err->text);
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
    text_make_safe(err->text);
    return false;
}
