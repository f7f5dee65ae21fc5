/* Expansion of `~` and variables in paths.
 *
 * The variables are a closed list: an environment the caller did not think of
 * must not choose what becomes readable. $HOME, $USER and $PROJECT_DIR are what
 * this run believes they are, not what the environment claims. A variable
 * without a value is an error, never an empty string: "$TMPDIR/x" must not turn
 * into "/x". */
#include "policy/variables.h"

#include "base/path.h"
#include "base/text.h"
#include "policy/problems.h"

bool environment_find(char *const *environment, struct slice name, struct slice *value)
{
    if (!environment)
        return false;
    for (; *environment; environment++) {
        struct slice entry = slice_of(*environment);
        if (entry.len > name.len && entry.ptr[name.len] == '=' && slice_starts(entry, name)) {
            *value = slice_from(entry, name.len + 1);
            return true;
        }
    }
    return false;
}

static const struct {
    const char *name;
    const char *below_home;
} base_directories[] = {
    {"XDG_CONFIG_HOME", ".config"},
    {"XDG_DATA_HOME", ".local/share"},
    {"XDG_STATE_HOME", ".local/state"},
    {"XDG_CACHE_HOME", ".cache"},
};

/* The XDG specification: a value that is not absolute counts as unset. */
static bool xdg_value(struct arena *arena, const struct surroundings *around, struct slice name, struct slice *value)
{
    if (environment_find(around->environment, name, value) && value->len && value->ptr[0] == '/')
        return true;
    for (size_t i = 0; i < sizeof base_directories / sizeof *base_directories; i++) {
        if (slice_is(name, base_directories[i].name)) {
            *value = path_join(arena, around->home, slice_of(base_directories[i].below_home));
            return true;
        }
    }
    return false;
}

struct slice xdg_directory(struct arena *arena, const struct surroundings *around, const char *name)
{
    struct slice value = SLICE("/");

    xdg_value(arena, around, slice_of(name), &value);
    return path_normal(arena, SLICE("/"), value);
}

static bool variable_value(struct arena *arena, const struct surroundings *around, struct slice name,
                           struct slice *value, struct error *err)
{
    static const char *const known[] = {
        "HOME",          "PROJECT_DIR",    "USER",           "TMPDIR",          "XDG_CONFIG_HOME",
        "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", NULL};

    if (slice_is(name, "HOME")) {
        *value = around->home;
    } else if (slice_is(name, "PROJECT_DIR")) {
        *value = around->project;
    } else if (slice_is(name, "USER")) {
        *value = around->user;
    } else if (slice_is(name, "TMPDIR")) {
        if (!environment_find(around->environment, name, value))
            *value = SLICE("");
    } else if (slice_starts(name, SLICE("XDG_")) && !slice_ends(name, SLICE("_DIRS"))) {
        if (!xdg_value(arena, around, name, value))
            *value = SLICE("");
    } else {
        const char *near = did_you_mean(name, known);
        error_set(err,
                  "the variable $%s is not one that paths may use: these are $HOME, $PROJECT_DIR, $USER, $TMPDIR and "
                  "$XDG_..., and $$ stands for a dollar sign",
                  escaped(arena, name));
        return near ? error_set(err, "%s; did you mean $%s?", arena_string(arena, err->text), near) : false;
    }
    if (value->len == 0)
        return error_set(err, "the variable $%s is not defined here", escaped(arena, name));
    return true;
}

static bool is_name_byte(char byte, bool first)
{
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || byte == '_' ||
           (!first && byte >= '0' && byte <= '9');
}

static bool has_wildcard(struct slice text)
{
    return slice_find(text, '*') < text.len || slice_find(text, '?') < text.len || slice_find(text, '[') < text.len;
}

static void append_value(struct text *out, struct slice value, bool escape)
{
    if (!escape || !has_wildcard(value)) {
        text_append(out, value);
        return;
    }
    for (size_t i = 0; i < value.len; i++) {
        char byte = value.ptr[i];
        bool wild = byte == '*' || byte == '?' || byte == '[';
        text_append_string(out, wild ? "[" : "");
        text_append_byte(out, byte);
        text_append_string(out, wild ? "]" : "");
    }
}

/* `rest` begins behind a dollar sign; takes the name off it. False: the dollar
 * is an ordinary byte. */
static bool take_name(struct slice *rest, struct slice *name, struct error *err, bool *broken)
{
    bool braces = rest->len && rest->ptr[0] == '{';
    struct slice text = braces ? slice_from(*rest, 1) : *rest;
    size_t length = 0;

    while (length < text.len && is_name_byte(text.ptr[length], length == 0))
        length++;
    *broken = false;
    if (braces && (length == 0 || length == text.len || text.ptr[length] != '}')) {
        *broken = true;
        return error_set(err, "a variable that is opened with ${ needs a name and a closing brace");
    }
    if (length == 0)
        return false;
    *name = (struct slice){text.ptr, length};
    *rest = slice_from(text, length + (braces ? 1 : 0));
    return true;
}

