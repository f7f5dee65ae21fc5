/* The environment inside: what decide() lets through, then what the policy
 * sets, then what the run itself must say. */
#include "base/path.h"
#include "plan/internal.h"

/* By which programs inside can tell: nobody else sets it, and it is there once. */
#define MARK "SANDBOX_RUNTIME"

static void put(struct plan *plan, size_t *capacity, const char *variable)
{
    plan->environment = arena_grow(plan->arena, plan->environment, plan->environment_count, plan->environment_count + 2,
                                   capacity, sizeof *plan->environment);
    plan->environment[plan->environment_count++] = arena_string(plan->arena, variable);
    plan->environment[plan->environment_count] = NULL;
}

static bool is_set_by_policy(const struct policy *policy, struct slice name)
{
    for (size_t i = 0; i < policy->environment.set_count; i++) {
        if (slice_equal(policy->environment.set[i].name, name))
            return true;
    }
    return false;
}

/* A TMPDIR that leads nowhere inside makes mktemp and compilers fail. */
static bool is_useless_tmpdir(const struct plan *plan, struct slice name, struct slice value)
{
    struct slice path;
    struct effect effect;

    if (!slice_is(name, "TMPDIR") || plan->policy->around.personality != PERSONALITY_CLOCHE)
        return false;
    if (!value.len || value.ptr[0] != '/')
        return true;
    path = path_normal(plan->arena, SLICE("/"), value);
    if (slice_is(path, "/tmp") || slice_is(path, "/var/tmp"))
        return false;
    effect = plan_effect_at(plan->policy, path);
    return effect.access != ACCESS_WRITE || effect.backing == BACKING_PRIVATE || effect.backing == BACKING_SESSION;
}

/* What the policy sets itself is what it means. */
static void put_proxies(struct plan *plan, size_t *capacity)
{
    const char **variables;
    size_t count = proxy_variables(plan, &variables);

    for (size_t i = 0; i < count; i++) {
        struct slice name = {variables[i], slice_find(slice_of(variables[i]), '=')};
        if (!is_set_by_policy(plan->policy, name))
            put(plan, capacity, variables[i]);
    }
}

void plan_environment(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    size_t capacity = 0;

    for (char *const *variable = policy->around.environment; variable && *variable; variable++) {
        struct slice text = slice_of(*variable);
        struct slice name = {text.ptr, slice_find(text, '=')};

        /* No "=" or an empty name: nothing a program could read by name. */
        if (name.len == text.len || name.len == 0 || is_set_by_policy(policy, name) || slice_is(name, MARK) ||
            proxy_variable_is(plan, name) || !decide_env(policy, name).allowed ||
            (plan->private_directory && slice_is(name, "TMPDIR")) ||
            is_useless_tmpdir(plan, name, slice_from(text, name.len + 1)))
            continue;
        put(plan, &capacity, *variable);
    }
    for (size_t i = 0; i < policy->environment.set_count; i++) {
        const struct env_setting *setting = &policy->environment.set[i];
        bool overridden = false;
        for (size_t j = i + 1; j < policy->environment.set_count; j++)
            overridden = overridden || slice_equal(policy->environment.set[j].name, setting->name);
        if (!overridden && !slice_is(setting->name, MARK) && decide_env(policy, setting->name).allowed)
            put(plan, &capacity,
                arena_printf(plan->arena, "%.*s=%.*s", (int)setting->name.len, setting->name.ptr,
                             (int)setting->value.len, setting->value.ptr));
    }
    if (plan->private_directory && !is_set_by_policy(policy, SLICE("TMPDIR"))) {
        put(plan, &capacity, arena_printf(plan->arena, "TMPDIR=%s", plan->private_directory));
        plan->private_directory = plan->environment[plan->environment_count - 1] + sizeof "TMPDIR=" - 1;
    }
    put_proxies(plan, &capacity);
    put(plan, &capacity, MARK "=1");
}
