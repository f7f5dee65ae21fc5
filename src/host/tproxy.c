/* One batch of netlink messages makes, for IPv4 and for IPv6, a table, a chain on
 * prerouting and one rule. A rule is a list of expressions that work on registers;
 * the first comparison that does not hold ends it:
 *
 *     meta l4proto tcp; ip daddr not in 127/8; ip daddr not our own;
 *     tcp dport not 53; tproxy to LISTENER
 *
 * What is diverted need not be marked or routed anew, because every address is
 * local in that namespace. Packets of connections that exist find their socket by
 * themselves: the expression looks for it first. */
#include "host/tproxy.h"

#include "base/fd.h"
#include "base/netlink.h"

#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/time.h>

#define TABLE "cloche"
#define CHAIN "divert"

enum { STEP_BEGIN = 100, STEP_END, STEP_LAST };
enum { LOG_GROUP = 1 };

const struct in6_addr tproxy_address_v6 = {{{0xfd, 0x3b, 0x5c, 0x1f, 0xe5, 0xa2, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfd}}};

/* Where the destination stands in an IP header. */
enum { DESTINATION_V4 = 16, DESTINATION_V6 = 24, DESTINATION_PORT = 2 };

static void put_number(struct netlink_batch *batch, int type, uint32_t value)
{
    uint32_t number = htonl(value);

    netlink_put(batch, type, &number, sizeof number);
}

static void begin(struct netlink_batch *batch, int type, int flags, unsigned step, int family)
{
    struct nfgenmsg header = {.nfgen_family = (uint8_t)family, .version = NFNETLINK_V0};

    netlink_begin(batch, NFNL_SUBSYS_NFTABLES << 8 | type, flags, step, &header, sizeof header);
}

static void put_delimiter(struct netlink_batch *batch, int type, unsigned step)
{
    struct nfgenmsg header = {.nfgen_family = AF_UNSPEC, .res_id = htons(NFNL_SUBSYS_NFTABLES)};

    netlink_begin(batch, type, 0, step, &header, sizeof header);
    netlink_end(batch);
}

/* An expression is an element of a list with a name and its own attributes. */
struct expression {
    struct nlattr *element;
    struct nlattr *data;
};

static struct expression begin_expression(struct netlink_batch *batch, const char *name)
{
    struct expression expression = {.element = netlink_begin_nest(batch, NFTA_LIST_ELEM)};

    netlink_put_string(batch, NFTA_EXPR_NAME, name);
    expression.data = netlink_begin_nest(batch, NFTA_EXPR_DATA);
    return expression;
}

static void end_expression(struct netlink_batch *batch, struct expression expression)
{
    netlink_end_nest(batch, expression.data);
    netlink_end_nest(batch, expression.element);
}

static void put_data(struct netlink_batch *batch, int type, const void *value, size_t size)
{
    struct nlattr *nest = netlink_begin_nest(batch, type);

    netlink_put(batch, NFTA_DATA_VALUE, value, size);
    netlink_end_nest(batch, nest);
}

static void compare(struct netlink_batch *batch, enum nft_cmp_ops operation, const void *value, size_t size)
{
    struct expression expression = begin_expression(batch, "cmp");

    put_number(batch, NFTA_CMP_SREG, NFT_REG_1);
    put_number(batch, NFTA_CMP_OP, operation);
    put_data(batch, NFTA_CMP_DATA, value, size);
    end_expression(batch, expression);
}

static void load_protocol(struct netlink_batch *batch)
{
    struct expression expression = begin_expression(batch, "meta");

    put_number(batch, NFTA_META_DREG, NFT_REG_1);
    put_number(batch, NFTA_META_KEY, NFT_META_L4PROTO);
    end_expression(batch, expression);
}

static void load_payload(struct netlink_batch *batch, enum nft_payload_bases base, uint32_t offset, uint32_t size)
{
    struct expression expression = begin_expression(batch, "payload");

    put_number(batch, NFTA_PAYLOAD_DREG, NFT_REG_1);
    put_number(batch, NFTA_PAYLOAD_BASE, base);
    put_number(batch, NFTA_PAYLOAD_OFFSET, offset);
    put_number(batch, NFTA_PAYLOAD_LEN, size);
    end_expression(batch, expression);
}

