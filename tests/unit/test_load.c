/* What each key of a policy file becomes, in both personalities. */
#include "loading.h"

#include "base/json.h"
#include "policy/preset.h"
#include "policy/srt.h"

static void test_empty_policy_has_the_documented_defaults(void **state)
{
    struct loaded *loaded = load_good("{\"extends\": []}");
    const struct policy *policy = &loaded->policy;

    (void)state;
    assert_int_equal(loaded->problems.count, 0);
    assert_int_equal(policy->paths.count, 0);
    assert_int_equal(policy->filesystem.read_mode, READ_ALL);
    assert_string_equal(policy->filesystem.read_mode_origin.file, "built-in");
    assert_true(policy->filesystem.platform_defaults);
    assert_false(policy->filesystem.disabled);
    assert_false(policy->filesystem.allow_git_config);
    assert_int_equal(policy->filesystem.tmp, TMP_PRIVATE);
    assert_int_equal(policy->filesystem.caches, CACHES_NONE);
    assert_int_equal(policy_network_mode(policy), NETWORK_NONE);
    assert_true(policy->seccomp.enabled);
    assert_int_equal(policy->environment.pass.count, 1);
    assert_slice(policy->environment.pass.items[0].text, "*");
    assert_int_equal(policy->unbuilt_count, 0);
    assert_int_equal(policy->limits.memory, 0);
    unload(loaded);
}

static void test_policy_without_extends_hides_secrets_and_one_with_none_does_not(void **state)
{
    struct loaded *with = load_good("{}");
    struct loaded *without = load_good("{\"extends\": []}");

    (void)state;
    const struct path_rule *rule = find_rule(with, LIST_DENY_READ, "/home/u/.ssh");
    assert_non_null(rule);
    assert_string_equal(rule->origin.file, "preset:base");
    assert_non_null(find_named(&with->policy.environment.deny, "AWS_*"));
    assert_null(find_rule(without, LIST_DENY_READ, "/home/u/.ssh"));
    unload(with);
    unload(without);
}

static struct loaded *load_preset(const char *name)
{
    struct policy_source source = {.kind = SOURCE_PRESET, .name = name};
    struct policy_request request = {.sources = &source, .source_count = 1};

    return load_request(made_up(PERSONALITY_CLOCHE), &request);
}

static void test_every_preset_loads_without_a_word(void **state)
{
    (void)state;
    for (size_t i = 0; i < preset_count; i++) {
        struct loaded *loaded = load_preset(presets[i].name);

        show_problems(loaded);
        assert_int_equal(loaded->problems.count, 0);
        assert_non_null(find_rule(loaded, LIST_DENY_READ, "/home/u/.ssh"));
        unload(loaded);
    }
}

static bool is_same_rule(const struct path_rule *a, const struct path_rule *b)
{
    return a->list == b->list && a->access == b->access && slice_equal(a->text, b->text) &&
           slice_equal(a->pattern.text, b->pattern.text) && slice_equal(a->pattern.fixed, b->pattern.fixed) &&
           a->pattern.literal == b->pattern.literal && a->at_start == b->at_start && a->derived == b->derived &&
           strcmp(a->origin.path, b->origin.path) == 0;
}

static bool has_rule(const struct path_rules *rules, const struct path_rule *wanted)
{
    for (size_t i = 0; i < rules->count; i++) {
        if (is_same_rule(&rules->items[i], wanted))
            return true;
    }
    return false;
}

/* Its long lists are compiled, and most of their paths are put together without being parsed. */
static void test_a_preset_means_what_its_text_means(void **state)
{
    (void)state;
    for (size_t i = 0; i < preset_count; i++) {
        struct loaded *compiled = load_preset(presets[i].name);
        struct loaded *read = load_good(presets[i].text.ptr);
        const struct name_rules *denied = &read->policy.environment.deny;

        assert_int_equal(compiled->policy.paths.count, read->policy.paths.count);
        for (size_t j = 0; j < read->policy.paths.count; j++) {
            if (!has_rule(&compiled->policy.paths, &read->policy.paths.items[j]))
                fail_msg("%s: %s", presets[i].name, read->policy.paths.items[j].origin.path);
        }
        assert_int_equal(compiled->policy.environment.deny.count, denied->count);
        for (size_t j = 0; j < denied->count; j++)
            assert_true(slice_equal(compiled->policy.environment.deny.items[j].text, denied->items[j].text));
        unload(compiled);
        unload(read);
    }
}

static void test_scalars_are_stored_with_their_origin(void **state)
{
    struct loaded *loaded =
        load_good("{\"extends\": [], \"filesystem\": {\"readMode\": \"listed\", \"platformDefaults\": false, \"tmp\": "
                  "\"host\", \"caches\": \"private\", \"allowGitConfig\": true, \"disabled\": true},"
                  "\"network\": {\"mode\": \"host\", \"allowAllUnixSockets\": true},"
                  "\"seccomp\": {\"enabled\": false, \"blockUnixSockets\": true},"
                  "\"allowNestedUserNamespaces\": true}");
    const struct policy *policy = &loaded->policy;

    (void)state;
    assert_int_equal(policy->filesystem.read_mode, READ_LISTED);
    assert_string_equal(policy->filesystem.read_mode_origin.file, "test");
    assert_string_equal(policy->filesystem.read_mode_origin.path, "filesystem.readMode");
    assert_false(policy->filesystem.platform_defaults);
    assert_int_equal(policy->filesystem.tmp, TMP_HOST);
    assert_int_equal(policy->filesystem.caches, CACHES_PRIVATE);
    assert_true(policy->filesystem.allow_git_config);
    assert_true(policy->filesystem.disabled);
    assert_int_equal(policy->network.mode, NETWORK_HOST);
    assert_string_equal(policy->network.mode_origin.path, "network.mode");
    assert_true(policy->network.allow_all_unix_sockets);
    assert_string_equal(policy->network.all_unix_origin.path, "network.allowAllUnixSockets");
    assert_false(policy->seccomp.enabled);
    assert_true(policy->seccomp.block_unix_sockets);
    assert_true(policy->seccomp.allow_nested_user_namespaces);
    unload(loaded);
}

