/* What somebody who was asked has allowed, or never wants to be asked about again: for
 * the rest of the run, or for one call. Private to this room.
 *
 * A grant names an object, and of a directory what lies below it; it never lifts what
 * policy refuses by name. It counts for those performers alone who have taken up an appeal. */
#ifndef CLOCHE_DOORMAN_GRANTS_H
#define CLOCHE_DOORMAN_GRANTS_H

#include "doorman/house.h"
#include "policy/decide.h"

/* False: there is no memory. */
bool grants_make(struct house *house);

/* The calling thread performs one call for somebody who can be asked; with the
 * end of it goes what was granted once. */
void grants_begin(struct house *house);
void grants_end(struct house *house);

/* False: there is no room for more. */
bool grants_add(struct house *house, enum operation operation, struct slice object, bool whole_run);
void grants_refuse(struct house *house, enum operation operation, struct slice object);

/* May the calling thread do it because it was granted? To write is to read as well. */
bool grants_cover(const struct house *house, enum operation operation, struct slice object);
bool grants_cover_any(const struct house *house, struct slice object);

/* Does `path` lead to what was granted for the run, or is it that name itself (unless `below`)? Who chooses what
 * stands there chooses what was granted: in later runs too, where it was granted for good. */
bool grants_lead_by(const struct house *house, struct slice path, bool below);

/* Is nobody to be asked about it again? */
bool grants_is_refused(const struct house *house, enum operation operation, struct slice object);

/* One question at a time. */
void grants_take_turn(struct house *house);
void grants_leave_turn(struct house *house);

#endif
