/* What opening a file for reading costs: prints nanoseconds per open and close,
 * the best tenth of many short rounds: what other programs take is not counted.
 * Started by bench/run, inside and outside.
 *
 *   bench_opens FILE... */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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

int main(int argc, char **argv)
{
    double samples[ROUNDS];

    if (argc < 2) {
        fprintf(stderr, "usage: bench_opens FILE...\n");
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
