/* DNS messages as a server inside sees and makes them. Pure. */
#ifndef CLOCHE_NET_DNS_H
#define CLOCHE_NET_DNS_H

#include "base/slice.h"
#include "policy/host.h"

enum { DNS_MESSAGE_MAX = 4096, DNS_PLAIN_MAX = 512, DNS_TYPE_A = 1, DNS_TYPE_PTR = 12, DNS_TYPE_AAAA = 28 };

enum dns_result {
    DNS_QUERY,  /* one question, of class IN, that can be answered */
    DNS_IGNORE, /* not a query: too short, or a response. Nothing is sent back */
    DNS_REJECT, /* send what dns_answer_code says with `code` */
};

enum {
    DNS_NOERROR = 0,
    DNS_FORMERR = 1,
    DNS_SERVFAIL = 2,
    DNS_NXDOMAIN = 3,
    DNS_NOTIMP = 4,
    DNS_REFUSED = 5,
    DNS_BADVERS = 16 /* an EDNS that is not of version 0 */
};
enum { DNS_EDE_NONE = 0xffff, DNS_EDE_BLOCKED = 15, DNS_EDE_NETWORK_ERROR = 23 };

struct dns_query {
    uint16_t id;
    uint16_t flags;
    uint16_t type;
    unsigned code; /* DNS_REJECT */
    /* The name as a host, if it is one. What is none (labels with other bytes) is not answered for, and never sent on.
     */
    bool is_host;
    struct host host;
    bool is_reverse; /* PTR of ...in-addr.arpa or ip6.arpa: of this address */
    struct address reverse;
    bool has_edns;
    uint16_t payload;      /* what the client can take over UDP: DNS_PLAIN_MAX to DNS_MESSAGE_MAX */
    uint8_t question[260]; /* as sent: name (case kept), type, class */
    size_t question_length;
};

enum dns_result dns_query_parse(struct slice message, struct dns_query *query);

/* What is to be done about an allowed name. */
enum dns_handling {
    DNS_SYNTHESIZE, /* A, AAAA: the address that is the name's own here */
    DNS_REVERSE,    /* `reverse` is asked for */
    DNS_FORWARD,    /* to an upstream server: name and type, and nothing else the client sent */
    DNS_NO_DATA,    /* HTTPS and SVCB, which carry real addresses and keys to hide the TLS name; ANY */
    DNS_DECLINE     /* DNS_NOTIMP: zone transfers and what concerns one connection only */
};
enum dns_handling dns_handling_of(const struct dns_query *query);

/* Each writes one whole answer and returns its length. `capacity` at least DNS_PLAIN_MAX. */
size_t dns_answer_address(const struct dns_query *query, const struct address *address, uint32_t ttl, uint8_t *out,
                          size_t capacity);
size_t dns_answer_name(const struct dns_query *query, struct slice name, uint32_t ttl, uint8_t *out, size_t capacity);
/* No records: with DNS_NOERROR the name exists, but not of this type. The
 * extended error (RFC 8914) only where the client knows EDNS. */
size_t dns_answer_code(const struct dns_query *query, unsigned code, unsigned extended, const char *text, uint8_t *out,
                       size_t capacity);
/* An upstream answer, handed on: the client's id and question. False if it does not answer this query. A UDP answer
 * that does not fit is cut with TC set. */
bool dns_answer_forward(const struct dns_query *query, struct slice upstream, bool tcp, uint8_t *out, size_t capacity,
                        size_t *length);

#endif
