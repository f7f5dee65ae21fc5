/* The rules of nf_tables that carry connections to a listener of ours, whatever
 * address and port they are meant for. Used by each run with a filtered network,
 * and by doctor, which so tries out exactly what a run would do. */
#ifndef CLOCHE_HOST_TPROXY_H
#define CLOCHE_HOST_TPROXY_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/* Where the listeners must be bound, with IP_TRANSPARENT. Below 1024, where the
 * command can bind nothing. Addresses that nothing else uses: a listener on
 * 127.0.0.1 or on any address would be reachable as itself. */
#define TPROXY_ADDRESS_V4 0xc613fffdU /* 198.19.255.253 */
enum { TPROXY_PORT = 1, TPROXY_DNS_PORT = 53 };

/* fd3b:5c1f:e5a2::fffd */
extern const struct in6_addr tproxy_address_v6;

/* The sandbox's own address, beside the loopback. */
#define TPROXY_OWN_ADDRESS_V4 0xc613fffeU /* 198.19.255.254 */

enum tproxy_step { TPROXY_STEP_SOCKET = 1, TPROXY_STEP_TABLE, TPROXY_STEP_CHAIN, TPROXY_STEP_RULE };

/* In the network namespace the caller is in: TCP to every address is diverted,
 * except to the loopback (127/8, ::1) and the sandbox's own address, and except
 * to port 53 (names have listeners of their own). 0, or an errno and the step
 * that was refused. */
int tproxy_install(bool with_v6, bool with_log, enum tproxy_step *step);

/* After tproxy_install with a log: a netlink socket on which the kernel tells of
 * each datagram (UDP) that is sent elsewhere than to the loopback, the sandbox's own
 * address or port 53, with its first TPROXY_LOGGED_MAX bytes. It is delivered as
 * ever, which is to nobody: its sender learns that at once. -1: there is none. */
enum { TPROXY_LOGGED_MAX = 64 };
int tproxy_hear_log(void);

/* Where that cannot be had: a connection to one of the listeners begins with
 * this, which says where it was meant for. */
struct tproxy_announcement {
    uint8_t v6;
    uint8_t reserved;
    uint16_t port; /* in network order, as the address: of IPv4 its first four bytes */
    uint8_t address[16];
};

#endif
