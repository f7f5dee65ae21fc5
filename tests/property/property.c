/* The property that matters: apply the plan of a random policy to a random tree,
 * look at every path, and compare with decide(). They agree, always.
 *
 *   property check COUNT [SEED]            over a model; prints the smallest case that disagrees
 *   property confine COUNT [SEED]          the same with Landlock alone, which may refuse more and never less
 *   property emit COUNT SEED PREFIX        cases as JSON lines, for real runs (test_property.py)
 *
 * What decide() refuses and no mount can hold (names that may appear later, patterns
 * over what may be read) is the doorman's: such cases are known by `is_known_gap` and
 * `is_read_by_doorman`, exactly those, and compared in the real runs. */
#include "random_case.h"
#include "tree_model.h"

#include "base/path.h"
#include "policy/load.h"
#include "policy/protect.h"
#include "policy/resolve.h"

#include <stdio.h>
#include <stdlib.h>

struct trial {
    struct arena *arena;
    const struct random_case *test;
    struct model model;
    struct policy policy;
    struct plan plan;
    struct text complaint;
    struct text *out; /* emit only */
    size_t compared;
    size_t granted;
    size_t gaps;
};

enum verdict { AGREE, DISAGREE, REFUSED };

static bool prepare(struct trial *trial, const struct random_case *test, struct arena *arena, enum backend backend)
{
    static const char *const always[] = {"/tmp", "/var/tmp", "/run", "/proc", "/dev", "/usr", "/etc"};
    static char *no_environment[] = {NULL};
    struct surroundings around = {.project = test->project,
                                  .home = test->home,
                                  .user = SLICE("someone"),
                                  .host_name = SLICE("somewhere"),
                                  .environment = no_environment,
                                  .backend = backend};
    struct policy_source source = {.kind = SOURCE_TEXT, .name = "case"};
    struct policy_request request = {.sources = &source, .source_count = 1};
    struct problems problems = {.arena = arena};
    struct facts facts = {.kernel_major = 6, .kernel_minor = 1, .landlock_abi = 3, .listener = true};
    struct error err;

    *trial = (struct trial){.arena = arena, .test = test, .complaint = text_in(arena)};
    model_init(&trial->model, arena);
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        model_add(&trial->model, slice_of(always[i]), NODE_DIRECTORY, (struct slice){0});
    for (size_t i = 0; i < test->node_count; i++) {
        if (!test->nodes[i].left_out)
            model_add(&trial->model, test->nodes[i].path, test->nodes[i].kind, test->nodes[i].target);
    }

    source.text = random_case_policy(test, arena);
    if (!policy_load(arena, &around, &request, &trial->policy, &problems)) {
        for (size_t i = 0; i < problems.count; i++)
            fprintf(stderr, "property: case %llu does not load: %s: %s\n", (unsigned long long)test->seed,
                    problems.items[i].path, problems.items[i].text);
        exit(2);
    }
    policy_resolve(&trial->policy, &trial->model.tree, &problems);
    if (problems.errors)
        return false;
    if (!plan_make(arena, &trial->policy, &facts, &trial->model.tree, test->project, &trial->plan, &err)) {
        text_appendf(&trial->complaint, "no plan: %s", err.text);
        return true;
    }
    for (size_t i = 0; i < trial->plan.refusal_count; i++) {
        if (!trial->plan.refusals[i].token)
            return false;
    }
    if (backend == BACKEND_NAMESPACES && !model_apply(&trial->model, &trial->plan, &err))
        text_appendf(&trial->complaint, "the plan cannot be carried out: %s", err.text);
    return true;
}

struct search {
    struct slice wanted;
    bool found;
};

static void compare_candidate(void *argument, struct slice path)
{
    struct search *search = argument;

    search->found = search->found || slice_equal(path, search->wanted);
}

