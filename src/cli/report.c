/* The plan as explain shows it, and the list of what a run would refuse, which
 * run uses too: they cannot disagree on it. Values of variables are never shown:
 * they are what the policy protects. */
#include "cli/report.h"

#include "session/question.h"

#include <string.h>
#include <sys/resource.h>

size_t report_objections(const struct options *options, const struct session *session, struct objection **objections)
{
    const struct policy *policy = &session->policy;
    const struct plan *plan = &session->plan;
    struct arena *arena = session->arena;
    struct objection *list = arena_alloc(arena, (policy->unbuilt_count + plan->refusal_count + 1) * sizeof *list);
    size_t count = 0;

    for (size_t i = 0; i < policy->unbuilt_count; i++)
        list[count++] = (struct objection){
            .what = arena_printf(arena, "%s is not enforced yet; take it out to run without it",
                                 policy->unbuilt[i].feature),
            .origin = policy->unbuilt[i].origin,
        };
    for (size_t i = 0; i < plan->refusal_count; i++)
        list[count++] = (struct objection){
            .what = plan->refusals[i].what,
            .origin = plan->refusals[i].origin,
            .token = plan->refusals[i].token,
            .waived = options_waive(options, &plan->refusals[i]),
        };
    *objections = list;
    return count;
}

static const char *network_name(enum network_mode mode)
{
    switch (mode) {
    case NETWORK_FILTERED:
        return "filtered";
    case NETWORK_HOST:
        return "host";
    case NETWORK_NONE:
    case NETWORK_UNSET:
        break;
    }
    return "none";
}

static const char *network_meaning(enum network_mode mode, enum backend backend)
{
    switch (mode) {
    case NETWORK_FILTERED:
        return "through cloche, by name";
    case NETWORK_HOST:
        return "the host's, unfiltered";
    case NETWORK_NONE:
    case NETWORK_UNSET:
        break;
    }
    return backend == BACKEND_LANDLOCK ? "not even a loopback" : "its own loopback and nothing else";
}

static struct slice variable_name(const char *setting)
{
    struct slice whole = slice_of(setting);
    return (struct slice){whole.ptr, slice_find(whole, '=')};
}

static bool plan_passes(const struct plan *plan, struct slice name)
{
    for (size_t i = 0; i < plan->environment_count; i++)
        if (slice_equal(variable_name(plan->environment[i]), name))
            return true;
    return false;
}

/* Words separated by spaces, broken into lines under the second column. */
static void append_wrapped(struct text *out, size_t *column, const char *word)
{
    enum { LABEL_WIDTH = 13, LINE_WIDTH = 100 };
    size_t length = strlen(word);

    if (*column + length >= LINE_WIDTH && *column > LABEL_WIDTH) {
        text_appendf(out, "\n%*s", LABEL_WIDTH - 1, "");
        *column = LABEL_WIDTH - 1;
    }
    text_appendf(out, " %s", word);
    *column += length + 1;
}

static void append_network(const struct session *session, struct text *out)
{
    const struct policy *policy = &session->policy;
    enum network_mode mode = policy_network_mode(policy);
    struct arena *arena = session->arena;

    text_appendf(out, "network      %s: %s\n", network_name(mode), network_meaning(mode, session->plan.backend));
    for (size_t i = 0; i < session->plan.host_port_count; i++)
        text_appendf(out, "             port %u of the host's loopback\n", (unsigned)session->plan.host_ports[i]);
    for (size_t i = 0; i < session->plan.publish_port_count; i++)
        text_appendf(out, "             port %u inside, on the host's loopback\n",
                     (unsigned)session->plan.publish_ports[i]);
    for (size_t i = 0; i < policy->network.denied.count; i++)
        text_appendf(out, "             not %s  (%s)\n", escaped(arena, policy->network.denied.items[i].text),
                     origin_text(arena, &policy->network.denied.items[i].origin));
    for (size_t i = 0; i < policy->network.allowed.count; i++)
        text_appendf(out, "             %s  (%s)\n", escaped(arena, policy->network.allowed.items[i].text),
                     origin_text(arena, &policy->network.allowed.items[i].origin));
}

