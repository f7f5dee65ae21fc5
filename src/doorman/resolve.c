/* Two ways. The fast one lets the kernel walk: the doorman is in the caller's
 * mount namespace, has the same root, the same rights, and stands under the same
 * Landlock rules, so ordinary components and links lead where they would lead the
 * caller. What is different is /proc: "self" is somebody else there (nobody, for
 * the doorman is in no process of that pid namespace), and links that are doors to
 * descriptors are opened with the rights of whoever asks. The kernel refuses to
 * walk those for us (RESOLVE_NO_MAGICLINKS, ENOENT for "self"), and then the
 * slow way walks by itself, component by component, the number of links bounded.
 *
 * The last component of what is to be made or changed by name is never looked up
 * twice: it is handed to the operation together with the directory. */
#include "doorman/resolve.h"

#include "base/fd.h"
#include "base/path.h"
#include "doorman/fetch.h"
#include "doorman/grants.h"
#include "doorman/sticky.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef RESOLVE_CACHED
enum { RESOLVE_CACHED = 0x20 };
#endif

enum { LINKS_MAX = 40 };

void place_close(struct place *place)
{
    fd_close(&place->object);
    fd_close(&place->directory);
}

struct last_name place_last(const struct place *place)
{
    struct last_name last;

    memcpy(last.text, place->last, place->last_length);
    last.text[place->last_length] = '\0';
    return last;
}

