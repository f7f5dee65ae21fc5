/* Why a host refuses what a run's first moves need, and what to do about it.
 * Pure: from an errno, the step it came at and the host's settings to words.
 * The kernel gives EPERM for a dozen reasons; the settings tell them apart, in
 * the order in which the kernel itself would have looked at them. */
#include "host/subjects.h"

#include <errno.h>

static void set(struct finding *finding, const char *detail, const char *remedy)
{
    finding->status = FINDING_MISSING;
    finding->detail = detail;
    finding->remedy = remedy;
}

static const char *sysctl_remedy(struct arena *arena, const char *setting)
{
    return arena_printf(arena,
                        "now:        sudo sysctl -w %s\n"
                        "for good:   echo '%s' | sudo tee /etc/sysctl.d/60-cloche.conf",
                        setting, setting);
}

static const char *const container_remedy =
    "start the container with:\n"
    "  --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined\n"
    "(docker and podman understand all three; none of them gives the container more capabilities)";

static const char *const filter_remedy = "start cloche outside the sandbox or service that put the filter on; for a "
                                         "systemd unit see RestrictNamespaces= and\n"
                                         "SystemCallFilter=";

static const char *const chroot_remedy =
    "enter the tree as a namespace root of its own instead of by chroot, for example:\n"
    "  sudo systemd-nspawn -D TREE\n"
    "  bwrap --bind TREE / --proc /proc --dev-bind /dev /dev COMMAND";

/* The lines are made to be pasted into a shell by somebody with sudo, and the
 * path is quoted for two languages there: one that needs more than plain letters
 * is left for its owner to fill in. */
static const char *pasteable_path(const char *program)
{
    for (const char *byte = program; *byte != '\0'; byte++) {
        bool plain = (*byte >= 'a' && *byte <= 'z') || (*byte >= 'A' && *byte <= 'Z') ||
                     (*byte >= '0' && *byte <= '9') || strchr("/._-+", *byte) != NULL;
        if (!plain)
            return "/PATH/TO/cloche";
    }
    return program[0] == '/' ? program : "/PATH/TO/cloche";
}

const char *diagnose_apparmor_remedy(struct arena *arena, const char *program)
{
    return arena_printf(
        arena,
        "either let this one program (the better way; it must lie where only root can write):\n"
        "  printf '%%s\\n' 'abi <abi/4.0>,' 'include <tunables/global>' \\\n"
        "    'profile cloche \"%s\" flags=(unconfined) {' '  userns,' \\\n"
        "    '  include if exists <local/cloche>' '}' | sudo tee /etc/apparmor.d/cloche\n"
        "  sudo apparmor_parser -r /etc/apparmor.d/cloche\n"
        "or lift the restriction for every program:\n"
        "  sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0\n"
        "  echo 'kernel.apparmor_restrict_unprivileged_userns=0' | sudo tee /etc/sysctl.d/60-cloche.conf",
        pasteable_path(program));
}

static bool restricted_by_apparmor(const struct namespace_failure *failure)
{
    return failure->settings->apparmor_restrict_unprivileged_userns == 1 && !failure->is_root;
}

static bool limit_reached(const struct namespace_failure *failure)
{
    return failure->errnum == ENOSPC || failure->errnum == EUSERS;
}

static void diagnose_limit(struct arena *arena, const struct namespace_failure *failure, struct finding *finding)
{
    long limit = failure->settings->max_user_namespaces;

    if (limit == 0)
        set(finding, "refused: the limit user.max_user_namespaces is 0",
            sysctl_remedy(arena, "user.max_user_namespaces=15000"));
    else
        set(finding,
            arena_printf(arena,
                         "refused (%s): too many user namespaces; the limit here, user.max_user_namespaces, is %ld, "
                         "and each enclosing namespace has its own",
                         examine_errno(arena, failure->errnum), limit),
            sysctl_remedy(arena, "user.max_user_namespaces=15000"));
}

