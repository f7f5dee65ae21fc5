/* What srt says about a settings file it refuses. The check itself is
 * srt_check() in load.h. */
#ifndef CLOCHE_POLICY_SRT_H
#define CLOCHE_POLICY_SRT_H

#include "base/text.h"
#include "policy/problems.h"

/* What srt 0.0.83 says of a file it never came to validate. Whoever reads the
 * file adds one of these as the text of a problem with the path "";
 * SRT_NOT_JSON is followed by the parser's words, SRT_UNREADABLE takes the name
 * of an errno. */
#define SRT_MISSING "does not exist."
#define SRT_EMPTY "is empty. Delete it, or put a config in it."
#define SRT_UNREADABLE "could not be read (%s)."
#define SRT_NOT_JSON "is not valid JSON: "

/* Everything that is wrong, in the lines srt prints on stderr before it exits
 * with status 1. Warnings are not said: srt drops unknown keys in silence. */
void srt_print_problems(const struct problems *problems, struct text *out);

#endif