static void append_environment(const struct session *session, struct text *out)
{
    const struct plan *plan = &session->plan;
    struct arena *arena = session->arena;
    size_t column = 12;
    bool held = false;

    text_append_string(out, "environment ");
    for (size_t i = 0; i < plan->environment_count; i++)
        append_wrapped(out, &column, escaped(arena, variable_name(plan->environment[i])));
    for (char *const *variable = session->around.environment; variable && *variable; variable++) {
        if (plan_passes(plan, variable_name(*variable)))
            continue;
        if (!held) {
            text_append_string(out, "\nheld back   ");
            column = 12;
            held = true;
        }
        append_wrapped(out, &column, escaped(arena, variable_name(*variable)));
    }
    text_append_byte(out, '\n');
}

static const char *way_meaning(enum limit_way way)
{
    switch (way) {
    case LIMIT_BY_CGROUP:
        return "held by a cgroup";
    case LIMIT_BY_SCOPE:
        return "held by a cgroup, if the service manager gives one when the run starts";
    case LIMIT_BY_PID_MAX:
        return "held by the run's own kernel.pid_max";
    case LIMIT_BY_RLIMIT:
        return "held by RLIMIT_NPROC";
    case LIMIT_BY_SAMPLES:
        return "measured, and killed when over it";
    case LIMIT_BY_NOTHING:
        break;
    }
    return "cannot be held here";
}

static void append_run_limit(const struct run_limit *limit, const char *name, const char **separator, struct text *out)
{
    if (!limit->value)
        return;
    text_appendf(out, "%s%s %llu (%s)", *separator, name, (unsigned long long)limit->value, way_meaning(limit->way));
    *separator = ", ";
}

static void append_limits(const struct plan *plan, struct text *out)
{
    const char *separator = "";

    text_append_string(out, "limits       ");
    if (plan->wall_seconds) {
        text_appendf(out, "wall time %llu s", (unsigned long long)plan->wall_seconds);
        separator = ", ";
    }
    for (size_t i = 0; i < plan->rlimit_count; i++) {
        if (plan->rlimits[i].resource == RLIMIT_CORE)
            continue;
        text_appendf(out, "%s%s %llu", separator, plan->rlimits[i].name, (unsigned long long)plan->rlimits[i].value);
        separator = ", ";
    }
    append_run_limit(&plan->memory, "memory", &separator, out);
    append_run_limit(&plan->processes, "processes", &separator, out);
    text_appendf(out, "%score dumps off\n", separator);
}

/* Which rules put a doorman at the door, and for what. */
static void append_doorman(const struct session *session, struct text *out)
{
    const struct plan *plan = &session->plan;
    struct arena *arena = session->arena;

    if (!plan_has_doorman(plan)) {
        text_appendf(out, "doorman      none%s%s\n", plan->no_doorman ? ": " : "",
                     plan->no_doorman ? plan->no_doorman : "");
        return;
    }
    text_appendf(out, "doorman      asked before %s%s%s%s\n", plan->doorman.files ? "files are changed by name" : "",
                 plan->doorman.files && plan->doorman.sockets ? " and " : "",
                 plan->doorman.sockets ? "sockets are connected" : "",
                 plan->doorman.datagrams ? " and datagrams sent" : "");
    if (plan->doorman.performs_reads)
        text_append_string(out, "             and performs every open, for reading too: about 20 times the time of one "
                                "(make bench)\n");
    for (size_t i = 0; i < plan->doorman_reason_count; i++)
        text_appendf(out, "             for %s  (%s)\n", escaped(arena, plan->doorman_reasons[i].text),
                     origin_text(arena, &plan->doorman_reasons[i].origin));
}

static bool same_hold(const struct hold *a, const struct hold *b)
{
    return a->locks == b->locks && a->note == b->note && slice_equal(a->rule_text, b->rule_text) &&
           strcmp(a->origin.file, b->origin.file) == 0 && strcmp(a->origin.path, b->origin.path) == 0;
}

/* Presets name hundreds of places, most of which exist on no single host: those
 * are counted, and listed with -v. */
