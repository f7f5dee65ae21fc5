/* May a file be read, by the name it really has? Asked of every open where a rule
 * about reading speaks of files to come (plan/late_reads.c).
 *
 * Where the mounts hide something, what stands there is of our own making: a mask,
 * or a directory that shows only what leads to something visible. */
#include "doorman/grants.h"
#include "doorman/judge.h"
#include "policy/decide.h"

#include <errno.h>
#include <string.h>

static bool is_own_directory(const struct house *house, struct slice path, mode_t type, const struct decision *decision)
{
    return type == S_IFDIR && decision->passage && plan_access_at(house->plan, path) == ACCESS_NONE;
}

/* What is in no tree of the run: a pipe, memory, what the user handed in. Any other file of another tree is none
 * that was shown to the command. */
static bool is_from_elsewhere(const struct house *house, const struct stat *status, const struct name *name)
{
    bool has_content = S_ISREG(status->st_mode) || S_ISDIR(status->st_mode);

    return !has_content || name->text[0] != '/' || slice_starts(name_slice(name), SLICE("/memfd:")) ||
           judge_is_handed_in(house, status);
}

static int judge_by_name(const struct house *house, struct slice path, mode_t type, bool *empty)
{
    struct decision decision = decide_real_path(house->policy, OPERATION_READ, path);

    if (!decision.allowed)
        return is_own_directory(house, path, type, &decision) || grants_cover(house, OPERATION_READ, path) ? 0 : EACCES;
    /* Shown as empty by a pattern: where a path is named, the mount does it. */
    if (decision.access != ACCESS_EMPTY || plan_access_at(house->plan, path) <= ACCESS_EMPTY)
        return 0;
    *empty = type == S_IFREG;
    return *empty ? 0 : EACCES;
}

int judge_read(const struct house *house, int object, const struct stat *status, struct name *name, bool *empty)
{
    *empty = false;
    name_of(house, object, name);
    if (name->kind == NAME_DOUBTFUL)
        return EACCES;
    /* Whoever had it in hand as a mere path when the host replaced it must not get at it by that. */
    if (name->was_named)
        name->length -= strlen(NAME_DELETED);
    else if (name->kind != NAME_KNOWN)
        return is_from_elsewhere(house, status, name) ? 0 : EACCES;
    return judge_by_name(house, name_slice(name), status->st_mode & S_IFMT, empty);
}
