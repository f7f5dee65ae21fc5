#include "random_case.h"

#include "base/path.h"
#include "policy/pattern.h"

struct dice {
    uint64_t state;
};

static uint64_t roll(struct dice *dice, uint64_t sides)
{
    dice->state ^= dice->state << 13;
    dice->state ^= dice->state >> 7;
    dice->state ^= dice->state << 17;
    return dice->state % sides;
}

/* Ordinary names, names that are prefixes of each other, names that mean
 * something to git and shells, and names that look like patterns. */
static const char *const names[] = {"a",    "b",     "ab",      "a.b",     "c",   ".git",  "hooks", "config",
                                    ".env", ".envx", ".vscode", ".bashrc", "s*r", "q[x]y", "n\nl",  "info"};

static struct slice random_name(struct dice *dice)
{
    /* Half of the time one of the first few, so that paths meet. */
    uint64_t sides = roll(dice, 2) ? 3 : sizeof names / sizeof *names;

    return slice_of(names[roll(dice, sides)]);
}

static const struct case_node *find(const struct random_case *test, struct slice path)
{
    for (size_t i = 0; i < test->node_count; i++) {
        if (slice_equal(test->nodes[i].path, path))
            return &test->nodes[i];
    }
    return NULL;
}

static struct slice random_directory(const struct random_case *test, struct dice *dice)
{
    for (int tries = 0; tries < 20; tries++) {
        const struct case_node *node = &test->nodes[roll(dice, test->node_count)];
        if (node->kind == NODE_DIRECTORY)
            return node->path;
    }
    return test->project;
}

static void add_node(struct random_case *test, struct slice path, enum node kind, struct slice target)
{
    if (test->node_count < CASE_NODES_MAX && !find(test, path) && path_depth(path) < 10)
        test->nodes[test->node_count++] = (struct case_node){path, kind, target, false};
}

static struct slice random_target(const struct random_case *test, struct dice *dice)
{
    struct slice existing = test->nodes[roll(dice, test->node_count)].path;

    switch (roll(dice, 4)) {
    case 0:
        return random_name(dice);
    case 1:
        return path_join(test->arena, SLICE(".."), random_name(dice));
    case 2:
        return path_join(test->arena, existing, random_name(dice));
    default:
        return existing;
    }
}

static void grow_tree(struct random_case *test, struct dice *dice)
{
    size_t wanted = 6 + roll(dice, 26);

    add_node(test, test->prefix, NODE_DIRECTORY, (struct slice){0});
    add_node(test, test->home, NODE_DIRECTORY, (struct slice){0});
    add_node(test, test->project, NODE_DIRECTORY, (struct slice){0});
    /* A run that could make cloche's own files is refused, and would tell nothing. */
    add_node(test, path_join(test->arena, test->home, SLICE(".config/cloche")), NODE_DIRECTORY, (struct slice){0});
    add_node(test, path_join(test->arena, test->home, SLICE(".local/state/cloche")), NODE_DIRECTORY, (struct slice){0});
    add_node(test, path_join(test->arena, test->home, SLICE(".srt-settings.json")), NODE_FILE, (struct slice){0});
    /* Real runs keep their probe here. */
    add_node(test, test->tools, NODE_DIRECTORY, (struct slice){0});
    for (size_t i = 0; i < wanted; i++) {
        struct slice path = path_join(test->arena, random_directory(test, dice), random_name(dice));
        uint64_t kind = roll(dice, 10);
        if (kind < 5)
            add_node(test, path, NODE_DIRECTORY, (struct slice){0});
        else if (kind < 8)
            add_node(test, path, NODE_FILE, (struct slice){0});
        else
            add_node(test, path, NODE_LINK, random_target(test, dice));
    }
}

static struct slice random_path(const struct random_case *test, struct dice *dice)
{
    struct slice path = test->nodes[roll(dice, test->node_count)].path;

    if (slice_equal(path, test->tools))
        return test->project;
    switch (roll(dice, 8)) {
    case 0:
        return path_join(test->arena, path, random_name(dice));
    case 1:
        return path_parent(path);
    case 2:
        return test->project;
    default:
        return path;
    }
}

/* Over the project, or something in it, and what comes there later. */
static struct slice random_pattern(const struct random_case *test, struct dice *dice)
{
    static const char *const patterns[] = {"**/.e*", "**/c", "[ab]/*", "*/b", "**/a*/**/?", "a*"};
    struct slice base = roll(dice, 2) ? test->project : random_directory(test, dice);

    if (name_has_wildcard(base) || !path_covers(test->project, base))
        base = test->project;
    return path_join(test->arena, base, slice_of(patterns[roll(dice, sizeof patterns / sizeof *patterns)]));
}

