/* A policy as somebody names it on the command line. */
#ifndef CLOCHE_CLI_SOURCE_H
#define CLOCHE_CLI_SOURCE_H

#include "policy/load.h"

/* "preset:NAME", "codex:FILE", a policy itself ("{...}"), or a file. */
struct policy_source source_named(const char *name);

#endif
