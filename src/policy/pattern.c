/* Path patterns, matched component by component.
 *
 * A pattern is a small machine: being "at i" means that the components before
 * the i-th have matched so far. Each component of the path moves every place the
 * machine may be at once, so that the work is at most (path x pattern), however
 * many stars there are; nothing is ever tried a second time. Within a component
 * only the last `*` is ever moved, which is enough and bounded likewise. */
#include "policy/pattern.h"

#include "base/path.h"
#include "base/text.h"

enum { QUOTED_MAX = 120 };

/* Length of the `[set]` that `pattern` begins with; 0 when it is not closed and
 * so no set. A `]` that stands first is a member. */
static size_t set_length(struct slice pattern)
{
    size_t at = 1;

    if (at < pattern.len && (pattern.ptr[at] == '!' || pattern.ptr[at] == '^'))
        at++;
    at++;
    while (at < pattern.len && pattern.ptr[at] != ']')
        at++;
    return at < pattern.len ? at + 1 : 0;
}

static bool set_has(struct slice set, unsigned char byte)
{
    bool negated = set.ptr[1] == '!' || set.ptr[1] == '^';
    bool found = false;
    size_t end = set.len - 1;

    for (size_t at = negated ? 2 : 1; at < end; at++) {
        unsigned char first = (unsigned char)set.ptr[at];
        unsigned char last = first;
        if (at + 2 < end && set.ptr[at + 1] == '-') {
            last = (unsigned char)set.ptr[at + 2];
            at += 2;
        }
        found = found || (byte >= first && byte <= last);
    }
    return found != negated;
}

/* Where the last `]` is: a `[` behind it is never closed, which saves looking
 * for its end again and again. */
static size_t last_close(struct slice pattern)
{
    const char *close = pattern.len ? memrchr(pattern.ptr, ']', pattern.len) : NULL;

    return close ? (size_t)(close - pattern.ptr) : 0;
}

/* "[Aa]", the set that is written most: patterns that ignore case. */
static bool is_pair(struct slice text)
{
    return text.len >= 4 && text.ptr[3] == ']' && text.ptr[2] != ']' && text.ptr[1] != '!' && text.ptr[1] != '^';
}

/* How many bytes of the pattern at `at` stand for `byte`; 0 when they do not. */
static size_t match_byte(struct slice pattern, size_t at, size_t close, char byte)
{
    char first = pattern.ptr[at];

    if (first == '[' && at < close) {
        struct slice set = slice_from(pattern, at);
        if (is_pair(set))
            return byte == set.ptr[1] || byte == set.ptr[2] ? 4 : 0;
        set.len = set_length(set);
        if (set.len)
            return set_has(set, (unsigned char)byte) ? set.len : 0;
    }
    return first == byte || first == '?' ? 1 : 0;
}

static bool is_plain(char byte)
{
    return byte != '*' && byte != '?' && byte != '[';
}

/* Most patterns differ from most names in the first or the last byte already. */
static bool ends_differ(struct slice pattern, struct slice name)
{
    char first = pattern.ptr[0];
    char last = pattern.ptr[pattern.len - 1];

    return (is_plain(first) && first != name.ptr[0]) ||
           (last != '*' && last != '?' && last != ']' && last != name.ptr[name.len - 1]);
}

bool name_matches(struct slice pattern, struct slice name)
{
    if (pattern.len && name.len && ends_differ(pattern, name))
        return false;

    size_t close = last_close(pattern);
    size_t at = 0;
    size_t done = 0;
    size_t after_star = 0; /* 0: no star yet */
    size_t star_end = 0;   /* what the last star stands for ends here */

    while (done < name.len) {
        if (at < pattern.len && pattern.ptr[at] == '*') {
            after_star = ++at;
            star_end = done;
            /* What must follow is nowhere: no star can help. */
            if (at < pattern.len && is_plain(pattern.ptr[at]) &&
                !memchr(name.ptr + done, pattern.ptr[at], name.len - done))
                return false;
            continue;
        }
        size_t used = at < pattern.len ? match_byte(pattern, at, close, name.ptr[done]) : 0;
        if (used) {
            at += used;
            done++;
        } else if (after_star) {
            at = after_star;
            done = ++star_end;
        } else {
            return false;
        }
    }
    while (at < pattern.len && pattern.ptr[at] == '*')
        at++;
    return at == pattern.len;
}

