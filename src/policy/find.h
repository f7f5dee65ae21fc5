/* Which policy governs a run, and whether a project's own may. */
#ifndef CLOCHE_POLICY_FIND_H
#define CLOCHE_POLICY_FIND_H

#include "policy/load.h"

/* First found: $CLOCHE_POLICY; a trusted .cloche.json in the project;
 * $XDG_CONFIG_HOME/cloche/policy.json; ~/.srt-settings.json; preset:dev.
 * (--settings and --preset come before and are the caller's business.)
 * In the srt personality: ~/.srt-settings.json, else *source is the text of
 * srt's defaults. An untrusted project policy is passed over, and
 * `*passed_over` names it so that the caller can say so. */
bool policy_find(struct arena *arena, const struct surroundings *around, struct policy_source *source,
                 const char **passed_over, struct error *err);

/* The third of these, whether it is there or not. */
const char *policy_users_file(struct arena *arena, const struct surroundings *around);

/* Trust: a digest of the file and of everything it extends, kept under
 * $XDG_STATE_HOME/cloche/trust (default ~/.local/state), one file per policy,
 * mode 0600. Changing any of these files ends the trust. */
bool trust_grant(struct arena *arena, const struct surroundings *around, const char *file, struct error *err);
bool trust_revoke(struct arena *arena, const struct surroundings *around, const char *file, struct error *err);
/* False with an error only when the file cannot be judged; *trusted otherwise. */
bool trust_check(struct arena *arena, const struct surroundings *around, const char *file, bool *trusted,
                 struct error *err);
/* As trust_check; if trusted, `*source` holds the very bytes that were judged. */
bool trust_source(struct arena *arena, const struct surroundings *around, const char *file, bool *trusted,
                  struct policy_source *source, struct error *err);

#endif
