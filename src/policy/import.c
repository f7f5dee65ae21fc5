#include "policy/import.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

struct import import_begin(struct arena *arena, const char *preset)
{
    struct import import = {.arena = arena, .policy = json_object()};
    json_t *list = json_array();

    json_array_append_new(list, json_string(arena_printf(arena, "preset:%s", preset)));
    json_object_set_new(import.policy, "extends", list);
    return import;
}

void import_end(struct import *import)
{
    json_decref(import->policy);
}

void import_note(struct import *import, const char *format, ...)
{
    char text[2048];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    text_make_safe(text);
    import->notes = arena_grow(import->arena, import->notes, import->note_count, import->note_count + 1,
                               &import->note_capacity, sizeof *import->notes);
    import->notes[import->note_count++] = arena_string(import->arena, text);
}

static json_t *section_of(struct import *import, const char *name)
{
    json_t *section = json_object_get(import->policy, name);

    if (!section) {
        section = json_object();
        json_object_set_new(import->policy, name, section);
    }
    return section;
}

void import_set(struct import *import, const char *section, const char *key, json_t *value)
{
    json_object_set_new(section_of(import, section), key, value);
}

/* The value is taken over. */
static void append(struct import *import, const char *section, const char *list, json_t *value)
{
    json_t *entries = json_object_get(section_of(import, section), list);

    if (!entries) {
        entries = json_array();
        import_set(import, section, list, entries);
    }
    for (size_t i = 0; i < json_array_size(entries); i++)
        if (json_equal(json_array_get(entries, i), value)) {
            json_decref(value);
            return;
        }
    json_array_append_new(entries, value);
}

void import_add(struct import *import, const char *section, const char *list, struct slice entry)
{
    json_t *value = json_stringn(entry.ptr, entry.len);

    if (value)
        append(import, section, list, value);
    else
        import_note(import, "%s.%s: \"%.*s\" is not UTF-8, which a policy file has to be", section, list,
                    (int)entry.len, entry.ptr);
}

void import_rule(struct import *import, struct slice path, const char *access)
{
    json_t *rules = json_object_get(import->policy, "rules");
    json_t *rule = json_object();
    json_t *name = json_stringn(path.ptr, path.len);

    if (!name) {
        json_decref(rule);
        import_note(import, "\"%.*s\" is not UTF-8, which a policy file has to be", (int)path.len, path.ptr);
        return;
    }
    if (!rules) {
        rules = json_array();
        json_object_set_new(import->policy, "rules", rules);
    }
    json_object_set_new(rule, "path", name);
    json_object_set_new(rule, "access", json_string(access));
    json_array_append_new(rules, rule);
}

static struct slice spelled(struct arena *arena, struct slice path, bool literal)
{
    struct text out = text_in(arena);

    for (size_t i = 0; i < path.len; i++) {
        char byte = path.ptr[i];
        if (literal && (byte == '*' || byte == '?' || byte == '['))
            text_appendf(&out, "[%c]", byte);
        else if (byte == '$')
            text_append_string(&out, "$$");
        else
            text_append_byte(&out, byte);
    }
    return text_slice(&out);
}

struct slice import_path(struct import *import, struct slice path)
{
    return spelled(import->arena, path, false);
}

struct slice import_literal_path(struct import *import, struct slice path)
{
    return spelled(import->arena, path, true);
}

static bool has_wildcard(struct slice path)
{
    for (size_t i = 0; i < path.len; i++)
        if (path.ptr[i] == '*' || path.ptr[i] == '?' || path.ptr[i] == '[')
            return true;
    return false;
}

void import_hide(struct import *import, struct slice path, bool wholly)
{
    if (has_wildcard(path))
        import_note(import,
                    "\"%.*s\" hides what it matches, also what comes later: that costs every file that is opened; name "
                    "paths where you can",
                    (int)path.len, path.ptr);
    if (wholly)
        import_rule(import, path, "none");
    else
        import_add(import, "filesystem", "denyRead", path);
}

static bool is_known(const char *const *known, const char *key)
{
    for (; *known; known++)
        if (strcmp(*known, key) == 0)
            return true;
    return false;
}

void import_note_others(struct import *import, const json_t *object, const char *const *known, const char *about)
{
    struct text names = text_in(import->arena);
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value)
    {
        if (is_known(known, key))
            continue;
        text_append_string(&names, names.len ? ", " : "");
        text_append_string(&names, key);
    }
    if (names.len)
        import_note(import, "%s: %s", about, names.ptr);
}

static int append_dumped(const char *bytes, size_t size, void *argument)
{
    text_append(argument, (struct slice){bytes, size});
    return 0;
}

const char *import_text(struct import *import, const char *from)
{
    struct text out = text_in(import->arena);

    text_appendf(&out, "// Made by cloche import from %s.\n", escaped(import->arena, slice_of(from)));
    if (import->note_count)
        text_append_string(&out, "//\n// Not carried over, or different here:\n");
    for (size_t i = 0; i < import->note_count; i++)
        text_appendf(&out, "// - %s\n", import->notes[i]);
    json_dump_callback(import->policy, append_dumped, &out, JSON_INDENT(2) | JSON_ENSURE_ASCII);
    text_append_byte(&out, '\n');
    return out.ptr;
}
