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
    case STEP_PRIVATE:
        return "private";
    case STEP_OVERLAY:
        return "overlay";
    case STEP_DEVICES:
        return "devices";
    case STEP_PROC:
        return "proc";
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
    case STEP_ROOT:
    case STEP_BIND:
    case STEP_PIN:
        return step->writable ? "writable" : "read-only";
    case STEP_PRIVATE:
    case STEP_OVERLAY:
        return "writable";
    case STEP_HIDE_DIRECTORY:
        return step->mode ? "shows only what is allowed" : "hidden";
    case STEP_HIDE_FILE:
        return "hidden";
    case STEP_ROOT_EMPTY:
        return "shows only what is allowed";
    case STEP_EMPTY_FILE:
    case STEP_DEVICES:
    case STEP_PROC:
        break;
    }
    return "read-only";
}

void plan_print(const struct plan *plan, struct text *out)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct step *step = &plan->steps[i];
        char head[64];

        snprintf(head, sizeof head, "%-15s %-26s ", step_kind_name(step->kind), access_word(step));
        text_append_string(out, head);
        text_append_escaped(out, step->path);
        text_append_string(out, "  (");
        text_append_escaped(out, slice_of(step->origin.file ? step->origin.file : "built-in"));
        text_append_string(out, ": ");
        text_append_escaped(out, slice_of(step->origin.path ? step->origin.path : "default"));
        text_append_string(out, ")\n");
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

static void print_step(const struct step *step, struct text *out)
{
    text_appendf(out, "{\"kind\":\"%s\",\"path\":", step_kind_name(step->kind));
    text_append_json(out, step->path);
    text_appendf(out, ",\"writable\":%s,\"mode\":\"%04o\",\"entries\":[", step->writable ? "true" : "false",
                 step->mode);
    for (size_t i = 0; i < step->entry_count; i++) {
        if (i)
            text_append_byte(out, ',');
        print_entry(&step->entries[i], out);
    }
    text_append_string(out, "],\"rule\":{\"file\":");
    text_append_json(out, slice_of(step->origin.file ? step->origin.file : "built-in"));
    text_append_string(out, ",\"path\":");
    text_append_json(out, slice_of(step->origin.path ? step->origin.path : ""));
    text_append_string(out, "}}");
}

void plan_print_json(const struct plan *plan, struct text *out)
{
    text_append_byte(out, '[');
    for (size_t i = 0; i < plan->step_count; i++) {
        if (i)
            text_append_string(out, ",\n ");
        print_step(&plan->steps[i], out);
    }
    text_append_byte(out, ']');
}
