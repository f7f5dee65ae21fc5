/* Reads git's configuration syntax, line by line.
 *
 * Git reads the new file after us: if it saw other keys than we do, everything
 * would be lost. So only what a line means by itself is read, in the way all
 * versions of git read it. What git would read and this does not (a value that goes
 * on in the next line, a section called a.b, a tab inside a value, which some
 * versions turn into a blank) is refused; what neither reads is refused as well.
 * tests/system/test_git_config_reading.py compares with git itself. */
#include "policy/git_config.h"

#include "base/text.h"

struct reader {
    struct arena *arena;
    struct git_config *config;
    struct slice section;
    struct slice subsection;
    size_t line; /* its number */
};

static bool refuse(const struct reader *reader, const char *what, struct error *err)
{
    return error_set(err, "line %zu %s", reader->line, what);
}

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static bool is_word(char byte)
{
    return is_letter(byte) || (byte >= '0' && byte <= '9') || byte == '-';
}

static struct slice without_blanks(struct slice text)
{
    while (text.len && (text.ptr[0] == ' ' || text.ptr[0] == '\t'))
        text = slice_from(text, 1);
    return text;
}

static bool is_done(struct slice rest)
{
    rest = without_blanks(rest);
    return rest.len == 0 || rest.ptr[0] == '#' || rest.ptr[0] == ';';
}

/* Takes letters, digits and hyphens off the front, in lower case. */
static struct slice take_word(struct arena *arena, struct slice *rest)
{
    size_t length = 0;

    while (length < rest->len && is_word(rest->ptr[length]))
        length++;
    char *word = arena_alloc(arena, length + 1);
    for (size_t i = 0; i < length; i++)
        word[i] = slice_lower(rest->ptr[i]);
    *rest = slice_from(*rest, length);
    return (struct slice){word, length};
}

/* [section] or [section "subsection"] */
static bool read_header(struct reader *reader, struct slice rest, struct error *err)
{
    rest = slice_from(rest, 1);
    reader->section = take_word(reader->arena, &rest);
    reader->subsection = (struct slice){0};
    if (!reader->section.len)
        return refuse(reader, "begins a section without a name", err);
    if (rest.len && rest.ptr[0] == ' ') {
        while (rest.len && rest.ptr[0] == ' ')
            rest = slice_from(rest, 1);
        if (!rest.len || rest.ptr[0] != '"')
            return refuse(reader, "has no quotes around the second part of a section's name", err);
        rest = slice_from(rest, 1);
        size_t length = slice_find(rest, '"');
        reader->subsection = (struct slice){rest.ptr, length};
        if (length == 0 || length == rest.len || memchr(rest.ptr, '\\', length) || memchr(rest.ptr, '\t', length))
            return refuse(reader, "has a section's name that is empty, escaped or not closed", err);
        rest = slice_from(rest, length + 1);
    }
    if (!rest.len || rest.ptr[0] != ']' || !is_done(slice_from(rest, 1)))
        return refuse(reader, "begins a section in a way that is not read", err);
    return true;
}

/* What a backslash and this byte stand for; 0: nothing. */
static char unescaped(char byte)
{
    switch (byte) {
    case '"':
    case '\\':
        return byte;
    case 't':
        return '\t';
    case 'n':
        return '\n';
    default:
        return '\0';
    }
}

static bool read_value(const struct reader *reader, struct slice rest, struct slice *value, struct error *err)
{
    char *bytes = arena_alloc(reader->arena, rest.len + 1);
    bool quoted = false;
    size_t length = 0;
    size_t kept = 0; /* up to the last byte that is no blank, or is quoted */

    rest = without_blanks(rest);
    for (size_t i = 0; i < rest.len; i++) {
        char byte = rest.ptr[i];
        if (byte == '"') {
            quoted = !quoted;
            kept = length;
            continue;
        }
        if (!quoted && (byte == '#' || byte == ';'))
            break;
        if (!quoted && byte == '\t') {
            if (!is_done(slice_from(rest, i)))
                return refuse(reader, "has a tab inside a value", err);
            break;
        }
        if (byte == '\\') {
            byte = ++i < rest.len ? unescaped(rest.ptr[i]) : '\0';
            if (!byte)
                return refuse(reader, "has a backslash that is not read, or goes on in the next line", err);
            bytes[length++] = byte;
            kept = length;
            continue;
        }
        /* Blanks before the first byte do not count, not even behind an empty pair of quotes. */
        if (!quoted && byte == ' ' && length == 0)
            continue;
        bytes[length++] = byte;
        if (quoted || byte != ' ')
            kept = length;
    }
    if (quoted)
        return refuse(reader, "has a quote that is not closed", err);
    *value = (struct slice){bytes, kept};
    return true;
}

