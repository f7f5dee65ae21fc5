/* A policy as somebody names it in a word. */
#ifndef CLOCHE_POLICY_SOURCE_H
#define CLOCHE_POLICY_SOURCE_H

#include "policy/load.h"

/* "preset:NAME", "codex:FILE", a policy itself ("{...}"), or a file. */
struct policy_source policy_source_named(const char *name);

#endif
