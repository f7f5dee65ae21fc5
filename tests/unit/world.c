#include "world.h"

#include "base/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void plant(struct world *world, const char *lines)
{
    static const char *const always[] = {"/tmp", "/var/tmp", "/run", "/proc", "/dev", "/usr/bin", "/etc", "/home/u/p"};

    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        model_add(&world->model, slice_of(always[i]), NODE_DIRECTORY, (struct slice){0});
    for (struct slice rest = slice_of(lines); rest.len;) {
        struct slice line = {rest.ptr, slice_find(rest, '\n')};
        rest = slice_from(rest, line.len < rest.len ? line.len + 1 : line.len);
        const char *arrow = memmem(line.ptr, line.len, " -> ", 4);
        const char *sign = arrow ? arrow : memmem(line.ptr, line.len, " := ", 4);
        if (sign)
            model_add(&world->model, (struct slice){line.ptr, (size_t)(sign - line.ptr)}, arrow ? NODE_LINK : NODE_FILE,
                      (struct slice){sign + 4, line.len - (size_t)(sign + 4 - line.ptr)});
        else if (line.len && line.ptr[line.len - 1] == '/')
            model_add(&world->model, (struct slice){line.ptr, line.len - 1}, NODE_DIRECTORY, (struct slice){0});
        else if (line.len)
            model_add(&world->model, line, NODE_FILE, (struct slice){0});
    }
}

static bool make(struct world *world, const char *tree, const char *policy, enum personality personality,
                 struct facts facts)
{
    static char home[] = "HOME=/home/u";
    static char path[] = "PATH=/usr/bin";
    static char *environment[] = {home, path, NULL};
    struct policy_source source = {.kind = SOURCE_TEXT,
                                   .name = "policy.json",
                                   .text = slice_of(policy),
                                   .format = personality == PERSONALITY_CODEX ? FORMAT_CODEX_PROFILE : FORMAT_CLOCHE};
    struct policy_request request = {.sources = &source, .source_count = 1};
    struct error err;

    *world = (struct world){0};
    world->problems.arena = &world->arena;
    world->around = (struct surroundings){.personality = personality,
                                          .project = SLICE("/home/u/p"),
                                          .home = SLICE("/home/u"),
                                          .user = SLICE("u"),
                                          .host_name = SLICE("h"),
                                          .environment = environment};
    model_init(&world->model, &world->arena);
    plant(world, tree);
    if (!policy_load(&world->arena, &world->around, &request, &world->policy, &world->problems))
        return false;
    policy_resolve(&world->policy, &world->model.tree, &world->problems);
    return !world->problems.errors && plan_make(&world->arena, &world->policy, &facts, &world->model.tree,
                                                world->around.project, &world->plan, &err);
}

static const struct facts whole_host = {.kernel_major = 6, .kernel_minor = 1, .landlock_abi = 3, .listener = true};

bool world_make(struct world *world, const char *tree, const char *policy)
{
    return make(world, tree, policy, PERSONALITY_CLOCHE, whole_host);
}

bool world_make_without_listener(struct world *world, const char *tree, const char *policy)
{
    struct facts facts = whole_host;

    facts.listener = false;
    return make(world, tree, policy, PERSONALITY_CLOCHE, facts);
}

bool world_make_on(struct world *world, const char *tree, const char *policy, const struct facts *facts)
{
    return make(world, tree, policy, PERSONALITY_CLOCHE, *facts);
}

bool world_make_srt(struct world *world, const char *tree, const char *policy)
{
    return make(world, tree, policy, PERSONALITY_SRT, whole_host);
}

bool world_make_codex(struct world *world, const char *tree, const char *policy)
{
    return make(world, tree, policy, PERSONALITY_CODEX, whole_host);
}

void world_free(struct world *world)
{
    arena_free(&world->arena);
}

const char *world_access(struct world *world, const char *path)
{
    struct slice real;
    struct decision reading;
    struct decision writing;
    struct error err;

    if (!decide_path(&world->arena, &world->policy, &world->model.tree, OPERATION_READ, slice_of(path), &real, &reading,
                     &err) ||
        !decide_path(&world->arena, &world->policy, &world->model.tree, OPERATION_WRITE, slice_of(path), &real,
                     &writing, &err))
        return "error";
    return arena_printf(&world->arena, "%c%c",
                        reading.allowed   ? (reading.access == ACCESS_EMPTY ? 'e' : 'r')
                        : reading.passage ? 'p'
                                          : '-',
                        writing.allowed ? 'w' : '-');
}

const char *world_step(struct world *world, const char *path)
{
    for (size_t i = 0; i < world->plan.step_count; i++) {
        const struct step *step = &world->plan.steps[i];
        if (slice_is(step->path, path))
            return arena_printf(&world->arena, "%s%s", step_kind_name(step->kind), step->writable ? " writable" : "");
    }
    return "";
}

const struct hold *world_hold(const struct world *world, const char *text)
{
    for (size_t i = 0; i < world->plan.hold_count; i++) {
        if (slice_is(world->plan.holds[i].rule_text, text))
            return &world->plan.holds[i];
    }
    fail_msg("no rule \"%s\"", text);
    return NULL;
}

bool world_has_problem(const struct world *world, const char *words)
{
    for (size_t i = 0; i < world->problems.count; i++) {
        if (strstr(world->problems.items[i].text, words))
            return true;
    }
    return false;
}

bool world_has_refusal(const struct world *world, const char *words, const char *token)
{
    for (size_t i = 0; i < world->plan.refusal_count; i++) {
        const struct refusal *refusal = &world->plan.refusals[i];
        bool same_token = token ? refusal->token && strcmp(refusal->token, token) == 0 : !refusal->token;
        if (strstr(refusal->what, words) && same_token)
            return true;
    }
    return false;
}
