/* From what a command did to the smallest policy under which it can do it again.
 * Pure: events in, lessons out. */
#ifndef CLOCHE_WATCH_LEARN_H
#define CLOCHE_WATCH_LEARN_H

#include "policy/tree.h"
#include "watch/watch.h"

/* Needed: it did that. Optional: it was refused that, and succeeded all the same.
 * Refused: no policy is proposed for it. */
enum lesson_tier { LESSON_NEEDED, LESSON_OPTIONAL, LESSON_REFUSED, LESSON_TIERS };

enum lesson_list { LESSON_READ, LESSON_WRITE, LESSON_HOST, LESSON_SOCKET, LESSON_NONE };

struct lesson {
    enum lesson_tier tier;
    enum lesson_list list;
    struct slice object; /* path, host:port, socket, system call */
    struct slice entry;  /* as a policy says it: "~/.config/x"; refused: empty */
    struct slice program;
    uint64_t count;    /* how often it happened */
    struct slice why;  /* refused: why */
    bool must_be_made; /* it is not there: nothing can be granted before it is */
    bool is_directory; /* then, as what */
};

struct lessons {
    struct arena *arena;
    struct lesson *items;
    size_t count;
    size_t capacity;
};

struct learning {
    const struct policy *policy; /* that was in force */
    const struct tree *tree;     /* the host's */
    bool succeeded;              /* the command ended with 0 */
};

void learn(const struct learning *learning, const struct watch *watch, struct lessons *lessons);

/* The policy as text, with comments; `extends` are its entries, `extend_count` of them. */
void lessons_write_policy(const struct lessons *lessons, struct slice command, const char *const *extends,
                          size_t extend_count, struct text *out);

/* For people: what was seen against what is granted. One line each, with no prefix. */
void lessons_write_report(const struct lessons *lessons, struct text *out);

#endif
