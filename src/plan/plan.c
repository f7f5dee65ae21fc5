/* Puts the parts of a plan together. Nothing here or in this room touches the
 * host: what stands where is asked of `tree`, what the kernel can do of `facts`. */
#include "plan/plan.h"

#include "base/path.h"
#include "base/text.h"
#include "plan/internal.h"
#include "policy/variables.h"

const struct step *plan_step_around(const struct plan *plan, struct slice path)
{
    const struct step *innermost = map_get(&plan->by_path, path);

    while (!innermost) {
        path = path_parent(path);
        innermost = map_get(&plan->by_path, path);
    }
    return innermost;
}

bool plan_is_judged(const struct plan *plan, struct slice path)
{
    return plan_step_around(plan, path)->judged;
}

enum access plan_access_at(const struct plan *plan, struct slice path)
{
    const struct step *innermost = plan_step_around(plan, path);

    switch (innermost->kind) {
    case STEP_ROOT_EMPTY:
    case STEP_HIDE_DIRECTORY:
    case STEP_HIDE_FILE:
        return ACCESS_NONE;
    case STEP_EMPTY_FILE:
        return ACCESS_EMPTY;
    case STEP_ROOT:
    case STEP_BIND:
    case STEP_PIN:
    case STEP_COPY:
    case STEP_PRIVATE:
    case STEP_SESSION:
    case STEP_OVERLAY:
        return innermost->writable ? ACCESS_WRITE : ACCESS_READ;
    case STEP_DEVICES:
    case STEP_PROC:
    case STEP_PROC_OF_HOST:
        break;
    }
    /* Made whole by their own code from the same built-in rules. */
    return plan_effect_at(plan->policy, path).access;
}

static void add_landlock_rule(struct plan *plan, struct slice path, bool write)
{
    plan->landlock = arena_grow(plan->arena, plan->landlock, plan->landlock_count, plan->landlock_count + 1,
                                &plan->landlock_capacity, sizeof *plan->landlock);
    plan->landlock[plan->landlock_count++] = (struct landlock_rule){path, write};
}

void plan_landlock(struct plan *plan, const struct facts *facts)
{
    /* ABI 1 cannot tell a rename across directories from a write: not used. */
    plan->use_landlock = facts->landlock_abi >= 2;
    plan->landlock_reads = plan->policy->filesystem.read_mode == READ_LISTED;
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct step *step = &plan->steps[i];
        bool own = step->kind == STEP_PRIVATE || step->kind == STEP_SESSION || step->kind == STEP_OVERLAY ||
                   step->kind == STEP_DEVICES || step->kind == STEP_PROC;
        bool bound = step->kind == STEP_ROOT || step->kind == STEP_BIND || step->kind == STEP_EMPTY_FILE ||
                     step->kind == STEP_PROC_OF_HOST;
        if (!own && !(bound && (step->writable || plan->landlock_reads)))
            continue;
        add_landlock_rule(plan, step->path, step->writable || step->kind == STEP_DEVICES || step->kind == STEP_PROC);
    }
    /* The doorman stands under the same rules as the command, which has the mount
     * before it here. */
    for (size_t i = 0; i < plan->doorman_root_count; i++) {
        if (plan->doorman_roots[i].by_pattern)
            add_landlock_rule(plan, plan->doorman_roots[i].path, true);
    }
}

static void plan_capabilities(struct plan *plan, const struct facts *facts)
{
    const struct policy *policy = plan->policy;

    if (policy->root_capabilities != ROOT_CAPABILITIES_FILES)
        return;
    if (!facts->is_root)
        plan_refuse(plan, policy->root_capabilities_origin, NULL,
                    "rootCapabilities \"files\" is for root alone: an ordinary user has no such capabilities to keep");
    else if (plan->backend == BACKEND_LANDLOCK)
        plan_refuse(plan, policy->root_capabilities_origin, NULL,
                    "rootCapabilities \"files\" would be those of the host without namespaces: use --backend "
                    "namespaces");
    else
        plan->keep_file_capabilities = true;
}

/* Environment and memory of the host's processes stay out of reach: what may be
 * traced may be read, and that takes a capability over their user namespace. */
static void plan_shared_proc(struct plan *plan)
{
    if (plan->policy->around.shares_proc)
        plan->weaker = "a fresh /proc is refused here (cloche doctor tells why), so the host's is shown, read-only: "
                       "names, arguments, mounts and network tables of the processes outside can be seen, and those "
                       "inside have other numbers in it";
}

/* A grant that this host cannot keep is refused like a denial that it cannot: whoever lets the project be written
 * wants it written, and what a command does half way is worse than nothing. srt and Codex start in such places. */
static void refuse_useless_disk(struct plan *plan, const struct facts *facts)
{
    const struct policy *policy = plan->policy;
    struct slice project = policy->around.project;

    if (facts->disk == DISK_USABLE || policy->around.personality != PERSONALITY_CLOCHE || policy->filesystem.disabled)
        return;
    struct effect effect = plan_effect_at(policy, project);
    if (effect.access != ACCESS_WRITE || effect.backing != BACKING_HOST)
        return;
    const char *name = escaped(plan->arena, project);
    plan_refuse(plan, effect.written, NULL,
                facts->disk == DISK_FULL
                    ? arena_printf(plan->arena,
                                   "the project %s is on a disk that is full: make room, or let nothing be written in "
                                   "the project: --deny-write %s",
                                   name, name)
                    : arena_printf(plan->arena,
                                   "the project %s is on a disk that is mounted read-only: mount it for writing, or "
                                   "let nothing be written in the project: --deny-write %s",
                                   name, name));
}

/* With a doorman around us there are neither namespaces nor Landlock to be had, so
 * no weaker mode helps: no other refusal, and no token, is worth reading. */
static void refuse_inside_itself(struct plan *plan, const struct facts *facts)
{
    struct slice ignored;

    if (!facts->listener_taken || facts->landlock_abi > 0 ||
        !environment_find(plan->policy->around.environment, SLICE("SANDBOX_RUNTIME"), &ignored))
        return;
    plan->refusal_count = 0;
    plan_refuse(plan, (struct origin){"built-in", "nested runs"}, NULL,
                "this is inside a cloche already, whose policy holds here too: run the command without the inner "
                "cloche (SANDBOX_RUNTIME is set)");
}

bool plan_make(struct arena *arena, const struct policy *policy, const struct facts *facts, const struct tree *tree,
               struct slice working_directory, struct plan *plan, struct error *err)
{
    *plan = (struct plan){.arena = arena,
                          .policy = policy,
                          .backend = policy->around.backend,
                          .network = policy_network_mode(policy),
                          .filter_enabled = policy->seccomp.enabled,
                          .nested_user_namespaces = policy->seccomp.allow_nested_user_namespaces,
                          .working_directory = working_directory};
    plan_doorman_ask(plan, facts);
    if (!plan_mounts(plan, tree, err))
        return false;
    plan_await(plan);
    plan_doorman_place(plan, tree);
    if (plan->backend == BACKEND_LANDLOCK) {
        plan_confine(plan, tree, facts);
    } else {
        plan_landlock(plan, facts);
        plan_shared_proc(plan);
    }
    plan_network(plan);
    plan_environment(plan);
    plan_limits(plan, facts);
    plan_capabilities(plan, facts);
    plan_holds(plan, tree);
    refuse_useless_disk(plan, facts);
    refuse_inside_itself(plan, facts);
    return true;
}
