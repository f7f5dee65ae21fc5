/* A settings file as an attacker writes it: the first byte chooses whether the
 * rest is a whole file or one string in the places with a grammar of their own.
 * Every refusal must be words fit for a terminal, and printing must not fail. */
#include "policy/srt.h"

#include "base/json.h"
#include "policy/load.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void append_string(struct text *out, const char *before, struct slice value)
{
    text_append_string(out, before);
    text_append_json(out, value);
}

static struct slice settings_around(struct arena *arena, struct slice value)
{
    struct text out = text_in(arena);

    append_string(&out, "{\"network\":{\"tlsTerminate\":{\"excludeDomains\":[\"a.b\"]},\"allowedDomains\":[", value);
    append_string(&out, "],\"deniedDomains\":[", value);
    append_string(&out, "],\"deniedResolvedAddresses\":[", value);
    append_string(&out, "],\"parentProxy\":{\"http\":", value);
    append_string(&out, "}},\"filesystem\":{\"allowWrite\":[],\"denyWrite\":[],\"denyRead\":[", value);
    append_string(&out, "]},\"credentials\":{\"files\":[{\"mode\":\"mask\",\"path\":", value);
    append_string(&out, ",\"extract\":", value);
    append_string(&out, ",\"injectHosts\":[", value);
    text_append_string(&out, "]}]}}");
    return text_slice(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct problems problems = {.arena = &arena};
    struct text out = text_in(&arena);
    json_t *root JSON_CLEANUP = NULL;
    struct error err;

    if (size == 0)
        return 0;
    struct slice rest = {(const char *)data + 1, size - 1};
    struct slice settings = data[0] & 1 ? settings_around(&arena, rest) : rest;
    if (!json_parse(settings, "settings", &root, &err))
        return 0;
    srt_check(root, "settings", &problems);
    srt_print_problems(&problems, &out);
    require((problems.count > 0) == (out.len > 0));
    for (size_t i = 0; i < out.len; i++)
        require((unsigned char)out.ptr[i] >= 0x20 || out.ptr[i] == '\n');
    return 0;
}
