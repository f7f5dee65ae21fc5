/* A mount namespace that holds one tmpfs and nothing of the host, in a user namespace of
 * its own. No process lives in it: whoever has a descriptor of it keeps it, and when the
 * last one is closed, by whatever means, the kernel takes it all away.
 *
 * A run cannot copy mounts out of a namespace that is not its own, so its supervisor
 * sends a process in, which copies them and hands them out. Only who made a namespace
 * (by user id, and outside of every sandbox) may enter it.
 *
 * Commands of one session are each other's enemies as far as mounts go: what one leaves
 * there may be a link, so nothing of it is followed. And a directory that is the place
 * of a mount in one run can be renamed by another one in which it is not: then names
 * would not mean what they meant to the policy. So all commands have the same places. */
#include "jail/session_tmp.h"

#include "base/fd.h"
#include "jail/control.h"
#include "jail/entries.h"
#include "jail/identity.h"
#include "jail/mountfd.h"
#include "jail/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PLACES "places"

enum { PLACES_MAX = 1024 * 1024 };
enum { PLACES_DIFFER = 1 }; /* in a report */

static const struct {
    const char *path;
    const char *name;
} shared[SESSION_TREES_MAX] = {{"/tmp", "tmp"}, {"/var/tmp", "var-tmp"}};

/* ---- a conversation with a process that is somewhere else ---- */

struct errand {
    pid_t child;
    int control; /* ours */
};

static bool errand_ends_well(const struct errand *errand, bool *differs, struct error *err)
{
    struct report report;

    if (!report_receive(errand->control, &report))
        return error_set(err, "the process that was to see to the session's /tmp was killed");
    if (report.kind == REPORT_ENDED)
        return true;
    *differs = report.value == PLACES_DIFFER;
    *err = report.error;
    return false;
}

static void errand_close(struct errand *errand)
{
    fd_close(&errand->control);
    spawn_wait(errand->child);
}

static _Noreturn void fail_errand(int control, int why, const struct error *err)
{
    report_send(control, REPORT_REFUSED, why, err->text);
    _exit(0);
}

/* ---- making one ---- */

static bool fill_root(int tree, struct error *err)
{
    for (size_t i = 0; i < SESSION_TREES_MAX; i++) {
        if (mkdirat(tree, shared[i].name, 01777) < 0)
            return error_set_errno(err, errno, "cannot make a directory in a tmpfs");
    }
    return true;
}

static bool build(uint64_t size, int control, int *descriptor, struct error *err)
{
    struct order order;
    int tree;

    if (!order_receive(control, &order)) /* ids are mapped */
        return false;
    if (unshare(CLONE_NEWNS) < 0)
        return error_set_errno(err, errno, "cannot have a mount namespace");
    *descriptor = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    if (*descriptor < 0)
        return error_set_errno(err, errno, "cannot open /proc/self/ns/mnt");
    umask(0);
    return mountfd_cut_propagation(err) && mountfd_new_tmpfs(0700, size, &tree, err) && fill_root(tree, err) &&
           mountfd_replace_root(tree, -1, "", err);
}

static _Noreturn void build_and_leave(uint64_t size, int control)
{
    struct error err = {.text = "the session's /tmp could not be made"};
    int descriptor = -1;

    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (!build(size, control, &descriptor, &err))
        fail_errand(control, 0, &err);
    report_send(control, REPORT_ENDED, 0, "");
    descriptor_send(control, descriptor);
    _exit(0);
}

bool session_tmp_make(uint64_t size, int *descriptor, struct error *err)
{
    struct errand errand;
    bool ignored;
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return error_set_errno(err, errno, "cannot make a socket");
    if (!spawn_namespaces(-1, &errand.child, err)) {
        fd_close(&ends[0]);
        fd_close(&ends[1]);
        return false;
    }
    if (errand.child == 0) {
        fd_close(&ends[0]);
        build_and_leave(size, ends[1]);
    }
    fd_close(&ends[1]);
    errand.control = ends[0];
    bool made = identity_map_child(errand.child, err) && order_send(ends[0], ORDER_MAPPED, 0) &&
                errand_ends_well(&errand, &ignored, err);
    if (made) {
        *descriptor = descriptor_receive(errand.control);
        made = *descriptor >= 0 || error_set(err, "cannot receive the session's /tmp");
    }
    errand_close(&errand);
    return made;
}

/* ---- entering one ---- */

static bool open_session(const char *path, int *descriptor, struct error *err)
{
    *descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*descriptor < 0)
        return error_set_errno(err, errno, "cannot open the session's /tmp, %s (has whoever holds it ended?)", path);
    if (ioctl(*descriptor, NS_GET_NSTYPE) == CLONE_NEWNS)
        return true;
    fd_close(descriptor);
    return error_set(err, "--session-tmp %s leads to no session's /tmp: `cloche session` says where one is", path);
}

static bool step_inside(int session, struct error *err)
{
    FD_CLEANUP int user = ioctl(session, NS_GET_USERNS);

    if (user < 0 || setns(user, CLONE_NEWUSER) < 0 || setns(session, CLONE_NEWNS) < 0)
        return error_set_errno(err, errno, "cannot enter the session's /tmp (is it another user's?)");
    return true;
}

static void append_places(const struct plan *plan, struct text *out)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct step *step = &plan->steps[i];
        for (size_t n = 0; step->kind == STEP_SESSION && n < step->entry_count; n++) {
            text_append(out, step->entries[n].path);
            text_append_byte(out, '\0');
        }
    }
}

