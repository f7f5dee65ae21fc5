/* A growing piece of text, for output that is put together bit by bit. */
#ifndef CLOCHE_BASE_TEXT_H
#define CLOCHE_BASE_TEXT_H

#include "base/arena.h"
#include "base/slice.h"

#include <stdint.h>

struct text {
    struct arena *arena;
    char *ptr; /* always NUL-terminated once something was appended */
    size_t len;
    size_t capacity;
};

static inline struct text text_in(struct arena *arena)
{
    return (struct text){.arena = arena};
}

void text_append(struct text *text, struct slice more);
void text_append_string(struct text *text, const char *more);
void text_append_byte(struct text *text, char byte);
void text_appendf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Decodes one UTF-8 sequence; returns its length, or 0 if it is not one
 * (overlong forms, surrogates and values past U+10FFFF are not). */
size_t text_decode(struct slice text, uint32_t *value);

/* For terminals and one-line messages: control characters, DEL, invalid UTF-8,
 * bidirectional controls and other invisible format characters are shown as
 * \n, \t, \\ or \xNN; everything else stays as it is. */
void text_append_escaped(struct text *text, struct slice name);
char *escaped(struct arena *arena, struct slice name);

/* For a finished one-line message, in place: what text_append_escaped would show
 * as an escape becomes a question mark per byte. No name in it can then begin a
 * second line, or drive a terminal. */
void text_make_safe(char *message);

/* As a shell needs it, quoted where it must be. Bytes that must not reach a
 * terminal are spelled with $'...', so that what is pasted names the very same
 * file. */
const char *shell_word(struct arena *arena, const char *value);

/* A JSON string with its quotes. Bytes that are not UTF-8 become \udcXX, the
 * way Python's surrogateescape spells them, so that no two names print alike. */
void text_append_json(struct text *text, struct slice value);

static inline struct slice text_slice(const struct text *text)
{
    return (struct slice){text->ptr ? text->ptr : "", text->len};
}

#endif
