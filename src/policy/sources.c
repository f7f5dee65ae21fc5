/* Documents: where they are, what they extend, and in which order they count.
 *
 * What a document extends is merged before it, in the order written, and every
 * document is merged once: the first time it is met. So a policy and a team file
 * that both stand on preset:base share it, and what one of them took away with
 * "!entry" does not come back through the other. Circles are found by following
 * the chain of extenders; they are reported as that chain. */
#include "policy/loader.h"

#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/codex.h"
#include "policy/preset.h"
#include "policy/srt.h"
#include "policy/variables.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct document {
    const char *name;     /* for messages, escaped */
    const char *identity; /* what makes two documents the same; NULL for a text */
    struct slice directory;
    struct slice text;
    const struct preset *preset; /* instead of a text; else NULL */
    bool codex;
    const struct document *extender;
    size_t depth;
};

static void merge_document(struct loader *loader, struct document *document);

/* A problem with naming a document belongs to the one that names it. */
static void cannot_read(struct loader *loader, const struct document *extender, const struct place *place,
                        const char *name, const char *why)
{
    loader->file = extender ? extender->name : name;
    loader_problem(loader, place, "%s", why);
}

static bool is_merged(const struct loader *loader, const char *identity)
{
    for (size_t i = 0; i < loader->merged_count; i++) {
        if (strcmp(loader->merged[i], identity) == 0)
            return true;
    }
    return false;
}

static void note_merged(struct loader *loader, const char *identity)
{
    loader->merged = arena_grow(loader->arena, loader->merged, loader->merged_count, loader->merged_count + 1,
                                &loader->merged_capacity, sizeof *loader->merged);
    loader->merged[loader->merged_count++] = identity;
}

/* "a.json extends b.json extends a.json", or NULL when there is no circle. */
static const char *circle(struct arena *arena, const struct document *document)
{
    const struct document *above = document->extender;
    const char *chain = document->name;

    for (; above; above = above->extender) {
        chain = arena_printf(arena, "%s extends %s", above->name, chain);
        if (above->identity && strcmp(above->identity, document->identity) == 0)
            return chain;
    }
    return NULL;
}

static bool may_merge(struct loader *loader, const struct document *document, const struct place *place)
{
    const char *chain = document->identity ? circle(loader->arena, document) : NULL;

    if (chain) {
        cannot_read(loader, document->extender, place, document->name,
                    arena_printf(loader->arena, "a circle: %s; take one of these out", chain));
        return false;
    }
    if (document->identity && is_merged(loader, document->identity))
        return false;
    if (document->depth > EXTENDS_DEPTH_MAX || loader->merged_count >= DOCUMENTS_MAX) {
        cannot_read(loader, document->extender, place, document->name,
                    arena_printf(loader->arena,
                                 "too many policies extend each other: at most %d in a row and %d in all",
                                 EXTENDS_DEPTH_MAX, DOCUMENTS_MAX));
        return false;
    }
    return true;
}

static void merge_preset(struct loader *loader, const struct document *extender, const struct place *place,
                         struct slice name)
{
    const struct preset *preset = preset_find(name);
    const char *shown = arena_printf(loader->arena, "preset:%s", escaped(loader->arena, name));

    if (!preset) {
        const char **words = arena_alloc(loader->arena, (preset_count + 1) * sizeof *words);
        for (size_t i = 0; i < preset_count; i++)
            words[i] = presets[i].name;
        const char *near = did_you_mean(name, words);
        cannot_read(loader, extender, place, shown,
                    arena_printf(loader->arena, "there is no preset \"%s\"; %s%s%s", escaped(loader->arena, name),
                                 near ? "did you mean \"" : "`cloche presets` lists them", near ? near : "",
                                 near ? "\"?" : ""));
        return;
    }
    struct document document = {.name = shown,
                                .identity = shown,
                                .directory = loader->around.project,
                                .preset = preset,
                                .extender = extender,
                                .depth = extender ? extender->depth + 1 : 0};
    if (may_merge(loader, &document, place))
        merge_document(loader, &document);
}

