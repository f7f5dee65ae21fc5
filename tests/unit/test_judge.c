/* What the supervisor answers the network process. */
#include "net/judge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct court {
    struct arena arena;
    struct policy policy;
    struct net_judge judge;
    int link[2];
    struct net_event last;
    unsigned events;
    enum net_appeal appeal;
    unsigned appeals;
    struct net_question asked;
};

static void remember(void *argument, const struct net_event *event)
{
    struct court *court = argument;

    court->last = *event;
    court->events++;
}

static void add(struct court *court, struct host_rules *list, const char *text)
{
    struct host_rule rule = {.text = slice_of(text), .origin = {"test", "network"}};

    assert_true(host_pattern_parse(rule.text, &rule.pattern, NULL));
    policy_add_host(&court->policy, list, rule);
}

static int open_court(void **state)
{
    struct court *court = test_calloc(1, sizeof *court);

    court->policy.arena = &court->arena;
    court->policy.network.mode = NETWORK_FILTERED;
    add(court, &court->policy.network.allowed, "good.example");
    add(court, &court->policy.network.allowed, "*.sub.example:443");
    add(court, &court->policy.network.allowed, "192.0.2.1");
    add(court, &court->policy.network.allowed, "127.5.0.0/16");
    add(court, &court->policy.network.denied, "bad.sub.example");
    court->judge = (struct net_judge){.policy = &court->policy, .tell = remember, .argument = court};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, court->link), 0);
    *state = court;
    return 0;
}

static int close_court(void **state)
{
    struct court *court = *state;

    close(court->link[0]);
    close(court->link[1]);
    guard_close(&court->judge.guard);
    arena_free(&court->arena);
    test_free(court);
    return 0;
}

static struct net_question question_of(enum net_question_kind kind, const char *name, uint16_t port)
{
    struct net_question question = {.kind = kind, .id = 7, .protocol = NET_TRANSPARENT, .port = port};

    question.name_length = (uint8_t)strlen(name);
    memcpy(question.name, name, question.name_length);
    return question;
}

static void add_address(struct net_question *question, const char *text)
{
    assert_true(address_parse(slice_of(text), &question->addresses[question->address_count++], NULL));
}

static struct net_verdict ask(struct court *court, const struct net_question *question)
{
    struct net_verdict verdict;

    assert_int_equal(send(court->link[1], question, sizeof *question, 0), sizeof *question);
    assert_true(net_judge_serve(&court->judge, court->link[0]));
    assert_int_equal(recv(court->link[1], &verdict, sizeof verdict, 0), sizeof verdict);
    assert_int_equal(verdict.id, question->id);
    return verdict;
}

static void test_a_host_is_let_out_at_the_ports_its_rule_names(void **state)
{
    static const struct {
        const char *name;
        uint16_t port;
        enum net_refusal refusal;
    } cases[] = {
        {"good.example", 80, NET_NOT_REFUSED},     {"good.example", 5432, NET_NOT_REFUSED},
        {"a.sub.example", 443, NET_NOT_REFUSED},   {"a.sub.example", 80, NET_NOT_ALLOWED},
        {"sub.example", 443, NET_NOT_ALLOWED},     {"bad.sub.example", 443, NET_NOT_ALLOWED},
        {"evilgood.example", 80, NET_NOT_ALLOWED}, {"192.0.2.1", 80, NET_NOT_REFUSED},
        {"192.0.2.2", 80, NET_NOT_ALLOWED},
    };
    struct court *court = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct net_question question = question_of(NET_ASK_CONNECT, cases[i].name, cases[i].port);
        court->events = 0;
        struct net_verdict verdict = ask(court, &question);
        assert_int_equal(verdict.refusal, cases[i].refusal);
        assert_int_equal(court->events, cases[i].refusal ? 1 : 0);
    }
}

static void test_a_refusal_says_why_to_the_client_and_to_the_log(void **state)
{
    struct court *court = *state;
    struct net_question question = question_of(NET_ASK_CONNECT, "other.example", 443);
    struct net_verdict verdict = ask(court, &question);

    assert_true(slice_is((struct slice){verdict.reason, verdict.reason_length}, "host is not on the allow list"));
    assert_int_equal(court->last.refusal, NET_NOT_ALLOWED);
    assert_int_equal(court->last.port, 443);
    court->policy.network.denied.items[0].reason = SLICE("no such thing here");
    question = question_of(NET_ASK_CONNECT, "bad.sub.example", 443);
    verdict = ask(court, &question);
    assert_true(slice_is((struct slice){verdict.reason, verdict.reason_length}, "no such thing here"));
}

static void test_of_resolved_addresses_only_the_harmless_are_usable(void **state)
{
    struct court *court = *state;
    struct net_question question = question_of(NET_ASK_ADDRESSES, "good.example", 80);

    add_address(&question, "127.0.0.1");
    add_address(&question, "192.0.2.9");
    add_address(&question, "::1");
    add_address(&question, "2001:db8::9");
    struct net_verdict verdict = ask(court, &question);
    assert_int_equal(verdict.refusal, NET_NOT_REFUSED);
    assert_int_equal(verdict.usable, 0xa);
}

