/* Following links the way the kernel does, one component at a time, on any
 * tree; and the host's tree itself with a memory of what was looked at.
 *
 * What is learned here may be stale a moment later. That is why the jail opens
 * every path again with RESOLVE_NO_SYMLINKS: a component that has become a link
 * since then refuses the run, it never redirects it (attack 4). */
#include "policy/tree.h"

#include "base/fd.h"
#include "base/map.h"
#include "base/path.h"
#include "policy/listing.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

/* Puts `rest` behind the target of a link: both are still to be walked. */
static struct slice continue_with(struct arena *arena, struct slice target, struct slice rest)
{
    char *joined = arena_alloc(arena, target.len + rest.len + 2);

    memcpy(joined, target.ptr, target.len);
    joined[target.len] = '/';
    if (rest.len)
        memcpy(joined + target.len + 1, rest.ptr, rest.len);
    return (struct slice){joined, target.len + 1 + rest.len};
}

static void remember_link(struct tree_place *place, struct arena *arena, struct slice at, struct slice target)
{
    if (!place->links)
        place->links = arena_alloc(arena, TREE_LINKS_MAX * sizeof *place->links);
    place->links[place->link_count++] = (struct tree_link){at, target};
}

/* One component down. As long as no link was passed and the path is normal, what
 * has been walked is a prefix of `path` itself and needs no copy. */
static struct slice step_down(struct arena *arena, struct slice path, bool plain, const struct tree_place *place,
                              struct slice component)
{
    if (plain)
        return (struct slice){path.ptr, (size_t)(component.ptr + component.len - path.ptr)};
    return path_join(arena, place->path, component);
}

static void step_up(const struct tree *tree, struct arena *arena, struct tree_place *place)
{
    struct slice ignored;

    /* Below something that is not there, ".." can only be taken lexically. */
    place->path = path_parent(place->path);
    if (place->node == NODE_FILE || place->node == NODE_ABSENT)
        place->node = place->path.len <= 1 ? NODE_DIRECTORY : tree->look(tree->context, place->path, arena, &ignored);
}

/* The deepest directory above `path` that need not be walked to again. None is known by
 * a name that is not normal. */
static struct slice nearest_known(const struct tree *tree, struct slice path)
{
    if (tree->is_known_directory) {
        for (struct slice above = path_parent(path); above.len > 1; above = path_parent(above)) {
            if (tree->is_known_directory(tree->context, above))
                return above;
        }
    }
    return SLICE("/");
}

bool tree_follow(const struct tree *tree, struct arena *arena, struct slice path, struct tree_place *place,
                 struct error *err)
{
    struct slice known = nearest_known(tree, path);
    struct slice rest = known.len > 1 ? slice_from(path, known.len) : path;
    struct slice component;
    bool plain = true;

    *place = (struct tree_place){.path = known, .node = NODE_DIRECTORY};
    while (path_next(&rest, &component)) {
        /* "//" */
        if (plain && component.ptr > path.ptr + 1 && component.ptr[-2] == '/')
            plain = false;
        if (slice_is(component, ".") || slice_is(component, "..")) {
            plain = false;
            if (component.len == 2)
                step_up(tree, arena, place);
            continue;
        }

        struct slice next = step_down(arena, path, plain, place, component);
        struct slice target = {0};
        enum node node = place->node;
        if (node == NODE_DIRECTORY)
            node = tree->look(tree->context, next, arena, &target);
        else if (node == NODE_FILE)
            node = NODE_ABSENT;

        if (node == NODE_LINK) {
            if (place->link_count == TREE_LINKS_MAX)
                return error_set(err, "%.*s passes through more than %d symbolic links", (int)path.len, path.ptr,
                                 TREE_LINKS_MAX);
            remember_link(place, arena, next, target);
            plain = false;
            rest = continue_with(arena, target, rest);
            if (target.len && target.ptr[0] == '/')
                place->path = SLICE("/");
            continue;
        }
        if (node == NODE_UNKNOWN && place->node != NODE_UNKNOWN)
            place->blocked = place->path;
        place->path = next;
        place->node = node;
    }
    return true;
}

/* The host's tree. */

struct look {
    struct slice path;
    enum node node;
    struct slice target;
};

/* A list of names costs as much as some ten looks. After so many for what one
 * directory does not have it is worth reading: it is short, and more of them will
 * follow. Policies that had us look about more than most have many rules about each
 * directory. */
enum { MISSES_BEFORE_LISTING = 10, LOOKS_OF_MOST = 200, LOOKS_BEFORE_LISTING = 4 };

struct directory {
    struct slice path;
    size_t looks;
    size_t misses;
    bool listed;
    struct listing *listing; /* NULL: not read, or of no use */
    char absent[32];         /* the last name that was not there: rules about one place ask for it again */
    size_t absent_length;    /* 0: none, or it was longer */
};

struct host_tree {
    struct tree tree;
    struct arena *arena;
    struct map looks;
    struct map directories;
    size_t looks_in_all;
    struct directory *last;   /* rules about one place stand together */
    const struct look *known; /* the directory that was asked for last */
    char buffer[PATH_MAX];    /* the path that was looked at last, with its NUL */
};

static enum node read_link(const char *path, struct arena *arena, struct slice *target)
{
    char text[PATH_MAX];
    ssize_t length = readlink(path, text, sizeof text);

    if (length <= 0 || (size_t)length >= sizeof text)
        return NODE_UNKNOWN;
    *target = arena_slice(arena, (struct slice){text, (size_t)length});
    return NODE_LINK;
}

static enum node look_at_host(const char *path, struct arena *arena, struct slice *target)
{
    struct stat status;

