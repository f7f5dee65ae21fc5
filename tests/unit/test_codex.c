/* Codex's policies: what each form becomes, and what decide() and the plan make
 * of it on a tree. */
#include "loading.h"
#include "world.h"

#include "base/path.h"
#include "policy/codex.h"

static const char root_read[] = "{\"path\":{\"type\":\"special\",\"value\":{\"kind\":\"root\"}},\"access\":\"read\"}";
static const char project_write[] =
    "{\"path\":{\"type\":\"special\",\"value\":{\"kind\":\"project_roots\"}},\"access\":\"write\"}";

static struct loaded *load_codex(enum personality personality, enum policy_format format, const char *text)
{
    struct policy_source source = {.kind = SOURCE_TEXT, .name = "test", .text = slice_of(text), .format = format};
    struct policy_request request = {.sources = &source, .source_count = 1};

    return load_request(made_up(personality), &request);
}

static struct loaded *load_profile(const char *entries)
{
    static char text[4096];

    snprintf(text, sizeof text,
             "{\"type\":\"managed\",\"file_system\":{\"type\":\"restricted\",\"entries\":[%s]},"
             "\"network\":\"restricted\"}",
             entries);
    return load_codex(PERSONALITY_CODEX, FORMAT_CODEX_PROFILE, text);
}

/* A world with this profile; the project is /home/u/p. */
static bool make_world(struct world *world, const char *tree, const char *first, const char *second, const char *third)
{
    static char text[4096];

    snprintf(text, sizeof text,
             "{\"type\":\"managed\",\"file_system\":{\"type\":\"restricted\",\"entries\":[%s%s%s%s%s]},"
             "\"network\":\"restricted\"}",
             first, second ? "," : "", second ? second : "", third ? "," : "", third ? third : "");
    return world_make_codex(world, tree, text);
}

static void test_root_alone_reads_everything_and_writes_nothing(void **state)
{
    struct loaded *loaded = load_profile(root_read);

    (void)state;
    assert_true(loaded->good);
    assert_int_equal(loaded->policy.filesystem.read_mode, READ_ALL);
    assert_string_equal(loaded->policy.filesystem.read_mode_origin.path, "file_system.entries[0]");
    assert_int_equal(loaded->policy.filesystem.tmp, TMP_HOST);
    assert_int_equal(loaded->policy.paths.count, 1); /* Codex's own server is hidden */
    assert_int_equal(loaded->policy.paths.items[0].access, ACCESS_NONE);
    assert_int_equal(policy_network_mode(&loaded->policy), NETWORK_NONE);
    assert_false(loaded->policy.network.allow_all_unix_sockets);
    unload(loaded);
}

static void test_no_entries_show_nothing(void **state)
{
    struct loaded *loaded = load_profile("");

    (void)state;
    assert_true(loaded->good);
    assert_int_equal(loaded->policy.filesystem.read_mode, READ_LISTED);
    assert_false(loaded->policy.filesystem.platform_defaults);
    unload(loaded);
}

static void test_of_entries_for_one_path_the_strongest_makes_the_rule(void **state)
{
    static const struct {
        const char *first, *second;
        enum access expected;
    } cases[] = {{"read", "write", ACCESS_WRITE}, {"write", "read", ACCESS_WRITE}, {"write", "deny", ACCESS_NONE},
                 {"none", "write", ACCESS_NONE},  {"deny", "read", ACCESS_NONE},   {"read", "read", ACCESS_READ}};
    char entries[512];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(entries, sizeof entries,
                 "{\"path\":{\"type\":\"path\",\"path\":\"/x/y\"},\"access\":\"%s\"},"
                 "{\"path\":{\"type\":\"path\",\"path\":\"/x/./z/../y/\"},\"access\":\"%s\"}",
                 cases[i].first, cases[i].second);
        struct loaded *loaded = load_profile(entries);
        assert_true(loaded->good);
        assert_int_equal(loaded->policy.paths.count, 2);
        assert_int_equal(find_rule(loaded, LIST_RULES, "/x/y")->access, cases[i].expected);
        unload(loaded);
    }
}

