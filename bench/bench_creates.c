/* What making a file costs, or being refused to: makes COUNT empty files in a new
 * directory, or tries to in one where it must not, one after the other, and prints
 * microseconds for each. Started by bench/run, inside and outside.
 *
 *   bench_creates made|refused DIRECTORY COUNT */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double now_microseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
    long count = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
    bool refused = argc == 4 && strcmp(argv[1], "refused") == 0;

    if (count <= 0 || (!refused && mkdir(argv[2], 0700) < 0) || chdir(argv[2]) < 0) {
        perror("usage: bench_creates made|refused DIRECTORY COUNT");
        return 2;
    }
    double start = now_microseconds();
    for (long i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "file%ld", i);
        int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if ((fd < 0) != refused) {
            perror(name);
            return 1;
        }
        if (fd >= 0)
            close(fd);
    }
    printf("%.2f\n", (now_microseconds() - start) / (double)count);
    return 0;
}
