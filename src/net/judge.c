/* S answers N. What comes from N is a record of fixed size whose name is parsed
 * again, so that a broken N can ask for nothing that has two readings. N has
 * never more questions open than verdicts fit into the socket: one that does
 * not fit means that N does not keep to that, and is its end. */
#include "net/judge.h"

#include "base/passing.h"
#include "net/route.h"
#include "net/target.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { QUESTIONS_AT_ONCE = 64 };

/* One question being judged. */
struct judgement {
    struct net_judge *judge;
    const struct net_question *question;
    struct host host;
    struct net_verdict verdict;
    int fd;                          /* to go with the verdict */
    const struct net_answer *answer; /* of somebody who was asked; NULL: nobody was */
    bool waits;                      /* for such an answer */
};

static void set_reason(struct net_verdict *verdict, struct slice reason)
{
    size_t length = reason.len < NET_REASON_MAX ? reason.len : NET_REASON_MAX;

    memcpy(verdict->reason, reason.ptr, length);
    verdict->reason_length = (uint8_t)length;
}

static struct net_event event_of(const struct judgement *judgement, enum net_refusal refusal,
                                 const struct decision *decision, struct slice reason)
{
    const struct net_question *question = judgement->question;

    return (struct net_event){
        .protocol = (enum net_protocol)question->protocol,
        .refusal = refusal,
        .name = {judgement->host.name, judgement->host.name_length},
        .port = question->port,
        .client_port = question->client_port,
        .client_v6 = question->client_v6 != 0,
        .decision = decision,
        .reason = reason,
        .sent = question->sent,
        .received = question->received,
        .milliseconds = question->milliseconds,
    };
}

static void tell(const struct judgement *judgement, enum net_refusal refusal, const struct decision *decision,
                 struct slice reason)
{
    const struct net_event event = event_of(judgement, refusal, decision, reason);

    if (judgement->judge->tell)
        judgement->judge->tell(judgement->judge->argument, &event);
}

static void meet(const struct judgement *judgement)
{
    const struct net_event event = event_of(judgement, NET_NOT_REFUSED, NULL, SLICE(""));

    if (judgement->judge->meet && judgement->question->kind == NET_ASK_CONNECT && !judgement->verdict.refusal)
        judgement->judge->meet(judgement->judge->argument, &event);
}

static void refuse(struct judgement *judgement, enum net_refusal refusal, const struct decision *decision,
                   struct slice reason)
{
    judgement->verdict.refusal = refusal;
    judgement->verdict.usable = 0;
    set_reason(&judgement->verdict, reason);
    tell(judgement, refusal, decision, reason);
}

static struct slice why_not(const struct decision *decision)
{
    if (decision->reason.len)
        return decision->reason;
    return decision->rule_text.len ? SLICE("host is on the deny list") : SLICE("host is not on the allow list");
}

static void judge_addresses(struct judgement *judgement, const struct decision *decision)
{
    const struct net_question *question = judgement->question;
    const struct guard *guard = &judgement->judge->guard;
    bool own = guard_names_own(guard, &judgement->host, question->port);
    const char *worst = NULL;

    for (unsigned i = 0; i < question->address_count; i++) {
        const struct address *address = &question->addresses[i];
        const char *what =
            own ? guard_refuses_own(guard, address, question->port) : guard_refuses(guard, address, question->port);
        if (what)
            worst = worst ? worst : what;
        else
            judgement->verdict.usable |= 1U << i;
    }
    if (judgement->verdict.usable || !worst)
        return;
    char reason[NET_REASON_MAX];
    int length = snprintf(reason, sizeof reason, "resolved to %s", worst);
    refuse(judgement, NET_BAD_ADDRESS, decision, (struct slice){reason, length > 0 ? (size_t)length : 0});
}