static void add_source(struct loader *loader, struct slice path)
{
    struct origin origin = {"built-in", "the policy itself"};

    policy_add_name(loader->policy, &loader->policy->sources, arena_slice(loader->arena, path), origin);
}

/* srt names the errno. */
static const char *srt_unreadable(struct arena *arena, const char *path)
{
    struct stat status;
    const char *name = "EINVAL";

    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        name = "EISDIR";
    else if (access(path, R_OK) < 0 && errno == ENOENT)
        return SRT_MISSING;
    else if (access(path, R_OK) < 0)
        name = strerrorname_np(errno);
    return arena_printf(arena, SRT_UNREADABLE, name);
}

/* The bytes of a file: those that were judged before, if the source brings them
 * along. Reading again could find what somebody put there in between. */
static bool read_document(struct loader *loader, struct slice path, struct slice *text, bool *absent, struct error *err)
{
    const struct policy_source *source = loader->source;

    if (!source->document_count)
        return file_read(path.ptr, POLICY_FILE_MAX, loader->arena, text, absent, err);
    for (size_t i = 0; i < source->document_count; i++) {
        if (slice_equal(source->documents[i].path, path)) {
            *text = source->documents[i].text;
            return true;
        }
    }
    return error_set(err, "%s is not part of what was trusted; trust the policy again", escaped(loader->arena, path));
}

/* `path` is absolute. */
static void merge_file(struct loader *loader, const struct document *extender, const struct place *place,
                       struct slice path, const char *shown)
{
    char real[PATH_MAX];
    struct error err;

    path = path_normal(loader->arena, SLICE("/"), path);
    bool resolved = path.len < sizeof real && realpath(path.ptr, real);
    const char *target = resolved ? arena_string(loader->arena, real) : path.ptr;
    /* Trust was given to names and bytes: where links lead by now must not make
     * two documents one. */
    struct document document = {.name = shown,
                                .identity = loader->source->document_count ? path.ptr : target,
                                .codex = !extender && loader->source->format != FORMAT_CLOCHE,
                                .directory = path_parent(path),
                                .extender = extender,
                                .depth = extender ? extender->depth + 1 : 0};
    if (!may_merge(loader, &document, place))
        return;
    bool absent = false;
    if (!read_document(loader, path, &document.text, &absent, &err)) {
        const char *why = loader->srt ? srt_unreadable(loader->arena, path.ptr)
                          : absent    ? arena_printf(loader->arena, "there is no file %s", escaped(loader->arena, path))
                                      : err.text;
        cannot_read(loader, extender, place, shown, why);
        return;
    }
    /* Both names are protected: the one that was given, because whoever changes
     * what it leads to chooses the next policy, and what it leads to. */
    add_source(loader, path);
    if (!slice_is(path, target))
        add_source(loader, slice_of(target));
    merge_document(loader, &document);
}

static void extend_one(struct loader *loader, const struct document *document, const struct place *place,
                       struct slice entry)
{
    struct slice path;
    struct error err;

    if (slice_starts(entry, SLICE("preset:"))) {
        merge_preset(loader, document, place, slice_from(entry, strlen("preset:")));
    } else if (!path_expand(loader->arena, &loader->around, document->directory, entry, false, &path, &err)) {
        cannot_read(loader, document, place, document->name,
                    arena_printf(loader->arena, "found \"%s\": %s", escaped(loader->arena, entry), err.text));
    } else {
        merge_file(loader, document, place, path, escaped(loader->arena, path_normal(loader->arena, SLICE("/"), path)));
    }
}

/* Without `extends` a policy stands on preset:base, so that secrets stay hidden
 * unless it says otherwise. */
