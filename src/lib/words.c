/* Command lines that grow word by word, and policies, which are parts of them. */
#include "lib/handles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool words_add(struct words *words, const char *word, cloche_error **error)
{
    char **grown = realloc(words->items, (words->count + 2) * sizeof *grown);

    if (!grown)
        return fail_memory(error);
    words->items = grown;
    grown[words->count] = strdup(word);
    grown[words->count + 1] = NULL;
    if (!grown[words->count])
        return fail_memory(error);
    words->count++;
    return true;
}

bool words_add_all(struct words *words, const char *const *more, cloche_error **error)
{
    for (; more && *more; more++) {
        if (!words_add(words, *more, error))
            return false;
    }
    return true;
}

void words_free(struct words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->items[i]);
    free(words->items);
    *words = (struct words){0};
}

cloche_policy *cloche_policy_new(cloche_error **error)
{
    cloche_policy *policy = calloc(1, sizeof *policy);

    if (!policy)
        fail_memory(error);
    return policy;
}

void cloche_policy_free(cloche_policy *policy)
{
    if (policy)
        words_free(&policy->options);
    free(policy);
}

static bool add(cloche_policy *policy, const char *option, const char *value, cloche_error **error)
{
    return words_add(&policy->options, option, error) && words_add(&policy->options, value, error);
}

/* Absolute, for a command may be started elsewhere than the policy was made; and
 * so that no name is taken for something else than a file. */
bool cloche_policy_add_file(cloche_policy *policy, const char *path, cloche_error **error)
{
    if (!policy || !path || !*path)
        return fail(error, CLOCHE_ERROR_ARGUMENT, 0, "the name of a policy file is empty");
    if (*path == '/')
        return add(policy, "--settings", path, error);
    char *here = getcwd(NULL, 0);
    char *whole = here ? malloc(strlen(here) + strlen(path) + 2) : NULL;
    if (whole) {
        char *end = stpcpy(whole, here);
        *end = '/';
        memcpy(end + 1, path, strlen(path) + 1);
    }
    bool good = whole ? add(policy, "--settings", whole, error)
                      : fail(error, CLOCHE_ERROR_SYSTEM, errno, "cannot find the policy file %s", path);
    free(whole);
    free(here);
    return good;
}

bool cloche_policy_add_preset(cloche_policy *policy, const char *name, cloche_error **error)
{
    if (!policy || !name || !*name)
        return fail(error, CLOCHE_ERROR_ARGUMENT, 0, "the name of a preset is empty");
    return add(policy, "--preset", name, error);
}

bool cloche_policy_add_json(cloche_policy *policy, const char *text, cloche_error **error)
{
    size_t length = policy && text ? strnlen(text, CLOCHE_JSON_MAX + 1) : 0;

    if (!policy || !text)
        return fail(error, CLOCHE_ERROR_ARGUMENT, 0, "there is no policy text");
    while (length > 0 && strchr(" \t\r\n", *text)) {
        text++;
        length--;
    }
    if (length > CLOCHE_JSON_MAX)
        return fail(error, CLOCHE_ERROR_ARGUMENT, 0,
                    "a policy text of more than %d bytes: put it into a file, and add that", CLOCHE_JSON_MAX);
    if (length == 0 || *text != '{')
        return fail(error, CLOCHE_ERROR_POLICY, 0, "a policy text must be a JSON object: it begins with {");
    return add(policy, "--settings", text, error);
}