static void judge_literal(struct judgement *judgement, const struct decision *decision)
{
    const struct host *host = &judgement->host;
    const char *what = guard_refuses(&judgement->judge->guard, &host->address, judgement->question->port);

    if (!what)
        return;
    char reason[NET_REASON_MAX];
    int length = snprintf(reason, sizeof reason, "it is %s", what);
    refuse(judgement, NET_BAD_ADDRESS, decision, (struct slice){reason, length > 0 ? (size_t)length : 0});
}

static void choose_route(struct judgement *judgement)
{
    const struct net_judge *judge = judgement->judge;
    const struct net_question *question = judgement->question;

    if (route_is_mitm(judge->policy, &judgement->host, question->port)) {
        judgement->verdict.route = NET_MITM;
        if (question->kind != NET_ASK_CONNECT)
            return;
        judgement->fd = route_mitm_connect(judge->policy);
        if (judgement->fd < 0)
            refuse(judgement, NET_UNREACHABLE, NULL, SLICE("the proxy at mitmProxy.socketPath does not answer"));
        return;
    }
    bool plain = question->protocol == NET_HTTP;
    const struct net_parent *parent = plain ? &judge->parent_http : &judge->parent_https;
    if (parent->port && !route_skips_parent(judge->policy, &judgement->host, question->port))
        judgement->verdict.route = NET_PARENT;
}

/* Nobody is asked about what the policy denies by name. */
static bool is_granted(struct judgement *judgement, const struct decision *decision)
{
    const struct net_judge *judge = judgement->judge;
    enum net_appeal appeal = NET_NO_APPEAL;

    if (decision->rule_text.len > 0)
        return false;
    if (judgement->answer)
        return judgement->answer->allowed;
    if (judge->appeal)
        appeal = judge->appeal(judge->argument, judgement->question);
    judgement->waits = appeal == NET_APPEALED;
    return appeal == NET_GRANTED;
}

static void refuse_by_policy(struct judgement *judgement, enum net_refusal refusal, const struct decision *decision)
{
    bool answered = judgement->answer && decision->rule_text.len == 0 && judgement->answer->reason.len > 0;

    if (!judgement->waits)
        refuse(judgement, refusal, decision, answered ? judgement->answer->reason : why_not(decision));
}

static void judge_connect(struct judgement *judgement)
{
    const struct net_question *question = judgement->question;

    guard_refresh(&judgement->judge->guard, NULL);
    struct decision decision = decide_connect(judgement->judge->policy, &judgement->host, question->port);
    bool granted = !decision.allowed && is_granted(judgement, &decision);

    if (!decision.allowed && !granted) {
        refuse_by_policy(judgement, NET_NOT_ALLOWED, &decision);
        return;
    }
    /* Who says yes to an address means it, as an entry in allowedDomains does. */
    if (judgement->host.is_address && !granted) {
        judge_literal(judgement, &decision);
        if (judgement->verdict.refusal)
            return;
    }
    choose_route(judgement);
    if (judgement->verdict.route != NET_DIRECT)
        return;
    if (judgement->host.is_address)
        judgement->verdict.usable = 1;
    else
        judge_addresses(judgement, &decision);
}

static void judge_name(struct judgement *judgement, enum net_refusal refusal)
{
    const struct net_question *question = judgement->question;
    struct decision decision = question->kind == NET_ASK_SNI
                                   ? decide_connect(judgement->judge->policy, &judgement->host, question->port)
                                   : decide_dns(judgement->judge->policy, &judgement->host);

    bool granted = !decision.allowed && is_granted(judgement, &decision);

    if (!decision.allowed && !granted)
        refuse_by_policy(judgement, refusal, &decision);
    else if (granted && question->kind == NET_ASK_DNS)
        judgement->verdict.route = NET_PARENT; /* nothing is resolved before somebody has said yes (attack 81) */
    else if (question->kind == NET_ASK_DNS)
        choose_route(judgement);
}

