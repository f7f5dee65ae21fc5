#include "base/path.h"

bool path_next(struct slice *rest, struct slice *component)
{
    while (rest->len && rest->ptr[0] == '/')
        *rest = slice_from(*rest, 1);
    if (rest->len == 0)
        return false;
    *component = (struct slice){rest->ptr, slice_find(*rest, '/')};
    *rest = slice_from(*rest, component->len);
    return true;
}

/* How much of it there is up to the last slash, with that. */
static size_t length_above(struct slice path)
{
    const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;

    return slash ? (size_t)(slash - path.ptr) + 1 : 0;
}

struct slice path_parent(struct slice path)
{
    size_t above = length_above(path);

    return (struct slice){path.ptr, above > 1 ? above - 1 : 1};
}

struct slice path_name(struct slice path)
{
    return slice_from(path, length_above(path));
}

/* Is `rest`, which begins behind a slash, no component that a normal path has:
 * none at all, "." or ".."? */
static bool begins_oddly(struct slice rest)
{
    if (rest.len == 0 || rest.ptr[0] == '/')
        return true;
    if (rest.ptr[0] != '.')
        return false;
    size_t dots = rest.len > 1 && rest.ptr[1] == '.' ? 2 : 1;
    return rest.len == dots || rest.ptr[dots] == '/';
}

bool path_is_normal(struct slice path)
{
    for (size_t i = 0; i < path.len; i++) {
        if (path.ptr[i] == '/' && begins_oddly(slice_from(path, i + 1)))
            return false;
    }
    return path.len > 0 && path.ptr[0] == '/';
}

struct slice path_normal(struct arena *arena, struct slice base, struct slice path)
{
    if (path_is_normal(path))
        return arena_slice(arena, path);

    char *out = arena_alloc(arena, base.len + path.len + 2);
    size_t len = 0;
    struct slice component;

    if (path.len == 0 || path.ptr[0] != '/') {
        memcpy(out, base.ptr, base.len);
        len = base.len == 1 ? 0 : base.len; /* "/" is kept as no component at all */
    }
    while (path_next(&path, &component)) {
        if (slice_is(component, "."))
            continue;
        if (slice_is(component, "..")) {
            while (len > 0 && out[--len] != '/')
                ;
            continue;
        }
        out[len++] = '/';
        memcpy(out + len, component.ptr, component.len);
        len += component.len;
    }
    if (len == 0)
        out[len++] = '/';
    out[len] = '\0';
    return (struct slice){out, len};
}

size_t path_depth(struct slice path)
{
    size_t depth = 0;

    if (path.len <= 1)
        return 0;
    for (size_t i = 0; i < path.len; i++)
        depth += path.ptr[i] == '/';
    return depth;
}

struct slice path_join(struct arena *arena, struct slice directory, struct slice name)
{
    char *out = arena_alloc(arena, directory.len + name.len + 2);
    size_t len = directory.len == 1 ? 0 : directory.len;

    memcpy(out, directory.ptr, len);
    out[len++] = '/';
    if (name.len)
        memcpy(out + len, name.ptr, name.len);
    len += name.len;
    return (struct slice){out, len};
}

struct slice path_prefix(struct slice path, size_t depth)
{
    size_t end = 0;

    if (depth == 0)
        return (struct slice){path.ptr, 1};
    while (depth > 0 && end < path.len) {
        end++;
        while (end < path.len && path.ptr[end] != '/')
            end++;
        depth--;
    }
    return (struct slice){path.ptr, end};
}
