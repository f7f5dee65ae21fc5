/* What every plan has is made first, while this one may still be in the making.
 * Then two passes over the plan. The first makes every mount while the tree is still
 * the host's own: sources are pinned by descriptor, cloned, given their flags;
 * nothing is attached. Then the root becomes read-only (or a new one). The
 * second attaches, in the plan's order, at places resolved in the new tree. So
 * no step can see, or be led astray by, what another one did (attacks 2, 4).
 *
 * Masks come last, each made when its turn has come: they show nothing of the host's,
 * so what the tree is by then does not matter. Nothing lies below a mask, and so none
 * lies below another one: in which order they are attached, or by how many at once,
 * does not matter either. They are most of what there is to attach.
 *
 * Whatever fails refuses the run: a mask that is not there is a hole. */
#include "jail/mounts.h"

#include "base/fd.h"
#include "jail/entries.h"
#include "jail/renewal.h"
#include "jail/tripwire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEVICES_DIRECTORY "devices"

enum { SCRATCH_READ_ONLY = MOUNT_SAFE_READ_ONLY | MOUNT_ATTR_NOEXEC };

void prepared_add(struct arena *arena, struct prepared *prepared, int mount, const char *name)
{
    size_t count = prepared->part_count;

    prepared->parts =
        arena_grow(arena, prepared->parts, count, count + 1, &prepared->part_capacity, sizeof *prepared->parts);
    prepared->parts[prepared->part_count++] = (struct part){mount, name};
}

size_t mounts_descriptors(const struct plan *plan)
{
    const size_t devices_and_proc = 72;
    size_t count = devices_and_proc;

    for (size_t i = 0; plan && i < plan->step_count; i++) {
        count += !step_is_mask(&plan->steps[i]);
        if (plan->steps[i].kind == STEP_DEVICES)
            count += plan->steps[i].entry_count;
    }
    return count;
}

static bool scratch_make(const struct outset *outset, struct scratch *scratch, struct error *err)
{
    if (!mountfd_new_tmpfs(0700, outset->memory, &scratch->tree, err))
        return false;
    /* No mode keeps CAP_DAC_OVERRIDE out; but nobody can open a socket. */
    mode_t hidden = outset->keep_file_capabilities ? S_IFSOCK : S_IFREG;
    if (mknodat(scratch->tree, MASK_HIDDEN_FILE, hidden | 0000, 0) < 0 ||
        mknodat(scratch->tree, MASK_EMPTY_FILE, S_IFREG | 0444, 0) < 0 ||
        mkdirat(scratch->tree, MASK_HIDDEN_DIRECTORY, 0000) < 0)
        return error_set_errno(err, errno, "cannot fill a tmpfs");
    return true;
}

static bool fill(int mount, const struct step *step, struct error *err)
{
    for (size_t i = 0; i < step->entry_count; i++) {
        const struct entry *entry = &step->entries[i];
        char name[ENTRY_NAME_MAX];

        if (!entry_name(step, entry, name, err))
            return false;
        if (entry_make(mount, entry, name) < 0)
            return error_set_errno(err, errno, "cannot make %.*s", (int)entry->path.len, entry->path.ptr);
    }
    return true;
}

enum { DIRECTORY_NAME_MAX = 24 };

static void directory_name(size_t number, char name[DIRECTORY_NAME_MAX])
{
    snprintf(name, DIRECTORY_NAME_MAX, "%zu", number);
}

/* The directory of scratch that the step will show, with its entries. */
static bool make_directory(const struct step *step, size_t number, unsigned mode, const struct scratch *scratch,
                           int *directory, struct error *err)
{
    char name[DIRECTORY_NAME_MAX];

    directory_name(number, name);
    if (mkdirat(scratch->tree, name, mode) < 0)
        return error_set_errno(err, errno, "cannot make a directory in a tmpfs");
    if (step->entry_count == 0)
        return true;
    *directory = openat(scratch->tree, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*directory < 0)
        return error_set_errno(err, errno, "cannot open a directory in a tmpfs");
    return fill(*directory, step, err);
}