/* Protected names are held where they exist at the top of a writable root. */
static bool is_held_protection(const struct trial *trial, struct slice path)
{
    for (size_t i = 0; i < trial->policy.paths.count; i++) {
        const struct path_rule *rule = &trial->policy.paths.items[i];
        if (rule->dropped || !rule_grants_writing(rule) || !rule->pattern.literal || rule->node != NODE_DIRECTORY ||
            !path_covers(rule->real, path) || !decide_real_path(&trial->policy, OPERATION_WRITE, rule->real).allowed)
            continue;
        for (size_t depth = path_depth(rule->real) + 1; depth <= path_depth(path); depth++) {
            struct search search = {.wanted = path_prefix(path, depth)};
            struct tree_place place;
            protect_candidates(&trial->policy, rule->real, trial->arena, compare_candidate, &search);
            if (search.found && tree_follow(&trial->model.tree, trial->arena, search.wanted, &place, NULL) &&
                place.node != NODE_ABSENT && !place.link_count)
                return true;
        }
    }
    return false;
}

static bool is_about_later(const struct trial *trial, const struct decision *decision)
{
    for (size_t i = 0; i < trial->policy.paths.count; i++) {
        const struct path_rule *rule = &trial->policy.paths.items[i];
        if (rule->origin.path == decision->origin.path && rule->origin.file == decision->origin.file &&
            (!rule->pattern.literal || rule->node == NODE_ABSENT))
            return true;
    }
    return false;
}

/* A refused write that the mounts let through: is it one that only the doorman
 * can hold? */
static bool is_known_gap(const struct trial *trial, struct slice real, const struct decision *writing)
{
    if (strcmp(writing->origin.path, "protected names") == 0)
        return !is_held_protection(trial, real) || decide_git_config(&trial->policy, real);
    return is_about_later(trial, writing);
}

/* Does the doorman judge the reading of it, beyond what the mounts show? */
static bool is_read_by_doorman(const struct trial *trial, struct slice real, const struct decision *reading)
{
    return trial->plan.doorman.performs_reads && (plan_is_judged(&trial->plan, real) || is_about_later(trial, reading));
}

static void complain(struct trial *trial, struct slice path, const char *words, const struct decision *decision)
{
    if (trial->complaint.len)
        return;
    text_append_escaped(&trial->complaint, path);
    text_appendf(&trial->complaint, ": %s (decide: %s, %s, %s)", words, decision->allowed ? "allowed" : "denied",
                 decision->why, decision->origin.path);
}

/* A link that stands in a hidden directory is not there inside. */
static bool passes_hidden_link(const struct trial *trial, const struct tree_place *place)
{
    for (size_t i = 0; i < place->link_count; i++) {
        struct decision decision = decide_real_path(&trial->policy, OPERATION_READ, path_parent(place->links[i].at));
        if (!decision.allowed || decision.backing == BACKING_PRIVATE || decision.access == ACCESS_EMPTY)
            return true;
    }
    return false;
}

struct expectation {
    enum node node;
    bool skip_reading;
    bool readable; /* a file can be read, a directory listed */
    bool empty;
    bool own; /* a directory of cloche's making: shows only what is allowed */
    bool skip_writing;
    bool writable;
    bool read_gap;    /* the mounts may show what is not to be read */
    bool gap_allowed; /* a write that goes through is a known gap */
};

static bool expect(const struct trial *trial, struct slice path, struct expectation *expected, struct slice *real,
                   struct decision *reading, struct decision *writing)
{
    struct tree_place place;
    struct tree_place parent;

