/* The plan's steps, as mounts. Private to this room; runs in the child. */
#ifndef CLOCHE_JAIL_MOUNTS_H
#define CLOCHE_JAIL_MOUNTS_H

#include "base/error.h"
#include "jail/mountfd.h"
#include "jail/outset.h"
#include "jail/session_tmp.h"

#include <stdatomic.h>

/* A mount that goes inside the one a step made: /dev/null in /dev. */
struct part {
    int mount;
    const char *name;
};

/* A step's mount, made before anything changed and not attached yet; masks have none. */
struct prepared {
    int mount;
    struct part *parts;
    size_t part_count;
    size_t part_capacity;
};

/* What mounts are made from: one tmpfs, which the sandbox never sees as a whole.
 * It holds the hidden file, empty file and hidden directory that all masks show,
 * a directory or file for each step that shows none of the host's, and the layers
 * of overlays. A file system for each of them would cost more than all the rest.
 *
 * It is mounted twice: what the sandbox may write is cloned from the one, and masks
 * from the other, which is read-only, as they are then. */
struct scratch {
    int tree;
    int read_only;
};

#define MASK_HIDDEN_FILE "hidden-file"
#define MASK_EMPTY_FILE "empty-file"
#define MASK_HIDDEN_DIRECTORY "hidden-directory"
#define TRIPWIRE_DIRECTORY "tripwire"

/* Masks that tell when they are touched, instead of those; see tripwire.h. */
struct tripwire_inside {
    int socket;  /* to the supervisor; -1: there is to be none */
    int context; /* the file system before it is one */
    int tree;    /* holds a mask for each step that is one, by its number; -1: there is none */
};

/* What every plan has, made before this one is known. */
struct mounts {
    struct arena *arena;
    const struct plan *plan;
    struct prepared *prepared; /* of each of its steps */
    atomic_size_t overlaid;    /* the steps before this one that are overlays are made, or somebody is at it */
    atomic_size_t hidden;      /* ... and the masks before this one are attached */
    atomic_size_t masks;       /* nobody has begun with */
    atomic_size_t bare;        /* masks that are not attached yet */
    struct scratch scratch;
    int host_devices;      /* the host's /dev, which scratch covers */
    int devices_directory; /* the directory that /dev will show */
    struct prepared devices;
    struct prepared proc;
    bool proc_is_protected;
    struct tripwire_inside tripwire;
    struct session_trees session;
    size_t session_taken;
    int whole; /* the host's tree as it is, for the doorman of a run that asks; -1: nobody needs it */
};

/* All leave descriptors open: the caller closes everything it does not know. */
bool mounts_begin(const struct outset *outset, struct arena *arena, struct mounts *mounts, struct error *err);

/* The plan is known now, and stays where it is. */
void mounts_expect(struct mounts *mounts, const struct plan *plan);
bool mounts_prepare(struct mounts *mounts, struct error *err);
/* When nobody prepares any more. All but masks. */
bool mounts_attach(struct mounts *mounts, struct error *err);
/* Masks, when all else is attached, until there are only `left` that nobody has begun with. */
bool mounts_hide(struct mounts *mounts, size_t left, struct error *err);
/* When nobody hides any more: is every mask there? */
bool mounts_are_complete(const struct mounts *mounts, struct error *err);

/* A part of preparing that another thread may help with, as with hiding: each takes what nobody
 * has taken. It makes `most` of them at most. */
bool mounts_have_overlays(const struct plan *plan);
bool mounts_make_overlays(struct mounts *mounts, size_t most, struct error *err);

/* How many descriptors that takes at once; NULL: for beginning. */
size_t mounts_descriptors(const struct plan *plan);

void prepared_add(struct arena *arena, struct prepared *prepared, int mount, const char *name);

/* devices.c, proc.c, overlay.c */
bool devices_prepare(struct mounts *mounts, struct error *err);
bool devices_prepare_memory(struct mounts *mounts, struct error *err);
bool devices_add(struct mounts *mounts, const struct step *step, struct error *err);
bool proc_prepare(const struct outset *outset, struct mounts *mounts, struct error *err);
/* Where the kernel does not do it before /proc is attached: see proc_is_protected. */
bool proc_protect(struct mounts *mounts, struct error *err);

#endif
