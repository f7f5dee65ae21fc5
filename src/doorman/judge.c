/* decide() judges names. What it cannot know is added here: what this run has
 * made itself, what stands at a name now, what a directory looks like inside.
 * Every look is at one name, or at the entries of one directory; never a walk. */
#include "doorman/judge.h"

#include "base/fd.h"
#include "base/path.h"
#include "doorman/grants.h"
#include "policy/decide.h"
#include "policy/git_layout.h"
#include "policy/protect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { ENTRIES_MAX = 20000, LOOKS_MAX = 32 };

int judge_entry_name(const struct house *house, const struct place *place, struct entry_name *entry)
{
    struct stat status;
    const struct last_name last_name = place_last(place);
    const char *last = last_name.text;

    *entry = (struct entry_name){0};
    name_of(house, place->directory, &entry->name);
    /* In a directory that was handed in from another tree nothing can be judged: a
     * run could be given one of another run's project. */
    if (entry->name.kind == NAME_DOUBTFUL || entry->name.kind == NAME_FOREIGN)
        return EACCES;
    if (entry->name.kind == NAME_KNOWN &&
        (place->last_length == 0 || strcmp(last, ".") == 0 || strcmp(last, "..") == 0))
        return 0; /* the kernel will refuse */
    if (entry->name.kind == NAME_KNOWN && !name_append(&entry->name, (struct slice){last, place->last_length}))
        return ENAMETOOLONG;
    entry->exists = fstatat(place->directory, last, &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (entry->exists)
        entry->type = status.st_mode & S_IFMT;
    else
        entry->absent_because = errno;
    return 0;
}

bool judge_identity(const struct place *place, struct identity *identity)
{
    FD_CLEANUP int directory = place_open_directory(place);

    return directory >= 0 && identity_of(directory, identity);
}

/* By name, in the tree as everybody sees it; where somebody may allow what is hidden, as the host sees it. */
static int open_directory(const struct house *house, struct slice path)
{
    if (house->whole >= 0)
        return resolve_whole(house, path, O_DIRECTORY);
    return resolve_exactly(AT_FDCWD, path, O_PATH | O_DIRECTORY);
}

static bool is_made(struct house *house, struct slice path, uint64_t flags)
{
    FD_CLEANUP int object = resolve_exactly(AT_FDCWD, path, O_PATH | flags);

    return object >= 0 && made_is(&house->made, object);
}

bool judge_made_here(struct house *house, struct slice path)
{
    return path.len && is_made(house, path, O_DIRECTORY);
}

/* Whatever it is: git follows links, and where one leads may change. */
static bool is_there(int directory, const char *name)
{
    struct stat status;

    return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool is_whole_git(int directory)
{
    return is_there(directory, "HEAD") && is_there(directory, "objects") && is_there(directory, "refs");
}

bool judge_looks_like_git(const struct house *house, struct slice path)
{
    FD_CLEANUP int directory = open_directory(house, path);

    /* A worktree's own directory has its objects elsewhere, and says where. */
    return directory >= 0 &&
           (is_whole_git(directory) || (is_there(directory, "HEAD") && is_there(directory, "commondir")));
}

/* A git directory is one by what is in it, whatever it is called. Only where the
 * rest of the path would be dangerous in one is it looked at. */
static bool is_git_matter_above(struct house *house, struct slice path, size_t depth)
{
    size_t looks = 0;

    while (depth-- > 0) {
        struct slice directory = path_prefix(path, depth);
        struct slice inside = slice_from(path, directory.len == 1 ? 1 : directory.len + 1);
        if (!git_layout_is_dangerous(house->policy, inside) ||
            decide_real_path(house->policy, OPERATION_WRITE, directory).backing != BACKING_HOST)
            continue;
        /* Nobody nests so many hooks but to keep the doorman busy. */
        if (++looks > LOOKS_MAX || (judge_looks_like_git(house, directory) && !judge_made_here(house, directory)))
            return true;
    }
    return false;
}

static bool is_git_matter(struct house *house, struct slice path)
{
    return is_git_matter_above(house, path, path_depth(path));
}

bool judge_is_git_config(struct house *house, const struct name *name)
{
    struct slice path = name_slice(name);

    /* Not in hooks/config, say: there it is matter of the directory above. */
    return name->kind == NAME_KNOWN && decide_git_config(house->policy, path) &&
           !is_git_matter_above(house, path, path_depth(path) - 1);
}

/* What a directory has to have for git to take it for its own, or for a part. */
static const char *const marks[] = {"HEAD", "objects", "refs", "commondir"};
enum { MARK_HEAD, MARK_OBJECTS, MARK_REFS, MARK_COMMON, MARK_COUNT };

static size_t mark_of(struct slice name)
{
    size_t mark = 0;

    while (mark < MARK_COUNT && !slice_equal_ignoring_case(name, slice_of(marks[mark])))
        mark++;
    return mark;
}

bool judge_marks_new_git(struct house *house, struct slice path)
{
    return mark_of(path_name(path)) < MARK_COUNT && !protect_is_off(house->policy) &&
           judge_made_here(house, path_parent(path));
}

bool judge_wants_alone(const struct house *house, const struct name *name)
{
    struct slice path = name_slice(name);

    if (name->kind != NAME_KNOWN)
        return false;
    if (mark_of(path_name(path)) < MARK_COUNT)
        return true;
    for (size_t depth = path_depth(path); depth-- > 0;) {
        struct slice directory = path_prefix(path, depth);
        if (git_layout_is_dangerous(house->policy, slice_from(path, directory.len == 1 ? 1 : directory.len + 1)))
            return true;
    }
    return false;
}

/* Would the last component make a git directory of one that holds a configuration
 * or hooks already, which were harmless there until then (attack 31)? */
static bool completes_git(struct house *house, struct slice path)
{
    struct slice parent = path_parent(path);
    size_t mark = mark_of(path_name(path));

    if (mark == MARK_COUNT || protect_is_off(house->policy) || judge_looks_like_git(house, parent) ||
        judge_made_here(house, parent))
        return false;
    FD_CLEANUP int directory = open_directory(house, parent);
    if (directory < 0)
        return false;
    /* The last one needs nothing beside it: it says where all of that is. */
    bool common = mark == MARK_COMMON || is_there(directory, "commondir");
    bool armed = common || is_there(directory, "config") || is_there(directory, "hooks");
    bool head = mark == MARK_HEAD || is_there(directory, "HEAD");
    bool objects = mark == MARK_OBJECTS || is_there(directory, "objects");
    bool refs = mark == MARK_REFS || is_there(directory, "refs");
    return armed && head && (common || (objects && refs));
}

/* Is it what git knows a directory by that was there before? Without it that would
 * be no git directory any more, and free to be filled, until it becomes one again.
 * (In one of a worktree commondir is protected itself.) */
static bool is_old_mark(struct house *house, struct slice path)
{
    struct slice parent = path_parent(path);

    if (mark_of(path_name(path)) == MARK_COUNT || protect_is_off(house->policy) ||
        decide_real_path(house->policy, OPERATION_WRITE, path).backing != BACKING_HOST)
        return false;
    FD_CLEANUP int directory = open_directory(house, parent);
    return directory >= 0 && is_whole_git(directory) && !made_is(&house->made, directory);
}

int judge_removal(struct house *house, const struct entry_name *entry)
{
    return entry->name.kind == NAME_KNOWN && entry->exists && is_old_mark(house, name_slice(&entry->name)) ? EACCES : 0;
}

static bool is_index_name(struct slice name)
{
    return slice_equal_ignoring_case(name, SLICE("index")) || protect_component_matches(SLICE("sharedindex.*"), name);
}

/* Below a directory that is called .git, and not among its data: a branch may be called "index". */
static bool is_below_dot_git(struct slice path)
{
    bool below = false;
    struct slice component;

    while (path_next(&path, &component)) {
        if (protect_is_git_pointer(component))
            below = true;
        else if (protect_is_git_data(component))
            below = false;
    }
    return below;
}

/* Git checks no name that it reads from its index. A directory that has a configuration is
 * git's also while something else of it is missing, or is a link. */
static bool is_index(struct house *house, struct slice path)
{
    struct slice parent = path_parent(path);

    if (!is_index_name(path_name(path)) || protect_is_off(house->policy) || judge_made_here(house, parent))
        return false;
    if (protect_is_git_pointer(parent) || judge_looks_like_git(house, parent))
        return true;
    if (!is_below_dot_git(parent))
        return false;
    FD_CLEANUP int directory = open_directory(house, parent);
    return directory >= 0 && (is_there(directory, "config") || is_there(directory, "commondir"));
}

static int judge_write_but_index(struct house *house, struct name *name, bool *is_host)
{
    struct slice path = name_slice(name);

    *is_host = false;
    if (name->kind == NAME_NONE)
        return 0;
    if (name->kind != NAME_KNOWN)
        return EACCES;
    struct decision decision = decide_write_at(house->policy, path, false);
    if (!decision.allowed && decision.unless_made.len && judge_made_here(house, decision.unless_made)) {
        decision = decide_write_at(house->policy, path, true);
        name->is_lifted = true;
    }
    if (!decision.allowed && !grants_cover(house, OPERATION_WRITE, path))
        return EACCES;
    *is_host = decision.backing == BACKING_HOST;
    return *is_host && (is_git_matter(house, path) || completes_git(house, path)) ? EACCES : 0;
}

int judge_write(struct house *house, struct name *name)
{
    bool is_host;
    int error = judge_write_but_index(house, name, &is_host);

    return !error && is_host && is_index(house, name_slice(name)) ? EACCES : error;
}

bool judge_is_git_index(struct house *house, struct name *name)
{
    bool is_host;

    return judge_write_but_index(house, name, &is_host) == 0 && is_host && is_index(house, name_slice(name));
}

const char *judge_why(struct house *house, const struct name *name)
{
    struct slice path = name_slice(name);

    if (name->kind != NAME_KNOWN)
        return "it lies nowhere in the sandbox, so nothing about it can be judged";
    struct decision decision = decide_write_at(house->policy, path, false);
    if (!decision.allowed && !(decision.unless_made.len && judge_made_here(house, decision.unless_made)))
        return NULL;
    if (is_git_matter(house, path))
        return "git would obey it: the directory above is a git directory, whatever its name";
    if (completes_git(house, path))
        return "git would take the directory for its own, and obey what is in it already";
    if (is_old_mark(house, path))
        return "without it git would no longer take the directory above for its own";
    if (is_index(house, path))
        return "git checks no name in its index: nobody replaces it but git, by renaming index.lock";
    if (protect_is_git_pointer(path))
        return "git obeys what it leads to: a .git that was there before is neither replaced, moved nor removed";
    return "protected names would be reached by another name, or moved";
}

void judge_remember_file(struct house *house, const struct name *name, int file)
{
    struct identity identity;

    if (name->kind == NAME_KNOWN && protect_is_git_pointer(name_slice(name)) && identity_of(file, &identity))
        made_add(&house->made, &identity);
}

int judge_change(struct house *house, struct entry_name *entry)
{
    int error = judge_write(house, &entry->name);

    if (error || entry->name.kind != NAME_KNOWN)
        return error;
    struct slice path = name_slice(&entry->name);
    if (entry->exists && entry->type != S_IFDIR && protect_is_git_pointer(path) && !protect_is_off(house->policy) &&
        decide_real_path(house->policy, OPERATION_WRITE, path).backing == BACKING_HOST &&
        !judge_made_here(house, path_parent(path)) && !is_made(house, path, 0)) /* of files, these are remembered */
        return EACCES;
    return 0;
}

static bool is_read_only(int directory)
{
    struct statvfs status;

    return fstatvfs(directory, &status) == 0 && status.f_flag & ST_RDONLY;
}

int judge_refusal(int error, int directory, const struct entry_name *entry)
{
    if (error == EACCES && is_read_only(directory))
        return EROFS;
    return entry->exists ? error : ENOENT;
}

int judge_refusal_to_make(int error, int directory, const struct entry_name *entry)
{
    if (entry->exists)
        return EEXIST;
    return error == EACCES && is_read_only(directory) ? EROFS : error;
}

bool judge_is_handed_in(const struct house *house, const struct stat *status)
{
    for (size_t i = 0; i < HANDED_MAX; i++) {
        if (house->handed[i].known && house->handed[i].device == status->st_dev &&
            house->handed[i].inode == status->st_ino && S_ISREG(status->st_mode))
            return true;
    }
    return false;
}

int judge_object(struct house *house, int object, struct entry_name *entry)
{
    struct stat status;

    if (fstat(object, &status) < 0)
        return errno;
    name_of(house, object, &entry->name);
    entry->exists = true;
    entry->type = status.st_mode & S_IFMT;
    /* What the user redirected the run's input or output to is the command's. */
    if (entry->name.kind == NAME_FOREIGN && judge_is_handed_in(house, &status))
        entry->name.kind = NAME_NONE;
    int error = judge_change(house, entry);
    /* The kernel says whether it is for the mode or the mount that it would refuse. */
    if (error == EACCES && faccessat(object, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) < 0 && errno == EROFS)
        return EROFS;
    return error;
}

int judge_link_name(struct house *house, const struct name *name)
{
    struct slice path = name_slice(name);

    if (name->kind != NAME_KNOWN)
        return 0;
    /* It would choose what a rule about something below it speaks of. */
    if (rename_names_below(&house->renames, path) || grants_lead_by(house, path, false))
        return EACCES;
    if (!protect_is_prefix(house->policy, path) ||
        decide_real_path(house->policy, OPERATION_WRITE, path).backing != BACKING_HOST)
        return 0;
    return judge_made_here(house, path_parent(path)) ? 0 : EACCES;
}

/* A look through a few directories, with one bound for all of them: links and
 * crowds could make many of few. */
struct search {
    int directory;
    bool found;
    size_t looked_at;
};

static bool matches(struct slice pattern, struct slice name)
{
    /* Nothing this program has a pattern for: refused rather than passed over. */
    return pattern.len > NAME_MAX || name.len > NAME_MAX || protect_component_matches(pattern, name);
}

static bool has_rest(struct search *search, int directory, struct slice rest);

/* Names are compared without regard to case, so the entries are listed; what is
 * too much to be looked through is taken to hold what is sought, and so is a link,
 * which may lead anywhere tomorrow. */
static bool has_entry(struct search *search, int directory, struct slice component, struct slice rest)
{
    DIR *entries = fd_list(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const struct dirent *entry;
    bool found = false;

    if (!entries)
        return errno != ENOTDIR;
    while (!found && (entry = readdir(entries))) {
        if (++search->looked_at > ENTRIES_MAX) {
            found = true;
        } else if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                   matches(component, slice_of(entry->d_name))) {
            FD_CLEANUP int below = openat(directory, entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
            struct stat status;
            found = rest.len == 0 || (below >= 0 && fstat(below, &status) == 0 &&
                                      (S_ISLNK(status.st_mode) || has_rest(search, below, rest)));
        }
    }
    closedir(entries);
    return found;
}

static bool has_rest(struct search *search, int directory, struct slice rest)
{
    struct slice component;

    if (!path_next(&rest, &component))
        return true;
    while (rest.len && rest.ptr[0] == '/')
        rest = slice_from(rest, 1);
    /* What may lie at any depth is not walked for: anything there is enough. */
    if (slice_is(component, "**"))
        return has_entry(search, directory, SLICE("*"), SLICE(""));
    return has_entry(search, directory, component, rest);
}

static void search_rest(void *argument, struct slice rest)
{
    struct search *search = argument;

    if (!search->found)
        search->found = has_rest(search, search->directory, rest);
}

/* Would something be under a protected name if `directory` were called `path`, or
 * is it now? */
static bool holds_protected(struct house *house, int directory, struct slice path)
{
    struct search search = {.directory = directory};

    protect_rests(house->policy, path, search_rest, &search);
    return search.found;
}

/* A repository or worktree that was there before: whoever moves it could put another
 * in its place, which the user's git obeys. */
static bool is_old_checkout(struct house *house, int directory, struct slice path)
{
    if (!git_layout_is_dangerous(house->policy, SLICE("config")) ||
        decide_real_path(house->policy, OPERATION_WRITE, path).backing != BACKING_HOST)
        return false;
    FD_CLEANUP int pointer = openat(directory, ".git", O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return pointer >= 0 && !made_is(&house->made, pointer);
}

static int judge_directory_move(struct house *house, int directory, struct slice from, struct slice to)
{
    bool made_here = made_is(&house->made, directory);

    if (decide_real_path(house->policy, OPERATION_WRITE, to).backing == BACKING_HOST &&
        !judge_made_here(house, path_parent(to)) && holds_protected(house, directory, to))
        return EACCES;
    if (!made_here && (holds_protected(house, directory, from) || is_old_checkout(house, directory, from)))
        return EACCES;
    return rename_escapes(&house->renames, from, to) ? EBUSY : 0;
}

int judge_move(struct house *house, const struct place *place, const struct entry_name *source,
               const struct entry_name *target)
{
    struct slice from = name_slice(&source->name);
    struct slice to = name_slice(&target->name);

    if (source->name.kind != NAME_KNOWN || target->name.kind != NAME_KNOWN || !source->exists)
        return 0;
    int error = judge_removal(house, source);
    if (error)
        return error;
    if (source->type == S_IFLNK)
        return judge_link_name(house, &target->name);
    if (source->type != S_IFDIR)
        return 0;
    /* There may be a link in it. */
    if (grants_lead_by(house, to, true))
        return EACCES;
    FD_CLEANUP int directory = place_open_directory(place);
    return directory < 0 ? errno : judge_directory_move(house, directory, from, to);
}
