/* cloche init: a starter policy in the current directory. It does not count
 * until somebody trusts it: a file that a program could have left there must not
 * choose what the next run may do. */
#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/preset_name.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const char file_name[] = ".cloche.json";

static const char starter[] = "// What commands run with cloche in this project may do.\n"
                              "//\n"
                              "// It counts once you trust it (cloche trust), and again after every change.\n"
                              "// Ask what it means:  cloche explain          the whole plan\n"
                              "//                     cloche explain /PATH    may this be read, written?\n"
                              "{\n"
                              "  // %s\n"
                              "  \"extends\": [\"preset:%s\"],\n"
                              "\n"
                              "  \"filesystem\": {\n"
                              "    // The project is \".\"; ~ and $HOME work too; *, **, ? and [set] match names.\n"
                              "    \"allowRead\": [],\n"
                              "    \"denyRead\": [],\n"
                              "    \"allowWrite\": [],\n"
                              "    \"denyWrite\": []\n"
                              "  },\n"
                              "\n"
                              "  \"environment\": {\n"
                              "    // Variables that look like secrets are held back unless they are named here.\n"
                              "    \"pass\": [],\n"
                              "    \"set\": {}\n"
                              "  }\n"
                              "}\n";

static int write_starter(const struct preset *preset)
{
    struct arena arena ARENA_CLEANUP = {0};
    const char *content = arena_printf(&arena, starter, preset->summary, preset->name);

    /* O_EXCL: neither a file of the user's nor a link left by somebody else is
     * written through. */
    int fd FD_CLEANUP = open(file_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0 && errno == EEXIST) {
        log_error("%s is there already and was left as it is", file_name);
        return STATUS_NO;
    }
    if (fd < 0) {
        log_error("cannot create %s here: %s", file_name, strerror(errno));
        return STATUS_NO;
    }
    if (!fd_write_all(fd, slice_of(content))) {
        int why = errno;
        unlink(file_name);
        log_error("cannot write %s: %s", file_name, strerror(why));
        return STATUS_NO;
    }
    log_warning("wrote %s, which extends preset:%s; edit it, then let it count: cloche trust", file_name, preset->name);
    return STATUS_OK;
}

int command_init(int argc, char **argv)
{
    struct argument_option options[] = {{.name = "preset", .letter = 'p', .takes_value = true}};
    struct arguments arguments;

    if (!arguments_parse("init", argc, argv, options, 1, &arguments))
        return arguments.status;
    if (arguments.word_count > 0) {
        log_error("init takes no file: it writes %s in the current directory; see cloche init --help", file_name);
        return STATUS_USAGE;
    }
    const struct preset *preset = preset_named(options[0].given ? options[0].value : "dev");
    return preset ? write_starter(preset) : STATUS_NO;
}