/* Attack 79. */
static void test_a_name_that_leads_only_to_this_machine_is_refused(void **state)
{
    struct court *court = *state;
    struct net_question question = question_of(NET_ASK_ADDRESSES, "good.example", 80);

    add_address(&question, "127.0.0.1");
    add_address(&question, "::1");
    struct net_verdict verdict = ask(court, &question);
    assert_int_equal(verdict.refusal, NET_BAD_ADDRESS);
    assert_int_equal(verdict.usable, 0);
    assert_true(slice_is((struct slice){verdict.reason, verdict.reason_length}, "resolved to a loopback address"));
}

static void test_an_address_that_is_named_is_not_guarded_but_one_under_a_star_is(void **state)
{
    struct court *court = *state;
    struct net_question question = question_of(NET_ASK_CONNECT, "127.5.0.1", 80);

    assert_int_equal(ask(court, &question).refusal, NET_NOT_REFUSED);
    add(court, &court->policy.network.allowed, "*");
    question = question_of(NET_ASK_CONNECT, "169.254.169.254", 80);
    assert_int_equal(ask(court, &question).refusal, NET_BAD_ADDRESS);
    question = question_of(NET_ASK_CONNECT, "198.51.100.1", 80);
    assert_int_equal(ask(court, &question).refusal, NET_NOT_REFUSED);
}

static void test_a_name_is_resolved_if_any_port_of_it_is_allowed(void **state)
{
    struct court *court = *state;
    struct net_question question = question_of(NET_ASK_DNS, "a.sub.example", 0);

    assert_int_equal(ask(court, &question).refusal, NET_NOT_REFUSED);
    question = question_of(NET_ASK_DNS, "other.example", 0);
    assert_int_equal(ask(court, &question).refusal, NET_NOT_ALLOWED);
}

static void test_the_parent_proxy_is_the_way_out_unless_excepted(void **state)
{
    struct court *court = *state;
    struct net_question question = question_of(NET_ASK_CONNECT, "good.example", 80);

    court->judge.parent_https.port = 3128;
    assert_int_equal(ask(court, &question).route, NET_PARENT);
    question.protocol = NET_HTTP;
    assert_int_equal(ask(court, &question).route, NET_DIRECT);
    court->judge.parent_http.port = 3128;
    assert_int_equal(ask(court, &question).route, NET_PARENT);
    court->policy.network.parent_proxy.no_proxy = SLICE("other.example, .example");
    assert_int_equal(ask(court, &question).route, NET_DIRECT);
    court->policy.network.parent_proxy.no_proxy = SLICE("ood.example");
    assert_int_equal(ask(court, &question).route, NET_PARENT);
    question = question_of(NET_ASK_CONNECT, "127.0.0.1", 80);
    assert_int_equal(ask(court, &question).route, NET_DIRECT);
}

/* S believes nothing that N says. */
static void test_what_the_network_process_never_says_ends_it(void **state)
{
    static const char *const names[] = {"GOOD.example",      "good.example.", "a..b",   "a b",  "",
                                        "user@good.example", "127.1",         "0x7f.1", "[::1]"};
    struct court *court = *state;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct net_question question = question_of(NET_ASK_CONNECT, names[i], 80);
        assert_int_equal(send(court->link[1], &question, sizeof question, 0), sizeof question);
        assert_false(net_judge_serve(&court->judge, court->link[0]));
    }
    struct net_question question = question_of(NET_ASK_CONNECT, "good.example", 80);
    question.address_count = NET_ADDRESSES_MAX + 1;
    send(court->link[1], &question, sizeof question, 0);
    assert_false(net_judge_serve(&court->judge, court->link[0]));
    question = question_of((enum net_question_kind)99, "good.example", 80);
    send(court->link[1], &question, sizeof question, 0);
    assert_false(net_judge_serve(&court->judge, court->link[0]));
    send(court->link[1], &question, sizeof question - 1, 0);
    assert_false(net_judge_serve(&court->judge, court->link[0]));
    assert_int_equal(court->events, 0);
}

/* Says what the test told it to, and keeps what it was asked. */
static enum net_appeal appeal_to(void *argument, const struct net_question *question)
{
    struct court *court = argument;

    court->asked = *question;
    court->appeals++;
    return court->appeal;
}

static bool put_off(void *argument, const struct net_question *question)
{
    struct court *court = argument;

    court->asked = *question;
    return true;
}

static void serve_without_verdict(struct court *court, const struct net_question *question)
{
    struct net_verdict verdict;

    assert_int_equal(send(court->link[1], question, sizeof *question, 0), sizeof *question);
    assert_true(net_judge_serve(&court->judge, court->link[0]));
    assert_int_equal(recv(court->link[1], &verdict, sizeof verdict, 0), -1);
    assert_int_equal(court->events, 0);
}

static struct net_verdict resume(struct court *court, const struct net_answer *answer)
{
    struct net_verdict verdict;

