/* Two passes over the plan. The first makes every mount while the tree is still
 * the host's own: sources are pinned by descriptor, cloned, given their flags;
 * nothing is attached. Then the root becomes read-only (or a new one). The
 * second attaches, in the plan's order, at places resolved in the new tree. So
 * no step can see, or be led astray by, what another one did (attacks 2, 4).
 *
 * Whatever fails refuses the run: a mask that is not there is a hole. */
#include "jail/mounts.h"

#include "base/fd.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void prepared_add(struct arena *arena, struct prepared *prepared, int mount, const char *name)
{
    size_t count = prepared->part_count;

    prepared->parts =
        arena_grow(arena, prepared->parts, count, count + 1, &prepared->part_capacity, sizeof *prepared->parts);
    prepared->parts[prepared->part_count++] = (struct part){mount, name};
}

size_t mounts_descriptors(const struct plan *plan)
{
    const size_t devices_and_proc = 64;
    size_t count = plan->step_count + devices_and_proc;

    for (size_t i = 0; i < plan->step_count; i++) {
        if (plan->steps[i].kind == STEP_DEVICES)
            count += plan->steps[i].entry_count;
    }
    return count;
}

/* A file system that was mounted on the host later would otherwise appear in
 * here, writable and without masks. */
static bool cut_propagation(struct error *err)
{
    struct mount_attr attr = {.propagation = MS_PRIVATE};

    if (mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof attr) < 0)
        return error_set_errno(err, errno,
                               "cannot take the mount namespace for its own (does the system restrict user "
                               "namespaces? `cloche doctor` tells)");
    return true;
}

static bool has_step(const struct plan *plan, enum step_kind kind)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        if (plan->steps[i].kind == kind)
            return true;
    }
    return false;
}

/* Both are mounted on the host's /dev, which the sandbox's own will cover:
 * detached, kernels before 6.15 would refuse to clone from them, and unmounting
 * them again would wait for every processor. */
static bool scratch_open(const struct plan *plan, struct scratch *scratch, struct error *err)
{
    if (!mountfd_new_tmpfs(0700, &scratch->masks, err))
        return false;
    if (mknodat(scratch->masks, MASK_HIDDEN_FILE, S_IFREG | 0000, 0) < 0 ||
        mknodat(scratch->masks, MASK_EMPTY_FILE, S_IFREG | 0444, 0) < 0 ||
        mkdirat(scratch->masks, MASK_HIDDEN_DIRECTORY, 0000) < 0)
        return error_set_errno(err, errno, "cannot fill a tmpfs");
    if (!mountfd_set(scratch->masks, MOUNT_SAFE_READ_ONLY | MOUNT_ATTR_NOEXEC, err) ||
        !mountfd_attach(scratch->masks, SLICE("/dev"), err))
        return false;
    return !has_step(plan, STEP_OVERLAY) ||
           (mountfd_new_tmpfs(0700, &scratch->layers, err) && mountfd_attach(scratch->layers, SLICE("/dev"), err));
}

static bool fill(int mount, const struct step *step, struct error *err)
{
    for (size_t i = 0; i < step->entry_count; i++) {
        const struct entry *entry = &step->entries[i];
        size_t above = step->path.len == 1 ? 1 : step->path.len + 1;
        char name[4096];
        char target[4096];

        if (!path_covers(step->path, entry->path) || entry->path.len <= above || entry->path.len >= sizeof name ||
            entry->target.len >= sizeof target)
            return error_set(err, "cannot make %.*s inside the mount on %.*s", (int)entry->path.len, entry->path.ptr,
                             (int)step->path.len, step->path.ptr);
        memcpy(name, entry->path.ptr + above, entry->path.len - above);
        name[entry->path.len - above] = '\0';

        int result = 0;
        switch (entry->kind) {
        case ENTRY_DIRECTORY:
            result = mkdirat(mount, name, 0755);
            break;
        case ENTRY_FILE:
            result = mknodat(mount, name, S_IFREG | 0444, 0);
            break;
        case ENTRY_LINK:
            if (entry->target.len)
                memcpy(target, entry->target.ptr, entry->target.len);
            target[entry->target.len] = '\0';
            result = symlinkat(target, mount, name);
            break;
        case ENTRY_DEVICE:
            continue;
        }
        if (result < 0 && errno != EEXIST)
            return error_set_errno(err, errno, "cannot make %.*s", (int)entry->path.len, entry->path.ptr);
    }
    return true;
}

static bool prepare_tmpfs(const struct step *step, bool read_only, struct prepared *prepared, struct error *err)
{
    return mountfd_new_tmpfs(step->mode, &prepared->mount, err) && fill(prepared->mount, step, err) &&
           (!read_only || mountfd_set(prepared->mount, MOUNT_ATTR_RDONLY, err));
}