static void test_wildcards_tildes_and_dollars_in_a_path_are_ordinary_bytes(void **state)
{
    struct loaded *loaded = load_profile("{\"path\":{\"type\":\"path\",\"path\":\"/x/*/$HOME/~/{a}\"},"
                                         "\"access\":\"deny\"}");

    (void)state;
    assert_true(loaded->good);
    assert_true(find_rule(loaded, LIST_RULES, "/x/*/$HOME/~/{a}")->pattern.literal);
    unload(loaded);
}

static void test_pattern_for_all_below_a_directory_is_that_directory(void **state)
{
    struct loaded *loaded =
        load_profile("{\"path\":{\"type\":\"glob_pattern\",\"pattern\":\"/x/y/**\"},\"access\":\"deny\"}");

    (void)state;
    assert_true(loaded->good);
    assert_int_equal(find_rule(loaded, LIST_RULES, "/x/y")->access, ACCESS_NONE);
    assert_false(find_rule(loaded, LIST_RULES, "/x/y")->expanded);
    unload(loaded);
}

static void test_origin_names_the_entry(void **state)
{
    struct loaded *loaded =
        load_profile("{\"path\":{\"type\":\"path\",\"path\":\"/a\"},\"access\":\"read\"},"
                     "{\"path\":{\"type\":\"special\",\"value\":{\"kind\":\"project_roots\",\"subpath\":\"s/./t\"}},"
                     "\"access\":\"write\"}");

    (void)state;
    assert_string_equal(find_rule(loaded, LIST_RULES, "/home/u/work/s/t")->origin.path, "file_system.entries[1]");
    assert_string_equal(find_rule(loaded, LIST_RULES, "/a")->origin.file, "test");
    unload(loaded);
}

static void test_under_the_name_cloche_it_stands_on_base(void **state)
{
    struct loaded *cloche = load_codex(PERSONALITY_CLOCHE, FORMAT_CODEX, "{\"type\":\"read-only\"}");
    struct loaded *codex = load_codex(PERSONALITY_CODEX, FORMAT_CODEX_SANDBOX_POLICY, "{\"type\":\"read-only\"}");

    (void)state;
    assert_true(cloche->good && codex->good);
    assert_non_null(find_rule(cloche, LIST_DENY_READ, "/home/u/.ssh"));
    assert_null(find_rule(codex, LIST_DENY_READ, "/home/u/.ssh"));
    assert_int_equal(codex->policy.environment.deny.count, 0);
    unload(cloche);
    unload(codex);
}

