/* What the presets allow and refuse, path by path, in a made-up home: loaded,
 * resolved and decided as a run would. */
#include "base/path.h"
#include "plan/plan.h"
#include "policy/decide.h"
#include "policy/load.h"
#include "policy/preset.h"
#include "policy/resolve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- a made-up host ---- */

/* Directories end in a slash; what lies above an entry is there too. */
static const char *const host[] = {
    "/etc/shadow",
    "/etc/passwd",
    "/etc/resolv.conf",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/ssh/ssh_config",
    "/usr/bin/git",
    "/usr/lib/x.so",
    "/opt/tool/bin/tool",
    "/sys/kernel/debug/x",
    "/sys/firmware/efi/x",
    "/sys/class/net/lo",
    "/run/user/1000/bus",
    "/run/secrets/token",
    "/tmp/x",
    "/var/tmp/x",
    "/var/mail/me",
    "/home/other/file",
    "HOME/.ssh/id_ed25519",
    "HOME/.aws/credentials",
    "HOME/.npmrc",
    "HOME/.gitconfig",
    "HOME/.config/git/config",
    "HOME/.config/git/credentials",
    "HOME/.config/gh/hosts.yml",
    "HOME/.config/opencode/opencode.json",
    "HOME/.local/share/opencode/auth.json",
    "HOME/.local/share/opencode/storage/x",
    "HOME/.local/state/opencode/x",
    "HOME/.local/bin/tool",
    "HOME/.local/share/keyrings/login",
    "HOME/.cargo/bin/cargo",
    "HOME/.cargo/credentials.toml",
    "HOME/.cargo/registry/x",
    "HOME/.nvm/versions/node/v22/bin/node",
    "HOME/.nvm/versions/node/v22/lib/x",
    "HOME/private-tool/bin/tool",
    "HOME/private-tool/lib/x",
    "HOME/.cache/pip/x",
    "HOME/.npm/x",
    "HOME/.bash_history",
    "HOME/.bashrc",
    "HOME/.claude/.credentials.json",
    "HOME/.claude/projects/x",
    "HOME/.claude/settings.json",
    "HOME/.claude/plugins/x",
    "HOME/.claude.json",
    "HOME/.codex/auth.json",
    "HOME/.codex/config.toml",
    "HOME/.codex/sessions/x",
    "HOME/documents/letter",
    "HOME/project/src/main.c",
    "HOME/project/.env",
    "HOME/project/.env.local",
    "HOME/project/.env.example",
    "HOME/project/.git/config",
    "HOME/project/.git/index",
};

enum { HOST_ENTRIES = sizeof host / sizeof *host };

struct scene {
    struct arena arena;
    const char *home;
    struct tree tree;
    struct policy policy;
    char *environment[4];
};

static struct slice in(struct scene *scene, const char *path)
{
    return slice_of(strncmp(path, "HOME", 4) == 0 ? arena_printf(&scene->arena, "%s%s", scene->home, path + 4) : path);
}

static enum node look(void *context, struct slice path, struct arena *arena, struct slice *target)
{
    (void)arena;
    (void)target;
    for (size_t i = 0; i < HOST_ENTRIES; i++) {
        struct slice entry = in(context, host[i]);
        if (slice_equal(entry, path))
            return NODE_FILE;
        if (path_covers(path, entry))
            return NODE_DIRECTORY;
    }
    return NODE_ABSENT;
}

static bool list(void *context, struct slice path, void (*found)(void *argument, struct slice name), void *argument)
{
    for (size_t i = 0; i < HOST_ENTRIES; i++) {
        struct slice entry = in(context, host[i]);
        struct slice rest, name;
        if (!path_covers(path, entry) || slice_equal(path, entry))
            continue;
        rest = slice_from(entry, path.len);
        if (path_next(&rest, &name))
            found(argument, name);
    }
    return true;
}

static bool read_nothing(void *context, struct slice path, size_t limit, struct arena *arena, struct slice *content)
{
    (void)context;
    (void)path;
    (void)limit;
    (void)arena;
    (void)content;
    return false;
}

static struct scene *load(const char *preset, bool is_root)
{
    struct scene *scene = calloc(1, sizeof *scene);
    struct problems problems = {.arena = &scene->arena};
    struct policy_source source = {.kind = SOURCE_PRESET, .name = preset};
    struct policy_request request = {.sources = &source, .source_count = 1};

