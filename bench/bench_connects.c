/* What connecting to a unix socket of one's own costs: prints microseconds for each
 * connect and close, the median of many short rounds. Started by bench/run, inside
 * and outside.
 *
 *   bench_connects PATH */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 40, CONNECTS = 50 };

static double now_microseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double first = *(const double *)a;
    double second = *(const double *)b;

    return (first > second) - (first < second);
}

int main(int argc, char **argv)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    double samples[ROUNDS];
    int server = socket(AF_UNIX, SOCK_STREAM, 0);

    if (argc != 2 || strlen(argv[1]) >= sizeof address.sun_path) {
        fprintf(stderr, "usage: bench_connects PATH\n");
        return 2;
    }
    strcpy(address.sun_path, argv[1]);
    unlink(argv[1]);
    if (bind(server, (struct sockaddr *)&address, sizeof address) < 0 || listen(server, CONNECTS) < 0) {
        perror(argv[1]);
        return 1;
    }
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_microseconds();
        for (int i = 0; i < CONNECTS; i++) {
            int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
            if (connect(client, (struct sockaddr *)&address, sizeof address) < 0) {
                perror("connect");
                return 1;
            }
            close(client);
        }
        samples[round] = (now_microseconds() - start) / CONNECTS;
        for (int i = 0; i < CONNECTS; i++)
            close(accept(server, NULL, NULL));
    }
    qsort(samples, ROUNDS, sizeof samples[0], compare);
    printf("%.2f\n", samples[ROUNDS / 2]);
    return 0;
}