/* EPERM and its like, where creation itself was refused. */
static void diagnose_refusal(struct arena *arena, const struct namespace_failure *failure, struct finding *finding)
{
    const struct settings *settings = failure->settings;
    const char *code = examine_errno(arena, failure->errnum);

    if (failure->chrooted)
        set(finding, arena_printf(arena, "refused (%s): this process runs inside a chroot", code), chroot_remedy);
    else if (settings->unprivileged_userns_clone == 0 && !failure->is_root)
        set(finding, "refused: kernel.unprivileged_userns_clone is 0",
            sysctl_remedy(arena, "kernel.unprivileged_userns_clone=1"));
    else if (restricted_by_apparmor(failure))
        set(finding, "refused: kernel.apparmor_restrict_unprivileged_userns is 1 (Ubuntu's default since 24.04)",
            diagnose_apparmor_remedy(arena, settings->program));
    else if (settings->seccomp_mode == 2)
        set(finding,
            arena_printf(arena, "refused (%s): a system-call filter is in force%s", code,
                         settings->in_container ? " (this seems to be a container)" : ""),
            settings->in_container ? container_remedy : filter_remedy);
    else
        set(finding,
            arena_printf(arena,
                         "refused (%s); no sysctl explains it: a security module, a chroot, or ids without a mapping "
                         "in the namespace around us",
                         code),
            settings->in_container ? container_remedy : NULL);
}

/* The namespace was made, but what must be done inside it was refused. */
static void diagnose_powerless(struct arena *arena, const struct namespace_failure *failure, struct finding *finding)
{
    const struct settings *settings = failure->settings;
    const char *what = failure->step == NAMESPACE_IDS      ? "mapping ids in it"
                       : failure->step == NAMESPACE_MOUNTS ? "a mount namespace in it"
                                                           : "mounting in it";
    const char *code = examine_errno(arena, failure->errnum);

    if (failure->step == NAMESPACE_IDS && !settings->proc_mounted)
        set(finding, "ids cannot be mapped: no /proc of this pid namespace is mounted",
            "mount it: sudo mount -t proc proc /proc");
    else if (restricted_by_apparmor(failure))
        set(finding,
            arena_printf(arena,
                         "a namespace can be made, but %s is refused (%s): "
                         "kernel.apparmor_restrict_unprivileged_userns is 1 (Ubuntu's default since 24.04)",
                         what, code),
            diagnose_apparmor_remedy(arena, settings->program));
    else if (settings->in_container || settings->seccomp_mode == 2)
        set(finding,
            arena_printf(arena, "a namespace can be made, but %s is refused (%s) by %s", what, code,
                         settings->seccomp_mode == 2 ? "a system-call filter" : "the container's security profile"),
            settings->in_container ? container_remedy : filter_remedy);
    else
        set(finding,
            arena_printf(arena, "a namespace can be made, but %s is refused (%s); security modules: %s", what, code,
                         settings->lsm ? settings->lsm : "unknown"),
            NULL);
}

void diagnose_user_namespaces(struct arena *arena, const struct namespace_failure *failure, struct finding *finding)
{
    if (failure->step == NAMESPACE_USER && limit_reached(failure))
        diagnose_limit(arena, failure, finding);
    else if (failure->step == NAMESPACE_USER && failure->errnum == EINVAL)
        set(finding, "this kernel has none", "use a kernel built with CONFIG_USER_NS=y");
    else if (failure->step == NAMESPACE_USER)
        diagnose_refusal(arena, failure, finding);
    else if (failure->step == NAMESPACE_MOUNT_CALLS && failure->errnum == ENOSYS)
        set(finding,
            "open_tree, move_mount or mount_setattr do not exist here: the kernel is older than 5.12, or a "
            "system-call filter hides them",
            failure->settings->in_container ? container_remedy : "use a kernel from 6.1 on");
    else
        diagnose_powerless(arena, failure, finding);
}

void diagnose_fresh_proc(struct arena *arena, int errnum, const struct settings *settings, struct finding *finding)
{
    const char *code = examine_errno(arena, errnum);

    if (!settings->proc_mounted)
        set(finding, arena_printf(arena, "refused (%s): no /proc of this pid namespace is mounted here", code),
            "mount it: sudo mount -t proc proc /proc");
    else if (errnum == EPERM && settings->proc_masked)
        set(finding,
            arena_printf(arena,
                         "refused (%s): parts of the /proc around us are masked or read-only, as container "
                         "engines do; it is shown instead, read-only, with its processes",
                         code),
            "start the container with --security-opt systempaths=unconfined (docker, podman: unmask=ALL)");
    else
        set(finding, arena_printf(arena, "refused (%s)", code), settings->in_container ? container_remedy : NULL);
}
