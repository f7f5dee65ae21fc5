/* The decision, in one place.
 *
 * Files. A path is judged by the rules that name it or an ancestor of it. The
 * deepest rule wins; a pattern counts with the depth of what it matched. At one
 * depth: built-in places first, then the rule with more conditions, then
 *   reading: a rule that says none; a literal grant; denyRead; any other grant;
 *   writing: the strictest access.
 * denyWrite is different on purpose: anywhere at or above the path it wins, even
 * over a deeper allowWrite. Protected names win over that. And what cannot be
 * read cannot be written.
 *
 * Rules are found by looking up each ancestor of the path, so a decision costs
 * the depth of the path and the number of patterns, never the number of rules. */
#include "policy/decide.h"

#include "base/path.h"
#include "policy/protect.h"

struct candidate {
    const struct path_rule *rule;
    size_t depth;
};

/* The best grant or denial so far, for reading and for writing, and what stands
 * apart from that contest. */
struct contest {
    struct slice path;
    struct candidate reading;
    struct candidate writing;
    const struct path_rule *deny_write;
    const struct path_rule *deny_more; /* likewise, of those that do not just hold git's configuration */
    bool has_host_root;
    size_t host_root_depth; /* of the shallowest writable root of the host */
};

static enum access rule_access(const struct path_rule *rule)
{
    switch (rule->list) {
    case LIST_DENY_READ:
        return ACCESS_NONE;
    case LIST_ALLOW_READ:
    case LIST_DENY_WRITE:
        return ACCESS_READ;
    case LIST_ALLOW_WRITE:
        return ACCESS_WRITE;
    case LIST_RULES:
    case LIST_BUILT_IN:
        break;
    }
    return rule->access;
}

/* Who wins at one depth when reading; higher wins. */
static int reading_rank(const struct path_rule *rule)
{
    enum access access = rule_access(rule);

    if (rule->list == LIST_DENY_READ)
        return 2;
    if (access == ACCESS_NONE)
        return 5;
    if (!rule->pattern.literal)
        return 1;
    return access == ACCESS_EMPTY ? 4 : 3;
}

static int writing_rank(const struct path_rule *rule)
{
    return (int)ACCESS_WRITE - (int)rule_access(rule);
}

static bool is_better(struct candidate challenger, struct candidate best, int (*rank)(const struct path_rule *))
{
    if (!best.rule || challenger.depth != best.depth)
        return !best.rule || challenger.depth > best.depth;
    bool built_in = challenger.rule->list == LIST_BUILT_IN;
    if (built_in != (best.rule->list == LIST_BUILT_IN))
        return built_in;
    if (challenger.rule->conditions != best.rule->conditions)
        return challenger.rule->conditions > best.rule->conditions;
    return rank(challenger.rule) > rank(best.rule);
}

/* Stands for the protected name of this very file. */
static bool holds_git_config(const struct path_rule *rule, struct slice path)
{
    return rule->protects && rule->node == NODE_FILE && slice_equal(rule->real, path) && protect_is_git_config(path);
}

static void enter(struct contest *contest, const struct path_rule *rule, size_t depth)
{
    struct candidate candidate = {rule, depth};

    if (rule->list == LIST_DENY_WRITE) {
        if (!contest->deny_write)
            contest->deny_write = rule;
        if (!contest->deny_more && !holds_git_config(rule, contest->path))
            contest->deny_more = rule;
        return;
    }
    if (is_better(candidate, contest->reading, reading_rank))
        contest->reading = candidate;
    if (rule->list == LIST_DENY_READ || rule->list == LIST_ALLOW_READ)
        return;
    if (is_better(candidate, contest->writing, writing_rank))
        contest->writing = candidate;
    if (rule_access(rule) == ACCESS_WRITE && rule->backing == BACKING_HOST &&
        (!contest->has_host_root || depth < contest->host_root_depth)) {
        contest->has_host_root = true;
        contest->host_root_depth = depth;
    }
}

static void enter_chain(void *argument, size_t depth, void *value)
{
    for (const struct rule_chain *chain = value; chain; chain = chain->next)
        enter(argument, chain->rule, depth);
}

static void hold_contest(const struct policy *policy, struct slice path, struct contest *contest)
{
    *contest = (struct contest){.path = path};
    map_each_prefix(policy->by_path, path, enter_chain, contest);
    for (size_t i = 0; i < policy->pattern_count; i++) {
        size_t matched = 0;
        if (pattern_covers(&policy->patterns[i]->pattern, path, &matched))
            enter(contest, policy->patterns[i], matched);
    }
}

static struct decision by_rule(const struct path_rule *rule, bool allowed, const char *why)
{
    return (struct decision){.allowed = allowed,
                             .access = rule_access(rule),
                             .backing = rule->backing,
                             .origin = rule->origin,
                             .rule_text = rule->text,
                             .why = why};
}