static void load_constant(struct netlink_batch *batch, enum nft_registers into, const void *value, size_t size)
{
    struct expression expression = begin_expression(batch, "immediate");

    put_number(batch, NFTA_IMMEDIATE_DREG, into);
    put_data(batch, NFTA_IMMEDIATE_DATA, value, size);
    end_expression(batch, expression);
}

static void divert(struct netlink_batch *batch, int family, const void *address, size_t size)
{
    uint16_t port = htons(TPROXY_PORT);

    load_constant(batch, NFT_REG_1, &port, sizeof port);
    load_constant(batch, NFT_REG_2, address, size);
    struct expression expression = begin_expression(batch, "tproxy");
    put_number(batch, NFTA_TPROXY_FAMILY, (uint32_t)family);
    put_number(batch, NFTA_TPROXY_REG_PORT, NFT_REG_1);
    put_number(batch, NFTA_TPROXY_REG_ADDR, NFT_REG_2);
    end_expression(batch, expression);
}

static void put_conditions(struct netlink_batch *batch, int family, uint8_t protocol)
{
    const uint16_t dns = htons(TPROXY_DNS_PORT);
    const uint8_t loopback = 127;
    const uint32_t own = htonl(TPROXY_OWN_ADDRESS_V4);

    load_protocol(batch);
    compare(batch, NFT_CMP_EQ, &protocol, sizeof protocol);
    if (family == NFPROTO_IPV4) {
        load_payload(batch, NFT_PAYLOAD_NETWORK_HEADER, DESTINATION_V4, sizeof loopback);
        compare(batch, NFT_CMP_NEQ, &loopback, sizeof loopback);
        load_payload(batch, NFT_PAYLOAD_NETWORK_HEADER, DESTINATION_V4, sizeof own);
        compare(batch, NFT_CMP_NEQ, &own, sizeof own);
    } else {
        load_payload(batch, NFT_PAYLOAD_NETWORK_HEADER, DESTINATION_V6, sizeof in6addr_loopback);
        compare(batch, NFT_CMP_NEQ, &in6addr_loopback, sizeof in6addr_loopback);
    }
    load_payload(batch, NFT_PAYLOAD_TRANSPORT_HEADER, DESTINATION_PORT, sizeof dns);
    compare(batch, NFT_CMP_NEQ, &dns, sizeof dns);
}

static void put_table(struct netlink_batch *batch, int family)
{
    begin(batch, NFT_MSG_NEWTABLE, NLM_F_CREATE, TPROXY_STEP_TABLE, family);
    netlink_put_string(batch, NFTA_TABLE_NAME, TABLE);
    netlink_end(batch);
}

static void put_chain(struct netlink_batch *batch, int family)
{
    begin(batch, NFT_MSG_NEWCHAIN, NLM_F_CREATE, TPROXY_STEP_CHAIN, family);
    netlink_put_string(batch, NFTA_CHAIN_TABLE, TABLE);
    netlink_put_string(batch, NFTA_CHAIN_NAME, CHAIN);
    struct nlattr *hook = netlink_begin_nest(batch, NFTA_CHAIN_HOOK);
    put_number(batch, NFTA_HOOK_HOOKNUM, NF_INET_PRE_ROUTING);
    put_number(batch, NFTA_HOOK_PRIORITY, (uint32_t)-150); /* "mangle", where TPROXY belongs */
    netlink_end_nest(batch, hook);
    netlink_put_string(batch, NFTA_CHAIN_TYPE, "filter");
    netlink_end(batch);
}

static struct nlattr *begin_rule(struct netlink_batch *batch, int family, bool last)
{
    begin(batch, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND | (last ? NLM_F_ACK : 0),
          last ? STEP_LAST : TPROXY_STEP_RULE, family);
    netlink_put_string(batch, NFTA_RULE_TABLE, TABLE);
    netlink_put_string(batch, NFTA_RULE_CHAIN, CHAIN);
    return netlink_begin_nest(batch, NFTA_RULE_EXPRESSIONS);
}

