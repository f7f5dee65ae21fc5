/* Git's index: nothing is read beyond its end, and the name that a judgement ends with is
 * as the judgement says. */
#include "policy/git_index.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void judge(struct slice content, size_t hash_length)
{
    struct git_index_verdict verdict;

    git_index_judge(content, hash_length, &verdict);
    require(verdict.length <= sizeof verdict.name);
    struct slice name = {verdict.name, verdict.length};
    if (name.len)
        require(verdict.refused ? !git_index_name_is_safe(name, false) : git_index_name_is_safe(name, true));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Exactly as long as it is, so that a byte too far is seen. */
    char *copy = malloc(size ? size : 1);

    require(copy);
    if (size)
        memcpy(copy, data, size);
    judge((struct slice){copy, size}, GIT_INDEX_HASH_SHA1);
    judge((struct slice){copy, size}, GIT_INDEX_HASH_SHA256);
    free(copy);
    return 0;
}
