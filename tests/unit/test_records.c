/* The doorman's records as the supervisor reads them: what is not one is passed
 * over, and nothing waits. */
#include "doorman/records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static void make_pair(int ends[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
}

static struct doorman_record sample(void)
{
    struct doorman_record record = {.kind = RECORD_WRITE, .verdict = RECORD_DENIED, .call = 257, .process = 7};

    doorman_record_add(&record, &record.path_length, "/etc/x", 6);
    doorman_record_add(&record, &record.program_length, "/bin/sh", 7);
    doorman_record_add(&record, &record.parent_program_length, "/bin/bash", 9);
    doorman_record_add(&record, &record.reason_length, "why", 3);
    return record;
}

static void test_record_arrives_as_it_was_sent(void **state)
{
    struct doorman_record record = sample();
    struct doorman_record received;
    int ends[2];
    (void)state;

    make_pair(ends);
    doorman_record_send(ends[1], &record);
    assert_true(doorman_record_receive(ends[0], &received));
    assert_memory_equal(&received, &record, doorman_record_size(&record));
    assert_memory_equal(received.text, "/etc/x/bin/sh/bin/bashwhy", 25);
    assert_false(doorman_record_receive(ends[0], &received)); /* and does not wait */
    close(ends[1]);
    assert_false(doorman_record_receive(ends[0], &received));
    close(ends[0]);
}

static void test_what_is_no_record_is_passed_over(void **state)
{
    struct doorman_record good = sample();
    struct doorman_record received;
    struct doorman_record bad[6];
    int ends[2];
    (void)state;

    make_pair(ends);
    for (size_t i = 0; i < 6; i++)
        bad[i] = good;
    bad[0].kind = RECORD_KINDS;
    bad[1].verdict = RECORD_VERDICTS;
    bad[2].path_length = UINT32_MAX;
    bad[3].program_length = 6;
    bad[4].reason_length = RECORD_REASON_MAX + 1;
    bad[5].path_length = PATH_MAX + 1;
    for (size_t i = 0; i < 6; i++)
        assert_true(send(ends[1], &bad[i], doorman_record_size(&good), 0) > 0);
    assert_true(send(ends[1], &good, 8, 0) > 0);
    doorman_record_send(ends[1], &good);
    assert_true(doorman_record_receive(ends[0], &received));
    assert_int_equal(received.path_length, 6);
    assert_false(doorman_record_receive(ends[0], &received));
    close(ends[0]);
    close(ends[1]);
}

static void test_texts_that_do_not_fit_are_cut(void **state)
{
    static char long_text[RECORD_TEXT_MAX];
    struct doorman_record record = sample();
    (void)state;

    memset(long_text, 'x', sizeof long_text);
    record.reason_length = 0;
    doorman_record_add(&record, &record.reason_length, long_text, sizeof long_text);
    assert_int_equal(doorman_record_size(&record), offsetof(struct doorman_record, text) + RECORD_TEXT_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record_arrives_as_it_was_sent),
        cmocka_unit_test(test_what_is_no_record_is_passed_over),
        cmocka_unit_test(test_texts_that_do_not_fit_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
