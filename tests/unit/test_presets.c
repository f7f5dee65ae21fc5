/* The presets: well-formed, summed up in one line, and without what a run could
 * not hold. */
#include "policy/preset.h"

#include "base/json.h"
#include "policy/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <stdlib.h>

#include <cmocka.h>

static json_t *parsed(const struct preset *preset)
{
    struct error err = {""};
    json_t *root = NULL;

    if (!json_parse(preset->text, preset->name, &root, &err))
        fail_msg("%s", err.text);
    assert_true(json_is_object(root));
    return root;
}

static const json_t *list(const json_t *root, const char *section, const char *name)
{
    return json_object_get(json_object_get(root, section), name);
}

static bool has(const json_t *array, const char *text)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *entry = json_string_value(json_array_get(array, i));
        if (entry && strcmp(entry, text) == 0)
            return true;
    }
    return false;
}

static bool matched(const json_t *patterns, const char *name)
{
    for (size_t i = 0; i < json_array_size(patterns); i++)
        if (name_matches(json_slice(json_array_get(patterns, i)), slice_of(name)))
            return true;
    return false;
}

static void test_every_preset_of_the_manual_is_there(void **state)
{
    const char *names[] = {"base",      "dev",      "strict", "open",  "readonly",
                           "workspace", "opencode", "claude", "codex", "mcp"};

    (void)state;
    assert_int_equal(preset_count, sizeof names / sizeof *names);
    for (size_t i = 0; i < preset_count; i++) {
        assert_string_equal(presets[i].name, names[i]);
        assert_ptr_equal(preset_find(slice_of(names[i])), &presets[i]);
    }
    assert_null(preset_find(SLICE("bas")));
    assert_null(preset_find(SLICE("base\0")));
    assert_null(preset_find(SLICE("")));
}

static void test_every_preset_is_commented_json_with_a_summary(void **state)
{
    (void)state;
    for (size_t i = 0; i < preset_count; i++) {
        JSON_CLEANUP json_t *root = parsed(&presets[i]);
        size_t end = slice_find(presets[i].text, '\n');
        size_t length = strlen(presets[i].summary);

        assert_non_null(root);
        assert_true(length > 20 && length <= 120);
        assert_true(slice_starts(presets[i].text, SLICE("// ")));
        assert_true(slice_equal((struct slice){presets[i].text.ptr + 3, end - 3}, slice_of(presets[i].summary)));
        assert_int_equal(presets[i].text.ptr[presets[i].text.len - 1], '\n');
    }
}

static json_t *entry_of(const struct preset_entry *entry)
{
    if (entry->access)
        return json_pack("{s:s%, s:s, s:{s:s}}", "path", entry->text.ptr, entry->text.len, "access", entry->access,
                         "when", "user", entry->user);
    return entry->tokens ? json_from_tokens(entry->tokens) : json_stringn(entry->text.ptr, entry->text.len);
}

/* Takes a compiled list out of what was read, comparing the two. */
static void take_list(json_t *read, const struct preset_list *compiled)
{
    bool in_section = *compiled->section != '\0';
    json_t *section = in_section ? json_object_get(read, compiled->section) : read;
    const json_t *entries = json_object_get(section, compiled->name);

    assert_int_equal(json_array_size(entries), compiled->count);
    for (size_t i = 0; i < compiled->count; i++) {
        JSON_CLEANUP json_t *entry = entry_of(&compiled->entries[i]);
        char place[80];

        assert_true(json_equal(entry, json_array_get(entries, i)));
        snprintf(place, sizeof place, "%s%s%s[%zu]", compiled->section, in_section ? "." : "", compiled->name, i);
        assert_string_equal(compiled->entries[i].place, place);
    }
    json_object_del(section, compiled->name);
}

static void test_presets_are_loaded_as_their_text_reads(void **state)
{
    size_t lists = 0;

    (void)state;
    for (size_t i = 0; i < preset_count; i++) {
        JSON_CLEANUP json_t *read = parsed(&presets[i]);
        JSON_CLEANUP json_t *loaded = json_from_tokens(presets[i].tokens);

        for (const struct preset_list *compiled = presets[i].lists; compiled->section; compiled++, lists++)
            take_list(read, compiled);
        char *as_read = json_dumps(read, 0);
        char *as_loaded = json_dumps(loaded, 0);
        assert_true(json_equal(read, loaded));
        assert_string_equal(as_read, as_loaded); /* in the same order, too */
        free(as_read);
        free(as_loaded);
    }
    assert_true(lists >= 3);
}

/* A policy without "extends" would extend base: base itself must not. */
static void test_every_preset_but_base_extends_another(void **state)
{
    (void)state;
    for (size_t i = 0; i < preset_count; i++) {
        JSON_CLEANUP json_t *root = parsed(&presets[i]);
        const json_t *extends = json_object_get(root, "extends");

        assert_true(json_is_array(extends));
        assert_int_equal(json_array_size(extends), i == 0 ? 0 : 1);
        if (i > 0) {
            struct slice parent = json_slice(json_array_get(extends, 0));
            assert_true(slice_starts(parent, SLICE("preset:")));
            assert_non_null(preset_find(slice_from(parent, strlen("preset:"))));
        }
    }
}

