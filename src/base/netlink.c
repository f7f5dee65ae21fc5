/* What is written here comes from constants and a few numbers of ours, so its size
 * is known; should a change ever outgrow the buffer, the exchange fails and nothing
 * was written past the end. Answers come from the kernel, and are read with bounds
 * all the same. */
#include "base/netlink.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static void *append(struct netlink_batch *batch, size_t size)
{
    size_t aligned = NLMSG_ALIGN(size);

    if (aligned > sizeof batch->bytes - batch->length) {
        batch->overflowed = true;
        batch->length = 0; /* the batch is lost; what follows has a place */
    }
    void *place = batch->bytes + batch->length;
    memset(place, 0, aligned);
    batch->length += aligned;
    return place;
}

void netlink_begin(struct netlink_batch *batch, int type, int flags, unsigned step, const void *header, size_t size)
{
    struct nlmsghdr *message = append(batch, sizeof *message + NLMSG_ALIGN(size));

    *message = (struct nlmsghdr){
        .nlmsg_type = (uint16_t)type, .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags), .nlmsg_seq = step};
    memcpy(message + 1, header, size);
    batch->message = message;
}

void netlink_end(struct netlink_batch *batch)
{
    batch->message->nlmsg_len = (uint32_t)(batch->bytes + batch->length - (char *)batch->message);
}

void netlink_put(struct netlink_batch *batch, int type, const void *value, size_t size)
{
    struct nlattr *attribute = append(batch, sizeof *attribute + size);

    attribute->nla_type = (uint16_t)type;
    attribute->nla_len = (uint16_t)(sizeof *attribute + size);
    memcpy(attribute + 1, value, size);
}

void netlink_put_string(struct netlink_batch *batch, int type, const char *value)
{
    netlink_put(batch, type, value, strlen(value) + 1);
}

struct nlattr *netlink_begin_nest(struct netlink_batch *batch, int type)
{
    struct nlattr *nest = append(batch, sizeof *nest);

    nest->nla_type = (uint16_t)(type | NLA_F_NESTED);
    return nest;
}

void netlink_end_nest(struct netlink_batch *batch, struct nlattr *nest)
{
    nest->nla_len = (uint16_t)(batch->bytes + batch->length - (char *)nest);
}

/* True once the answer to `last`, or a refusal (in `*errnum`), is among these. */
static bool settles(struct nlmsghdr *answers, size_t size, unsigned last, int *errnum, unsigned *refused)
{
    for (struct nlmsghdr *answer = answers; NLMSG_OK(answer, size); answer = NLMSG_NEXT(answer, size)) {
        if (answer->nlmsg_type != NLMSG_ERROR || answer->nlmsg_len < NLMSG_LENGTH(sizeof(struct nlmsgerr)))
            continue;
        const struct nlmsgerr *word = NLMSG_DATA(answer);
        if (word->error != 0) {
            *errnum = -word->error;
            *refused = answer->nlmsg_seq;
            return true;
        }
        if (answer->nlmsg_seq == last)
            return true;
    }
    return false;
}

int netlink_exchange(int netlink, const struct netlink_batch *batch, unsigned last, unsigned *refused)
{
    enum { PACKETS_MAX = 32 };
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    _Alignas(NLMSG_ALIGNTO) char answers[8192];
    int errnum = 0;

    *refused = 0;
    if (batch->overflowed)
        return EMSGSIZE;
    if (sendto(netlink, batch->bytes, batch->length, 0, (const struct sockaddr *)&kernel, sizeof kernel) < 0)
        return errno;
    for (int packets = 0; packets < PACKETS_MAX; packets++) {
        ssize_t got = recv(netlink, answers, sizeof answers, 0);
        if (got < 0)
            return errno;
        if (settles((struct nlmsghdr *)answers, (size_t)got, last, &errnum, refused))
            return errnum;
    }
    return EPROTO;
}
