/* Hearing of datagrams where the kernel has no nf_tables to tell of them. */
#ifndef CLOCHE_NET_PACKETS_H
#define CLOCHE_NET_PACKETS_H

/* A socket that gets the first bytes, from the IP header on, of each datagram (UDP)
 * that is sent in this network namespace to somewhere else than the loopback, the
 * sandbox's own address or port 53. -1: the kernel has none such. */
int packets_hear(void);

#endif