/* Wildcards over files made later need the doorman; presets must run without. */
static void test_no_preset_holds_a_wildcard_but_the_one_over_the_projects_top(void **state)
{
    const char *lists[] = {"denyRead", "allowRead", "denyWrite", "allowWrite"};
    size_t at_start = 0;

    (void)state;
    for (size_t i = 0; i < preset_count; i++) {
        JSON_CLEANUP json_t *root = parsed(&presets[i]);
        const json_t *rules = json_object_get(root, "rules");

        for (size_t j = 0; j < sizeof lists / sizeof *lists; j++) {
            const json_t *entries = list(root, "filesystem", lists[j]);
            for (size_t k = 0; k < json_array_size(entries); k++) {
                const json_t *entry = json_array_get(entries, k);
                if (json_is_string(entry)) {
                    assert_false(name_has_wildcard(json_slice(entry)));
                    continue;
                }
                assert_string_equal(json_string_value(json_object_get(entry, "path")), "$PROJECT_DIR/.env*");
                assert_true(json_is_true(json_object_get(entry, "atStart")));
                at_start++;
            }
        }
        for (size_t k = 0; k < json_array_size(rules); k++)
            assert_false(name_has_wildcard(json_slice(json_object_get(json_array_get(rules, k), "path"))));
    }
    assert_int_equal(at_start, 1);
}

static void test_no_entry_is_written_twice(void **state)
{
    (void)state;
    for (size_t i = 0; i < preset_count; i++) {
        JSON_CLEANUP json_t *root = parsed(&presets[i]);
        const json_t *lists[] = {list(root, "filesystem", "denyRead"), list(root, "filesystem", "allowRead"),
                                 list(root, "environment", "deny")};

        for (size_t j = 0; j < sizeof lists / sizeof *lists; j++)
            for (size_t k = 0; k < json_array_size(lists[j]); k++)
                for (size_t l = k + 1; l < json_array_size(lists[j]); l++)
                    if (json_equal(json_array_get(lists[j], k), json_array_get(lists[j], l)))
                        fail_msg("%s: %s is there twice", presets[i].name,
                                 json_string_value(json_array_get(lists[j], k)));
    }
}

/* "!entry" that removes nothing is a typing mistake that would keep a log-in
 * hidden from the program that needs it. */
static void test_what_a_preset_takes_back_is_there_to_be_taken(void **state)
{
    JSON_CLEANUP json_t *base = parsed(preset_find(SLICE("base")));
    JSON_CLEANUP json_t *dev = parsed(preset_find(SLICE("dev")));
    const struct {
        const char *section, *name;
    } lists[] = {{"filesystem", "denyRead"}, {"filesystem", "allowWrite"}, {"environment", "pass"}};
    size_t taken = 0;

    (void)state;
    for (size_t i = 0; i < preset_count; i++) {
        JSON_CLEANUP json_t *root = parsed(&presets[i]);

        for (size_t j = 0; j < sizeof lists / sizeof *lists; j++) {
            const json_t *entries = list(root, lists[j].section, lists[j].name);
            for (size_t k = 0; k < json_array_size(entries); k++) {
                const char *entry = json_string_value(json_array_get(entries, k));
                if (!entry || entry[0] != '!')
                    continue;
                taken++;
                if (!has(list(base, lists[j].section, lists[j].name), entry + 1) &&
                    !has(list(dev, lists[j].section, lists[j].name), entry + 1))
                    fail_msg("%s: nothing for %s to remove", presets[i].name, entry);
            }
        }
    }
    assert_true(taken > 0);
}

static void test_base_hides_what_the_manual_calls_secret(void **state)
{
    JSON_CLEANUP json_t *root = parsed(preset_find(SLICE("base")));
    const char *secrets[] = {"~/.ssh",
                             "~/.aws",
                             "~/.gnupg",
                             "~/.kube",
                             "~/.azure",
                             "~/.config/gcloud",
                             "~/.docker/config.json",
                             "~/.netrc",
                             "~/.npmrc",
                             "~/.pypirc",
                             "~/.git-credentials",
                             "~/.config/gh",
                             "~/.password-store",
                             "~/.mozilla",
                             "~/.config/google-chrome",
                             "~/.local/share/keyrings",
                             "~/.bash_history",
                             "~/.zsh_history",
                             "~/.cargo/credentials",
                             "~/.cargo/credentials.toml",
                             "~/.terraform.d/credentials.tfrc.json",
                             "/sys/kernel/debug",
                             "/sys/kernel/tracing",
                             "/sys/kernel/security",
                             "/sys/firmware"};

    (void)state;
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
        if (!has(list(root, "filesystem", "denyRead"), secrets[i]))
            fail_msg("base does not hide %s", secrets[i]);
    assert_null(list(root, "filesystem", "allowWrite"));
}

