/* Descriptors between processes: what is sent arrives, and nothing that is not
 * wanted stays open. */
#include "base/passing.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void open_pair(int pair[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
}

/* The number that the next descriptor gets: as long as it is the same, none was left open. */
static int next_descriptor(void)
{
    int fd = open("/", O_PATH | O_CLOEXEC);

    close(fd);
    return fd;
}

static void test_record_and_descriptors_arrive_together(void **state)
{
    int pair[2];
    const int sent[2] = {STDIN_FILENO, STDERR_FILENO};
    int got[4] = {-1, -1, -1, -1};
    size_t count = 4;
    long record = 42;

    (void)state;
    open_pair(pair);
    assert_int_equal(passing_send(pair[0], &record, sizeof record, sent, 2, 0), sizeof record);
    record = 0;
    assert_int_equal(passing_receive(pair[1], &record, sizeof record, got, &count, 0), sizeof record);
    assert_int_equal(record, 42);
    assert_int_equal(count, 2);
    for (size_t i = 0; i < 2; i++) {
        struct stat ours, theirs;
        assert_int_equal(fstat(sent[i], &ours) | fstat(got[i], &theirs), 0);
        assert_true(ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev);
        assert_int_equal(fcntl(got[i], F_GETFD), FD_CLOEXEC);
        close(got[i]);
    }
    close(pair[0]);
    close(pair[1]);
}

static void test_record_without_descriptors(void **state)
{
    int pair[2];
    int got = -1;
    size_t count = 1;
    char byte = 7;

    (void)state;
    open_pair(pair);
    assert_int_equal(passing_send(pair[0], &byte, 1, NULL, 0, 0), 1);
    assert_int_equal(passing_receive(pair[1], &byte, 1, &got, &count, 0), 1);
    assert_int_equal(count, 0);
    assert_int_equal(got, -1);
    count = 1;
    assert_int_equal(passing_receive(pair[1], &byte, 1, &got, &count, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
    close(pair[0]);
    assert_int_equal(passing_receive(pair[1], &byte, 1, &got, &count, 0), 0);
    close(pair[1]);
}

static void test_more_than_there_is_room_for_is_refused_and_closed(void **state)
{
    int pair[2];
    int sent[PASSING_MAX];
    int got[2] = {-1, -1};
    char byte = 0;

    (void)state;
    open_pair(pair);
    for (size_t i = 0; i < PASSING_MAX; i++)
        sent[i] = STDIN_FILENO;
    int before = next_descriptor();
    static const size_t counts[] = {3, PASSING_MAX};
    for (size_t i = 0; i < 2; i++) {
        size_t count = 2;
        assert_int_equal(passing_send(pair[0], &byte, 1, sent, counts[i], 0), 1);
        assert_int_equal(passing_receive(pair[1], &byte, 1, got, &count, 0), -1);
        assert_int_equal(errno, EMSGSIZE);
        assert_int_equal(count, 0);
        assert_int_equal(next_descriptor(), before);
    }
    assert_int_equal(passing_send(pair[0], &byte, 1, sent, PASSING_MAX + 1, 0), -1);
    close(pair[0]);
    close(pair[1]);
}

static void test_peeking_leaves_the_message(void **state)
{
    int pair[2];
    int got = -1;
    const int sent = STDIN_FILENO;
    char byte = 0;

    (void)state;
    open_pair(pair);
    assert_int_equal(passing_send(pair[0], &byte, 1, &sent, 1, 0), 1);
    for (int i = 0; i < 2; i++) {
        size_t count = 1;
        assert_int_equal(passing_receive(pair[1], &byte, 1, &got, &count, i == 0 ? MSG_PEEK : 0), 1);
        assert_int_equal(count, 1);
        close(got);
    }
    close(pair[0]);
    close(pair[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record_and_descriptors_arrive_together),
        cmocka_unit_test(test_record_without_descriptors),
        cmocka_unit_test(test_more_than_there_is_room_for_is_refused_and_closed),
        cmocka_unit_test(test_peeking_leaves_the_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
