/* A mount stays with what it was put on. When the host renames another file over a
 * masked one, or deletes it and makes it anew, or does so with a directory above it,
 * the mask goes with the old one; and what does not exist yet has none. So pid 1, which is in the sandbox's mount
 * namespace and may mount there, has the kernel tell it what appears in the directories that hold masks, and whether
 * one of those above is moved. Whatever then is at a mask's place and is not a mask gets one, links too: nothing is
 * followed.
 *
 * A user has 128 inotify instances, unless the system says otherwise, and so many watches. Where there are none
 * left, each place is looked at from time to time, until there are. The command has the same user and can use them
 * up; so the watches that there are stay when others are to be had: what is given back is gone.
 *
 * Most commands end before it has begun. What happened until then is seen by looking
 * at each place once.
 *
 * The command can make as many names as it likes where it may write, and all of them
 * are told here: so only names that masks have are looked at, and when the kernel's
 * list was too short (it says so) each place is. */
#include "jail/renewal.h"

#include "base/fd.h"
#include "base/path.h"
#include "jail/mountfd.h"
#include "jail/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    APPEARS = IN_CREATE | IN_MOVED_TO,
    GOES = IN_MOVE_SELF | IN_DELETE_SELF,
    LOST = GOES | IN_UNMOUNT | IN_Q_OVERFLOW,
    PATIENCE = 10,     /* milliseconds: most commands have ended then */
    LOOKS_APART = 200, /* milliseconds, where the kernel tells nothing */
    READS_MAX = 64     /* before the command's end and signals have their turn */
};

static const bool is_place = false;
static const bool is_above = true;

/* What the kernel itself shows there is not exchanged by anybody. */
static bool can_be_lost(const struct step *step)
{
    return (step->kind == STEP_HIDE_FILE || step->kind == STEP_HIDE_DIRECTORY || step->kind == STEP_EMPTY_FILE) &&
           !path_covers(SLICE("/proc"), step->path) && !path_covers(SLICE("/sys"), step->path);
}

/* Places are numbered as steps are, then what is awaited. Empty: this step is none. */
static struct slice place_at(const struct plan *plan, size_t number)
{
    if (number >= plan->step_count)
        return plan->awaited[number - plan->step_count].path;
    return can_be_lost(&plan->steps[number]) ? plan->steps[number].path : (struct slice){0};
}

static size_t place_count(const struct plan *plan)
{
    return plan->step_count + plan->awaited_count;
}

bool renewal_is_needed(const struct plan *plan)
{
    if (plan->backend != BACKEND_NAMESPACES)
        return false;
    for (size_t i = 0; i < place_count(plan); i++) {
        if (place_at(plan, i).len)
            return true;
    }
    return false;
}

void renewal_open(struct renewal *renewal, const struct plan *plan, int scratch)
{
    *renewal = (struct renewal){.plan = plan, .scratch = scratch, .changes = -1, .due = deadline_after(PATIENCE)};
    renewal->led_away = map_in(plan->arena);
}

int renewal_patience(const struct renewal *renewal, int patience)
{
    if (renewal->scratch < 0 || (renewal->changes >= 0 && !renewal->blind))
        return patience;
    return deadline_sooner(&renewal->due, patience);
}

/* ---- hearing of it ---- */

/* -1: it is not there, or not to be seen. Nothing is followed. */
static int open_there(int directory, struct slice path, uint64_t flags)
{
    struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC | flags, .resolve = RESOLVE_NO_SYMLINKS};
    char name[PATH_MAX];

    if (path.len >= sizeof name)
        return -1;
    memcpy(name, path.ptr, path.len);
    name[path.len] = '\0';
    return (int)syscall(SYS_openat2, directory, name, &how, sizeof how);
}

/* A name may be both. */
static void expect(struct renewal *renewal, struct slice name, const bool *above)
{
    void **place = map_at(&renewal->names, name);

    if (!*place || *above)
        *place = (void *)(uintptr_t)above;
}

