/* The help texts, one per subcommand, short enough for one screen; the manual
 * pages say the rest. */
#include "cli/help.h"

#include <stddef.h>
#include <string.h>

static const char general[] = "Put a command under glass: it sees and touches only what you let it.\n"
                              "\n"
                              "Usage: cloche COMMAND [OPTIONS] ...\n"
                              "\n"
                              "  run       run a command under a policy\n"
                              "  explain   may it read, write, connect? which rule says so, what holds it?\n"
                              "  check     validate policy files\n"
                              "  presets   list the built-in policies, or print one\n"
                              "  init      write a starter policy for this project\n"
                              "  trust     let a project's own policy count\n"
                              "  doctor    what this host can enforce, and how to get what is missing\n"
                              "  learn     run a command, watch it, and write the policy it needs\n"
                              "  log       what was denied, when, by which rule; as a page for a browser, too\n"
                              "  annotate  a command's error output with what was denied, for a model to read\n"
                              "  import    make a policy of settings of Claude Code or Codex, or of a bwrap line\n"
                              "  session   hold a /tmp that several runs share\n"
                              "  help      this, or the options of a command\n"
                              "\n"
                              "  cloche COMMAND --help     options of a command\n"
                              "  cloche --version\n"
                              "\n"
                              "Without a policy the system and the project can be read, only the project\n"
                              "can be written, secrets are hidden and there is no network.\n";

/* Options of run and explain; printed by both. */
static const char policy_options[] = "Policy:\n"
                                     "  -s, --settings FILE       policy file; repeatable, later ones are merged\n"
                                     "                            over earlier ones; or the policy itself: '{...}';\n"
                                     "                            codex:FILE for one of Codex's\n"
                                     "  -p, --preset NAME         built-in policy (see cloche presets)\n"
                                     "  -C, --project DIR         the project (default: $CLOCHE_PROJECT, else the\n"
                                     "                            current directory)\n"
                                     "\n"
                                     "Added to the policy, repeatable (paths are relative to the project):\n"
                                     "  --allow-read PATH         --deny-read PATH\n"
                                     "  --allow-write PATH        --deny-write PATH\n"
                                     "  --allow-domain PATTERN    --deny-domain PATTERN\n"
                                     "                            example.com, *.example.com:443, 10.0.0.0/8\n"
                                     "  --allow-unix PATH         a socket of the host; @name: an abstract one\n"
                                     "  --env NAME[=VALUE]        pass a variable by name, or set it\n"
                                     "  --host-port PORT          a port of the host's loopback, reachable inside\n"
                                     "  --publish PORT            a port inside, reachable on the host's loopback\n"
                                     "  --device PATH             a device below /dev\n"
                                     "\n"
                                     "Limits:\n"
                                     "  --timeout TIME            end it after 90 (seconds), 10m, 1h\n"
                                     "  --memory SIZE             of the whole run: 512M, 2G\n"
                                     "  --pids COUNT              processes and threads of the whole run\n"
                                     "\n"
                                     "Enforcement:\n"
                                     "  --backend NAME            auto, namespaces, landlock (weaker)\n"
                                     "  --allow-degraded TOKEN    accept a weaker mode by name: late-names,\n"
                                     "                            protected-names, metadata, truncate\n"
                                     "  --ask                     ask at the terminal about what nothing allows\n"
                                     "  --control-fd N            take new lists of hosts from this descriptor\n"
                                     "  --lifeline-fd N           end the run when the other end of this pipe is gone\n"
                                     "  --pass-fd N               give the command this descriptor, too; repeatable\n"
                                     "  --session-fd N            a socket: events, questions and lists of hosts\n"
                                     "  --session-tmp PATH        the /tmp of a session, as cloche session says it\n"
                                     "  --events FILE|fd:N        what was refused or connected to, as JSON lines\n"
                                     "\n";

static const char run[] = "Run a command under a policy.\n"
                          "\n"
                          "Usage: cloche run [OPTIONS] [--] COMMAND [ARG...]\n"
                          "       cloche run [OPTIONS] -c 'SHELL TEXT'\n"
                          "\n"
                          "Options end at the first word that is not one.\n"
                          "\n";

