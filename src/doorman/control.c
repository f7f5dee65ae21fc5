#include "doorman/control.h"

#include <string.h>
#include <sys/socket.h>

enum control_step control_next(unsigned char *control, size_t size, size_t *at, struct control_message *message)
{
    struct cmsghdr head;

    if (*at > size || size - *at < sizeof head)
        return CONTROL_END;
    memcpy(&head, control + *at, sizeof head);
    if (head.cmsg_len < sizeof head || head.cmsg_len > size - *at)
        return CONTROL_MALFORMED;
    *message = (struct control_message){.level = head.cmsg_level,
                                        .type = head.cmsg_type,
                                        .data = control + *at + sizeof head,
                                        .size = head.cmsg_len - sizeof head};
    *at += CMSG_ALIGN(head.cmsg_len);
    return CONTROL_MESSAGE;
}
