/* Messages of D-Bus, as far as it takes to ask a service manager for something:
 * calls are put together, and what comes back is read. Bytes only; who connects
 * to whom is others' business (host/manager.h). */
#ifndef CLOCHE_BASE_DBUS_H
#define CLOCHE_BASE_DBUS_H

#include "base/text.h"

#include <stdint.h>

/* Putting a body together. Alignment counts from the beginning of the text. */
void dbus_put_u32(struct text *text, uint32_t value);
void dbus_put_u64(struct text *text, uint64_t value);
void dbus_put_string(struct text *text, struct slice value); /* paths of objects, too */
void dbus_put_signature(struct text *text, struct slice value);
void dbus_put_struct(struct text *text); /* one begins; nothing is to be done at its end */

/* An array whose elements are aligned to `alignment`. */
struct dbus_array {
    size_t length_at;
    size_t start;
};
struct dbus_array dbus_array_begin(struct text *text, size_t alignment);
void dbus_array_end(struct text *text, struct dbus_array array);

struct dbus_call {
    const char *destination; /* NULL: there is no bus between */
    const char *path;
    const char *interface;
    const char *member;
    const char *signature; /* of the body; "": there is none */
    struct slice body;
    uint32_t serial; /* not 0 */
};

/* The whole message. */
struct slice dbus_call_write(struct arena *arena, const struct dbus_call *call);

/* More than any answer that is waited for. */
enum { DBUS_MESSAGE_MAX = 64 * 1024 };

enum dbus_kind { DBUS_CALL = 1, DBUS_RETURN, DBUS_ERROR, DBUS_SIGNAL };

/* Points into what it was read from. */
struct dbus_message {
    enum dbus_kind kind;
    bool big_endian;
    uint32_t reply_to;      /* 0: to nothing */
    struct slice interface; /* these are empty where the message has none */
    struct slice member;
    struct slice error; /* its name */
    struct slice signature;
    struct slice body;
};

enum dbus_result {
    DBUS_MORE,  /* it is not whole yet */
    DBUS_WHOLE, /* `*taken` bytes were one */
    DBUS_BROKEN /* nothing that follows can be understood either */
};

/* Reads the message that `input` begins with. */
enum dbus_result dbus_read(struct slice input, struct dbus_message *message, size_t *taken);

/* Reading a body, of whose signature the caller has made sure. False: it is not that. */
struct dbus_cursor {
    struct slice bytes;
    size_t at;
    bool big_endian;
};
struct dbus_cursor dbus_body(const struct dbus_message *message);
bool dbus_take_u32(struct dbus_cursor *cursor, uint32_t *value);
bool dbus_take_string(struct dbus_cursor *cursor, struct slice *value);

#endif
