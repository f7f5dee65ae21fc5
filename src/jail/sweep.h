/* The end of everything a run without a pid namespace left behind. Private to
 * this room. */
#ifndef CLOCHE_JAIL_SWEEP_H
#define CLOCHE_JAIL_SWEEP_H

/* Kills and reaps every descendant of this process, which must be a child
 * subreaper, so that none of them can have another ancestor. */
void sweep_descendants(void);

#endif
