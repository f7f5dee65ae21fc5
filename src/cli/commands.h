/* The subcommands. Each gets its own name as argv[0] and returns the status the
 * process ends with. */
#ifndef CLOCHE_CLI_COMMANDS_H
#define CLOCHE_CLI_COMMANDS_H

enum {
    STATUS_OK = 0,
    STATUS_NO = 1,         /* denied, not valid, not trusted */
    STATUS_USAGE = 2,      /* check, presets, init, trust, log, annotate, import: called wrongly */
    STATUS_REFUSED = 125,  /* run, explain, doctor: cloche refused or failed before anything was started */
    STATUS_NOT_FOUND = 127 /* run: there is no such command inside, or the command's own status */
};

int command_run(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_check(int argc, char **argv);
int command_presets(int argc, char **argv);
int command_init(int argc, char **argv);
int command_trust(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_learn(int argc, char **argv);
int command_log(int argc, char **argv);
int command_annotate(int argc, char **argv);
int command_import(int argc, char **argv);
int command_session(int argc, char **argv);

/* The personality `srt`: the whole argv of the process. */
int srt_main(int argc, char **argv);
/* The personality `codex-linux-sandbox`, likewise. */
int codex_main(int argc, char **argv);

#endif
