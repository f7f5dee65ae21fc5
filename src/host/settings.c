/* Reads the host's configuration. Nothing here decides anything: a setting is
 * evidence for why a probe failed, the probe is the proof that it did. */
#include "host/settings.h"

#include "base/fd.h"
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { SETTING_FILE_MAX = 4096, MOUNTINFO_MAX = 4 << 20 };

static bool read_small(const char *path, char *content, size_t size)
{
    FD_CLEANUP int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return false;
    ssize_t got = read(fd, content, size - 1);
    if (got < 0)
        return false;
    content[got] = '\0';
    return true;
}

long settings_number(const char *path)
{
    char content[64];
    char *end;

    if (!read_small(path, content, sizeof(content)))
        return SETTING_ABSENT;
    errno = 0;
    long number = strtol(content, &end, 10);
    if (end == content || errno != 0 || number < 0)
        return SETTING_ABSENT;
    return number;
}

static int seccomp_mode(void)
{
    char content[SETTING_FILE_MAX];

    if (!read_small("/proc/self/status", content, sizeof(content)))
        return SETTING_ABSENT;
    const char *line = strstr(content, "\nSeccomp:\t");
    if (line == NULL)
        return SETTING_ABSENT;
    char digit = line[strlen("\nSeccomp:\t")];
    return digit >= '0' && digit <= '2' ? digit - '0' : SETTING_ABSENT;
}

static bool next_word(struct slice *line, struct slice *word)
{
    if (line->len == 0)
        return false;
    size_t end = slice_find(*line, ' ');
    *word = (struct slice){line->ptr, end};
    *line = slice_from(*line, end < line->len ? end + 1 : end);
    return true;
}

/* Directories that procfs makes to be mounted upon hide nothing. */
static bool is_made_for_mounts(struct slice mount_point)
{
    return slice_is(mount_point, "/proc/sys/fs/binfmt_misc") || slice_is(mount_point, "/proc/fs/nfsd");
}

static bool line_masks_proc(struct slice line)
{
    struct slice word;
    struct slice mount_point = {0};
    struct slice options = {0};

    for (int field = 0; field < 6; field++) {
        if (!next_word(&line, &word))
            return false;
        if (field == 4)
            mount_point = word;
        if (field == 5)
            options = word;
    }
    if (slice_starts(mount_point, SLICE("/proc/")))
        return !is_made_for_mounts(mount_point);
    return slice_is(mount_point, "/proc") && (slice_is(options, "ro") || slice_starts(options, SLICE("ro,")));
}

bool settings_proc_is_masked(struct slice mountinfo)
{
    while (mountinfo.len > 0) {
        size_t end = slice_find(mountinfo, '\n');
        if (line_masks_proc((struct slice){mountinfo.ptr, end}))
            return true;
        mountinfo = slice_from(mountinfo, end < mountinfo.len ? end + 1 : end);
    }
    return false;
}

static bool root_is_no_mount(void)
{
    struct statx status;

    if (statx(AT_FDCWD, "/", 0, STATX_TYPE, &status) != 0)
        return false;
    return (status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0 &&
           (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0;
}

static char *read_lsm(struct arena *arena)
{
    char content[SETTING_FILE_MAX];

    if (!read_small("/sys/kernel/security/lsm", content, sizeof(content)) || content[0] == '\0')
        return NULL;
    struct slice text = slice_of(content);
    return arena_printf(arena, "%.*s", (int)slice_find(text, '\n'), text.ptr);
}

static char *read_program(struct arena *arena)
{
    char target[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", target, sizeof(target) - 1);

    if (length <= 0)
        return arena_string(arena, "cloche");
    target[length] = '\0';
    return arena_string(arena, target);
}

void settings_read(struct arena *arena, struct settings *settings)
{
    struct utsname name;
    struct slice mountinfo = {0};
    struct error ignored;

    *settings = (struct settings){
        .release = arena_string(arena, uname(&name) == 0 ? name.release : "unknown"),
        .program = read_program(arena),
        .lsm = read_lsm(arena),
        .max_user_namespaces = settings_number("/proc/sys/user/max_user_namespaces"),
        .max_mnt_namespaces = settings_number("/proc/sys/user/max_mnt_namespaces"),
        .max_pid_namespaces = settings_number("/proc/sys/user/max_pid_namespaces"),
        .max_net_namespaces = settings_number("/proc/sys/user/max_net_namespaces"),
        .unprivileged_userns_clone = settings_number("/proc/sys/kernel/unprivileged_userns_clone"),
        .apparmor_restrict_unprivileged_userns =
            settings_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
        .ptrace_scope = settings_number("/proc/sys/kernel/yama/ptrace_scope"),
        .seccomp_mode = seccomp_mode(),
        .proc_mounted = proc_is_own(),
        .chrooted = root_is_no_mount(),
        .in_container = access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0,
    };
    if (file_read("/proc/self/mountinfo", MOUNTINFO_MAX, arena, &mountinfo, NULL, &ignored))
        settings->proc_masked = settings_proc_is_masked(mountinfo);
}
