/* Any text as a policy, under both names. Input: one byte (odd: as srt), then
 * the text. What must hold: a policy is good exactly when no problem is an error,
 * every rule has an origin and an absolute pattern, and loading it a second time
 * gives the same.
 *
 * Files may be read by `extends` and looked at by `when.exists`; both only ever
 * open regular files for reading. The target moves into an empty directory and
 * has it as project and home, so that relative names find nothing. */
#include "policy/load.h"

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char directory[] = "/tmp/cloche-fuzz-XXXXXX";

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void remove_directory(void)
{
    rmdir(directory);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    require(mkdtemp(directory) != NULL);
    atexit(remove_directory);
    return 0;
}

static bool load(struct arena *arena, enum personality personality, struct slice text, struct policy *policy,
                 struct problems *problems)
{
    static char path_variable[] = "PATH=/usr/bin:/opt/tool/bin:relative:/";
    static char config_variable[] = "XDG_CONFIG_HOME=/conf";
    static char *environment[] = {path_variable, config_variable, NULL};
    static char word[] = "make";
    static char *command[] = {word, NULL};
    struct surroundings around = {.personality = personality,
                                  .project = slice_of(directory),
                                  .home = slice_of(directory),
                                  .user = SLICE("user"),
                                  .host_name = SLICE("host"),
                                  .environment = environment,
                                  .command = command};
    struct policy_source source = {.kind = SOURCE_TEXT, .name = "fuzz", .text = text};
    struct policy_request request = {.sources = &source, .source_count = 1};

    *problems = (struct problems){.arena = arena};
    return policy_load(arena, &around, &request, policy, problems);
}

static void check_rules(const struct policy *policy)
{
    for (size_t i = 0; i < policy->paths.count; i++) {
        const struct path_rule *rule = &policy->paths.items[i];
        require(rule->origin.file && rule->origin.path);
        require(rule->text.len > 0);
        require(rule->pattern.text.len > 0 && rule->pattern.text.ptr[0] == '/');
        require(rule->pattern.fixed.len <= rule->pattern.text.len);
        require(memchr(rule->pattern.text.ptr, '\0', rule->pattern.text.len) == NULL);
    }
}

static void check_problems(const struct problems *problems, bool good)
{
    size_t errors = 0;

    for (size_t i = 0; i < problems->count; i++) {
        const struct problem *problem = &problems->items[i];
        errors += !problem->warning;
        require(problem->file && problem->path && problem->text && problem->text[0]);
        require(!strchr(problem->text, '\x1b') && !strchr(problem->path, '\x1b'));
    }
    require(errors == problems->errors);
    require(good == (errors == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena first ARENA_CLEANUP = {0};
    struct arena second ARENA_CLEANUP = {0};
    struct policy policy;
    struct policy again;
    struct problems problems;
    struct problems problems_again;

    if (size == 0)
        return 0;
    enum personality personality = data[0] & 1 ? PERSONALITY_SRT : PERSONALITY_CLOCHE;
    struct slice text = {(const char *)data + 1, size - 1};
    bool good = load(&first, personality, text, &policy, &problems);
    check_problems(&problems, good);
    check_rules(&policy);

    require(load(&second, personality, text, &again, &problems_again) == good);
    require(again.paths.count == policy.paths.count && problems_again.count == problems.count);
    require(again.unbuilt_count == policy.unbuilt_count);
    return 0;
}
