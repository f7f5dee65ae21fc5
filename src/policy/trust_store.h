/* Where trust is written down: one small file per trusted policy, below the
 * user's state directory. Used by trust.c only. */
#ifndef CLOCHE_POLICY_TRUST_STORE_H
#define CLOCHE_POLICY_TRUST_STORE_H

#include "base/error.h"
#include "policy/model.h"

enum { TRUST_DIGEST_TEXT = 65 }; /* SHA-256 in hexadecimal, and NUL */

/* `key` names the record, `digest` is what it says; `path` is for people who
 * look into the file. */
bool trust_store_write(struct arena *arena, const struct surroundings *around, const char key[TRUST_DIGEST_TEXT],
                       const char digest[TRUST_DIGEST_TEXT], struct slice path, struct error *err);

/* `*present` is false when there is no such record. */
bool trust_store_read(struct arena *arena, const struct surroundings *around, const char key[TRUST_DIGEST_TEXT],
                      char digest[TRUST_DIGEST_TEXT], bool *present, struct error *err);

/* No record to remove is no error. */
bool trust_store_remove(struct arena *arena, const struct surroundings *around, const char key[TRUST_DIGEST_TEXT],
                        struct error *err);

#endif