    scene->home = is_root ? "/root" : "/home/me";
    scene->tree = (struct tree){.look = look, .list = list, .read = read_nothing, .context = scene};
    scene->environment[0] = arena_printf(&scene->arena, "PATH=%s/private-tool/bin:/usr/bin:/opt/tool/bin:%s:relative",
                                         scene->home, scene->home);
    scene->environment[1] = arena_printf(&scene->arena, "HOME=%s", scene->home);
    struct surroundings around = {.personality = PERSONALITY_CLOCHE,
                                  .project = in(scene, "HOME/project"),
                                  .home = slice_of(scene->home),
                                  .user = slice_of(is_root ? "root" : "me"),
                                  .host_name = SLICE("here"),
                                  .environment = scene->environment,
                                  .is_root = is_root};
    if (policy_load(&scene->arena, &around, &request, &scene->policy, &problems))
        policy_resolve(&scene->policy, &scene->tree, &problems);
    for (size_t i = 0; i < problems.count; i++)
        print_error("%s: %s: %s\n", problems.items[i].file, problems.items[i].path, problems.items[i].text);
    assert_int_equal(problems.count, 0);
    return scene;
}

static void unload(struct scene *scene)
{
    arena_free(&scene->arena);
    free(scene);
}

static void judge(struct scene *scene, enum operation operation, const char *path, bool expected)
{
    struct decision decision = decide_real_path(&scene->policy, operation, in(scene, path));

    if (decision.allowed != expected)
        fail_msg("%s of %s is %s by %s %s (%s)", operation == OPERATION_READ ? "read" : "write", path,
                 decision.allowed ? "allowed" : "refused", decision.origin.file ? decision.origin.file : "?",
                 decision.origin.path ? decision.origin.path : "?", decision.why ? decision.why : "?");
}

#define READS(scene, ...) judge_all((scene), OPERATION_READ, true, (const char *const[]){__VA_ARGS__, NULL})
#define HIDES(scene, ...) judge_all((scene), OPERATION_READ, false, (const char *const[]){__VA_ARGS__, NULL})
#define WRITES(scene, ...) judge_all((scene), OPERATION_WRITE, true, (const char *const[]){__VA_ARGS__, NULL})
#define KEEPS(scene, ...) judge_all((scene), OPERATION_WRITE, false, (const char *const[]){__VA_ARGS__, NULL})

static void judge_all(struct scene *scene, enum operation operation, bool expected, const char *const *paths)
{
    for (; *paths; paths++)
        judge(scene, operation, *paths, expected);
}

static bool passes(struct scene *scene, const char *name)
{
    return decide_env(&scene->policy, slice_of(name)).allowed;
}

static bool reaches(struct scene *scene, const char *name)
{
    struct host parsed;
    struct error err;

    assert_true(host_parse(slice_of(name), &parsed, &err));
    return decide_connect(&scene->policy, &parsed, 443).allowed;
}

/* ---- the promises ---- */

static void test_every_preset_loads_for_root_and_for_others(void **state)
{
    (void)state;
    for (size_t i = 0; i < preset_count; i++) {
        unload(load(presets[i].name, false));
        unload(load(presets[i].name, true));
    }
}

static void test_secrets_stay_hidden_in_every_preset(void **state)
{
    (void)state;
    for (size_t i = 0; i < preset_count; i++) {
        struct scene *scene = load(presets[i].name, i % 2 == 0);

        HIDES(scene, "HOME/.ssh/id_ed25519", "HOME/.aws/credentials", "HOME/.npmrc", "HOME/.config/gh/hosts.yml",
              "HOME/.config/git/credentials", "HOME/.cargo/credentials.toml", "HOME/.local/share/keyrings/login",
              "HOME/.bash_history", "HOME/project/.env", "HOME/project/.env.local", "/sys/kernel/debug/x",
              "/sys/firmware/efi/x", "/run/user/1000/bus", "/run/secrets/token", "/var/mail/me");
        READS(scene, "HOME/project/src/main.c", "HOME/project/.env.example", "/usr/lib/x.so", "/etc/passwd");
        KEEPS(scene, "HOME/.bashrc", "HOME/.gitconfig", "/etc/passwd", "/usr/bin/git", "HOME/project/.git/config");
        assert_false(passes(scene, "GITHUB_TOKEN"));
        assert_false(passes(scene, "LD_PRELOAD"));
        assert_true(passes(scene, "PATH"));
        assert_true(passes(scene, "HOME"));
        unload(scene);
    }
}

