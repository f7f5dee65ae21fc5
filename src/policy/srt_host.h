/* Host patterns, address ranges and URLs exactly as srt accepts them. This is
 * srt's grammar, which is looser than ours (host.h): it only says whether srt
 * would take the file. What a name then means is decided by host.h. */
#ifndef CLOCHE_POLICY_SRT_HOST_H
#define CLOCHE_POLICY_SRT_HOST_H

#include "base/arena.h"
#include "base/slice.h"

bool srt_domain_is_valid(struct slice pattern);                              /* without a port */
bool srt_allowed_domain_is_valid(struct arena *arena, struct slice pattern); /* port or not */
bool srt_denied_domain_is_valid(struct arena *arena, struct slice pattern);  /* also "*" */
bool srt_address_range_is_valid(struct slice range);

/* The host part as srt compares it: no port; brackets and number forms undone. */
struct slice srt_domain_host(struct arena *arena, struct slice pattern);

/* Is every host that `pattern` means also meant by `by`, a srt_domain_host()? */
bool srt_domain_covered(struct slice pattern, struct slice by);

/* Would `new URL(text)` of the WHATWG URL standard succeed? `host`, if given, is
 * the host name it would have. */
bool srt_url_parse(struct arena *arena, struct slice text, struct slice *host);

#endif
