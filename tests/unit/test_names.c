/* Names and the addresses that stand for them inside. */
#include "net/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_a_name_keeps_its_address_and_the_address_leads_back(void **state)
{
    struct names *names = names_new();
    uint32_t first;
    uint32_t second;
    uint32_t again;
    struct address v4;
    struct address v6;
    struct slice name;
    char text[46];

    (void)state;
    assert_true(names_number(names, SLICE("a.example"), &first));
    assert_true(names_number(names, SLICE("b.example"), &second));
    assert_true(names_number(names, SLICE("a.example"), &again));
    assert_int_equal(first, again);
    assert_int_not_equal(first, second);
    names_address(first, false, &v4);
    names_address(first, true, &v6);
    address_print(&v4, text);
    assert_string_equal(text, "198.18.0.1");
    address_print(&v6, text);
    assert_string_equal(text, "fdc1:c4e:6e65:7400::1");
    assert_true(names_find(names, &v4, &name));
    assert_true(slice_is(name, "a.example"));
    assert_true(names_find(names, &v6, &name));
    assert_true(slice_is(name, "a.example"));
    names_free(names);
}

static void test_an_address_given_to_no_name_is_known_as_such(void **state)
{
    static const struct {
        const char *text;
        bool synthetic;
    } cases[] = {{"198.18.0.0", true},
                 {"198.18.0.1", true},
                 {"198.19.255.255", true},
                 {"198.17.255.255", false},
                 {"198.20.0.0", false},
                 {"127.0.0.1", false},
                 {"fdc1:c4e:6e65:7400::1", true},
                 {"fdc1:c4e:6e65:7401::1", false},
                 {"::1", false},
                 {"fdc1:c4e:6e65:7400:0:1::1", false}};
    struct names *names = names_new();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct address address;
        struct slice name;
        assert_true(address_parse(slice_of(cases[i].text), &address, NULL));
        assert_int_equal(names_find(names, &address, &name), cases[i].synthetic);
        assert_int_equal(name.len, 0);
    }
    names_free(names);
}

static void test_a_full_table_says_so_and_forgets_nothing(void **state)
{
    struct names *names = names_new();
    struct address address;
    struct slice name;
    char text[32];
    uint32_t number;

    (void)state;
    for (unsigned i = 0; i < NAMES_MAX; i++) {
        snprintf(text, sizeof text, "n%u.example", i);
        assert_true(names_number(names, slice_of(text), &number));
        assert_int_equal(number, i);
    }
    assert_false(names_number(names, SLICE("one.more.example"), &number));
    for (unsigned i = 0; i < NAMES_MAX; i += 1000) {
        snprintf(text, sizeof text, "n%u.example", i);
        assert_true(names_number(names, slice_of(text), &number));
        names_address(number, false, &address);
        assert_true(names_find(names, &address, &name));
        assert_true(slice_is(name, text));
    }
    names_free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_name_keeps_its_address_and_the_address_leads_back),
        cmocka_unit_test(test_an_address_given_to_no_name_is_known_as_such),
        cmocka_unit_test(test_a_full_table_says_so_and_forgets_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
