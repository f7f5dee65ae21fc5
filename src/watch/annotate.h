/* What was denied, told to a model behind a command's error output, in the form that
 * srt's library gives it:
 *
 *     <sandbox_violations>
 *     deny openat /etc/x [to allow: --allow-write /etc/x]
 *     </sandbox_violations>
 */
#ifndef CLOCHE_WATCH_ANNOTATE_H
#define CLOCHE_WATCH_ANNOTATE_H

#include "watch/log_entry.h"

/* More would drown the rest of what the model is to read. */
enum { ANNOTATE_LINES_MAX = 100 };

/* Copies text and takes the tags of the block out of it ("<" becomes "&lt;"): a
 * command that prints them could tell of denials that never were. */
struct annotate_text {
    char held[32]; /* what may become a tag */
    size_t held_count;
};

void annotate_append(struct annotate_text *text, struct slice bytes, struct text *out);
void annotate_append_rest(struct annotate_text *text, struct text *out);

/* One line of the block, without its newline. */
void annotate_line(const struct log_entry *entry, struct text *out);

#endif
