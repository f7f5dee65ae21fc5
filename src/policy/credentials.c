/* srt's `credentials`. An entry with mode deny hides its file or withholds its
 * variable, whatever else the policy passes; an entry with mode mask asks for
 * a stand-in value, which no lock makes yet. */
#include "policy/loader.h"

#include "base/json.h"

static bool is_mask(const json_t *value)
{
    return slice_is(json_slice(json_object_get(value, "mode")), "mask");
}

void credential_file_apply(struct loader *loader, const struct key *key, const struct place *place, const json_t *value)
{
    struct path_rule rule = {.list = LIST_DENY_READ,
                             .text = arena_slice(loader->arena, json_slice(json_object_get(value, "path")))};

    /* Hidden in both modes: what should be masked must not be readable where
     * the masking is left out. */
    path_rule_add(loader, place, rule, false);
    if (is_mask(value))
        policy_add_unbuilt(loader->policy, loader_origin(loader, place), key->unbuilt);
}

void credential_variable_apply(struct loader *loader, const struct key *key, const struct place *place,
                               const json_t *value)
{
    struct slice name = arena_slice(loader->arena, json_slice(json_object_get(value, "name")));

    policy_add_name(loader->policy, &loader->policy->environment.withheld, name, loader_origin(loader, place));
    if (is_mask(value))
        policy_add_unbuilt(loader->policy, loader_origin(loader, place), key->unbuilt);
}
