/* `cloche doctor`: prints the examination of this host for people, or as JSON.
 * The exit status is the conclusion: 0 the default policy can run in full, 1 only
 * degraded, 2 not at all; 125 if doctor itself was called wrongly. */
#include "cli/commands.h"

#include "base/arena.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/help.h"
#include "host/examine.h"

#include <stdio.h>
#include <string.h>

enum { JSON_FORMAT = 1 };

static const char *weight_name(enum finding_weight weight)
{
    switch (weight) {
    case WEIGHT_REQUIRED:
        return "required";
    case WEIGHT_NAMESPACES:
        return "namespaces";
    case WEIGHT_DEFAULT:
        return "default";
    case WEIGHT_OPTIONAL:
        break;
    }
    return "optional";
}

struct named_setting {
    const char *name;
    long value;
};

enum { NAMED_SETTINGS = 7 };

static void name_settings(const struct settings *settings, struct named_setting named[NAMED_SETTINGS])
{
    named[0] = (struct named_setting){"user.max_user_namespaces", settings->max_user_namespaces};
    named[1] = (struct named_setting){"user.max_mnt_namespaces", settings->max_mnt_namespaces};
    named[2] = (struct named_setting){"user.max_pid_namespaces", settings->max_pid_namespaces};
    named[3] = (struct named_setting){"user.max_net_namespaces", settings->max_net_namespaces};
    named[4] = (struct named_setting){"kernel.unprivileged_userns_clone", settings->unprivileged_userns_clone};
    named[5] = (struct named_setting){"kernel.apparmor_restrict_unprivileged_userns",
                                      settings->apparmor_restrict_unprivileged_userns};
    named[6] = (struct named_setting){"kernel.yama.ptrace_scope", settings->ptrace_scope};
}

/* The answer in one line, before everything that led to it. */
static void print_verdict(const struct examination *examination, struct text *out)
{
    if (examination->verdict == VERDICT_IMPOSSIBLE) {
        text_append_string(out, "No run is possible here: see what is missing below.\n\n");
        return;
    }
    bool landlock = strcmp(examination->backend, "landlock") == 0;
    text_appendf(out, "Runs here work, with %s.%s", landlock ? "Landlock alone, which is weaker" : "namespaces",
                 examination->shortfall_count ? " Not held: " : " The default policy is held in full.");
    for (size_t i = 0; i < examination->shortfall_count; i++)
        text_appendf(out, "%s%s", i ? "; " : "", examination->shortfalls[i].what);
    text_append_string(out, examination->shortfall_count ? ".\n\n" : "\n\n");
}

static void print_table(const struct examination *examination, struct text *out)
{
    size_t width = strlen("WHAT");

    for (size_t i = 0; i < examination->finding_count; i++) {
        size_t length = strlen(examination->findings[i].title);
        width = length > width ? length : width;
    }
    text_appendf(out, "%-*s  %-7s  %s\n", (int)width, "WHAT", "STATUS", "NEEDED FOR");
    for (size_t i = 0; i < examination->finding_count; i++) {
        const struct finding *finding = &examination->findings[i];
        text_appendf(out, "%-*s  %-7s  %s\n", (int)width, finding->title, finding_status_name(finding->status),
                     finding->needed_for);
        text_appendf(out, "%-*s  %-7s    %s\n", (int)width, "", "", finding->detail);
    }
}

static void print_settings(const struct examination *examination, struct text *out)
{
    struct named_setting named[NAMED_SETTINGS];
    const char *modules = examination->settings.lsm;

    name_settings(&examination->settings, named);
    text_appendf(out, "\nSecurity modules: %s\n",
                 modules ? escaped(out->arena, slice_of(modules)) : "unknown (/sys/kernel/security cannot be read)");
    text_append_string(out, "Settings that matter here:\n");
    for (size_t i = 0; i < NAMED_SETTINGS; i++) {
        if (named[i].value != SETTING_ABSENT)
            text_appendf(out, "    %s = %ld\n", named[i].name, named[i].value);
    }
}