/* By way of the working directory, so that no name is resolved twice. Directories that we
 * may not read cannot be watched. One that is watched already keeps its number. */
static void watch_directory(struct renewal *renewal, int directory, uint32_t events)
{
    int number =
        fchdir(directory) < 0 ? -1 : inotify_add_watch(renewal->changes, ".", events | IN_ONLYDIR | IN_MASK_ADD);

    if (number < 0) {
        renewal->blind = renewal->blind || (errno != EACCES && errno != ENOENT);
        return;
    }
    struct slice bytes = arena_slice(&renewal->arena, (struct slice){(const char *)&number, sizeof number});
    *map_at(&renewal->watches, bytes) = renewal;
}

/* Each directory above is watched before the next name is looked for in it, so nothing can be
 * missed between the two. */
static void watch_place(struct renewal *renewal, struct slice path)
{
    void **watched = map_at(&renewal->watched, path_parent(path));
    struct slice rest = path_parent(path);
    struct slice name;

    expect(renewal, path_name(path), &is_place);
    if (*watched)
        return;
    FD_CLEANUP int directory = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    while (directory >= 0 && path_next(&rest, &name)) {
        watch_directory(renewal, directory, GOES);
        int next = open_there(directory, name, O_DIRECTORY);
        if (next < 0) {
            watch_directory(renewal, directory, APPEARS);
            next = open_there(directory, name, O_DIRECTORY);
        }
        if (next < 0) {
            expect(renewal, name, &is_above);
            return;
        }
        fd_close(&directory);
        directory = next;
    }
    if (directory >= 0)
        watch_directory(renewal, directory, GOES | APPEARS);
    *watched = renewal;
}

/* What was moved away is not to be watched any more. */
static void forget_watches(const struct renewal *renewal, const struct map *before)
{
    for (size_t i = 0; i < before->capacity; i++) {
        struct slice bytes = before->slots[i].key;
        int number;

        if (bytes.len != sizeof number || map_get(&renewal->watches, bytes))
            continue;
        memcpy(&number, bytes.ptr, sizeof number);
        inotify_rm_watch(renewal->changes, number);
    }
}

/* From the beginning, where any of it was lost. */
static void watch_all(struct renewal *renewal)
{
    struct arena arena_before = renewal->arena;
    const struct map before = renewal->watches;

    renewal->arena = (struct arena){0};
    renewal->watched = map_in(&renewal->arena);
    renewal->names = map_in(&renewal->arena);
    renewal->watches = map_in(&renewal->arena);
    if (renewal->changes < 0)
        renewal->changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    renewal->blind = renewal->changes < 0;
    for (size_t i = 0; i < place_count(renewal->plan) && renewal->changes >= 0; i++) {
        struct slice path = place_at(renewal->plan, i);
        if (path.len)
            watch_place(renewal, path);
    }
    forget_watches(renewal, &before);
    arena_free(&arena_before);
    (void)!chdir("/");
    if (!renewal->blind)
        return;
    renewal->due = deadline_after(LOOKS_APART);
    renewal->told_blind = renewal->told_blind || renewal->tell_blind(renewal->argument);
}

/* ---- putting masks on ---- */

/* Of the kind that fits what is there now, which may be another than was there. */
static bool make_mask(const struct renewal *renewal, size_t number, bool directory, int *mount, struct error *err)
{
    const struct plan *plan = renewal->plan;
    const struct step *step = number < plan->step_count ? &plan->steps[number] : NULL;
    bool same = step && directory == (step->kind == STEP_HIDE_DIRECTORY);
    char name[sizeof TRIPWIRE_DIRECTORY + 24];

    snprintf(name, sizeof name, TRIPWIRE_DIRECTORY "/%zu", number);
    if (same && step->watched && mountfd_clone(renewal->scratch, name, 0, mount, err))
        return true;
    if (directory)
        return mountfd_clone(renewal->scratch, MASK_HIDDEN_DIRECTORY, 0, mount, err);
    bool empty = step && step->kind == STEP_EMPTY_FILE;
    return mountfd_clone(renewal->scratch, empty ? MASK_EMPTY_FILE : MASK_HIDDEN_FILE, 0, mount, err);
}

