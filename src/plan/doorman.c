/* Which rules need the doorman, whether there can be one, and where it writes.
 *
 * Mounts and Landlock speak of what exists when the run starts. A rule about names
 * that do not exist yet, about patterns over files to come, or about one socket
 * among many is held by the doorman, who is asked before such a name is made or
 * such a socket connected to. Where there can be none, what needs it is refused by
 * name; the token `late-names` takes the run without it. */
#include "base/path.h"
#include "host/degraded.h"
#include "plan/internal.h"
#include "policy/protect.h"
#include "policy/resolve.h"

/* Through these, let through, whatever the doorman judges could be done without it; by way of the
 * last two every other call. */
static const char *const asked_calls[] = {
    "open",        "openat",       "openat2",      "creat",          "truncate",      "mkdir",     "mkdirat",
    "mknod",       "mknodat",      "symlink",      "symlinkat",      "link",          "linkat",    "unlink",
    "unlinkat",    "rmdir",        "rename",       "renameat",       "renameat2",     "chmod",     "fchmod",
    "fchmodat",    "fchmodat2",    "chown",        "fchown",         "lchown",        "fchownat",  "utime",
    "utimes",      "futimesat",    "utimensat",    "setxattr",       "lsetxattr",     "fsetxattr", "setxattrat",
    "removexattr", "lremovexattr", "fremovexattr", "removexattrat",  "file_setattr",  "connect",   "bind",
    "sendto",      "sendmsg",      "sendmmsg",     "io_uring_setup", "io_uring_enter"};

bool plan_doorman_is_asked_about(struct slice call)
{
    for (size_t i = 0; i < sizeof asked_calls / sizeof *asked_calls; i++) {
        if (slice_is(call, asked_calls[i]))
            return true;
    }
    return false;
}

/* The first that the policy lets through; NULL: none. */
static const struct name_rule *find_asked(const struct name_rules *allowed)
{
    for (size_t i = 0; i < allowed->count; i++) {
        if (plan_doorman_is_asked_about(allowed->items[i].text))
            return &allowed->items[i];
    }
    return NULL;
}

static const char *why_none(const struct plan *plan, const struct facts *facts)
{
    const struct name_rule *asked = find_asked(&plan->policy->seccomp.allow);

    if (plan->backend == BACKEND_LANDLOCK)
        return "without namespaces there is no doorman";
    if (!plan->filter_enabled)
        return "with seccomp.enabled false no system call comes before the doorman";
    if (asked)
        return arena_printf(plan->arena, "seccomp.allow lets %.*s through, about which the doorman would be asked",
                            (int)asked->text.len, asked->text.ptr);
    /* A mount of the command's own could show it another name (attack 109). */
    if (plan->nested_user_namespaces)
        return "with allowNestedUserNamespaces the command could show the doorman other names than the host's";
    if (facts->listener_taken)
        return "a sandbox around this one already has the only listener for system calls that the kernel allows, so "
               "there can be no doorman: start cloche outside of it";
    if (!facts->listener)
        return "this system has no listener for system calls as the doorman needs it (Linux 5.19)";
    return NULL;
}

void plan_doorman_ask(struct plan *plan, const struct facts *facts)
{
    plan->no_doorman = why_none(plan, facts);
}

bool plan_leaves_to_doorman(const struct plan *plan, const struct path_rule *rule)
{
    return rule->protects && !plan->no_doorman && decide_git_config(plan->policy, rule->real);
}

static bool is_in_a_root(const struct plan *plan, struct slice path)
{
    for (size_t i = 0; i < plan->doorman_root_count; i++) {
        if (path_covers(plan->doorman_roots[i].path, path))
            return true;
    }
    return false;
}

bool plan_doorman_judges(const struct plan *plan, struct slice path)
{
    return plan->doorman.files && is_in_a_root(plan, path);
}