    /* Anything but a plain "not there" (no permission, a dead network or FUSE
     * mount) is unknown, and what is unknown is never taken for absent. */
    if (lstat(path, &status) < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG ? NODE_ABSENT : NODE_UNKNOWN;
    if (S_ISDIR(status.st_mode))
        return NODE_DIRECTORY;
    return S_ISLNK(status.st_mode) ? read_link(path, arena, target) : NODE_FILE;
}

static struct directory *directory_of(struct host_tree *host, struct slice path)
{
    struct slice parent = path_parent(path);

    if (!host->last || !slice_equal(parent, host->last->path)) {
        struct directory *known = map_get(&host->directories, parent);
        if (!known) {
            known = ARENA_NEW(host->arena, struct directory);
            known->path = arena_slice(host->arena, parent);
            *map_at(&host->directories, known->path) = known;
        }
        host->last = known;
    }
    return host->last;
}

/* What the list of its directory says of a name; NODE_UNKNOWN where it has to be
 * looked at itself. */
static enum node find_in_listing(struct host_tree *host, struct directory *directory, struct slice name)
{
    bool worth_it = directory->misses >= MISSES_BEFORE_LISTING ||
                    (host->looks_in_all > LOOKS_OF_MOST && directory->looks >= LOOKS_BEFORE_LISTING);

    if (worth_it && !directory->listed) {
        directory->listed = true;
        directory->listing = listing_read(host->arena, arena_slice(host->arena, directory->path).ptr);
    }
    return directory->listing ? listing_find(directory->listing, name) : NODE_UNKNOWN;
}

static bool is_known_absent(const struct directory *directory, struct slice name)
{
    if (directory->listing)
        return listing_find(directory->listing, name) == NODE_ABSENT;
    return directory->absent_length && slice_equal(name, (struct slice){directory->absent, directory->absent_length});
}

static void remember_absent(struct directory *directory, struct slice name)
{
    directory->absent_length = name.len <= sizeof directory->absent ? name.len : 0;
    memcpy(directory->absent, name.ptr, directory->absent_length);
}

static enum node look_in(struct host_tree *host, struct directory *directory, struct slice path, struct slice *target)
{
    struct slice name = path_name(path);
    enum node node = find_in_listing(host, directory, name);

    if (node != NODE_UNKNOWN)
        return node;
    memcpy(host->buffer, path.ptr, path.len);
    host->buffer[path.len] = '\0';
    node = look_at_host(host->buffer, host->arena, target);
    host->looks_in_all++;
    directory->looks++;
    if (node == NODE_ABSENT) {
        directory->misses++;
        remember_absent(directory, name);
    }
    return node;
}

/* Directories and links are remembered, because paths go through them again and
 * again; of what is not there, the last name in each directory. The rest is asked for
 * once or twice. */
static enum node host_look(void *context, struct slice path, struct arena *arena, struct slice *target)
{
    struct host_tree *host = context;

    (void)arena;
    if (path.len <= 1)
        return NODE_DIRECTORY; /* no list has a name for it */
    struct directory *directory = directory_of(host, path);
    if (is_known_absent(directory, path_name(path)) || path.len >= sizeof host->buffer ||
        memchr(path.ptr, '\0', path.len))
        return NODE_ABSENT;
    struct look *look = map_get(&host->looks, path);
    if (!look) {
        struct slice found = {0};
        enum node node = look_in(host, directory, path, &found);
        if (node != NODE_DIRECTORY && node != NODE_LINK)
            return node;
        look = ARENA_NEW(host->arena, struct look);
        *look = (struct look){arena_slice(host->arena, path), node, found};
        *map_at(&host->looks, look->path) = look;
    }
    *target = look->target;
    return look->node;
}

/* Only paths without links are ever looked at, so what is remembered as a directory
 * is one under that very name. */
static bool host_is_known_directory(void *context, struct slice path)
{
    struct host_tree *host = context;

    if (host->known && slice_equal(path, host->known->path))
        return true;
    const struct look *look = map_get(&host->looks, path);
    if (!look || look->node != NODE_DIRECTORY)
        return false;
    host->known = look;
    return true;
}

static bool host_read(void *context, struct slice path, size_t limit, struct arena *arena, struct slice *content)
{

    (void)context;
    return file_read(arena_slice(arena, path).ptr, limit, arena, content, NULL, NULL);
}

static bool host_is_roots_alone(void *context, struct slice path)
{
    struct host_tree *host = context;
    struct stat status;

    return lstat(arena_slice(host->arena, path).ptr, &status) == 0 && status.st_uid == 0 &&
           (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static bool host_list(void *context, struct slice path, void (*found)(void *argument, struct slice name),
                      void *argument)
{
    struct host_tree *host = context;
    const struct directory *known = map_get(&host->directories, path);
    struct dirent *entry;

    if (known && known->listing) {
        listing_each(known->listing, found, argument);
        return true;
    }
    DIR *directory = opendir(arena_slice(host->arena, path).ptr);
    if (!directory)
        return false;
    while ((entry = readdir(directory))) {
        struct slice name = slice_of(entry->d_name);
        if (!slice_is(name, ".") && !slice_is(name, ".."))
            found(argument, name);
    }
    closedir(directory);
    return true;
}

struct tree *tree_of_host(struct arena *arena)
{
    struct host_tree *host = ARENA_NEW(arena, struct host_tree);

    host->arena = arena;
    host->looks = map_in(arena);
    host->directories = map_in(arena);
    host->tree = (struct tree){.look = host_look,
                               .is_known_directory = host_is_known_directory,
                               .list = host_list,
                               .read = host_read,
                               .is_roots_alone = host_is_roots_alone,
                               .context = host};
    return &host->tree;
}
