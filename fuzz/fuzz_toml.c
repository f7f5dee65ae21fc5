/* TOML, and what is imported from it. What is taken is JSON that can be written and
 * read again, and the policy made of it, too. */
#include "base/toml.h"
#include "policy/import.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena ARENA_CLEANUP = {0};
    JSON_CLEANUP json_t *config = NULL;
    struct error err;

    if (!toml_parse((struct slice){(const char *)data, size}, "fuzz", &config, &err)) {
        require(err.text[0] && !config);
        return 0;
    }
    struct import import IMPORT_CLEANUP = import_begin(&arena, "base");
    if (import_codex(&import, config, &err)) {
        JSON_CLEANUP json_t *again = NULL;
        require(json_parse(slice_of(import_text(&import, "fuzz")), "made", &again, &err));
        require(json_equal(again, import.policy));
    }
    struct import other IMPORT_CLEANUP = import_begin(&arena, "base");
    if (import_claude(&other, config, &err)) {
        JSON_CLEANUP json_t *again = NULL;
        require(json_parse(slice_of(import_text(&other, "fuzz")), "made", &again, &err));
    }
    return 0;
}
