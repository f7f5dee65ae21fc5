/* Runs a program and prints which of its functions are executed, by it and by all that it starts: the number of the
 * process, and the function's address, in the order in which they are. list-executed PROGRAM [ARGUMENT...], with the
 * functions' addresses on standard input, one a line, in hexadecimal. See scripts/order-functions.
 *
 * A breakpoint stands at the beginning of each function, and is gone from a process and what it starts later once it
 * was met. What executes another program is let go. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FUNCTIONS_MAX = 65536, BREAKPOINT = 0xcc, BYTE = 0xff, EVENT_SHIFT = 16 };

struct function {
    unsigned long address;
    long begins; /* its first byte */
};

static struct function functions[FUNCTIONS_MAX];
static size_t function_count;

static struct function *find(unsigned long address)
{
    for (size_t low = 0, high = function_count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (functions[middle].address == address)
            return &functions[middle];
        if (functions[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* The byte that was there. */
static long put(pid_t pid, unsigned long address, long byte)
{
    long word = ptrace(PTRACE_PEEKTEXT, pid, address, NULL);

    ptrace(PTRACE_POKETEXT, pid, address, (word & ~(long)BYTE) | byte);
    return word & BYTE;
}

static int compare(const void *left, const void *right)
{
    const struct function *one = left;
    const struct function *other = right;

    return one->address < other->address ? -1 : one->address > other->address;
}

static void read_functions(void)
{
    while (function_count < FUNCTIONS_MAX && scanf("%lx", &functions[function_count].address) == 1)
        function_count++;
    qsort(functions, function_count, sizeof *functions, compare);
}

/* True: it stands at a function's beginning, and goes on. */
static bool meet(pid_t pid)
{
    struct user_regs_struct registers;

    if (ptrace(PTRACE_GETREGS, pid, NULL, &registers) < 0)
        return false;
    struct function *function = find(registers.rip - 1);
    if (!function)
        return false;
    put(pid, function->address, function->begins);
    registers.rip = function->address;
    ptrace(PTRACE_SETREGS, pid, NULL, &registers);
    printf("%d %lx\n", (int)pid, function->address);
    return true;
}

static bool begin(char **argv)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execv(argv[0], argv);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status))
        return false;
    ptrace(PTRACE_SETOPTIONS, child, NULL,
           PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
    for (size_t i = 0; i < function_count; i++)
        functions[i].begins = put(child, functions[i].address, BREAKPOINT);
    return ptrace(PTRACE_CONT, child, NULL, NULL) == 0;
}

int main(int argc, char **argv)
{
    int status;
    pid_t pid;

    read_functions();
    if (argc < 2 || function_count == 0 || !begin(argv + 1))
        return 2;
    while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
        if (pid <= 0 || !WIFSTOPPED(status))
            continue;
        int event = status >> EVENT_SHIFT;
        int signal = WSTOPSIG(status);
        if (event == PTRACE_EVENT_EXEC)
            ptrace(PTRACE_DETACH, pid, NULL, NULL);
        else if (event != 0 || signal == SIGSTOP || (signal == SIGTRAP && meet(pid)))
            ptrace(PTRACE_CONT, pid, NULL, NULL);
        else
            ptrace(PTRACE_CONT, pid, NULL, (long)signal);
    }
    return 0;
}
