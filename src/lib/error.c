/* Reasons as objects. When there is no memory for one there is still a reason: a
 * constant one. */
#include "lib/handles.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 4096 };

struct cloche_error {
    enum cloche_code code;
    int number;
    char text[TEXT_MAX];
};

static const struct cloche_error out_of_memory = {.code = CLOCHE_ERROR_MEMORY, .text = "out of memory"};

bool fail_memory(cloche_error **error)
{
    if (error && !*error)
        *error = (cloche_error *)&out_of_memory;
    return false;
}

static __attribute__((format(printf, 2, 0))) void fill(cloche_error *error, const char *format, va_list arguments)
{
    char reason[128];

    vsnprintf(error->text, sizeof error->text, format, arguments);
    size_t length = strlen(error->text);
    if (error->number)
        snprintf(error->text + length, sizeof error->text - length, ": %s",
                 strerror_r(error->number, reason, sizeof reason));
}

static cloche_error *make(enum cloche_code code, int number)
{
    cloche_error *made = calloc(1, sizeof *made);

    if (made) {
        made->code = code;
        made->number = number;
    }
    return made;
}

bool fail(cloche_error **error, enum cloche_code code, int number, const char *format, ...)
{
    va_list arguments;

    if (!error || *error)
        return false;
    *error = make(code, number);
    if (!*error)
        return fail_memory(error);
    va_start(arguments, format);
    fill(*error, format, arguments);
    va_end(arguments);
    return false;
}

enum cloche_code cloche_error_code(const cloche_error *error)
{
    return error ? error->code : 0;
}

int cloche_error_number(const cloche_error *error)
{
    return error ? error->number : 0;
}

const char *cloche_error_text(const cloche_error *error)
{
    return error ? error->text : "";
}

void cloche_error_free(cloche_error *error)
{
    if (error != &out_of_memory)
        free(error);
}

void cloche_free(void *memory)
{
    free(memory);
}

unsigned cloche_abi(void)
{
    return CLOCHE_ABI;
}

const char *cloche_version(void)
{
    return CLOCHE_VERSION;
}
