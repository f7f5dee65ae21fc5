/* nf_tables with TPROXY in a fresh user and network namespace: the quick way to
 * carry every connection of a sandbox to the proxy. One batch of netlink
 * messages makes a table, a chain and a rule; the kernel answers each, and the
 * namespace is thrown away. */
#include "host/subjects.h"

#include "base/fd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { STEP_ENTER = 1, STEP_SOCKET, STEP_TABLE, STEP_CHAIN, STEP_RULE };

/* The sequence number of a message is the step it belongs to. */
enum { SEQUENCE_BEGIN = 100, SEQUENCE_END = 101 };

enum { BATCH_MAX = 2048, PORT = 9 };

struct batch {
    _Alignas(NLMSG_ALIGNTO) char bytes[BATCH_MAX];
    size_t length;
};

static void *append(struct batch *batch, size_t size)
{
    void *place = batch->bytes + batch->length;

    batch->length += NLMSG_ALIGN(size);
    return place;
}

static struct nlmsghdr *begin_message(struct batch *batch, int type, int flags, unsigned sequence, int family)
{
    struct nlmsghdr *header = append(batch, sizeof(*header));
    struct nfgenmsg *generic = append(batch, sizeof(*generic));

    *header = (struct nlmsghdr){
        .nlmsg_type = (__u16)type, .nlmsg_flags = (__u16)(NLM_F_REQUEST | flags), .nlmsg_seq = sequence};
    *generic = (struct nfgenmsg){.nfgen_family = (__u8)family, .version = NFNETLINK_V0};
    return header;
}

static void end_message(struct batch *batch, struct nlmsghdr *header)
{
    header->nlmsg_len = (__u32)(batch->bytes + batch->length - (char *)header);
}

static struct nlattr *begin_nest(struct batch *batch, int type)
{
    struct nlattr *attribute = append(batch, sizeof(*attribute));

    attribute->nla_type = (__u16)(type | NLA_F_NESTED);
    return attribute;
}

static void end_nest(struct batch *batch, struct nlattr *attribute)
{
    attribute->nla_len = (__u16)(batch->bytes + batch->length - (char *)attribute);
}

static void put(struct batch *batch, int type, const void *value, size_t size)
{
    struct nlattr *attribute = append(batch, sizeof(*attribute) + size);

    attribute->nla_type = (__u16)type;
    attribute->nla_len = (__u16)(sizeof(*attribute) + size);
    memcpy(attribute + 1, value, size);
}

static void put_string(struct batch *batch, int type, const char *value)
{
    put(batch, type, value, strlen(value) + 1);
}

static void put_number(struct batch *batch, int type, int value)
{
    __u32 number = htonl((__u32)value);

    put(batch, type, &number, sizeof(number));
}

static void put_delimiter(struct batch *batch, int type, unsigned sequence)
{
    struct nlmsghdr *header = begin_message(batch, type, 0, sequence, AF_UNSPEC);

    ((struct nfgenmsg *)NLMSG_DATA(header))->res_id = htons(NFNL_SUBSYS_NFTABLES);
    end_message(batch, header);
}

static struct nlmsghdr *begin_change(struct batch *batch, int type, unsigned step)
{
    return begin_message(batch, NFNL_SUBSYS_NFTABLES << 8 | type, NLM_F_CREATE | NLM_F_ACK, step, NFPROTO_IPV4);
}

static void put_table(struct batch *batch)
{
    struct nlmsghdr *header = begin_change(batch, NFT_MSG_NEWTABLE, STEP_TABLE);

    put_string(batch, NFTA_TABLE_NAME, "cloche");
    end_message(batch, header);
}

static void put_chain(struct batch *batch)
{
    struct nlmsghdr *header = begin_change(batch, NFT_MSG_NEWCHAIN, STEP_CHAIN);

    put_string(batch, NFTA_CHAIN_TABLE, "cloche");
    put_string(batch, NFTA_CHAIN_NAME, "divert");
    struct nlattr *hook = begin_nest(batch, NFTA_CHAIN_HOOK);
    put_number(batch, NFTA_HOOK_HOOKNUM, NF_INET_PRE_ROUTING);
    put_number(batch, NFTA_HOOK_PRIORITY, -150);
    end_nest(batch, hook);
    put_string(batch, NFTA_CHAIN_TYPE, "filter");
    end_message(batch, header);
}

/* immediate register 1 = port */
static void put_load_port(struct batch *batch)
{
    __u16 port = htons(PORT);
    struct nlattr *element = begin_nest(batch, NFTA_LIST_ELEM);

    put_string(batch, NFTA_EXPR_NAME, "immediate");
    struct nlattr *data = begin_nest(batch, NFTA_EXPR_DATA);
    put_number(batch, NFTA_IMMEDIATE_DREG, NFT_REG_1);
    struct nlattr *value = begin_nest(batch, NFTA_IMMEDIATE_DATA);
    put(batch, NFTA_DATA_VALUE, &port, sizeof(port));
    end_nest(batch, value);
    end_nest(batch, data);
    end_nest(batch, element);
}

