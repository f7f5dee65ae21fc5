/* The enemy, as a program: makes the very system calls an attack needs and says
 * what came of each.
 *
 *   attacker OPERATION WORD... [-- OPERATION WORD...]...
 *
 * The operations run in one process, one after the other, so that a descriptor or
 * namespace won by one serves the next. Each prints what it
 * read, then "= ok" or "= " and the name of the error. The status is 0 unless the attack itself was misspelt:
 * the test judges from outside what happened. */
#include "attacker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

unsigned long number(const char *word)
{
    char *end;
    unsigned long value = strtoul(word, &end, 0);

    if (end == word || *end) {
        fprintf(stderr, "attacker: %s is not a number\n", word);
        exit(2);
    }
    return value;
}

int show(int fd)
{
    char buffer[4096];
    ssize_t length;

    if (fd < 0)
        return -1;
    while ((length = read(fd, buffer, sizeof buffer)) > 0)
        fwrite(buffer, 1, (size_t)length, stdout);
    int errnum = errno;
    close(fd);
    errno = errnum;
    return length < 0 ? -1 : 0;
}

static const struct operation *find(const char *name)
{
    const struct operation *const parts[] = {
        file_operations,   name_operations, socket_operations, namespace_operations, process_operations,
        kernel_operations, send_operations, crowd_operations,  race_operations,
    };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        for (const struct operation *operation = parts[i]; operation->name; operation++) {
            if (strcmp(operation->name, name) == 0)
                return operation;
        }
    }
    return NULL;
}

static void attempt(char **words, int count)
{
    const struct operation *operation = find(words[0]);

    if (!operation || count - 1 < operation->words) {
        fprintf(stderr, "attacker: %s: no such operation, or too few words\n", words[0]);
        exit(2);
    }
    errno = 0;
    int result = operation->run(words + 1);
    const char *error = strerrorname_np(errno);
    printf("= %s\n", result >= 0 ? "ok" : error ? error : "unknown error");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    for (int start = 1; start < argc;) {
        int end = start;
        while (end < argc && strcmp(argv[end], "--") != 0)
            end++;
        argv[end] = NULL;
        if (end > start)
            attempt(argv + start, end - start);
        start = end + 1;
    }
    return 0;
}