static void append_holds(const struct options *options, const struct session *session, struct text *out)
{
    const struct plan *plan = &session->plan;
    struct arena *arena = session->arena;
    size_t idle = 0;

    text_append_string(out, "\nrules, and the locks that hold them:\n");
    for (size_t i = 0; i < plan->hold_count; i++) {
        const struct hold *hold = &plan->holds[i];
        if (hold->idle && options->level != LOG_VERBOSE) {
            idle++;
            continue;
        }
        /* One entry may stand for many rules: $PATH. */
        if (i > 0 && same_hold(hold, &plan->holds[i - 1]))
            continue;
        text_appendf(out, "%-16s %s  (%s)%s%s\n", hold->locks ? locks_text(arena, hold->locks) : "-",
                     escaped(arena, hold->rule_text), origin_text(arena, &hold->origin), hold->note ? ": " : "",
                     hold->note ? hold->note : "");
    }
    if (idle > 0)
        text_appendf(out, "%zu more rules speak of what does not exist here; cloche explain -v lists them\n", idle);
}

static void append_objections(const struct options *options, const struct session *session, struct text *out)
{
    struct objection *objections;
    size_t count = report_objections(options, session, &objections);

    if (count == 0)
        return;
    text_append_string(out, "\na run with these options is refused:\n");
    for (size_t i = 0; i < count; i++) {
        text_appendf(out, "%s (%s)", objections[i].what, origin_text(session->arena, &objections[i].origin));
        if (objections[i].token)
            text_appendf(out,
                         objections[i].waived ? "; accepted by --allow-degraded %s"
                                              : "; to accept this: --allow-degraded %s",
                         objections[i].token);
        text_append_byte(out, '\n');
    }
}

/* Beyond the standard ones. */
static void append_descriptors(const struct session *session, struct text *out)
{
    const struct session_request *request = session->request;

    if (request->passed_count == 0)
        return;
    text_append_string(out, "descriptors ");
    for (size_t i = 0; i < request->passed_count; i++)
        text_appendf(out, " %d", request->passed[i]);
    text_append_string(out, "  (command line: --pass-fd)\n");
}

void report_plan(const struct options *options, const struct session *session, struct text *out)
{
    struct arena *arena = session->arena;
    const struct plan *plan = &session->plan;

    text_appendf(out, "project      %s\n", escaped(arena, session->around.project));
    text_appendf(out, "starts in    %s\n", escaped(arena, plan->working_directory));
    text_appendf(out, "backend      %s%s%s\n", backend_name(plan->backend), plan->weaker ? ": " : "",
                 plan->weaker ? plan->weaker : "");
    text_append_string(out, "policy      ");
    for (size_t i = 0; i < session->source_count; i++)
        text_appendf(out, " %s", escaped(arena, slice_of(source_name(arena, &session->sources[i]))));
    text_append_byte(out, '\n');
    append_network(session, out);
    append_environment(session, out);
    append_descriptors(session, out);
    append_limits(plan, out);
    text_appendf(out, "filter       %s\n", plan->filter_enabled ? "on" : "off");
    append_doorman(session, out);
    if (plan->keep_file_capabilities)
        text_append_string(out, "capabilities files: CHOWN, DAC_OVERRIDE, FOWNER, FSETID, SETUID, SETGID\n");
    text_append_string(out, plan->backend == BACKEND_LANDLOCK ? "\nfiles, as Landlock grants them:\n"
                                                              : "\nfiles, from the outside in:\n");
    plan_print(plan, out);
    append_holds(options, session, out);
    append_objections(options, session, out);
}

static void append_member(struct text *out, const char *key, struct slice value)
{
    text_appendf(out, "\"%s\":", key);
    text_append_json(out, value);
}

static void append_origin_json(const struct origin *origin, struct text *out)
{
    append_member(out, "file", slice_of(origin->file ? origin->file : "built-in"));
    text_append_byte(out, ',');
    append_member(out, "path", slice_of(origin->path ? origin->path : ""));
}

