/* Grants the plan's paths to the command, and nothing else.
 *
 * Where a directory is granted entry by entry, what must not be granted is known
 * by device and inode, not by name: it is looked up first, and whatever is found
 * to be one of these is passed over. So nothing is gained by renaming a hidden
 * directory between our reading of names and our opening them (attack 4). Names
 * that are not there any more refuse the run.
 *
 * Runs in the command's own process with the command's own credentials: what its
 * user cannot list here, the command could not have read. */
#include "jail/confine.h"

#include "base/fd.h"
#include "jail/mountfd.h"
#include "jail/ruleset.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Cost must not grow with the tree. */
enum { ENTRIES_MAX = 16384 };

struct object {
    uint32_t device_major;
    uint32_t device_minor;
    uint64_t inode;
    bool directory;
    bool link;
    bool write; /* of a withheld one: only writing is */
};

struct confinement {
    const struct plan *plan;
    struct ruleset ruleset;
    struct object *withheld;
};

static bool identify(int fd, struct object *object, struct error *err)
{
    struct statx status;

    *object = (struct object){0};
    if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &status) < 0)
        return error_set_errno(err, errno, "cannot inspect it");
    *object = (struct object){
        .device_major = status.stx_dev_major,
        .device_minor = status.stx_dev_minor,
        .inode = status.stx_ino,
        .directory = S_ISDIR(status.stx_mode),
        .link = S_ISLNK(status.stx_mode),
    };
    return true;
}

static bool find_withheld(struct confinement *confinement, struct error *err)
{
    const struct plan *plan = confinement->plan;

    confinement->withheld = arena_alloc(plan->arena, plan->withheld_count * sizeof *confinement->withheld);
    for (size_t i = 0; i < plan->withheld_count; i++) {
        struct slice path = plan->withheld[i].path;
        FD_CLEANUP int place = -1;
        if (!mountfd_place(path, &place, err) || !identify(place, &confinement->withheld[i], err))
            return error_wrap(err, "%.*s must be kept from the command", (int)path.len, path.ptr);
        confinement->withheld[i].write = plan->withheld[i].write;
    }
    return true;
}

static bool is_withheld(const struct confinement *confinement, const struct object *object, bool write)
{
    for (size_t i = 0; i < confinement->plan->withheld_count; i++) {
        const struct object *other = &confinement->withheld[i];
        if (other->inode == object->inode && other->device_minor == object->device_minor &&
            other->device_major == object->device_major && other->write == write)
            return true;
    }
    return false;
}

static uint64_t rights_of(enum grant_kind kind)
{
    switch (kind) {
    case GRANT_READ:
        return READ_RIGHTS | LANDLOCK_ACCESS_FS_READ_DIR;
    case GRANT_LIST:
        return LANDLOCK_ACCESS_FS_READ_DIR;
    case GRANT_WRITE:
        return CHANGE_RIGHTS | RIGHT_TRUNCATE;
    case GRANT_DEVICE:
        return LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | CHANGE_FILE_RIGHTS | RIGHT_DEVICES;
    }
    return 0;
}

static void allow(const struct confinement *confinement, int place, const struct object *object, enum grant_kind kind)
{
    const uint64_t for_files = READ_RIGHTS | CHANGE_FILE_RIGHTS | RIGHT_DEVICES;

    ruleset_allow(&confinement->ruleset, place, object->directory ? rights_of(kind) : rights_of(kind) & for_files);
}

