/* cloche presets: the built-in policies, listed or printed with their comments. */
#include "policy/preset.h"

#include "base/log.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/preset_name.h"

#include <stdio.h>
#include <string.h>

static void list(void)
{
    int width = 0;

    for (size_t i = 0; i < preset_count; i++)
        if ((int)strlen(presets[i].name) > width)
            width = (int)strlen(presets[i].name);
    for (size_t i = 0; i < preset_count; i++)
        printf("%-*s  %s\n", width, presets[i].name, presets[i].summary);
}

int command_presets(int argc, char **argv)
{
    struct arguments arguments;

    if (!arguments_parse("presets", argc, argv, NULL, 0, &arguments))
        return arguments.status;
    if (arguments.word_count > 1) {
        log_error("presets: one name at a time; see cloche presets --help");
        return STATUS_USAGE;
    }
    if (arguments.word_count == 0) {
        list();
        return STATUS_OK;
    }

    const struct preset *preset = preset_named(arguments.words[0]);
    if (!preset)
        return STATUS_NO;
    fwrite(preset->text.ptr, 1, preset->text.len, stdout);
    return STATUS_OK;
}
