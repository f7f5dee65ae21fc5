/* A request to the HTTP proxy with a whole URL, and its response. Where both ends
 * are beyond doubt, another request may follow, which is judged anew, and for
 * which the server is connected to anew. Private to this room. */
#ifndef CLOCHE_NET_EXCHANGE_H
#define CLOCHE_NET_EXCHANGE_H

#include "net/tunnel.h"

struct exchange {
    struct http_body_reader body;
    bool body_done; /* what else the client sends is not for this server */
    bool upgrade;   /* to WebSocket, asked for */
    bool raw;       /* and granted: everything is carried as it is */
    bool persists;  /* the client's connection goes on when both are over: what it sends behind the request is kept */
    bool no_body;   /* of the response: the request was HEAD */
    bool response_begun;
    bool response_done;
    struct http_body_reader response;
    size_t head_length;
    char head[]; /* as the client sent it: how the server is to see it depends on the way there */
};

/* From a request whose head is the first of `bytes`. False: no memory. */
bool exchange_begin(struct tunnel *tunnel, const struct http_request *request, struct slice bytes);

/* The server is there. */
bool exchange_connected(struct tunnel *tunnel);

/* Cuts off what does not belong to the request. False: it breaks its own rules. */
bool exchange_take_body(struct tunnel *tunnel, struct slice *bytes);
/* Likewise of the response. */
bool exchange_take_response(struct tunnel *tunnel, struct slice *bytes);
/* Is what the client sends now another request? */
bool exchange_holds_client(const struct tunnel *tunnel);

/* Hands the response's head on, with the word that this connection ends with it.
 * HTTP_BAD: it is none, and the client was told. */
enum http_result exchange_begin_response(struct tunnel *tunnel);

#endif