static void test_every_word_means_its_mode(void **state)
{
    static const struct {
        const char *text;
        enum network_mode network;
        enum caches_mode caches;
        enum tmp_mode tmp;
    } cases[] = {
        {"{\"extends\":[],\"network\":{\"mode\":\"none\"},\"filesystem\":{\"caches\":\"private\",\"tmp\":\"private\"}}",
         NETWORK_NONE, CACHES_PRIVATE, TMP_PRIVATE},
        {"{\"extends\":[],\"network\":{\"mode\":\"filtered\"},\"filesystem\":{\"caches\":\"host\",\"tmp\":\"session\"}"
         "}",
         NETWORK_FILTERED, CACHES_HOST, TMP_SESSION},
        {"{\"extends\":[],\"network\":{\"mode\":\"host\"},\"filesystem\":{\"caches\":\"none\",\"tmp\":\"host\"}}",
         NETWORK_HOST, CACHES_NONE, TMP_HOST},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct loaded *loaded = load_good(cases[i].text);
        assert_int_equal(policy_network_mode(&loaded->policy), cases[i].network);
        assert_int_equal(loaded->policy.filesystem.caches, cases[i].caches);
        assert_int_equal(loaded->policy.filesystem.tmp_asked, cases[i].tmp);
        unload(loaded);
    }
}

static void test_allowed_domains_make_the_network_filtered(void **state)
{
    struct loaded *none = load_good("{\"network\": {\"allowedDomains\": [], \"deniedDomains\": [\"x.com\"]}}");
    struct loaded *some = load_good("{\"network\": {\"allowedDomains\": [\"x.com\"]}}");
    struct loaded *every = load_good("{\"network\": {\"allowedDomains\": [\"*\"], \"deniedDomains\": [\"x.com\"]}}");

    (void)state;
    assert_int_equal(policy_network_mode(&none->policy), NETWORK_NONE);
    assert_int_equal(policy_network_mode(&some->policy), NETWORK_FILTERED);
    assert_int_equal(policy_network_mode(&every->policy), NETWORK_FILTERED);
    assert_int_equal(every->policy.network.allowed.items[0].pattern.kind, HOST_PATTERN_ANY);
    assert_string_equal(every->policy.network.denied.items[0].origin.path, "network.deniedDomains[0]");
    unload(none);
    unload(some);
    unload(every);
}

