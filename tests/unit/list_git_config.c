/* For tests/system/test_git_config_reading.py: what cloche reads in each of the
 * files named, as `git config --list -z` prints it; a line "refused" instead where
 * it is not read. A line of its own ends each. */
#include "policy/git_config.h"

#include <stdio.h>

static struct slice content_of(const char *path, struct arena *arena)
{
    char *bytes = arena_alloc(arena, GIT_CONFIG_SIZE_MAX + 2);
    FILE *file = fopen(path, "rb");
    size_t length = file ? fread(bytes, 1, GIT_CONFIG_SIZE_MAX + 1, file) : 0;

    if (file)
        fclose(file);
    return (struct slice){bytes, length};
}

static void print(struct slice text)
{
    fwrite(text.ptr, 1, text.len, stdout);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        ARENA_CLEANUP struct arena arena = {0};
        struct git_config config;
        struct error err;
        if (!git_config_read(&arena, content_of(argv[i], &arena), &config, &err)) {
            fputs("refused", stdout);
            config.count = 0;
        }
        for (size_t j = 0; j < config.count; j++) {
            const struct git_config_entry *entry = &config.entries[j];
            print(entry->name);
            if (entry->has_value) {
                putchar('\n');
                print(entry->value);
            }
            putchar('\0');
        }
        fputs("\033\n", stdout);
    }
    return 0;
}