static uint32_t letter_bit(char byte)
{
    char lower = slice_lower(byte);

    return lower >= 'a' && lower <= 'z' ? UINT32_C(1) << (lower - 'a') : 0;
}

uint32_t name_letters(struct slice name)
{
    uint32_t letters = 0;

    for (size_t i = 0; i < name.len; i++)
        letters |= letter_bit(name.ptr[i]);
    return letters;
}

uint32_t name_pattern_letters(struct slice pattern)
{
    uint32_t letters = 0;

    for (size_t at = 0; at < pattern.len; at++) {
        struct slice rest = slice_from(pattern, at);
        size_t length = rest.ptr[0] == '[' ? set_length(rest) : 0;
        if (length == 0) {
            letters |= letter_bit(rest.ptr[0]);
            continue;
        }
        if (is_pair(rest) && letter_bit(rest.ptr[1]) == letter_bit(rest.ptr[2]))
            letters |= letter_bit(rest.ptr[1]);
        at += length - 1;
    }
    return letters;
}

bool name_has_wildcard(struct slice pattern)
{
    size_t close = last_close(pattern);

    for (size_t at = 0; at < pattern.len; at++) {
        char byte = pattern.ptr[at];
        if (byte == '*' || byte == '?')
            return true;
        if (byte == '[' && at < close && set_length(slice_from(pattern, at)))
            return true;
    }
    return false;
}

/* [[:alpha:]] and its like: fnmatch reads a class there, we would read a set of
 * letters and a bracket. A deny rule must not miss because of that. */
static bool has_character_class(struct slice name)
{
    size_t close = last_close(name);

    for (size_t at = 0; at < name.len; at++) {
        if (name.ptr[at] != '[' || at >= close)
            continue;
        struct slice set = slice_from(name, at);
        set.len = set_length(set);
        if (set.len == 0)
            continue;
        if (slice_ends(set, SLICE(":]")) && memmem(set.ptr + 1, set.len - 1, "[:", 2))
            return true;
        at += set.len - 1;
    }
    return false;
}

static bool is_any_depth(struct slice component)
{
    return component.len == 2 && component.ptr[0] == '*' && component.ptr[1] == '*';
}

static bool refuse(struct arena *arena, struct slice text, const char *reason, struct error *err)
{
    bool cut = text.len > QUOTED_MAX;
    struct slice shown = {text.ptr, cut ? QUOTED_MAX : text.len};

    return error_set(err, "path \"%s%s\" %s", escaped(arena, shown), cut ? "..." : "", reason);
}

static bool check_components(struct arena *arena, struct slice text, struct error *err)
{
    struct slice rest = text;
    struct slice component;
    bool wild = false;

    while (path_next(&rest, &component)) {
        if (wild && slice_is(component, ".."))
            return refuse(arena, text,
                          "has \"..\" behind a wildcard, which could lead anywhere; write the path without it", err);
        if (has_character_class(component))
            return refuse(arena, text, "has a character class such as [[:alpha:]]; write the range, as in [a-z]", err);
        wild = wild || name_has_wildcard(component);
    }
    return true;
}

static struct slice without_trailing_any_depth(struct slice text)
{
    while (is_any_depth(path_name(text)))
        text = path_parent(text);
    return text;
}

static struct slice fixed_part(struct slice text)
{
    struct slice rest = text;
    struct slice component;
    size_t depth = 0;

    while (path_next(&rest, &component) && !name_has_wildcard(component))
        depth++;
    return path_prefix(text, depth);
}

bool pattern_parse(struct arena *arena, struct slice text, bool as_literal, struct pattern *pattern, struct error *err)
{
    if (text.len == 0)
        return error_set(err, "path is empty; write \".\" for the project itself");
    if (slice_find(text, '\0') < text.len)
        return refuse(arena, text, "holds a NUL, which no file name can", err);
    if (text.ptr[0] != '/')
        return refuse(arena, text, "is not absolute", err);
    if (text.len > PATTERN_TEXT_MAX)
        return refuse(arena, text, "is longer than the 4096 bytes a path can have", err);
    if (!as_literal && !check_components(arena, text, err))
        return false;

    struct slice normal = path_normal(arena, SLICE("/"), text);
    if (!as_literal)
        normal = arena_slice(arena, without_trailing_any_depth(normal));
    bool may_be_deep = normal.len / 2 > PATTERN_COMPONENTS_MAX;
    if (may_be_deep && path_depth(normal) > PATTERN_COMPONENTS_MAX)
        return refuse(arena, text, "has more than 256 components", err);

    struct slice fixed = as_literal ? normal : fixed_part(normal);
    *pattern = (struct pattern){.text = normal, .fixed = fixed, .literal = fixed.len == normal.len};
    return true;
}

