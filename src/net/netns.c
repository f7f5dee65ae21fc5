/* Makes a fresh network namespace ready for interception, by raw netlink.
 *
 * All of IPv4 and IPv6 is routed to the loopback as local, so that whatever
 * address is connected to, the packet comes back in and meets the rules of
 * host/tproxy.h; and a question to whatever name server meets the socket on port
 * 53. What has no listener is refused at once: nothing can get lost.
 *
 * The interface gets one address that is not a loopback one, which is also the
 * source of connections. Without it getaddrinfo(AI_ADDRCONFIG) takes this for a
 * system without IPv4 and finds no host. */
#include "net/netns.h"

#include "base/fd.h"
#include "base/netlink.h"
#include "host/tproxy.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum step { STEP_SOCKET, STEP_LINK, STEP_ADDRESS, STEP_ROUTE_V4, STEP_ROUTE_V6 };

enum { LOOPBACK_INDEX = 1 }; /* the first interface of every network namespace */

static void put_link(struct netlink_batch *batch)
{
    struct ifinfomsg header = {.ifi_index = LOOPBACK_INDEX, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};

    netlink_begin(batch, RTM_NEWLINK, 0, STEP_LINK, &header, sizeof header);
    netlink_end(batch);
}

static void put_address(struct netlink_batch *batch)
{
    const uint32_t own = htonl(TPROXY_OWN_ADDRESS_V4);
    struct ifaddrmsg header = {.ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = LOOPBACK_INDEX};

    netlink_begin(batch, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, STEP_ADDRESS, &header, sizeof header);
    netlink_put(batch, IFA_LOCAL, &own, sizeof own);
    netlink_put(batch, IFA_ADDRESS, &own, sizeof own);
    netlink_end(batch);
}

static void put_route(struct netlink_batch *batch, bool v6, bool last)
{
    const uint32_t own = htonl(TPROXY_OWN_ADDRESS_V4);
    const uint32_t loopback = LOOPBACK_INDEX;
    struct rtmsg header = {
        .rtm_family = v6 ? AF_INET6 : AF_INET,
        .rtm_table = RT_TABLE_LOCAL,
        .rtm_protocol = RTPROT_BOOT,
        .rtm_scope = v6 ? RT_SCOPE_UNIVERSE : RT_SCOPE_HOST,
        .rtm_type = RTN_LOCAL,
    };

    netlink_begin(batch, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL | (last ? NLM_F_ACK : 0),
                  v6 ? STEP_ROUTE_V6 : STEP_ROUTE_V4, &header, sizeof header);
    netlink_put(batch, RTA_OIF, &loopback, sizeof loopback);
    if (!v6)
        netlink_put(batch, RTA_PREFSRC, &own, sizeof own);
    netlink_end(batch);
}

static bool route_everything(bool *v6, struct error *err)
{
    static const char *const attempts[] = {"configure the sandbox's network", "bring up its loopback interface",
                                           "give it an address", "route IPv4 to it", "route IPv6 to it"};
    struct netlink_batch batch = {.length = 0};
    unsigned refused;

    FD_CLEANUP int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (netlink < 0)
        return error_set_errno(err, errno, "cannot configure the sandbox's network");
    put_link(&batch);
    put_address(&batch);
    put_route(&batch, false, !*v6);
    if (*v6)
        put_route(&batch, true, true);
    int errnum = netlink_exchange(netlink, &batch, *v6 ? STEP_ROUTE_V6 : STEP_ROUTE_V4, &refused);
    /* Switched off by net.ipv6.conf.*.disable_ipv6: all before it was done. */
    if (errnum && refused == STEP_ROUTE_V6) {
        *v6 = false;
        return true;
    }
    if (errnum)
        return error_set_errno(err, errnum, "in the sandbox's network namespace, cannot %s",
                               attempts[refused <= STEP_ROUTE_V6 ? refused : STEP_SOCKET]);
    return true;
}

static bool has_v6(void)
{
    FD_CLEANUP int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    return fd >= 0;
}

static bool divert(bool *v6, bool *announced, bool *logs, struct error *err)
{
    enum tproxy_step step;
    int errnum = tproxy_install(*v6, true, &step);

    *logs = errnum == 0;
    if (errnum)
        errnum = tproxy_install(*v6, false, &step);
    if (errnum && *v6) {
        errnum = tproxy_install(false, false, &step);
        *v6 = errnum != 0; /* for where they are announced, there are no two kinds */
    }
    if (errnum && announced)
        *announced = true;
    else if (errnum)
        return error_set_errno(err, errnum,
                               "cannot filter the network: %s in the sandbox's network namespace. `cloche doctor` "
                               "(\"nf_tables with TPROXY\") tells what to do. A policy without allowAllUnixSockets has "
                               "a doorman who can do it "
                               "instead; network.mode none or host needs none of it",
                               step == TPROXY_STEP_RULE ? "the kernel refuses a TPROXY rule"
                                                        : "the kernel refuses nf_tables");
    return true;
}

bool netns_prepare(bool *v6, bool *announced, bool *logs, struct error *err)
{
    *v6 = has_v6();
    return divert(v6, announced, logs, err) && route_everything(v6, err);
}
