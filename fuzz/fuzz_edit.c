/* A policy with one entry more is the same policy with one entry more: edit_add
 * compares by itself, and what it cannot keep it must refuse. What it gives must also be one to
 * which another can be added. */
#include "policy/edit.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct slice text = {(const char *)data, size};
    struct slice once;
    struct slice twice;
    struct error err;

    if (!edit_add(&arena, text, "FILE", "filesystem", "allowWrite", SLICE("/x\"]"), &once, &err))
        return 0;
    if (!edit_add(&arena, once, "FILE", "filesystem", "allowWrite", SLICE("/y"), &twice, &err))
        abort();
    edit_difference(&arena, text, once);
    return 0;
}