/* Marks where the machine may be before anything was read: at the start, and
 * behind each leading `**`, which may stand for nothing. */
static void start(struct slice rest, bool *at)
{
    struct slice component;
    size_t i = 0;

    at[0] = true;
    while (path_next(&rest, &component) && is_any_depth(component))
        at[++i] = true;
}

/* Reads one component of the path. True when the whole pattern has matched;
 * `*alive` tells whether anything still can. */
static bool step(struct slice rest, bool *at, struct slice name, bool *alive)
{
    struct slice component;
    bool arrives = false;
    bool any = false;

    for (size_t i = 0; path_next(&rest, &component); i++) {
        bool was = at[i];
        if (is_any_depth(component)) {
            at[i] = was || arrives;
            arrives = at[i];
        } else {
            at[i] = arrives;
            arrives = was && name_matches(component, name);
        }
        any = any || at[i];
    }
    *alive = any;
    return arrives;
}

static bool covers_wild(const struct pattern *pattern, struct slice path, size_t *depth)
{
    bool at[PATTERN_COMPONENTS_MAX + 1] = {false};
    struct slice wild = slice_from(pattern->text, pattern->fixed.len);
    struct slice rest = slice_from(path, pattern->fixed.len);
    struct slice name;
    size_t now = path_depth(pattern->fixed);
    bool covered = false;
    bool alive = true;

    start(wild, at);
    while (alive && path_next(&rest, &name)) {
        now++;
        if (step(wild, at, name, &alive)) {
            *depth = now;
            covered = true;
        }
    }
    return covered;
}

bool pattern_covers(const struct pattern *pattern, struct slice path, size_t *depth)
{
    if (!path_covers(pattern->fixed, path))
        return false;
    if (!pattern->literal)
        return covers_wild(pattern, path, depth);
    *depth = path_depth(pattern->fixed);
    return true;
}

bool pattern_matches(const struct pattern *pattern, struct slice path)
{
    size_t depth;

    return pattern_covers(pattern, path, &depth) && depth == path_depth(path);
}

/* Where the machine may be when it has read `directory`, which lies at or below
 * the fixed part. False: nothing below can match. */
static bool read_directory(const struct pattern *pattern, struct slice directory, bool *at)
{
    struct slice wild = slice_from(pattern->text, pattern->fixed.len);
    struct slice rest = slice_from(directory, pattern->fixed.len);
    struct slice name;
    bool alive = true;

    start(wild, at);
    while (alive && path_next(&rest, &name))
        step(wild, at, name, &alive);
    return alive;
}

bool pattern_speaks_below(const struct pattern *pattern, struct slice directory)
{
    bool at[PATTERN_COMPONENTS_MAX + 1] = {false};

    if (pattern->literal)
        return path_covers(directory, pattern->text) && pattern->text.len != directory.len;
    if (!path_covers(pattern->fixed, directory))
        return path_covers(directory, pattern->fixed);
    return read_directory(pattern, directory, at);
}

bool pattern_same_below(const struct pattern *pattern, struct slice one, struct slice other)
{
    bool here[PATTERN_COMPONENTS_MAX + 1] = {false};
    bool there[PATTERN_COMPONENTS_MAX + 1] = {false};
    bool speaks = pattern_speaks_below(pattern, one);

    if (slice_equal(one, other))
        return true;
    if (speaks != pattern_speaks_below(pattern, other))
        return false;
    if (!speaks)
        return true;
    /* Above the fixed part only one of the two can go on to it. */
    if (pattern->literal || !path_covers(pattern->fixed, one) || !path_covers(pattern->fixed, other))
        return false;
    read_directory(pattern, one, here);
    read_directory(pattern, other, there);
    return memcmp(here, there, sizeof here) == 0;
}