static void append_warnings_json(const struct session *session, struct text *out)
{
    bool first = true;

    text_append_string(out, ",\"warnings\":[");
    for (size_t i = 0; i < session->problems.count; i++) {
        const struct problem *problem = &session->problems.items[i];
        text_append_string(out, first ? "{" : ",{");
        append_origin_json(&(struct origin){problem->file, problem->path}, out);
        text_append_byte(out, ',');
        append_member(out, "text", slice_of(problem->text));
        text_append_byte(out, '}');
        first = false;
    }
    text_append_byte(out, ']');
}

static void append_objections_json(const struct options *options, const struct session *session, struct text *out)
{
    struct objection *objections;
    size_t count = report_objections(options, session, &objections);

    text_append_string(out, ",\"refusals\":[");
    for (size_t i = 0; i < count; i++) {
        text_append_string(out, i ? ",{" : "{");
        append_member(out, "what", slice_of(objections[i].what));
        text_append_byte(out, ',');
        append_origin_json(&objections[i].origin, out);
        text_append_string(out, ",\"token\":");
        if (objections[i].token)
            text_append_json(out, slice_of(objections[i].token));
        else
            text_append_string(out, "null");
        text_appendf(out, ",\"waived\":%s}", objections[i].waived ? "true" : "false");
    }
    text_append_byte(out, ']');
}

static const char *tmp_word(enum tmp_mode mode)
{
    return mode == TMP_HOST ? "host" : mode == TMP_SESSION ? "session" : "private";
}

void report_head_json(const struct options *options, const struct session *session, struct text *out)
{
    text_append_string(out, "\"version\":1,");
    append_member(out, "project", session->around.project);
    text_append_byte(out, ',');
    append_member(out, "workingDirectory", session->plan.working_directory);
    text_appendf(out, ",\"backend\":\"%s\",\"weaker\":", backend_name(session->plan.backend));
    if (session->plan.weaker)
        text_append_json(out, slice_of(session->plan.weaker));
    else
        text_append_string(out, "null");
    if (session->policy.filesystem.tmp_asked != TMP_UNSET)
        text_appendf(out, ",\"tmp\":\"%s\"", tmp_word(session->policy.filesystem.tmp_asked));
    text_append_string(out, ",\"policy\":[");
    for (size_t i = 0; i < session->source_count; i++) {
        text_append_string(out, i ? "," : "");
        text_append_json(out, slice_of(source_name(session->arena, &session->sources[i])));
    }
    text_append_string(out, "],\"passedOver\":");
    if (session->passed_over)
        text_append_json(out, slice_of(session->passed_over));
    else
        text_append_string(out, "null");
    append_warnings_json(session, out);
    append_objections_json(options, session, out);
}

/* One of a list of rules, as written. */
static void append_rule_json(struct text *out, size_t number, struct slice rule, const struct origin *origin)
{
    text_append_string(out, number ? ",{" : "{");
    append_member(out, "text", rule);
    text_append_byte(out, ',');
    append_origin_json(origin, out);
    text_append_byte(out, '}');
}

static void append_hosts_json(const char *key, const struct host_rules *rules, struct text *out)
{
    text_appendf(out, ",\"%s\":[", key);
    for (size_t i = 0; i < rules->count; i++)
        append_rule_json(out, i, rules->items[i].text, &rules->items[i].origin);
    text_append_byte(out, ']');
}

static void append_names_json(const struct session *session, bool passed, struct text *out)
{
    const struct plan *plan = &session->plan;
    bool first = true;

    text_append_byte(out, '[');
    if (passed) {
        for (size_t i = 0; i < plan->environment_count; i++) {
            text_append_string(out, i ? "," : "");
            text_append_json(out, variable_name(plan->environment[i]));
        }
    } else {
        for (char *const *variable = session->around.environment; variable && *variable; variable++) {
            if (plan_passes(plan, variable_name(*variable)))
                continue;
            text_append_string(out, first ? "" : ",");
            text_append_json(out, variable_name(*variable));
            first = false;
        }
    }
    text_append_byte(out, ']');
}

