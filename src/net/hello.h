/* The first bytes of a connection: TLS, and for which name (attacks 84, 86)? HTTP? Pure. */
#ifndef CLOCHE_NET_HELLO_H
#define CLOCHE_NET_HELLO_H

#include "base/slice.h"
#include "policy/host.h"

/* More is not waited for. With post-quantum keys a ClientHello has about 2 KB; one in records of a byte each, six
 * times that. */
enum { HELLO_MAX = 20480 };

enum hello_kind {
    HELLO_MORE,  /* could still become any of them */
    HELLO_TLS,   /* a whole ClientHello */
    HELLO_HTTP,  /* a method and a blank: a request line seems to begin */
    HELLO_OTHER, /* neither */
    HELLO_BAD    /* begins as TLS and breaks its rules, or is too long: close */
};

struct hello {
    bool has_name;
    struct host name; /* of the server_name extension, canonical; one that is not is HELLO_BAD */
    bool encrypted;   /* encrypted_client_hello: the name may not be the true one */
    size_t length;    /* of the input that it takes: whole records, for nothing may follow it in its last one */
};

/* A server's first bytes, after a ClientHello. */
enum hello_reply {
    HELLO_REPLY_MORE,
    HELLO_REPLY_RETRY, /* a HelloRetryRequest: a second ClientHello follows, as readable as the first */
    HELLO_REPLY_OTHER  /* from here on nobody reads along */
};

/* Fragments over several records and bytes one by one included. */
enum hello_kind hello_examine(struct slice input, struct hello *hello);

enum hello_reply hello_examine_reply(struct slice input);

/* What a client sends after a HelloRetryRequest: its second ClientHello, before which other
 * records may stand (data it sent too early, alerts). HELLO_MORE, HELLO_TLS or HELLO_BAD. */
enum hello_kind hello_examine_second(struct slice input, struct hello *hello);

/* As far as its first byte tells. */
bool hello_may_be_tls(struct slice input);

#endif
