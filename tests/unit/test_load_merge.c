/* How sources become one policy: files, extends, "!entry", the command line. */
#include "loading.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files in a directory of their own ---- */

static char directory[64];

static int make_directory(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/cloche-test-XXXXXX");
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    char command[100];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command);
}

static const char *path_of(const char *name)
{
    static char paths[4][128];
    static size_t next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static struct loaded *load_files(size_t count, ...)
{
    struct policy_source sources[4];
    struct policy_request request = {.sources = sources, .source_count = count};
    va_list names;

    va_start(names, count);
    for (size_t i = 0; i < count; i++)
        sources[i] = (struct policy_source){.kind = SOURCE_FILE, .name = path_of(va_arg(names, const char *))};
    va_end(names);
    return load_request(made_up(PERSONALITY_CLOCHE), &request);
}

static struct loaded *load_two(const char *first, const char *second)
{
    struct policy_source sources[] = {{.kind = SOURCE_TEXT, .name = "first", .text = slice_of(first)},
                                      {.kind = SOURCE_TEXT, .name = "second", .text = slice_of(second)}};
    struct policy_request request = {.sources = sources, .source_count = 2};

    return load_request(made_up(PERSONALITY_CLOCHE), &request);
}

/* ---- order ---- */

static void test_lists_append_and_scalars_override(void **state)
{
    struct loaded *loaded = load_two(
        "{\"extends\": [], \"filesystem\": {\"allowRead\": [\"/a\"], \"tmp\": \"host\", \"caches\": \"host\"}, "
        "\"environment\": {\"set\": {\"A\": \"1\", \"B\": \"1\"}}}",
        "{\"extends\": [], \"filesystem\": {\"allowRead\": [\"/b\"], \"tmp\": \"private\"}, "
        "\"environment\": {\"set\": {\"A\": \"2\"}}}");
    const struct policy *policy = &loaded->policy;

    (void)state;
    assert_true(loaded->good);
    assert_int_equal(policy->paths.count, 2);
    assert_string_equal(policy->paths.items[0].origin.file, "first");
    assert_string_equal(policy->paths.items[1].origin.file, "second");
    assert_int_equal(policy->filesystem.tmp, TMP_PRIVATE);
    assert_int_equal(policy->filesystem.caches, CACHES_HOST);
    assert_int_equal(policy->environment.set_count, 2);
    assert_slice(policy->environment.set[0].value, "2");
    assert_string_equal(policy->environment.set[0].origin.file, "second");
    unload(loaded);
}

static void test_a_later_source_takes_an_unbuilt_feature_back(void **state)
{
    static const char first[] = "{\"credentials\": {\"allowPlaintextInject\": true}}";
    struct loaded *asked = load_two(first, "{}");
    struct loaded *back = load_two(first, "{\"credentials\": {\"allowPlaintextInject\": false}}");

    (void)state;
    assert_int_equal(asked->policy.unbuilt_count, 1);
    show_problems(back);
    assert_true(back->good);
    assert_int_equal(back->policy.unbuilt_count, 0);
    unload(asked);
    unload(back);
}

static void test_an_empty_list_takes_no_unbuilt_feature_back(void **state)
{
    struct loaded *loaded = load_two("{\"network\": {\"stripResponseHeaders\": [\"x-a\"]}}",
                                     "{\"network\": {\"stripResponseHeaders\": []}}");

    (void)state;
    assert_int_equal(loaded->policy.unbuilt_count, 1);
    unload(loaded);
}

static void test_what_is_extended_is_merged_first_and_relative_to_the_file_that_says_so(void **state)
{
    mkdir(path_of("team"), 0700);
    write_file("mine.json", "{\"extends\": [\"team/a.json\"], \"filesystem\": {\"tmp\": \"host\"}}");
    write_file("team/a.json",
               "{\"extends\": \"./b.json\", \"filesystem\": {\"tmp\": \"private\", \"allowRead\": [\"/a\"]}}");
    write_file("team/b.json", "{\"extends\": [], \"filesystem\": {\"caches\": \"host\", \"allowRead\": [\"/b\"]}}");
    struct loaded *loaded = load_files(1, "mine.json");

    (void)state;
    show_problems(loaded);
    assert_true(loaded->good);
    assert_int_equal(loaded->policy.filesystem.tmp, TMP_HOST);
    assert_int_equal(loaded->policy.filesystem.caches, CACHES_HOST);
    assert_slice(loaded->policy.paths.items[0].text, "/b");
    assert_slice(loaded->policy.paths.items[1].text, "/a");
    assert_non_null(strstr(loaded->policy.paths.items[0].origin.file, "/team/b.json"));
    assert_non_null(find_named(&loaded->policy.sources, path_of("mine.json")));
    assert_non_null(find_named(&loaded->policy.sources, path_of("team/a.json")));
    assert_non_null(find_named(&loaded->policy.sources, path_of("team/b.json")));
    unload(loaded);
}

static void test_an_extended_file_without_extends_stands_on_base_too(void **state)
{
    write_file("top.json", "{\"extends\": [\"plain.json\"]}");
    write_file("plain.json", "{}");
    struct loaded *loaded = load_files(1, "top.json");

    (void)state;
    assert_true(loaded->good);
    assert_non_null(find_rule(loaded, LIST_DENY_READ, "/home/u/.ssh"));
    unload(loaded);
}

static void test_what_two_policies_extend_is_merged_once(void **state)
{
    struct loaded *loaded =
        load_two("{\"filesystem\": {\"denyRead\": [\"!~/.ssh\"]}}", "{\"extends\": [\"preset:dev\"]}");
    size_t count = 0;

    (void)state;
    assert_true(loaded->good);
    assert_null(find_rule(loaded, LIST_DENY_READ, "/home/u/.ssh"));
    for (size_t i = 0; i < loaded->policy.paths.count; i++)
        count += slice_is(loaded->policy.paths.items[i].text, "~/.aws");
    assert_int_equal(count, 1);
    unload(loaded);
}

static void test_circles_are_reported_as_a_chain(void **state)
{
    write_file("x.json", "{\"extends\": [\"y.json\"]}");
    write_file("y.json", "{\"extends\": [\"z.json\"]}");
    write_file("z.json", "{\"extends\": [\"preset:base\", \"x.json\"]}");
    write_file("self.json", "{\"extends\": [\"./self.json\"]}");
    struct loaded *loaded = load_files(1, "x.json");
    struct loaded *self = load_files(1, "self.json");

    (void)state;
    assert_said(loaded, false, "extends[1]", "a circle");
    const char *text = find_problem(loaded, "extends[1]", "a circle")->text;
    const char *y = strstr(text, "y.json extends");
    assert_non_null(strstr(text, "x.json extends"));
    assert_non_null(y);
    assert_non_null(strstr(y, "z.json extends"));
    assert_non_null(strstr(find_problem(loaded, "extends[1]", "a circle")->file, "z.json"));
    assert_said(self, false, "extends[0]", "self.json extends");
    unload(loaded);
    unload(self);
}

static void test_circles_through_a_link_are_found(void **state)
{
    write_file("real.json", "{\"extends\": [\"alias.json\"]}");
    (void)state;
    assert_int_equal(symlink("real.json", path_of("alias.json")), 0);
    struct loaded *loaded = load_files(1, "real.json");
    assert_said(loaded, false, "extends[0]", "a circle");
    unload(loaded);
}

static void test_a_policy_behind_a_link_protects_both_names(void **state)
{
    write_file("target.json", "{\"extends\": []}");
    (void)state;
    assert_int_equal(symlink("target.json", path_of("link.json")), 0);
    struct loaded *loaded = load_files(1, "link.json");
    assert_true(loaded->good);
    assert_non_null(find_named(&loaded->policy.sources, path_of("link.json")));
    assert_non_null(find_named(&loaded->policy.sources, path_of("target.json")));
    unload(loaded);
}

static void test_the_depth_of_extending_is_bounded(void **state)
{
    char name[32];
    char text[64];

    (void)state;
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "deep%d.json", i);
        snprintf(text, sizeof text, "{\"extends\": [\"deep%d.json\"]}", i + 1);
        write_file(name, i == 29 ? "{\"extends\": []}" : text);
    }
    struct loaded *deep = load_files(1, "deep0.json");
    struct loaded *shallow = load_files(1, "deep20.json");
    assert_said(deep, false, "extends[0]", "too many policies");
    assert_true(shallow->good);
    unload(deep);
    unload(shallow);
}

