/* The descriptors the caller hands over, in a form that gives no more than what
 * they were opened for. Private to this room. */
#ifndef CLOCHE_JAIL_HANDED_H
#define CLOCHE_JAIL_HANDED_H

#include <stddef.h>

enum { HANDED_MAX = 3 };

/* Files whose place in the file is to be given back at the end. */
struct handed {
    int original[HANDED_MAX];
    int given[HANDED_MAX];
    size_t count;
};

/* In pid 1, while the tree is still the host's: standard descriptors that are
 * files opened for reading are replaced. The originals stay open, at the numbers
 * from `first` on, which must be free. */
void handed_replace_files(struct handed *handed, int first);

/* In pid 1, at the end: the caller finds its files where the command left off. */
void handed_give_back(const struct handed *handed);

/* In the command's process, in the new tree: terminals and other devices. */
void handed_replace_devices(void);

#endif