static void test_paths_are_expanded_and_joined_to_the_project(void **state)
{
    static const struct {
        const char *written;
        const char *meant;
        bool literal;
    } cases[] = {
        {".", "/home/u/work", true},
        {"src", "/home/u/work/src", true},
        {"./a/../b//c/", "/home/u/work/b/c", true},
        {"../other", "/home/u/other", true},
        {"/", "/", true},
        {"/etc/**", "/etc", true},
        {"**", "/home/u/work", true},
        {"~", "/home/u", true},
        {"~/x", "/home/u/x", true},
        {"a~b", "/home/u/work/a~b", true},
        {"$HOME/x", "/home/u/x", true},
        {"${HOME}x", "/home/ux", true},
        {"$PROJECT_DIR", "/home/u/work", true},
        {"/run/$USER/x", "/run/u/x", true},
        {"$XDG_CONFIG_HOME/x", "/home/u/conf/x", true},
        {"$XDG_DATA_HOME/x", "/home/u/.local/share/x", true},
        {"$XDG_STATE_HOME", "/home/u/.local/state", true},
        {"$XDG_CACHE_HOME", "/home/u/.cache", true},
        {"/a$$HOME", "/a$HOME", true},
        {"/a$", "/a$", true},
        {"/a$1", "/a$1", true},
        {"/etc/*.pem", "/etc/*.pem", false},
        {"**/*.key", "/home/u/work/**/*.key", false},
        {"$HOME/[ab]?", "/home/u/[ab]?", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        snprintf(text, sizeof text, "{\"extends\": [], \"filesystem\": {\"denyRead\": [\"%s\"]}}", cases[i].written);
        struct loaded *loaded = load_good(text);
        assert_int_equal(loaded->policy.paths.count, 1);
        const struct path_rule *rule = loaded->policy.paths.items;
        assert_slice(rule->pattern.text, cases[i].meant);
        assert_slice(rule->text, cases[i].written);
        assert_int_equal(rule->pattern.literal, cases[i].literal);
        assert_string_equal(rule->origin.path, "filesystem.denyRead[0]");
        unload(loaded);
    }
}

static void test_variables_without_a_value_are_named(void **state)
{
    (void)state;
    assert_refused("{\"filesystem\": {\"allowRead\": [\"$TMPDIR/x\"]}}", "filesystem.allowRead[0]",
                   "$TMPDIR is not defined");
    assert_refused("{\"filesystem\": {\"allowRead\": [\"$XDG_RUNTIME_DIR\"]}}", "filesystem.allowRead[0]",
                   "$XDG_RUNTIME_DIR is not defined");
    assert_refused("{\"filesystem\": {\"allowRead\": [\"$HOM/x\"]}}", "filesystem.allowRead[0]", "did you mean $HOME?");
    assert_refused("{\"filesystem\": {\"allowRead\": [\"$AWS_PROFILE\"]}}", "filesystem.allowRead[0]",
                   "is not one that paths may use");
    assert_refused("{\"filesystem\": {\"allowRead\": [\"$XDG_CONFIG_DIRS\"]}}", "filesystem.allowRead[0]",
                   "is not one that paths may use");
    assert_refused("{\"filesystem\": {\"allowRead\": [\"${HOME\"]}}", "filesystem.allowRead[0]", "closing brace");
    assert_refused("{\"filesystem\": {\"allowRead\": [\"~root/x\"]}}", "filesystem.allowRead[0]",
                   "another user's home");
}

static void test_wildcards_in_the_projects_own_name_are_ordinary_bytes(void **state)
{
    struct surroundings around = made_up(PERSONALITY_CLOCHE);
    size_t depth;

    (void)state;
    around.project = SLICE("/home/u/a*b[c]");
    struct loaded *loaded = load_in(
        around, "{\"extends\": [], \"filesystem\": {\"allowWrite\": [\".\"], \"denyWrite\": [\"*.key\"], "
                "\"denyRead\": [{\"path\": \"$PROJECT_DIR/.env*\", \"atStart\": true}], \"allowRead\": [\"x/*/y\"]}}");
    show_problems(loaded);
    assert_true(loaded->good);
    const struct path_rule *write = find_rule(loaded, LIST_ALLOW_WRITE, "/home/u/a*b[c]");
    assert_non_null(write);
    assert_true(write->pattern.literal);
    assert_false(pattern_covers(&write->pattern, SLICE("/home/u/aXbc/f"), &depth));
    const struct path_rule *deny = &loaded->policy.paths.items[1];
    assert_true(pattern_covers(&deny->pattern, SLICE("/home/u/a*b[c]/x.key"), &depth));
    assert_false(pattern_covers(&deny->pattern, SLICE("/home/u/aXbc/x.key"), &depth));
    assert_slice(deny->pattern.fixed, "/home/u/a*b[c]");
    const struct path_rule *start = &loaded->policy.paths.items[2];
    assert_true(start->at_start);
    assert_true(pattern_matches(&start->pattern, SLICE("/home/u/a*b[c]/.env.local")));
    assert_slice(loaded->policy.paths.items[3].pattern.fixed, "/home/u/a*b[c]/x");
    unload(loaded);
}

static void test_literal_entries_have_no_wildcards_and_no_removal(void **state)
{
    struct loaded *loaded = load_good("{\"extends\": [], \"filesystem\": {\"allowRead\": ["
                                      "{\"path\": \"/a/*\", \"literal\": true}, {\"path\": \"/a/*\"}, "
                                      "{\"path\": \"!x\"}]}}");

    (void)state;
    assert_true(loaded->policy.paths.items[0].pattern.literal);
    assert_slice(loaded->policy.paths.items[0].pattern.text, "/a/*");
    assert_false(loaded->policy.paths.items[1].pattern.literal);
    assert_slice(loaded->policy.paths.items[2].pattern.text, "/home/u/work/!x");
    unload(loaded);
}

static void test_at_start_is_for_the_top_of_the_project_and_home(void **state)
{
    struct loaded *loaded = load_good("{\"extends\": [], \"filesystem\": {\"denyRead\": ["
                                      "{\"path\": \".env*\", \"atStart\": true}, "
                                      "{\"path\": \"~/.secret*\", \"atStart\": true}]}}");

    (void)state;
    assert_true(loaded->policy.paths.items[0].at_start);
    assert_true(loaded->policy.paths.items[1].at_start);
    unload(loaded);
    assert_refused("{\"filesystem\": {\"denyRead\": [{\"path\": \"/etc/x*\", \"atStart\": true}]}}",
                   "filesystem.denyRead[0]", "atStart");
    assert_refused("{\"filesystem\": {\"denyRead\": [{\"path\": \"a/*/b\", \"atStart\": true}]}}",
                   "filesystem.denyRead[0]", "atStart");
    assert_refused("{\"filesystem\": {\"denyRead\": [{\"path\": \".env\", \"atStart\": true}]}}",
                   "filesystem.denyRead[0]", "atStart");
    assert_refused("{\"filesystem\": {\"allowWrite\": [{\"path\": \".env*\", \"atStart\": true}]}}",
                   "filesystem.allowWrite[0].atStart", "no such key");
}

static void test_search_path_opens_its_directories_and_the_toolchains_that_hold_them(void **state)
{
    struct loaded *loaded = load_good("{\"extends\": [], \"filesystem\": {\"allowRead\": [\"$PATH\"]}}");

    (void)state;
    const struct path_rule *rule = find_rule(loaded, LIST_ALLOW_READ, "/home/u/.nvm/v22/bin");
    assert_non_null(rule);
    assert_true(rule->derived);
    assert_slice(rule->text, "$PATH");
    assert_non_null(find_rule(loaded, LIST_ALLOW_READ, "/home/u/.nvm/v22"));
    assert_non_null(find_rule(loaded, LIST_ALLOW_READ, "/usr/bin"));
    assert_non_null(find_rule(loaded, LIST_ALLOW_READ, "/usr/local"));
    assert_non_null(find_rule(loaded, LIST_ALLOW_READ, "/home/u/.local/bin"));
    assert_null(find_rule(loaded, LIST_ALLOW_READ, "/home/u/.local"));
    assert_null(find_rule(loaded, LIST_ALLOW_READ, "/usr"));
    assert_null(find_rule(loaded, LIST_ALLOW_READ, "/home/u"));
    assert_null(find_rule(loaded, LIST_ALLOW_READ, "/home/u/work/bin"));
    unload(loaded);
}

static void test_search_path_opens_no_directory_that_holds_something_hidden(void **state)
{
    struct loaded *open = load_good("{\"extends\": [], \"filesystem\": {\"allowRead\": [\"$PATH\"]}}");
    struct loaded *hidden = load_good("{\"extends\": [], \"filesystem\": {\"allowRead\": [\"$PATH\"], "
                                      "\"denyRead\": [\"~/.step/secrets\"]}}");

    (void)state;
    assert_non_null(find_rule(open, LIST_ALLOW_READ, "/home/u/.step"));
    assert_null(find_rule(hidden, LIST_ALLOW_READ, "/home/u/.step"));
    assert_non_null(find_rule(hidden, LIST_ALLOW_READ, "/home/u/.step/bin"));
    unload(open);
    unload(hidden);
}

static void test_access_words_and_their_aliases(void **state)
{
    static const struct {
        const char *word;
        enum access access;
    } words[] = {{"none", ACCESS_NONE},         {"deny", ACCESS_NONE},   {"read", ACCESS_READ},
                 {"ro-bind", ACCESS_READ},      {"write", ACCESS_WRITE}, {"bind", ACCESS_WRITE},
                 {"ro-bind-null", ACCESS_EMPTY}};

    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "{\"extends\": [], \"rules\": [{\"path\": \"~/x\", \"access\": \"%s\", \"required\": true}]}",
                 words[i].word);
        struct loaded *loaded = load_good(text);
        const struct path_rule *rule = find_rule(loaded, LIST_RULES, "/home/u/x");
        assert_non_null(rule);
        assert_int_equal(rule->access, words[i].access);
        assert_int_equal(rule->conditions, 0);
        assert_true(rule->required);
        assert_string_equal(rule->origin.path, "rules[0]");
        unload(loaded);
    }
    assert_refused("{\"rules\": [{\"path\": \"x\", \"access\": \"raed\"}]}", "rules[0].access",
                   "did you mean \"read\"?");
}

