/* What the parts of the attacker share. See attacker.c. */
#ifndef CLOCHE_TESTS_ATTACKER_H
#define CLOCHE_TESTS_ATTACKER_H

/* One thing the attacker can do. `run` gets the words after the name (NULL at the
 * end) and returns 0 or more if it succeeded, -1 with errno if not. What it read
 * goes to stdout before the verdict. */
struct operation {
    const char *name;
    int words;
    int (*run)(char **words);
};

extern const struct operation file_operations[];
extern const struct operation name_operations[];
extern const struct operation socket_operations[];
extern const struct operation namespace_operations[];
extern const struct operation process_operations[];
extern const struct operation kernel_operations[];
extern const struct operation send_operations[];
extern const struct operation crowd_operations[];
extern const struct operation race_operations[];

/* A number, decimal or 0x..., or the end of the program. */
unsigned long number(const char *word);

/* Copies what `fd` still holds to stdout, then closes it. */
int show(int fd);

#endif