int place_open_directory(const struct place *place)
{
    return openat(place->directory, place_last(place).text, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int resolve_exactly(int directory, struct slice path, uint64_t flags)
{
    struct open_how how = {.flags = flags | O_NOFOLLOW | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    char text[PATH_MAX];

    if (path.len >= sizeof text)
        return -1;
    memcpy(text, path.ptr, path.len);
    text[path.len] = '\0';
    return (int)syscall(SYS_openat2, directory, path.len ? text : ".", &how, sizeof how);
}

static int open_path(int directory, const char *path, uint64_t flags, uint64_t resolve_flags)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC | flags, .resolve = resolve_flags};

    return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}

static bool is_proc(int fd)
{
    struct statfs status;

    return fstatfs(fd, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

/* The doorman's working directory is its own business: paths begin at the root
 * or at the operand's base. */
static int start_of(const struct operand *operand)
{
    return operand->base >= 0 ? operand->base : AT_FDCWD;
}

int resolve_from_memory(const struct operand *operand)
{
    return open_path(start_of(operand), operand->path, O_NOFOLLOW, RESOLVE_CACHED | RESOLVE_NO_MAGICLINKS);
}

/* Cuts the last component off, slashes behind it left on. False if there is none
 * that could be made or removed: "/", "." and "..". */
static bool split(const struct operand *operand, char *parent, struct place *place, int *error)
{
    size_t end = operand->length;

    *error = 0;
    while (end > 0 && operand->path[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && operand->path[start - 1] != '/')
        start--;
    if (end - start > NAME_MAX) {
        *error = ENAMETOOLONG;
        return false;
    }
    struct slice last = {operand->path + start, end - start};
    memcpy(place->last, last.ptr, last.len);
    place->last_length = last.len;
    if (end < operand->length && last.len)
        place->last[last.len++] = '/';
    place->last[last.len] = '\0';
    memcpy(parent, operand->path, start);
    parent[start] = '\0';
    if (start == 0)
        memcpy(parent, ".", 2);
    return place->last_length > 0;
}

/* What the kernel could not walk for us, or would have walked differently. */
static bool needs_walk(int error)
{
    return error == ENOENT || error == ELOOP || error == EACCES || error == EXDEV;
}

struct walk {
    const struct house *house;
    const struct request *request;
    enum resolve_for purpose;
    int current;             /* O_PATH of the directory we are in */
    char rest[2 * PATH_MAX]; /* what is still to be walked */
    size_t links;
};

/* "text" before what is left to walk. */
static int expand(struct walk *walk, const char *text, size_t length)
{
    size_t rest = strlen(walk->rest);

    if (++walk->links > LINKS_MAX)
        return ELOOP;
    if (length == 0)
        return ENOENT;
    if (length + 1 + rest >= sizeof walk->rest)
        return ENAMETOOLONG;
    memmove(walk->rest + length + (rest > 0), walk->rest, rest + 1);
    memcpy(walk->rest, text, length);
    if (rest > 0)
        walk->rest[length] = '/';
    return 0;
}

static int to_root(struct walk *walk)
{
    int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (root < 0)
        return errno;
    fd_close(&walk->current);
    walk->current = root;
    return 0;
}

static int enter_link(struct walk *walk, const char *target, size_t length)
{
    if (length > 0 && target[0] == '/') {
        int error = to_root(walk);
        if (error)
            return error;
    }
    return expand(walk, target, length);
}

/* In /proc: "self" is the caller's, and doors are opened by the fetcher. */
static int look_up_in_proc(struct walk *walk, const char *component, int *found, bool *expanded)
{
    char text[64];

    *expanded = false;
    bool self = strcmp(component, "self") == 0;
    if (self || strcmp(component, "thread-self") == 0) {
        struct stat status;
        /* Only the root of /proc has these, as links. */
        if (fstatat(walk->current, component, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode)) {
            int error = fetch_self(walk->house, walk->request->thread, !self, text, sizeof text);
            if (error)
                return error;
            *expanded = true;
            return expand(walk, text, strlen(text));
        }
    }
    return fetch_entry(walk->house, walk->request->thread, walk->current, component, found);
}

static int look_up(struct walk *walk, const char *component, bool is_last, bool follow, int *found, bool *expanded)
{
    struct stat status;
    char target[PATH_MAX];
    int error;

    *expanded = false;
    if (strcmp(component, "..") != 0 && is_proc(walk->current)) {
        error = look_up_in_proc(walk, component, found, expanded);
        if (error || *expanded)
            return error;
    } else {
        *found = openat(walk->current, component, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (*found < 0)
            return errno;
    }
    if (!follow || fstat(*found, &status) < 0 || !S_ISLNK(status.st_mode))
        return 0;
    error = is_last ? sticky_judge_link(walk->house, walk->request, walk->current, &status) : 0;
    if (error)
        return error;
    ssize_t length = readlinkat(*found, "", target, sizeof target);
    fd_close(found);
    if (length < 0)
        return errno;
    if ((size_t)length >= sizeof target)
        return ENAMETOOLONG;
    *expanded = true;
    return enter_link(walk, target, (size_t)length);
}

/* Takes the next component off; `*is_last`: nothing but slashes follow, of which
 * `*slash` tells. */
static int take_component(struct walk *walk, char component[NAME_MAX + 1], bool *is_last, bool *slash)
{
    const char *start = walk->rest + strspn(walk->rest, "/");
    size_t length = strcspn(start, "/");
    const char *behind = start + length;
    const char *next = behind + strspn(behind, "/");

    if (length > NAME_MAX)
        return ENAMETOOLONG;
    memcpy(component, start, length);
    component[length] = '\0';
    *is_last = *next == '\0';
    *slash = behind != next;
    memmove(walk->rest, next, strlen(next) + 1);
    return 0;
}

static void set_last(struct place *place, const char *component, bool slash)
{
    place->last_length = strlen(component);
    memcpy(place->last, component, place->last_length + 1);
    if (slash)
        memcpy(place->last + place->last_length, "/", 2);
}

/* With its directory, for whoever wants to make it; or without. */
static int arrive(struct walk *walk, struct place *place, int *found, bool slash)
{
    struct stat status;

    if (slash && (fstat(*found, &status) < 0 || !S_ISDIR(status.st_mode))) {
        fd_close(found);
        return ENOTDIR;
    }
    place->object = fd_take(found);
    place->directory = fd_take(&walk->current);
    return 0;
}

static int step(struct walk *walk, struct place *place, bool *arrived)
{
    char component[NAME_MAX + 1];
    bool is_last;
    bool slash;
    bool expanded;
    FD_CLEANUP int found = -1;

    int error = take_component(walk, component, &is_last, &slash);
    if (error)
        return error;
    *arrived = is_last;
    if (component[0] == '\0' || strcmp(component, ".") == 0) {
        if (!is_last)
            return 0;
        set_last(place, component, false);
        found = openat(walk->current, ".", O_PATH | O_CLOEXEC);
        return found < 0 ? errno : arrive(walk, place, &found, false);
    }
    if (is_last)
        set_last(place, component, slash);
    if (is_last && walk->purpose == RESOLVE_ENTRY) {
        place->directory = fd_take(&walk->current);
        return 0;
    }
    bool follow = !is_last || slash || walk->purpose != RESOLVE_LINK;
    error = look_up(walk, component, is_last, follow, &found, &expanded);
    if (error == ENOENT && is_last && walk->purpose == RESOLVE_CREATE) {
        place->directory = fd_take(&walk->current);
        return 0;
    }
    if (error)
        return error;
    if (expanded) {
        *arrived = false;
        /* A slash behind a link asks for a directory. */
        size_t length = strlen(walk->rest);
        if (is_last && slash && length + 1 < sizeof walk->rest)
            memcpy(walk->rest + length, "/", 2);
        return 0;
    }
    if (is_last)
        return arrive(walk, place, &found, slash);
    fd_close(&walk->current);
    walk->current = fd_take(&found);
    return 0;
}

static int walk_by_hand(const struct house *house, const struct request *request, const struct operand *operand,
                        enum resolve_for purpose, struct place *place)
{
    struct walk walk = {.house = house, .request = request, .purpose = purpose};
    bool arrived = false;
    int error = 0;

    place->by_hand = true;
    walk.current = operand->base >= 0 ? openat(operand->base, ".", O_PATH | O_DIRECTORY | O_CLOEXEC)
                                      : open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (walk.current < 0)
        return errno;
    memcpy(walk.rest, operand->path, operand->length + 1);
    while (!error && !arrived)
        error = step(&walk, place, &arrived);
    fd_close(&walk.current);
    if (error)
        place_close(place);
    return error;
}

/* Is there no more to do than to answer with `*error`? If not, the way must be walked by hand. */
static bool is_settled(int *opened, uint64_t resolve_flags, int *error)
{
    *error = *opened < 0 ? errno : 0;
    if (*opened < 0)
        return resolve_flags || !needs_walk(*error);
    if (!is_proc(*opened))
        return true;
    /* Where the host's /proc is shown, "self" may have led to the doorman's own
     * memory (attack 105). */
    fd_close(opened);
    *error = EXDEV;
    return resolve_flags != 0;
}

static int find_object(const struct house *house, const struct request *request, const struct operand *operand,
                       enum resolve_for purpose, uint64_t resolve_flags, struct place *place)
{
    uint64_t flags = purpose == RESOLVE_LINK ? O_NOFOLLOW : 0;
    int error;

    place->object = open_path(start_of(operand), operand->path, flags, resolve_flags | RESOLVE_NO_MAGICLINKS);
    return is_settled(&place->object, resolve_flags, &error) ? error
                                                             : walk_by_hand(house, request, operand, purpose, place);
}

static int find_entry(const struct house *house, const struct request *request, const struct operand *operand,
                      uint64_t resolve_flags, struct place *place)
{
    char parent[PATH_MAX];
    int error;

    if (!split(operand, parent, place, &error) && error)
        return error;
    place->directory = open_path(start_of(operand), parent, O_DIRECTORY, resolve_flags | RESOLVE_NO_MAGICLINKS);
    return is_settled(&place->directory, resolve_flags, &error)
               ? error
               : walk_by_hand(house, request, operand, RESOLVE_ENTRY, place);
}

/* A link at the end may lead to nothing, and then names what is to be made: that
 * way is walked. */
static int find_or_create(const struct house *house, const struct request *request, const struct operand *operand,
                          uint64_t resolve_flags, struct place *place)
{
    struct stat status;
    int error = find_entry(house, request, operand, resolve_flags, place);

    if (error)
        return error;
    if (place->last_length == 0 || strcmp(place->last, ".") == 0 || strcmp(place->last, "..") == 0) {
        place_close(place);
        return find_object(house, request, operand, RESOLVE_OBJECT, resolve_flags, place);
    }
    bool in_proc = place->by_hand && is_proc(place->directory);
    if (!in_proc) {
        place->last[place->last_length] = '\0';
        place->object = openat(place->directory, place->last, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (place->object < 0)
            return errno == ENOENT ? 0 : errno;
        if (fstat(place->object, &status) < 0 || !S_ISLNK(status.st_mode))
            return 0;
    }
    place_close(place);
    error = find_object(house, request, operand, RESOLVE_OBJECT, resolve_flags, place);
    if (error != ENOENT || resolve_flags)
        return error;
    return walk_by_hand(house, request, operand, RESOLVE_CREATE, place);
}

bool resolve_spelled(const struct house *house, const struct operand *operand, struct name *name)
{
    struct slice rest = {operand->path, operand->length};
    struct slice component;

    name->kind = NAME_KNOWN;
    name->text[0] = '/';
    name->length = 1;
    if (operand->length == 0 || operand->is_base)
        return false;
    if (operand->base >= 0)
        name_of(house, operand->base, name);
    if (name->kind != NAME_KNOWN)
        return false;
    while (path_next(&rest, &component)) {
        if (slice_is(component, "."))
            continue;
        if (slice_is(component, ".."))
            name->length = path_parent(name_slice(name)).len;
        else if (!name_append(name, component))
            return false;
    }
    return name->length > 1;
}

/* What somebody was asked about and allowed is found in the host's tree as it is, by
 * exactly that name: a link on the way or at the end was not what was asked about. */
static bool find_granted(const struct house *house, const struct operand *operand, enum resolve_for purpose,
                         struct place *place)
{
    struct name name;

    if (house->whole < 0 || !resolve_spelled(house, operand, &name) || !grants_cover_any(house, name_slice(&name)))
        return false;
    struct slice last = path_name(name_slice(&name));
    bool ends_in_slash = operand->path[operand->length - 1] == '/';
    if (last.len > NAME_MAX)
        return false;
    place->directory = resolve_whole(house, path_parent(name_slice(&name)), O_DIRECTORY);
    if (place->directory < 0)
        return false;
    memcpy(place->last, last.ptr, last.len);
    place->last[last.len] = ends_in_slash ? '/' : '\0';
    place->last_length = last.len;
    if (purpose == RESOLVE_ENTRY)
        return true;
    place->object = resolve_whole(house, name_slice(&name), 0);
    if (place->object < 0 && (errno != ENOENT || purpose != RESOLVE_CREATE)) {
        place_close(place);
        *place = (struct place){.object = -1, .directory = -1};
        return false;
    }
    return true;
}

int resolve_whole(const struct house *house, struct slice path, uint64_t flags)
{
    return resolve_exactly(house->whole, slice_from(path, 1), O_PATH | flags);
}

int resolve(const struct house *house, const struct request *request, const struct operand *operand,
            enum resolve_for purpose, uint64_t resolve_flags, struct place *place)
{
    *place = (struct place){.object = -1, .directory = -1};
    if (operand->is_base) {
        place->object = fcntl(operand->base, F_DUPFD_CLOEXEC, 0);
        return place->object < 0 ? errno : 0;
    }
    if (operand->length == 0)
        return ENOENT;
    if (!resolve_flags && find_granted(house, operand, purpose, place))
        return 0;
    switch (purpose) {
    case RESOLVE_ENTRY:
        return find_entry(house, request, operand, resolve_flags, place);
    case RESOLVE_OBJECT:
    case RESOLVE_LINK:
        return find_object(house, request, operand, purpose, resolve_flags, place);
    case RESOLVE_CREATE:
        return find_or_create(house, request, operand, resolve_flags, place);
    }
    return EINVAL;
}