static void put_rule(struct netlink_batch *batch, int family, bool last)
{
    const uint32_t v4 = htonl(TPROXY_ADDRESS_V4);

    struct nlattr *expressions = begin_rule(batch, family, last);
    put_conditions(batch, family, IPPROTO_TCP);
    if (family == NFPROTO_IPV4)
        divert(batch, family, &v4, sizeof v4);
    else
        divert(batch, family, &tproxy_address_v6, sizeof tproxy_address_v6);
    netlink_end_nest(batch, expressions);
    netlink_end(batch);
}

static void put_log_rule(struct netlink_batch *batch, int family, bool last)
{
    const uint16_t group = htons(LOG_GROUP);

    struct nlattr *expressions = begin_rule(batch, family, last);
    put_conditions(batch, family, IPPROTO_UDP);
    struct expression expression = begin_expression(batch, "log");
    netlink_put(batch, NFTA_LOG_GROUP, &group, sizeof group);
    end_expression(batch, expression);
    netlink_end_nest(batch, expressions);
    netlink_end(batch);
}

int tproxy_install(bool with_v6, bool with_log, enum tproxy_step *step)
{
    struct netlink_batch batch = {.length = 0};
    const struct timeval limit = {.tv_sec = 2}; /* for a kernel that does not answer */
    unsigned refused;

    *step = TPROXY_STEP_SOCKET;
    FD_CLEANUP int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
    if (netlink < 0 || setsockopt(netlink, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0)
        return errno;
    put_delimiter(&batch, NFNL_MSG_BATCH_BEGIN, STEP_BEGIN);
    for (int v6 = 0; v6 <= (with_v6 ? 1 : 0); v6++) {
        int family = v6 ? NFPROTO_IPV6 : NFPROTO_IPV4;
        put_table(&batch, family);
        put_chain(&batch, family);
        bool last = v6 == (with_v6 ? 1 : 0);
        put_rule(&batch, family, last && !with_log);
        if (with_log)
            put_log_rule(&batch, family, last);
    }
    put_delimiter(&batch, NFNL_MSG_BATCH_END, STEP_END);
    int errnum = netlink_exchange(netlink, &batch, STEP_LAST, &refused);
    *step = refused == STEP_LAST || errnum == 0                           ? TPROXY_STEP_RULE
            : refused >= TPROXY_STEP_TABLE && refused <= TPROXY_STEP_RULE ? (enum tproxy_step)refused
                                                                          : TPROXY_STEP_SOCKET;
    return errnum;
}

static void put_log_listener(struct netlink_batch *batch)
{
    const struct nfulnl_msg_config_cmd bind = {.command = NFULNL_CFG_CMD_BIND};
    const struct nfulnl_msg_config_mode mode = {.copy_range = htonl(TPROXY_LOGGED_MAX),
                                                .copy_mode = NFULNL_COPY_PACKET};
    struct nfgenmsg header = {.nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0, .res_id = htons(LOG_GROUP)};

    netlink_begin(batch, NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_CONFIG, NLM_F_ACK, STEP_LAST, &header, sizeof header);
    netlink_put(batch, NFULA_CFG_CMD, &bind, sizeof bind);
    netlink_put(batch, NFULA_CFG_MODE, &mode, sizeof mode);
    put_number(batch, NFULA_CFG_QTHRESH, 1); /* tell at once */
    netlink_end(batch);
}

int tproxy_hear_log(void)
{
    struct netlink_batch batch = {.length = 0};
    const struct timeval limit = {.tv_sec = 2};
    unsigned refused;

    FD_CLEANUP int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
    if (netlink < 0 || setsockopt(netlink, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0)
        return -1;
    put_log_listener(&batch);
    return netlink_exchange(netlink, &batch, STEP_LAST, &refused) == 0 ? fd_take(&netlink) : -1;
}