    assert_true(net_judge_resume(&court->judge, court->link[0], &court->asked, answer));
    assert_int_equal(recv(court->link[1], &verdict, sizeof verdict, 0), sizeof verdict);
    return verdict;
}

static void test_what_no_list_names_waits_for_an_answer(void **state)
{
    struct court *court = *state;
    const struct net_question question = question_of(NET_ASK_CONNECT, "other.example", 443);
    const struct net_answer yes = {.allowed = true};
    const struct net_answer no = {.reason = SLICE("not today")};

    court->judge.appeal = appeal_to;
    court->appeal = NET_APPEALED;
    serve_without_verdict(court, &question);
    assert_int_equal(resume(court, &yes).refusal, NET_NOT_REFUSED);
    assert_int_equal(court->events, 0);
    serve_without_verdict(court, &question);
    struct net_verdict verdict = resume(court, &no);
    assert_int_equal(verdict.refusal, NET_NOT_ALLOWED);
    assert_true(slice_is((struct slice){verdict.reason, verdict.reason_length}, "not today"));
    assert_int_equal(court->events, 1);
}

static void test_what_a_list_decides_is_asked_of_nobody(void **state)
{
    struct court *court = *state;
    const struct net_answer yes = {.allowed = true};

    court->judge.appeal = appeal_to;
    court->appeal = NET_GRANTED;
    struct net_question question = question_of(NET_ASK_CONNECT, "good.example", 80);
    assert_int_equal(ask(court, &question).refusal, NET_NOT_REFUSED);
    question = question_of(NET_ASK_CONNECT, "bad.sub.example", 443);
    assert_int_equal(ask(court, &question).refusal, NET_NOT_ALLOWED);
    assert_int_equal(court->appeals, 0);
    /* Denied by name since it was asked about. */
    court->asked = question;
    assert_int_equal(resume(court, &yes).refusal, NET_NOT_ALLOWED);
}

/* Attack 81: a query would tell the name. */
static void test_a_name_that_may_be_granted_later_is_not_resolved_yet(void **state)
{
    struct court *court = *state;
    const struct net_question question = question_of(NET_ASK_DNS, "other.example", 0);

    court->judge.appeal = appeal_to;
    court->appeal = NET_GRANTED;
    struct net_verdict verdict = ask(court, &question);
    assert_int_equal(verdict.refusal, NET_NOT_REFUSED);
    assert_int_not_equal(verdict.route, NET_DIRECT);
    court->appeal = NET_NO_APPEAL;
    assert_int_equal(ask(court, &question).refusal, NET_NOT_ALLOWED);
}

static void test_a_granted_name_must_not_lead_to_this_machine_but_a_granted_address_may_be_it(void **state)
{
    struct court *court = *state;
    struct net_question question = question_of(NET_ASK_ADDRESSES, "other.example", 80);

    court->judge.appeal = appeal_to;
    court->appeal = NET_GRANTED;
    add_address(&question, "127.0.0.1");
    assert_int_equal(ask(court, &question).refusal, NET_BAD_ADDRESS);
    question = question_of(NET_ASK_CONNECT, "127.0.0.9", 80);
    add_address(&question, "127.0.0.9");
    assert_int_equal(ask(court, &question).usable, 1);
}

static void test_a_question_that_is_put_off_is_judged_by_the_policy_of_then(void **state)
{
    struct court *court = *state;
    const struct net_question question = question_of(NET_ASK_CONNECT, "good.example", 80);

    court->judge.postpone = put_off;
    serve_without_verdict(court, &question);
    assert_int_equal(resume(court, NULL).refusal, NET_NOT_REFUSED);
    serve_without_verdict(court, &question);
    add(court, &court->policy.network.denied, "good.example");
    assert_int_equal(resume(court, NULL).refusal, NET_NOT_ALLOWED);
}

int main(void)
{
#define IN_COURT(test) cmocka_unit_test_setup_teardown(test, open_court, close_court)
    const struct CMUnitTest tests[] = {
        IN_COURT(test_a_host_is_let_out_at_the_ports_its_rule_names),
        IN_COURT(test_a_refusal_says_why_to_the_client_and_to_the_log),
        IN_COURT(test_of_resolved_addresses_only_the_harmless_are_usable),
        IN_COURT(test_a_name_that_leads_only_to_this_machine_is_refused),
        IN_COURT(test_an_address_that_is_named_is_not_guarded_but_one_under_a_star_is),
        IN_COURT(test_a_name_is_resolved_if_any_port_of_it_is_allowed),
        IN_COURT(test_the_parent_proxy_is_the_way_out_unless_excepted),
        IN_COURT(test_what_the_network_process_never_says_ends_it),
        IN_COURT(test_what_no_list_names_waits_for_an_answer),
        IN_COURT(test_what_a_list_decides_is_asked_of_nobody),
        IN_COURT(test_a_name_that_may_be_granted_later_is_not_resolved_yet),
        IN_COURT(test_a_granted_name_must_not_lead_to_this_machine_but_a_granted_address_may_be_it),
        IN_COURT(test_a_question_that_is_put_off_is_judged_by_the_policy_of_then),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
