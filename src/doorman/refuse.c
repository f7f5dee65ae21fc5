/* The errors are those of tools/compile-filter.c; tests/unit/test_filters.c holds
 * the two together. Nothing here lets anything through: a mistake gives another
 * error, never a success. (Modes are looked at again when a request has been read.) */
#include "doorman/refuse.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif
#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443
#endif
#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif
#ifndef SYS_lsm_set_self_attr
#define SYS_lsm_set_self_attr 460
#endif

static const struct refusal_of_call kernel_surface = {EPERM, false, "a part of the kernel that no build needs"};
static const struct refusal_of_call keys = {EPERM, false, "the user's kernel keys are out of reach"};
static const struct refusal_of_call machine = {EPERM, false, "it would change the state of the machine"};
static const struct refusal_of_call mounts = {EPERM, false, "what is mounted is the sandbox itself"};
static const struct refusal_of_call namespaces = {
    EPERM, false, "namespaces of its own are refused unless allowNestedUserNamespaces allows them"};
static const struct refusal_of_call terminal = {EPERM, false, "it could type into the terminal, or drive it"};
static const struct refusal_of_call attributes = {EPERM, false,
                                                  "flags of files and subvolumes cannot be judged by name"};
static const struct refusal_of_call priorities = {EPERM, false, "it would change processes outside"};
static const struct refusal_of_call by_number = {EPERM, true, "files are reached by name, not by number"};
static const struct refusal_of_call absent = {ENOSYS, true, "io_uring is not there: no filter sees what it does"};
static const struct refusal_of_call family = {EAFNOSUPPORT, false, "sockets are of IP, unix or the routing netlink"};
static const struct refusal_of_call netlink = {EPROTONOSUPPORT, false, "of netlink only routing is there"};
static const struct refusal_of_call all_unix = {EPERM, false, "seccomp.blockUnixSockets refuses all unix sockets"};
static const struct refusal_of_call datagrams = {
    EACCES, false, "unix datagram sockets are refused unless network.unixDatagram allows them"};

const struct refusal_of_call refuse_set_id = {
    EPERM, false, "a file with the set-user-id or set-group-id bit would lend its owner's rights to others"};
static const struct refusal_of_call leases = {EACCES, false, "whoever opens a file with a lease on it is kept waiting"};
static const struct refusal_of_call other_rules = {
    EOPNOTSUPP, true, "the doorman, who opens files in its place, would not stand under rules that it makes"};

static bool sets_id(uint64_t mode, bool is_root)
{
    return mode & (is_root ? S_ISUID | S_ISGID : S_ISUID);
}

/* The mode of an open counts where a file may be made. */
static bool makes_set_id(uint64_t flags, uint64_t mode, bool is_root)
{
    const uint64_t making = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);

    return flags & making && sets_id(mode, is_root);
}

static const struct refusal_of_call *find_mode(const struct seccomp_data *call, bool is_root)
{
    const uint64_t *arguments = (const uint64_t *)call->args;
    bool refused = false;

    switch (call->nr) {
#ifdef SYS_open
    case SYS_open:
        refused = makes_set_id(arguments[1], arguments[2], is_root);
        break;
    case SYS_creat:
    case SYS_chmod:
    case SYS_mknod:
#endif
    case SYS_fchmod:
        refused = sets_id(arguments[1], is_root);
        break;
    case SYS_openat:
        refused = makes_set_id(arguments[2], arguments[3], is_root);
        break;
    case SYS_fchmodat:
    case SYS_fchmodat2:
    case SYS_mknodat:
        refused = sets_id(arguments[2], is_root);
        break;
    default:
        break;
    }
    return refused ? &refuse_set_id : NULL;
}

static const struct refusal_of_call *find_ioctl(const struct seccomp_data *call)
{
    const unsigned type_bits = 0xff00;
    const unsigned terminals = 0x5400;

    return ((unsigned)call->args[1] & type_bits) == terminals ? &terminal : &attributes;
}

static const struct refusal_of_call *find_socket(const struct seccomp_data *call, bool blocks_unix)
{
    switch ((int)call->args[0]) {
    case AF_NETLINK:
        return call->nr == SYS_socket ? &netlink : &family;
    case AF_UNIX:
        return call->nr == SYS_socket && blocks_unix ? &all_unix : &datagrams;
    default:
        return &family;
    }
}

static const struct refusal_of_call *find_machine(const struct seccomp_data *call, bool is_root)
{
    switch (call->nr) {
    case SYS_quotactl:
    case SYS_quotactl_fd:
    case SYS_swapon:
    case SYS_swapoff:
    case SYS_reboot:
    case SYS_syslog:
    case SYS_acct:
    case SYS_settimeofday:
    case SYS_adjtimex:
    case SYS_clock_settime:
    case SYS_clock_adjtime:
    case SYS_sethostname:
    case SYS_setdomainname:
        return &machine;
    case SYS_mount:
    case SYS_umount2:
    case SYS_pivot_root:
    case SYS_chroot:
    case SYS_open_tree:
    case SYS_open_tree_attr:
    case SYS_move_mount:
    case SYS_fsopen:
    case SYS_fsconfig:
    case SYS_fsmount:
    case SYS_fspick:
    case SYS_mount_setattr:
        return &mounts;
    case SYS_keyctl:
    case SYS_add_key:
    case SYS_request_key:
        return &keys;
    default:
        return find_mode(call, is_root);
    }
}

const struct refusal_of_call *refuse_find(const struct seccomp_data *call, bool blocks_unix, bool is_root)
{
    switch (call->nr) {
    case SYS_bpf:
    case SYS_perf_event_open:
    case SYS_userfaultfd:
    case SYS_kexec_load:
#ifdef SYS_kexec_file_load
    case SYS_kexec_file_load:
#endif
    case SYS_init_module:
    case SYS_finit_module:
    case SYS_delete_module:
    case SYS_lookup_dcookie:
    case SYS_vhangup:
#ifdef SYS_iopl
    case SYS_iopl:
    case SYS_ioperm:
    case SYS_create_module:
    case SYS_query_module:
    case SYS_get_kernel_syms:
    case SYS_uselib:
    case SYS__sysctl:
#endif
    case SYS_nfsservctl:
    case SYS_lsm_set_self_attr:
    case SYS_personality:
        return &kernel_surface;
    case SYS_name_to_handle_at:
    case SYS_open_by_handle_at:
        return &by_number;
    case SYS_io_uring_setup:
    case SYS_io_uring_enter:
    case SYS_io_uring_register:
        return &absent;
    case SYS_clone:
    case SYS_unshare:
    case SYS_setns:
        return &namespaces;
    case SYS_ioctl:
        return find_ioctl(call);
    case SYS_setpriority:
    case SYS_ioprio_set:
        return &priorities;
    case SYS_socket:
    case SYS_socketpair:
        return find_socket(call, blocks_unix);
    case SYS_fcntl:
        return &leases;
    case SYS_landlock_create_ruleset:
        return &other_rules;
    default:
        return find_machine(call, is_root);
    }
}
