/* Requests before performers: none lost, none twice, the first first. */
#include "doorman/line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct request requests[REQUESTS_MAX];

/* No thread is behind these: nothing is placed. */
static const struct placement nowhere = {.choice = false};

static struct performer *give(struct line *line, size_t number, int here)
{
    return line_give(line, &requests[number], &nowhere, here);
}

static void test_requests_wait_in_their_order(void **state)
{
    struct line line = {.threads = 1};
    struct performer performer = {.processor = PLACEMENT_ANYWHERE};

    (void)state;
    /* More than once around the ring, and full at times. */
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < REQUESTS_MAX; i++)
            assert_null(give(&line, i, 0));
        for (size_t i = 0; i < REQUESTS_MAX; i++)
            assert_ptr_equal(line_take(&line, &performer), &requests[i]);
        assert_null(give(&line, 7, 0));
        assert_ptr_equal(line_take(&line, &performer), &requests[7]);
    }
    assert_int_equal(line.idle_count, 0);
}

static void test_the_one_that_was_idle_last_is_taken(void **state)
{
    struct line line = {.threads = 3};
    struct performer performers[3] = {{.processor = 0}, {.processor = 0}, {.processor = 0}};

    (void)state;
    for (size_t i = 0; i < 3; i++)
        assert_null(line_take(&line, &performers[i]));
    for (size_t i = 3; i-- > 0;)
        assert_ptr_equal(give(&line, i, 0), &performers[i]);
    assert_null(give(&line, 3, 0));
    assert_int_equal(line.queued, 1);
}

static void test_for_one_caller_the_one_on_its_processor_is_taken(void **state)
{
    struct line line = {.threads = 3};
    struct performer performers[3] = {{.processor = 1}, {.processor = 0}, {.processor = PLACEMENT_ANYWHERE}};

    (void)state;
    for (size_t i = 0; i < 3; i++)
        assert_null(line_take(&line, &performers[i]));
    assert_ptr_equal(give(&line, 0, 1), &performers[0]);
    /* That one is at work now: there is a second caller, and the scheduler is to place its performer. */
    assert_ptr_equal(give(&line, 1, 1), &performers[2]);
    assert_ptr_equal(give(&line, 2, 1), &performers[1]);
    /* Where nothing can be placed, what is known of a place stays true. */
    assert_int_equal(performers[1].processor, 0);
}

static void test_what_is_handed_over_arrives(void **state)
{
    struct performer performer;

    (void)state;
    sem_init(&performer.given, 0, 0);
    performer_hand(&performer, &requests[5]);
    assert_ptr_equal(performer_wait(&performer), &requests[5]);
    sem_destroy(&performer.given);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_wait_in_their_order),
        cmocka_unit_test(test_the_one_that_was_idle_last_is_taken),
        cmocka_unit_test(test_for_one_caller_the_one_on_its_processor_is_taken),
        cmocka_unit_test(test_what_is_handed_over_arrives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