static void test_presets_that_do_not_exist_are_named(void **state)
{
    struct policy_source source = {.kind = SOURCE_PRESET, .name = "devv"};
    struct policy_request request = {.sources = &source, .source_count = 1};
    struct loaded *loaded = load_request(made_up(PERSONALITY_CLOCHE), &request);

    (void)state;
    assert_said(loaded, false, "", "did you mean \"dev\"?");
    unload(loaded);
    assert_refused("{\"extends\": [\"preset:stritc\"]}", "extends[0]", "did you mean \"strict\"?");
    assert_refused("{\"extends\": [\"preset:\"]}", "extends[0]", "`cloche presets` lists them");
    assert_refused("{\"extends\": [3]}", "extends[0]", "a path or preset:NAME");
    assert_refused("{\"extends\": {}}", "extends", "an array of paths");
    assert_refused("{\"extends\": \"\"}", "extends", "empty");
}

/* ---- files that are no policies ---- */

static void test_files_that_cannot_be_read_are_refused_with_the_reason(void **state)
{
    static char large[1024 * 1024 + 100];

    (void)state;
    memset(large, ' ', sizeof large - 1);
    large[0] = '{';
    large[sizeof large - 2] = '}';
    write_file("large.json", large);
    write_file("empty.json", "");
    write_file("blank.json", " \n\t\n");
    write_file("broken.json", "{\n  \"filesystem\": {\n}");
    write_file("twice.json", "{\"network\": {}, \"network\": {}}");
    write_file("list.json", "[]");
    write_file("comment.json", "{} /* never closed");
    mkdir(path_of("dir.json"), 0700);
    assert_int_equal(mkfifo(path_of("fifo.json"), 0600), 0);

    static const struct {
        const char *name;
        const char *words;
    } cases[] = {
        {"large.json", "larger than 1048576 bytes"},
        {"empty.json", "it is empty"},
        {"blank.json", "it is empty"},
        {"broken.json", "line 3"},
        {"twice.json", "duplicate"},
        {"list.json", "found an empty array; a policy is a JSON object"},
        {"comment.json", "never closed"},
        {"dir.json", "not a regular file"},
        {"fifo.json", "not a regular file"},
        {"absent.json", "there is no file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct loaded *loaded = load_files(1, cases[i].name);
        assert_int_equal(loaded->problems.count, 1);
        assert_said(loaded, false, "", cases[i].words);
        assert_string_equal(loaded->problems.items[0].file, path_of(cases[i].name));
        unload(loaded);
    }
}

static void test_an_extended_file_that_is_missing_is_blamed_on_who_extends_it(void **state)
{
    write_file("wants.json", "{\"extends\": [\"preset:base\", \"gone.json\"]}");
    struct loaded *loaded = load_files(1, "wants.json");

    (void)state;
    assert_said(loaded, false, "extends[1]", "gone.json");
    assert_string_equal(loaded->problems.items[0].file, path_of("wants.json"));
    unload(loaded);
}

static void test_problems_of_all_files_are_reported_at_once(void **state)
{
    write_file("one.json", "{\"extends\": [\"two.json\"], \"filesystm\": {}}");
    write_file("two.json", "{\"filesystem\": {\"tmp\": 3}}");
    write_file("three.json", "{\"rules\": {}}");
    struct loaded *loaded = load_files(3, "one.json", "three.json", "none.json");

    (void)state;
    assert_int_equal(loaded->problems.errors, 4);
    assert_said(loaded, false, "filesystm", "did you mean \"filesystem\"?");
    assert_string_equal(find_problem(loaded, "filesystm", "")->file, path_of("one.json"));
    assert_string_equal(find_problem(loaded, "filesystem.tmp", "")->file, path_of("two.json"));
    assert_string_equal(find_problem(loaded, "rules", "")->file, path_of("three.json"));
    assert_string_equal(find_problem(loaded, "", "no file")->file, path_of("none.json"));
    unload(loaded);
}

static void test_names_of_files_reach_messages_escaped(void **state)
{
    struct policy_source source = {.kind = SOURCE_FILE, .name = "/no\x1b[2Jsuch\nfile"};
    struct policy_request request = {.sources = &source, .source_count = 1};
    struct loaded *loaded = load_request(made_up(PERSONALITY_CLOCHE), &request);

    (void)state;
    assert_false(loaded->good);
    assert_null(strchr(loaded->problems.items[0].file, '\x1b'));
    assert_null(strchr(loaded->problems.items[0].text, '\x1b'));
    unload(loaded);
}

/* ---- "!entry" ---- */

static void test_inherited_entries_can_be_taken_away_from_every_list(void **state)
{
    struct loaded *loaded = load_two(
        "{\"extends\": [], \"filesystem\": {\"allowRead\": [\"/a\", \"/b\"], \"denyWrite\": [\"*.key\"], "
        "\"protect\": [\"x\"], \"devices\": [\"/dev/dri\"]}, "
        "\"network\": {\"allowedDomains\": [\"x.com\", \"y.com\"], \"hostPorts\": [1, 2], "
        "\"allowUnixSockets\": [\"~/s\"]}, "
        "\"environment\": {\"pass\": [\"*\", \"A\"]}, \"rules\": [{\"path\": \"~/r\", \"access\": \"read\"}], "
        "\"seccomp\": {\"deny\": [\"ptrace\"]}}",
        "{\"extends\": [], \"filesystem\": {\"allowRead\": [\"!/a\", \"/c\"], \"denyWrite\": [\"!*.key\"], "
        "\"protect\": [\"!x\"], \"devices\": [\"!/dev/dri\"]}, "
        "\"network\": {\"allowedDomains\": [\"!X.com\"], \"hostPorts\": [\"!2\"], \"allowUnixSockets\": "
        "[\"!$HOME/s\"]}, "
        "\"environment\": {\"pass\": [\"!*\"]}, \"rules\": [\"!$HOME/r\"], \"seccomp\": {\"deny\": [\"!ptrace\"]}}");
    const struct policy *policy = &loaded->policy;

    (void)state;
    show_problems(loaded);
    assert_true(loaded->good);
    assert_int_equal(policy->paths.count, 2);
    assert_slice(policy->paths.items[0].text, "/b");
    assert_slice(policy->paths.items[1].text, "/c");
    assert_int_equal(policy->filesystem.protect.count, 0);
    assert_int_equal(policy->filesystem.devices.count, 0);
    assert_int_equal(policy->network.allowed.count, 1);
    assert_slice(policy->network.allowed.items[0].text, "y.com");
    assert_int_equal(policy->network.host_ports.count, 1);
    assert_int_equal(policy->network.host_ports.items[0].port, 1);
    assert_int_equal(policy->network.unix_sockets.count, 0);
    assert_int_equal(policy->environment.pass.count, 1);
    assert_slice(policy->environment.pass.items[0].text, "A");
    assert_int_equal(policy->seccomp.deny.count, 0);
    unload(loaded);
}

static void test_removal_is_by_meaning_not_by_spelling(void **state)
{
    struct loaded *loaded = load_good("{\"filesystem\": {\"denyRead\": [\"!/home/u/.ssh/\", \"!$HOME/.aws\"]}}");

    (void)state;
    assert_null(find_rule(loaded, LIST_DENY_READ, "/home/u/.ssh"));
    assert_null(find_rule(loaded, LIST_DENY_READ, "/home/u/.aws"));
    assert_non_null(find_rule(loaded, LIST_DENY_READ, "/home/u/.gnupg"));
    unload(loaded);
}

static void test_two_removals_may_name_the_same_entry(void **state)
{
    struct loaded *loaded = load_good("{\"filesystem\": {\"denyRead\": [\"!~/.ssh\", \"!~/.ssh\"]}}");

    (void)state;
    unload(loaded);
}

static void test_removal_from_one_list_leaves_the_others(void **state)
{
    struct loaded *loaded =
        load_two("{\"extends\": [], \"filesystem\": {\"denyRead\": [\"/a\"], \"denyWrite\": [\"/a\"]}}",
                 "{\"extends\": [], \"filesystem\": {\"denyRead\": [\"!/a\"]}}");

    (void)state;
    assert_int_equal(loaded->policy.paths.count, 1);
    assert_int_equal(loaded->policy.paths.items[0].list, LIST_DENY_WRITE);
    unload(loaded);
}

static void test_removal_that_removes_nothing_is_a_problem(void **state)
{
    (void)state;
    assert_refused("{\"filesystem\": {\"denyRead\": [\"!~/.shs\"]}}", "filesystem.denyRead[0]",
                   "did you mean \"!~/.ssh\"?");
    assert_refused("{\"filesystem\": {\"allowRead\": [\"!~/.ssh\"]}}", "filesystem.allowRead[0]", "takes nothing away");
    assert_refused("{\"environment\": {\"deny\": [\"!AWS_\"]}}", "environment.deny[0]", "did you mean \"!AWS_*\"?");
    assert_refused("{\"filesystem\": {\"allowWrite\": [\"/a\", \"!/a\"]}}", "filesystem.allowWrite[1]",
                   "takes nothing away");
    assert_refused("{\"filesystem\": {\"allowWrite\": [\"!\"]}}", "filesystem.allowWrite[0]", "must follow the mark");
    assert_refused("{\"network\": {\"hostPorts\": [\"!80\"]}}", "network.hostPorts[0]", "takes nothing away");
    assert_refused("{\"network\": {\"hostPorts\": [\"!http\"]}}", "network.hostPorts[0]", "1 to 65535");
    assert_refused("{\"network\": {\"allowedDomains\": [\"!x.com\"]}}", "network.allowedDomains[0]",
                   "takes nothing away");
    assert_refused("{\"rules\": [\"!/a\"]}", "rules[0]", "takes nothing away");
    assert_refused("{\"rules\": [\"/a\"]}", "rules[0]", "an object is expected");
}

static void test_rules_that_do_not_count_here_and_the_search_path_can_be_taken_away(void **state)
{
    struct loaded *loaded =
        load_two("{\"rules\": [{\"path\": \"/x\", \"access\": \"none\", \"when\": {\"user\": \"root\"}}], "
                 "\"filesystem\": {\"allowRead\": [\"$PATH\"]}}",
                 "{\"rules\": [\"!/x\", \"!/etc/shadow\"], \"filesystem\": {\"allowRead\": [\"!$PATH\"]}}");

    (void)state;
    show_problems(loaded);
    assert_true(loaded->good);
    assert_null(find_rule(loaded, LIST_ALLOW_READ, "/usr/bin"));
    unload(loaded);
}

/* ---- the command line ---- */

static void test_options_come_last_and_are_their_own_origin(void **state)
{
    static const struct policy_option options[] = {
        {OPTION_ALLOW_READ, "~/a"},      {OPTION_DENY_READ, "/b/*"}, {OPTION_ALLOW_WRITE, "out"},
        {OPTION_DENY_WRITE, "/d"},       {OPTION_ALLOW_DOMAIN, "*"}, {OPTION_DENY_DOMAIN, "x.com:80"},
        {OPTION_ALLOW_UNIX, "/run/s"},   {OPTION_ENV, "TOKEN"},      {OPTION_ENV, "CI=1=2"},
        {OPTION_HOST_PORT, "5432"},      {OPTION_PUBLISH, "3000"},   {OPTION_DEVICE, "/dev/dri"},
        {OPTION_TIMEOUT, "5m"},          {OPTION_MEMORY, "2G"},      {OPTION_PIDS, "64"},
        {OPTION_ALLOW_READ, "!literal"},
    };
    struct policy_source source = {.kind = SOURCE_TEXT, .name = "t", .text = SLICE("{\"extends\": []}")};
    struct policy_request request = {
        .sources = &source, .source_count = 1, .options = options, .option_count = sizeof options / sizeof *options};
    struct loaded *loaded = load_request(made_up(PERSONALITY_CLOCHE), &request);
    const struct policy *policy = &loaded->policy;

    (void)state;
    show_problems(loaded);
    assert_true(loaded->good);
    const struct path_rule *rule = find_rule(loaded, LIST_ALLOW_READ, "/home/u/a");
    assert_non_null(rule);
    assert_string_equal(rule->origin.file, "command line");
    assert_string_equal(rule->origin.path, "--allow-read");
    assert_non_null(find_rule(loaded, LIST_DENY_READ, "/b/*"));
    assert_non_null(find_rule(loaded, LIST_ALLOW_WRITE, "/home/u/work/out"));
    assert_non_null(find_rule(loaded, LIST_DENY_WRITE, "/d"));
    assert_non_null(find_rule(loaded, LIST_ALLOW_READ, "/home/u/work/!literal"));
    assert_int_equal(policy->network.allowed.items[0].pattern.kind, HOST_PATTERN_ANY);
    assert_int_equal(policy->network.denied.items[0].pattern.port, 80);
    assert_non_null(find_named(&policy->network.unix_sockets, "/run/s"));
    assert_non_null(find_named(&policy->environment.pass, "TOKEN"));
    assert_non_null(find_named(&policy->environment.pass, "*"));
    assert_slice(policy->environment.set[0].name, "CI");
    assert_slice(policy->environment.set[0].value, "1=2");
    assert_int_equal(policy->network.host_ports.items[0].port, 5432);
    assert_int_equal(policy->network.publish_ports.items[0].port, 3000);
    assert_non_null(find_named(&policy->filesystem.devices, "/dev/dri"));
    assert_int_equal(policy->limits.wall_seconds, 300);
    assert_int_equal(policy->limits.memory, 2ULL << 30);
    assert_int_equal(policy->limits.processes, 64);
    assert_int_equal(policy->unbuilt_count, 0);
    assert_string_equal(policy->limits.processes_origin.path, "--pids");
    unload(loaded);
}

static void test_options_that_make_no_sense_are_refused_by_name(void **state)
{
    static const struct {
        struct policy_option option;
        const char *path;
        const char *words;
    } cases[] = {
        {{OPTION_ALLOW_READ, ""}, "--allow-read", "empty"},
        {{OPTION_ALLOW_READ, "$NOPE/x"}, "--allow-read", "$NOPE"},
        {{OPTION_ALLOW_DOMAIN, "http://x.com"}, "--allow-domain", "scheme"},
        {{OPTION_ENV, "=x"}, "--env", "NAME or NAME=VALUE"},
        {{OPTION_HOST_PORT, "0"}, "--host-port", "1 to 65535"},
        {{OPTION_PUBLISH, "70000"}, "--publish", "1 to 65535"},
        {{OPTION_DEVICE, "/etc/passwd"}, "--device", "below /dev"},
        {{OPTION_DEVICE, "/dev/../etc"}, "--device", "below /dev"},
        {{OPTION_TIMEOUT, "soon"}, "--timeout", "a time"},
        {{OPTION_TIMEOUT, "0"}, "--timeout", "a time"},
        {{OPTION_TIMEOUT, "99999999999999999999"}, "--timeout", "a time"},
        {{OPTION_MEMORY, "0"}, "--memory", "a size"},
        {{OPTION_MEMORY, "2GB"}, "--memory", "a size"},
        {{OPTION_PIDS, "99999999"}, "--pids", "processes"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct policy_request request = {.options = &cases[i].option, .option_count = 1};
        struct loaded *loaded = load_request(made_up(PERSONALITY_CLOCHE), &request);
        assert_said(loaded, false, cases[i].path, cases[i].words);
        unload(loaded);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_append_and_scalars_override),
        cmocka_unit_test(test_a_later_source_takes_an_unbuilt_feature_back),
        cmocka_unit_test(test_an_empty_list_takes_no_unbuilt_feature_back),
        cmocka_unit_test(test_what_is_extended_is_merged_first_and_relative_to_the_file_that_says_so),
        cmocka_unit_test(test_an_extended_file_without_extends_stands_on_base_too),
        cmocka_unit_test(test_what_two_policies_extend_is_merged_once),
        cmocka_unit_test(test_circles_are_reported_as_a_chain),
        cmocka_unit_test(test_circles_through_a_link_are_found),
        cmocka_unit_test(test_a_policy_behind_a_link_protects_both_names),
        cmocka_unit_test(test_the_depth_of_extending_is_bounded),
        cmocka_unit_test(test_presets_that_do_not_exist_are_named),
        cmocka_unit_test(test_files_that_cannot_be_read_are_refused_with_the_reason),
        cmocka_unit_test(test_an_extended_file_that_is_missing_is_blamed_on_who_extends_it),
        cmocka_unit_test(test_problems_of_all_files_are_reported_at_once),
        cmocka_unit_test(test_names_of_files_reach_messages_escaped),
        cmocka_unit_test(test_inherited_entries_can_be_taken_away_from_every_list),
        cmocka_unit_test(test_removal_is_by_meaning_not_by_spelling),
        cmocka_unit_test(test_two_removals_may_name_the_same_entry),
        cmocka_unit_test(test_removal_from_one_list_leaves_the_others),
        cmocka_unit_test(test_removal_that_removes_nothing_is_a_problem),
        cmocka_unit_test(test_rules_that_do_not_count_here_and_the_search_path_can_be_taken_away),
        cmocka_unit_test(test_options_come_last_and_are_their_own_origin),
        cmocka_unit_test(test_options_that_make_no_sense_are_refused_by_name),
    };

    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