static const char *why_not_readable(const struct path_rule *rule)
{
    if (rule->list == LIST_DENY_READ)
        return rule->widened ? "hidden with the directory above, which cannot be searched" : "hidden by denyRead";
    return rule->list == LIST_BUILT_IN ? "not part of the sandbox" : "a rule says none";
}

static const char *why_readable(const struct path_rule *rule)
{
    switch (rule->backing) {
    case BACKING_PRIVATE:
        return "private to this run";
    case BACKING_SESSION:
        return "shared by the commands of this session";
    case BACKING_OVERLAY:
        return "a private copy-on-write view";
    case BACKING_FRESH:
        return "the sandbox's own";
    case BACKING_HOST:
        break;
    }
    if (rule_access(rule) == ACCESS_EMPTY)
        return "reads as an empty file";
    if (rule->list == LIST_BUILT_IN && rule_access(rule) == ACCESS_READ)
        return "the host's own";
    return rule->list == LIST_ALLOW_READ ? "allowed by allowRead"
           : rule->list == LIST_RULES    ? "allowed by a rule"
                                         : "writable, so readable";
}

static struct decision decide_read(const struct policy *policy, const struct contest *contest, struct slice path)
{
    const struct path_rule *rule = contest->reading.rule;
    struct decision decision;

    if (!rule) {
        bool listed = policy->filesystem.read_mode == READ_LISTED;
        decision = (struct decision){.allowed = !listed,
                                     .access = listed ? ACCESS_NONE : ACCESS_READ,
                                     .origin = policy->filesystem.read_mode_origin,
                                     .why = listed ? "no allowRead covers it and readMode is listed"
                                                   : "readable, because nothing hides it"};
    } else if (rule_access(rule) == ACCESS_NONE) {
        decision = by_rule(rule, false, why_not_readable(rule));
    } else if (rule_access(rule) == ACCESS_EMPTY && contest->reading.depth < path_depth(path)) {
        decision = by_rule(rule, false, "inside a directory that is shown empty");
        decision.access = ACCESS_NONE;
    } else {
        decision = by_rule(rule, true, why_readable(rule));
    }
    if (!decision.allowed)
        decision.passage = map_get(policy->passages, path) != NULL;
    return decision;
}

/* The component at which a name must end at the earliest to be protected. */
static size_t first_protected(const struct contest *contest)
{
    return contest->host_root_depth ? contest->host_root_depth - 1 : 0;
}

static bool decide_protected(const struct policy *policy, const struct contest *contest, struct slice path,
                             struct decision *decision)
{
    struct protected_match match;

    if (protect_is_off(policy) || !contest->has_host_root)
        return false;
    if (!protect_matches(policy, path, first_protected(contest), &match))
        return false;
    *decision = (struct decision){.access = ACCESS_READ,
                                  .origin = match.origin,
                                  .rule_text = match.name,
                                  .why = "a protected name: the host would run or obey it later",
                                  .unless_made = match.holder};
    return true;
}

static struct decision decide_write(const struct policy *policy, const struct contest *contest, struct slice path,
                                    bool made_here)
{
    const struct path_rule *rule = contest->writing.rule;
    struct decision decision;

    if (!made_here && rule && rule_access(rule) == ACCESS_WRITE && rule->backing == BACKING_HOST &&
        decide_protected(policy, contest, path, &decision))
        return decision;
    if (contest->deny_write)
        return by_rule(contest->deny_write, false,
                       contest->deny_write->list == LIST_DENY_WRITE && contest->deny_write->derived
                           ? "never writable inside"
                           : "refused by denyWrite");
    if (!rule)
        return (struct decision){
            .access = ACCESS_READ, .origin = {"built-in", "filesystem.allowWrite"}, .why = "no allowWrite covers it"};
    if (rule_access(rule) != ACCESS_WRITE)
        return by_rule(rule, false,
                       rule->list == LIST_BUILT_IN        ? "not writable in the sandbox"
                       : rule_access(rule) == ACCESS_NONE ? "a rule says none"
                                                          : "a rule says read");

    decision = decide_read(policy, contest, path);
    if (!decision.allowed)
        return decision; /* what is hidden cannot be written */
    /* A host path that is named below a private place is shown as it is: writes
     * to it would not be private. */
    if (rule->backing != BACKING_HOST && decision.backing == BACKING_HOST) {
        decision.allowed = false;
        decision.why = "the host's own, shown inside a private place";
        return decision;
    }
    return by_rule(rule, true, rule->backing == BACKING_HOST ? "writable" : why_readable(rule));
}

struct decision decide_real_path(const struct policy *policy, enum operation operation, struct slice path)
{
    struct contest contest;

