/* Control messages, as sendmsg(2) takes them: hostile bytes. Private to this room. */
#ifndef CLOCHE_DOORMAN_CONTROL_H
#define CLOCHE_DOORMAN_CONTROL_H

#include <stddef.h>

struct control_message {
    int level;
    int type;
    unsigned char *data;
    size_t size;
};

enum control_step { CONTROL_MESSAGE, CONTROL_END, CONTROL_MALFORMED };

/* Walks as the kernel does, so that it finds nothing we did not see. `at` is 0 at
 * first. */
enum control_step control_next(unsigned char *control, size_t size, size_t *at, struct control_message *message);

#endif
