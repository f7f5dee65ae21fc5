/* Path patterns: `*` and `?` stay within a component, `[set]` (also `[!set]`,
 * `[^set]`, ranges) is one byte of it, `**` as a whole component is any number
 * of components, none included. An unclosed `[` is an ordinary byte. A leading
 * dot is nothing special. Bytes are compared, not characters. Patterns are
 * matched against paths, whether anything exists there or not: no tree is walked
 * to expand one (but for Codex's, see codex_resolve.c). */
#ifndef CLOCHE_POLICY_PATTERN_H
#define CLOCHE_POLICY_PATTERN_H

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

#include <stdint.h>

struct pattern {
    struct slice text;  /* absolute and normal; a trailing slash or slash-** is gone */
    struct slice fixed; /* the leading components without a wildcard; all of `text` if literal */
    bool literal;       /* names one path */
};

/* `text` is absolute (variables expanded, joined to its base). Trailing slashes
 * and a trailing slash-star-star are dropped: both mean "and everything below",
 * which every pattern means anyway. With `as_literal`, wildcards are ordinary
 * bytes. Refused: a NUL, a ".." component behind a wildcard, more than
 * PATTERN_COMPONENTS_MAX components, more than PATTERN_TEXT_MAX bytes. */
enum { PATTERN_COMPONENTS_MAX = 256, PATTERN_TEXT_MAX = 4096 };
bool pattern_parse(struct arena *arena, struct slice text, bool as_literal, struct pattern *pattern, struct error *err);

/* The whole of `path` (normal, absolute). */
bool pattern_matches(const struct pattern *pattern, struct slice path);

/* `path` or an ancestor of it matches; `*depth` is then the number of
 * components of the deepest one that does. */
bool pattern_covers(const struct pattern *pattern, struct slice path, size_t *depth);

/* Could something strictly below `directory` match, that is not below a match
 * already? */
bool pattern_speaks_below(const struct pattern *pattern, struct slice directory);

/* Does the pattern judge what lies below one directory as it judges what lies at
 * the same place below the other? False when it cannot tell. */
bool pattern_same_below(const struct pattern *pattern, struct slice one, struct slice other);

/* The same language for one name without slashes (environment variables, file
 * names): `/` and `**` have no meaning in it. */
/* Which letters, in either case, a name has, and which every name has that a
 * pattern matches: a bit for each. Where one of them is missing, there is no need
 * to try. */
uint32_t name_letters(struct slice name);
uint32_t name_pattern_letters(struct slice pattern);

bool name_matches(struct slice pattern, struct slice name);
bool name_has_wildcard(struct slice pattern);

#endif
