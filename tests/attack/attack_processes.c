/* Attacks on other processes, and on what one process can take from all: tracing,
 * reading memory, signals, outliving the run, filling the process table, dying
 * loudly. `guard-secret` is the victim's side. */
#include "attacker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Says where its secret is and waits until its stdin is closed. */
static int guard_secret(char **words)
{
    char *secret = strdup(words[0]);
    char ignored;

    printf("%d %#" PRIxPTR " %zu\n", (int)getpid(), (uintptr_t)secret, strlen(secret));
    fflush(stdout);
    while (read(STDIN_FILENO, &ignored, 1) > 0)
        ;
    return 0;
}

static int trace(char **words)
{
    pid_t pid = (pid_t)number(words[0]);

    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
        return -1;
    return ptrace(PTRACE_DETACH, pid, NULL, NULL) < 0 && errno != ESRCH ? -1 : 0;
}

/* The same on an own child, which everybody may. */
static int trace_child(char **words)
{
    pid_t child = fork();

    (void)words;
    if (child == 0)
        pause();
    int result = (int)ptrace(PTRACE_SEIZE, child, NULL, NULL);
    int errnum = errno;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    errno = errnum;
    return result;
}

static int read_memory(char **words)
{
    char buffer[256];
    size_t length = number(words[2]) < sizeof buffer ? number(words[2]) : sizeof buffer;
    struct iovec here = {buffer, length};
    struct iovec there = {(void *)(uintptr_t)number(words[1]), length};
    ssize_t count = process_vm_readv((pid_t)number(words[0]), &here, 1, &there, 1, 0);

    if (count < 0)
        return -1;
    fwrite(buffer, 1, (size_t)count, stdout);
    return 0;
}

static int write_memory(char **words)
{
    char text[] = "overwritten";
    struct iovec here = {text, sizeof text - 1};
    struct iovec there = {(void *)(uintptr_t)number(words[1]), sizeof text - 1};

    return process_vm_writev((pid_t)number(words[0]), &here, 1, &there, 1, 0) < 0 ? -1 : 0;
}

static int read_memory_file(char **words)
{
    char path[64];
    char buffer[256];
    size_t length = number(words[2]) < sizeof buffer ? number(words[2]) : sizeof buffer;

    snprintf(path, sizeof path, "/proc/%lu/mem", number(words[0]));
    int fd = open(path, O_RDONLY);
    ssize_t count = fd < 0 ? -1 : pread(fd, buffer, length, (off_t)number(words[1]));
    if (count < 0)
        return -1;
    fwrite(buffer, 1, (size_t)count, stdout);
    return 0;
}

static int take_descriptor(char **words)
{
    int process = (int)syscall(SYS_pidfd_open, number(words[0]), 0);

    return process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, number(words[1]), 0);
}

static int send_signal(char **words)
{
    return kill((pid_t)strtol(words[0], NULL, 10), (int)number(words[1]));
}

static int send_signal_by_descriptor(char **words)
{
    int process = (int)syscall(SYS_pidfd_open, number(words[0]), 0);

    return process < 0 ? -1 : (int)syscall(SYS_pidfd_send_signal, process, number(words[1]), NULL, 0);
}

/* A grandchild in a session of its own that ignores what it can. Writes its
 * mark to the file when it is ready; ends by itself after a minute. */
static int linger(char **words)
{
    pid_t child = fork();

    if (child > 0)
        return waitpid(child, NULL, 0) < 0 ? -1 : 0;
    setsid();
    if (fork() > 0)
        _exit(0);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= 2; fd++)
        dup2(null, fd);
    close(open(words[1], O_WRONLY | O_CREAT, 0600));
    sleep(60);
    _exit(0);
}

static int wait_for_file(char **words)
{
    for (int i = 0; i < 3000; i++) {
        if (access(words[0], F_OK) == 0)
            return 0;
        usleep(10000);
    }
    return -1;
}

/* How many processes can be made? None of them stays. */
static int multiply(char **words)
{
    unsigned long wanted = number(words[0]);
    unsigned long made = 0;

    signal(SIGTERM, SIG_IGN);
    for (; made < wanted; made++) {
        pid_t child = fork();
        if (child < 0)
            break;
        if (child == 0) {
            signal(SIGTERM, SIG_DFL);
            pause();
        }
    }
    printf("%lu ", made);
    return made < wanted ? -1 : 0;
}

/* Memory that is really used. */
static int fill_memory(char **words)
{
    size_t size = number(words[0]) << 20;
    char *memory = malloc(size);

    if (!memory)
        return -1;
    memset(memory, 1, size);
    __asm__ volatile("" : : "r"(memory) : "memory"); /* or the compiler leaves it all out */
    /* Where no cgroup holds the limit it is sampled: what is back within a moment
     * is not what the limit is for. */
    sleep(1);
    return 0;
}

static int crash(char **words)
{
    (void)words;
    signal(SIGABRT, SIG_DFL);
    abort();
}

static int core_limit(char **words)
{
    struct rlimit limit;

    (void)words;
    if (getrlimit(RLIMIT_CORE, &limit) < 0)
        return -1;
    printf("%llu %llu ", (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
    return 0;
}

static int raise_core_limit(char **words)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

    (void)words;
    return setrlimit(RLIMIT_CORE, &limit);
}

/* Who one has become by execve. */
static int identity(char **words)
{
    static const char *const wanted[] = {"CapPrm:", "CapEff:", "CapAmb:", "NoNewPrivs:"};
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];

    (void)words;
    printf("uid %u gid %u ", geteuid(), getegid());
    while (status && fgets(line, sizeof line, status)) {
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
            if (strncmp(line, wanted[i], strlen(wanted[i])) == 0)
                printf("%s%.*s ", wanted[i], (int)strcspn(line + strlen(wanted[i]) + 1, "\n"),
                       line + strlen(wanted[i]) + 1);
        }
    }
    return 0;
}

static int become(char **words)
{
    return setuid((uid_t)number(words[0]));
}

static int open_descriptors(char **words)
{
    (void)words;
    for (int fd = 0; fd < 4096; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            printf("%d ", fd);
    }
    return 0;
}

const struct operation process_operations[] = {
    {"guard-secret", 1, guard_secret},
    {"trace", 1, trace},
    {"trace-child", 0, trace_child},
    {"read-memory", 3, read_memory},
    {"write-memory", 2, write_memory},
    {"read-memory-file", 3, read_memory_file},
    {"take-descriptor", 2, take_descriptor},
    {"signal", 2, send_signal},
    {"signal-by-descriptor", 2, send_signal_by_descriptor},
    {"linger", 2, linger},
    {"wait-for", 1, wait_for_file},
    {"multiply", 1, multiply},
    {"fill-memory", 1, fill_memory},
    {"crash", 0, crash},
    {"core-limit", 0, core_limit},
    {"raise-core-limit", 0, raise_core_limit},
    {"identity", 0, identity},
    {"become", 1, become},
    {"descriptors", 0, open_descriptors},
    {0},
};