static void test_rules_count_only_where_all_their_conditions_hold(void **state)
{
    static const struct {
        const char *when;
        bool holds;
        unsigned conditions;
    } cases[] = {
        {"{}", true, 0},
        {"{\"command\": \"aws *\"}", true, 1},
        {"{\"command\": \"aws\"}", false, 0},
        {"{\"command\": \"gcloud *\"}", false, 0},
        {"{\"project\": \"~/work\"}", true, 1},
        {"{\"project\": \"~/work/**\"}", true, 1},
        {"{\"project\": \"~/w*\"}", true, 1},
        {"{\"project\": \"~/infra/**\"}", false, 0},
        {"{\"user\": \"u\"}", true, 1},
        {"{\"user\": \"root\"}", false, 0},
        {"{\"host\": \"b?x\"}", true, 1},
        {"{\"host\": \"other*\"}", false, 0},
        {"{\"env\": \"AWS_PROFILE\"}", true, 1},
        {"{\"env\": \"AWS_PROFILE=dev\"}", true, 1},
        {"{\"env\": \"AWS_PROFILE=d*\"}", true, 1},
        {"{\"env\": \"AWS_PROFILE=prod\"}", false, 0},
        {"{\"env\": \"EMPTY\"}", true, 1},
        {"{\"env\": \"EMPTY=\"}", true, 1},
        {"{\"env\": \"AWS\"}", false, 0},
        {"{\"exists\": \"/proc/self\"}", true, 1},
        {"{\"exists\": \"/proc/there/is/no/such\"}", false, 0},
        {"{\"user\": \"u\", \"env\": \"EMPTY\", \"command\": \"aws *\"}", true, 3},
        {"{\"user\": \"u\", \"env\": \"ABSENT\", \"command\": \"aws *\"}", false, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "{\"extends\": [], \"rules\": [{\"path\": \"~/x\", \"access\": \"read\", \"when\": %s}]}",
                 cases[i].when);
        struct loaded *loaded = load_good(text);
        const struct path_rule *rule = find_rule(loaded, LIST_RULES, "/home/u/x");
        if ((rule != NULL) != cases[i].holds)
            fail_msg("%s", cases[i].when);
        if (rule)
            assert_int_equal(rule->conditions, cases[i].conditions);
        unload(loaded);
    }
}

static void test_command_conditions_do_not_hold_without_a_command(void **state)
{
    struct surroundings around = made_up(PERSONALITY_CLOCHE);

    (void)state;
    around.command = NULL;
    struct loaded *loaded = load_in(
        around,
        "{\"extends\": [], \"rules\": [{\"path\": \"/x\", \"access\": \"read\", \"when\": {\"command\": \"*\"}}]}");
    assert_true(loaded->good);
    assert_int_equal(loaded->policy.paths.count, 0);
    unload(loaded);
}

static void test_rule_that_does_not_count_may_use_an_undefined_variable(void **state)
{
    struct loaded *loaded = load_good("{\"rules\": [{\"path\": \"$XDG_RUNTIME_DIR/x\", \"access\": \"read\", "
                                      "\"when\": {\"env\": \"XDG_RUNTIME_DIR\"}}]}");

    (void)state;
    unload(loaded);
    assert_refused("{\"rules\": [{\"path\": \"$XDG_RUNTIME_DIR/x\", \"access\": \"read\", "
                   "\"when\": {\"env\": \"EMPTY\"}}]}",
                   "rules[0]", "$XDG_RUNTIME_DIR is not defined");
}

static void test_environment_names_and_values(void **state)
{
    struct loaded *loaded = load_good("{\"extends\": [], \"environment\": {\"pass\": [\"LC_*\", \"HOME\"], "
                                      "\"deny\": [\"*_TOKEN\"], \"set\": {\"CI\": \"1\", \"NONE\": \"\"}}}");
    const struct policy *policy = &loaded->policy;

    (void)state;
    assert_int_equal(policy->environment.pass.count, 2);
    assert_string_equal(policy->environment.pass.items[1].origin.path, "environment.pass[1]");
    assert_non_null(find_named(&policy->environment.deny, "*_TOKEN"));
    assert_int_equal(policy->environment.set_count, 2);
    assert_slice(policy->environment.set[0].value, "1");
    assert_slice(policy->environment.set[1].value, "");
    assert_string_equal(policy->environment.set[0].origin.path, "environment.set.CI");
    unload(loaded);

    struct loaded *nothing = load_good("{\"extends\": [], \"environment\": {\"pass\": []}}");
    assert_int_equal(nothing->policy.environment.pass.count, 0);
    unload(nothing);
}