static bool make_copy(const struct step *step, size_t number, const struct scratch *scratch, struct error *err)
{
    char name[DIRECTORY_NAME_MAX];

    directory_name(number, name);
    FD_CLEANUP int file = openat(scratch->tree, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    if (file < 0 || write(file, step->content.ptr, step->content.len) != (ssize_t)step->content.len)
        return error_set_errno(err, errno, "cannot write a file in a tmpfs");
    return true;
}

static bool clone_directory(size_t number, int tree, struct prepared *prepared, struct error *err)
{
    char name[DIRECTORY_NAME_MAX];

    directory_name(number, name);
    return mountfd_clone(tree, name, 0, &prepared->mount, err);
}

static bool prepare_bind(const struct step *step, struct prepared *prepared, struct error *err)
{
    FD_CLEANUP int place = -1;

    return mountfd_place(step->path, &place, err) &&
           mountfd_clone(place, "", step->writable ? MOUNT_SAFE : MOUNT_SAFE_READ_ONLY, &prepared->mount, err);
}

/* One that tells where it is worth it; one that does not holds as well. */
static bool clone_mask(const struct mounts *mounts, size_t number, int *mask, struct error *err)
{
    const struct step *step = &mounts->plan->steps[number];
    char name[DIRECTORY_NAME_MAX];

    directory_name(number, name);
    if (step->watched && mounts->tripwire.tree >= 0 && mountfd_clone(mounts->tripwire.tree, name, 0, mask, err))
        return true;
    return mountfd_clone(mounts->scratch.read_only,
                         step->kind == STEP_HIDE_FILE ? MASK_HIDDEN_FILE : MASK_HIDDEN_DIRECTORY, 0, mask, err);
}

/* What this plan wants to have in /dev besides. */
static bool complete_devices(struct mounts *mounts, const struct step *step, struct error *err)
{
    return step->entry_count == 0 || (fill(mounts->devices_directory, step, err) && devices_add(mounts, step, err));
}

/* The supervisor sent them in the order of the steps. */
static bool take_session(struct mounts *mounts, const struct step *step, struct prepared *prepared, struct error *err)
{
    if (mounts->session_taken >= mounts->session.count)
        return error_set(err, "the session has no such place");
    prepared->mount = mounts->session.trees[mounts->session_taken++];
    return session_tmp_fill(prepared->mount, step, err);
}

/* What is written to scratch, and what the sandbox may write there. */
static bool prepare_writable(const struct plan *plan, size_t number, struct mounts *mounts, struct prepared *prepared,
                             struct error *err)
{
    const struct step *step = &plan->steps[number];
    const struct scratch *scratch = &mounts->scratch;
    FD_CLEANUP int directory = -1;

    switch (step->kind) {
    case STEP_ROOT_EMPTY:
        return make_directory(step, number, step->mode, scratch, &directory, err);
    case STEP_HIDE_DIRECTORY:
        return step_is_mask(step) || make_directory(step, number, step->mode, scratch, &directory, err);
    case STEP_PRIVATE:
        return make_directory(step, number, step->mode, scratch, &directory, err) &&
               (!step->writable || clone_directory(number, scratch->tree, prepared, err));
    case STEP_COPY:
        return make_copy(step, number, scratch, err);
    case STEP_SESSION:
        return take_session(mounts, step, prepared, err);
    case STEP_DEVICES:
        return complete_devices(mounts, step, err);
    case STEP_ROOT:
    case STEP_PIN:
    case STEP_BIND:
    case STEP_OVERLAY:
    case STEP_HIDE_FILE:
    case STEP_EMPTY_FILE:
    case STEP_PROC:
    case STEP_PROC_OF_HOST:
        break;
    }
    return true;
}

static bool prepare_read_only(const struct plan *plan, size_t number, struct mounts *mounts, struct prepared *prepared,
                              struct error *err)
{
    const struct step *step = &plan->steps[number];
    int scratch = mounts->scratch.read_only;

    switch (step->kind) {
    case STEP_ROOT:
    case STEP_PIN:
    case STEP_OVERLAY:
    case STEP_SESSION:
    case STEP_HIDE_FILE:
        return true;
    case STEP_PRIVATE:
        return step->writable || clone_directory(number, scratch, prepared, err);
    case STEP_ROOT_EMPTY:
    case STEP_COPY:
        return clone_directory(number, scratch, prepared, err);
    case STEP_DEVICES:
        *prepared = mounts->devices;
        return true;
    case STEP_BIND:
        return prepare_bind(step, prepared, err);
    case STEP_HIDE_DIRECTORY:
        return step_is_mask(step) || clone_directory(number, scratch, prepared, err);
    case STEP_EMPTY_FILE:
        return mountfd_clone(scratch, MASK_EMPTY_FILE, 0, &prepared->mount, err);
    case STEP_PROC:
    case STEP_PROC_OF_HOST:
        *prepared = mounts->proc;
        return true;
    }
    return error_set(err, "the plan has a step of an unknown kind");
}

static bool root_read_only(const struct step *step, struct error *err)
{
    struct mount_attr attr = {.attr_set = step->writable ? MOUNT_SAFE : MOUNT_SAFE_READ_ONLY};

    if (mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof attr) < 0)
        return error_set_errno(err, errno, "cannot make the root read-only");
    return true;
}

