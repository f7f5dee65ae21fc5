/* Growing the lists of a policy, and the one thing that is worked out rather
 * than written: the effective network mode. */
#include "policy/model.h"

struct path_rule *policy_add_path(struct policy *policy, struct path_rule rule)
{
    struct path_rules *paths = &policy->paths;

    paths->items =
        arena_grow(policy->arena, paths->items, paths->count, paths->count + 1, &paths->capacity, sizeof *paths->items);
    paths->items[paths->count] = rule;
    return &paths->items[paths->count++];
}

void policy_add_name(struct policy *policy, struct name_rules *list, struct slice text, struct origin origin)
{
    list->items =
        arena_grow(policy->arena, list->items, list->count, list->count + 1, &list->capacity, sizeof *list->items);
    list->items[list->count++] =
        (struct name_rule){.text = text, .origin = origin, .letters = name_pattern_letters(text)};
}

void policy_add_host(struct policy *policy, struct host_rules *list, struct host_rule rule)
{
    list->items =
        arena_grow(policy->arena, list->items, list->count, list->count + 1, &list->capacity, sizeof *list->items);
    list->items[list->count++] = rule;
}

void policy_add_port(struct policy *policy, struct port_rules *list, uint16_t port, struct origin origin)
{
    list->items =
        arena_grow(policy->arena, list->items, list->count, list->count + 1, &list->capacity, sizeof *list->items);
    list->items[list->count++] = (struct port_rule){.port = port, .origin = origin};
}

void policy_add_unbuilt(struct policy *policy, struct origin origin, const char *feature)
{
    policy->unbuilt = arena_grow(policy->arena, policy->unbuilt, policy->unbuilt_count, policy->unbuilt_count + 1,
                                 &policy->unbuilt_capacity, sizeof *policy->unbuilt);
    policy->unbuilt[policy->unbuilt_count++] = (struct unbuilt){.origin = origin, .feature = feature};
}

enum network_mode policy_network_mode(const struct policy *policy)
{
    if (policy->network.mode != NETWORK_UNSET)
        return policy->network.mode;
    if (policy->network.allowed.count || policy->network.host_ports.count || policy->network.publish_ports.count ||
        policy->around.network_is_controlled)
        return NETWORK_FILTERED;
    /* srt's proxies are there to say no, too; without namespaces they cannot be. */
    if (policy->around.personality == PERSONALITY_SRT && policy->around.backend == BACKEND_NAMESPACES)
        return NETWORK_FILTERED;
    return NETWORK_NONE;
}

bool origin_is_built_in(const struct origin *origin)
{
    return strncmp(origin->file, "preset:", strlen("preset:")) == 0 || strcmp(origin->file, "built-in") == 0;
}