static const char run_tail[] = "  -q, --quiet               errors only\n"
                               "  -v, --verbose             say what is done\n"
                               "\n"
                               "Ends with the command's status, 128+n if signal n killed it, 125 if cloche\n"
                               "refused, 126 if the command cannot be executed, 127 if it is not found.\n";

static const char explain[] = "Say what a run with these options may do, and why.\n"
                              "\n"
                              "Usage: cloche explain [OPTIONS] [QUESTION...] [-- COMMAND [ARG...]]\n"
                              "\n"
                              "  read:PATH  write:PATH     may this be read, written?\n"
                              "  PATH                      both\n"
                              "  net:HOST[:PORT]           may it connect there?\n"
                              "  unix:PATH                 may it connect to this socket of the host?\n"
                              "  env:NAME                  is this variable passed on?\n"
                              "  (none)                    the whole plan: files, network, environment, locks\n"
                              "\n"
                              "COMMAND is not run: it is for policies whose rules depend on it.\n"
                              "\n";

static const char explain_tail[] = "  --json                    one JSON object instead of lines\n"
                                   "  --bwrap                   the nearest command line of bubblewrap, and what it\n"
                                   "                            cannot express\n"
                                   "\n"
                                   "\"unheld\": the policy refuses it, but no lock holds that yet.\n"
                                   "Ends with 0 if all of it is allowed, 1 if not, 125 without a valid policy.\n";

static const char check[] = "Validate policy files: every problem with its place in the file.\n"
                            "\n"
                            "Usage: cloche check FILE...\n"
                            "\n"
                            "FILE may be preset:NAME. Also lists what a run refuses as not enforced yet.\n"
                            "Ends with 0 if all files are valid, 1 if not, 2 if called wrongly. What a valid\n"
                            "file means on this host: cloche explain -s FILE.\n";

static const char presets[] = "List the built-in policies, or print one.\n"
                              "\n"
                              "Usage: cloche presets [NAME]\n"
                              "\n"
                              "A policy file extends one with \"extends\": [\"preset:NAME\"].\n";

static const char init[] = "Write a starter policy, .cloche.json, into the current directory.\n"
                           "\n"
                           "Usage: cloche init [--preset NAME]\n"
                           "\n"
                           "  -p, --preset NAME         what it extends (default: dev)\n"
                           "\n"
                           "A file that is already there is never overwritten.\n";

static const char trust[] = "Let a project's own policy count.\n"
                            "\n"
                            "Usage: cloche trust [--revoke | --status] [FILE]\n"
                            "\n"
                            "FILE is the project's .cloche.json by default. Trust is in the content of the\n"
                            "file and of all it extends: a change in any of them ends it.\n"
                            "\n"
                            "  --revoke                  trust it no longer\n"
                            "  --status                  is it trusted? ends with 0 if so, 1 if not\n";

static const char doctor[] = "Say what this host can enforce, what is missing and how to get it.\n"
                             "\n"
                             "Usage: cloche doctor [--json]\n"
                             "\n"
                             "Ends with 0 if the default policy can be enforced in full, 1 if only in part,\n"
                             "2 if no run is possible.\n";

static const char log_page[] = "Say what was denied, when, by which rule, and what would allow it.\n"
                               "\n"
                               "Usage: cloche log [OPTIONS] [FILE]\n"
                               "\n"
                               "FILE is ~/.local/state/cloche/violations.jsonl by default; what was rotated away\n"
                               "to FILE.1 ... is read, too.\n"
                               "\n"
                               "Which events:\n"
                               "  --since TIME              30m, 2h, 3d before now; 2026-11-15, \"2026-11-15 08:30\"\n"
                               "  --until TIME              or 08:30 in local time; 2026-11-15T08:30:00Z\n"
                               "  -C, --project DIR         of runs in this directory or below it\n"
                               "  --command TEXT            of runs whose command line has this in it\n"
                               "  --run ID                  of this run; the first digits will do\n"
                               "  --kind KIND[,KIND...]     fs.read, fs.write, net.connect, net.dns, unix.connect,\n"
                               "                            syscall, limit, exec.later, run; fs, net for all of them\n"
                               "  --denied                  denials only; without it also what would run later\n"
                               "  --all                     what was allowed or observed, too\n"
                               "\n"
                               "How:\n"
                               "  -f, --follow              wait for more, from now on (or from --since)\n"
                               "  --json                    the lines as they stand, one JSON object each\n"
                               "  --html FILE               one run, the last by default, as a page (- for stdout)\n"
                               "  --verify                  is the chain of violation.chain unbroken?\n"
                               "\n"
                               "Ends with 0, with 1 if something could not be read or the chain is broken.\n";

