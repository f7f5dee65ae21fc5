/* Any text as a policy of Codex's. Input: one byte (which of the formats, and
 * under which name), then the text. What must hold: a policy is good exactly when
 * no problem is an error, every rule has an origin and an absolute path, a pattern
 * only ever hides, and loading it a second time gives the same. */
#include "policy/load.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static bool load(struct arena *arena, unsigned choice, struct slice text, struct policy *policy,
                 struct problems *problems)
{
    static const enum policy_format formats[] = {FORMAT_CODEX, FORMAT_CODEX_PROFILE, FORMAT_CODEX_SANDBOX_POLICY,
                                                 FORMAT_CODEX_NETWORK};
    static char tmpdir[] = "TMPDIR=/var/tmp/./x";
    static char proxy[] = "HTTP_PROXY=http://127.0.0.1:8080";
    static char *environment[] = {tmpdir, proxy, NULL};
    const struct surroundings around = {.personality = choice & 4 ? PERSONALITY_CLOCHE : PERSONALITY_CODEX,
                                        .project = SLICE("/home/u/p"),
                                        .home = SLICE("/home/u"),
                                        .user = SLICE("user"),
                                        .host_name = SLICE("host"),
                                        .environment = environment};
    const struct policy_source source = {
        .kind = SOURCE_TEXT, .name = "fuzz", .text = text, .format = formats[choice % 4]};
    const struct policy_request request = {.sources = &source, .source_count = 1};

    *problems = (struct problems){.arena = arena};
    return policy_load(arena, &around, &request, policy, problems);
}

static void check_rules(const struct policy *policy)
{
    for (size_t i = 0; i < policy->paths.count; i++) {
        const struct path_rule *rule = &policy->paths.items[i];
        require(rule->origin.file && rule->origin.path);
        require(rule->pattern.text.len > 0 && rule->pattern.text.ptr[0] == '/');
        require(memchr(rule->pattern.text.ptr, '\0', rule->pattern.text.len) == NULL);
        /* Patterns only ever take away. */
        require(rule->pattern.literal || rule->access == ACCESS_NONE || rule->list != LIST_RULES);
        require(!rule->expanded || (!rule->pattern.literal && rule->pattern.fixed.len > 1));
    }
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
    struct slice text = {(const char *)data + 1, size - 1};
    bool good = load(&first, data[0], text, &policy, &problems);
    require(good == (problems.errors == 0));
    check_rules(&policy);
    require(load(&second, data[0], text, &again, &problems_again) == good);
    require(again.paths.count == policy.paths.count && problems_again.count == problems.count);
    require(again.network.mode == policy.network.mode && again.unconfined == policy.unconfined);
    return 0;
}