static bool grant_entries(const struct confinement *confinement, const struct grant *grant, int place,
                          struct error *err)
{
    DIR *listing = fd_list(openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    size_t count = 0;

    if (!listing)
        return true; /* not ours to list: nothing in it is granted */
    for (const struct dirent *entry; (entry = readdir(listing)) && count <= ENTRIES_MAX; count++) {
        struct object object;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || entry->d_type == DT_LNK)
            continue;
        FD_CLEANUP int fd = openat(place, entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        /* What a link leads to has a rule of its own, or none. */
        if (fd < 0 || !identify(fd, &object, NULL) || object.link ||
            is_withheld(confinement, &object, grant->kind == GRANT_WRITE))
            continue;
        allow(confinement, fd, &object, grant->kind);
    }
    closedir(listing);
    if (count > ENTRIES_MAX)
        return error_set(err,
                         "%.*s holds something that must be kept from the command and more than %d entries beside it: "
                         "without namespaces that cannot be held",
                         (int)grant->path.len, grant->path.ptr, ENTRIES_MAX);
    return true;
}

static bool carry_out(const struct confinement *confinement, const struct grant *grant, struct error *err)
{
    FD_CLEANUP int place = -1;
    struct object object;

    if (!mountfd_place(grant->path, &place, err) || !identify(place, &object, err))
        return grant->kind == GRANT_DEVICE || error_wrap(err, "cannot grant a path");
    if (grant->entries)
        return grant_entries(confinement, grant, place, err);
    if (grant->kind != GRANT_LIST && is_withheld(confinement, &object, grant->kind == GRANT_WRITE)) {
        /* A second name of a hidden file: left out. A directory has just one. */
        return !object.directory || error_set(err,
                                              "%.*s has changed places since the policy was read. Run the "
                                              "command again",
                                              (int)grant->path.len, grant->path.ptr);
    }
    allow(confinement, place, &object, grant->kind);
    return true;
}

static struct ruleset_attributes attributes_for(const struct plan *plan, int abi)
{
    struct ruleset_attributes attributes = {
        .handled_files = READ_RIGHTS | LANDLOCK_ACCESS_FS_READ_DIR | CHANGE_RIGHTS,
        .scoped = ruleset_scopes(abi, plan),
    };

    if (abi >= ABI_TRUNCATE)
        attributes.handled_files |= RIGHT_TRUNCATE;
    if (abi >= ABI_NETWORK && plan->network == NETWORK_NONE)
        attributes.handled_network = RIGHT_TCP_BIND | RIGHT_TCP_CONNECT;
    if (abi >= ABI_DEVICES)
        attributes.handled_files |= RIGHT_DEVICES;
    return attributes;
}

static bool grant_private_directory(const struct confinement *confinement, struct error *err)
{
    const struct grant reading = {GRANT_READ, slice_of(confinement->plan->private_directory), false, {0}};
    struct grant writing = reading;

    writing.kind = GRANT_WRITE;
    return carry_out(confinement, &reading, err) && carry_out(confinement, &writing, err);
}

static bool fill_ruleset(struct confinement *confinement, struct error *err)
{
    const struct plan *plan = confinement->plan;

    if (!find_withheld(confinement, err))
        return false;
    for (size_t i = 0; i < plan->grant_count; i++) {
        if (!carry_out(confinement, &plan->grants[i], err))
            return false;
    }
    if (plan->private_directory && !grant_private_directory(confinement, err))
        return false;
    ruleset_allow_standard_descriptors(&confinement->ruleset);
    return true;
}

bool confine_files(const struct plan *plan, struct error *err)
{
    struct confinement confinement = {.plan = plan};
    struct ruleset_attributes attributes = attributes_for(plan, ruleset_abi());

    if (!ruleset_make(&attributes, &confinement.ruleset, err))
        return false;
    bool taken_on = fill_ruleset(&confinement, err) && ruleset_take_on(&confinement.ruleset, err);
    fd_close(&confinement.ruleset.fd);
    return taken_on;
}

bool confine_signals(pid_t supervisor, bool *scoped, struct error *err)
{
    /* Moving between directories is denied by every ruleset that does not grant it. */
    const struct ruleset_attributes attributes = {.handled_files = LANDLOCK_ACCESS_FS_REFER, .scoped = SCOPE_SIGNAL};
    FD_CLEANUP int root = open("/", O_PATH | O_CLOEXEC);
    struct ruleset ruleset;

    *scoped = false;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return error_set_errno(err, errno, "cannot set no_new_privs");
    if (ruleset_abi() < ABI_SCOPES)
        return true;
    if (!ruleset_make(&attributes, &ruleset, err))
        return false;
    ruleset_allow(&ruleset, root, LANDLOCK_ACCESS_FS_REFER);
    bool taken_on = ruleset_take_on(&ruleset, err);
    fd_close(&ruleset.fd);
    if (!taken_on)
        return false;
    /* Signals to everybody rest on this: it is tried, not believed. */
    if (kill(supervisor, 0) == 0 || errno != EPERM)
        return error_set(err, "the kernel accepted a Landlock scope for signals and does not hold it");
    *scoped = true;
    return true;
}
