/* By the name, and where that is not enough by what stands beside it. */
#include "policy/temporary.h"

#include "base/path.h"

#include <string.h>

static bool exists(const struct tree *tree, struct arena *arena, struct slice path)
{
    struct slice ignored;

    return tree->look(tree->context, path, arena, &ignored) != NODE_ABSENT;
}

/* ".swp", ".swo", ".swx": an editor counts backwards where one is taken. */
static bool is_swap(struct slice name)
{
    return name.len > 5 && name.ptr[0] == '.' && memcmp(name.ptr + name.len - 4, ".sw", 3) == 0 &&
           name.ptr[name.len - 1] >= 'a' && name.ptr[name.len - 1] <= 'z';
}

bool temporary_is(const struct tree *tree, struct arena *arena, struct slice path, struct slice *beside)
{
    static const struct slice endings[] = {{".lock", 5}, {".tmp", 4}};
    struct slice name = path_name(path);

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (name.len <= endings[i].len || !slice_ends(name, endings[i]))
            continue;
        struct slice other = {name.ptr, name.len - endings[i].len};
        *beside = (struct slice){path.ptr, path.len - endings[i].len};
        return memchr(other.ptr, '.', other.len) || exists(tree, arena, *beside);
    }
    /* How less(1) calls what is to become its history. */
    if (slice_is(name, ".lesshsQ")) {
        *beside = path_join(arena, path_parent(path), SLICE(".lesshst"));
        return true;
    }
    if (!is_swap(name))
        return false;
    /* That of ".vimrc" and that of "vimrc" are called the same. */
    *beside = (struct slice){path.ptr, path.len - 4};
    struct slice plain = path_join(arena, path_parent(path), (struct slice){name.ptr + 1, name.len - 5});
    if (exists(tree, arena, plain) && !exists(tree, arena, *beside))
        *beside = plain;
    return true;
}