static void add_root(struct plan *plan, struct slice path, bool by_pattern)
{
    if (is_in_a_root(plan, path))
        return;
    plan->doorman_roots =
        arena_grow(plan->arena, plan->doorman_roots, plan->doorman_root_count, plan->doorman_root_count + 1,
                   &plan->doorman_root_capacity, sizeof *plan->doorman_roots);
    plan->doorman_roots[plan->doorman_root_count++] = (struct doorman_root){path, by_pattern};
}

static bool is_directory(const struct plan *plan, const struct tree *tree, struct slice path)
{
    struct slice ignored;

    return tree->look(tree->context, path, plan->arena, &ignored) == NODE_DIRECTORY;
}

void plan_doorman_place(struct plan *plan, const struct tree *tree)
{
    /* Steps come shallow to deep. */
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct step *step = &plan->steps[i];
        if (step->writable && (step->kind == STEP_ROOT || step->kind == STEP_BIND) &&
            is_directory(plan, tree, step->path))
            add_root(plan, step->path, false);
    }
    for (size_t i = 0; !plan->no_doorman && i < plan->policy->pattern_count; i++) {
        const struct path_rule *rule = plan->policy->patterns[i];
        if (rule_grants_writing(rule) && rule->node == NODE_DIRECTORY &&
            plan_access_at(plan, rule->real) >= ACCESS_READ)
            add_root(plan, rule->real, true);
    }
}

static void add_reason(struct plan *plan, struct origin origin, struct slice text)
{
    plan->doorman_reasons =
        arena_grow(plan->arena, plan->doorman_reasons, plan->doorman_reason_count, plan->doorman_reason_count + 1,
                   &plan->doorman_reason_capacity, sizeof *plan->doorman_reasons);
    plan->doorman_reasons[plan->doorman_reason_count++] = (struct doorman_reason){origin, text};
}

void plan_doorman_call(struct plan *plan, struct origin origin, struct slice text)
{
    plan->doorman.files = true;
    add_reason(plan, origin, text);
}

static bool protects_any_name(const struct policy *policy)
{
    if (protect_is_off(policy))
        return false;
    for (size_t i = 0; protected_names[i]; i++) {
        if (!protect_is_lifted(policy, slice_of(protected_names[i])))
            return true;
    }
    return policy->filesystem.protect.count > 0;
}

static void need_protected_names(struct plan *plan)
{
    struct origin origin = {"built-in", "protected names"};

    if (!plan->doorman_root_count || !protects_any_name(plan->policy))
        return;
    if (!plan->no_doorman) {
        plan_doorman_call(plan, origin, SLICE("protected names"));
        plan_add_hold(plan, (struct hold){.origin = origin,
                                          .rule_text = SLICE("protected names"),
                                          .locks = LOCK_DOORMAN,
                                          .note = "at any depth of what is writable, also names that come later"});
        return;
    }
    plan_add_hold(plan, (struct hold){.origin = origin,
                                      .rule_text = SLICE("protected names"),
                                      .note = "only those that exist now at the top of what is writable are held"});
    /* Landlock alone says by itself what it holds; srt's own promise is no greater than that. */
    if (plan->backend == BACKEND_NAMESPACES && plan->policy->around.personality == PERSONALITY_CLOCHE)
        plan_refuse(plan, origin, degraded_tokens[DEGRADED_LATE_NAMES],
                    arena_printf(plan->arena,
                                 "protected names (.bashrc, .git/hooks, .vscode and so on) that do not exist yet, or "
                                 "lie deeper than the top of a writable directory, cannot be held: %s",
                                 plan->no_doorman));
}

static void need_sockets(struct plan *plan)
{
    struct origin origin = {"built-in", "network.allowUnixSockets"};
    const struct policy *policy = plan->policy;
    bool blocked = policy->seccomp.block_unix_sockets && plan->filter_enabled;

    if (policy->network.allow_all_unix_sockets || plan->backend == BACKEND_LANDLOCK || blocked)
        return;
    if (!plan->no_doorman) {
        add_reason(plan, origin, SLICE("sockets of the host"));
        plan->doorman.sockets = true;
        plan_add_hold(plan, (struct hold){.origin = origin,
                                          .rule_text = SLICE("sockets of the host"),
                                          .locks = LOCK_DOORMAN,
                                          .note = "none can be connected to but those that allowUnixSockets names"});
        return;
    }
    plan_refuse(plan, origin, degraded_tokens[DEGRADED_LATE_NAMES],
                arena_printf(plan->arena, "a socket of the host that is in sight can be connected to, for %s%s",
                             plan->no_doorman,
                             plan->filter_enabled ? "; to refuse all unix sockets: seccomp.blockUnixSockets" : ""));
}