static const char annotate[] = "Append what was denied to a command's error output, for a model to read.\n"
                               "\n"
                               "Usage: cloche annotate --events FILE | --run ID < TEXT\n"
                               "\n"
                               "  --events FILE             what cloche run --events FILE wrote\n"
                               "  --run ID                  what the log says of this run\n"
                               "\n"
                               "The text is copied to standard output. If anything was denied, a block of lines\n"
                               "between <sandbox_violations> and </sandbox_violations> follows, with what would\n"
                               "allow each. These tags are taken out of the text itself: they cannot be forged.\n";

static const char import[] = "Make a policy of the settings of another program.\n"
                             "\n"
                             "Usage: cloche import [--from KIND] FILE\n"
                             "       cloche import -- bwrap ARGUMENT...\n"
                             "\n"
                             "  --from KIND               claude (settings.json), codex (config.toml), bwrap;\n"
                             "                            without it the name tells\n"
                             "\n"
                             "The policy goes to standard output. What could not be carried over is said, and\n"
                             "stands in the policy as comments. Nothing is run, and nothing else is read.\n";

static const char session[] = "Hold a /tmp that several runs share: it is gone when this ends.\n"
                              "\n"
                              "Usage: cloche session [--fd N] [OPTIONS]\n"
                              "\n"
                              "Prints a path for run --session-tmp, and ends when its standard input does:\n"
                              "\n"
                              "  coproc cloche session; read -r tmp <&${COPROC[0]}\n"
                              "  cloche run --session-tmp $tmp -- COMMAND\n"
                              "\n"
                              "  --fd N                    hand it over as a descriptor through this socket and\n"
                              "                            end at once: who has the descriptor holds it\n"
                              "\n"
                              "Options are those of run, of which limits.memory bounds it. A policy whose tmp is\n"
                              "\"private\" or \"host\" does not use it.\n";

static const char learn[] = "Run a command, watch it, and write the policy it needs.\n"
                            "\n"
                            "Usage: cloche learn [-o FILE] [OPTIONS] [--] COMMAND [ARG...]\n"
                            "\n"
                            "  -o, --output FILE         where the policy goes; without it, to standard error.\n"
                            "                            An existing file is left alone\n"
                            "\n"
                            "What it does in the project stays. It sees the home but for secrets, and what it\n"
                            "writes there is discarded; it reaches every host, through the filter. Secrets and\n"
                            "protected names are refused as ever. The policy extends preset:dev, or what -s and\n"
                            "-p name.\n"
                            "\n"
                            "Options are those of run; of these:\n";

struct page {
    const char *command;
    const char *parts[3];
};

static const struct page pages[] = {
    {"run", {run, policy_options, run_tail}},
    {"explain", {explain, policy_options, explain_tail}},
    {"check", {check}},
    {"presets", {presets}},
    {"init", {init}},
    {"trust", {trust}},
    {"doctor", {doctor}},
    {"learn", {learn, policy_options, run_tail}},
    {"log", {log_page}},
    {"annotate", {annotate}},
    {"import", {import}},
    {"session", {session}},
};

void help_print_general(FILE *to)
{
    fputs(general, to);
}

bool help_print(const char *command)
{
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        if (strcmp(pages[i].command, command) != 0)
            continue;
        for (size_t part = 0; part < 3 && pages[i].parts[part]; part++)
            fputs(pages[i].parts[part], stdout);
        return true;
    }
    return false;
}

bool help_wanted(const char *word)
{
    return strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0;
}