    if (!tree_follow(&trial->model.tree, trial->arena, path, &place, NULL) || passes_hidden_link(trial, &place))
        return false;
    *real = place.path;
    *reading = decide_real_path(&trial->policy, OPERATION_READ, place.path);
    *writing = decide_real_path(&trial->policy, OPERATION_WRITE, place.path);
    *expected = (struct expectation){.node = place.node};
    /* What the host has below a private place is not there inside. */
    if (reading->backing != BACKING_HOST)
        return false;
    bool by_doorman = is_read_by_doorman(trial, place.path, reading);
    /* A directory is never shown as an empty one by the doorman, nor part of it. */
    bool passes = reading->passage && !by_doorman;
    bool emptied =
        by_doorman && reading->access == ACCESS_EMPTY && plan_access_at(&trial->plan, place.path) > ACCESS_EMPTY;
    expected->readable = place.node == NODE_DIRECTORY ? (reading->allowed && !emptied) || passes : reading->allowed;
    expected->read_gap = by_doorman;
    /* Where mounts made a directory that shows only what is allowed, it may be listed; else it may not. */
    expected->skip_reading = by_doorman && reading->passage && place.node == NODE_DIRECTORY;
    expected->empty = reading->allowed && reading->access == ACCESS_EMPTY;
    expected->own = place.node == NODE_DIRECTORY && (!reading->allowed || expected->empty) && !emptied;
    expected->writable = writing->allowed;
    expected->gap_allowed = !writing->allowed && is_known_gap(trial, place.path, writing);
    if (place.node == NODE_ABSENT) {
        expected->skip_reading = true;
        if (!tree_follow(&trial->model.tree, trial->arena, path_parent(place.path), &parent, NULL) ||
            parent.node != NODE_DIRECTORY)
            return false;
        /* In a tmpfs of ours, only what policy names is there. */
        struct decision above = decide_real_path(&trial->policy, OPERATION_READ, parent.path);
        if (writing->allowed && (!above.allowed || above.access == ACCESS_EMPTY))
            return false;
    }
    if (place.node == NODE_DIRECTORY)
        expected->skip_writing = true; /* asked through a new name in it */
    return true;
}

static void compare(struct trial *trial, struct slice path)
{
    struct expectation expected;
    struct decision reading;
    struct decision writing;
    struct slice real;

    if (!expect(trial, path, &expected, &real, &reading, &writing))
        return;
    trial->compared++;

    struct sight sight = model_look(&trial->model, path);
    bool readable = sight.outcome == OUTCOME_HOST || sight.outcome == OUTCOME_EMPTY || sight.outcome == OUTCOME_OWN;
    if (!expected.skip_reading) {
        if (expected.read_gap && readable && (!expected.readable || expected.empty))
            trial->gaps++;
        else if (readable != expected.readable)
            complain(trial, path, readable ? "the plan shows it" : "the plan does not show it", &reading);
        else if (readable && expected.node == NODE_FILE && expected.empty != (sight.outcome == OUTCOME_EMPTY))
            complain(trial, path, "not the content that was decided", &reading);
        else if (readable && expected.node == NODE_DIRECTORY && expected.own != (sight.outcome == OUTCOME_OWN))
            complain(trial, path, expected.own ? "the plan lists the host's directory" : "the plan lists a skeleton",
                     &reading);
    }
    if (expected.skip_writing)
        return;

    bool writable = sight.writable && sight.outcome == OUTCOME_HOST;
    if (expected.node == NODE_ABSENT) {
        struct sight above = model_look(&trial->model, path_parent(real));
        writable = above.writable && above.kind == NODE_DIRECTORY && above.outcome != OUTCOME_REFUSED;
    }
    if ((writable && !expected.writable && expected.gap_allowed) ||
        (!writable && expected.writable && plan_is_judged(&trial->plan, real)))
        trial->gaps++;
    else if (writable != expected.writable)
        complain(trial, path, writable ? "the plan lets it be written" : "the plan does not let it be written",
                 &writing);
}

