/* Landlock repeats what the mounts say about writing (and, where reads are
 * listed, about reading files), so that a mistake in one of the two opens
 * nothing. It also holds what mounts cannot: signals stay inside although the
 * command is in cloche's process group, and a file that was handed to the command
 * open for reading, and could not be put on a read-only mount (handed.c), cannot
 * be opened again for writing through /proc/self/fd, nor emptied.
 *
 * Truncation is left to the mounts unless reads are listed or there is such a
 * file: the right is looked up at every open, and that costs. */
#include "jail/landlock.h"

#include "base/fd.h"
#include "jail/mountfd.h"
#include "jail/ruleset.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static void allow_path(const struct ruleset *ruleset, struct slice path, uint64_t rights)
{
    FD_CLEANUP int place = -1;
    struct error ignored;

    if (mountfd_place(path, &place, &ignored))
        ruleset_allow(ruleset, place, rights);
}

bool landlock_keeps_signals_inside(const struct plan *plan)
{
    return plan->use_landlock && ruleset_abi() >= ABI_SCOPES;
}

static bool is_file_on_writable_mount(int fd)
{
    struct stat status;
    struct statvfs mount;
    int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && (flags & O_ACCMODE) == O_RDONLY && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
           !(fstatvfs(fd, &mount) == 0 && (mount.f_flag & ST_RDONLY));
}

/* Such a file may be on the host's own mount: see handed.c. */
static bool is_file_handed_in(const struct passed *passed)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (is_file_on_writable_mount(fd))
            return true;
    }
    for (size_t i = 0; i < passed->count; i++) {
        if (is_file_on_writable_mount(passed->numbers[i]))
            return true;
    }
    return false;
}

static struct ruleset_attributes attributes_for(const struct plan *plan, const struct passed *passed, int abi)
{
    struct ruleset_attributes attributes = {.scoped = ruleset_scopes(abi, plan)};

    /* Mounts cannot be made under a file ruleset, and nested sandboxes must. */
    if (!plan->nested_user_namespaces)
        attributes.handled_files = CHANGE_RIGHTS;
    if (!plan->nested_user_namespaces && plan->landlock_reads)
        attributes.handled_files |= READ_RIGHTS;
    if (!plan->nested_user_namespaces && abi >= ABI_TRUNCATE && (plan->landlock_reads || is_file_handed_in(passed)))
        attributes.handled_files |= RIGHT_TRUNCATE;
    return attributes;
}

bool landlock_apply(const struct plan *plan, const struct passed *passed, int *kept, struct error *err)
{
    *kept = -1;
    if (!plan->use_landlock)
        return true;

    struct ruleset_attributes attributes = attributes_for(plan, passed, ruleset_abi());
    if (!attributes.handled_files && !attributes.scoped)
        return true;
    struct ruleset ruleset;
    if (!ruleset_make(&attributes, &ruleset, err))
        return false;

    if (ruleset.handled) {
        for (size_t i = 0; i < plan->landlock_count; i++)
            allow_path(&ruleset, plan->landlock[i].path,
                       plan->landlock[i].write ? READ_RIGHTS | CHANGE_RIGHTS | RIGHT_TRUNCATE : READ_RIGHTS);
        ruleset_allow_standard_descriptors(&ruleset);
    }
    bool taken_on = ruleset_take_on(&ruleset, err);
    if (taken_on && ruleset.handled && plan_has_doorman(plan))
        *kept = fd_take(&ruleset.fd);
    fd_close(&ruleset.fd);
    return taken_on;
}
