/* A scratch directory for tests that need real files: a home with a project in
 * it, made anew for each test and removed behind it. */
#ifndef CLOCHE_TESTS_SCRATCH_H
#define CLOCHE_TESTS_SCRATCH_H

#include "base/arena.h"
#include "policy/model.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct scratch {
    struct arena arena;
    char *root; /* a real path */
    char *home;
    char *project;
    char *environment[4];
    struct surroundings around;
};

static inline char *scratch_path(struct scratch *scratch, const char *below_root)
{
    return arena_printf(&scratch->arena, "%s/%s", scratch->root, below_root);
}

/* A file below the root; the directories on the way are made. */
static inline char *scratch_write(struct scratch *scratch, const char *below_root, const char *text)
{
    char *path = scratch_path(scratch, below_root);

    for (char *slash = strchr(path + strlen(scratch->root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "we");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        abort();
    return path;
}

static inline int scratch_make(void **state)
{
    struct scratch *scratch = calloc(1, sizeof *scratch);
    char name[] = "/tmp/cloche-test-XXXXXX";
    char real[PATH_MAX];

    if (!scratch || !mkdtemp(name) || !realpath(name, real))
        return -1;
    scratch->root = arena_string(&scratch->arena, real);
    scratch->home = scratch_path(scratch, "home");
    scratch->project = scratch_path(scratch, "home/project");
    scratch->around = (struct surroundings){.personality = PERSONALITY_CLOCHE,
                                            .home = slice_of(scratch->home),
                                            .project = slice_of(scratch->project),
                                            .user = SLICE("somebody"),
                                            .host_name = SLICE("somewhere"),
                                            .environment = scratch->environment};
    *state = scratch;
    return mkdir(scratch->home, 0700) + mkdir(scratch->project, 0700);
}

static inline int scratch_remove(void **state)
{
    struct scratch *scratch = *state;
    int failed =
        system(arena_printf(&scratch->arena, "chmod -R u+rwx '%s' && rm -rf '%s'", scratch->root, scratch->root));

    arena_free(&scratch->arena);
    free(scratch);
    return failed;
}

#endif