static void append_limits_json(const struct plan *plan, struct text *out)
{
    /* Never empty: core dumps are always limited. */
    text_append_string(out, ",\"limits\":{");
    for (size_t i = 0; i < plan->rlimit_count; i++)
        text_appendf(out, "%s\"%s\":%llu", i ? "," : "", plan->rlimits[i].name,
                     (unsigned long long)plan->rlimits[i].value);
    if (plan->wall_seconds)
        text_appendf(out, ",\"wallSeconds\":%llu", (unsigned long long)plan->wall_seconds);
    if (plan->memory.value)
        text_appendf(out, ",\"memory\":%llu", (unsigned long long)plan->memory.value);
    if (plan->processes.value)
        text_appendf(out, ",\"processes\":%llu", (unsigned long long)plan->processes.value);
    text_appendf(out, "},\"limitsHeldBy\":{\"memory\":\"%s\",\"processes\":\"%s\"}", limit_way_name(plan->memory.way),
                 limit_way_name(plan->processes.way));
}

static void append_holds_json(const struct session *session, struct text *out)
{
    const struct plan *plan = &session->plan;

    text_append_string(out, ",\"rules\":[");
    for (size_t i = 0; i < plan->hold_count; i++) {
        const struct hold *hold = &plan->holds[i];
        text_append_string(out, i ? ",{" : "{");
        append_member(out, "text", hold->rule_text);
        text_append_byte(out, ',');
        append_origin_json(&hold->origin, out);
        text_append_string(out, ",\"locks\":");
        locks_json(hold->locks, out);
        text_append_string(out, ",\"note\":");
        if (hold->note)
            text_append_json(out, slice_of(hold->note));
        else
            text_append_string(out, "null");
        text_append_byte(out, '}');
    }
    text_append_byte(out, ']');
}

static void append_doorman_json(const struct plan *plan, struct text *out)
{
    if (!plan_has_doorman(plan)) {
        text_append_string(out, ",\"doorman\":null");
        return;
    }
    text_appendf(out, ",\"doorman\":{\"files\":%s,\"sockets\":%s,\"datagrams\":%s,\"reads\":%s,\"reasons\":[",
                 plan->doorman.files ? "true" : "false", plan->doorman.sockets ? "true" : "false",
                 plan->doorman.datagrams ? "true" : "false", plan->doorman.performs_reads ? "true" : "false");
    for (size_t i = 0; i < plan->doorman_reason_count; i++)
        append_rule_json(out, i, plan->doorman_reasons[i].text, &plan->doorman_reasons[i].origin);
    text_append_string(out, "],\"roots\":[");
    for (size_t i = 0; i < plan->doorman_root_count; i++) {
        text_append_string(out, i ? ",{" : "{");
        append_member(out, "path", plan->doorman_roots[i].path);
        text_appendf(out, ",\"byPattern\":%s}", plan->doorman_roots[i].by_pattern ? "true" : "false");
    }
    text_append_string(out, "]}");
}

void report_plan_json(const struct session *session, struct text *out)
{
    const struct plan *plan = &session->plan;
    const struct policy *policy = &session->policy;

    text_append_string(out, ",\"steps\":");
    plan_print_json(plan, out);
    text_appendf(out, ",\"network\":{\"mode\":\"%s\"", network_name(policy_network_mode(policy)));
    append_hosts_json("allowed", &policy->network.allowed, out);
    append_hosts_json("denied", &policy->network.denied, out);
    text_append_string(out, "},\"environment\":{\"inside\":");
    append_names_json(session, true, out);
    text_append_string(out, ",\"heldBack\":");
    append_names_json(session, false, out);
    text_append_string(out, "},\"descriptors\":[");
    for (size_t i = 0; i < session->request->passed_count; i++)
        text_appendf(out, "%s%d", i ? "," : "", session->request->passed[i]);
    text_append_byte(out, ']');
    append_limits_json(plan, out);
    text_appendf(out, ",\"filter\":%s,\"capabilities\":\"%s\"", plan->filter_enabled ? "true" : "false",
                 plan->keep_file_capabilities ? "files" : "none");
    append_doorman_json(plan, out);
    append_holds_json(session, out);
}
