/* Empty permitted, effective and inheritable sets (which empties the ambient set
 * too), and no_new_privs: execve then intersects whatever a set-id file, file
 * capabilities or user id 0 would give with the empty permitted set. That makes
 * the bounding set say nothing any more; emptying it would cost forty system
 * calls. (attack 25)
 *
 * Root may keep what package managers need to make files of other users. These
 * are capabilities over the run's own user namespace, in which every id is mapped,
 * so they work on all files that can be seen. They make no mount writable, take
 * none away, and do not reach pid 1, which has more of them. */
#include "jail/capabilities.h"

#include "plan/rights.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

bool capabilities_drop(bool keep_files, struct error *err)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct kept[_LINUX_CAPABILITY_U32S_3] = {{0}};

    if (keep_files) {
        kept[0].permitted = FILE_CAPABILITIES;
        kept[0].effective = FILE_CAPABILITIES;
    }
    if (syscall(SYS_capset, &header, kept) < 0)
        return error_set_errno(err, errno, "cannot drop capabilities");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return error_set_errno(err, errno, "cannot set no_new_privs");
    return true;
}
