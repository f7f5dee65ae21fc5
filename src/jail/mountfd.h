/* Mounts held by descriptors: made or cloned while detached, given their flags,
 * and only then attached. Private to this room. */
#ifndef CLOCHE_JAIL_MOUNTFD_H
#define CLOCHE_JAIL_MOUNTFD_H

#include "base/error.h"
#include "base/slice.h"

#include <stdint.h>
#include <sys/mount.h>

enum {
    MOUNT_SAFE = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
    MOUNT_SAFE_READ_ONLY = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_RDONLY
};

struct mount_option {
    const char *name;
    const char *value; /* NULL: a flag */
};

/* What stands at `path` now, without following any link on the way. */
bool mountfd_place(struct slice path, int *fd, struct error *err);
/* The same, when the way to `path` is covered: at `name` below `directory`. */
bool mountfd_place_at(int directory, const char *name, const char *path, int *fd, struct error *err);

/* A detached copy of the tree at `name` below `directory` ("" is the directory
 * itself), mounts below it included, with `attributes` added to all of it. */
bool mountfd_clone(int directory, const char *name, uint64_t attributes, int *mount, struct error *err);

/* Sets the options of a file system that was begun, and makes it. */
bool mountfd_configure(int context, const char *type, const struct mount_option *options, size_t option_count,
                       struct error *err);

/* A new file system, detached. */
bool mountfd_new(const char *type, const struct mount_option *options, size_t option_count, uint64_t attributes,
                 int *mount, struct error *err);
/* For at most `size` bytes; 0: the kernel's own limit, half of all memory. */
bool mountfd_new_tmpfs(unsigned mode, uint64_t size, int *mount, struct error *err);

/* Without those upon it. */
bool mountfd_set_alone(int mount, uint64_t attributes, struct error *err);
bool mountfd_set(int mount, uint64_t attributes, struct error *err);
/* Of this mount alone, not of those below it. */

/* A file system that was mounted on the host later would otherwise appear in
 * this mount namespace, writable and without masks. */
bool mountfd_cut_propagation(struct error *err);

/* Nothing of the old root can be reached any more, but `along`, a mount in it that goes
 * to `name` in the new one; -1: nothing. */
bool mountfd_replace_root(int mount, int along, const char *name, struct error *err);

/* At an absolute path, resolved now and without links. */
bool mountfd_attach(int mount, struct slice path, struct error *err);
/* At a name in a directory that only cloche can have filled. */
bool mountfd_attach_at(int mount, int directory, const char *name, struct error *err);

#endif
