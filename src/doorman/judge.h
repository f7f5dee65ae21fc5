/* Asks decide() about what is to be done by name. Private to this room. */
#ifndef CLOCHE_DOORMAN_JUDGE_H
#define CLOCHE_DOORMAN_JUDGE_H

#include "doorman/house.h"
#include "doorman/name.h"
#include "doorman/resolve.h"

#include <sys/stat.h>

/* Something in a directory: what it is called, and what is known of it. */
struct entry_name {
    struct name name; /* NAME_NONE: the directory has none */
    bool exists;
    int absent_because; /* the errno of looking, if it does not exist */
    mode_t type;        /* S_IFMT bits, if it exists */
};

/* An errno, or 0. */
int judge_entry_name(const struct house *house, const struct place *place, struct entry_name *entry);

/* May what has this name be made, changed or removed? An errno, or 0. */
int judge_write(struct house *house, struct name *name);

/* Likewise, with what is there now taken into account: a file that tells git
 * where to look is not replaced. */
int judge_change(struct house *house, struct entry_name *entry);

/* May its name be taken from it, by removing or renaming it? judge_change is asked
 * as well: git itself puts a new HEAD in place of the old. */
int judge_removal(struct house *house, const struct entry_name *entry);

/* A clause: why it may not, where decide() does not say it; NULL where it does. */
const char *judge_why(struct house *house, const struct name *name);

/* Likewise, for something that is there; fills `entry`. */
int judge_object(struct house *house, int object, struct entry_name *entry);

/* May it be read, or listed? An errno, or 0; fills `name`. `*empty`: an empty file is to be read in its place. */
int judge_read(const struct house *house, int object, const struct stat *status, struct name *name, bool *empty);

/* Is it what the user redirected the run's input or output to? */
bool judge_is_handed_in(const struct house *house, const struct stat *status);

/* A refusal as the kernel words it, if it refuses as well: what is on a read-only
 * mount is said to be so, what is not there is said not to be. For what is to be
 * removed or moved; for what is to be made, see judge_refusal_to_make. */
int judge_refusal(int error, int directory, const struct entry_name *entry);
int judge_refusal_to_make(int error, int directory, const struct entry_name *entry);

/* Is the name one of those that together make a directory git's? Two of them, each
 * harmless without the other, must not be made at the same time: whoever makes one
 * holds the lock alone. */
bool judge_wants_alone(const struct house *house, const struct name *name);

/* May `entry`, which is to become a link, have that name? */
int judge_link_name(struct house *house, const struct name *name);

/* May `source` be called `target` from now on? Both may be changed. `place` is
 * where `source` is. */
int judge_move(struct house *house, const struct place *place, const struct entry_name *source,
               const struct entry_name *target);

/* Is this git's configuration, and nothing else that must not be changed? */
bool judge_is_git_config(struct house *house, const struct name *name);

/* Is this git's index, or a part of it, and nothing else that must not be changed? */
bool judge_is_git_index(struct house *house, struct name *name);

/* To be called with a new file: what tells git where to look may be changed by the
 * run that made it. */
void judge_remember_file(struct house *house, const struct name *name, int file);

/* Of the directory that has that name now; false if there is none. */
bool judge_identity(const struct place *place, struct identity *identity);

/* Is the last component one of those that make a directory git's, in a directory that this run made? */
bool judge_marks_new_git(struct house *house, struct slice path);

/* Would git take it for its own directory, by what is in it? */
bool judge_looks_like_git(const struct house *house, struct slice directory);

/* Was this directory made by this run? */
bool judge_made_here(struct house *house, struct slice path);

#endif