    hold_contest(policy, path, &contest);
    return operation == OPERATION_WRITE ? decide_write(policy, &contest, path, false)
                                        : decide_read(policy, &contest, path);
}

struct decision decide_write_at(const struct policy *policy, struct slice path, bool made_here)
{
    struct contest contest;

    hold_contest(policy, path, &contest);
    return decide_write(policy, &contest, path, made_here);
}

bool decide_git_config(const struct policy *policy, struct slice path)
{
    struct contest contest;

    /* To srt and codex it is a file like the others. */
    if (!protect_is_git_config(path) || policy->filesystem.disabled || policy->around.personality != PERSONALITY_CLOCHE)
        return false;
    hold_contest(policy, path, &contest);
    if (!contest.has_host_root || protect_matches_but_git_config(policy, path, first_protected(&contest)))
        return false;
    contest.deny_write = contest.deny_more;
    struct decision decision = decide_write(policy, &contest, path, true);
    return decision.allowed && decision.backing == BACKING_HOST;
}

void decide_access(const struct policy *policy, struct slice path, struct decision *reading, struct decision *writing)
{
    struct contest contest;

    hold_contest(policy, path, &contest);
    *reading = decide_read(policy, &contest, path);
    *writing = decide_write(policy, &contest, path, false);
}

bool decide_path(struct arena *arena, const struct policy *policy, const struct tree *tree, enum operation operation,
                 struct slice path, struct slice *real, struct decision *decision, struct error *err)
{
    struct tree_place place;

    if (!tree_follow(tree, arena, path, &place, err))
        return false;
    *real = place.path;
    *decision = decide_real_path(policy, operation, place.path);
    return true;
}

/* One that hides all of the home, or more, says nothing of what lies in it; one that hides a part means that
 * part: secrets. */
static bool hides_everything(const struct policy *policy, const struct path_rule *rule)
{
    return rule_access(rule) == ACCESS_NONE && rule->list != LIST_BUILT_IN && rule->pattern.literal && !rule->widened &&
           path_covers(rule->real, policy->around.home);
}

static bool may_be_shown(const struct policy *policy, const struct contest *contest, struct slice path)
{
    const struct path_rule *rule = contest->reading.rule;

    return !rule || hides_everything(policy, rule) || decide_read(policy, contest, path).allowed;
}

static bool may_be_changed(const struct policy *policy, const struct contest *contest, struct slice path)
{
    const struct path_rule *rule = contest->writing.rule;
    struct protected_match match;

    return !contest->deny_write && (!rule || hides_everything(policy, rule)) &&
           (protect_is_off(policy) || !protect_matches(policy, path, 0, &match));
}

static bool is_kernels_own(struct slice path)
{
    return path_covers(SLICE("/proc"), path) || path_covers(SLICE("/sys"), path) || path_covers(SLICE("/dev"), path);
}

bool decide_may_be_granted(const struct policy *policy, enum operation operation, struct slice object)
{
    struct contest contest;

    if (operation == OPERATION_UNIX && policy->seccomp.block_unix_sockets && policy->seccomp.enabled)
        return false;
    if (operation == OPERATION_UNIX && object.len > 0 && object.ptr[0] == '@')
        return true;
    hold_contest(policy, object, &contest);
    /* The home and all above it are not given away for one name. */
    if (policy->filesystem.disabled || is_kernels_own(object) || path_covers(object, policy->around.home) ||
        !may_be_shown(policy, &contest, object))
        return false;
    return operation != OPERATION_WRITE || may_be_changed(policy, &contest, object);
}

struct slice decide_grantable_directory(const struct policy *policy, struct slice path)
{
    struct slice directory = path_parent(path);

    /* What stands in the root is not given away for one name. */
    if (path_depth(directory) < 2 || !decide_may_be_granted(policy, OPERATION_WRITE, directory))
        return SLICE("");
    return directory;
}

static struct decision by_host_rule(const struct host_rule *rule, bool allowed, const char *why)
{
    return (struct decision){
        .allowed = allowed, .origin = rule->origin, .rule_text = rule->text, .reason = rule->reason, .why = why};
}

static const struct host_rule *find_host(const struct host_rules *rules, const struct host *host, uint16_t port)
{
    for (size_t i = 0; i < rules->count; i++) {
        if (host_pattern_matches(&rules->items[i].pattern, host, port))
            return &rules->items[i];
    }
    return NULL;
}

/* A denial with a port says nothing about the name itself. */
static const struct host_rule *find_denied_name(const struct host_rules *rules, const struct host *host)
{
    for (size_t i = 0; i < rules->count; i++) {
        if (rules->items[i].pattern.port == 0 && host_pattern_matches(&rules->items[i].pattern, host, 0))
            return &rules->items[i];
    }
    return NULL;
}