static bool expand_variables(struct arena *arena, const struct surroundings *around, struct slice text, bool escape,
                             struct text *out, struct error *err)
{
    while (text.len) {
        size_t plain = slice_find(text, '$');
        text_append(out, (struct slice){text.ptr, plain});
        text = slice_from(text, plain);
        if (text.len == 0)
            break;
        text = slice_from(text, 1);

        struct slice name = SLICE("");
        struct slice value;
        bool broken;
        if (text.len && text.ptr[0] == '$') {
            text_append_byte(out, '$');
            text = slice_from(text, 1);
        } else if (take_name(&text, &name, err, &broken)) {
            if (!variable_value(arena, around, name, &value, err))
                return false;
            append_value(out, value, escape);
        } else if (broken) {
            return false;
        } else {
            text_append_byte(out, '$');
        }
    }
    return true;
}

/* Takes a leading `~` off the text as it was written. */
static bool take_home(struct arena *arena, const struct surroundings *around, struct slice *text, struct slice *start,
                      struct error *err)
{
    if (text->len == 0 || text->ptr[0] != '~')
        return true;
    if (text->len == 1 || text->ptr[1] == '/') {
        *start = around->home;
        *text = slice_from(*text, 1);
        return true;
    }
    if (around->personality == PERSONALITY_SRT)
        return true;
    return error_set(err,
                     "\"%s\" names another user's home, which is not looked up: write the path out, or ./%s for a file "
                     "of that name",
                     escaped(arena, *text), escaped(arena, *text));
}

bool path_expand(struct arena *arena, const struct surroundings *around, struct slice base, struct slice text,
                 bool escape, struct slice *expanded, struct error *err)
{
    struct text values = text_in(arena);
    struct text out = text_in(arena);
    struct slice start = SLICE("");

    if (!take_home(arena, around, &text, &start, err))
        return false;
    if (around->personality != PERSONALITY_SRT && slice_find(text, '$') < text.len) {
        if (!expand_variables(arena, around, text, escape, &values, err))
            return false;
        text = text_slice(&values);
    }
    if (start.len == 0 && (text.len == 0 || text.ptr[0] != '/'))
        start = base;
    if (!escape && text.len > 1) {
        *expanded = start.len ? path_join(arena, start, slice_from(text, text.ptr[0] == '/')) : text;
        return true;
    }

    append_value(&out, start, escape);
    if (start.len && text.len && text.ptr[0] != '/')
        text_append_byte(&out, '/');
    text_append(&out, text);
    *expanded = text_slice(&out);
    return true;
}

/* "/x/", "/x/(star)(star)" and "/x" mean the same: everything covers what is below it. */
static struct slice without_tail(struct slice text)
{
    for (;;) {
        if (slice_is(text, "**"))
            return SLICE(".");
        if (text.len > 1 && slice_ends(text, SLICE("/")))
            text.len--;
        else if (slice_ends(text, SLICE("/**")))
            text.len = text.len == 3 ? 1 : text.len - 3;
        else
            return text;
    }
}

/* Where `base` was escaped at the start of a pattern, puts its own bytes back as
 * the fixed part: patterns look for wildcards only behind that. */
static void restore_base(struct arena *arena, struct slice base, struct pattern *pattern)
{
    struct text escaped_base = text_in(arena);
    struct pattern rest;
    struct error ignored;

    if (!has_wildcard(base))
        return;
    append_value(&escaped_base, base, true);
    if (!path_covers(text_slice(&escaped_base), pattern->text) || pattern->text.len == escaped_base.len ||
        !pattern_parse(arena, slice_from(pattern->text, escaped_base.len), false, &rest, &ignored))
        return;
    pattern->text = path_join(arena, base, slice_from(rest.text, 1));
    pattern->fixed = (struct slice){pattern->text.ptr, base.len + (rest.fixed.len > 1 ? rest.fixed.len : 0)};
    pattern->literal = rest.literal;
}

bool path_pattern(struct arena *arena, const struct surroundings *around, struct slice text, bool literal,
                  struct pattern *pattern, struct error *err)
{
    struct slice expanded;

    if (!literal) {
        text = without_tail(text);
        literal = !has_wildcard(text);
    }
    if (!path_expand(arena, around, around->project, text, !literal, &expanded, err) ||
        !pattern_parse(arena, expanded, literal, pattern, err))
        return false;
    if (!literal) {
        restore_base(arena, around->project, pattern);
        restore_base(arena, around->home, pattern);
    }
    return true;
}
