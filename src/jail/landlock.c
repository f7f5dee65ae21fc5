/* Landlock repeats what the mounts say about writing (and, where reads are
 * listed, about reading files), so that a mistake in one of the two opens
 * nothing. It also holds what mounts cannot: a file that was handed to the
 * command open for reading cannot be opened again for writing through
 * /proc/self/fd, and signals stay inside although the command is in cloche's
 * process group.
 *
 * Rules only add. Whatever a rule cannot be made for stays denied, so that is no
 * error here. Truncation is left to the mounts unless reads are listed: the
 * right is looked up at every open, and that costs.
 *
 * The kernel we run on may be newer than the headers we build with, so the
 * interface is spelled out. */
#include "jail/landlock.h"

#include "base/fd.h"
#include "jail/mountfd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ABI_TRUNCATE = 3, ABI_SCOPES = 6 };

#define RIGHT_TRUNCATE (1ULL << 14)

#define SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#define SCOPE_SIGNAL (1ULL << 1)

#define READ_RIGHTS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE)
#define CHANGE_FILE_RIGHTS (LANDLOCK_ACCESS_FS_WRITE_FILE | RIGHT_TRUNCATE)
#define CHANGE_RIGHTS                                                                              \
    (CHANGE_FILE_RIGHTS | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |         \
     LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |    \
     LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | \
     LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER)

struct ruleset {
    int fd;
    uint64_t handled;
};

/* struct landlock_ruleset_attr as of ABI 6. */
struct ruleset_attributes {
    uint64_t handled_files;
    uint64_t handled_network;
    uint64_t scoped;
};

static void allow(const struct ruleset *ruleset, int place, uint64_t rights)
{
    struct landlock_path_beneath_attr rule = {.allowed_access = rights & ruleset->handled, .parent_fd = place};

    if (rule.allowed_access == 0 ||
        syscall(SYS_landlock_add_rule, ruleset->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0 || errno != EINVAL)
        return;
    /* Not a directory: only the rights a file can have. */
    rule.allowed_access &= READ_RIGHTS | CHANGE_FILE_RIGHTS;
    syscall(SYS_landlock_add_rule, ruleset->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

static void allow_path(const struct ruleset *ruleset, struct slice path, uint64_t rights)
{
    FD_CLEANUP int place = -1;
    struct error ignored;

    if (mountfd_place(path, &place, &ignored))
        allow(ruleset, place, rights);
}

/* "> /dev/stderr" opens what the descriptor stands for once more: a file or
 * terminal of the host's tree, which no path of the plan covers. It may be
 * opened the way it already is. */
static void allow_standard_descriptors(const struct ruleset *ruleset)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        struct stat status;
        int flags = fcntl(fd, F_GETFL);
        uint64_t rights = 0;

        if (flags < 0 || (flags & O_PATH) || fstat(fd, &status) < 0 || S_ISDIR(status.st_mode))
            continue;
        if ((flags & O_ACCMODE) != O_WRONLY)
            rights |= LANDLOCK_ACCESS_FS_READ_FILE;
        if ((flags & O_ACCMODE) != O_RDONLY)
            rights |= CHANGE_FILE_RIGHTS;
        allow(ruleset, fd, rights);
    }
}

static int kernel_abi(void)
{
    return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

bool landlock_keeps_signals_inside(const struct plan *plan)
{
    return plan->use_landlock && kernel_abi() >= ABI_SCOPES;
}

static struct ruleset_attributes attributes_for(const struct plan *plan, int abi)
{
    struct ruleset_attributes attributes = {0};

    /* Mounts cannot be made under a file ruleset, and nested sandboxes must. */
    if (!plan->nested_user_namespaces)
        attributes.handled_files = CHANGE_RIGHTS & ~RIGHT_TRUNCATE;
    if (!plan->nested_user_namespaces && plan->landlock_reads) {
        attributes.handled_files |= READ_RIGHTS;
        if (abi >= ABI_TRUNCATE)
            attributes.handled_files |= RIGHT_TRUNCATE;
    }
    if (abi >= ABI_SCOPES) {
        attributes.scoped = SCOPE_SIGNAL;
        if (!plan->policy->network.allow_all_unix_sockets)
            attributes.scoped |= SCOPE_ABSTRACT_UNIX_SOCKET;
    }
    return attributes;
}

bool landlock_apply(const struct plan *plan, struct error *err)
{
    if (!plan->use_landlock)
        return true;

    struct ruleset_attributes attributes = attributes_for(plan, kernel_abi());
    if (!attributes.handled_files && !attributes.scoped)
        return true;
    size_t size = attributes.scoped ? sizeof attributes : sizeof attributes.handled_files;
    FD_CLEANUP int fd = (int)syscall(SYS_landlock_create_ruleset, &attributes, size, 0);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot make a Landlock ruleset");

    struct ruleset ruleset = {fd, attributes.handled_files};
    if (ruleset.handled) {
        for (size_t i = 0; i < plan->landlock_count; i++)
            allow_path(&ruleset, plan->landlock[i].path,
                       plan->landlock[i].write ? READ_RIGHTS | CHANGE_RIGHTS : READ_RIGHTS);
        allow_standard_descriptors(&ruleset);
    }
    if (syscall(SYS_landlock_restrict_self, fd, 0) < 0)
        return error_set_errno(err, errno, "cannot take on the Landlock ruleset");
    return true;
}