static void test_root_cannot_read_what_file_modes_keep_from_others(void **state)
{
    struct scene *root = load("base", true);
    struct scene *user = load("base", false);

    (void)state;
    HIDES(root, "/etc/shadow", "/etc/ssh/ssh_host_ed25519_key");
    READS(root, "/etc/ssh/ssh_config");
    /* The kernel keeps these from an ordinary user; a mask would add nothing. */
    READS(user, "/etc/shadow", "/etc/ssh/ssh_host_ed25519_key");
    unload(root);
    unload(user);
}

static void test_dev_shows_of_home_only_project_and_toolchains(void **state)
{
    (void)state;
    for (int is_root = 0; is_root < 2; is_root++) {
        struct scene *scene = load("dev", is_root);

        READS(scene, "HOME/.gitconfig", "HOME/.config/git/config", "HOME/.nvm/versions/node/v22/lib/x",
              "HOME/.cargo/bin/cargo", "HOME/.local/bin/tool", "HOME/private-tool/bin/tool", "HOME/private-tool/lib/x",
              "/opt/tool/bin/tool", "/sys/class/net/lo", "HOME/.cache/pip/x");
        HIDES(scene, "HOME/documents/letter", "HOME/.bashrc", "HOME/.claude/projects/x", "HOME/.codex/config.toml",
              "HOME/made-later");
        WRITES(scene, "HOME/project/src/main.c", "HOME/project/new", "HOME/project/.git/index", "/tmp/new",
               "/var/tmp/new", "HOME/.cache/pip/new", "HOME/.npm/new", "HOME/.cargo/registry/new");
        KEEPS(scene, "HOME/.nvm/versions/node/v22/bin/node", "HOME/.cargo/bin/cargo", "HOME/.local/bin/tool",
              "HOME/private-tool/bin/tool", "HOME/new", "/opt/new");
        assert_int_equal(policy_network_mode(&scene->policy), NETWORK_NONE);
        assert_false(passes(scene, "ANTHROPIC_API_KEY"));
        assert_false(passes(scene, "SSH_AUTH_SOCK"));
        unload(scene);
    }
}

static void test_dev_keeps_other_homes_from_root(void **state)
{
    struct scene *root = load("dev", true);

    (void)state;
    HIDES(root, "/home/other/file");
    unload(root);
}

static void test_strict_lists_reads_and_lets_nothing_be_written(void **state)
{
    struct scene *scene = load("strict", false);

    (void)state;
    HIDES(scene, "HOME/.gitconfig", "HOME/documents/letter", "/home/other/file", "HOME/.cache/pip/x");
    READS(scene, "HOME/private-tool/lib/x", "/usr/bin/git");
    WRITES(scene, "/tmp/new");
    KEEPS(scene, "HOME/project/src/main.c", "HOME/.cache/pip/new");
    assert_int_equal(policy_network_mode(&scene->policy), NETWORK_NONE);
    assert_false(passes(scene, "PYTHONPATH"));
    assert_true(passes(scene, "LC_ALL"));
    unload(scene);
}

static void test_open_reaches_every_domain_and_keeps_its_caches(void **state)
{
    struct scene *scene = load("open", false);

    (void)state;
    assert_int_equal(policy_network_mode(&scene->policy), NETWORK_FILTERED);
    assert_true(reaches(scene, "example.org"));
    WRITES(scene, "HOME/project/new", "HOME/.cache/pip/new");
    assert_int_equal(decide_real_path(&scene->policy, OPERATION_WRITE, in(scene, "HOME/.cache/pip/new")).backing,
                     BACKING_HOST);
    HIDES(scene, "HOME/documents/letter");
    unload(scene);
}

static void test_readonly_and_workspace_read_all_and_differ_in_the_project(void **state)
{
    struct scene *readonly = load("readonly", false);
    struct scene *workspace = load("workspace", false);

    (void)state;
    READS(readonly, "HOME/documents/letter", "HOME/.bashrc", "/home/other/file");
    READS(workspace, "HOME/documents/letter", "HOME/.bashrc", "/home/other/file");
    KEEPS(readonly, "HOME/project/new", "HOME/new");
    KEEPS(workspace, "HOME/new", "HOME/.cache/pip/new");
    WRITES(workspace, "HOME/project/new", "/tmp/new");
    WRITES(readonly, "/tmp/new");
    assert_int_equal(policy_network_mode(&readonly->policy), NETWORK_NONE);
    assert_int_equal(policy_network_mode(&workspace->policy), NETWORK_NONE);
    unload(readonly);
    unload(workspace);
}

