/* The kernel's version must be read right, and nothing but a version may pass
 * for one: a misread "5.10" as "5.1", or a wrapped number, would move a host
 * across the line of what is supported. */
#include "host/facts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_release(struct slice release, bool valid, unsigned major, unsigned minor)
{
    unsigned got_major = 77;
    unsigned got_minor = 77;

    assert_int_equal(facts_parse_release(release, &got_major, &got_minor), valid);
    assert_int_equal(got_major, major);
    assert_int_equal(got_minor, minor);
}

static void test_releases_of_distributions_are_read(void **state)
{
    (void)state;
    assert_release(SLICE("6.1.0-13-amd64"), true, 6, 1);
    assert_release(SLICE("5.10.0"), true, 5, 10);
    assert_release(SLICE("6.18.44-fc-v490"), true, 6, 18);
    assert_release(SLICE("5.15.153.1-microsoft-standard-WSL2"), true, 5, 15);
    assert_release(SLICE("7.0-rc1"), true, 7, 0);
    assert_release(SLICE("6.12+"), true, 6, 12);
    assert_release(SLICE("10.100"), true, 10, 100);
}

static void test_what_is_no_version_counts_as_too_old(void **state)
{
    (void)state;
    assert_release(SLICE(""), false, 0, 0);
    assert_release(SLICE("6"), false, 0, 0);
    assert_release(SLICE("6."), false, 0, 0);
    assert_release(SLICE(".1"), false, 0, 0);
    assert_release(SLICE("6-1"), false, 0, 0);
    assert_release(SLICE(" 6.1"), false, 0, 0);
    assert_release(SLICE("+6.1"), false, 0, 0);
    assert_release(SLICE("-6.1"), false, 0, 0);
    assert_release(SLICE("6.-1"), false, 0, 0);
    assert_release(SLICE("6. 1"), false, 0, 0);
    assert_release(SLICE("v6.1"), false, 0, 0);
    assert_release(SLICE("x.y"), false, 0, 0);
    assert_release(SLICE("6\0.1"), false, 0, 0);
    assert_release(SLICE("\xd9\xa6.1"), false, 0, 0);
}

static void test_numbers_that_would_wrap_are_refused(void **state)
{
    (void)state;
    assert_release(SLICE("9999.9999"), true, 9999, 9999);
    assert_release(SLICE("4294967302.1"), false, 0, 0);
    assert_release(SLICE("6.4294967297"), false, 0, 0);
    assert_release(SLICE("18446744073709551622.1"), false, 0, 0);
    assert_release(SLICE("10000.1"), false, 0, 0);
}

static void test_reading_stops_at_the_length_given(void **state)
{
    (void)state;
    assert_release((struct slice){"6.12", 3}, true, 6, 1);
    assert_release((struct slice){"6.12", 2}, false, 0, 0);
}

static void test_gathering_places_the_running_kernel(void **state)
{
    struct facts facts;

    (void)state;
    facts_gather(&facts);
    assert_true(facts.kernel_major >= 4);
    assert_true(facts.landlock_abi >= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_releases_of_distributions_are_read),
        cmocka_unit_test(test_what_is_no_version_counts_as_too_old),
        cmocka_unit_test(test_numbers_that_would_wrap_are_refused),
        cmocka_unit_test(test_reading_stops_at_the_length_given),
        cmocka_unit_test(test_gathering_places_the_running_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
