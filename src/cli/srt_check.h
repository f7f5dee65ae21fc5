/* For those who embed us: is this a config that a command can run with? */
#ifndef CLOCHE_CLI_SRT_CHECK_H
#define CLOCHE_CLI_SRT_CHECK_H

#include "base/arena.h"

/* Prints JSON objects, one a line: first {"cloche":"VERSION"}, then for each problem
 *   {"path":"network.allowedDomains.0","message":"..."}  srt's own words about a key
 *   {"own":true,"path":"network.allowedDomains[0]","message":"..."}  cloche's words about what srt would take
 *   {"refused":"..."}                                    valid, but no run would be started with it
 * The status is 0 if there is none. */
int srt_check_main(struct arena *arena, const char *text);

#endif
