/* From a request to one policy: the sources in order, each with all it extends,
 * then the command line, then defaults. Problems are collected on the way and
 * nothing stops at the first. */
#include "policy/load.h"

#include "policy/loader.h"

bool policy_load(struct arena *arena, const struct surroundings *around, const struct policy_request *request,
                 struct policy *policy, struct problems *problems)
{
    struct loader loader = {.arena = arena,
                            .around = *around,
                            .policy = policy,
                            .problems = problems,
                            .srt = around->personality == PERSONALITY_SRT,
                            .extended = around->extended,
                            .errors_before = problems->errors};

    *policy = (struct policy){.arena = arena, .around = *around};
    policy->filesystem.platform_defaults = true;
    policy->seccomp.enabled = true;
    policy->violation.detection = true;
    policy->violation.log = true;

    for (size_t i = 0; i < request->source_count; i++)
        source_load(&loader, &request->sources[i]);
    options_apply(&loader, request);
    policy_finish(&loader);
    return problems->errors == loader.errors_before;
}
