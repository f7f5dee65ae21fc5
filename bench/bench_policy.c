/* How long a policy of a thousand rules takes from text to plan, without the
 * process around it. Prints one line per stage: name, median microseconds of
 * processor time (nothing here waits, and other programs then do not count).
 *
 *   bench_policy POLICY-FILE [ROUNDS]
 *
 * The file is loaded as `cloche run` would load it in the current directory. */
#include "base/fd.h"
#include "plan/plan.h"
#include "policy/around.h"
#include "policy/load.h"
#include "policy/resolve.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS_MAX = 10000 };
enum stage { STAGE_LOAD, STAGE_RESOLVE, STAGE_PLAN, STAGE_ALL, STAGE_COUNT };

static const char *const stage_names[STAGE_COUNT] = {"load", "resolve", "plan", "load+resolve+plan"};

static double now_microseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double first = *(const double *)a;
    double second = *(const double *)b;

    return (first > second) - (first < second);
}

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "bench_policy: %s: %s\n", what, why);
    exit(1);
}

static void measure(const char *file, double times[STAGE_COUNT])
{
    ARENA_CLEANUP struct arena arena = {0};
    struct surroundings around;
    struct policy_source source = {.kind = SOURCE_FILE, .name = file};
    struct policy_request request = {.sources = &source, .source_count = 1};
    struct problems problems = {.arena = &arena};
    struct policy policy;
    struct plan plan;
    struct facts facts;
    struct error err = {{0}};
    char *command[] = {(char[]){"true"}, NULL};

    if (!surroundings_gather(&arena, PERSONALITY_CLOCHE, ".", environ, command, &around, &err))
        fail("surroundings", err.text);
    facts_gather(&facts);

    double start = now_microseconds();
    if (!policy_load(&arena, &around, &request, &policy, &problems))
        fail(file, problems.count > 0 ? problems.items[0].text : "not loaded");
    double loaded = now_microseconds();
    struct tree *tree = tree_of_host(&arena);
    policy_resolve(&policy, tree, &problems);
    double resolved = now_microseconds();
    if (!plan_make(&arena, &policy, &facts, tree, around.project, &plan, &err))
        fail("plan", err.text);
    double planned = now_microseconds();

    times[STAGE_LOAD] = loaded - start;
    times[STAGE_RESOLVE] = resolved - loaded;
    times[STAGE_PLAN] = planned - resolved;
    times[STAGE_ALL] = planned - start;
}

int main(int argc, char **argv)
{
    static double samples[STAGE_COUNT][ROUNDS_MAX];
    int rounds = argc > 2 ? atoi(argv[2]) : 200;

    if (argc < 2 || rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: bench_policy POLICY-FILE [ROUNDS]\n");
        return 2;
    }
    for (int round = 0; round < rounds; round++) {
        double times[STAGE_COUNT];
        measure(argv[1], times);
        for (int stage = 0; stage < STAGE_COUNT; stage++)
            samples[stage][round] = times[stage];
    }
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        qsort(samples[stage], (size_t)rounds, sizeof(samples[stage][0]), compare);
        printf("%s %.1f\n", stage_names[stage], samples[stage][rounds / 2]);
    }
    return 0;
}
