/* The list of everything that is wrong with the policy files of one run, and
 * the guess at what a misspelt word was meant to be. */
#include "policy/problems.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

/* Longer words are nobody's slip of the pen; the bound keeps the tables of the
 * distance on the stack. */
enum { WORD_MAX = 64, NEAR_ENOUGH = 2 };

static void __attribute__((format(printf, 5, 0)))
add(struct problems *problems, bool warning, const char *file, const char *path, const char *format, va_list arguments)
{
    va_list measured;
    va_copy(measured, arguments);
    int length = vsnprintf(NULL, 0, format, measured);
    va_end(measured);
    size_t size = length < 0 ? 1 : (size_t)length + 1;
    char *text = arena_alloc(problems->arena, size);
    if (length >= 0)
        vsnprintf(text, size, format, arguments);
    text_make_safe(text);

    problems->items = arena_grow(problems->arena, problems->items, problems->count, problems->count + 1,
                                 &problems->capacity, sizeof *problems->items);
    problems->items[problems->count++] = (struct problem){.file = file, .path = path, .text = text, .warning = warning};
    problems->errors += !warning;
}

void problem_add(struct problems *problems, const char *file, const char *path, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    add(problems, false, file, path, format, arguments);
    va_end(arguments);
}

void warning_add(struct problems *problems, const char *file, const char *path, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    add(problems, true, file, path, format, arguments);
    va_end(arguments);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits that turn one word into the other: insert, delete, replace, or swap two
 * neighbours. Both are at most WORD_MAX long. */
static size_t distance(struct slice a, struct slice b)
{
    size_t before_last[WORD_MAX + 1] = {0};
    size_t last[WORD_MAX + 1];
    size_t row[WORD_MAX + 1];

    for (size_t j = 0; j <= b.len; j++)
        last[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        char byte = slice_lower(a.ptr[i - 1]);
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            char other = slice_lower(b.ptr[j - 1]);
            row[j] = smaller(smaller(last[j], row[j - 1]) + 1, last[j - 1] + (byte != other));
            if (i > 1 && j > 1 && byte == slice_lower(b.ptr[j - 2]) && slice_lower(a.ptr[i - 2]) == other)
                row[j] = smaller(row[j], before_last[j - 2] + 1);
        }
        memcpy(before_last, last, sizeof last);
        memcpy(last, row, sizeof row);
    }
    return last[b.len];
}

const char *did_you_mean(struct slice found, const char *const *words)
{
    const char *nearest = NULL;
    size_t least = NEAR_ENOUGH + 1;

    if (found.len > WORD_MAX)
        return NULL;
    for (; *words; words++) {
        struct slice word = slice_of(*words);
        if (word.len > WORD_MAX)
            continue;
        size_t edits = distance(found, word);
        if (edits < least && edits * 2 < found.len) {
            nearest = *words;
            least = edits;
        }
    }
    return nearest;
}
