/* From files, presets and options to one policy. */
#ifndef CLOCHE_POLICY_LOAD_H
#define CLOCHE_POLICY_LOAD_H

#include "policy/model.h"
#include "policy/problems.h"

/* One thing the command line adds, in order. */
enum option_kind {
    OPTION_ALLOW_READ,
    OPTION_DENY_READ,
    OPTION_ALLOW_WRITE,
    OPTION_DENY_WRITE, /* a path */
    OPTION_ALLOW_DOMAIN,
    OPTION_DENY_DOMAIN, /* a host pattern */
    OPTION_ALLOW_UNIX,  /* a path */
    OPTION_ENV,         /* NAME or NAME=VALUE */
    OPTION_HOST_PORT,
    OPTION_PUBLISH, /* a port */
    OPTION_DEVICE,  /* a path */
    OPTION_TIMEOUT,
    OPTION_MEMORY,
    OPTION_PIDS
};

struct policy_option {
    enum option_kind kind;
    const char *value;
};

/* A file as it was read and judged before loading. */
struct policy_document {
    struct slice path; /* absolute and normal */
    struct slice text;
};

/* The words a document is written in. */
enum policy_format {
    FORMAT_CLOCHE,
    FORMAT_CODEX, /* a permission profile or a SandboxPolicy */
    FORMAT_CODEX_PROFILE,
    FORMAT_CODEX_SANDBOX_POLICY,
    FORMAT_CODEX_NETWORK /* what --managed-network takes */
};

struct policy_source {
    enum { SOURCE_FILE, SOURCE_PRESET, SOURCE_TEXT } kind;
    const char *name;  /* path, preset name, or what to call the text */
    struct slice text; /* SOURCE_TEXT */
    enum policy_format format;
    /* SOURCE_FILE: if given, all its files; none of them is read again, and one
     * that is not here is refused. */
    const struct policy_document *documents;
    size_t document_count;
};

struct policy_request {
    const struct policy_source *sources; /* merged in order */
    size_t source_count;
    const struct policy_option *options;
    size_t option_count;
};

/* Loads and merges. False when any problem that is not a warning was found; all
 * of them are in `problems`. With the name `cloche`, a source without `extends`
 * extends preset:base; in the srt personality nothing is added. */
bool policy_load(struct arena *arena, const struct surroundings *around, const struct policy_request *request,
                 struct policy *policy, struct problems *problems);

/* Validates one JSON text by srt 0.0.83's own schema; messages as srt words
 * them. Used by the srt personality before loading. */
struct json_t;
void srt_check(const struct json_t *root, const char *file, struct problems *problems);
/* The same for those who take cloche's own keys too (the Node package): "*" is a
 * host pattern for them. */
void srt_check_extended(const struct json_t *root, const char *file, struct problems *problems);

#endif
