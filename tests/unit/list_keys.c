/* Prints the table of keys, one JSON object a line, so that the test of the
 * schema can hold the two against each other. */
#include "policy/keys.h"

#include <stdio.h>

static const char *type_name(enum key_type type)
{
    switch (type) {
    case KEY_OBJECT:
        return "object";
    case KEY_OBJECTS:
        return "objects";
    case KEY_MAP:
        return "map";
    case KEY_BOOLEAN:
        return "boolean";
    case KEY_WORD:
        return "word";
    case KEY_INTEGER:
        return "integer";
    case KEY_SIZE:
        return "size";
    case KEY_TEXT:
        return "text";
    case KEY_TEXTS:
    case KEY_NAMES:
    case KEY_FILES:
    case KEY_HOSTS:
        return "texts";
    case KEY_PATHS:
        return "paths";
    case KEY_PORTS:
        return "ports";
    case KEY_EXTENDS:
        return "extends";
    case KEY_ANY:
        return "any";
    case KEY_CODE:
        return "code";
    }
    return "";
}

static void print_key(void *argument, const char *path, const struct key *key)
{
    (void)argument;
    printf("{\"path\": \"%s\", \"type\": \"%s\", \"required\": %s", path, type_name(key->type),
           key->flags & KEY_REQUIRED ? "true" : "false");
    if (key->type == KEY_INTEGER)
        printf(", \"least\": %lld, \"most\": %lld", (long long)key->least, (long long)key->most);
    if (key->type == KEY_WORD) {
        printf(", \"words\": [");
        for (size_t i = 0; key->words[i]; i++)
            printf("%s\"%s\"", i ? ", " : "", key->words[i]);
        printf("]");
    }
    printf("}\n");
}

int main(void)
{
    struct arena arena ARENA_CLEANUP = {0};

    keys_each(&arena, print_key, NULL);
    return 0;
}
