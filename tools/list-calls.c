/* Writes the names of all system calls as a C array, by number.
 *
 * usage: list-calls ARCHITECTURE > calls.c */
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>

enum { CALLS_MAX = 512 };

int main(int argc, char **argv)
{
    uint32_t architecture = argc == 2 ? seccomp_arch_resolve_name(argv[1]) : 0;

    if (architecture == 0) {
        fprintf(stderr, "list-calls: name an architecture that libseccomp knows\n");
        return 1;
    }
    printf("/* Made by tools/list-calls.c. */\n#include \"watch/calls.h\"\n\nconst char *const call_names[] = {\n");
    for (int number = 0; number < CALLS_MAX; number++) {
        char *name = seccomp_syscall_resolve_num_arch(architecture, number);
        if (name)
            printf("    [%d] = \"%s\",\n", number, name);
        free(name);
    }
    printf("};\n\nconst size_t call_name_count = sizeof call_names / sizeof *call_names;\n");
    return 0;
}
