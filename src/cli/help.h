/* What --help prints. */
#ifndef CLOCHE_CLI_HELP_H
#define CLOCHE_CLI_HELP_H

#include <stdbool.h>
#include <stdio.h>

/* What cloche is and which commands there are. */
void help_print_general(FILE *to);

/* The help of a subcommand. Goes to stdout: it is the answer to a question. False if there is no such subcommand. */
bool help_print(const char *command);

/* Is `word` -h or --help? */
bool help_wanted(const char *word);

#endif
