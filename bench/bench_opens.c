/* What opening a file for reading costs: prints nanoseconds per open and close,
 * the best tenth of many short rounds: what other programs take is not counted.
 * Started by bench/run, inside and outside.
 *
 *   bench_opens [--locks] FILE...
 *
 * With --locks under the least of what cloche uses: a Landlock ruleset of a single right, which
 * has nothing to do with reading, and a filter that looks at the flags of an open. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 200, OPENS = 200 };

static double now_nanoseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double first = *(const double *)a;
    double second = *(const double *)b;

    return (first > second) - (first < second);
}

static bool lock(void)
{
    struct landlock_ruleset_attr attr = {.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK};
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr.handled_access_fs, 0);

    return ruleset >= 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_landlock_restrict_self, ruleset, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

int main(int argc, char **argv)
{
    double samples[ROUNDS];

    if (argc > 1 && strcmp(argv[1], "--locks") == 0) {
        if (!lock()) {
            perror("bench_opens: cannot lock itself in");
            return 1;
        }
        argc--;
        argv++;
    }
    if (argc < 2) {
        fprintf(stderr, "usage: bench_opens [--locks] FILE...\n");
        return 2;
    }
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_nanoseconds();
        for (int i = 0; i < OPENS; i++) {
            int fd = open(argv[1 + i % (argc - 1)], O_RDONLY | O_CLOEXEC);
            if (fd < 0) {
                perror(argv[1 + i % (argc - 1)]);
                return 1;
            }
            close(fd);
        }
        samples[round] = (now_nanoseconds() - start) / OPENS;
    }
    qsort(samples, ROUNDS, sizeof samples[0], compare);
    printf("%.0f\n", samples[ROUNDS / 10]);
    return 0;
}
