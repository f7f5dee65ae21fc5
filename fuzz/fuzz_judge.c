/* What the supervisor hears from a network process that an attacker has taken
 * over: any record at all. It gets the verdict of the policy or is ended, and
 * never an address that the guard forbids. */
#include "net/judge.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void add(struct policy *policy, struct host_rules *list, const char *text)
{
    struct host_rule rule = {.text = slice_of(text), .origin = {"fuzz", "network"}};

    require(host_pattern_parse(rule.text, &rule.pattern, NULL));
    policy_add_host(policy, list, rule);
}

static void check_event(void *argument, const struct net_event *event)
{
    (void)argument;
    require(event->name.len > 0 && event->name.len <= HOST_NAME_MAX_LENGTH);
    for (size_t i = 0; i < event->name.len; i++)
        require(event->name.ptr[i] > ' ' && event->name.ptr[i] < 0x7f);
}

static void check_verdict(const struct net_judge *judge, const struct net_question *question,
                          const struct net_verdict *verdict)
{
    struct host host;

    require(verdict->id == question->id && verdict->refusal <= NET_BUSY && verdict->reason_length <= NET_REASON_MAX);
    require(!verdict->refusal || verdict->usable == 0);
    if (verdict->refusal || (question->kind != NET_ASK_CONNECT && question->kind != NET_ASK_ADDRESSES))
        return;
    require(host_parse((struct slice){question->name, question->name_length}, &host, NULL));
    require(decide_connect(judge->policy, &host, question->port).allowed);
    for (unsigned i = 0; i < question->address_count && !host.is_address; i++) {
        if (verdict->usable & 1U << i)
            require(!guard_refuses(&judge->guard, &question->addresses[i], question->port));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct policy policy = {.arena = &arena, .network.mode = NETWORK_FILTERED};
    struct net_judge judge = {.policy = &policy, .tell = check_event};
    struct net_question question;
    struct net_verdict verdict;
    int link[2];

    add(&policy, &policy.network.allowed, "*.example");
    add(&policy, &policy.network.allowed, "192.0.2.0/24:80");
    add(&policy, &policy.network.denied, "bad.example");
    require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, link) == 0);
    require(size == 0 || send(link[1], data, size, 0) == (ssize_t)size);
    bool served = net_judge_serve(&judge, link[0]);
    if (size > 0)
        require(served == false || size == sizeof question);
    if (served && size == sizeof question) {
        memcpy(&question, data, sizeof question);
        bool told = question.kind == NET_TELL_CLOSED || question.kind == NET_TELL_REFUSED;
        ssize_t length = recv(link[1], &verdict, sizeof verdict, 0);
        require(told ? length < 0 : length == (ssize_t)sizeof verdict);
        if (!told)
            check_verdict(&judge, &question, &verdict);
    }
    guard_close(&judge.guard);
    close(link[0]);
    close(link[1]);
    return 0;
}
