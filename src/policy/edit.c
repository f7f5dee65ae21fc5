/* The text is walked with its comments blanked out, which keeps every place what it
 * is, and pieces are put into the original. Both were parsed by then, so what is walked
 * is well-formed; the bounds are checked all the same. */
#include "policy/edit.h"

#include "base/json.h"
#include "base/text.h"

#include <string.h>

/* An object or a list, and what is in it. */
struct container {
    size_t open;  /* its bracket */
    size_t close; /* its other bracket */
    size_t last;  /* behind the last member or entry; 0: it is empty */
    size_t first; /* where the first begins */
};

struct editor {
    struct arena *arena;
    struct slice original;
    const char *text; /* the same without comments */
    size_t length;
};

static size_t skip_space(const struct editor *editor, size_t at)
{
    while (at < editor->length && strchr(" \t\r\n", editor->text[at]))
        at++;
    return at;
}

static size_t skip_string(const struct editor *editor, size_t at)
{
    for (at++; at < editor->length && editor->text[at] != '"'; at++)
        at += editor->text[at] == '\\';
    return at < editor->length ? at + 1 : editor->length;
}

/* Behind the value that begins at `at`. */
static size_t skip_value(const struct editor *editor, size_t at)
{
    size_t depth = 0;

    while (at < editor->length) {
        char byte = editor->text[at];
        if (byte == '"') {
            at = skip_string(editor, at);
        } else if (byte == '{' || byte == '[') {
            depth++;
            at++;
        } else if (depth > 0 && (byte == '}' || byte == ']')) {
            depth--;
            at++;
        } else if (depth > 0) {
            at++;
            continue;
        } else {
            return at + strcspn(editor->text + at, " \t\r\n,:]}");
        }
        if (depth == 0)
            return at;
    }
    return at;
}

/* Walks a container; of an object, finds the value of `key` too (0: there is none). */
static struct container walk(const struct editor *editor, size_t open, const char *key, size_t *found)
{
    struct container container = {.open = open};
    size_t at = skip_space(editor, open + 1);

    *found = 0;
    while (at < editor->length && editor->text[at] != '}' && editor->text[at] != ']') {
        size_t end = skip_value(editor, at);
        struct slice word = {editor->text + at, end - at};
        if (!container.first)
            container.first = at;
        if (editor->text[open] == '{') {
            size_t value = skip_space(editor, skip_space(editor, end) + 1);
            if (key && word.len == strlen(key) + 2 && memcmp(word.ptr + 1, key, strlen(key)) == 0)
                *found = value;
            end = skip_value(editor, value);
        }
        container.last = end;
        at = skip_space(editor, end);
        if (at < editor->length && editor->text[at] == ',')
            at = skip_space(editor, at + 1);
        else
            break;
    }
    container.close = at;
    return container;
}

/* The white space that the line of `at` begins with. */
static struct slice indentation(const struct editor *editor, size_t at)
{
    const char *text = editor->original.ptr;
    size_t start = at;

    while (start > 0 && text[start - 1] != '\n')
        start--;
    size_t end = start;
    while (end < at && (text[end] == ' ' || text[end] == '\t'))
        end++;
    return (struct slice){text + start, end - start};
}

static bool has_newline(const struct editor *editor, size_t from, size_t to)
{
    return memchr(editor->text + from, '\n', to - from) != NULL;
}

static void copy(const struct editor *editor, struct text *out, size_t from, size_t to)
{
    text_append(out, (struct slice){editor->original.ptr + from, to - from});
}

/* `piece` as the last of what is in the container. A comment behind what was last stays where it is. */
static struct slice insert(const struct editor *editor, const struct container *container, struct slice piece)
{
    struct text out = text_in(editor->arena);
    size_t end = container->close;

    while (end > container->open + 1 && strchr(" \t\r\n", editor->original.ptr[end - 1]))
        end--;
    struct slice outer = indentation(editor, container->open);
    if (!container->last) {
        bool wide = editor->text[container->open] == '{' || end > container->open + 1;
        copy(editor, &out, 0, end);
        if (wide)
            text_append_byte(&out, '\n');
        if (wide)
            text_append(&out, outer);
        text_append_string(&out, wide ? "  " : "");
        text_append(&out, piece);
        if (wide)
            text_append_byte(&out, '\n');
        if (wide)
            text_append(&out, outer);
        copy(editor, &out, container->close, editor->length);
        return text_slice(&out);
    }
    copy(editor, &out, 0, container->last);
    text_append_byte(&out, ',');
    copy(editor, &out, container->last, end);
    /* The last one's own line may hold many. */
    bool wide = has_newline(editor, container->open, container->first) || end > container->last;
    text_append_byte(&out, wide ? '\n' : ' ');
    if (wide)
        text_append(&out, indentation(editor, container->first));
    text_append(&out, piece);
    copy(editor, &out,
         has_newline(editor, container->last, container->close) || end == container->last ? end : container->close,
         editor->length);
    return text_slice(&out);
}