static void test_base_keeps_secret_variables_and_passes_ordinary_ones(void **state)
{
    JSON_CLEANUP json_t *root = parsed(preset_find(SLICE("base")));
    const json_t *deny = list(root, "environment", "deny");
    const char *kept[] = {"GITHUB_TOKEN",
                          "TOKEN",
                          "NPM_TOKEN",
                          "CLIENT_SECRET",
                          "DB_PASSWORD",
                          "PGPASSWORD",
                          "MYSQL_PWD",
                          "OPENAI_API_KEY",
                          "ANTHROPIC_API_KEY",
                          "AWS_ACCESS_KEY_ID",
                          "AWS_PROFILE",
                          "GOOGLE_APPLICATION_CREDENTIALS",
                          "DATABASE_URL",
                          "SENTRY_DSN",
                          "MONGODB_URI",
                          "MONGO_URL",
                          "npm_config__authToken",
                          "npm_config_//host/:_authToken",
                          "npm_config_//host/:_auth",
                          "npm_config_//host/:_password",
                          "NPM_CONFIG__AUTH",
                          "LD_PRELOAD",
                          "LD_LIBRARY_PATH",
                          "GCONV_PATH",
                          "NODE_OPTIONS",
                          "BASH_ENV",
                          "BASH_FUNC_git%%",
                          "SSH_AUTH_SOCK",
                          "DBUS_SESSION_BUS_ADDRESS",
                          "DISPLAY",
                          "WAYLAND_DISPLAY",
                          "XAUTHORITY",
                          "TMUX",
                          "VSCODE_IPC_HOOK_CLI",
                          "KITTY_LISTEN_ON",
                          "XDG_RUNTIME_DIR",
                          "DOCKER_HOST",
                          "PRIVATE_KEY",
                          "SSH_PRIVATE_KEY_FILE",
                          "password",
                          "dbPassword",
                          "Api_Key",
                          "apiKey",
                          "APIKEY",
                          "OPENAI_APIKEYS",
                          "my_Token",
                          "authToken",
                          "TOKENS",
                          "GITHUB_API_TOKENS",
                          "GITHUB_PAT",
                          "OPENAI_KEY",
                          "STRIPE_KEY",
                          "secretKey",
                          "JWT",
                          "USER_JWT",
                          "AUTH",
                          "HTTP_AUTH_HEADER",
                          "AUTHORIZATION",
                          "DATABASE_URI",
                          "POSTGRES_URL"};
    const char *passed[] = {"PATH",
                            "HOME",
                            "USER",
                            "PWD",
                            "OLDPWD",
                            "TERM",
                            "LANG",
                            "LC_ALL",
                            "TZ",
                            "EDITOR",
                            "CI",
                            "ENV",
                            "PYTHONPATH",
                            "GOPATH",
                            "CARGO_HOME",
                            "JAVA_HOME",
                            "NVM_DIR",
                            "VIRTUAL_ENV",
                            "CC",
                            "CFLAGS",
                            "LDFLAGS",
                            "PKG_CONFIG_PATH",
                            "MAKEFLAGS",
                            "GIT_AUTHOR_NAME",
                            "GIT_DIR",
                            "NODE_ENV",
                            "NODE_PATH",
                            "XDG_CONFIG_HOME",
                            "XDG_SESSION_TYPE",
                            "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
                            "COLORTERM",
                            "SSH_CONNECTION",
                            "HTTP_PROXY",
                            "npm_config_cache",
                            "npm_config_init_author_name",
                            "KEYBOARD",
                            "KEYMAP",
                            "KEYTIMEOUT",
                            "MONKEY",
                            "monkey",
                            "LESSKEY",
                            "AUTHOR",
                            "AUTHORS",
                            "GIT_AUTHOR_EMAIL",
                            "SSH_CLIENT",
                            "GITHUB_PATH",
                            "PATTERN",
                            "TOKENIZERS_PARALLELISM",
                            "tokenizer",
                            "BYPASS",
                            "COMPASS"};

    (void)state;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (!matched(deny, kept[i]))
            fail_msg("%s would be passed", kept[i]);
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        if (matched(deny, passed[i]))
            fail_msg("%s would be kept", passed[i]);
    assert_true(has(list(root, "environment", "pass"), "*"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_presets_are_loaded_as_their_text_reads),
        cmocka_unit_test(test_every_preset_of_the_manual_is_there),
        cmocka_unit_test(test_every_preset_is_commented_json_with_a_summary),
        cmocka_unit_test(test_every_preset_but_base_extends_another),
        cmocka_unit_test(test_no_preset_holds_a_wildcard_but_the_one_over_the_projects_top),
        cmocka_unit_test(test_no_entry_is_written_twice),
        cmocka_unit_test(test_what_a_preset_takes_back_is_there_to_be_taken),
        cmocka_unit_test(test_base_hides_what_the_manual_calls_secret),
        cmocka_unit_test(test_base_keeps_secret_variables_and_passes_ordinary_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
