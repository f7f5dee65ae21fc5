#include "net/target.h"

enum { TARGET_TEXT_MAX = HOST_NAME_MAX_LENGTH + 8 }; /* a trailing dot, or brackets, and a port */

static bool can_be_a_target(struct slice text)
{
    if (text.len == 0 || text.len > TARGET_TEXT_MAX)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char byte = slice_lower(text.ptr[i]);
        if (!(byte >= 'a' && byte <= 'z') && !(byte >= '0' && byte <= '9') && (byte == '\0' || !strchr("-_.:[]", byte)))
            return false;
    }
    return true;
}

bool target_host(struct slice text, struct host *host)
{
    return can_be_a_target(text) && host_parse(text, host, NULL);
}

bool target_host_port(struct slice text, struct host *host, uint16_t *port)
{
    return can_be_a_target(text) && host_port_parse(text, host, port, NULL);
}

void target_put(struct wire_writer *out, const struct host *host, uint16_t port, uint16_t default_port)
{
    bool v6 = host->is_address && host->address.v6;

    wire_put_string(out, v6 ? "[" : "");
    wire_put(out, (struct slice){host->name, host->name_length});
    wire_put_string(out, v6 ? "]" : "");
    if (port != default_port) {
        wire_put_string(out, ":");
        wire_put_number(out, port);
    }
}
