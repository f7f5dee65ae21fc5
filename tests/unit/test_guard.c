/* What a name may not lead to. */
#include "net/guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* As it comes from the wire: IPv4-mapped stays IPv6, unlike what address_parse gives. */
static struct address address_of(const char *text)
{
    struct address address;
    struct error err;

    if (strncmp(text, "::ffff:", 7) == 0 && strchr(text, '.')) {
        struct address inner = address_of(text + 7);
        address = (struct address){.v6 = true, .bytes = {[10] = 0xff, [11] = 0xff}};
        memcpy(address.bytes + 12, inner.bytes, 4);
        return address;
    }
    if (!address_parse(slice_of(text), &address, &err))
        fail_msg("%s: %s", text, err.text);
    return address;
}

static const char *judged(const struct guard *guard, const char *text)
{
    struct address address = address_of(text);

    return guard_refuses(guard, &address, 443);
}

static void test_addresses_of_this_machine_and_its_link_are_refused(void **state)
{
    static const struct {
        const char *text;
        const char *what;
    } cases[] = {
        {"127.0.0.1", "a loopback address"},
        {"127.255.255.255", "a loopback address"},
        {"::1", "a loopback address"},
        {"0.0.0.0", "an unspecified address"},
        {"0.1.2.3", "an unspecified address"},
        {"::", "an unspecified address"},
        {"169.254.0.1", "a link-local address"},
        {"169.254.169.254", "a link-local address"},
        {"fe80::1", "a link-local address"},
        {"fd00:ec2::254", "a cloud metadata address"},
        {"224.0.0.1", "a multicast address"},
        {"239.255.255.250", "a multicast address"},
        {"ff02::1", "a multicast address"},
        {"255.255.255.255", "the broadcast address"},
        {"100.100.100.200", "a cloud metadata address"},
        {"168.63.129.16", "a cloud metadata address"},
        {"192.0.0.192", "a cloud metadata address"},
        {"fd00:ec2::23", "a cloud metadata address"},
        {"fd20:ce::254", "a cloud metadata address"},
        {"fd00:c1::a9fe:a9fe", "a cloud metadata address"},
        {"fd00:42::42", "a cloud metadata address"},
        {"fd00:a9fe:a9fe::1", "a cloud metadata address"},
        {"fd00:100::100:200", "a cloud metadata address"},
    };
    const struct guard guard = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *what = judged(&guard, cases[i].text);
        if (!what || strcmp(what, cases[i].what) != 0)
            fail_msg("%s: %s", cases[i].text, what ? what : "allowed");
    }
}

static void test_ordinary_addresses_pass(void **state)
{
    static const char *const cases[] = {"1.1.1.1",         "10.0.0.1",       "192.168.1.1",      "128.0.0.1",
                                        "126.255.255.255", "169.253.0.1",    "223.0.0.1",        "2606:4700::1111",
                                        "fd00::1",         "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"};
    const struct guard guard = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (judged(&guard, cases[i]))
            fail_msg("%s: %s", cases[i], judged(&guard, cases[i]));
    }
}

/* Attack 80. */
static void test_ipv4_hidden_in_ipv6_has_the_same_verdict(void **state)
{
    static const char *const cases[] = {
        "::ffff:127.0.0.1",      "::ffff:169.254.169.254",    "::127.0.0.1",
        "64:ff9b::7f00:1",       "64:ff9b:1::7f00:1",         "2002:7f00:1::",
        "2002:a9fe:a9fe::1",     "::ffff:0:7f00:1",           "2001:0:1:2:3:4:80ff:fffe",
        "2001:db8::5efe:7f00:1", "2001:db8::200:5efe:7f00:1",
    };
    const struct guard guard = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!judged(&guard, cases[i]))
            fail_msg("%s is allowed", cases[i]);
    }
}

static void add_rule(struct host_rules *rules, struct host_rule *rule, const char *text)
{
    struct error err;

    *rule = (struct host_rule){0};
    assert_true(host_pattern_parse(slice_of(text), &rule->pattern, &err));
    *rules = (struct host_rules){.items = rule, .count = 1};
}

