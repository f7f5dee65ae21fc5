/* What making a file costs: makes COUNT empty files in a new directory, one after the
 * other, and prints microseconds for each. Started by bench/run, inside and outside.
 *
 *   bench_creates DIRECTORY COUNT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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
    long count = argc == 3 ? strtol(argv[2], NULL, 10) : 0;

    if (count <= 0 || mkdir(argv[1], 0700) < 0 || chdir(argv[1]) < 0) {
        perror("usage: bench_creates DIRECTORY COUNT");
        return 2;
    }
    double start = now_microseconds();
    for (long i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "file%ld", i);
        int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if (fd < 0) {
            perror(name);
            return 1;
        }
        close(fd);
    }
    printf("%.2f\n", (now_microseconds() - start) / (double)count);
    return 0;
}
