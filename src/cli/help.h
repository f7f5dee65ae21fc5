/* What --help prints. */
#ifndef CLOCHE_CLI_HELP_H
#define CLOCHE_CLI_HELP_H

#include <stdbool.h>

/* The help of a subcommand, or of cloche itself for NULL. Goes to stdout: it is
 * the answer to a question. False if there is no such subcommand. */
bool help_print(const char *command);

/* Is `word` -h or --help? */
bool help_wanted(const char *word);

#endif