/* Held down by a mount on itself, a directory cannot be renamed (attack 5). */
static bool pin(const struct step *step, struct error *err)
{
    FD_CLEANUP int place = -1;
    FD_CLEANUP int mount = -1;

    return mountfd_place(step->path, &place, err) &&
           mountfd_clone(place, "", step->writable ? MOUNT_SAFE : MOUNT_SAFE_READ_ONLY, &mount, err) &&
           mountfd_attach(mount, step->path, err);
}

static size_t count_masks(const struct plan *plan)
{
    size_t count = 0;

    for (size_t i = 0; i < plan->step_count; i++)
        count += step_is_mask(&plan->steps[i]);
    return count;
}

/* Masks are made later, and anew while the command runs, and can be cloned only from what is
 * in the mount namespace; with the old root, scratch would leave it. The sandbox's own /dev
 * will cover it there, too. */
static bool replace_root(const struct mounts *mounts, int root, struct error *err)
{
    bool needed = atomic_load(&mounts->masks) > 0 || renewal_is_needed(mounts->plan);

    return mountfd_replace_root(root, needed ? mounts->scratch.tree : -1, "dev", err);
}

static bool attach(struct mounts *mounts, const struct step *step, const struct prepared *prepared, struct error *err)
{
    switch (step->kind) {
    case STEP_ROOT:
        return root_read_only(step, err);
    case STEP_ROOT_EMPTY:
        return replace_root(mounts, prepared->mount, err);
    case STEP_PIN:
        return pin(step, err);
    default:
        break;
    }
    if (!mountfd_attach(prepared->mount, step->path, err))
        return false;
    if (step->kind == STEP_PROC && !mounts->proc_is_protected && !proc_protect(mounts, err))
        return false;
    for (size_t i = 0; i < prepared->part_count; i++) {
        if (!mountfd_attach_at(prepared->parts[i].mount, prepared->mount, prepared->parts[i].name, err))
            return false;
    }
    return true;
}

typedef bool prepare_step(const struct plan *plan, size_t number, struct mounts *mounts, struct prepared *prepared,
                          struct error *err);

static bool prepare_steps(struct mounts *mounts, prepare_step *prepare, struct error *err)
{
    const struct plan *plan = mounts->plan;

    for (size_t i = 0; i < plan->step_count; i++) {
        if (!prepare(plan, i, mounts, &mounts->prepared[i], err))
            return error_wrap(err, "%.*s", (int)plan->steps[i].path.len, plan->steps[i].path.ptr);
    }
    return true;
}

static bool make_tripwire_directory(const struct mounts *mounts, struct error *err)
{
    if (mkdirat(mounts->scratch.tree, TRIPWIRE_DIRECTORY, 0000) < 0)
        return error_set_errno(err, errno, "cannot make a directory in a tmpfs");
    return true;
}

