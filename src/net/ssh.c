/* Before keys are exchanged a packet is its length, the length of its padding,
 * the payload and the padding, in plain text (RFC 4253, section 6). A
 * disconnection may be sent at any time (section 11.1); OpenSSH prints its
 * description as "Received disconnect from ...: DESCRIPTION". */
#include "net/ssh.h"

#include "net/reason.h"

enum { MESSAGE_DISCONNECT = 1, HOST_NOT_ALLOWED_TO_CONNECT = 1, BLOCK = 8, PADDING_MIN = 4, TEXT_MAX = 440 };

size_t ssh_refusal(struct slice reason, uint8_t out[SSH_REFUSAL_MAX])
{
    char text[TEXT_MAX];
    static const char zeros[BLOCK + PADDING_MIN];
    struct wire_writer line = wire_into(text, sizeof text);
    struct wire_writer packet = wire_into((char *)out, SSH_REFUSAL_MAX);

    reason_put(&line, reason, false, sizeof text);
    size_t payload = 1 + 4 + 4 + line.len + 4;
    size_t padding = BLOCK - (4 + 1 + payload) % BLOCK;
    if (padding < PADDING_MIN)
        padding += BLOCK;

    wire_put_string(&packet, "SSH-2.0-policy_refusal\r\n");
    wire_put_u32(&packet, (uint32_t)(1 + payload + padding));
    wire_put_byte(&packet, (uint8_t)padding);
    wire_put_byte(&packet, MESSAGE_DISCONNECT);
    wire_put_u32(&packet, HOST_NOT_ALLOWED_TO_CONNECT);
    wire_put_u32(&packet, (uint32_t)line.len);
    wire_put(&packet, wire_written(&line));
    wire_put_u32(&packet, 0); /* no language */
    wire_put(&packet, (struct slice){zeros, padding});
    return wire_written(&packet).len;
}
