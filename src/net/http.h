/* HTTP/1.1 as the proxy reads it: strictly, so that nobody behind us can read it
 * in another way (attack 87). Pure: bytes in, bytes out. */
#ifndef CLOCHE_NET_HTTP_H
#define CLOCHE_NET_HTTP_H

#include "base/slice.h"
#include "net/records.h"
#include "policy/host.h"

enum { HTTP_HEAD_MAX = 32768, HTTP_HEADERS_MAX = 128, HTTP_REPLY_MAX = 2048 };

enum http_result {
    HTTP_MORE, /* not all here yet */
    HTTP_DONE,
    HTTP_BAD, /* answer `status` and close */
};

struct http_header {
    struct slice name;
    struct slice value; /* without the white space around it */
};

enum http_form {
    HTTP_ORIGIN,   /* GET /path: to the proxy itself, or, on a transparent connection, to the server */
    HTTP_ABSOLUTE, /* GET http://host/path */
    HTTP_AUTHORITY /* CONNECT host:port */
};

enum http_body { HTTP_NO_BODY, HTTP_LENGTH, HTTP_CHUNKED };

struct http_request {
    struct slice method;
    struct slice target; /* as sent */
    enum http_form form;
    struct host host; /* of the target; of the Host header with HTTP_ORIGIN */
    uint16_t port;
    bool host_differs; /* the Host header names another host or port than the target */
    struct slice path; /* absolute and origin form: from the first slash on, with the query; a slash if there is none */
    unsigned minor;    /* HTTP/1.minor */
    struct http_header headers[HTTP_HEADERS_MAX];
    size_t header_count;
    enum http_body body;
    uint64_t length;
    bool upgrade;               /* Connection: upgrade, to WebSocket */
    struct slice authorization; /* Proxy-Authorization: what follows "Basic "; empty: none */
    size_t head_length;         /* bytes up to and with the empty line */
    int status;                 /* HTTP_BAD: 400, 414, 431, 405 (TRACE), 501 (a transfer coding), 505 */
    const char *why;            /* HTTP_BAD: one clause */
};

/* Slices point into `input`. Reads at most HTTP_HEAD_MAX bytes: more is bad. */
enum http_result http_request_parse(struct slice input, struct http_request *request);

/* The word that comes next in a header like "a, b, c", taken off the list. */
bool http_list_next(struct slice *list, struct slice *word);

/* Is `authorization` base64 of ANYTHING:token? In constant time as to the token. */
bool http_token_is(struct slice authorization, const char *token);

/* The head as the server is to see it: origin form (absolute for a parent
 * proxy, then with its authorization unless that is empty), Host of the target,
 * Connection: close (or upgrade), no Proxy-* and no hop-by-hop headers. 0: does
 * not fit. */
size_t http_request_write(const struct http_request *request, bool for_proxy, const char *authorization, char *out,
                          size_t capacity);

/* How much of `input` belongs to the body. A body that is over says so. */
struct http_body_reader {
    enum http_body kind;
    uint64_t left;  /* of the length or of the chunk */
    unsigned state; /* private */
    unsigned line_length;
    bool named; /* this line of the trailer has its colon */
};

void http_body_begin(const struct http_request *request, struct http_body_reader *reader);
void http_body_expect(enum http_body kind, uint64_t length, struct http_body_reader *reader);
/* HTTP_MORE: all of it was taken and more is to come. */
enum http_result http_body_take(struct http_body_reader *reader, struct slice input, size_t *taken);

/* What the client gets to read, whole: srt's status lines, headers and bodies.
 * `connect`: the reason is also the status phrase. `reason` is the policy's own
 * words or what the guard found; control characters are taken out. */
size_t http_refusal(enum net_refusal refusal, int status, bool connect, const char *host, struct slice reason,
                    char out[HTTP_REPLY_MAX]);

/* As a client of a proxy: a CONNECT request, and the status line of the answer. */
size_t http_connect_write(const struct host *host, uint16_t port, const char *authorization, char *out,
                          size_t capacity);
enum http_result http_response_parse(struct slice input, int *status, size_t *head_length);

/* May another request follow this one on its connection, as far as the client is asked? */
bool http_request_persists(const struct http_request *request);

/* Where a response ends, by its head (from the status line to the empty one).
 * False: its server's closing tells, or the head leaves a doubt. `no_body`: there
 * is none whatever the head says (an answer to HEAD, 204, 304). */
bool http_response_frame(struct slice head, bool no_body, struct http_body_reader *reader);

/* A head whose end can be told, for a client whose connection goes on: without
 * what was said to us alone. 0: does not fit. */
size_t http_response_write(struct slice head, char *out, size_t capacity);

#endif