/* Where the link leads pid 1 does not go: the command may have put it there. */
static void tell_led_away(struct renewal *renewal, size_t number, struct slice path)
{
    void **told = map_at(&renewal->led_away, path);

    if (!*told && number < renewal->plan->step_count)
        renewal->renewed(renewal->argument, number, false);
    *told = renewal;
}

static bool renew(struct renewal *renewal, size_t number, struct error *err)
{
    struct slice path = place_at(renewal->plan, number);
    FD_CLEANUP int place = open_there(AT_FDCWD, path, 0);
    FD_CLEANUP int mount = -1;
    struct statx status;

    if (place < 0 && errno == ELOOP)
        tell_led_away(renewal, number, path);
    /* The supervisor, who answers for some masks, is not asked anything. */
    if (place < 0 || statx(place, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status) < 0 ||
        status.stx_attributes & STATX_ATTR_MOUNT_ROOT)
        return true;
    if (!make_mask(renewal, number, S_ISDIR(status.stx_mode), &mount, err))
        return false;
    if (move_mount(mount, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
        return errno == ENOENT || /* it is gone already, which will be told, too */
               error_set_errno(err, errno, "cannot hide %.*s, which has come into being on the host", (int)path.len,
                               path.ptr);
    renewal->renewed(renewal->argument, number, true);
    return true;
}

/* Those that are called so; all of them for an empty name. */
static bool renew_named(struct renewal *renewal, struct slice name, struct error *err)
{
    for (size_t i = 0; i < place_count(renewal->plan); i++) {
        struct slice path = place_at(renewal->plan, i);
        if (path.len && (name.len == 0 || slice_equal(path_name(path), name)) && !renew(renewal, i, err))
            return false;
    }
    return true;
}

/* `*lost`: not all that is to be watched is. What follows need not be heard then: all will be looked at. */
static bool hear(struct renewal *renewal, const char *events, size_t size, bool *lost, struct error *err)
{
    struct inotify_event event;

    for (size_t at = 0; at + sizeof event <= size && !*lost; at += sizeof event + event.len) {
        memcpy(&event, events + at, sizeof event);
        if (event.mask & LOST) {
            *lost = true;
            continue;
        }
        struct slice name = slice_of(event.len ? events + at + sizeof event : "");
        const bool *above = name.len ? map_get(&renewal->names, name) : NULL;
        if (!above)
            continue;
        if (!renew_named(renewal, name, err))
            return false;
        *lost = *above;
    }
    return true;
}

/* Masks are looked at after all is watched: what happens from then on is told. */
static enum renewal_news begin(struct renewal *renewal, struct error *err)
{
    watch_all(renewal);
    return renew_named(renewal, (struct slice){0}, err) ? RENEWAL_GOES_ON : RENEWAL_FAILED;
}

enum renewal_news renewal_look(struct renewal *renewal, struct error *err)
{
    char events[4096];
    bool lost = false;

    if (renewal->scratch < 0)
        return RENEWAL_GOES_ON;
    if (renewal->changes < 0 && !deadline_is_over(&renewal->due))
        return RENEWAL_GOES_ON;
    if (renewal->changes < 0 || (renewal->blind && deadline_is_over(&renewal->due)))
        lost = true;
    for (int i = 0; i < READS_MAX && renewal->changes >= 0; i++) {
        ssize_t size = read(renewal->changes, events, sizeof events);
        if (size <= 0)
            break;
        if (!hear(renewal, events, (size_t)size, &lost, err))
            return RENEWAL_FAILED;
    }
    return lost ? begin(renewal, err) : RENEWAL_GOES_ON;
}
