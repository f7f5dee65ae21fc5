/* A run, from options that were read to the status it ends with. */
#ifndef CLOCHE_CLI_RUN_H
#define CLOCHE_CLI_RUN_H

#include "cli/options.h"

int run_command(struct arena *arena, struct options *options);

#endif
