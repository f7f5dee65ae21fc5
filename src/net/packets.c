/* A packet socket, with a filter that the kernel runs. In the sandbox's namespace
 * everything is routed to the loopback, so each datagram that leaves its sender
 * passes there; it is counted as it goes out, not as it comes back in. */
#include "net/packets.h"

#include "base/fd.h"
#include "host/tproxy.h"

#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOAD_BYTE(offset) BPF_STMT(BPF_LD | BPF_B | BPF_ABS, offset)
#define LOAD_HALF(offset) BPF_STMT(BPF_LD | BPF_H | BPF_ABS, offset)
#define LOAD_WORD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define MASK(bits) BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits)
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define IF_ANY_BIT(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, yes, no)
#define ANSWER(length) BPF_STMT(BPF_RET | BPF_K, length)

/* Offsets are of the IP headers. Jumps are counted from the next line. */
static const struct sock_filter datagrams_that_leave[] = {
    LOAD_WORD((uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)),
    IF_EQUAL(PACKET_OUTGOING, 0, 25),
    LOAD_BYTE(0),
    MASK(0xf0),
    IF_EQUAL(0x60, 13, 0),
    /* IPv4 */
    IF_EQUAL(0x40, 0, 21),
    LOAD_BYTE(9),
    IF_EQUAL(IPPROTO_UDP, 0, 19),
    LOAD_HALF(6),
    IF_ANY_BIT(0x1fff, 17, 0), /* a later fragment has no ports */
    LOAD_WORD(16),
    IF_EQUAL(TPROXY_OWN_ADDRESS_V4, 15, 0),
    MASK(0xff000000),
    IF_EQUAL(INADDR_LOOPBACK & 0xff000000, 13, 0),
    BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
    BPF_STMT(BPF_LD | BPF_H | BPF_IND, 2),
    IF_EQUAL(TPROXY_DNS_PORT, 10, 0),
    ANSWER(TPROXY_LOGGED_MAX),
    /* IPv6 */
    LOAD_BYTE(6),
    IF_EQUAL(IPPROTO_UDP, 0, 7),
    LOAD_WORD(24),
    IF_EQUAL(0, 0, 2),
    LOAD_WORD(32),
    IF_EQUAL(0, 3, 0), /* ::1 */
    LOAD_HALF(42),
    IF_EQUAL(TPROXY_DNS_PORT, 1, 0),
    ANSWER(TPROXY_LOGGED_MAX),
    ANSWER(0),
};

int packets_hear(void)
{
    /* Nothing comes before the filter stands: no protocol yet. */
    FD_CLEANUP int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const struct sock_fprog program = {.len = sizeof datagrams_that_leave / sizeof *datagrams_that_leave,
                                       .filter = (struct sock_filter *)(uintptr_t)datagrams_that_leave};
    const struct sockaddr_ll everything = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) < 0 ||
        bind(fd, (const struct sockaddr *)&everything, sizeof everything) < 0)
        return -1;
    return fd_take(&fd);
}