/* Each agent gets its own log-in, state, hosts and key, and nobody else's. */
static void test_agents_get_their_own_and_nobody_elses(void **state)
{
    struct scene *opencode = load("opencode", false);
    struct scene *claude = load("claude", false);
    struct scene *codex = load("codex", false);

    (void)state;
    READS(opencode, "HOME/.config/opencode/opencode.json", "HOME/.local/share/opencode/auth.json");
    WRITES(opencode, "HOME/.local/share/opencode/auth.json", "HOME/.local/share/opencode/storage/new",
           "HOME/.local/state/opencode/new", "HOME/project/new");
    KEEPS(opencode, "HOME/.config/opencode/opencode.json", "HOME/.config/opencode/new");
    HIDES(opencode, "HOME/.claude/.credentials.json", "HOME/.codex/auth.json", "HOME/documents/letter");
    assert_true(passes(opencode, "ANTHROPIC_API_KEY"));
    assert_true(reaches(opencode, "models.dev"));
    assert_false(reaches(opencode, "example.org"));

    WRITES(claude, "HOME/.claude/.credentials.json", "HOME/.claude/projects/new", "HOME/.claude.json",
           "HOME/project/new");
    KEEPS(claude, "HOME/.claude/settings.json", "HOME/.claude/commands/new", "HOME/.claude/plugins/x",
          "HOME/project/.claude/hooks/new");
    HIDES(claude, "HOME/.codex/auth.json", "HOME/.local/share/opencode/auth.json", "HOME/documents/letter");
    assert_true(passes(claude, "ANTHROPIC_API_KEY"));
    assert_false(passes(claude, "OPENAI_API_KEY"));
    assert_true(reaches(claude, "api.anthropic.com"));
    assert_false(reaches(claude, "api.openai.com"));

    READS(codex, "HOME/.codex/config.toml");
    WRITES(codex, "HOME/.codex/auth.json", "HOME/.codex/sessions/new", "HOME/project/new");
    KEEPS(codex, "HOME/.codex/config.toml", "HOME/.codex/new", "HOME/project/.codex/config.toml");
    HIDES(codex, "HOME/.claude/.credentials.json", "HOME/.local/share/opencode/auth.json", "HOME/documents/letter");
    assert_true(passes(codex, "OPENAI_API_KEY"));
    assert_false(passes(codex, "ANTHROPIC_API_KEY"));
    assert_true(reaches(codex, "chatgpt.com"));
    assert_false(reaches(codex, "api.anthropic.com"));

    unload(opencode);
    unload(claude);
    unload(codex);
}

static void test_an_mcp_server_reads_the_project_and_writes_nothing(void **state)
{
    struct scene *scene = load("mcp", false);

    (void)state;
    READS(scene, "HOME/project/src/main.c", "HOME/.nvm/versions/node/v22/lib/x");
    KEEPS(scene, "HOME/project/src/main.c", "HOME/project/new");
    WRITES(scene, "/tmp/new", "HOME/.npm/new");
    HIDES(scene, "HOME/documents/letter");
    assert_int_equal(policy_network_mode(&scene->policy), NETWORK_NONE);
    unload(scene);
}

static void test_no_preset_needs_names_that_do_not_exist_yet(void **state)
{
    const struct facts facts = {.kernel_major = 6, .kernel_minor = 1, .landlock_abi = 2, .listener = true};

    (void)state;
    for (size_t i = 0; i < preset_count; i++) {
        struct scene *scene = load(presets[i].name, false);
        struct error err = {""};
        struct plan plan;

        if (!plan_make(&scene->arena, &scene->policy, &facts, &scene->tree, scene->policy.around.project, &plan, &err))
            fail_msg("%s: %s", presets[i].name, err.text);
        for (size_t j = 0; j < plan.refusal_count; j++)
            fail_msg("%s: %s", presets[i].name, plan.refusals[j].what);
        unload(scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_preset_loads_for_root_and_for_others),
        cmocka_unit_test(test_secrets_stay_hidden_in_every_preset),
        cmocka_unit_test(test_root_cannot_read_what_file_modes_keep_from_others),
        cmocka_unit_test(test_dev_shows_of_home_only_project_and_toolchains),
        cmocka_unit_test(test_dev_keeps_other_homes_from_root),
        cmocka_unit_test(test_strict_lists_reads_and_lets_nothing_be_written),
        cmocka_unit_test(test_open_reaches_every_domain_and_keeps_its_caches),
        cmocka_unit_test(test_readonly_and_workspace_read_all_and_differ_in_the_project),
        cmocka_unit_test(test_agents_get_their_own_and_nobody_elses),
        cmocka_unit_test(test_an_mcp_server_reads_the_project_and_writes_nothing),
        cmocka_unit_test(test_no_preset_needs_names_that_do_not_exist_yet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