static struct slice full_name(struct arena *arena, const struct git_config_entry *entry)
{
    struct text name = text_in(arena);

    text_append(&name, entry->section);
    text_append_byte(&name, '.');
    if (entry->subsection.len) {
        text_append(&name, entry->subsection);
        text_append_byte(&name, '.');
    }
    text_append(&name, entry->key);
    return text_slice(&name);
}

static bool read_entry(struct reader *reader, struct slice rest, struct error *err)
{
    struct git_config *config = reader->config;
    struct git_config_entry entry = {.section = reader->section, .subsection = reader->subsection};

    if (!reader->section.len)
        return refuse(reader, "has a key before any section", err);
    if (!is_letter(rest.ptr[0]))
        return refuse(reader, "is not read: a key begins with a letter", err);
    entry.key = take_word(reader->arena, &rest);
    rest = without_blanks(rest);
    entry.has_value = rest.len && rest.ptr[0] == '=';
    if (entry.has_value && !read_value(reader, slice_from(rest, 1), &entry.value, err))
        return false;
    if (!entry.has_value && rest.len)
        return refuse(reader, "has something other than an equals sign behind a key", err);
    if (config->count == GIT_CONFIG_ENTRIES_MAX)
        return refuse(reader, "is one too many", err);
    entry.name = full_name(reader->arena, &entry);
    config->entries = arena_grow(reader->arena, config->entries, config->count, config->count + 1, &config->capacity,
                                 sizeof *config->entries);
    config->entries[config->count++] = entry;
    return true;
}

static bool has_control(struct slice line)
{
    for (size_t i = 0; i < line.len; i++) {
        if (((unsigned char)line.ptr[i] < 0x20 && line.ptr[i] != '\t') || line.ptr[i] == 0x7f)
            return true;
    }
    return false;
}

/* A backslash at the end that is not the second of two. */
static bool goes_on(struct slice line)
{
    size_t backslashes = 0;

    while (backslashes < line.len && line.ptr[line.len - 1 - backslashes] == '\\')
        backslashes++;
    return backslashes % 2 != 0;
}

static bool read_line(struct reader *reader, struct slice line, struct error *err)
{
    if (line.len > GIT_CONFIG_LINE_MAX)
        return refuse(reader, "is too long", err);
    if (has_control(line))
        return refuse(reader, "has a control character in it (line ends of other systems are not read)", err);
    /* Also in a comment: not every reader of these files knows where one ends. */
    if (goes_on(line))
        return refuse(reader, "ends with a backslash, and would go on in the next one", err);
    if (is_done(line))
        return true;
    line = without_blanks(line);
    return line.ptr[0] == '[' ? read_header(reader, line, err) : read_entry(reader, line, err);
}

bool git_config_read(struct arena *arena, struct slice content, struct git_config *config, struct error *err)
{
    struct reader reader = {.arena = arena, .config = config};

    *config = (struct git_config){0};
    if (content.len > GIT_CONFIG_SIZE_MAX)
        return error_set(err, "it is longer than %d bytes", GIT_CONFIG_SIZE_MAX);
    while (content.len) {
        struct slice line = {content.ptr, slice_find(content, '\n')};
        reader.line++;
        if (!read_line(&reader, line, err))
            return false;
        content = slice_from(content, line.len < content.len ? line.len + 1 : line.len);
    }
    return true;
}
