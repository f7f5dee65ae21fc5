/* Chooses the personality by the name the program was called by, then the
 * subcommand. */
#include "base/arena.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "policy/problems.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct subcommand {
    const char *name;
    int (*run)(int argc, char **argv);
};

static int command_help(int argc, char **argv);

static const struct subcommand subcommands[] = {
    {"run", command_run},   {"explain", command_explain},   {"check", command_check},   {"presets", command_presets},
    {"init", command_init}, {"trust", command_trust},       {"doctor", command_doctor}, {"learn", command_learn},
    {"log", command_log},   {"annotate", command_annotate}, {"import", command_import}, {"session", command_session},
    {"srt", srt_main},      {"help", command_help},
};

enum { SUBCOMMAND_COUNT = sizeof subcommands / sizeof *subcommands };

static const struct subcommand *subcommand_find(const char *name)
{
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
        if (strcmp(subcommands[i].name, name) == 0)
            return &subcommands[i];
    return NULL;
}

static int refuse_unknown(const char *word)
{
    const char *names[SUBCOMMAND_COUNT + 1];
    struct arena arena ARENA_CLEANUP = {0};
    char *shown = escaped(&arena, slice_of(word));

    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
        names[i] = subcommands[i].name;
    names[SUBCOMMAND_COUNT] = NULL;

    const char *near = did_you_mean(slice_of(word), names);
    if (near)
        log_error("\"%s\" is not a command of cloche; did you mean \"%s\"?", shown, near);
    else if (word[0] == '-')
        log_error(
            "unknown option \"%s\"; options come after the command: cloche run [OPTIONS] COMMAND; see cloche --help",
            shown);
    else
        log_error("\"%s\" is not a command of cloche; to run it: cloche run %s ...; see cloche --help", shown, shown);
    return STATUS_REFUSED;
}

static int command_help(int argc, char **argv)
{
    if (argc < 2 || help_wanted(argv[1]) || strcmp(argv[1], "help") == 0) {
        help_print_general(stdout);
        return STATUS_OK;
    }
    return help_print(argv[1]) ? STATUS_OK : refuse_unknown(argv[1]);
}

static int cloche_main(int argc, char **argv)
{
    if (argc < 2) {
        help_print_general(stderr);
        return STATUS_REFUSED;
    }

    const char *word = argv[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0 || strcmp(word, "version") == 0) {
        puts("cloche " CLOCHE_VERSION);
        return STATUS_OK;
    }
    if (help_wanted(word))
        return command_help(0, NULL);

    const struct subcommand *chosen = subcommand_find(word);
    if (!chosen)
        return refuse_unknown(word);
    return chosen->run(argc - 1, argv + 1);
}

static int personality_main(int argc, char **argv)
{
    /* execve allows an empty argv. */
    const char *name = argc > 0 ? argv[0] : "cloche";
    const char *slash = strrchr(name, '/');

    if (slash)
        name = slash + 1;
    if (strcmp(name, "srt") == 0)
        return srt_main(argc, argv);
    if (strcmp(name, "codex-linux-sandbox") == 0)
        return codex_main(argc, argv);
    return cloche_main(argc, argv);
}

/* The heap in one piece that is never given back before the end: a run lives for
 * a moment, and each change of its size is a system call. */
static void prepare_heap(void)
{
    enum { HEAP_STEP = 1024 * 1024, HEAP_KEPT = 64 * 1024 * 1024 };

    mallopt(M_TOP_PAD, HEAP_STEP);
    mallopt(M_TRIM_THRESHOLD, HEAP_KEPT);
    mallopt(M_MMAP_THRESHOLD, HEAP_STEP);
    json_keep_memory();
}

/* A descriptor of ours must never land where the command expects its own. What
 * was closed stays as useless as it was: each is opened the wrong way round. */
static bool fill_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        /* cppcheck-suppress leakReturnValNotUsed ; it is to stay open */
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    prepare_heap();
    if (!fill_standard_descriptors()) {
        log_error("a standard descriptor is closed, and /dev/null cannot be opened in its place: %s", strerror(errno));
        return STATUS_REFUSED;
    }

    int status = personality_main(argc, argv);

    /* An answer that did not arrive (full disk, closed pipe) is no answer. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        log_error("cannot write to standard output: %s", strerror(errno));
        return STATUS_REFUSED;
    }
    return status;
}
