/* Attacks on the walls themselves: new namespaces, mounts taken off or copied. */
#include "attacker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int reaped(long child)
{
    if (child == 0)
        _exit(0);
    if (child > 0)
        waitpid((pid_t)child, NULL, 0);
    return child < 0 ? -1 : 0;
}

static int clone_with(char **words)
{
    return reaped(syscall(SYS_clone, number(words[0]) | SIGCHLD, 0, 0, 0, 0));
}

static int clone3_with(char **words)
{
    struct clone_args args = {.flags = number(words[0]), .exit_signal = SIGCHLD};

    return reaped(syscall(SYS_clone3, &args, sizeof args));
}

static int unshare_with(char **words)
{
    return (int)syscall(SYS_unshare, number(words[0]));
}

static void write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);

    if (fd >= 0 && write(fd, text, strlen(text)) >= 0)
        close(fd);
}

/* An own user and mount namespace with all capabilities over it. Its user ids need
 * no map for that, and a root without capabilities may not write one. */
static int nest(char **words)
{
    char line[64];
    unsigned user = geteuid();
    unsigned group = getegid();

    (void)words;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return -1;
    write_text("/proc/self/setgroups", "deny");
    snprintf(line, sizeof line, "0 %u 1\n", user);
    write_text("/proc/self/uid_map", line);
    snprintf(line, sizeof line, "0 %u 1\n", group);
    write_text("/proc/self/gid_map", line);
    return 0;
}

static int unmount(char **words)
{
    return umount2(words[0], MNT_DETACH);
}

static int bind(char **words)
{
    return mount(words[0], words[1], NULL, MS_BIND, NULL);
}

static int bind_whole(char **words)
{
    return mount(words[0], words[1], NULL, MS_BIND | MS_REC, NULL);
}

static int remount_writable(char **words)
{
    return mount(NULL, words[0], NULL, MS_REMOUNT | MS_BIND, NULL);
}

static int make_writable(char **words)
{
    struct mount_attr attr = {.attr_clr = MOUNT_ATTR_RDONLY};

    return mount_setattr(AT_FDCWD, words[0], 0, &attr, sizeof attr);
}

/* What lies below the mounts, without them. */
static int read_below_mounts(char **words)
{
    int tree = open_tree(AT_FDCWD, words[0], OPEN_TREE_CLONE);

    return tree < 0 ? -1 : show(openat(tree, words[1], O_RDONLY));
}

static int move_to(char **words)
{
    return move_mount(AT_FDCWD, words[0], AT_FDCWD, words[1], 0);
}

static int new_tmpfs(char **words)
{
    return mount("none", words[0], "tmpfs", 0, NULL);
}

static int new_tmpfs_by_descriptor(char **words)
{
    int context = fsopen("tmpfs", 0);

    (void)words;
    if (context < 0 || fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -1;
    return fsmount(context, 0, 0);
}

static int change_root(char **words)
{
    return chroot(words[0]);
}

static int pivot(char **words)
{
    return (int)syscall(SYS_pivot_root, words[0], words[0]);
}

static int enter(char **words)
{
    int fd = open(words[0], O_RDONLY);

    return fd < 0 ? -1 : setns(fd, 0);
}

const struct operation namespace_operations[] = {
    {"clone", 1, clone_with},
    {"clone3", 1, clone3_with},
    {"unshare", 1, unshare_with},
    {"nest", 0, nest},
    {"unmount", 1, unmount},
    {"bind", 2, bind},
    {"bind-whole", 2, bind_whole},
    {"remount-writable", 1, remount_writable},
    {"make-writable", 1, make_writable},
    {"read-below-mounts", 2, read_below_mounts},
    {"move-mount", 2, move_to},
    {"new-tmpfs", 1, new_tmpfs},
    {"new-tmpfs-by-descriptor", 0, new_tmpfs_by_descriptor},
    {"chroot", 1, change_root},
    {"pivot-root", 1, pivot},
    {"enter-namespace", 1, enter},
    {0},
};
