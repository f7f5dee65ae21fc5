/* Netlink messages, built in a buffer of fixed size and sent together: what
 * configures a network namespace without any helper program. */
#ifndef CLOCHE_BASE_NETLINK_H
#define CLOCHE_BASE_NETLINK_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NETLINK_BATCH_MAX = 4096 };

struct netlink_batch {
    _Alignas(NLMSG_ALIGNTO) char bytes[NETLINK_BATCH_MAX];
    size_t length;
    struct nlmsghdr *message; /* the one being built */
    bool overflowed;
};

/* A message with its family's own header behind the common one. `step` is its
 * sequence number, by which an answer tells what it is about. */
void netlink_begin(struct netlink_batch *batch, int type, int flags, unsigned step, const void *header, size_t size);
void netlink_end(struct netlink_batch *batch);

void netlink_put(struct netlink_batch *batch, int type, const void *value, size_t size);
void netlink_put_string(struct netlink_batch *batch, int type, const char *value); /* with its NUL */

/* Attributes put between the two are inside this one. */
struct nlattr *netlink_begin_nest(struct netlink_batch *batch, int type);
void netlink_end_nest(struct netlink_batch *batch, struct nlattr *nest);

/* Sends all of it to the kernel and reads until the answer to `last`, whose message
 * must ask for one (NLM_F_ACK), or the first refusal. 0, or the errno of the refusal
 * and in `*refused` the step it is about. */
int netlink_exchange(int netlink, const struct netlink_batch *batch, unsigned last, unsigned *refused);

#endif
