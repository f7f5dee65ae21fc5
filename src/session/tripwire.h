/* Who touches what is hidden: serves the file system that masks are made of, and
 * tells of whom it refuses. */
#ifndef CLOCHE_SESSION_TRIPWIRE_H
#define CLOCHE_SESSION_TRIPWIRE_H

#include "jail/company.h"
#include "session/events.h"

#include <time.h>

struct session_tripwire {
    struct events *events;
    time_t made; /* the time that masks show */
    struct jail_tripwire hooks;
};

/* The hooks for the jail; NULL if nobody wants to know, or nothing is hidden. */
struct jail_tripwire *session_tripwire_open(struct events *events, struct session_tripwire *tripwire);

#endif
