/* The few facts that planning needs, asked of the kernel at every launch: one
 * uname() and one landlock_create_ruleset(). Everything dearer is in examine.c.
 * A release that does not read as a version counts as 0.0 and is thus refused
 * as too old: a kernel that we cannot place is not one to trust. */
#include "host/facts.h"

#include <linux/landlock.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { RELEASE_NUMBER_MAX = 9999 };

static bool take_number(struct slice *rest, unsigned *number)
{
    size_t used = 0;
    unsigned value = 0;

    while (used < rest->len && rest->ptr[used] >= '0' && rest->ptr[used] <= '9') {
        value = value * 10 + (unsigned)(rest->ptr[used] - '0');
        if (value > RELEASE_NUMBER_MAX)
            return false;
        used++;
    }
    if (used == 0)
        return false;
    *rest = slice_from(*rest, used);
    *number = value;
    return true;
}

bool facts_parse_release(struct slice release, unsigned *major, unsigned *minor)
{
    unsigned first;
    unsigned second;

    *major = 0;
    *minor = 0;
    if (!take_number(&release, &first) || release.len == 0 || release.ptr[0] != '.')
        return false;
    release = slice_from(release, 1);
    if (!take_number(&release, &second))
        return false;
    *major = first;
    *minor = second;
    return true;
}

void facts_gather(struct facts *facts)
{
    struct utsname name;

    *facts = (struct facts){.is_root = geteuid() == 0};
    if (uname(&name) == 0)
        facts_parse_release((struct slice){name.release, strnlen(name.release, sizeof(name.release))},
                            &facts->kernel_major, &facts->kernel_minor);
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    facts->landlock_abi = abi > 0 ? (int)abi : 0;
}
