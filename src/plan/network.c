/* The network of a run: which ports are carried in and out, and what cannot be
 * had. */
#include "plan/internal.h"

#include "base/text.h"
#include "policy/proxy_url.h"

enum { DNS_PORT = 53, LISTENER_PORT = 1 };

static size_t each_once(struct plan *plan, const struct port_rules *rules, uint16_t **ports)
{
    size_t count = 0;

    *ports = arena_alloc(plan->arena, (rules->count + 1) * sizeof **ports);
    for (size_t i = 0; i < rules->count; i++) {
        bool known = false;
        for (size_t j = 0; j < count; j++)
            known = known || (*ports)[j] == rules->items[i].port;
        if (!known)
            (*ports)[count++] = rules->items[i].port;
    }
    return count;
}

static const char *taken_by(uint16_t port)
{
    switch (port) {
    case PLAN_HTTP_PORT:
        return "HTTP proxy";
    case PLAN_SOCKS_PORT:
        return "SOCKS proxy";
    case DNS_PORT:
        return "name server";
    case LISTENER_PORT:
        return "interception";
    default:
        return NULL;
    }
}

static void judge_host_ports(struct plan *plan, const struct port_rules *rules)
{
    for (size_t i = 0; i < rules->count; i++) {
        const char *taken = taken_by(rules->items[i].port);
        if (taken)
            plan_refuse(plan, rules->items[i].origin, NULL,
                        arena_printf(plan->arena,
                                     "network.hostPorts cannot bring port %u in: inside it is that of cloche's own %s",
                                     (unsigned)rules->items[i].port, taken));
    }
}

static struct origin origin_of(const struct policy *policy)
{
    if (policy->network.mode == NETWORK_UNSET && policy->network.allowed.count)
        return policy->network.allowed.items[0].origin;
    if (policy->network.mode == NETWORK_UNSET && policy->network.host_ports.count)
        return policy->network.host_ports.items[0].origin;
    if (policy->network.mode == NETWORK_UNSET && policy->network.publish_ports.count)
        return policy->network.publish_ports.items[0].origin;
    return policy->network.mode_origin;
}

static void judge_parent(struct plan *plan, struct slice text)
{
    struct proxy_url url;
    const char *wrong = text.len ? proxy_url_parse(text, &url) : NULL;

    if (wrong)
        plan_refuse(
            plan, plan->policy->network.parent_proxy.origin, NULL,
            arena_printf(plan->arena, "the parent proxy \"%s\" cannot be used: %s", escaped(plan->arena, text), wrong));
}

void plan_network(struct plan *plan)
{
    const struct policy *policy = plan->policy;

    if (plan->network == NETWORK_HOST && policy->network.denied.count)
        plan_refuse(plan, policy->network.denied.items[0].origin, NULL,
                    "network.mode host filters nothing, so deniedDomains cannot be held: take one of the two away");
    if (plan->network != NETWORK_FILTERED)
        return;
    if (plan->backend == BACKEND_LANDLOCK) {
        plan_refuse(plan, origin_of(policy), NULL,
                    "network.mode filtered (reaching named hosts only) needs a network namespace, which Landlock alone "
                    "does not give: use \"none\" or \"host\", or see cloche doctor for what keeps namespaces away");
        return;
    }
    judge_parent(plan, policy->network.parent_proxy.http);
    judge_parent(plan, policy->network.parent_proxy.https);
    judge_host_ports(plan, &policy->network.host_ports);
    plan->host_port_count = each_once(plan, &policy->network.host_ports, &plan->host_ports);
    plan->publish_port_count = each_once(plan, &policy->network.publish_ports, &plan->publish_ports);
    if (plan->publish_port_count > PLAN_PUBLISH_MAX)
        plan_refuse(plan, policy->network.publish_ports.items[0].origin, NULL,
                    arena_printf(plan->arena, "network.publishPorts names %zu ports; %d is the most",
                                 plan->publish_port_count, PLAN_PUBLISH_MAX));
}
