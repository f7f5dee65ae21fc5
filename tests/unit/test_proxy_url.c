/* The URL of a parent proxy. */
#include "policy/proxy_url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_a_proxys_url_is_read(void **state)
{
    static const struct {
        const char *text;
        const char *host;
        unsigned port;
        const char *authorization;
    } cases[] = {
        {"http://proxy.example.com:3128", "proxy.example.com", 3128, ""},
        {"http://proxy.example.com", "proxy.example.com", 80, ""},
        {"proxy.example.com:8080", "proxy.example.com", 8080, ""},
        {"http://10.0.0.1:3128/", "10.0.0.1", 3128, ""},
        {"http://[2001:db8::1]:3128/x?y", "2001:db8::1", 3128, ""},
        {"http://user:pass@proxy:1", "proxy", 1, "dXNlcjpwYXNz"},
        {"http://us%65r:p%40ss@proxy:1", "proxy", 1, "dXNlcjpwQHNz"},
        {"http://user@proxy:1", "proxy", 1, "dXNlcjo="},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct proxy_url url;
        assert_null(proxy_url_parse(slice_of(cases[i].text), &url));
        assert_string_equal(url.host.name, cases[i].host);
        assert_int_equal(url.port, cases[i].port);
        assert_string_equal(url.authorization, cases[i].authorization);
    }
}

static void test_what_cannot_be_a_parent_is_refused_by_name(void **state)
{
    static const struct {
        const char *text;
        const char *word;
    } cases[] = {
        {"https://proxy:1", "TLS"},
        {"socks5://proxy:1", "SOCKS"},
        {"http://u%zz@proxy:1", "password"},
        {"http://", "URL"},
        {"http://a b", "URL"},
        {"http://proxy:70000", "URL"},
        {"http://u%0ax@proxy", "password"},
        {"http://0x7f.1:3128", "URL"},
        {"ftp://x", "URL"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct proxy_url url;
        const char *wrong = proxy_url_parse(slice_of(cases[i].text), &url);
        assert_non_null(wrong);
        if (!strstr(wrong, cases[i].word))
            fail_msg("%s: %s", cases[i].text, wrong);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_proxys_url_is_read),
        cmocka_unit_test(test_what_cannot_be_a_parent_is_refused_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
