/* Where a run happens, asked of this process: project, home, user, host. */
#ifndef CLOCHE_POLICY_AROUND_H
#define CLOCHE_POLICY_AROUND_H

#include "base/error.h"
#include "policy/model.h"

/* The project is `project_option` if given, else $CLOCHE_PROJECT, else the
 * current directory. Under the name `cloche`, $HOME and what lies above it are
 * the project only when `project_option` says so (promise 1); commands that run
 * nothing may pass ".". The home is $HOME, else what /etc/passwd says.
 * `environment` and `command` are kept, not copied. */
bool surroundings_gather(struct arena *arena, enum personality personality, const char *project_option,
                         char *const *environment, char *const *command, struct surroundings *around,
                         struct error *err);

/* As above; `project_variable` (the preset opencode has PROJECT_DIR) names the
 * project where neither the option nor $CLOCHE_PROJECT does. */
bool surroundings_gather_with(struct arena *arena, enum personality personality, const char *project_option,
                              const char *project_variable, char *const *environment, char *const *command,
                              struct surroundings *around, struct error *err);

/* One line of /etc/passwd's text: name and home of `uid`. False if it has none. */
bool passwd_find(struct slice passwd, unsigned uid, struct slice *name, struct slice *home);

#endif
