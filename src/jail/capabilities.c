/* Empty permitted, effective and inheritable sets (which empties the ambient set
 * too), and no_new_privs: execve then intersects whatever a set-id file, file
 * capabilities or user id 0 would give with the empty permitted set. That makes
 * the bounding set say nothing any more; emptying it would cost forty system
 * calls. (attack 25) */
#include "jail/capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

bool capabilities_drop(struct error *err)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

    if (syscall(SYS_capset, &header, none) < 0)
        return error_set_errno(err, errno, "cannot drop capabilities");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return error_set_errno(err, errno, "cannot set no_new_privs");
    return true;
}