static void hold_abstract_sockets(struct plan *plan)
{
    const struct name_rules *sockets = &plan->policy->network.unix_sockets;
    bool in_reach = plan->network == NETWORK_HOST;

    for (size_t i = 0; i < sockets->count; i++) {
        if (sockets->items[i].text.ptr[0] == '@')
            plan_add_hold(plan,
                          (struct hold){.origin = sockets->items[i].origin,
                                        .rule_text = sockets->items[i].text,
                                        .locks = plan->doorman.sockets ? LOCK_DOORMAN : 0,
                                        .note = in_reach ? NULL : "out of reach: the run has a network of its own"});
    }
}

/* What is allowed of sockets, and cannot be given. */
static void judge_named_sockets(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    bool blocked = policy->seccomp.block_unix_sockets && plan->filter_enabled;
    bool named = policy->network.unix_sockets.count > 0;

    if (policy->network.allow_all_unix_sockets ||
        (policy->around.personality == PERSONALITY_SRT && !policy->around.extended))
        return;
    if (named && blocked)
        plan_refuse(plan, policy->network.unix_sockets.items[0].origin, NULL,
                    "seccomp.blockUnixSockets refuses every unix socket, so allowUnixSockets opens nothing: take one "
                    "of the two away");
    else if (named && plan->backend == BACKEND_LANDLOCK)
        plan_refuse(plan, policy->network.unix_sockets.items[0].origin, NULL,
                    "without namespaces there is no doorman, and single sockets cannot be told apart: take "
                    "allowUnixSockets away, or open all with allowAllUnixSockets");
    if (policy->network.unix_datagram && plan->doorman.sockets)
        plan->doorman.datagrams = true;
    else if (policy->network.unix_datagram && !blocked)
        plan_refuse(plan, policy->network.unix_datagram_origin, NULL,
                    arena_printf(plan->arena, "unixDatagram needs the doorman to watch what is sent, but %s",
                                 plan->no_doorman));
}

void plan_doorman_watch(struct plan *plan)
{
    enum watch_mode watch = plan->policy->violation.watch;

    if (plan->doorman.calls || plan->no_doorman || watch == WATCH_OFF ||
        !(plan_has_doorman(plan) || watch == WATCH_ALL))
        return;
    if (!plan->doorman.files)
        add_reason(plan, (struct origin){"built-in", "violation.watch"}, SLICE("watching what is refused"));
    plan->doorman.files = true;
    plan->doorman.calls = true;
    plan->doorman.reads = watch == WATCH_ALL;
}

/* Whoever is to be asked about everything must come by. */
static void need_asking(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    struct origin origin = {"command line", "--ask"};
    bool blocked = policy->seccomp.block_unix_sockets && plan->filter_enabled;

    if (!policy->around.asks)
        return;
    if (plan->no_doorman) {
        plan_refuse(plan, origin, NULL, arena_printf(plan->arena, "--ask needs the doorman, but %s", plan->no_doorman));
        return;
    }
    add_reason(plan, origin, SLICE("asking, for which opens for reading are looked at, too"));
    plan->doorman.asks = true;
    plan->doorman.files = plan->doorman.calls = plan->doorman.reads = true;
    plan->doorman.sockets = plan->doorman.sockets || (!policy->network.allow_all_unix_sockets && !blocked);
}

void plan_doorman_needs(struct plan *plan)
{
    need_protected_names(plan);
    need_sockets(plan);
    judge_named_sockets(plan);
    hold_abstract_sockets(plan);
    plan_doorman_watch(plan);
    need_asking(plan);
}
