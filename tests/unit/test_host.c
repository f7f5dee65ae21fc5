/* Host names, addresses and host patterns: one canonical form, everything that
 * could be read two ways refused with its reason. */
#include "policy/host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define LABEL_63 "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0"

struct refusal {
    struct slice text;
    const char *reason;
};

static void assert_says(const struct error *err, struct slice text, const char *reason)
{
    if (!strstr(err->text, reason))
        fail_msg("for \"%.*s\": \"%s\" does not say \"%s\"", (int)text.len, text.ptr, err->text, reason);
}

static struct host parsed(const char *text)
{
    struct host host;
    struct error err = {""};

    if (!host_parse(slice_of(text), &host, &err))
        fail_msg("%s", err.text);
    assert_int_equal(strlen(host.name), host.name_length);
    return host;
}

static void test_names_have_one_canonical_form(void **state)
{
    static const struct {
        const char *text, *name;
    } cases[] = {
        {"example.com", "example.com"},
        {"Example.COM", "example.com"},
        {"example.com.", "example.com"},
        {"localhost", "localhost"},
        {"a", "a"},
        {"a-b.c--d.example", "a-b.c--d.example"},
        {"r3---sn-x.example.com", "r3---sn-x.example.com"},
        {"_dmarc.example.com", "_dmarc.example.com"},
        {"my_host", "my_host"},
        {"1.example", "1.example"},
        {"1password.com", "1password.com"},
        {"0x7f.example", "0x7f.example"},
        {"4chan", "4chan"},
        {"0xfg", "0xfg"},
        {"x0x1", "x0x1"},
        {"XN--MNCHEN-3YA.de", "xn--mnchen-3ya.de"},
        {"m\u00fcnchen.de", "xn--mnchen-3ya.de"},
        {"M\u00dcNCHEN.de.", "xn--mnchen-3ya.de"},
        {"mu\u0308nchen.de", "xn--mnchen-3ya.de"},                     /* u and a combining diaeresis */
        {"fa\u00df.de", "xn--fa-hia.de"},                              /* nontransitional keeps the sharp s */
        {"\u4f8b\u5b50\u3002\u6d4b\u8bd5", "xn--fsqu00a.xn--0zwm56d"}, /* ideographic full stop */
        {"_x.m\u00fcnchen.de", "_x.xn--mnchen-3ya.de"},
        {"\uff45xample.com", "example.com"},  /* full-width e */
        {"exa\u00admple.com", "example.com"}, /* soft hyphen */
        {LABEL_63 ".com", LABEL_63 ".com"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct host host = parsed(cases[i].text);
        assert_false(host.is_address);
        assert_string_equal(host.name, cases[i].name);
    }
}

static void test_addresses_have_one_canonical_form(void **state)
{
    static const struct {
        const char *text, *name;
        bool v6;
    } cases[] = {
        {"127.0.0.1", "127.0.0.1", false},
        {"0.0.0.0", "0.0.0.0", false},
        {"255.255.255.255", "255.255.255.255", false},
        {"::", "::", true},
        {"::1", "::1", true},
        {"[::1]", "::1", true},
        {"2001:DB8:0:0:0:0:0:1", "2001:db8::1", true},
        {"2001:0db8::0001", "2001:db8::1", true},
        {"[fe80::1]", "fe80::1", true},
        {"1:0:0:2:0:0:0:3", "1:0:0:2::3", true},
        {"1:0:0:2:0:0:3:4", "1::2:0:0:3:4", true},
        {"1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7", true},
        {"0:1:2:3:4:5:6:0", "0:1:2:3:4:5:6:0", true},
        {"0:0:1::", "0:0:1::", true},
        {"1:2::", "1:2::", true},
        {"::1:80", "::1:80", true},
        {"::ffff:10.0.0.1", "10.0.0.1", false},
        {"::ffff:0a00:0001", "10.0.0.1", false},
        {"[0:0:0:0:0:ffff:10.0.0.1]", "10.0.0.1", false},
        {"64:ff9b::10.0.0.1", "64:ff9b::a00:1", true},
        {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true},
        {"ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct host host = parsed(cases[i].text);
        assert_true(host.is_address);
        assert_int_equal(host.address.v6, cases[i].v6);
        assert_string_equal(host.name, cases[i].name);
    }
}

static void test_lengths_are_counted_exactly(void **state)
{
    char name[300];
    struct host host;
    struct error err;
    (void)state;

    /* 253 characters, and one more; the trailing dot does not count. */
    for (size_t i = 0; i < sizeof name; i++)
        name[i] = i % 50 == 49 ? '.' : 'a';
    assert_true(host_parse((struct slice){name, 253}, &host, &err));
    assert_int_equal(host.name_length, 253);
    assert_false(host_parse((struct slice){name, 254}, &host, &err));
    assert_says(&err, (struct slice){name, 254}, "longer than the 253");
    name[253] = '.';
    assert_true(host_parse((struct slice){name, 254}, &host, &err));

    memset(name, 'a', 64);
    assert_true(host_parse((struct slice){name, 63}, &host, &err));
    assert_false(host_parse((struct slice){name, 64}, &host, &err));
    assert_says(&err, (struct slice){name, 64}, "a label of 64");
}

static void test_hostile_hosts_are_refused_by_name(void **state)
{
    char labels[600];
    char huge[70000];
    char wide[400];
    for (size_t i = 0; i < sizeof labels; i++)
        labels[i] = i % 2 ? '.' : 'a';
    memset(huge, 'a', sizeof huge);
    for (size_t i = 0; i < sizeof wide; i++)
        wide[i] = i % 2 ? '\xbc' : '\xc3';
    const struct refusal cases[] = {
        {SLICE(""), "empty"},
        {SLICE("evil.com\0.good.com"), "NUL"},
        {SLICE("\0"), "NUL"},
        {SLICE("127.0.0.1\0"), "NUL"},
        {SLICE("::1\0"), "NUL"},
        {SLICE("a\x01.com"), "control character (0x01)"},
        {SLICE("a\x7f.com"), "control character (0x7f)"},
        {SLICE("a\x1b[0m"), "control character (0x1b)"},
        {SLICE("a b"), "white space"},
        {SLICE(" a"), "white space"},
        {SLICE("a\n"), "white space"},
        {SLICE("a\r\nHost: b"), "white space"},
        {SLICE("a\t"), "white space"},
        {SLICE("."), "empty label"},
        {SLICE(".."), "empty label"},
        {SLICE(".a"), "empty label"},
        {SLICE("a..b"), "empty label"},
        {SLICE("a.."), "empty label"},
        {SLICE("m\u00fc..de"), "empty label"},
        {SLICE("-a.com"), "hyphen"},
        {SLICE("a-.com"), "hyphen"},
        {SLICE("a.-"), "hyphen"},
        {SLICE("-\u00fc.com"), "hyphen"},
        {SLICE("0x7f.1"), "hexadecimal"},
        {SLICE("0x7f000001"), "hexadecimal"},
        {SLICE("1.0x"), "hexadecimal"},
        {SLICE("0X7F.0.0.1"), "hexadecimal"},
        {SLICE("2130706433"), "1 of the four"},
        {SLICE("127.1"), "2 of the four"},
        {SLICE("1.2.3.4.5"), "5 of the four"},
        {SLICE("010.0.0.1"), "leading zero"},
        {SLICE("0.0.0.00"), "leading zero"},
        {SLICE("256.0.0.1"), "above 255"},
        {SLICE("1.2.3.1000"), "above 255"},
        {SLICE("99999999999999999999999.0.0.1"), "above 255"},
        {SLICE("127.0.0.1."), "dot behind an address"},
        {SLICE("1..2.3"), "number"},
        {SLICE("example.1"), "ends in a number"},
        {SLICE("example.0x1"), "ends in a number"},
        {SLICE("example.1."), "ends in a number"},
        {SLICE("m\u00fcnchen.5"), "ends in a number"},
        {SLICE("\uff11\uff12\uff17.0.0.1"), "ends in a number"}, /* full-width digits */
        {SLICE("127.0.0.\uff11"), "read as an address"},
        {SLICE("127\uff0e0\uff0e0\uff0e1"), "read as an address"}, /* full-width dots */
        {SLICE("fe80::1%eth0"), "zone id"},
        {SLICE("[fe80::1%25eth0]"), "zone id"},
        {SLICE("a%2ecom"), "percent sign"},
        {SLICE("%"), "percent sign"},
        {SLICE("user@host"), "user name"},
        {SLICE("user:pw@host"), "user name"},
        {SLICE("https://x"), "scheme"},
        {SLICE("https://user@x/y"), "scheme"},
        {SLICE("x/y"), "slash"},
        {SLICE("x/"), "slash"},
        {SLICE("10.0.0.0/8"), "slash"},
        {SLICE("\u2100.com"), "slash"}, /* maps to a/c */
        {SLICE("\uff05.com"), "0x25"},  /* full-width percent sign */
        {SLICE("a\\b"), "0x5c"},
        {SLICE("a?b"), "0x3f"},
        {SLICE("a#b"), "0x23"},
        {SLICE("a,b"), "0x2c"},
        {SLICE("*"), "wildcard"},
        {SLICE("*.a"), "wildcard"},
        {SLICE("[::1"), "brackets"},
        {SLICE("::1]"), "brackets"},
        {SLICE("[[::1]]"), "brackets"},
        {SLICE("[]"), "brackets"},
        {SLICE("]["), "brackets"},
        {SLICE("[a.com]"), "brackets"},
        {SLICE("[127.0.0.1]"), "brackets"},
        {SLICE("[::1]x"), "behind its brackets"},
        {SLICE("[::1]."), "behind its brackets"},
        {SLICE("x[::1]"), "brackets"},
        {SLICE("a:80"), "has a port"},
        {SLICE("[::1]:80"), "has a port"},
        {SLICE("a:b"), "not a number from 1 to 65535"},
        {SLICE(":::"), "not an IPv6 address"},
        {SLICE("::1::"), "not an IPv6 address"},
        {SLICE("1:2:3:4:5:6:7"), "not an IPv6 address"},
        {SLICE("1:2:3:4:5:6:7:8:9"), "not an IPv6 address"},
        {SLICE("12345::"), "not an IPv6 address"},
        {SLICE("::g"), "not an IPv6 address"},
        {SLICE("::1."), "not an IPv6 address"},
        {SLICE("::ffff:010.0.0.1"), "not an IPv6 address"},
        {SLICE("::ffff:127.1"), "not an IPv6 address"},
        {SLICE("1.2.3.4::"), "not an IPv6 address"},
        {SLICE("0000000000000000000000000000000000000000000000::1"), "longer than any IPv6 address"},
        {SLICE("\xff.com"), "not UTF-8"},
        {SLICE("\xc3"), "not UTF-8"},
        {SLICE("\xc0\x80.com"), "not UTF-8"},
        {SLICE("\u202ecom"), "may not have"},
        {SLICE("\u00ad"), "no host name"},
        {{labels, sizeof labels - 1}, "longer than the 253"}, /* 300 labels */
        {{huge, sizeof huge}, "longer than the 253"},
        {{wide, sizeof wide}, "too long"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct host host;
        struct error err = {""};
        if (host_parse(cases[i].text, &host, &err))
            fail_msg("\"%.*s\" was accepted as %s", (int)cases[i].text.len, cases[i].text.ptr, host.name);
        assert_says(&err, cases[i].text, cases[i].reason);
        for (const char *at = err.text; *at; at++)
            assert_true((unsigned char)*at >= 0x20 && *at != 0x7f);
    }
}

static void test_host_and_port_are_taken_apart(void **state)
{
    static const struct {
        const char *text, *name;
        uint16_t port;
    } cases[] = {
        {"a.com", "a.com", 0},         {"a.com:1", "a.com", 1},
        {"A.com.:443", "a.com", 443},  {"a.com:65535", "a.com", 65535},
        {"1.2.3.4:80", "1.2.3.4", 80}, {"[::1]:80", "::1", 80},
        {"[::1]", "::1", 0},           {"::1", "::1", 0},
        {"::1:80", "::1:80", 0},       {"[::ffff:1.2.3.4]:80", "1.2.3.4", 80},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct host host;
        uint16_t port = 7;
        struct error err = {""};
        if (!host_port_parse(slice_of(cases[i].text), &host, &port, &err))
            fail_msg("%s", err.text);
        assert_string_equal(host.name, cases[i].name);
        assert_int_equal(port, cases[i].port);
    }
}

static void test_hostile_ports_are_refused_by_name(void **state)
{
    static const struct refusal cases[] = {
        {SLICE("a:0"), "1 to 65535"},
        {SLICE("a:65536"), "1 to 65535"},
        {SLICE("a:99999999999999999999"), "1 to 65535"},
        {SLICE("a:80x"), "1 to 65535"},
        {SLICE("a:x"), "1 to 65535"},
        {SLICE("a:-1"), "1 to 65535"},
        {SLICE("a:+80"), "1 to 65535"},
        {SLICE("a:080"), "leading zeros"},
        {SLICE("a: 80"), "white space"},
        {SLICE("a:80\0"), "NUL"},
        {SLICE("a:"), "no port"},
        {SLICE("[::1]:"), "no port"},
        {SLICE(":80"), "no host name"},
        {SLICE(":"), "no port"},
        {SLICE("[::1]80"), "behind its brackets"},
        {SLICE("a:80:90"), "not an IPv6 address"},
        {SLICE("https://a:80"), "scheme"},
        {SLICE("a:80/path"), "1 to 65535"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct host host;
        uint16_t port;
        struct error err = {""};
        assert_false(host_port_parse(cases[i].text, &host, &port, &err));
        assert_says(&err, cases[i].text, cases[i].reason);
    }
}

static void test_address_parse_takes_addresses_only(void **state)
{
    static const struct refusal refused[] = {
        {SLICE(""), "empty"},
        {SLICE("a.com"), "not an address"},
        {SLICE("[::1]"), "not an IPv6 address"},
        {SLICE("127.1"), "2 of the four"},
        {SLICE("::1\0"), "NUL"},
        {SLICE("fe80::1%1"), "zone id"},
        {SLICE("1.2.3.4\n"), "white space"},
    };
    struct address address;
    struct error err = {""};
    char printed[46];
    (void)state;

    assert_true(address_parse(SLICE("::ffff:1.2.3.4"), &address, &err));
    assert_false(address.v6);
    address_print(&address, printed);
    assert_string_equal(printed, "1.2.3.4");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_false(address_parse(refused[i].text, &address, &err));
        assert_says(&err, refused[i].text, refused[i].reason);
    }
}

static void test_patterns_are_read_and_printed_canonically(void **state)
{
    static const struct {
        const char *text;
        enum host_pattern_kind kind;
        const char *printed;
    } cases[] = {
        {"*", HOST_PATTERN_ANY, "*"},
        {"*:443", HOST_PATTERN_ANY, "*:443"},
        {"Example.com.", HOST_PATTERN_NAME, "example.com"},
        {"example.com:8080", HOST_PATTERN_NAME, "example.com:8080"},
        {"*.Example.com", HOST_PATTERN_SUBDOMAINS, "*.example.com"},
        {"*.example.com.:80", HOST_PATTERN_SUBDOMAINS, "*.example.com:80"},
        {"*.com", HOST_PATTERN_SUBDOMAINS, "*.com"},
        {"*.m\u00fcnchen.de", HOST_PATTERN_SUBDOMAINS, "*.xn--mnchen-3ya.de"},
        {"10.0.0.1", HOST_PATTERN_ADDRESS, "10.0.0.1"},
        {"10.0.0.1:22", HOST_PATTERN_ADDRESS, "10.0.0.1:22"},
        {"::1", HOST_PATTERN_ADDRESS, "::1"},
        {"[::1]", HOST_PATTERN_ADDRESS, "::1"},
        {"[::1]:22", HOST_PATTERN_ADDRESS, "[::1]:22"},
        {"[::ffff:10.0.0.1]:22", HOST_PATTERN_ADDRESS, "10.0.0.1:22"},
        {"10.0.0.0/8", HOST_PATTERN_NETWORK, "10.0.0.0/8"},
        {"10.0.0.0/8:443", HOST_PATTERN_NETWORK, "10.0.0.0/8:443"},
        {"0.0.0.0/0", HOST_PATTERN_NETWORK, "0.0.0.0/0"},
        {"10.0.0.1/32", HOST_PATTERN_NETWORK, "10.0.0.1/32"},
        {"2001:DB8::/32", HOST_PATTERN_NETWORK, "2001:db8::/32"},
        {"[2001:db8::/32]", HOST_PATTERN_NETWORK, "2001:db8::/32"},
        {"[2001:db8::/32]:443", HOST_PATTERN_NETWORK, "[2001:db8::/32]:443"},
        {"::/0", HOST_PATTERN_NETWORK, "::/0"},
        {"::1/128", HOST_PATTERN_NETWORK, "::1/128"},
        {"::ffff:10.0.0.0/104", HOST_PATTERN_NETWORK, "10.0.0.0/8"},
        {"::ffff:0:0/96", HOST_PATTERN_NETWORK, "0.0.0.0/0"},
        {"::ffff:10.0.0.1/128", HOST_PATTERN_NETWORK, "10.0.0.1/32"},
        {"[::ffff:10.0.0.0/104]:1", HOST_PATTERN_NETWORK, "10.0.0.0/8:1"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct host_pattern pattern;
        struct error err = {""};
        char printed[300];
        if (!host_pattern_parse(slice_of(cases[i].text), &pattern, &err))
            fail_msg("%s", err.text);
        assert_int_equal(pattern.kind, cases[i].kind);
        host_pattern_print(&pattern, printed);
        assert_string_equal(printed, cases[i].printed);
    }
}

static void test_hostile_patterns_are_refused_by_name(void **state)
{
    static const struct refusal cases[] = {
        {SLICE(""), "empty"},
        {SLICE("**"), "wildcard"},
        {SLICE("**.a.com"), "wildcard"},
        {SLICE("*.*.com"), "wildcard"},
        {SLICE("a.*.com"), "wildcard"},
        {SLICE("a.*"), "wildcard"},
        {SLICE("*a.com"), "wildcard"},
        {SLICE("a*.com"), "wildcard"},
        {SLICE("*."), "no host name"},
        {SLICE("*.."), "empty label"},
        {SLICE("*.1.2.3.4"), "read as an address"},
        {SLICE("*.1"), "four"},
        {SLICE("*.example.7"), "ends in a number"},
        {SLICE("*.::1"), "0x3a"},
        {SLICE("[*]"), "brackets"},
        {SLICE("*:0"), "1 to 65535"},
        {SLICE("*:*"), "1 to 65535"},
        {SLICE("example.com:*"), "1 to 65535"},
        {SLICE("https://*.a.com"), "scheme"},
        {SLICE("a.com/path"), "slash"},
        {SLICE("*.a.com/24"), "slash"},
        {SLICE("*/0"), "slash"},
        {SLICE("/8"), "slash"},
        {SLICE("10.0.0.0/"), "0 to 32"},
        {SLICE("10.0.0.0/33"), "0 to 32"},
        {SLICE("10.0.0.0/08"), "0 to 32"},
        {SLICE("10.0.0.0/-1"), "0 to 32"},
        {SLICE("10.0.0.0/8/8"), "0 to 32"},
        {SLICE("10.0.0.0/255.0.0.0"), "0 to 32"},
        {SLICE("10.0.0.0/4294967304"), "0 to 32"},
        {SLICE("2001:db8::/129"), "0 to 128"},
        {SLICE("2001:db8::/32:443"), "[2001:db8::/32]:443"},
        {SLICE("[2001:db8::]/32"), "outside the brackets"},
        {SLICE("[10.0.0.0/8]"), "brackets"},
        {SLICE("10/8"), "1 of the four"},
        {SLICE("10.0.0.5/8"), "write 10.0.0.0/8"},
        {SLICE("10.0.0.0/0"), "write 0.0.0.0/0"},
        {SLICE("192.168.1.1/31"), "write 192.168.1.0/31"},
        {SLICE("2001:db8::1/32"), "write 2001:db8::/32"},
        {SLICE("::ffff:10.0.0.5/104"), "write 10.0.0.0/8"},
        {SLICE("::ffff:10.0.0.0/90"), "write ::ffc0:0:0/90"},
        {SLICE("fe80::%eth0/64"), "zone id"},
        {SLICE("10.0.0.0/8\0"), "NUL"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct host_pattern pattern;
        struct error err = {""};
        if (host_pattern_parse(cases[i].text, &pattern, &err))
            fail_msg("\"%.*s\" was accepted", (int)cases[i].text.len, cases[i].text.ptr);
        assert_says(&err, cases[i].text, cases[i].reason);
    }
}

static void test_patterns_match_what_they_say(void **state)
{
    static const struct {
        const char *pattern, *host;
        uint16_t port;
        bool matches;
    } cases[] = {
        {"*", "example.com", 443, true},
        {"*", "10.0.0.1", 1, true},
        {"*", "::1", 1, true},
        {"*:443", "example.com", 443, true},
        {"*:443", "example.com", 80, false},
        {"*:443", "example.com", 0, true},
        {"example.com", "EXAMPLE.com.", 1, true},
        {"example.com", "a.example.com", 1, false},
        {"example.com", "example.com.evil.org", 1, false},
        {"example.com", "xexample.com", 1, false},
        {"example.com:443", "example.com", 443, true},
        {"example.com:443", "example.com", 80, false},
        {"*.example.com", "a.example.com", 1, true},
        {"*.example.com", "a.b.example.com", 1, true},
        {"*.example.com", "example.com", 1, false},
        {"*.example.com", "aexample.com", 1, false},
        {"*.example.com", "evil-example.com", 1, false},
        {"*.example.com", "a.example.com.evil.org", 1, false},
        {"*.example.com", "com", 1, false},
        {"*.com", "example.com", 1, true},
        {"m\u00fcnchen.de", "xn--mnchen-3ya.de", 1, true},
        {"10.0.0.1", "10.0.0.1", 1, true},
        {"10.0.0.1", "::ffff:10.0.0.1", 1, true},
        {"::ffff:10.0.0.1", "10.0.0.1", 1, true},
        {"10.0.0.1", "10.0.0.2", 1, false},
        {"10.0.0.1", "::10.0.0.1", 1, false},
        {"::1", "0:0:0:0:0:0:0:1", 1, true},
        {"::", "0.0.0.0", 1, false},
        {"10.0.0.0/8", "10.255.255.255", 1, true},
        {"10.0.0.0/8", "11.0.0.0", 1, false},
        {"10.0.0.0/8", "9.255.255.255", 1, false},
        {"10.0.0.0/8", "::ffff:10.1.2.3", 1, true},
        {"10.0.0.0/8:22", "10.1.2.3", 22, true},
        {"10.0.0.0/8:22", "10.1.2.3", 23, false},
        {"192.168.1.128/25", "192.168.1.128", 1, true},
        {"192.168.1.128/25", "192.168.1.127", 1, false},
        {"10.0.0.1/32", "10.0.0.1", 1, true},
        {"10.0.0.1/32", "10.0.0.0", 1, false},
        {"0.0.0.0/0", "1.2.3.4", 1, true},
        {"0.0.0.0/0", "::1", 1, false},
        {"0.0.0.0/0", "example.com", 1, false},
        {"::/0", "::1", 1, true},
        {"::/0", "1.2.3.4", 1, false},
        {"2001:db8::/33", "2001:db8:7fff::", 1, true},
        {"2001:db8::/33", "2001:db8:8000::", 1, false},
        {"::ffff:10.0.0.0/104", "10.1.2.3", 1, true},
        {"::1/128", "::1", 1, true},
        {"::1/128", "::2", 1, false},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct host_pattern pattern;
        struct error err = {""};
        struct host host = parsed(cases[i].host);
        if (!host_pattern_parse(slice_of(cases[i].pattern), &pattern, &err))
            fail_msg("%s", err.text);
        if (host_pattern_matches(&pattern, &host, cases[i].port) != cases[i].matches)
            fail_msg("%s should %smatch %s:%u", cases[i].pattern, cases[i].matches ? "" : "not ", cases[i].host,
                     cases[i].port);
    }
}

static void test_longest_pattern_fits_its_room(void **state)
{
    char text[300] = "*.";
    char printed[300];
    struct host_pattern pattern;
    struct error err = {""};
    (void)state;

    for (size_t i = 0; i < 253; i++)
        text[2 + i] = i % 50 == 49 ? '.' : 'a';
    snprintf(text + 255, sizeof text - 255, ":65535");
    assert_true(host_pattern_parse(slice_of(text), &pattern, &err));
    host_pattern_print(&pattern, printed);
    assert_string_equal(printed, text);
}

static void test_refusal_quotes_long_names_in_part(void **state)
{
    char name[5000];
    struct host host;
    struct error err;
    (void)state;

    memset(name, 'a', sizeof name);
    assert_false(host_parse((struct slice){name, sizeof name}, &host, &err));
    assert_true(strlen(err.text) < 300);
    assert_non_null(strstr(err.text, "aaa...\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_have_one_canonical_form),
        cmocka_unit_test(test_addresses_have_one_canonical_form),
        cmocka_unit_test(test_lengths_are_counted_exactly),
        cmocka_unit_test(test_hostile_hosts_are_refused_by_name),
        cmocka_unit_test(test_host_and_port_are_taken_apart),
        cmocka_unit_test(test_hostile_ports_are_refused_by_name),
        cmocka_unit_test(test_address_parse_takes_addresses_only),
        cmocka_unit_test(test_patterns_are_read_and_printed_canonically),
        cmocka_unit_test(test_hostile_patterns_are_refused_by_name),
        cmocka_unit_test(test_patterns_match_what_they_say),
        cmocka_unit_test(test_longest_pattern_fits_its_room),
        cmocka_unit_test(test_refusal_quotes_long_names_in_part),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