static struct decision decide_network(const struct policy *policy, const struct host_rule *denied,
                                      const struct host_rule *allowed)
{
    switch (policy_network_mode(policy)) {
    case NETWORK_HOST:
        return (struct decision){
            .allowed = true, .origin = policy->network.mode_origin, .why = "network.mode is host: nothing is filtered"};
    case NETWORK_FILTERED:
        break;
    case NETWORK_NONE:
    case NETWORK_UNSET:
        return (struct decision){.origin = policy->network.mode_origin, .why = "there is no network"};
    }
    if (denied)
        return by_host_rule(denied, false, "refused by deniedDomains");
    if (allowed)
        return by_host_rule(allowed, true, "allowed by allowedDomains");
    return (struct decision){.origin = {"built-in", "network.allowedDomains"},
                             .why = "no allowedDomains entry covers it"};
}

struct decision decide_connect(const struct policy *policy, const struct host *host, uint16_t port)
{
    return decide_network(policy, find_host(&policy->network.denied, host, port),
                          find_host(&policy->network.allowed, host, port));
}

struct decision decide_dns(const struct policy *policy, const struct host *host)
{
    return decide_network(policy, find_denied_name(&policy->network.denied, host),
                          find_host(&policy->network.allowed, host, 0));
}

struct decision decide_host_port(const struct policy *policy, uint16_t port)
{
    for (size_t i = 0; i < policy->network.host_ports.count; i++) {
        const struct port_rule *rule = &policy->network.host_ports.items[i];
        if (rule->port == port)
            return (struct decision){
                .allowed = true, .origin = rule->origin, .why = "a port of the host, by hostPorts"};
    }
    return (struct decision){.origin = {"built-in", "network.hostPorts"}, .why = "no hostPorts entry names the port"};
}

struct decision decide_unix(const struct policy *policy, struct slice real_path)
{
    if (policy->seccomp.block_unix_sockets && policy->seccomp.enabled)
        return (struct decision){.origin = {"built-in", "seccomp.blockUnixSockets"},
                                 .why = "seccomp.blockUnixSockets refuses all unix sockets"};
    if (policy->network.allow_all_unix_sockets)
        return (struct decision){
            .allowed = true, .origin = policy->network.all_unix_origin, .why = "allowAllUnixSockets is true"};
    for (size_t i = 0; i < policy->network.unix_sockets.count; i++) {
        const struct name_rule *rule = &policy->network.unix_sockets.items[i];
        /* Slashes mean nothing in an abstract name. */
        bool abstract = rule->text.ptr[0] == '@' || real_path.ptr[0] == '@';
        if (abstract ? slice_equal(rule->text, real_path) : path_covers(rule->text, real_path))
            return (struct decision){
                .allowed = true, .origin = rule->origin, .rule_text = rule->text, .why = "allowed by allowUnixSockets"};
    }
    return (struct decision){.origin = {"built-in", "network.allowUnixSockets"},
                             .why = "no allowUnixSockets entry names it"};
}

/* A name written out in `pass` beats every pattern in `deny`: that is how a
 * secret is passed by name. */
static const struct name_rule *find_name(const struct name_rules *rules, struct slice name, bool exact)
{
    uint32_t missing = ~name_letters(name);

    for (size_t i = 0; i < rules->count; i++) {
        const struct name_rule *rule = &rules->items[i];
        if (rule->letters & missing)
            continue;
        if (exact ? slice_equal(rule->text, name) : name_matches(rule->text, name))
            return rule;
    }
    return NULL;
}

static struct decision by_name(const struct name_rule *rule, bool allowed, const char *why)
{
    return (struct decision){.allowed = allowed, .origin = rule->origin, .rule_text = rule->text, .why = why};
}

struct decision decide_env(const struct policy *policy, struct slice name)
{
    const struct name_rule *rule;

    if ((rule = find_name(&policy->environment.withheld, name, true)))
        return by_name(rule, false, "withheld by credentials");
    for (size_t i = policy->environment.set_count; i-- > 0;) {
        const struct env_setting *setting = &policy->environment.set[i];
        if (slice_equal(setting->name, name))
            return (struct decision){
                .allowed = true, .origin = setting->origin, .rule_text = setting->name, .why = "set by the policy"};
    }
    if ((rule = find_name(&policy->environment.pass, name, true)))
        return by_name(rule, true, "passed by name");
    if ((rule = find_name(&policy->environment.deny, name, false)))
        return by_name(rule, false, "refused by environment.deny");
    if ((rule = find_name(&policy->environment.pass, name, false)))
        return by_name(rule, true, "passed");
    return (struct decision){.origin = {"built-in", "environment.pass"}, .why = "no environment.pass entry covers it"};
}