static void compare_grants(struct trial *trial, struct slice path)
{
    const struct tree *tree = &trial->model.tree;
    struct tree_place place;

    if (!tree_follow(tree, trial->arena, path, &place, NULL))
        return;
    struct decision reading = decide_real_path(&trial->policy, OPERATION_READ, place.path);
    struct decision writing = decide_real_path(&trial->policy, OPERATION_WRITE, place.path);
    bool readable = place.node != NODE_ABSENT && plan_grants(&trial->plan, tree, place.path, false);
    bool writable = plan_grants(&trial->plan, tree, place.path, true);
    trial->compared++;
    trial->granted += readable;
    if (readable && !reading.allowed)
        complain(trial, path, "Landlock lets it be read", &reading);
    if (writable && !writing.allowed && is_known_gap(trial, place.path, &writing))
        trial->gaps++;
    else if (writable && !writing.allowed)
        complain(trial, path, "Landlock lets it be written", &writing);
}

static void for_each_probe(struct trial *trial, void (*visit)(struct trial *trial, struct slice path))
{
    for (size_t i = 0; i < trial->test->node_count; i++) {
        const struct case_node *node = &trial->test->nodes[i];
        if (node->left_out)
            continue;
        visit(trial, node->path);
        if (node->kind != NODE_FILE) {
            visit(trial, path_join(trial->arena, node->path, SLICE("new")));
            visit(trial, path_join(trial->arena, node->path, SLICE("a")));
            visit(trial, path_join(trial->arena, node->path, SLICE(".envrc")));
        }
    }
    for (size_t i = 0; i < trial->test->rule_count; i++) {
        if (!trial->test->rules[i].left_out && !name_has_wildcard(trial->test->rules[i].path))
            visit(trial, trial->test->rules[i].path);
    }
}

struct tally {
    size_t compared;
    size_t granted;
    size_t gaps;
};

static enum verdict judge(const struct random_case *test, enum backend backend, struct text *complaint,
                          struct tally *tally)
{
    ARENA_CLEANUP struct arena arena = {0};
    struct trial trial;

    if (!prepare(&trial, test, &arena, backend))
        return REFUSED;
    if (!trial.complaint.len)
        for_each_probe(&trial, backend == BACKEND_LANDLOCK ? compare_grants : compare);
    tally->compared += trial.compared;
    tally->granted += trial.granted;
    tally->gaps += trial.gaps;
    if (!trial.complaint.len)
        return AGREE;
    complaint->len = 0;
    text_append(complaint, text_slice(&trial.complaint));
    return DISAGREE;
}

/* Leaves out whatever is not needed for the disagreement. */
static void shrink(struct random_case *test, enum backend backend, struct text *complaint)
{
    struct tally unused = {0};
    bool smaller = true;

    while (smaller) {
        smaller = false;
        for (size_t i = 0; i < test->rule_count + test->node_count; i++) {
            bool *left_out =
                i < test->rule_count ? &test->rules[i].left_out : &test->nodes[i - test->rule_count].left_out;
            if (*left_out)
                continue;
            *left_out = true;
            if (judge(test, backend, complaint, &unused) == DISAGREE)
                smaller = true;
            else
                *left_out = false;
        }
    }
    judge(test, backend, complaint, &unused);
}

static int check(enum backend backend, uint64_t count, uint64_t first_seed)
{
    struct tally tally = {0};
    uint64_t refused = 0;

    for (uint64_t i = 0; i < count; i++) {
        ARENA_CLEANUP struct arena arena = {0};
        struct random_case test;
        struct text complaint = text_in(&arena);
        enum verdict verdict;

        random_case_make(&test, &arena, first_seed + i, i % 4 ? SLICE("/w") : SLICE("/tmp/w"));
        verdict = judge(&test, backend, &complaint, &tally);
        if (verdict == DISAGREE) {
            struct text out = text_in(&arena);
            shrink(&test, backend, &complaint);
            random_case_print(&test, &out);
            printf("the plan and decide() disagree:\n%s\n%s", complaint.ptr, out.ptr);
            return 1;
        }
        refused += verdict == REFUSED;
    }
    printf("%llu random policies, %llu of them refused, %zu paths compared, %zu held only by the doorman to come\n",
           (unsigned long long)count, (unsigned long long)refused, tally.compared, tally.gaps);
    /* A generator that makes nothing worth comparing would pass for ever. */
    return refused * 3 > count * 2 || tally.compared < count * 10 ||
           (backend == BACKEND_LANDLOCK && tally.granted * 5 < tally.compared);
}