/* The directory of scratch that /dev will show. */
static bool make_devices_directory(struct mounts *mounts, struct error *err)
{
    int scratch = mounts->scratch.tree;

    if (mkdirat(scratch, DEVICES_DIRECTORY, 0755) < 0)
        return error_set_errno(err, errno, "cannot make a directory in a tmpfs");
    mounts->devices_directory = openat(scratch, DEVICES_DIRECTORY, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (mounts->devices_directory < 0)
        return error_set_errno(err, errno, "cannot open a directory in a tmpfs");
    return true;
}

/* Kernels from 6.15 attach to what is detached itself. With others the parts stay
 * what they are until the whole is attached. */
static bool join_parts(struct prepared *prepared, struct error *err)
{
    size_t count = prepared->part_count;

    for (size_t i = 0; i < count; i++) {
        const struct part *part = &prepared->parts[i];
        if (move_mount(part->mount, "", prepared->mount, part->name, MOVE_MOUNT_F_EMPTY_PATH) == 0)
            continue;
        if (i == 0 && errno == EINVAL)
            return true;
        return error_set_errno(err, errno, "cannot mount on %s", part->name);
    }
    prepared->part_count = 0;
    return true;
}

/* Scratch is mounted on the host's /dev, which the sandbox's own will cover:
 * detached, kernels before 6.15 would refuse to clone from it, and unmounting it
 * again would wait for every processor. */
bool mounts_begin(const struct outset *outset, struct arena *arena, struct mounts *mounts, struct error *err)
{
    *mounts = (struct mounts){.arena = arena,
                              .scratch = {-1, -1},
                              .host_devices = -1,
                              .devices_directory = -1,
                              .tripwire = {.socket = -1, .context = -1, .tree = -1},
                              .whole = -1};
    if (!mountfd_cut_propagation(err) || !scratch_make(outset, &mounts->scratch, err) ||
        !make_devices_directory(mounts, err))
        return false;
    if (!mountfd_place(SLICE("/dev"), &mounts->host_devices, err) || !devices_prepare(mounts, err))
        return error_wrap(err, "/dev");
    if (!mountfd_attach(mounts->scratch.tree, SLICE("/dev"), err) || !devices_prepare_memory(mounts, err) ||
        !mountfd_clone(mounts->scratch.tree, "", SCRATCH_READ_ONLY, &mounts->scratch.read_only, err) ||
        !mountfd_attach(mounts->scratch.read_only, SLICE("/dev"), err) ||
        !mountfd_clone(mounts->scratch.read_only, DEVICES_DIRECTORY, 0, &mounts->devices.mount, err))
        return false;
    if (!join_parts(&mounts->devices, err))
        return error_wrap(err, "/dev");
    return (proc_prepare(outset, mounts, err) && join_parts(&mounts->proc, err)) || error_wrap(err, "/proc");
}

bool mounts_have_overlays(const struct plan *plan)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        if (plan->steps[i].kind == STEP_OVERLAY)
            return true;
    }
    return false;
}

void mounts_expect(struct mounts *mounts, const struct plan *plan)
{
    mounts->plan = plan;
    size_t masks = count_masks(plan);
    atomic_store(&mounts->masks, masks);
    atomic_store(&mounts->bare, masks);
    mounts->prepared = arena_alloc(mounts->arena, plan->step_count * sizeof *mounts->prepared);
}

bool mounts_prepare(struct mounts *mounts, struct error *err)
{
    const struct plan *plan = mounts->plan;

    if (plan->doorman.asks && !mountfd_clone(AT_FDCWD, "/", MOUNT_SAFE, &mounts->whole, err))
        return false;
    tripwire_offer(mounts);
    if (!prepare_steps(mounts, prepare_writable, err) ||
        (mounts->tripwire.socket >= 0 && !make_tripwire_directory(mounts, err)))
        return false;
    tripwire_take(mounts, plan);
    return prepare_steps(mounts, prepare_read_only, err) && mounts_make_overlays(mounts, plan->step_count, err);
}

bool mounts_attach(struct mounts *mounts, struct error *err)
{
    const struct plan *plan = mounts->plan;

    /* Not the tripwire upon it: see tripwire_take. */
    if (!mountfd_set_alone(mounts->scratch.tree, SCRATCH_READ_ONLY, err))
        return false;
    for (size_t i = 0; i < plan->step_count; i++) {
        struct slice path = plan->steps[i].path;
        if (!step_is_mask(&plan->steps[i]) && !attach(mounts, &plan->steps[i], &mounts->prepared[i], err))
            return error_wrap(err, "%.*s", (int)path.len, path.ptr);
    }
    return true;
}

static bool hide(const struct mounts *mounts, size_t number, struct error *err)
{
    struct slice path = mounts->plan->steps[number].path;
    FD_CLEANUP int mask = -1;

    return (clone_mask(mounts, number, &mask, err) && mountfd_attach(mask, path, err)) ||
           error_wrap(err, "%.*s", (int)path.len, path.ptr);
}

bool mounts_hide(struct mounts *mounts, size_t left, struct error *err)
{
    const struct plan *plan = mounts->plan;
    size_t i;

    while (atomic_load(&mounts->masks) > left && (i = atomic_fetch_add(&mounts->hidden, 1)) < plan->step_count) {
        if (!step_is_mask(&plan->steps[i]))
            continue;
        atomic_fetch_sub(&mounts->masks, 1);
        if (!hide(mounts, i, err))
            return false;
        atomic_fetch_sub(&mounts->bare, 1);
    }
    return true;
}

bool mounts_are_complete(const struct mounts *mounts, struct error *err)
{
    size_t bare = atomic_load(&mounts->bare);

    return bare == 0 || error_set(err, "%zu of the places that are to be hidden are in sight", bare);
}