/* The same by the library, to compare with. */
static bool says_the_same(struct slice text, struct slice edited, const char *name, const char *section,
                          const char *key, struct slice value, struct error *err)
{
    JSON_CLEANUP json_t *before = NULL;
    JSON_CLEANUP json_t *after = NULL;

    if (!json_parse(text, name, &before, err) || !json_parse(edited, name, &after, err))
        return false;
    json_t *object = json_object_get(before, section);
    if (!object && json_object_set_new(before, section, object = json_object()) < 0)
        return error_set(err, "there is no memory left");
    json_t *list = json_object_get(object, key);
    if (!list && json_object_set_new(object, key, list = json_array()) < 0)
        return error_set(err, "there is no memory left");
    if (json_array_append_new(list, json_stringn(value.ptr, value.len)) < 0 || !json_equal(before, after))
        return error_set(err, "%s: it cannot be changed without changing more than was meant: add \"%.*s\" to %s.%s",
                         name, (int)value.len, value.ptr, section, key);
    return true;
}

bool edit_add(struct arena *arena, struct slice text, const char *name, const char *section, const char *key,
              struct slice value, struct slice *edited, struct error *err)
{
    JSON_CLEANUP json_t *root = NULL;
    struct slice blanked = arena_slice(arena, text);
    struct editor editor = {arena, text, blanked.ptr, text.len};
    struct text quoted = text_in(arena);
    struct text piece = text_in(arena);
    size_t found;
    size_t list;

    if (!json_parse(text, name, &root, err) ||
        !json_blank_comments((char *)(uintptr_t)blanked.ptr, text.len, name, err))
        return false;
    const json_t *object = json_object_get(root, section);
    const json_t *entries = json_object_get(object, key);
    if (!json_is_object(root) || (object && !json_is_object(object)) || (entries && !json_is_array(entries)))
        return error_set(err, "%s: %s.%s is no list", name, section, key);
    text_append_json(&quoted, value);
    struct container container = walk(&editor, skip_space(&editor, 0), section, &found);
    if (!found) {
        text_appendf(&piece, "\"%s\": { \"%s\": [%s] }", section, key, quoted.ptr);
    } else {
        container = walk(&editor, found, key, &list);
        if (list)
            container = walk(&editor, list, NULL, &found);
        if (list)
            text_append(&piece, text_slice(&quoted));
        else
            text_appendf(&piece, "\"%s\": [%s]", key, quoted.ptr);
    }
    *edited = insert(&editor, &container, text_slice(&piece));
    return says_the_same(text, *edited, name, section, key, value, err);
}

static struct slice next_line(struct slice *rest)
{
    struct slice line = {rest->ptr, slice_find(*rest, '\n')};

    *rest = slice_from(*rest, line.len + (line.len < rest->len));
    return line;
}

static struct slice last_line(struct slice text)
{
    size_t start = text.len;

    while (start > 0 && text.ptr[start - 1] != '\n')
        start--;
    return slice_from(text, start);
}

static void append_lines(struct text *out, struct slice lines, const char *mark)
{
    while (lines.len > 0) {
        text_append_string(out, mark);
        text_append_escaped(out, next_line(&lines));
        text_append_byte(out, '\n');
    }
}

const char *edit_difference(struct arena *arena, struct slice before, struct slice after)
{
    struct text out = text_in(arena);

    while (before.len > 0 && after.len > 0) {
        struct slice one = before;
        struct slice other = after;
        if (!slice_equal(next_line(&one), next_line(&other)))
            break;
        before = one;
        after = other;
    }
    while (before.len > 0 && after.len > 0) {
        struct slice one = last_line(before);
        struct slice other = last_line(after);
        if (!slice_equal(one, other) || one.len == before.len || other.len == after.len)
            break;
        before.len -= one.len + 1;
        after.len -= other.len + 1;
    }
    append_lines(&out, before, "- ");
    append_lines(&out, after, "+ ");
    return out.ptr ? out.ptr : "";
}
