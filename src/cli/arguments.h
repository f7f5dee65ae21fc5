/* Arguments of the small commands: a few options anywhere, words, --help. */
#ifndef CLOCHE_CLI_ARGUMENTS_H
#define CLOCHE_CLI_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

struct argument_option {
    const char *name; /* without dashes */
    char letter;      /* 0: none */
    bool takes_value;
    bool given;        /* filled in */
    const char *value; /* filled in */
};

struct arguments {
    int status;   /* what to end with, when arguments_parse returns false */
    char **words; /* what is not an option, in order; NULL at the end */
    int word_count;
};

/* Sorts argv[1...] into options and words (argv is rearranged). False when there
 * is nothing more to do: help was printed, or something wrong was said. */
bool arguments_parse(const char *command, int argc, char **argv, struct argument_option *options, size_t option_count,
                     struct arguments *arguments);

#endif
