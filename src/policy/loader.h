/* Shared by the files that load a policy; nobody else includes it. */
#ifndef CLOCHE_POLICY_LOADER_H
#define CLOCHE_POLICY_LOADER_H

#include "policy/keys.h"
#include "policy/load.h"
#include "policy/preset.h"

enum {
    POLICY_FILE_MAX = 1024 * 1024,
    EXTENDS_DEPTH_MAX = 16,
    DOCUMENTS_MAX = 64,
    LIST_ENTRIES_MAX = 10000,
    PROBLEMS_MAX = 100 /* said one by one; the rest is counted */
};

/* Where in a document we are: a chain on the stack, turned into text only when
 * a rule or a problem needs it. */
struct place {
    const struct place *parent;
    const char *name; /* member name; NULL: an array's entry */
    size_t index;
    const char *text; /* the words for this place, if they were put together already; NULL */
};

/* A key that asks for something unbuilt, until a later source takes it back. */
struct pending_unbuilt {
    const struct key *key;
    struct origin origin;
    bool active;
};

struct pending_reason {
    struct slice pattern;
    struct slice reason;
    struct origin origin;
    bool used;
};

/* An entry that is written but not in force: "!entry" may still name it. */
struct left_out {
    size_t list;
    struct slice text;
};

/* 2^53 - 1: the largest number that every reader of JSON reads alike. */
static const int64_t SIZE_BYTES_MAX = 9007199254740991;

struct loader {
    struct arena *arena;
    struct surroundings around;
    struct policy *policy;
    struct problems *problems;
    const char *file; /* what the document being applied is called, escaped */
    bool srt;
    bool extended; /* srt, with cloche's own keys */

    const struct policy_source *source; /* what is being loaded; NULL: options */

    const char **merged; /* identities of documents that were applied already */
    size_t merged_count;
    size_t merged_capacity;

    struct pending_unbuilt *unbuilt;
    size_t unbuilt_count;
    size_t unbuilt_capacity;

    struct pending_reason *reasons;
    size_t reason_count;
    size_t reason_capacity;

    struct left_out *left_out;
    size_t left_out_count;
    size_t left_out_capacity;

    struct name_rules git_directories; /* git.safeDirectories */
    bool pass_given;
    size_t errors_before;
    size_t problems_unsaid;
    size_t warnings;

    struct error reason; /* why an entry is wrong; here because it is large, and entries are many */
};

/* loader.c: words about a place. */
const char *place_text(struct arena *arena, const struct place *place);
struct origin loader_origin(struct loader *loader, const struct place *place);
void loader_problem(struct loader *loader, const struct place *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void loader_warning(struct loader *loader, const struct place *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* `the number 3`, `"abc"`, `an array`: for "found ...". */
const char *value_words(struct arena *arena, const json_t *value);
/* A string that is not empty and holds no NUL; else a problem is added. */
bool value_text(struct loader *loader, const struct place *place, const json_t *value, const char *expected,
                struct slice *text);
bool value_any_text(struct loader *loader, const struct place *place, const json_t *value, const char *expected,
                    bool may_be_empty, struct slice *text);
/* A whole number in range; 2.0 is one. */
bool value_integer(const json_t *value, int64_t least, int64_t most, int64_t *number);
bool size_parse(struct slice text, uint64_t *bytes);
/* `list` is an enum path_list or the offset of a list in struct policy. */
void loader_leave_out(struct loader *loader, size_t list, struct slice text);

/* apply.c: one document onto the policy. False if anything in it is wrong.
 * `lists` are those of a preset, which stand before the rest of it; else NULL. */
bool document_apply(struct loader *loader, const struct preset_list *lists, const json_t *root);
/* The members of one object against the children of `key`. */
bool object_check(struct loader *loader, const struct key *key, const struct place *place, const json_t *object);
void unbuilt_note(struct loader *loader, const struct key *key, const struct place *place, bool active);

/* sources.c: a source and all it extends. */
void source_load(struct loader *loader, const struct policy_source *source);

/* lists.c: lists of paths, names, files, hosts and ports. */
bool list_apply(struct loader *loader, const struct key *key, const struct place *place, const json_t *array);
bool list_apply_compiled(struct loader *loader, const struct key *key, const struct preset_list *list);
bool list_add_text(struct loader *loader, const struct key *key, const struct place *place, struct slice text);
/* What stands behind the mark of "!entry". */
bool removal_text(struct loader *loader, const struct place *place, const json_t *item, struct slice *text);
/* A path without wildcards, with its variables, made absolute and normal. */
bool file_absolute(struct loader *loader, struct slice text, struct slice *path, struct error *err);
/* Fills in the pattern and the origin. */
bool path_rule_add(struct loader *loader, const struct place *place, struct path_rule rule, bool literal);
/* Judges the path of an object that is wrong elsewhere, so that both are said at
 * once. Not where conditions may excuse it. */
void path_judge(struct loader *loader, const struct place *place, const json_t *object);
/* Takes away the rules of a list that are written like `text` or mean the same. */
void path_rules_remove(struct loader *loader, const struct place *place, enum path_list list, struct slice text);

/* Keys with a meaning of their own. rules.c: */
void rule_apply(struct loader *loader, const struct key *key, const struct place *place, const json_t *value);
void rule_apply_compiled(struct loader *loader, const struct preset_entry *entry);
void rule_remove(struct loader *loader, const struct key *key, const struct place *place, struct slice text);
/* credentials.c: */
void credential_file_apply(struct loader *loader, const struct key *key, const struct place *place,
                           const json_t *value);
void credential_variable_apply(struct loader *loader, const struct key *key, const struct place *place,
                               const json_t *value);
/* environment.c: */
void environment_pass_apply(struct loader *loader, const struct key *key, const struct place *place,
                            const json_t *value);
void environment_set_apply(struct loader *loader, const struct key *key, const struct place *place,
                           const json_t *value);
void environment_set(struct policy *policy, struct slice name, struct slice value, struct origin origin);
void safe_directories_apply(struct loader *loader, const struct key *key, const struct place *place,
                            const json_t *value);
void safe_directories_finish(struct loader *loader);
const char *environment_name_check(struct slice text);
const char *environment_pattern_check(struct slice text);
/* settings.c: */
void reasons_apply(struct loader *loader, const struct key *key, const struct place *place, const json_t *value);
void reasons_finish(struct loader *loader);
void unprotect_finish(struct loader *loader);
void ignore_violations_apply(struct loader *loader, const struct key *key, const struct place *place,
                             const json_t *value);
void enable_proxy_apply(struct loader *loader, const struct key *key, const struct place *place, const json_t *value);
void log_path_apply(struct loader *loader, const struct key *key, const struct place *place, const json_t *value);
void mitm_proxy_apply(struct loader *loader, const struct key *key, const struct place *place, const json_t *value);
void tls_apply(struct loader *loader, const struct key *key, const struct place *place, const json_t *value);
const char *protected_name_check(struct slice text);
const char *device_check(struct slice text);
const char *system_call_check(struct slice text);
const char *address_range_check(struct slice text);

/* options.c: what the command line adds. */
void options_apply(struct loader *loader, const struct policy_request *request);

/* defaults.c: what no source said, and what can be judged only at the end. */
void search_path_add(struct loader *loader, const struct place *place);
void policy_finish(struct loader *loader);

#endif