static void append_indented(struct text *out, const char *lines)
{
    text_append_string(out, "    ");
    for (const char *byte = lines; *byte != '\0'; byte++) {
        text_append_byte(out, *byte);
        if (*byte == '\n')
            text_append_string(out, "    ");
    }
    text_append_byte(out, '\n');
}

static void print_remedies(const struct examination *examination, struct text *out)
{
    for (size_t i = 0; i < examination->finding_count; i++) {
        const struct finding *finding = &examination->findings[i];
        if (finding->status == FINDING_OK || finding->remedy == NULL)
            continue;
        text_appendf(out, "\nHow to get %s%s:\n", finding->status == FINDING_LIMITED ? "the rest of " : "",
                     finding->title);
        append_indented(out, finding->remedy);
    }
}

static void print_tokens(const struct examination *examination, struct text *out)
{
    struct text options = text_in(out->arena);

    for (size_t i = 0; i < examination->shortfall_count; i++) {
        if (examination->shortfalls[i].token != NULL)
            text_appendf(&options, " --allow-degraded %s", examination->shortfalls[i].token);
    }
    if (options.len > 0)
        text_appendf(out, "To run all the same, where a run is refused for it: cloche run%s ...\n", options.ptr);
}

static void print_conclusion(const struct examination *examination, struct text *out)
{
    text_append_byte(out, '\n');
    if (examination->verdict == VERDICT_IMPOSSIBLE) {
        text_append_string(out,
                           "No run is possible here: what is missing above must come first. Without usable namespaces\n"
                           "Landlock alone would do (the backend \"landlock\"), but that is missing too.\n");
        return;
    }
    text_appendf(out, "A run would use the backend \"%s\".\n", examination->backend);
    if (examination->verdict == VERDICT_FULL) {
        text_append_string(out, "The default policy can be enforced in full.\n");
        return;
    }
    text_append_string(out, "What the default policy asks for and cannot be enforced:\n");
    for (size_t i = 0; i < examination->shortfall_count; i++) {
        const struct shortfall *shortfall = &examination->shortfalls[i];
        text_appendf(out, "  - %s\n    (%s)\n", shortfall->what, shortfall->why);
    }
    print_tokens(examination, out);
}

static void append_json_string(struct text *out, const char *value)
{
    if (value == NULL)
        text_append_string(out, "null");
    else
        text_append_json(out, slice_of(value));
}

static void append_json_member(struct text *out, const char *name, const char *value)
{
    text_appendf(out, "\"%s\":", name);
    append_json_string(out, value);
}

static void append_json_settings(const struct settings *settings, struct text *out)
{
    struct named_setting named[NAMED_SETTINGS];

    name_settings(settings, named);
    text_append_string(out, "\"settings\":{");
    for (size_t i = 0; i < NAMED_SETTINGS; i++) {
        text_appendf(out, "%s\"%s\":", i ? "," : "", named[i].name);
        if (named[i].value == SETTING_ABSENT)
            text_append_string(out, "null");
        else
            text_appendf(out, "%ld", named[i].value);
    }
    text_append_string(out, "},\n");
}

static void append_json_findings(const struct examination *examination, struct text *out)
{
    text_append_string(out, "\"findings\":[");
    for (size_t i = 0; i < examination->finding_count; i++) {
        const struct finding *finding = &examination->findings[i];
        text_append_string(out, i ? ",\n  {" : "\n  {");
        append_json_member(out, "id", finding->id);
        text_append_byte(out, ',');
        append_json_member(out, "status", finding_status_name(finding->status));
        text_append_byte(out, ',');
        append_json_member(out, "weight", weight_name(finding->weight));
        text_append_byte(out, ',');
        append_json_member(out, "title", finding->title);
        text_append_byte(out, ',');
        append_json_member(out, "detail", finding->detail);
        text_append_byte(out, ',');
        append_json_member(out, "neededFor", finding->needed_for);
        text_append_byte(out, ',');
        append_json_member(out, "remedy", finding->status == FINDING_OK ? NULL : finding->remedy);
        text_append_byte(out, '}');
    }
    text_append_string(out, "\n],\n");
}