static void emit_probe(struct trial *trial, struct slice path)
{
    struct expectation expected;
    struct decision reading;
    struct decision writing;
    struct slice real;

    if (!expect(trial, path, &expected, &real, &reading, &writing))
        return;
    text_append_string(trial->out, trial->compared++ ? ",{\"path\":" : "{\"path\":");
    text_append_json(trial->out, path);
    text_appendf(trial->out, ",\"node\":\"%s\"",
                 expected.node == NODE_FILE        ? "file"
                 : expected.node == NODE_DIRECTORY ? "directory"
                                                   : "absent");
    if (!expected.skip_reading)
        text_appendf(trial->out, ",\"read\":%s,\"empty\":%s", expected.readable ? "true" : "false",
                     expected.empty || expected.own ? "true" : "false");
    if (!expected.skip_writing && !expected.gap_allowed)
        text_appendf(trial->out, ",\"write\":%s", expected.writable ? "true" : "false");
    text_append_byte(trial->out, '}');
}

static void emit_nodes(const struct random_case *test, struct text *out)
{
    for (size_t i = 0; i < test->node_count; i++) {
        const struct case_node *node = &test->nodes[i];
        text_append_string(out, i ? ",{\"path\":" : "{\"path\":");
        text_append_json(out, node->path);
        text_appendf(out, ",\"kind\":\"%s\",\"target\":",
                     node->kind == NODE_FILE        ? "file"
                     : node->kind == NODE_DIRECTORY ? "directory"
                                                    : "link");
        text_append_json(out, node->target);
        text_append_byte(out, '}');
    }
}

static int emit(uint64_t count, uint64_t seed, const char *prefix)
{
    for (uint64_t made = 0; made < count; seed++) {
        ARENA_CLEANUP struct arena arena = {0};
        struct random_case test;
        struct trial trial;
        struct text out = text_in(&arena);

        random_case_make(&test, &arena, seed, slice_of(prefix));
        if (!prepare(&trial, &test, &arena, BACKEND_NAMESPACES) || trial.complaint.len)
            continue;
        made++;
        trial.out = &out;
        text_appendf(&out, "{\"seed\":%llu,\"project\":", (unsigned long long)seed);
        text_append_json(&out, test.project);
        text_append_string(&out, ",\"home\":");
        text_append_json(&out, test.home);
        text_append_string(&out, ",\"tools\":");
        text_append_json(&out, test.tools);
        text_append_string(&out, ",\"policy\":");
        text_append_json(&out, random_case_policy(&test, &arena));
        text_append_string(&out, ",\"tree\":[");
        emit_nodes(&test, &out);
        text_append_string(&out, "],\"probes\":[");
        for_each_probe(&trial, emit_probe);
        text_append_string(&out, "]}");
        puts(out.ptr);
    }
    return 0;
}

static uint64_t number(const char *text)
{
    return strtoull(text, NULL, 10);
}

int main(int argc, char **argv)
{
    if (argc >= 3 && strcmp(argv[1], "check") == 0)
        return check(BACKEND_NAMESPACES, number(argv[2]), argc > 3 ? number(argv[3]) : 1);
    if (argc >= 3 && strcmp(argv[1], "confine") == 0)
        return check(BACKEND_LANDLOCK, number(argv[2]), argc > 3 ? number(argv[3]) : 1);
    if (argc == 5 && strcmp(argv[1], "emit") == 0)
        return emit(number(argv[2]), number(argv[3]), argv[4]);
    fprintf(stderr, "usage: property check|confine COUNT [SEED] | property emit COUNT SEED PREFIX\n");
    return 2;
}