static void test_format_that_was_asked_for_is_the_only_one_taken(void **state)
{
    static const char profile[] = "{\"type\":\"disabled\"}";
    static const char policy[] = "{\"type\":\"danger-full-access\"}";
    static const struct {
        enum policy_format format;
        const char *text;
        bool good;
    } cases[] = {
        {FORMAT_CODEX, profile, true},
        {FORMAT_CODEX, policy, true},
        {FORMAT_CODEX_PROFILE, profile, true},
        {FORMAT_CODEX_PROFILE, policy, false},
        {FORMAT_CODEX_SANDBOX_POLICY, profile, false},
        {FORMAT_CODEX_SANDBOX_POLICY, policy, true},
        {FORMAT_CODEX_PROFILE, "{}", true},
        {FORMAT_CODEX_SANDBOX_POLICY, "{}", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct loaded *loaded = load_codex(PERSONALITY_CODEX, cases[i].format, cases[i].text);
        assert_int_equal(loaded->good, cases[i].good);
        unload(loaded);
    }
}

static void test_workspace_write_opens_the_project_its_roots_and_tmp(void **state)
{
    struct loaded *loaded = load_codex(PERSONALITY_CODEX, FORMAT_CODEX_SANDBOX_POLICY,
                                       "{\"type\":\"workspace-write\",\"writable_roots\":[\"/data\"],"
                                       "\"network_access\":true}");
    struct loaded *narrow = load_codex(PERSONALITY_CODEX, FORMAT_CODEX_SANDBOX_POLICY,
                                       "{\"type\":\"workspace-write\",\"exclude_slash_tmp\":true}");

    (void)state;
    assert_true(loaded->good && narrow->good);
    assert_int_equal(find_rule(loaded, LIST_RULES, "/home/u/work")->access, ACCESS_WRITE);
    assert_int_equal(find_rule(loaded, LIST_RULES, "/data")->access, ACCESS_WRITE);
    assert_int_equal(find_rule(loaded, LIST_RULES, "/tmp")->access, ACCESS_WRITE);
    assert_int_equal(policy_network_mode(&loaded->policy), NETWORK_HOST);
    assert_null(find_rule(narrow, LIST_RULES, "/tmp"));
    assert_int_equal(policy_network_mode(&narrow->policy), NETWORK_NONE);
    unload(loaded);
    unload(narrow);
}

static void test_readable_root_in_a_writable_one_takes_nothing_away(void **state)
{
    struct loaded *loaded =
        load_codex(PERSONALITY_CODEX, FORMAT_CODEX_SANDBOX_POLICY,
                   "{\"type\":\"workspace-write\",\"read_only_access\":{\"type\":\"restricted\","
                   "\"include_platform_defaults\":false,\"readable_roots\":[\"/home/u/work/lib\",\"/opt\"]}}");

    (void)state;
    assert_true(loaded->good);
    assert_null(find_rule(loaded, LIST_RULES, "/home/u/work/lib"));
    assert_int_equal(find_rule(loaded, LIST_RULES, "/opt")->access, ACCESS_READ);
    assert_int_equal(loaded->policy.filesystem.read_mode, READ_LISTED);
    assert_false(loaded->policy.filesystem.platform_defaults);
    unload(loaded);
}

static void test_loopback_proxies_are_found_and_nothing_else_is_taken_for_one(void **state)
{
    static const struct {
        const char *variable;
        bool found;
    } cases[] = {
        {"HTTP_PROXY=http://127.0.0.1:8080", true},
        {"http_proxy=localhost:1", true},
        {"WS_PROXY=http://[::1]:8080/path", true},
        {"ALL_PROXY=socks5h://LOCALHOST", true},
        {"HTTPS_PROXY=https://a:b@127.0.0.1", true},
        {"HTTP_PROXY=http://127.0.0.1@example.com:80", false},
        {"HTTP_PROXY=http://127.0.0.1.example.com:80", false},
        {"HTTP_PROXY=http://127.0.0.2:80", false},
        {"HTTP_PROXY=http://127.0.0.1:0", false},
        {"HTTP_PROXY=http://127.0.0.1:65536", false},
        {"HTTP_PROXY=http://127.0.0.1:4294967376", false},
        {"HTTP_PROXY=http://example.com/127.0.0.1:80", false},
        {"HTTP_PROXY=", false},
        {"HTTP_PROXY", false},
        {"NO_PROXY=127.0.0.1:80", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *environment[] = {cases[i].variable, NULL};
        if ((codex_proxies_missing((char *const *)environment) == NULL) != cases[i].found)
            fail_msg("%s", cases[i].variable);
    }
    assert_non_null(codex_proxies_missing(NULL));
}

static void test_protected_names_hold_at_the_top_only_and_give_way_to_entries(void **state)
{
    struct world world;

    (void)state;
    assert_true(
        make_world(&world, "/home/u/p/.git/config\n/home/u/p/sub/.git/config\n", root_read, project_write, NULL));
    assert_string_equal(world_access(&world, "/home/u/p/.git/config"), "r-");
    assert_string_equal(world_access(&world, "/home/u/p/.aws/new"), "r-");
    assert_string_equal(world_access(&world, "/home/u/p/.gitignore"), "rw");
    assert_string_equal(world_access(&world, "/home/u/p/sub/.git/config"), "rw");
    assert_string_equal(world_access(&world, "/home/u/p/.bashrc"), "rw");
    world_free(&world);
    assert_true(make_world(&world, "/home/u/p/.git/config\n", root_read, project_write,
                           "{\"path\":{\"type\":\"path\",\"path\":\"/home/u/p/.git\"},\"access\":\"write\"}"));
    assert_string_equal(world_access(&world, "/home/u/p/.git/config"), "rw");
    assert_string_equal(world_access(&world, "/home/u/p/.codex"), "r-");
    world_free(&world);
}

static void test_pointer_of_git_is_followed(void **state)
{
    struct world world;

    (void)state;
    assert_true(make_world(&world, "/home/u/p/.git := gitdir: kept/git\n/home/u/p/kept/git/config\n", root_read,
                           project_write, NULL));
    assert_string_equal(world_access(&world, "/home/u/p/.git"), "r-");
    assert_string_equal(world_access(&world, "/home/u/p/kept/git/config"), "r-");
    assert_string_equal(world_access(&world, "/home/u/p/kept/other"), "rw");
    world_free(&world);
    assert_true(make_world(&world, "/home/u/p/.git := gitdir: kept/git\n", root_read, project_write, NULL));
    assert_string_equal(world_access(&world, "/home/u/p/kept/git/config"), "r-");
    world_free(&world);
}

static void test_links_where_the_command_may_write_are_refused(void **state)
{
    static const char deny[] = "{\"path\":{\"type\":\"path\",\"path\":\"/home/u/p/l/x\"},\"access\":\"deny\"}";
    struct world world;

    (void)state;
    assert_false(make_world(&world, "/home/u/p/l -> d\n/home/u/p/d/x/\n", root_read, project_write, deny));
    assert_true(world_has_problem(&world, "the link /home/u/p/l"));
    world_free(&world);
    assert_true(make_world(&world, "/home/u/p/l -> d\n/home/u/p/d/x/\n", root_read, deny, NULL));
    assert_string_equal(world_access(&world, "/home/u/p/d/x"), "--");
    world_free(&world);
    assert_false(make_world(&world, "/home/u/p/.codex -> d\n/home/u/p/d/\n", root_read, project_write, NULL));
    assert_true(world_has_problem(&world, "the link /home/u/p/.codex"));
    world_free(&world);
}

static void test_pattern_becomes_a_rule_for_each_match_and_stays_for_names_to_come(void **state)
{
    static const char deny[] =
        "{\"path\":{\"type\":\"glob_pattern\",\"pattern\":\"/home/u/p/**/*.env\"},\"access\":\"deny\"}";
    struct world world;

    (void)state;
    assert_true(make_world(&world, "/home/u/p/a.env\n/home/u/p/x/y/b.env\n/home/u/p/x/d.env/f\n/home/u/p/x/env\n",
                           root_read, project_write, deny));
    assert_string_equal(world_step(&world, "/home/u/p/a.env"), "hide file");
    assert_string_equal(world_step(&world, "/home/u/p/x/y/b.env"), "hide file");
    assert_string_equal(world_step(&world, "/home/u/p/x/d.env"), "hide directory");
    assert_string_equal(world_access(&world, "/home/u/p/x/env"), "rw");
    assert_string_equal(world_access(&world, "/home/u/p/later.env"), "--");
    assert_int_equal(world.plan.refusal_count, 0);
    assert_true(world.plan.doorman.files);
    world_free(&world);
}

/* Codex's own rule, told once more: of the entries at or above a path the longest,
 * and of several for one path deny before write before read. */
static const char *const some_paths[] = {"/w", "/w/a", "/w/a/b", "/w/a/b/c", "/w/d", "/x", "/"};
enum { SOME_PATHS = sizeof some_paths / sizeof *some_paths, ENTRIES_MAX = 6 };

struct random_entry {
    size_t path;
    size_t access;
};

static const char *expected_access(const struct random_entry *entries, size_t count, const char *path)
{
    static const char *const words[] = {"r-", "rw", "--"};
    size_t best_depth = 0;
    size_t best = 2;
    bool any = false;

    for (size_t i = 0; i < count; i++) {
        struct slice place = slice_of(some_paths[entries[i].path]);
        size_t depth = path_depth(place);
        if (!path_covers(place, slice_of(path)) || (any && depth < best_depth))
            continue;
        if (!any || depth > best_depth || entries[i].access > best)
            best = entries[i].access;
        any = true;
        best_depth = depth;
    }
    return words[best];
}

static void test_random_entries_are_decided_as_codex_decides(void **state)
{
    static const char tree[] = "/w/a/b/c/f\n/w/a/b/f\n/w/a/f\n/w/d/f\n/w/f\n/x/f\n";
    static const char *const asked[] = {"/w/f", "/w/a/f", "/w/a/b/f", "/w/a/b/c/f", "/w/d/f", "/x/f", "/w/a/b/new"};
    static const char *const accesses[] = {"read", "write", "deny"};
    uint32_t random = 20260815;

    (void)state;
    for (int round = 0; round < 1500; round++) {
        struct random_entry entries[ENTRIES_MAX];
        char text[1024] = "";
        size_t length = 0;
        random = random * 1664525 + 1013904223;
        size_t count = 1 + (random >> 8) % ENTRIES_MAX;
        for (size_t i = 0; i < count; i++) {
            random = random * 1664525 + 1013904223;
            entries[i] = (struct random_entry){(random >> 8) % SOME_PATHS, (random >> 16) % 3};
            length += (size_t)snprintf(text + length, sizeof text - length,
                                       "%s{\"path\":{\"type\":\"path\",\"path\":\"%s\"},\"access\":\"%s\"}",
                                       i ? "," : "", some_paths[entries[i].path], accesses[entries[i].access]);
        }
        struct world world;
        assert_true(make_world(&world, tree, text, NULL, NULL));
        for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
            const char *found = world_access(&world, asked[i]);
            const char *expected = expected_access(entries, count, asked[i]);
            if (strcmp(found, expected) != 0)
                fail_msg("%s: found %s, expected %s, with %s", asked[i], found, expected, text);
        }
        world_free(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_root_alone_reads_everything_and_writes_nothing),
        cmocka_unit_test(test_no_entries_show_nothing),
        cmocka_unit_test(test_of_entries_for_one_path_the_strongest_makes_the_rule),
        cmocka_unit_test(test_wildcards_tildes_and_dollars_in_a_path_are_ordinary_bytes),
        cmocka_unit_test(test_pattern_for_all_below_a_directory_is_that_directory),
        cmocka_unit_test(test_origin_names_the_entry),
        cmocka_unit_test(test_under_the_name_cloche_it_stands_on_base),
        cmocka_unit_test(test_format_that_was_asked_for_is_the_only_one_taken),
        cmocka_unit_test(test_workspace_write_opens_the_project_its_roots_and_tmp),
        cmocka_unit_test(test_readable_root_in_a_writable_one_takes_nothing_away),
        cmocka_unit_test(test_loopback_proxies_are_found_and_nothing_else_is_taken_for_one),
        cmocka_unit_test(test_protected_names_hold_at_the_top_only_and_give_way_to_entries),
        cmocka_unit_test(test_pointer_of_git_is_followed),
        cmocka_unit_test(test_links_where_the_command_may_write_are_refused),
        cmocka_unit_test(test_random_entries_are_decided_as_codex_decides),
        cmocka_unit_test(test_pattern_becomes_a_rule_for_each_match_and_stays_for_names_to_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