static void test_what_the_policy_denies_as_an_address_is_refused_as_a_result(void **state)
{
    struct host_rule denied_rule;
    struct host_rule resolved_rule;
    struct host_rules denied;
    struct host_rules resolved;
    struct address own[] = {address_of("203.0.113.7")};
    struct guard guard = {.denied = &denied, .denied_resolved = &resolved, .own = own, .own_count = 1};

    (void)state;
    add_rule(&denied, &denied_rule, "198.51.100.4");
    add_rule(&resolved, &resolved_rule, "10.0.0.0/8");
    assert_string_equal(judged(&guard, "198.51.100.4"), "a deny-listed address");
    assert_string_equal(judged(&guard, "10.9.8.7"), "a listed address");
    assert_string_equal(judged(&guard, "::ffff:10.9.8.7"), "a listed address");
    assert_string_equal(judged(&guard, "203.0.113.7"), "one of this host's addresses");
    assert_string_equal(judged(&guard, "64:ff9b::cb00:7107"), "one of this host's addresses");
    assert_null(judged(&guard, "198.51.100.5"));
    assert_null(judged(&guard, "11.0.0.1"));
    assert_null(judged(&guard, "203.0.113.8"));
}

/* A list that allows and one that denies, of one rule at the most. */
struct lists {
    struct host_rule allowed_rule;
    struct host_rule denied_rule;
    struct host_rules allowed;
    struct host_rules denied;
};

static void allow_only(struct lists *lists, const char *text)
{
    add_rule(&lists->allowed, &lists->allowed_rule, text);
}

static void deny_only(struct lists *lists, const char *text)
{
    add_rule(&lists->denied, &lists->denied_rule, text);
}

static void test_an_address_that_is_allowed_by_itself_may_be_a_result(void **state)
{
    struct lists lists = {0};
    const struct guard guard = {.allowed = &lists.allowed, .denied = &lists.denied};

    (void)state;
    allow_only(&lists, "127.0.0.1:443");
    assert_null(judged(&guard, "127.0.0.1"));
    assert_non_null(judged(&guard, "127.0.0.2"));
    deny_only(&lists, "127.0.0.0/8");
    assert_string_equal(judged(&guard, "127.0.0.1"), "a deny-listed address");
    lists.denied.count = 0;
    allow_only(&lists, "127.0.0.1:80");
    assert_non_null(judged(&guard, "127.0.0.1"));
    allow_only(&lists, "*");
    assert_non_null(judged(&guard, "127.0.0.1"));
    allow_only(&lists, "0.0.0.1");
    assert_non_null(judged(&guard, "::1"));
}

static bool means_this_machine(const struct guard *guard, const char *name)
{
    struct host host;
    struct error err;

    assert_true(host_parse(slice_of(name), &host, &err));
    return guard_names_own(guard, &host, 443);
}

static const char *judged_as_own(const struct guard *guard, const char *text)
{
    struct address address = address_of(text);

    return guard_refuses_own(guard, &address, 443);
}

static void test_localhost_is_this_machine_where_the_policy_names_it(void **state)
{
    struct lists lists = {0};
    const struct guard guard = {.allowed = &lists.allowed, .denied = &lists.denied};

    (void)state;
    allow_only(&lists, "*");
    assert_false(means_this_machine(&guard, "localhost"));
    allow_only(&lists, "*.localhost");
    assert_true(means_this_machine(&guard, "app.localhost"));
    assert_false(means_this_machine(&guard, "localhost"));
    allow_only(&lists, "localhost:443");
    assert_true(means_this_machine(&guard, "localhost"));
    assert_false(means_this_machine(&guard, "localhost.test"));
    assert_false(means_this_machine(&guard, "127.0.0.1"));
    assert_null(judged_as_own(&guard, "127.0.0.1"));
    assert_null(judged_as_own(&guard, "::1"));
    assert_string_equal(judged_as_own(&guard, "192.0.2.1"), "a non-loopback address");
    deny_only(&lists, "127.0.0.1");
    assert_string_equal(judged_as_own(&guard, "127.0.0.1"), "a deny-listed address");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses_of_this_machine_and_its_link_are_refused),
        cmocka_unit_test(test_ordinary_addresses_pass),
        cmocka_unit_test(test_ipv4_hidden_in_ipv6_has_the_same_verdict),
        cmocka_unit_test(test_what_the_policy_denies_as_an_address_is_refused_as_a_result),
        cmocka_unit_test(test_an_address_that_is_allowed_by_itself_may_be_a_result),
        cmocka_unit_test(test_localhost_is_this_machine_where_the_policy_names_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