static void append_json_conclusion(const struct examination *examination, struct text *out)
{
    static const char *const verdicts[] = {"full", "degraded", "impossible"};
    size_t tokens = 0;

    append_json_member(out, "backend", examination->backend);
    text_append_string(out, ",\n\"notEnforced\":[");
    for (size_t i = 0; i < examination->shortfall_count; i++) {
        text_append_string(out, i ? ",\n  {" : "\n  {");
        append_json_member(out, "token", examination->shortfalls[i].token);
        text_append_byte(out, ',');
        append_json_member(out, "what", examination->shortfalls[i].what);
        text_append_byte(out, ',');
        append_json_member(out, "why", examination->shortfalls[i].why);
        text_append_byte(out, '}');
    }
    text_append_string(out, "],\n\"allowDegraded\":[");
    for (size_t i = 0; i < examination->shortfall_count; i++) {
        if (examination->shortfalls[i].token == NULL)
            continue;
        text_append_string(out, tokens++ ? "," : "");
        append_json_string(out, examination->shortfalls[i].token);
    }
    text_append_string(out, "],\n");
    append_json_member(out, "verdict", verdicts[examination->verdict]);
    text_append_string(out, "}\n");
}

static void print_json(const struct examination *examination, struct text *out)
{
    const struct facts *facts = &examination->facts;

    text_appendf(out, "{\"format\":%d,", JSON_FORMAT);
    append_json_member(out, "cloche", CLOCHE_VERSION);
    text_append_string(out, ",\n\"kernel\":{");
    append_json_member(out, "release", examination->settings.release);
    text_appendf(out, ",\"major\":%u,\"minor\":%u},\n", facts->kernel_major, facts->kernel_minor);
    text_appendf(out, "\"root\":%s,\n\"landlock\":{\"abi\":%d,\"lacks\":[", facts->is_root ? "true" : "false",
                 facts->landlock_abi);
    for (size_t i = 0; i < examination->landlock_lack_count; i++) {
        text_append_string(out, i ? "," : "");
        append_json_string(out, examination->landlock_lacks[i]);
    }
    text_append_string(out, "]},\n");
    append_json_member(out, "securityModules", examination->settings.lsm);
    text_append_string(out, ",\n");
    append_json_settings(&examination->settings, out);
    append_json_findings(examination, out);
    append_json_conclusion(examination, out);
}

int command_doctor(int argc, char **argv)
{
    ARENA_CLEANUP struct arena arena = {0};
    struct examination examination;
    struct text out = text_in(&arena);
    bool json = argc == 2 && strcmp(argv[1], "--json") == 0;

    if (argc == 2 && help_wanted(argv[1]))
        return help_print("doctor") ? STATUS_OK : STATUS_REFUSED;
    if (argc > 1 && !json) {
        log_error("doctor takes no argument but --json; found \"%s\"",
                  escaped(&arena, slice_of(argv[strcmp(argv[1], "--json") == 0 ? 2 : 1])));
        return STATUS_REFUSED;
    }
    examine_host(&arena, &examination);
    if (json) {
        print_json(&examination, &out);
    } else {
        print_verdict(&examination, &out);
        print_table(&examination, &out);
        print_settings(&examination, &out);
        print_remedies(&examination, &out);
        print_conclusion(&examination, &out);
    }
    if (fwrite(out.ptr, 1, out.len, stdout) != out.len || fflush(stdout) != 0) {
        log_error("cannot write the report to standard output");
        return STATUS_REFUSED;
    }
    return (int)examination.verdict;
}
