/* Asks the process where it is: project, home, user and host name, each made
 * absolute and free of links, so that everything after this compares real paths.
 *
 * /etc/passwd is read directly: getpwuid would load code into a static binary.
 * Users that only a directory service knows therefore have a number for a name,
 * and need $HOME. What is learned here is refused rather than guessed: a project
 * that nobody named and that contains $HOME would put every secret in reach. */
#include "policy/around.h"

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/tree.h"
#include "policy/variables.h"

#include <errno.h>
#include <limits.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { PASSWD_MAX = 16 * 1024 * 1024, PASSWD_FIELDS = 7 };

/* NULL where the variable is absent or empty. */
static const char *variable(char *const *environment, const char *name)
{
    struct slice value;

    return environment_find(environment, slice_of(name), &value) && value.len ? value.ptr : NULL;
}

/* Decimal digits only, as the kernel's own tools write them. */
static bool parse_uid(struct slice text, unsigned *uid)
{
    unsigned value = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
        unsigned digit = (unsigned)(text.ptr[i] - '0');
        if (value > (UINT_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *uid = value;
    return text.len > 0;
}

static size_t split_line(struct slice line, struct slice fields[PASSWD_FIELDS])
{
    for (size_t count = 0; count < PASSWD_FIELDS; count++) {
        size_t end = slice_find(line, ':');
        fields[count] = (struct slice){line.ptr, end};
        if (end == line.len)
            return count + 1;
        line = slice_from(line, end + 1);
    }
    return PASSWD_FIELDS + 1;
}

bool passwd_find(struct slice passwd, unsigned uid, struct slice *name, struct slice *home)
{
    while (passwd.len) {
        size_t end = slice_find(passwd, '\n');
        struct slice fields[PASSWD_FIELDS];
        unsigned found;

        if (split_line((struct slice){passwd.ptr, end}, fields) == PASSWD_FIELDS && fields[0].len &&
            parse_uid(fields[2], &found) && found == uid) {
            *name = fields[0];
            *home = fields[5];
            return true;
        }
        passwd = slice_from(passwd, end < passwd.len ? end + 1 : end);
    }
    return false;
}

static bool find_home(struct arena *arena, const struct tree *tree, const char *named, struct slice in_passwd,
                      struct surroundings *around, struct error *err)
{
    struct slice home = named ? slice_of(named) : in_passwd;
    const char *whence = named ? "HOME" : "the home directory in /etc/passwd";
    struct tree_place place;

    /* Codex's helper asks for none. */
    if (!home.len && around->personality == PERSONALITY_CODEX)
        home = SLICE("/");
    if (!home.len)
        return error_set(err,
                         "cannot tell where the home directory is: HOME is not set and /etc/passwd has no entry "
                         "for user %u; set HOME",
                         (unsigned)geteuid());
    if (home.ptr[0] != '/')
        return error_set(err, "%s is \"%s\", which is not an absolute path: set HOME to one", whence,
                         escaped(arena, home));
    if (!tree_follow(tree, arena, home, &place, err))
        return error_wrap(err, "cannot use %s", whence);
    around->home = arena_slice(arena, place.path);
    if (slice_is(around->home, "/") && around->personality == PERSONALITY_CLOCHE)
        return error_set(err,
                         "%s is /: hiding the home would hide the whole system; set HOME to a directory of your "
                         "own, such as /tmp/home",
                         whence);
    return true;
}

/* sudo keeps HOME, containers and services set it elsewhere: the secrets are still
 * where the account's home is. */
static bool find_passwd_home(struct arena *arena, const struct tree *tree, struct slice in_passwd,
                             struct surroundings *around, struct error *err)
{
    struct tree_place place;

    if (!in_passwd.len || in_passwd.ptr[0] != '/')
        return true;
    if (!tree_follow(tree, arena, in_passwd, &place, err))
        return error_wrap(err, "cannot use the home directory in /etc/passwd");
    if (place.node == NODE_DIRECTORY && place.path.len > 1 && !slice_equal(place.path, around->home))
        around->passwd_home = arena_slice(arena, place.path);
    return true;
}

/* The current directory by its real name; getcwd also tells when it is gone. */
static bool current_directory(struct arena *arena, struct slice *path, struct error *err)
{
    char buffer[PATH_MAX];
    const char *found = getcwd(buffer, sizeof buffer);

    if (!found && errno == ENOENT)
        return error_set(err,
                         "the current directory does not exist any more: change to one that does (`cloche run` also "
                         "takes -C DIRECTORY)");
    if (!found)
        return error_set_errno(err, errno, "cannot tell the current directory; name the project with -C");
    if (buffer[0] != '/')
        return error_set(err, "the current directory is outside this process's root; name the project with -C");
    *path = arena_slice(arena, slice_of(buffer));
    return true;
}

static bool find_project(struct arena *arena, const struct tree *tree, const char *named, const char *whence,
                         struct surroundings *around, struct error *err)
{
    struct slice path = named ? slice_of(named) : (struct slice){0};
    struct tree_place place;

    if (!named || named[0] != '/') {
        struct slice current;
        if (!current_directory(arena, &current, err))
            return false;
        path = named ? path_join(arena, current, path) : current;
    }
    if (!tree_follow(tree, arena, path, &place, err))
        return error_wrap(err, "cannot use the project %s (%s)", escaped(arena, path), whence);
    if (place.node == NODE_ABSENT)
        return error_set(err, "the project %s (%s) does not exist", escaped(arena, path), whence);
    if (place.node == NODE_UNKNOWN)
        return error_set(err, "the project %s (%s) cannot be reached: %s cannot be searched", escaped(arena, path),
                         whence, escaped(arena, place.blocked));
    if (place.node != NODE_DIRECTORY)
        return error_set(err, "the project %s (%s) is not a directory", escaped(arena, path), whence);
    around->project = arena_slice(arena, place.path);
    return true;
}

bool surroundings_gather_with(struct arena *arena, enum personality personality, const char *project_option,
                              const char *project_variable, char *const *environment, char *const *command,
                              struct surroundings *around, struct error *err)
{
    const struct tree *tree = tree_of_host(arena);
    const char *project = project_option;
    const char *whence = "-C";
    struct slice passwd = {0};
    struct slice name = {0};
    struct slice passwd_home = {0};
    struct error unread;
    struct utsname system;

    *around = (struct surroundings){.personality = personality,
                                    .tree = tree,
                                    .environment = environment,
                                    .command = command,
                                    .is_root = geteuid() == 0};

    if (project && !*project)
        return error_set(err, "the option -C names no directory: its value is empty");
    if (!project) {
        whence = "$CLOCHE_PROJECT";
        project = variable(environment, "CLOCHE_PROJECT");
    }
    if (!project && project_variable) {
        whence = arena_printf(arena, "$%s", project_variable);
        project = variable(environment, project_variable);
    }
    if (!project)
        whence = "the current directory";
    around->project_is_named = project != NULL;

    if (file_read("/etc/passwd", PASSWD_MAX, arena, &passwd, NULL, &unread))
        passwd_find(passwd, geteuid(), &name, &passwd_home);
    around->user = name.len ? name : slice_of(arena_printf(arena, "%u", (unsigned)geteuid()));

    if (uname(&system) < 0)
        return error_set_errno(err, errno, "cannot tell the name of this host");
    around->host_name = arena_slice(arena, slice_of(system.nodename));

    if (!find_home(arena, tree, variable(environment, "HOME"), passwd_home, around, err) ||
        !find_project(arena, tree, project, whence, around, err))
        return false;

    if (!find_passwd_home(arena, tree, passwd_home, around, err))
        return false;

    if (personality == PERSONALITY_CLOCHE && !project_option && path_covers(around->project, around->home))
        return error_set(err,
                         "%s (%s) would be the project, and it %s: everything in it could be written. Change to a "
                         "project's directory, or name it with -C %s if you mean it",
                         escaped(arena, around->project), whence,
                         slice_equal(around->project, around->home) ? "is your home directory"
                                                                    : "contains your home directory",
                         escaped(arena, around->project));
    return true;
}

bool surroundings_gather(struct arena *arena, enum personality personality, const char *project_option,
                         char *const *environment, char *const *command, struct surroundings *around, struct error *err)
{
    return surroundings_gather_with(arena, personality, project_option, NULL, environment, command, around, err);
}
