/* A plan in words, one line per step, and as JSON. Output is stable: tests and
 * people compare it. */
#include "base/text.h"
#include "plan/plan.h"

#include <stdio.h>

const char *step_kind_name(enum step_kind kind)
{
    switch (kind) {
    case STEP_ROOT:
        return "root";
    case STEP_ROOT_EMPTY:
        return "empty root";
    case STEP_BIND:
        return "bind";
    case STEP_PIN:
        return "pin";
    case STEP_HIDE_DIRECTORY:
        return "hide directory";
    case STEP_HIDE_FILE:
        return "hide file";
    case STEP_EMPTY_FILE:
        return "empty file";
    case STEP_COPY:
        return "copy";
    case STEP_PRIVATE:
        return "private";
    case STEP_SESSION:
        return "session";
    case STEP_OVERLAY:
        return "overlay";
    case STEP_DEVICES:
        return "devices";
    case STEP_PROC:
        return "proc";
    case STEP_PROC_OF_HOST:
        return "proc of the host";
    }
    return "unknown";
}

static const char *entry_kind_name(enum entry_kind kind)
{
    switch (kind) {
    case ENTRY_DIRECTORY:
        return "directory";
    case ENTRY_FILE:
        return "file";
    case ENTRY_LINK:
        return "link";
    case ENTRY_DEVICE:
        return "device";
    }
    return "unknown";
}

static const char *access_word(const struct step *step)
{
    switch (step->kind) {
    case STEP_BIND:
        if (step->judged)
            return "hidden by the doorman";
        /* fall through */
    case STEP_ROOT:
    case STEP_PIN:
    case STEP_PRIVATE:
    case STEP_SESSION:
    case STEP_OVERLAY:
        return step->writable ? "writable" : "read-only";
    case STEP_HIDE_DIRECTORY:
        return step->mode ? "shows only what is allowed" : "hidden";
    case STEP_HIDE_FILE:
        return "hidden";
    case STEP_ROOT_EMPTY:
        return "shows only what is allowed";
    case STEP_EMPTY_FILE:
    case STEP_COPY:
    case STEP_DEVICES:
    case STEP_PROC:
    case STEP_PROC_OF_HOST:
        break;
    }
    return "read-only";
}

const char *backend_name(enum backend backend)
{
    return backend == BACKEND_LANDLOCK ? "landlock" : "namespaces";
}

static const char *grant_name(enum grant_kind kind)
{
    switch (kind) {
    case GRANT_READ:
        return "read";
    case GRANT_LIST:
        return "list";
    case GRANT_WRITE:
        return "write";
    case GRANT_DEVICE:
        return "use the device";
    }
    return "unknown";
}

static void print_line(const char *kind, const char *access, struct slice path, const struct origin *origin,
                       struct text *out)
{
    char head[64];

    snprintf(head, sizeof head, "%-15s %-26s ", kind, access);
    text_append_string(out, head);
    text_append_escaped(out, path);
    text_append_string(out, "  (");
    text_append_escaped(out, slice_of(origin->file ? origin->file : "built-in"));
    text_append_string(out, ": ");
    text_append_escaped(out, slice_of(origin->path ? origin->path : "default"));
    text_append_string(out, ")\n");
}

static void print_grants(const struct plan *plan, struct text *out)
{
    for (size_t i = 0; i < plan->grant_count; i++) {
        const struct grant *grant = &plan->grants[i];
        print_line(grant_name(grant->kind), grant->entries ? "each entry there is now of" : "", grant->path,
                   &grant->origin, out);
    }
    if (plan->private_directory)
        print_line("write", "made for this run", slice_of(plan->private_directory),
                   &(struct origin){"built-in", "filesystem.tmp"}, out);
}

void plan_print(const struct plan *plan, struct text *out)
{
    if (plan->backend == BACKEND_LANDLOCK) {
        print_grants(plan, out);
        return;
    }
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct step *step = &plan->steps[i];
        print_line(step_kind_name(step->kind), access_word(step), step->path, &step->origin, out);
    }
}

static void print_entry(const struct entry *entry, struct text *out)
{
    text_appendf(out, "{\"kind\":\"%s\",\"path\":", entry_kind_name(entry->kind));
    text_append_json(out, entry->path);
    if (entry->kind == ENTRY_LINK) {
        text_append_string(out, ",\"target\":");
        text_append_json(out, entry->target);
    }
    text_append_byte(out, '}');
}

static void print_rule(const struct origin *origin, struct text *out)
{
    text_append_string(out, "\"rule\":{\"file\":");
    text_append_json(out, slice_of(origin->file ? origin->file : "built-in"));
    text_append_string(out, ",\"path\":");
    text_append_json(out, slice_of(origin->path ? origin->path : ""));
    text_append_string(out, "}}");
}

static void print_step(const struct step *step, struct text *out)
{
    text_appendf(out, "{\"kind\":\"%s\",\"path\":", step_kind_name(step->kind));
    text_append_json(out, step->path);
    text_appendf(out, ",\"writable\":%s,\"judged\":%s,\"mode\":\"%04o\",\"entries\":[",
                 step->writable ? "true" : "false", step->judged ? "true" : "false", step->mode);
    for (size_t i = 0; i < step->entry_count; i++) {
        if (i)
            text_append_byte(out, ',');
        print_entry(&step->entries[i], out);
    }
    text_append_string(out, "],");
    print_rule(&step->origin, out);
}

static void print_grant(const struct grant *grant, struct text *out)
{
    text_appendf(out, "{\"kind\":\"%s\",\"path\":", grant->entries ? "grant entries" : "grant");
    text_append_json(out, grant->path);
    text_appendf(out, ",\"access\":\"%s\",\"writable\":%s,",
                 grant->kind == GRANT_DEVICE ? "device" : grant_name(grant->kind),
                 grant->kind == GRANT_WRITE || grant->kind == GRANT_DEVICE ? "true" : "false");
    print_rule(&grant->origin, out);
}

void plan_print_json(const struct plan *plan, struct text *out)
{
    bool landlock = plan->backend == BACKEND_LANDLOCK;

    text_append_byte(out, '[');
    for (size_t i = 0; landlock && i < plan->grant_count; i++) {
        text_append_string(out, i ? ",\n " : "");
        print_grant(&plan->grants[i], out);
    }
    for (size_t i = 0; !landlock && i < plan->step_count; i++) {
        if (i)
            text_append_string(out, ",\n ");
        print_step(&plan->steps[i], out);
    }
    text_append_byte(out, ']');
}
