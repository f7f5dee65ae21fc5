/* Random trees and random policies over them, small enough to read. */
#ifndef CLOCHE_TESTS_RANDOM_CASE_H
#define CLOCHE_TESTS_RANDOM_CASE_H

#include "base/arena.h"
#include "base/text.h"
#include "policy/tree.h"

#include <stdint.h>

enum { CASE_NODES_MAX = 64, CASE_RULES_MAX = 24 };

struct case_node {
    struct slice path;
    enum node kind;
    struct slice target;
    bool left_out; /* by the shrinker */
};

struct case_rule {
    const char *list;   /* denyRead, allowRead, denyWrite, allowWrite, rules */
    const char *access; /* rules */
    struct slice path;
    bool literal;
    bool at_start;
    bool left_out;
};

struct random_case {
    struct arena *arena;
    uint64_t seed;
    struct slice prefix; /* everything random lies below it */
    struct slice home;
    struct slice project;
    struct slice tools; /* always readable */
    bool listed;
    bool private_tmp;
    struct case_node nodes[CASE_NODES_MAX];
    size_t node_count;
    struct case_rule rules[CASE_RULES_MAX];
    size_t rule_count;
};

void random_case_make(struct random_case *test, struct arena *arena, uint64_t seed, struct slice prefix);

/* The policy file of a case. */
struct slice random_case_policy(const struct random_case *test, struct arena *arena);
void random_case_print(const struct random_case *test, struct text *out);

#endif