static void test_sizes_and_limits(void **state)
{
    struct loaded *loaded = load_good("{\"limits\": {\"memory\": \"2G\", \"fileSize\": \"512k\", \"processes\": 64, "
                                      "\"wallSeconds\": 600.0, \"openFiles\": 4096}}");

    (void)state;
    assert_int_equal(loaded->policy.limits.memory, 2ULL << 30);
    assert_int_equal(loaded->policy.limits.file_size, 512 << 10);
    assert_int_equal(loaded->policy.limits.processes, 64);
    assert_int_equal(loaded->policy.limits.wall_seconds, 600);
    assert_int_equal(loaded->policy.limits.open_files, 4096);
    unload(loaded);

    static const char *const bad[] = {"\"2X\"",
                                      "\"G\"",
                                      "\"1GB\"",
                                      "\" 1\"",
                                      "\"-1\"",
                                      "-1",
                                      "1.5",
                                      "true",
                                      "\"9999999G\"",
                                      "\"\"",
                                      "\"1234567890123456\""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[100];
        snprintf(text, sizeof text, "{\"limits\": {\"fileSize\": %s}}", bad[i]);
        assert_refused(text, "limits.fileSize", "a size");
    }
    assert_refused("{\"limits\": {\"processes\": \"512\"}}", "limits.processes", "a whole number from 0 to 4194304");
    assert_refused("{\"limits\": {\"openFiles\": 99999999}}", "limits.openFiles", "found 99999999");
}

