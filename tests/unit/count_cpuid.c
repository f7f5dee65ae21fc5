/* Runs a program step by step, and says how often it asked the processor about itself. */
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CPUID = 0xa20f, TWO_BYTES = 0xffff, STEPS_MAX = 200000 };

int main(int argc, char **argv)
{
    long asked = 0;
    int status = 0;

    if (argc < 2)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execv(argv[1], argv + 1);
        _exit(127);
    }
    for (long step = 0; step < STEPS_MAX; step++) {
        struct user_regs_struct registers;

        if (waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status))
            break;
        if (ptrace(PTRACE_GETREGS, child, NULL, &registers) < 0)
            break;
        if ((ptrace(PTRACE_PEEKTEXT, child, registers.rip, NULL) & TWO_BYTES) == CPUID)
            asked++;
        ptrace(PTRACE_SINGLESTEP, child, NULL, NULL);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 127)
        return 1;
    printf("%ld\n", asked);
    return 0;
}
