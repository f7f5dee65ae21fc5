/* How wide text is on a terminal, and how to make it fit. The text must be one
 * that a terminal may see (see text.h). */
#ifndef CLOCHE_BASE_COLUMNS_H
#define CLOCHE_BASE_COLUMNS_H

#include "base/text.h"

/* Columns: wide East Asian characters and emoji count two, combining marks none. */
size_t columns_of(struct slice text);

/* Appends the text in at most `columns`; what is too long loses its middle, where
 * the least is told by a path. */
void columns_append_cut(struct text *out, struct slice text, size_t columns);

/* As above, then spaces up to that width. */
void columns_append_padded(struct text *out, struct slice text, size_t columns);

#endif