/* tproxy to the port in register 1 */
static void put_divert(struct batch *batch)
{
    struct nlattr *element = begin_nest(batch, NFTA_LIST_ELEM);

    put_string(batch, NFTA_EXPR_NAME, "tproxy");
    struct nlattr *data = begin_nest(batch, NFTA_EXPR_DATA);
    put_number(batch, NFTA_TPROXY_FAMILY, NFPROTO_IPV4);
    put_number(batch, NFTA_TPROXY_REG_PORT, NFT_REG_1);
    end_nest(batch, data);
    end_nest(batch, element);
}

static void put_rule(struct batch *batch)
{
    struct nlmsghdr *header = begin_change(batch, NFT_MSG_NEWRULE, STEP_RULE);

    header->nlmsg_flags |= NLM_F_APPEND;
    put_string(batch, NFTA_RULE_TABLE, "cloche");
    put_string(batch, NFTA_RULE_CHAIN, "divert");
    struct nlattr *expressions = begin_nest(batch, NFTA_RULE_EXPRESSIONS);
    put_load_port(batch);
    put_divert(batch);
    end_nest(batch, expressions);
    end_message(batch, header);
}

/* Reads answers until the rule's own, or the first refusal. */
static int read_answers(int netlink, struct probe_report *report)
{
    _Alignas(NLMSG_ALIGNTO) char answers[8192];

    for (int packets = 0; packets < 16; packets++) {
        ssize_t got = recv(netlink, answers, sizeof(answers), 0);
        if (got < 0)
            return errno;
        size_t rest = (size_t)got;
        for (struct nlmsghdr *header = (struct nlmsghdr *)answers; NLMSG_OK(header, rest);
             header = NLMSG_NEXT(header, rest)) {
            if (header->nlmsg_type != NLMSG_ERROR || header->nlmsg_len < NLMSG_LENGTH(sizeof(struct nlmsgerr)))
                continue;
            const struct nlmsgerr *answer = NLMSG_DATA(header);
            if (header->nlmsg_seq >= STEP_TABLE && header->nlmsg_seq <= STEP_RULE)
                report->step = (int)header->nlmsg_seq;
            if (answer->error != 0)
                return -answer->error;
            if (header->nlmsg_seq == STEP_RULE)
                return 0;
        }
    }
    return EPROTO;
}

static int nftables_steps(struct probe_report *report)
{
    struct batch batch = {.length = 0};
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    struct timeval limit = {.tv_sec = 2};

    report->step = STEP_ENTER;
    int errnum = probe_enter(CLONE_NEWNET);
    if (errnum != 0)
        return errnum;
    report->step = STEP_SOCKET;
    FD_CLEANUP int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
    if (netlink < 0 || setsockopt(netlink, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0)
        return errno;
    put_delimiter(&batch, NFNL_MSG_BATCH_BEGIN, SEQUENCE_BEGIN);
    put_table(&batch);
    put_chain(&batch);
    put_rule(&batch);
    put_delimiter(&batch, NFNL_MSG_BATCH_END, SEQUENCE_END);
    if (sendto(netlink, batch.bytes, batch.length, 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
        return errno;
    return read_answers(netlink, report);
}

static void probe_nftables(struct probe_report *report, const void *context)
{
    (void)context;
    report->errnum = nftables_steps(report);
}

void examine_nftables(struct arena *arena, struct examination *examination)
{
    struct probe_report report;
    struct finding *finding =
        examination_add(examination, "nftables", "nf_tables with TPROXY",
                        "filtered network " NOT_IN_THIS_VERSION ": the quick way", WEIGHT_OPTIONAL);

    if (examine_by_probe(arena, examination, probe_nftables, "a rule was made in a new network namespace", finding,
                         &report))
        return;
    if (report.step == STEP_ENTER) {
        finding->detail =
            arena_printf(arena, "not examined: no network namespace (%s)", examine_errno(arena, report.errnum));
    } else {
        finding->detail =
            arena_printf(arena, "%s refused (%s)", report.step == STEP_RULE ? "a TPROXY rule is" : "nf_tables is",
                         examine_errno(arena, report.errnum));
        finding->remedy =
            "load the modules: sudo modprobe -a nf_tables nft_tproxy\n"
            "for good:         printf 'nf_tables\\nnft_tproxy\\n' | sudo tee /etc/modules-load.d/cloche.conf";
    }
}