static bool prepare_bind(const struct step *step, struct prepared *prepared, struct error *err)
{
    FD_CLEANUP int place = -1;

    return mountfd_place(step->path, &place, err) &&
           mountfd_clone(place, "", step->writable ? MOUNT_SAFE : MOUNT_SAFE_READ_ONLY, &prepared->mount, err);
}

static bool prepare_hidden_directory(const struct step *step, const struct scratch *scratch, struct prepared *prepared,
                                     struct error *err)
{
    if (step->mode == 0 && step->entry_count == 0)
        return mountfd_clone(scratch->masks, MASK_HIDDEN_DIRECTORY, 0, &prepared->mount, err);
    return prepare_tmpfs(step, true, prepared, err);
}

static bool prepare(const struct plan *plan, size_t number, const struct scratch *scratch, struct prepared *prepared,
                    struct error *err)
{
    const struct step *step = &plan->steps[number];

    switch (step->kind) {
    case STEP_ROOT:
    case STEP_PIN:
        return true;
    case STEP_ROOT_EMPTY:
        return prepare_tmpfs(step, true, prepared, err);
    case STEP_BIND:
        return prepare_bind(step, prepared, err);
    case STEP_HIDE_DIRECTORY:
        return prepare_hidden_directory(step, scratch, prepared, err);
    case STEP_HIDE_FILE:
        return mountfd_clone(scratch->masks, MASK_HIDDEN_FILE, 0, &prepared->mount, err);
    case STEP_EMPTY_FILE:
        return mountfd_clone(scratch->masks, MASK_EMPTY_FILE, 0, &prepared->mount, err);
    case STEP_PRIVATE:
        return prepare_tmpfs(step, !step->writable, prepared, err);
    case STEP_OVERLAY:
        return overlay_prepare(step, number, scratch, prepared, err);
    case STEP_DEVICES:
        return mountfd_new_tmpfs(0755, &prepared->mount, err) && fill(prepared->mount, step, err) &&
               devices_prepare(plan, step, prepared, err);
    case STEP_PROC:
        return proc_prepare(plan, scratch, prepared, err);
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

/* The old root ends up stacked on the new one and is detached with all that is
 * mounted below it: no name leads back. */
static bool root_replace(int mount, struct error *err)
{
    if (move_mount(mount, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return error_set_errno(err, errno, "cannot mount the new root");
    if (fchdir(mount) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
        return error_set_errno(err, errno, "cannot change to the new root");
    if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        return error_set_errno(err, errno, "cannot detach the old root");
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

static bool attach(const struct step *step, const struct prepared *prepared, struct error *err)
{
    switch (step->kind) {
    case STEP_ROOT:
        return root_read_only(step, err);
    case STEP_ROOT_EMPTY:
        return root_replace(prepared->mount, err);
    case STEP_PIN:
        return pin(step, err);
    default:
        break;
    }
    if (!mountfd_attach(prepared->mount, step->path, err))
        return false;
    if (step->kind == STEP_PROC && !proc_protect(prepared->mount, err))
        return false;
    for (size_t i = 0; i < prepared->part_count; i++) {
        if (!mountfd_attach_at(prepared->parts[i].mount, prepared->mount, prepared->parts[i].name, err))
            return false;
    }
    return true;
}

static bool prepare_steps(const struct plan *plan, bool devices, const struct scratch *scratch,
                          struct prepared *prepared, struct error *err)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct step *step = &plan->steps[i];
        if ((step->kind == STEP_DEVICES) == devices && !prepare(plan, i, scratch, &prepared[i], err))
            return error_wrap(err, "%.*s", (int)step->path.len, step->path.ptr);
    }
    return true;
}

/* Devices first: they are bound from the /dev that scratch_open hides. */
static bool prepare_all(const struct plan *plan, struct prepared *prepared, struct error *err)
{
    struct scratch scratch = {-1, -1};

    if (!has_step(plan, STEP_DEVICES))
        return error_set(err, "the plan has no /dev (this is a defect of cloche)");
    return prepare_steps(plan, true, &scratch, prepared, err) && scratch_open(plan, &scratch, err) &&
           prepare_steps(plan, false, &scratch, prepared, err);
}

bool mounts_apply(const struct plan *plan, struct error *err)
{
    struct prepared *prepared = arena_alloc(plan->arena, plan->step_count * sizeof *prepared);

    if (!cut_propagation(err) || !prepare_all(plan, prepared, err))
        return false;
    for (size_t i = 0; i < plan->step_count; i++) {
        struct slice path = plan->steps[i].path;
        if (!attach(&plan->steps[i], &prepared[i], err))
            return error_wrap(err, "%.*s", (int)path.len, path.ptr);
    }
    return true;
}