/* The first command says where its mounts are: the file has a name only when it is whole. */
static bool write_places(struct slice places)
{
    char name[64];

    snprintf(name, sizeof name, "/" PLACES "-%d", (int)getpid());
    FD_CLEANUP int file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool first = file >= 0 && fd_write_all(file, places) && link(name, "/" PLACES) == 0;
    int errnum = errno;
    unlink(name);
    errno = errnum;
    return first;
}

/* Read first: commands before this one may have left no room for another file, not even for a moment. */
static bool agree_on_places(const struct plan *plan, int *why, struct error *err)
{
    struct text places = text_in(plan->arena);
    struct slice first;
    bool absent = false;

    append_places(plan, &places);
    bool known = file_read("/" PLACES, PLACES_MAX, plan->arena, &first, &absent, err);
    if (absent) {
        if (!write_places(text_slice(&places)) && errno != EEXIST)
            return error_set_errno(err, errno, "cannot note the places of mounts in the session's /tmp");
        known = file_read("/" PLACES, PLACES_MAX, plan->arena, &first, NULL, err);
    }
    if (!known)
        return false;
    if (slice_equal(first, text_slice(&places)))
        return true;
    *why = PLACES_DIFFER;
    return error_set(err,
                     "what the policy shows below /tmp differs from what it was for the first command of the "
                     "session, which shares its /tmp: start another session, or set filesystem.tmp to \"private\"");
}

static const char *name_of(const struct step *step)
{
    for (size_t i = 0; i < SESSION_TREES_MAX; i++) {
        if (slice_is(step->path, shared[i].path))
            return shared[i].name;
    }
    return NULL;
}

static bool copy_trees(const struct plan *plan, struct session_trees *trees, struct error *err)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct step *step = &plan->steps[i];
        if (step->kind != STEP_SESSION)
            continue;
        const char *name = name_of(step);
        if (!name || trees->count == SESSION_TREES_MAX)
            return error_set(err, "the session has no place for %.*s", (int)step->path.len, step->path.ptr);
        if (!mountfd_clone(AT_FDCWD, name, 0, &trees->trees[trees->count], err))
            return error_wrap(err, "the session's %s", name);
        trees->count++;
    }
    return true;
}

static _Noreturn void enter_and_leave(int session, const struct plan *plan, int control)
{
    struct session_trees trees = {.count = 0};
    int why = 0;
    struct error err;

    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (!step_inside(session, &err) || !agree_on_places(plan, &why, &err) || !copy_trees(plan, &trees, &err))
        fail_errand(control, why, &err);
    report_send(control, REPORT_ENDED, 0, "");
    for (size_t i = 0; i < trees.count; i++)
        descriptor_send(control, trees.trees[i]);
    _exit(0);
}

static size_t trees_wanted(const struct plan *plan)
{
    size_t count = 0;

    for (size_t i = 0; i < plan->step_count; i++)
        count += plan->steps[i].kind == STEP_SESSION;
    return count;
}

bool session_tmp_enter(const char *path, const struct plan *plan, struct session_trees *trees, bool *differs,
                       struct error *err)
{
    FD_CLEANUP int session = -1;
    size_t wanted = trees_wanted(plan);
    struct errand errand;
    int ends[2];

    *trees = (struct session_trees){.count = 0};
    *differs = false;
    if (wanted == 0)
        return true;
    if (!open_session(path, &session, err))
        return false;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return error_set_errno(err, errno, "cannot make a socket");
    errand = (struct errand){fork(), ends[0]};
    if (errand.child == 0)
        enter_and_leave(session, plan, ends[1]);
    fd_close(&ends[1]);
    if (errand.child < 0) {
        fd_close(&ends[0]);
        return error_set_errno(err, errno, "cannot make a process");
    }
    bool good = errand_ends_well(&errand, differs, err);
    while (good && trees->count < wanted) {
        trees->trees[trees->count] = descriptor_receive(errand.control);
        good = trees->trees[trees->count] >= 0 || error_set(err, "cannot receive the session's /tmp");
        trees->count += good;
    }
    errand_close(&errand);
    if (!good)
        session_tmp_leave(trees);
    return good;
}

void session_tmp_leave(struct session_trees *trees)
{
    while (trees->count > 0)
        fd_close(&trees->trees[--trees->count]);
}

/* ---- places in it ---- */

/* Without a link on the way: another command of the session may have put one there, and this
 * process still sees the host. */
static int open_parent(int tree, const char *name, const char **last)
{
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    const char *slash = strrchr(name, '/');
    char parent[ENTRY_NAME_MAX];

    *last = slash ? slash + 1 : name;
    snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - name) : 1, slash ? name : ".");
    return (int)syscall(SYS_openat2, tree, parent, &how, sizeof how);
}

bool session_tmp_fill(int tree, const struct step *step, struct error *err)
{
    for (size_t i = 0; i < step->entry_count; i++) {
        const struct entry *entry = &step->entries[i];
        char name[ENTRY_NAME_MAX];
        const char *last;

        if (!entry_name(step, entry, name, err))
            return false;
        FD_CLEANUP int parent = open_parent(tree, name, &last);
        if (parent < 0 || entry_make(parent, entry, last) < 0)
            return error_set_errno(err, errno, "cannot make %.*s in the session's /tmp", (int)entry->path.len,
                                   entry->path.ptr);
    }
    return true;
}