static void extend_all(struct loader *loader, const struct document *document, const json_t *root)
{
    static const char expected[] = "a path or preset:NAME";
    const json_t *extends = document->codex ? NULL : json_object_get(root, "extends");
    struct place place = {.name = "extends"};
    struct slice text;

    if (loader->around.personality != PERSONALITY_CLOCHE)
        return;
    if (!extends) {
        if (!document->identity || strcmp(document->identity, "preset:base") != 0)
            merge_preset(loader, document, &place, SLICE("base"));
    } else if (json_is_string(extends)) {
        if (value_text(loader, &place, extends, expected, &text))
            extend_one(loader, document, &place, text);
    } else if (json_is_array(extends)) {
        for (size_t i = 0; i < json_array_size(extends) && !loader->problems_unsaid; i++) {
            struct place here = {.parent = &place, .index = i};
            loader->file = document->name;
            if (value_text(loader, &here, json_array_get(extends, i), expected, &text))
                extend_one(loader, document, &here, text);
        }
    } else {
        loader_problem(loader, &place, "found %s; an array of paths and preset:NAMEs is expected",
                       value_words(loader->arena, extends));
    }
}

static bool is_blank(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!strchr(" \t\r\n", text.ptr[i]) || text.ptr[i] == '\0')
            return false;
    }
    return true;
}

static bool parse_document(struct loader *loader, const struct document *document, json_t **root)
{
    struct error err;

    if (document->preset) {
        *root = json_from_tokens(document->preset->tokens);
        if (!*root)
            loader_problem(loader, NULL, "cannot be loaded: out of memory");
        return *root != NULL;
    }
    if (is_blank(document->text)) {
        loader_problem(loader, NULL, "%s",
                       loader->srt ? SRT_EMPTY : "it is empty; a policy is a JSON object, at the least {}");
        return false;
    }
    if (!json_parse(document->text, "", root, &err)) {
        loader_problem(loader, NULL, "%s%s", loader->srt ? SRT_NOT_JSON : "", err.text + strspn(err.text, ": "));
        return false;
    }
    if (loader->srt) {
        size_t errors = loader->problems->errors;
        (loader->extended ? srt_check_extended : srt_check)(*root, document->name, loader->problems);
        return loader->problems->errors == errors;
    }
    if (!json_is_object(*root) && !document->codex) {
        loader_problem(loader, NULL, "found %s; a policy is a JSON object", value_words(loader->arena, *root));
        return false;
    }
    return true;
}

static void merge_document(struct loader *loader, struct document *document)
{
    JSON_CLEANUP json_t *root = NULL;

    loader->file = document->name;
    if (document->identity)
        note_merged(loader, document->identity);
    if (!parse_document(loader, document, &root))
        return;
    extend_all(loader, document, root);
    loader->file = document->name;
    if (document->codex)
        codex_apply(loader, loader->source, root);
    else
        document_apply(loader, document->preset ? document->preset->lists : NULL, root);
}

void source_load(struct loader *loader, const struct policy_source *source)
{
    const char *shown = escaped(loader->arena, slice_of(source->name));
    struct document text = {.name = shown,
                            .directory = loader->around.project,
                            .text = source->text,
                            .codex = source->format != FORMAT_CLOCHE};
    char here[PATH_MAX];

    loader->source = source;
    switch (source->kind) {
    case SOURCE_PRESET:
        merge_preset(loader, NULL, NULL, slice_of(source->name));
        break;
    case SOURCE_FILE: {
        struct slice path = slice_of(source->name);
        if (path.len == 0 || (path.ptr[0] != '/' && !getcwd(here, sizeof here))) {
            cannot_read(loader, NULL, NULL, shown, "the name of the policy file cannot be made absolute");
            return;
        }
        if (path.ptr[0] != '/')
            path = path_join(loader->arena, slice_of(here), path);
        merge_file(loader, NULL, NULL, path, shown);
        break;
    }
    case SOURCE_TEXT:
        merge_document(loader, &text);
        break;
    }
}