static void test_what_nothing_holds_yet_is_listed_by_name(void **state)
{
    static const struct {
        const char *text;
        const char *path;
        const char *feature;
    } cases[] = {
        {"\"network\":{\"tlsTerminate\":{}}", "network.tlsTerminate", "TLS termination"},
        {"\"network\":{\"stripResponseHeaders\":[\"x\"]}", "network.stripResponseHeaders", "headers"},
        {"\"credentials\":{\"files\":[{\"path\":\"~/k\",\"mode\":\"mask\"}]}", "credentials.files[0]", "masking"},
        {"\"credentials\":{\"envVars\":[{\"name\":\"K\",\"mode\":\"mask\"}]}", "credentials.envVars[0]", "masking"},
        {"\"credentials\":{\"sigv4\":{\"streaming\":\"deny\"}}", "credentials.sigv4", "AWS"},
        {"\"credentials\":{\"awsPairs\":[{\"accessKeyIdVar\":\"A\",\"secretAccessKeyVar\":\"B\"}]}",
         "credentials.awsPairs", "AWS"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[300];
        snprintf(text, sizeof text, "{%s}", cases[i].text);
        struct loaded *loaded = load_good(text);
        if (loaded->policy.unbuilt_count != 1)
            fail_msg("%s", cases[i].text);
        assert_string_equal(loaded->policy.unbuilt[0].origin.path, cases[i].path);
        assert_string_equal(loaded->policy.unbuilt[0].origin.file, "test");
        assert_non_null(strstr(loaded->policy.unbuilt[0].feature, cases[i].feature));
        unload(loaded);
    }
}

static void test_what_the_network_is_told_is_kept(void **state)
{
    struct loaded *loaded = load_good(
        "{\"network\": {\"hostPorts\": [5432], \"publishPorts\": [3000], \"httpProxyPort\": 8080, \"socksProxyPort\": "
        "8081,"
        "\"refuseOpaqueTunnels\": true, \"requireHostMatch\": true, \"deniedResolvedAddresses\": [\"10.0.0.0/8\"],"
        "\"parentProxy\": {\"http\": \"http://p:1\", \"https\": \"http://q:2\", \"noProxy\": \"x.com\"},"
        "\"mitmProxy\": {\"socketPath\": \"~/s\", \"domains\": [\"x.com\"]}}}");
    const struct policy *policy = &loaded->policy;

    (void)state;
    assert_int_equal(policy->unbuilt_count, 0);
    assert_int_equal(policy->network.host_ports.items[0].port, 5432);
    assert_int_equal(policy->network.publish_ports.items[0].port, 3000);
    assert_int_equal(policy->network.http_proxy_port, 8080);
    assert_int_equal(policy->network.socks_proxy_port, 8081);
    assert_true(policy->network.refuse_opaque_tunnels);
    assert_true(policy->network.require_host_match);
    assert_int_equal(policy->network.denied_resolved.items[0].pattern.prefix_length, 8);
    assert_slice(policy->network.parent_proxy.http, "http://p:1");
    assert_slice(policy->network.parent_proxy.https, "http://q:2");
    assert_slice(policy->network.parent_proxy.no_proxy, "x.com");
    assert_slice(policy->network.mitm_proxy.socket_path, "/home/u/s");
    assert_slice(policy->network.mitm_proxy.domains.items[0].text, "x.com");
    unload(loaded);
}

static void test_what_is_told_of_a_run_is_as_the_policy_says(void **state)
{
    struct loaded *loaded = load_good("{}");

    (void)state;
    assert_true(loaded->policy.violation.detection && loaded->policy.violation.log);
    assert_false(loaded->policy.violation.chain);
    assert_int_equal(loaded->policy.violation.watch, WATCH_WRITES);
    unload(loaded);

    loaded = load_good("{\"violation\": {\"logViolations\": false, \"chain\": true, \"watch\": \"off\","
                       "\"violationLogPath\": \"~/log/x.jsonl\"}, \"ignoreViolations\": {\"*\": [\"a\", \"b\"]}}");
    assert_false(loaded->policy.violation.log);
    assert_true(loaded->policy.violation.chain);
    assert_int_equal(loaded->policy.violation.watch, WATCH_OFF);
    assert_true(slice_ends(loaded->policy.violation.log_path, SLICE("/log/x.jsonl")));
    assert_true(slice_starts(loaded->policy.violation.log_path, loaded->policy.around.home));
    assert_int_equal(loaded->policy.ignored_count, 2);
    assert_true(slice_is(loaded->policy.ignored[1].command, "*") && slice_is(loaded->policy.ignored[1].text, "b"));
    unload(loaded);

    loaded = load_good("{\"violation\": {\"enableDetection\": false}}");
    assert_int_equal(loaded->policy.violation.watch, WATCH_OFF);
    unload(loaded);
}

static void test_what_asks_for_nothing_is_not_listed_as_unbuilt(void **state)
{
    struct loaded *loaded = load_good(
        "{\"network\": {\"allowUnixSockets\": [], \"hostPorts\": [], \"unixDatagram\": false, "
        "\"refuseOpaqueTunnels\": false, \"deniedResolvedAddresses\": [], \"strictAllowlist\": true},"
        "\"limits\": {\"memory\": 0, \"processes\": 0, \"wallSeconds\": 5, \"fileSize\": \"1M\", \"openFiles\": 64},"
        "\"violation\": {\"enableDetection\": false, \"watch\": \"off\", \"logViolations\": false},"
        "\"rootCapabilities\": \"none\", \"ignoreViolations\": {},"
        "\"credentials\": {\"files\": [{\"path\": \"~/k\", \"mode\": \"deny\"}], \"awsPairs\": []}}");

    (void)state;
    assert_int_equal(loaded->problems.count, 0);
    assert_int_equal(loaded->policy.unbuilt_count, 0);
    unload(loaded);
}

static void test_denied_credentials_are_hidden_and_withheld(void **state)
{
    struct loaded *loaded = load_good("{\"extends\": [], \"credentials\": {"
                                      "\"files\": [{\"path\": \"~/.k\", \"mode\": \"deny\"}], "
                                      "\"envVars\": [{\"name\": \"MY_KEY\", \"mode\": \"deny\"}]}}");

    (void)state;
    const struct path_rule *rule = find_rule(loaded, LIST_DENY_READ, "/home/u/.k");
    assert_non_null(rule);
    assert_string_equal(rule->origin.path, "credentials.files[0]");
    const struct name_rule *name = find_named(&loaded->policy.environment.withheld, "MY_KEY");
    assert_non_null(name);
    assert_string_equal(name->origin.path, "credentials.envVars[0]");
    unload(loaded);
    assert_refused("{\"credentials\": {\"envVars\": [{\"name\": \"MY_*\", \"mode\": \"deny\"}]}}",
                   "credentials.envVars[0].name", "not a pattern");
    assert_refused("{\"credentials\": {\"files\": [{\"path\": \"~/.k\"}]}}", "credentials.files[0]",
                   "\"mode\" is missing");
}

static void test_reasons_go_to_their_denied_domains(void **state)
{
    struct loaded *loaded =
        load_good("{\"network\": {\"deniedDomains\": [\"evil.com\", \"bad.org\"], "
                  "\"deniedDomainReasons\": {\"evil.com\": \"no evil please\", \"bad.orf\": \"no\"}}}");

    (void)state;
    assert_slice(loaded->policy.network.denied.items[0].reason, "no evil please");
    assert_int_equal(loaded->policy.network.denied.items[1].reason.len, 0);
    assert_said(loaded, true, "network.deniedDomainReasons[\"bad.orf\"]", "did you mean \"bad.org\"?");
    unload(loaded);
}

static void test_safe_directories_reach_git_behind_what_it_is_told_already(void **state)
{
    static const char *const environment[] = {"GIT_CONFIG_COUNT=1", NULL};
    struct surroundings around = made_up(PERSONALITY_CLOCHE);

    (void)state;
    around.environment = (char *const *)environment;
    struct loaded *loaded = load_in(around, "{\"extends\": [], \"git\": {\"safeDirectories\": [\"/srv/x\"]}}");
    assert_int_equal(loaded->policy.environment.set_count, 5);
    assert_slice(loaded->policy.environment.set[0].name, "GIT_CONFIG_KEY_1");
    assert_slice(loaded->policy.environment.set[0].value, "safe.directory");
    assert_slice(loaded->policy.environment.set[1].value, "/srv/x");
    assert_slice(loaded->policy.environment.set[3].value, "/srv/x/*");
    assert_slice(loaded->policy.environment.set[4].name, "GIT_CONFIG_COUNT");
    assert_slice(loaded->policy.environment.set[4].value, "3");
    unload(loaded);
}

static void test_keys_without_effect_say_so(void **state)
{
    static const struct {
        const char *text;
        const char *path;
        const char *words;
    } cases[] = {
        {"{\"allowPty\": true}", "allowPty", "macOS"},
        {"{\"network\": {\"allowMachLookup\": [\"x\"]}}", "network.allowMachLookup", "macOS"},
        {"{\"windows\": {\"sandboxUser\": \"x\"}}", "windows", "Windows"},
        {"{\"ripgrep\": {\"command\": \"rg\"}}", "ripgrep", "no such helper"},
        {"{\"mandatoryDenySearchDepth\": 3}", "mandatoryDenySearchDepth", "at any depth"},
        {"{\"enableWeakerNestedSandbox\": true}", "enableWeakerNestedSandbox", "doctor"},
        {"{\"network\": {\"allowLocalBinding\": true}}", "network.allowLocalBinding", "loopback"},
        {"{\"network\": {\"enableProxy\": false}}", "network.enableProxy", "filtered all the same"},
        {"{\"filesystem\": {\"unprotect\": [\".bashr\"]}}", "filesystem.unprotect[0]", "did you mean \".bashrc\"?"},
        {"{\"violation\": {\"useStrace\": true}}", "violation.useStrace", "without strace"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct loaded *loaded = load_good(cases[i].text);
        assert_said(loaded, true, cases[i].path, cases[i].words);
        unload(loaded);
    }
    struct loaded *quiet = load_good(
        "{\"allowPty\": false, \"filesystem\": {\"unprotect\": [\".IDEA\"]}, \"network\": {\"enableProxy\": true}}");
    assert_int_equal(quiet->problems.count, 0);
    unload(quiet);
}

static void test_names_files_and_ports_are_kept(void **state)
{
    struct loaded *loaded = load_good(
        "{\"extends\": [], \"filesystem\": {\"protect\": [\".secret/\"], \"mandatoryDenyWrite\": [\"Makefile\"], "
        "\"unprotect\": [\".idea/\"], \"devices\": [\"/dev/dri\"]}, "
        "\"network\": {\"hostPorts\": [5432], \"publishPorts\": [3000, 65535], "
        "\"allowUnixSockets\": [\"~/x.sock\"]}}");
    const struct policy *policy = &loaded->policy;

    (void)state;
    assert_int_equal(policy->filesystem.protect.count, 2);
    assert_slice(policy->filesystem.protect.items[1].text, "Makefile");
    assert_string_equal(policy->filesystem.protect.items[1].origin.path, "filesystem.mandatoryDenyWrite[0]");
    assert_slice(policy->filesystem.unprotect.items[0].text, ".idea/");
    assert_slice(policy->filesystem.devices.items[0].text, "/dev/dri");
    assert_slice(policy->network.unix_sockets.items[0].text, "/home/u/x.sock");
    assert_int_equal(policy->network.host_ports.items[0].port, 5432);
    assert_int_equal(policy->network.publish_ports.items[1].port, 65535);
    assert_int_equal(policy_network_mode(policy), NETWORK_FILTERED);
    unload(loaded);
}

/* ---- under the name srt ---- */

static const char srt_minimal[] = "{\"network\": {\"allowedDomains\": [], \"deniedDomains\": []}, "
                                  "\"filesystem\": {\"denyRead\": [], \"allowWrite\": [], \"denyWrite\": []}}";

static void test_srt_defaults_are_srts(void **state)
{
    struct loaded *loaded = load_srt(srt_minimal);
    const struct policy *policy = &loaded->policy;

    (void)state;
    show_problems(loaded);
    assert_true(loaded->good);
    assert_int_equal(policy->filesystem.read_mode, READ_ALL);
    assert_int_equal(policy->filesystem.tmp, TMP_HOST);
    assert_int_equal(policy->filesystem.caches, CACHES_NONE);
    assert_int_equal(policy_network_mode(policy), NETWORK_FILTERED); /* its proxies say no */
    assert_slice(policy->environment.pass.items[0].text, "*");
    assert_int_equal(policy->environment.deny.count, 0);
    assert_null(find_rule(loaded, LIST_DENY_READ, "/home/u/.ssh"));
    const struct path_rule *rule = find_rule(loaded, LIST_ALLOW_WRITE, "/home/u/.npm/_logs");
    assert_non_null(rule);
    assert_true(rule->derived);
    assert_non_null(find_rule(loaded, LIST_ALLOW_WRITE, "/tmp/claude"));
    assert_non_null(find_rule(loaded, LIST_ALLOW_WRITE, "/dev/null"));
    assert_true(policy->seccomp.block_unix_sockets);
    unload(loaded);
}

static void test_srt_default_writes_below_a_denied_read_are_dropped(void **state)
{
    struct loaded *loaded =
        load_srt("{\"network\": {\"allowedDomains\": [], \"deniedDomains\": []}, "
                 "\"filesystem\": {\"denyRead\": [\"~/.npm\"], \"allowWrite\": [], \"denyWrite\": []}}");

    (void)state;
    assert_true(loaded->good);
    assert_null(find_rule(loaded, LIST_ALLOW_WRITE, "/home/u/.npm/_logs"));
    assert_non_null(find_rule(loaded, LIST_ALLOW_WRITE, "/home/u/.claude/debug"));
    unload(loaded);
}

static void test_srt_expands_a_leading_tilde_and_nothing_else(void **state)
{
    struct loaded *loaded =
        load_srt("{\"network\": {\"allowedDomains\": [], \"deniedDomains\": []}, \"filesystem\": {\"denyRead\": "
                 "[\"~/a\", \"$HOME/b\", \"!c\", \"$PATH\"], \"allowRead\": [\"$PATH\"], \"allowWrite\": [], "
                 "\"denyWrite\": [\"~other\"]}}");

    (void)state;
    show_problems(loaded);
    assert_true(loaded->good);
    assert_non_null(find_rule(loaded, LIST_DENY_READ, "/home/u/a"));
    assert_non_null(find_rule(loaded, LIST_DENY_READ, "/home/u/work/$HOME/b"));
    assert_non_null(find_rule(loaded, LIST_DENY_READ, "/home/u/work/!c"));
    assert_non_null(find_rule(loaded, LIST_ALLOW_READ, "/home/u/work/$PATH"));
    assert_non_null(find_rule(loaded, LIST_DENY_WRITE, "/home/u/work/~other"));
    unload(loaded);
}

static void test_srt_drops_keys_it_does_not_know_with_a_warning(void **state)
{
    struct loaded *loaded =
        load_srt("{\"extends\": [\"preset:dev\"], \"rules\": 3, \"network\": {\"allowedDomains\": [], "
                 "\"deniedDomains\": [], \"mode\": \"host\", \"allowUnixSockets\": [\"/run/x\"]}, "
                 "\"filesystem\": {\"denyRead\": [], \"allowWrite\": [], \"denyWrite\": [], \"allowReed\": [\"x\"]}}");

    (void)state;
    assert_true(loaded->good);
    assert_said(loaded, true, "extends", "ignored");
    assert_said(loaded, true, "rules", "ignored");
    assert_said(loaded, true, "network.mode", "ignored");
    assert_said(loaded, true, "filesystem.allowReed", "did you mean \"allowRead\"?");
    assert_said(loaded, true, "network.allowUnixSockets", "on Linux");
    assert_int_equal(loaded->policy.network.mode, NETWORK_UNSET);
    assert_int_equal(loaded->policy.network.unix_sockets.count, 0);
    assert_int_equal(loaded->policy.unbuilt_count, 0);
    unload(loaded);
}

static void test_srt_hosts_that_nothing_can_have_allow_nothing_and_deny_never_in_silence(void **state)
{
    struct loaded *allowed =
        load_srt("{\"network\": {\"allowedDomains\": [\"127.1\", \"x.com\"], \"deniedDomains\": []}, "
                 "\"filesystem\": {\"denyRead\": [], \"allowWrite\": [], \"denyWrite\": []}}");
    struct loaded *denied = load_srt("{\"network\": {\"allowedDomains\": [\"x.com\"], \"deniedDomains\": [\"127.1\"]}, "
                                     "\"filesystem\": {\"denyRead\": [], \"allowWrite\": [], \"denyWrite\": []}}");

    (void)state;
    assert_true(allowed->good);
    assert_said(allowed, true, "network.allowedDomains[0]", "allows nothing");
    assert_int_equal(allowed->policy.network.allowed.count, 1);
    assert_said(denied, false, "network.deniedDomains[0]", "IPv4");
    unload(allowed);
    unload(denied);
}

static void test_srt_refusals_are_in_srts_words(void **state)
{
    struct loaded *missing = load_srt("{}");
    struct loaded *empty = load_srt(" \n");
    struct loaded *broken = load_srt("{");
    struct loaded *array = load_srt("[]");

    (void)state;
    assert_said(missing, false, "network", "Required");
    assert_said(empty, false, "", SRT_EMPTY);
    assert_said(broken, false, "", SRT_NOT_JSON);
    assert_said(array, false, "(root)", "Expected object, received array");
    unload(missing);
    unload(empty);
    unload(broken);
    unload(array);
}

/* What is refused on purpose: hosts that could be read two ways (a denial must
 * not be dropped in silence), and under the native name also keys that srt drops
 * and a socket without a name. */
static bool is_refused_on_purpose(const struct problem *problem, bool srt)
{
    static const char *const native_only[] = {"network.allowedDomains[", "network.tlsTerminate.excludeDomains[",
                                              "network.mitmProxy.domains[", "network.allowUnixSockets[0]",
                                              "injectHosts["};

    if (problem->warning || strstr(problem->path, "network.deniedDomains[") ||
        strstr(problem->path, "network.deniedResolvedAddresses["))
        return true;
    if (srt)
        return false;
    for (size_t i = 0; i < sizeof native_only / sizeof *native_only; i++) {
        if (strstr(problem->path, native_only[i]))
            return true;
    }
    return strstr(problem->text, "no such key") != NULL;
}

static bool is_taken(const struct loaded *loaded, bool srt)
{
    for (size_t i = 0; i < loaded->problems.count; i++) {
        if (!is_refused_on_purpose(&loaded->problems.items[i], srt))
            return false;
    }
    return true;
}

/* "Every valid srt settings file is a valid cloche policy." */
static void test_every_settings_file_that_srt_takes_is_taken_under_both_names(void **state)
{
    json_error_t broken;
    json_t *record JSON_CLEANUP = json_load_file(SRT_SETTINGS, JSON_ALLOW_NUL, &broken);
    const json_t *cases = json_object_get(record, "cases");
    size_t valid = 0;
    size_t failed = 0;

    (void)state;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *each = json_array_get(cases, i);
        const json_t *ours = json_object_get(each, "ours");
        if (!json_is_true(json_object_get(ours ? ours : each, "valid")))
            continue;
        valid++;
        const char *text = json_string_value(json_object_get(each, "settings"));
        if (strstr(text, "\\u0000"))
            continue; /* srt refuses these later, when it wraps a command */
        struct loaded *srt = load_srt(text);
        struct loaded *native = load(text);
        if (!is_taken(srt, true) || !is_taken(native, false)) {
            print_message("# %s\n# %s\n", json_string_value(json_object_get(each, "name")), text);
            show_problems(srt);
            show_problems(native);
            failed++;
        }
        unload(srt);
        unload(native);
    }
    assert_true(valid > 50);
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_policy_has_the_documented_defaults),
        cmocka_unit_test(test_policy_without_extends_hides_secrets_and_one_with_none_does_not),
        cmocka_unit_test(test_every_preset_loads_without_a_word),
        cmocka_unit_test(test_a_preset_means_what_its_text_means),
        cmocka_unit_test(test_scalars_are_stored_with_their_origin),
        cmocka_unit_test(test_every_word_means_its_mode),
        cmocka_unit_test(test_allowed_domains_make_the_network_filtered),
        cmocka_unit_test(test_paths_are_expanded_and_joined_to_the_project),
        cmocka_unit_test(test_variables_without_a_value_are_named),
        cmocka_unit_test(test_wildcards_in_the_projects_own_name_are_ordinary_bytes),
        cmocka_unit_test(test_literal_entries_have_no_wildcards_and_no_removal),
        cmocka_unit_test(test_at_start_is_for_the_top_of_the_project_and_home),
        cmocka_unit_test(test_search_path_opens_its_directories_and_the_toolchains_that_hold_them),
        cmocka_unit_test(test_search_path_opens_no_directory_that_holds_something_hidden),
        cmocka_unit_test(test_access_words_and_their_aliases),
        cmocka_unit_test(test_rules_count_only_where_all_their_conditions_hold),
        cmocka_unit_test(test_command_conditions_do_not_hold_without_a_command),
        cmocka_unit_test(test_rule_that_does_not_count_may_use_an_undefined_variable),
        cmocka_unit_test(test_environment_names_and_values),
        cmocka_unit_test(test_sizes_and_limits),
        cmocka_unit_test(test_what_nothing_holds_yet_is_listed_by_name),
        cmocka_unit_test(test_what_the_network_is_told_is_kept),
        cmocka_unit_test(test_what_is_told_of_a_run_is_as_the_policy_says),
        cmocka_unit_test(test_what_asks_for_nothing_is_not_listed_as_unbuilt),
        cmocka_unit_test(test_denied_credentials_are_hidden_and_withheld),
        cmocka_unit_test(test_reasons_go_to_their_denied_domains),
        cmocka_unit_test(test_safe_directories_reach_git_behind_what_it_is_told_already),
        cmocka_unit_test(test_keys_without_effect_say_so),
        cmocka_unit_test(test_names_files_and_ports_are_kept),
        cmocka_unit_test(test_srt_defaults_are_srts),
        cmocka_unit_test(test_srt_default_writes_below_a_denied_read_are_dropped),
        cmocka_unit_test(test_srt_expands_a_leading_tilde_and_nothing_else),
        cmocka_unit_test(test_srt_drops_keys_it_does_not_know_with_a_warning),
        cmocka_unit_test(test_srt_hosts_that_nothing_can_have_allow_nothing_and_deny_never_in_silence),
        cmocka_unit_test(test_srt_refusals_are_in_srts_words),
        cmocka_unit_test(test_every_settings_file_that_srt_takes_is_taken_under_both_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
