/* Path patterns against a second, plainer implementation.
 * Input: one byte (odd: a literal), the pattern, a NUL, the path. */
#include "policy/pattern.h"

#include "base/path.h"

#include <fnmatch.h>
#include <stdint.h>
#include <stdlib.h>

enum { COMPONENTS_MAX = PATTERN_COMPONENTS_MAX + 1, FNMATCH_MAX = 24, FNMATCH_STARS_MAX = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static size_t split(struct slice path, struct slice components[COMPONENTS_MAX])
{
    size_t count = 0;

    while (count < COMPONENTS_MAX && path_next(&path, &components[count]))
        count++;
    return count;
}

/* The meaning, spelled out from the end: suffix i of the pattern matches suffix
 * j of the path. */
static bool plainly_matches(const struct pattern *pattern, struct slice path)
{
    static bool table[COMPONENTS_MAX + 1][COMPONENTS_MAX + 1];
    static struct slice wanted[COMPONENTS_MAX], names[COMPONENTS_MAX];
    size_t wanted_count = split(pattern->text, wanted);
    size_t name_count = split(path, names);

    for (size_t i = wanted_count + 1; i-- > 0;) {
        for (size_t j = name_count + 1; j-- > 0;) {
            if (i == wanted_count)
                table[i][j] = j == name_count;
            else if (!pattern->literal && slice_is(wanted[i], "**"))
                table[i][j] = table[i + 1][j] || (j < name_count && table[i][j + 1]);
            else
                table[i][j] = j < name_count && table[i + 1][j + 1] &&
                              (pattern->literal ? slice_equal(wanted[i], names[j]) : name_matches(wanted[i], names[j]));
        }
    }
    return table[0][0];
}

/* Whether the set that may begin at `at` is closed: `]` as its first member does
 * not close it. */
static bool is_closed(struct slice pattern, size_t at)
{
    size_t first = at + 1;

    if (first < pattern.len && strchr("!^", pattern.ptr[first]))
        first++;
    return slice_find(slice_from(pattern, first < pattern.len ? first + 1 : pattern.len), ']') + first + 1 <
           pattern.len;
}

/* The C library agrees on single names, so far as it has the same language and
 * does not take forever. It refuses `[a-`, where we and POSIX leave an open
 * bracket to mean itself. */
static void compare_with_fnmatch(struct slice pattern, struct slice name)
{
    char pattern_text[FNMATCH_MAX + 1] = "";
    char name_text[FNMATCH_MAX + 1] = "";
    size_t stars = 0;

    if (pattern.len > FNMATCH_MAX || name.len > FNMATCH_MAX)
        return;
    for (size_t i = 0; i < pattern.len; i++) {
        stars += pattern.ptr[i] == '*';
        if (pattern.ptr[i] == '[' &&
            (!is_closed(pattern, i) || (i + 1 < pattern.len && strchr(":.=", pattern.ptr[i + 1]))))
            return;
    }
    if (stars > FNMATCH_STARS_MAX)
        return;
    memcpy(pattern_text, pattern.ptr, pattern.len);
    memcpy(name_text, name.ptr, name.len);
    if (strlen(pattern_text) != pattern.len || strlen(name_text) != name.len)
        return;
    require(name_matches(pattern, name) == (fnmatch(pattern_text, name_text, FNM_NOESCAPE) == 0));
}

static void check_names(struct slice text, struct slice path)
{
    struct slice pattern;
    struct slice name;

    while (path_next(&text, &pattern) && path_next(&path, &name)) {
        compare_with_fnmatch(pattern, name);
        require(name_has_wildcard(pattern) || name_matches(pattern, name) == slice_equal(pattern, name));
    }
}

static void check_paths(const struct pattern *pattern, struct slice path)
{
    size_t depth = 0;
    bool covered = pattern_covers(pattern, path, &depth);
    bool found = false;

    for (size_t i = path_depth(path) + 1; i-- > 0 && !found;) {
        found = pattern_matches(pattern, path_prefix(path, i));
        require(found == plainly_matches(pattern, path_prefix(path, i)));
        require(!found || (covered && depth == i));
    }
    require(found == covered);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct slice text = {(const char *)data, size};
    struct pattern pattern;
    struct pattern again;
    struct error err = {""};

    if (size == 0)
        return 0;
    bool as_literal = data[0] & 1;
    text = slice_from(text, 1);
    size_t end = slice_find(text, '\0');
    struct slice path = path_normal(&arena, SLICE("/"), slice_from(text, end < text.len ? end + 1 : end));
    text.len = end;
    if (slice_find(path, '\0') < path.len || path_depth(path) > PATTERN_COMPONENTS_MAX)
        path = SLICE("/");

    check_names(text, path);
    if (!pattern_parse(&arena, text, as_literal, &pattern, &err)) {
        require(err.text[0] != '\0');
        return 0;
    }
    require(pattern_parse(&arena, pattern.text, as_literal, &again, &err));
    require(slice_equal(pattern.text, again.text) && slice_equal(pattern.fixed, again.fixed));
    require(pattern.literal == again.literal && path_covers(pattern.fixed, pattern.text));
    check_paths(&pattern, path);
    if (pattern.literal) {
        require(pattern_matches(&pattern, pattern.text));
        require(pattern_matches(&pattern, path) == slice_equal(pattern.text, path));
    }
    return 0;
}