static void add_rule(struct random_case *test, struct dice *dice)
{
    static const char *const lists[] = {"denyRead", "allowRead", "denyWrite", "allowWrite", "rules"};
    static const char *const accesses[] = {"none", "read", "write", "ro-bind-null"};
    struct case_rule *rule = &test->rules[test->rule_count++];

    *rule = (struct case_rule){.list = lists[roll(dice, 5)], .path = random_path(test, dice)};
    if (slice_is(slice_of(rule->list), "rules")) {
        rule->access = accesses[roll(dice, 4)];
        if (name_has_wildcard(rule->path))
            rule->path = test->project;
        if (roll(dice, 8) == 0 && strcmp(rule->access, "write") != 0)
            rule->path = random_pattern(test, dice);
        return;
    }
    if (slice_ends(slice_of(rule->list), SLICE("Read")) && roll(dice, 8) == 0) {
        rule->path = random_pattern(test, dice);
        return;
    }
    if (slice_is(slice_of(rule->list), "denyRead") && roll(dice, 6) == 0) {
        rule->path = path_join(test->arena, test->project, roll(dice, 2) ? SLICE(".e*") : SLICE("[ab]"));
        rule->at_start = true;
        return;
    }
    rule->literal = name_has_wildcard(rule->path) || roll(dice, 4) == 0;
}

void random_case_make(struct random_case *test, struct arena *arena, uint64_t seed, struct slice prefix)
{
    struct dice dice = {seed * 0x9e3779b97f4a7c15U + 0x2545f4914f6cdd1dU};

    for (int i = 0; i < 8; i++)
        roll(&dice, 2);
    *test = (struct random_case){.arena = arena, .seed = seed, .prefix = prefix};
    test->home = path_join(arena, prefix, SLICE("home"));
    test->project = path_join(arena, roll(&dice, 3) ? test->home : prefix, SLICE("p"));
    test->tools = path_join(arena, prefix, SLICE("tools"));
    test->listed = roll(&dice, 3) == 0;
    test->private_tmp = roll(&dice, 2) == 0;
    grow_tree(test, &dice);
    test->rules[test->rule_count++] = (struct case_rule){.list = "allowRead", .path = test->tools};
    size_t rules = roll(&dice, 9);
    for (size_t i = 0; i < rules; i++)
        add_rule(test, &dice);
}

static void print_rule(const struct case_rule *rule, struct text *out)
{
    if (rule->access || rule->literal || rule->at_start) {
        text_append_string(out, "{\"path\":");
        text_append_json(out, rule->path);
        if (rule->access)
            text_appendf(out, ",\"access\":\"%s\"", rule->access);
        if (rule->literal)
            text_append_string(out, ",\"literal\":true");
        if (rule->at_start)
            text_append_string(out, ",\"atStart\":true");
        text_append_byte(out, '}');
    } else {
        text_append_json(out, rule->path);
    }
}

static void print_list(const struct random_case *test, const char *list, struct text *out)
{
    bool first = true;

    text_appendf(out, "\"%s\":[", list);
    for (size_t i = 0; i < test->rule_count; i++) {
        if (test->rules[i].left_out || strcmp(test->rules[i].list, list) != 0)
            continue;
        if (!first)
            text_append_byte(out, ',');
        first = false;
        print_rule(&test->rules[i], out);
    }
    text_append_byte(out, ']');
}

struct slice random_case_policy(const struct random_case *test, struct arena *arena)
{
    struct text out = text_in(arena);
    static const char *const lists[] = {"denyRead", "denyWrite", "allowWrite"};

    text_appendf(&out, "{\"extends\":[],\"filesystem\":{\"readMode\":\"%s\",\"platformDefaults\":false,\"tmp\":\"%s\"",
                 test->listed ? "listed" : "all", test->private_tmp ? "private" : "host");
    for (size_t i = 0; i < 3; i++) {
        text_append_byte(&out, ',');
        print_list(test, lists[i], &out);
    }
    text_append_byte(&out, ',');
    print_list(test, "allowRead", &out);
    text_append_string(&out, "},");
    print_list(test, "rules", &out);
    text_append_byte(&out, '}');
    return text_slice(&out);
}

void random_case_print(const struct random_case *test, struct text *out)
{
    struct slice policy = random_case_policy(test, test->arena);

    text_appendf(out, "seed %llu, project ", (unsigned long long)test->seed);
    text_append_escaped(out, test->project);
    text_append_string(out, "\npolicy ");
    text_append(out, policy);
    text_append_byte(out, '\n');
    for (size_t i = 0; i < test->node_count; i++) {
        const struct case_node *node = &test->nodes[i];
        if (node->left_out)
            continue;
        text_append_string(out, node->kind == NODE_DIRECTORY ? "  directory "
                                : node->kind == NODE_FILE    ? "  file "
                                                             : "  link ");
        text_append_escaped(out, node->path);
        if (node->kind == NODE_LINK) {
            text_append_string(out, " -> ");
            text_append_escaped(out, node->target);
        }
        text_append_byte(out, '\n');
    }
}
