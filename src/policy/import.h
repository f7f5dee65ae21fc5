/* Settings of other programs, turned into a policy of ours, and what of them could
 * not be. Pure: what is read is handed in. */
#ifndef CLOCHE_POLICY_IMPORT_H
#define CLOCHE_POLICY_IMPORT_H

#include "base/arena.h"
#include "base/json.h"

struct import {
    struct arena *arena;
    json_t *policy;
    const char **notes; /* whole sentences without their full stop: what was not carried over, or is different */
    size_t note_count;
    size_t note_capacity;
};

struct import import_begin(struct arena *arena, const char *preset);
void import_end(struct import *import);
#define IMPORT_CLEANUP __attribute__((cleanup(import_end)))

void import_note(struct import *import, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* policy[section][key] = value; the value is taken over. */
void import_set(struct import *import, const char *section, const char *key, json_t *value);
/* One more entry of a list, once. */
void import_add(struct import *import, const char *section, const char *list, struct slice entry);
/* One more of `rules`. */
void import_rule(struct import *import, struct slice path, const char *access);
/* A path as a policy spells it: "$" doubled. */
struct slice import_path(struct import *import, struct slice path);
/* As above, of a path that is no pattern: "*", "?" and "[" stand for themselves. */
struct slice import_literal_path(struct import *import, struct slice path);
/* Keeps a path, or what a pattern matches, from being read, and with `wholly` from being written. */
void import_hide(struct import *import, struct slice path, bool wholly);
/* What an object has besides those known is named in one note. */
void import_note_others(struct import *import, const json_t *object, const char *const *known, const char *about);

/* The three kinds. False with an error if there is nothing in them to make a policy of. */
bool import_claude(struct import *import, const json_t *settings, struct error *err);
bool import_codex(struct import *import, const json_t *config, struct error *err);
/* `words` as typed, "bwrap" first, NULL at the end. `*command`: where the command begins in them, or NULL. */
bool import_bwrap(struct import *import, char *const *words, char *const **command, struct error *err);

/* The policy as a file, with the notes as comments at its top. `from` is a few words. */
const char *import_text(struct import *import, const char *from);

#endif
