/* Where a log is by default, and where what is made of it goes. */
#ifndef CLOCHE_CLI_LOG_OUTPUT_H
#define CLOCHE_CLI_LOG_OUTPUT_H

#include "base/error.h"
#include "policy/model.h"
#include "watch/log_table.h"

/* Where a run here would write its log: violationLogPath of the policy, or in the
 * state directory. */
const char *log_default_path(struct arena *arena, const struct surroundings *around);

/* As wide as the terminal on standard output, in colours if it is one and NO_COLOR
 * does not say otherwise. */
struct log_table log_output_table(struct arena *arena, const struct surroundings *around);

/* Makes or replaces a file that only its owner can read: it tells what is where in
 * a home. */
bool log_output_write(const char *path, struct slice content, struct error *err);

#endif
