/* Git's configuration: what is read is read again in the same way when it is
 * written out, and a judgement is the same for everybody who asks. That git reads
 * the same is tests/system/test_git_config_reading.py's matter. */
#include "base/text.h"
#include "policy/git_config.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* As git writes it. */
static void write_entry(struct text *out, const struct git_config_entry *entry)
{
    text_append_byte(out, '[');
    text_append(out, entry->section);
    if (entry->subsection.len) {
        text_append_string(out, " \"");
        text_append(out, entry->subsection);
        text_append_byte(out, '"');
    }
    text_append_string(out, "]\n\t");
    text_append(out, entry->key);
    if (entry->has_value)
        text_append_string(out, " = \"");
    for (size_t i = 0; i < entry->value.len; i++) {
        char byte = entry->value.ptr[i];
        if (byte == '"' || byte == '\\')
            text_append_byte(out, '\\');
        if (byte == '\n' || byte == '\t')
            text_append_string(out, byte == '\n' ? "\\n" : "\\t");
        else
            text_append_byte(out, byte);
    }
    text_append_string(out, entry->has_value ? "\"\n" : "\n");
}

static void check_reading(struct arena *arena, struct slice content)
{
    struct git_config config;
    struct git_config again;
    struct error err = {""};
    struct text out = text_in(arena);

    if (!git_config_read(arena, content, &config, &err)) {
        require(err.text[0] != '\0');
        return;
    }
    for (size_t i = 0; i < config.count; i++)
        write_entry(&out, &config.entries[i]);
    if (!git_config_read(arena, text_slice(&out), &again, &err))
        return require(out.len > GIT_CONFIG_LINE_MAX); /* escapes made a line or the whole too long */
    require(again.count == config.count);
    for (size_t i = 0; i < config.count; i++) {
        require(slice_equal(config.entries[i].name, again.entries[i].name));
        require(slice_equal(config.entries[i].value, again.entries[i].value));
        require(config.entries[i].has_value == again.entries[i].has_value);
    }
}

/* The two sides of a change are parted by a NUL. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ARENA_CLEANUP struct arena arena = {0};
    struct slice whole = {(const char *)data, size};
    struct slice now = {whole.ptr, slice_find(whole, '\0')};
    struct slice next = slice_from(whole, now.len < whole.len ? now.len + 1 : now.len);
    struct git_config_verdict verdict;
    struct git_config config;

    check_reading(&arena, now);
    check_reading(&arena, next);
    git_config_judge(&arena, now, next, &verdict);
    require(verdict.refused.count == 0 || verdict.told.count == 0);
    for (size_t i = 0; i < verdict.refused.count; i++)
        require(verdict.refused.items[i].words && verdict.refused.items[i].words[0]);
    if (verdict.refused.count == 0) {
        /* None of these has ever been in an allowed change. */
        require(git_config_read(&arena, next, &config, NULL));
        for (size_t i = 0; i < config.count; i++)
            require(!slice_is(config.entries[i].section, "include") &&
                    !slice_is(config.entries[i].section, "includeif"));
    }
    return 0;
}
