/* Shared by the tests of the policy loader: a made-up place to run in, and
 * policies loaded there from texts and files. */
#ifndef CLOCHE_TESTS_LOADING_H
#define CLOCHE_TESTS_LOADING_H

#include "base/text.h"
#include "policy/load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *const made_up_environment[] = {
    "PATH=/usr/local/bin:/usr/bin:/home/u/.nvm/v22/bin:/home/u/.local/bin:bin::/home/u:/home/u/.step/bin",
    "AWS_PROFILE=dev",
    "XDG_CONFIG_HOME=/home/u/conf",
    "XDG_DATA_HOME=not/absolute",
    "EMPTY=",
    NULL};
static const char *const made_up_command[] = {"aws", "s3", "ls", NULL};

static inline struct surroundings made_up(enum personality personality)
{
    return (struct surroundings){.personality = personality,
                                 .project = SLICE("/home/u/work"),
                                 .home = SLICE("/home/u"),
                                 .user = SLICE("u"),
                                 .host_name = SLICE("box"),
                                 .environment = (char *const *)made_up_environment,
                                 .command = (char *const *)made_up_command};
}

struct loaded {
    struct arena arena;
    struct policy policy;
    struct problems problems;
    bool good;
};

static inline void show_problems(const struct loaded *loaded)
{
    for (size_t i = 0; i < loaded->problems.count; i++)
        print_message("# %s: %s: %s\n", loaded->problems.items[i].file, loaded->problems.items[i].path,
                      loaded->problems.items[i].text);
}

static inline struct loaded *load_request(struct surroundings around, const struct policy_request *request)
{
    struct loaded *loaded = calloc(1, sizeof *loaded);

    assert_non_null(loaded);
    loaded->problems.arena = &loaded->arena;
    loaded->good = policy_load(&loaded->arena, &around, request, &loaded->policy, &loaded->problems);
    assert_int_equal(loaded->good, loaded->problems.errors == 0);
    return loaded;
}

static inline struct loaded *load_in(struct surroundings around, const char *text)
{
    struct policy_source source = {.kind = SOURCE_TEXT, .name = "test", .text = slice_of(text)};
    struct policy_request request = {.sources = &source, .source_count = 1};

    return load_request(around, &request);
}

static inline struct loaded *load(const char *text)
{
    return load_in(made_up(PERSONALITY_CLOCHE), text);
}

static inline struct loaded *load_good(const char *text)
{
    struct loaded *loaded = load(text);

    if (!loaded->good)
        show_problems(loaded);
    assert_true(loaded->good);
    return loaded;
}

static inline struct loaded *load_srt(const char *text)
{
    return load_in(made_up(PERSONALITY_SRT), text);
}

static inline void unload(struct loaded *loaded)
{
    arena_free(&loaded->arena);
    free(loaded);
}

static inline const struct problem *find_problem(const struct loaded *loaded, const char *path, const char *words)
{
    for (size_t i = 0; i < loaded->problems.count; i++) {
        const struct problem *problem = &loaded->problems.items[i];
        if (strcmp(problem->path, path) == 0 && strstr(problem->text, words))
            return problem;
    }
    return NULL;
}

static inline void assert_said(const struct loaded *loaded, bool warning, const char *path, const char *words)
{
    const struct problem *problem = find_problem(loaded, path, words);

    if (!problem) {
        show_problems(loaded);
        fail_msg("nothing at \"%s\" says \"%s\"", path, words);
    }
    assert_int_equal(problem->warning, warning);
}

static inline void assert_refused(const char *text, const char *path, const char *words)
{
    struct loaded *loaded = load(text);

    assert_said(loaded, false, path, words);
    unload(loaded);
}

/* The first rule of a list whose pattern is `path`; NULL if there is none. */
static inline const struct path_rule *find_rule(const struct loaded *loaded, enum path_list list, const char *path)
{
    for (size_t i = 0; i < loaded->policy.paths.count; i++) {
        const struct path_rule *rule = &loaded->policy.paths.items[i];
        if (rule->list == list && slice_is(rule->pattern.text, path))
            return rule;
    }
    return NULL;
}

static inline const struct name_rule *find_named(const struct name_rules *rules, const char *text)
{
    for (size_t i = 0; i < rules->count; i++) {
        if (slice_is(rules->items[i].text, text))
            return &rules->items[i];
    }
    return NULL;
}

static inline void assert_slice(struct slice found, const char *expected)
{
    if (!slice_is(found, expected))
        fail_msg("found \"%.*s\", expected \"%s\"", (int)found.len, found.ptr, expected);
}

#endif
