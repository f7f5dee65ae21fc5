/* Shared by the files of this room. */
#ifndef CLOCHE_PLAN_INTERNAL_H
#define CLOCHE_PLAN_INTERNAL_H

#include "plan/plan.h"

/* The access of a path and everything below it that no deeper rule speaks of. */
struct effect {
    enum access access;
    enum backing backing;
    bool passage;
    struct origin shown;   /* the rule that shows or hides it */
    struct origin written; /* the rule that lets it be written or refuses that */
};

struct effect plan_effect_at(const struct policy *policy, struct slice path);

/* A file that is to be shown as the user's own. */
struct copy {
    struct slice path;
    struct slice content;
};

enum { COPIES_MAX = 32 };

/* Returns how many there are. */
size_t plan_find_copies(const struct policy *policy, const struct tree *tree, struct copy copies[COPIES_MAX]);

bool plan_mounts(struct plan *plan, const struct tree *tree, struct error *err);
void plan_landlock(struct plan *plan, const struct facts *facts);
/* The same with Landlock alone: grants, what cannot be held, what is weaker. */
void plan_confine(struct plan *plan, const struct tree *tree, const struct facts *facts);
/* What is hidden when it comes into being. Needs the steps. */
void plan_await(struct plan *plan);
bool plan_awaits(const struct plan *plan, const struct path_rule *rule);
void plan_network(struct plan *plan);
void plan_environment(struct plan *plan);
/* The variables that lead programs to the proxies of a filtered run. */
bool proxy_variable_is(const struct plan *plan, struct slice name);
size_t proxy_variables(const struct plan *plan, const char ***variables);
void plan_limits(struct plan *plan, const struct facts *facts);

/* Whether there can be a doorman. */
void plan_doorman_ask(struct plan *plan, const struct facts *facts);
/* Git replaces its configuration by another file, which a mount would keep it from:
 * the doorman alone holds it, and judges what it is replaced by. */
bool plan_leaves_to_doorman(const struct plan *plan, const struct path_rule *rule);
/* Where it writes. Needs the steps. */
void plan_doorman_place(struct plan *plan, const struct tree *tree);
/* May this system call come before it? */
bool plan_doorman_is_asked_about(struct slice call);
/* A rule about files needs it. */
void plan_doorman_call(struct plan *plan, struct origin origin, struct slice text);
/* What needs it without a rule of its own: protected names and sockets. */
void plan_doorman_needs(struct plan *plan);
/* Whoever is at the door anyway tells what is refused. Where nothing else needs
 * one, it is not for this that there is a doorman. */
void plan_doorman_watch(struct plan *plan);

void plan_add_hold(struct plan *plan, struct hold hold);
/* Of a rule about a path. */
void plan_hold_rule(struct plan *plan, const struct path_rule *rule, unsigned locks, const char *note);
void plan_hold_by_doorman(struct plan *plan, const struct path_rule *rule, const char *note);
/* The one that holds files where there is no other: mounts, or Landlock alone. */
unsigned plan_first_lock(const struct plan *plan);

/* Can something at or below it be written, as far as mounts go? */
bool plan_writable_overlaps(const struct plan *plan, struct slice directory);

/* Rules about reading and files to come (late_reads.c). */

/* A pattern that lets files be read, and does not let them be written. */
bool plan_shows_by_pattern(const struct path_rule *rule);
/* Is this directory, which policy hides, to be shown all the same, for what such a pattern matches in it? */
bool plan_shows_for_doorman(const struct plan *plan, struct slice directory);
/* Does the rule hide what it speaks of, or show it as empty? */
bool plan_hides_reading(const struct path_rule *rule);
/* Which lock holds it; or it is refused. */
void plan_judge_showing_pattern(struct plan *plan, const struct path_rule *rule);
void plan_judge_hiding_pattern(struct plan *plan, const struct path_rule *rule);
/* False: nothing needs to be held but what every absent name has. */
bool plan_judge_hidden_later(struct plan *plan, const struct path_rule *rule);

/* Which lock holds each rule, and what no lock holds. */
void plan_refuse(struct plan *plan, struct origin origin, const char *token, const char *what);
/* What matches at any depth only the doorman could hold, and there is none. */
void plan_refuse_tree_pattern(struct plan *plan, const struct path_rule *rule);
void plan_holds(struct plan *plan, const struct tree *tree);

#endif
