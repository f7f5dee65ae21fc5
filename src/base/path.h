/* Absolute paths as bytes, compared by component. A path here is normal: it
 * starts with '/', has no empty, "." or ".." component and no trailing slash
 * ("/" itself excepted). Nothing here looks at a file system. */
#ifndef CLOCHE_BASE_PATH_H
#define CLOCHE_BASE_PATH_H

#include "base/arena.h"
#include "base/slice.h"

/* Absolute, without "//", "." or "..", and without a slash at its end? */
bool path_is_normal(struct slice path);

/* Lexically: joins a relative `path` to `base`, drops "." and empty components,
 * lets ".." take its parent away (at "/" it stays there). `base` is normal. */
struct slice path_normal(struct arena *arena, struct slice base, struct slice path);

/* True when `path` is `ancestor` or lies below it: /a/b covers /a/b and /a/b/c,
 * never /a/bc (attack 16). */
static inline bool path_covers(struct slice ancestor, struct slice path)
{
    if (ancestor.len == 1)
        return true;
    return path.len >= ancestor.len && (path.len == ancestor.len || path.ptr[ancestor.len] == '/') &&
           slice_starts(path, ancestor);
}

/* Number of components: 0 for "/". */
size_t path_depth(struct slice path);

/* "/a/b/c" -> "/a/b"; "/a" -> "/"; "/" -> "/". */
struct slice path_parent(struct slice path);

/* Last component; empty for "/". */
struct slice path_name(struct slice path);

struct slice path_join(struct arena *arena, struct slice directory, struct slice name);

/* The ancestor with `depth` components (depth 0 is "/"). */
struct slice path_prefix(struct slice path, size_t depth);

/* Takes the next component off `*rest` (slashes skipped); false at the end. */
bool path_next(struct slice *rest, struct slice *component);

#endif
