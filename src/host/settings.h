/* What the host's configuration says, read from /proc and /sys. Everything here
 * may be absent (no /proc, an older kernel): that is a value of its own. */
#ifndef CLOCHE_HOST_SETTINGS_H
#define CLOCHE_HOST_SETTINGS_H

#include "base/arena.h"

enum { SETTING_ABSENT = -1 };

struct settings {
    char *release; /* of the kernel */
    char *program; /* where this binary lies; "cloche" if that is unknown */
    char *lsm;     /* comma-separated, or NULL */
    long max_user_namespaces;
    long max_mnt_namespaces;
    long max_pid_namespaces;
    long max_net_namespaces;
    long unprivileged_userns_clone;             /* Debian */
    long apparmor_restrict_unprivileged_userns; /* Ubuntu */
    long ptrace_scope;                          /* Yama */
    int seccomp_mode;                           /* of this process: 0, 1, 2 or SETTING_ABSENT */
    bool proc_mounted;                          /* one of this pid namespace */
    bool proc_masked;                           /* something is mounted below /proc, or /proc is read-only */
    bool chrooted;                              /* the root directory is certainly not the namespace's own root */
    bool in_container;
};

void settings_read(struct arena *arena, struct settings *settings);

/* A number in a file of /proc/sys, or SETTING_ABSENT. */
long settings_number(const char *path);

/* From the text of a mountinfo file: is something mounted below /proc, or /proc
 * itself read-only? The kernel then refuses a fresh /proc. */
bool settings_proc_is_masked(struct slice mountinfo);

#endif
