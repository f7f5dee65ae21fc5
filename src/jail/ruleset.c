/* The three system calls of Landlock, and the rules both backends make alike. */
#include "jail/ruleset.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int ruleset_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

    return abi > 0 ? (int)abi : 0;
}

uint64_t ruleset_scopes(int abi, const struct plan *plan)
{
    if (abi < ABI_SCOPES)
        return 0;
    return plan->policy->network.allow_all_unix_sockets ? SCOPE_SIGNAL : SCOPE_SIGNAL | SCOPE_ABSTRACT_UNIX_SOCKET;
}

/* Older kernels take a shorter record; what they do not know of is 0 then. */
static size_t size_of(const struct ruleset_attributes *attributes)
{
    if (attributes->scoped)
        return sizeof *attributes;
    return attributes->handled_network ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
}

bool ruleset_make(const struct ruleset_attributes *attributes, struct ruleset *ruleset, struct error *err)
{
    *ruleset = (struct ruleset){
        .fd = (int)syscall(SYS_landlock_create_ruleset, attributes, size_of(attributes), 0),
        .handled = attributes->handled_files,
    };
    return ruleset->fd >= 0 || error_set_errno(err, errno, "cannot make a Landlock ruleset");
}

void ruleset_allow(const struct ruleset *ruleset, int place, uint64_t rights)
{
    struct landlock_path_beneath_attr rule = {.allowed_access = rights & ruleset->handled, .parent_fd = place};

    if (rule.allowed_access == 0 ||
        syscall(SYS_landlock_add_rule, ruleset->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0 || errno != EINVAL)
        return;
    rule.allowed_access &= READ_RIGHTS | CHANGE_FILE_RIGHTS | RIGHT_DEVICES;
    syscall(SYS_landlock_add_rule, ruleset->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

void ruleset_allow_standard_descriptors(const struct ruleset *ruleset)
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
        if (S_ISCHR(status.st_mode))
            rights |= RIGHT_DEVICES;
        ruleset_allow(ruleset, fd, rights);
    }
}

bool ruleset_take_on(const struct ruleset *ruleset, struct error *err)
{
    if (syscall(SYS_landlock_restrict_self, ruleset->fd, 0) < 0)
        return error_set_errno(err, errno, "cannot take on the Landlock ruleset");
    return true;
}
