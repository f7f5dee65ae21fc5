/* What a plan wants to have inside a tmpfs of a step, made there. Private to this room. */
#ifndef CLOCHE_JAIL_ENTRIES_H
#define CLOCHE_JAIL_ENTRIES_H

#include "base/error.h"
#include "plan/plan.h"

enum { ENTRY_NAME_MAX = 4096 };

/* The entry's name below the step's path; false if that is not where it lies. */
bool entry_name(const struct step *step, const struct entry *entry, char name[ENTRY_NAME_MAX], struct error *err);

/* 0, or -1 with errno. What is there already is left as it is, and a device is for others to add. */
int entry_make(int directory, const struct entry *entry, const char *name);

#endif
