/* A small made-up world for tests of the policy and plan rooms: a tree written
 * as lines, a policy written as JSON, and questions asked in words. */
#ifndef CLOCHE_TESTS_WORLD_H
#define CLOCHE_TESTS_WORLD_H

#include "../property/tree_model.h"

#include "policy/load.h"
#include "policy/problems.h"
#include "policy/resolve.h"

struct world {
    struct arena arena;
    struct model model;
    struct surroundings around;
    struct policy policy;
    struct problems problems;
    struct plan plan;
};

/* Lines of `tree`: "/a/b/" a directory, "/a/f" a file, "/a/l -> target" a link,
 * "/a/f := content" a file with a line in it.
 * /home/u is $HOME and /home/u/p the project. False when the policy is refused
 * (see problems). */
bool world_make(struct world *world, const char *tree, const char *policy);
/* On a host where there can be no doorman. */
bool world_make_without_listener(struct world *world, const char *tree, const char *policy);
bool world_make_on(struct world *world, const char *tree, const char *policy, const struct facts *facts);
bool world_make_srt(struct world *world, const char *tree, const char *policy);
/* `policy` is a permission profile of Codex. */
bool world_make_codex(struct world *world, const char *tree, const char *policy);
void world_free(struct world *world);

/* "rw", "r-", "--" for a path: what decide() says. "e-" reads as empty,
 * "p-" a passage. */
const char *world_access(struct world *world, const char *path);
/* The step of the plan at `path`, as "kind access", or "" if there is none. */
const char *world_step(struct world *world, const char *path);
/* What holds the rule of these words; a test that asks for one that is not there has failed. */
const struct hold *world_hold(const struct world *world, const char *text);
bool world_has_problem(const struct world *world, const char *words);
bool world_has_refusal(const struct world *world, const char *words, const char *token);

#endif