/* A truth value of another's making may be neither true nor false. */
static bool are_addresses(const struct net_question *question)
{
    if (question->address_count > NET_ADDRESSES_MAX)
        return false;
    for (unsigned i = 0; i < question->address_count; i++) {
        uint8_t v6;
        memcpy(&v6, &question->addresses[i].v6, sizeof v6);
        if (v6 > 1)
            return false;
    }
    return true;
}

/* False for what N does not say. */
static bool judge_one(struct judgement *judgement)
{
    const struct net_question *question = judgement->question;
    struct slice name = {question->name, question->name_length};

    if (question->name_length > HOST_NAME_MAX_LENGTH || question->protocol > NET_DATAGRAM || !are_addresses(question) ||
        !target_host(name, &judgement->host) ||
        !slice_equal(name, (struct slice){judgement->host.name, judgement->host.name_length}))
        return false;
    switch (question->kind) {
    case NET_ASK_CONNECT:
    case NET_ASK_ADDRESSES:
        judge_connect(judgement);
        meet(judgement);
        return true;
    case NET_ASK_DNS:
        judge_name(judgement, NET_NOT_ALLOWED);
        return true;
    case NET_ASK_SNI:
        judge_name(judgement, NET_NAME_MISMATCH);
        return true;
    case NET_TELL_CLOSED:
        tell(judgement, NET_NOT_REFUSED, NULL, SLICE(""));
        return true;
    case NET_TELL_REFUSED:
        if (question->refusal == NET_NOT_REFUSED || question->refusal > NET_BUSY)
            return false;
        tell(judgement, (enum net_refusal)question->refusal, NULL, SLICE(""));
        return true;
    default:
        return false;
    }
}

static bool answer(int link, struct judgement *judgement)
{
    const struct net_verdict *verdict = &judgement->verdict;
    /* EPIPE: it was we who said that nothing more comes. */
    bool sent = passing_send(link, verdict, sizeof *verdict, &judgement->fd, judgement->fd >= 0, MSG_DONTWAIT) ==
                    (ssize_t)sizeof *verdict ||
                errno == EPIPE;
    if (judgement->fd >= 0)
        close(judgement->fd);
    return sent;
}

static bool is_answered(const struct net_question *question)
{
    return question->kind != NET_TELL_CLOSED && question->kind != NET_TELL_REFUSED;
}

bool net_judge_resume(struct net_judge *judge, int link, const struct net_question *question,
                      const struct net_answer *answer_given)
{
    struct judgement judgement = {
        .judge = judge, .question = question, .verdict.id = question->id, .fd = -1, .answer = answer_given};

    judge->guard.allowed = &judge->policy->network.allowed;
    judge->guard.denied = &judge->policy->network.denied;
    judge->guard.denied_resolved = &judge->policy->network.denied_resolved;
    if (!judge_one(&judgement))
        return false;
    return judgement.waits || !is_answered(question) || answer(link, &judgement);
}

bool net_judge_serve(struct net_judge *judge, int link)
{
    for (int i = 0; i < QUESTIONS_AT_ONCE; i++) {
        struct net_question question;
        ssize_t length = recv(link, &question, sizeof question, MSG_DONTWAIT | MSG_TRUNC);

        if (length < 0 && (errno == EAGAIN || errno == EINTR))
            return true;
        if (length != (ssize_t)sizeof question)
            return false;
        if (judge->postpone && is_answered(&question) && judge->postpone(judge->argument, &question))
            continue;
        if (!net_judge_resume(judge, link, &question, NULL))
            return false;
    }
    return true;
}

void net_judge_end(struct net_judge *judge, int link)
{
    enum { PATIENCE_MS = 200, ROUNDS_MAX = 1000 };
    struct pollfd polled = {.fd = link, .events = POLLIN};

    shutdown(link, SHUT_WR); /* which tells N */
    for (int i = 0; i < ROUNDS_MAX && poll(&polled, 1, PATIENCE_MS) > 0; i++) {
        if (!net_judge_serve(judge, link))
            return;
    }
}
