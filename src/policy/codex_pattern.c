/* Patterns of Codex's profiles. They only ever hide: one that is to grant something
 * is refused, where Codex passes it over. Alternatives in braces are written out,
 * since our own patterns have none; what else ours have not (a backslash) is
 * refused, for taken as an ordinary byte it would hide nothing. */
#include "policy/codex.h"

#include "base/text.h"
#include "policy/loader.h"

enum { ALTERNATIVES_MAX = 64 };

struct writing_out {
    struct loader *loader;
    const struct place *above; /* the entry */
    struct codex_entries *entries;
    const char *shown;
    size_t count;
};

static void refuse(const struct writing_out *out, const char *why)
{
    struct place place = {.parent = out->above, .name = "pattern"};

    loader_problem(out->loader, &place, "found %s; %s", out->shown, why);
}

static bool add(struct writing_out *out, struct slice text)
{
    struct loader *loader = out->loader;
    struct origin origin = loader_origin(loader, out->above);
    struct path_rule rule = {
        .list = LIST_RULES, .access = ACCESS_NONE, .text = text, .expanded = true, .no_links = true, .origin = origin};

    if (!pattern_parse(loader->arena, text, false, &rule.pattern, &loader->reason)) {
        refuse(out, loader->reason.text);
        return false;
    }
    if (rule.pattern.literal) {
        codex_entry_add(loader, out->entries, (struct codex_entry){rule.pattern.text, CODEX_DENY, origin});
        return true;
    }
    if (rule.pattern.fixed.len <= 1) {
        refuse(out, "that is a pattern over the whole system: begin it with a directory");
        return false;
    }
    policy_add_path(loader->policy, rule);
    return true;
}

/* Where the group ends that begins at `open`; its length if it does not. */
static size_t group_end(struct slice text, size_t open)
{
    size_t depth = 0;

    for (size_t i = open; i < text.len; i++) {
        depth += text.ptr[i] == '{';
        if (text.ptr[i] == '}' && --depth == 0)
            return i;
    }
    return text.len;
}

/* Each alternative of the first group in turn, with what is before and behind it. */
static bool write_out(struct writing_out *out, struct slice text)
{
    size_t open = slice_find(text, '{');
    size_t close = group_end(text, open);
    size_t depth = 0;
    size_t begin = open + 1;

    if (out->count > ALTERNATIVES_MAX)
        return true;
    if (open == text.len) {
        if (++out->count <= ALTERNATIVES_MAX)
            return add(out, text);
        refuse(out, "it has too many alternatives: name a directory instead");
        return false;
    }
    if (close == text.len) {
        refuse(out, "a brace in it is not closed");
        return false;
    }
    for (size_t i = open + 1; i <= close; i++) {
        char byte = text.ptr[i];
        if (depth == 0 && (byte == ',' || i == close)) {
            struct text one = text_in(out->loader->arena);
            text_append(&one, (struct slice){text.ptr, open});
            text_append(&one, (struct slice){text.ptr + begin, i - begin});
            text_append(&one, slice_from(text, close + 1));
            if (!write_out(out, text_slice(&one)))
                return false;
            begin = i + 1;
        } else if (byte == '{') {
            depth++;
        } else if (byte == '}') {
            depth--;
        }
    }
    return true;
}

void codex_pattern(struct loader *loader, const struct place *above, const json_t *value, enum codex_access access,
                   struct codex_entries *entries)
{
    struct writing_out out = {.loader = loader, .above = above, .entries = entries};
    struct place place = {.parent = above, .name = "pattern"};
    struct slice text;

    if (!value) {
        loader_problem(loader, &place, "found nothing; an absolute pattern is expected");
        return;
    }
    if (!value_text(loader, &place, value, "an absolute pattern", &text))
        return;
    out.shown = value_words(loader->arena, value);
    if (access != CODEX_DENY)
        loader_problem(loader, above, "a pattern can only be denied: name the paths that are to be read or written");
    else if (text.ptr[0] != '/' || text.len > PATTERN_TEXT_MAX)
        refuse(&out, "an absolute pattern of reasonable length is expected");
    else if (slice_find(text, '\\') < text.len)
        refuse(&out, "a backslash is not understood in patterns: put the byte behind it into brackets");
    else
        write_out(&out, arena_slice(loader->arena, text));
}
