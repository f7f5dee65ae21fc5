/* Datagrams are carried nowhere but to name servers. The kernel answers them at
 * once and tells us of each, so that somebody learns of it: QUIC, NTP and the like
 * would else fail in silence. What it tells comes from the kernel; the packet in
 * it is the sender's. Where it cannot tell, it gives a copy of the packet alone. */
#include "net/network.h"

#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* A flood is told of by its beginning. */
enum { MESSAGES_AT_ONCE = 64, TOLD_MAX = 2000 };

/* Where things stand in the headers. */
enum {
    V4_HEADER_MIN = 20,
    V4_PROTOCOL = 9,
    V4_DESTINATION = 16,
    V6_HEADER = 40,
    V6_PROTOCOL = 6,
    V6_DESTINATION = 24,
    UDP_PORTS = 4
};

static struct slice attribute(struct slice message, unsigned wanted)
{
    struct nlattr header;
    const size_t before = sizeof header; /* the kernel aligns both to 4 */

    while (message.len >= before) {
        memcpy(&header, message.ptr, sizeof header);
        if (header.nla_len < before || header.nla_len > message.len)
            break;
        if ((header.nla_type & NLA_TYPE_MASK) == wanted)
            return (struct slice){message.ptr + before, header.nla_len - before};
        size_t length = ((size_t)header.nla_len + 3) & ~(size_t)3;
        message = slice_from(message, length < message.len ? length : message.len);
    }
    return (struct slice){"", 0};
}

static uint16_t port_at(const unsigned char *bytes)
{
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static bool read_packet(struct slice packet, struct address *to, uint16_t *port, uint16_t *client_port)
{
    const unsigned char *bytes = (const unsigned char *)packet.ptr;

    if (packet.len < V4_HEADER_MIN)
        return false;
    bool v6 = bytes[0] >> 4 == 6;
    size_t header = v6 ? V6_HEADER : (size_t)(bytes[0] & 15) * 4;
    if (header < V4_HEADER_MIN || packet.len < header + UDP_PORTS ||
        bytes[v6 ? V6_PROTOCOL : V4_PROTOCOL] != IPPROTO_UDP)
        return false;
    *to = (struct address){.v6 = v6};
    memcpy(to->bytes, bytes + (v6 ? V6_DESTINATION : V4_DESTINATION), v6 ? 16 : 4);
    *client_port = port_at(bytes + header);
    *port = port_at(bytes + header + 2);
    return true;
}

static void tell(struct network *network, struct slice packet)
{
    struct net_question question = {.kind = NET_TELL_REFUSED, .protocol = NET_DATAGRAM, .refusal = NET_NOT_ALLOWED};
    struct address to;
    struct slice name;
    char text[46];

    if (network->datagrams_told == TOLD_MAX || !read_packet(packet, &to, &question.port, &question.client_port))
        return;
    network->datagrams_told++;
    question.client_v6 = to.v6;
    if (!names_find(network->names, &to, &name) || name.len == 0) {
        address_print(&to, text);
        name = slice_of(text);
    }
    memcpy(question.name, name.ptr, name.len);
    question.name_length = (uint8_t)name.len;
    ask_tell(network, &question);
}

static void ready(struct watch *watch, uint32_t events)
{
    struct network *network = (struct network *)((char *)watch - offsetof(struct network, datagrams));
    const size_t skipped = sizeof(struct nlmsghdr) + sizeof(struct nfgenmsg);

    (void)events;
    for (int i = 0; i < MESSAGES_AT_ONCE; i++) {
        ssize_t length = recv(watch->fd, network->scratch, SCRATCH_SIZE, MSG_DONTWAIT);
        struct nlmsghdr header;

        if (length < 0 && errno == ENOBUFS)
            continue; /* some were lost */
        if (length < (ssize_t)skipped)
            return;
        memcpy(&header, network->scratch, sizeof header);
        if (header.nlmsg_type != (NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_PACKET) || header.nlmsg_len < skipped ||
            header.nlmsg_len > (size_t)length)
            continue;
        struct slice message = {network->scratch + skipped, header.nlmsg_len - skipped};
        tell(network, attribute(message, NFULA_PAYLOAD));
    }
}

static void copy_ready(struct watch *watch, uint32_t events)
{
    struct network *network = (struct network *)((char *)watch - offsetof(struct network, datagrams));

    (void)events;
    for (int i = 0; i < MESSAGES_AT_ONCE; i++) {
        ssize_t length = recv(watch->fd, network->scratch, SCRATCH_SIZE, MSG_DONTWAIT);
        if (length <= 0)
            return;
        tell(network, (struct slice){network->scratch, (size_t)length});
    }
}

void datagrams_watch(struct network *network, int fd, bool copies)
{
    network->datagrams = (struct watch){.fd = fd, .ready = copies ? copy_ready : ready};
    if (!loop_watch(&network->loop, &network->datagrams, EPOLLIN))
        loop_close(&network->datagrams);
}
