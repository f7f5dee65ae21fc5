/* The descriptors the caller hands over, in a form that gives no more than what
 * they were opened for. Private to this room. */
#ifndef CLOCHE_JAIL_HANDED_H
#define CLOCHE_JAIL_HANDED_H

#include "base/error.h"

#include <stddef.h>
#include <sys/types.h>

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

/* The same for another one: `*again` is what the command is to have in its place. False: it is no such file, or
 * cannot be opened again, and stays as it is. */
bool handed_open_again(int fd, int *again);

/* In pid 1, at the end: the caller finds its files where the command left off. */
void handed_give_back(const struct handed *handed);
void handed_give_back_one(int given, int original);

/* In the command's process, in the new tree: terminals and other devices. */
void handed_replace_devices(void);
void handed_replace_device(int fd); /* the same for another one */

/* /dev/null and its like, which give nothing of the host's. NULL: it is none of them. */
const char *handed_name_of_memory_device(dev_t device);

/* May the command be given this descriptor of the caller's? `name` is what messages call it. Of one that the caller
 * named, and did not just have as a standard one, more is asked. */
enum handed_as { HANDED_AS_STANDARD, HANDED_BY_NAME };
bool handed_check(int fd, const char *name, enum handed_as as, bool host_network, struct error *err);

#endif
