/* The walk over control messages against the kernel's own: what it takes for a
 * descriptor is what we take for one, and what is malformed to one is to the other. */
#include "doorman/control.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROUNDS = 20000, CONTROL_SIZE = 160, OTHER_LEVEL = 41, DESCRIPTORS_MAX = CONTROL_SIZE / sizeof(int) };

/* Descriptors in it, or -1: malformed. */
static int count_descriptors(unsigned char *control, size_t size)
{
    struct control_message message;
    enum control_step step;
    size_t at = 0;
    int count = 0;

    while ((step = control_next(control, size, &at, &message)) == CONTROL_MESSAGE) {
        assert_true(message.data >= control && message.data + message.size <= control + size);
        if (message.level == SOL_SOCKET && message.type == SCM_RIGHTS)
            count += (int)(message.size / sizeof(int));
    }
    return step == CONTROL_MALFORMED ? -1 : count;
}

static int count_received(int socket)
{
    union {
        char bytes[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
        struct cmsghdr alignment;
    } control;
    char text[16];
    struct iovec part = {text, sizeof text};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    int count = 0;

    assert_int_equal(recvmsg(socket, &message, 0), 1);
    assert_false(message.msg_flags & MSG_CTRUNC);
    for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
        for (size_t i = 0; i < (head->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(head) + i * sizeof fd, sizeof fd);
            close(fd);
            count++;
        }
    }
    return count;
}

/* What the kernel makes of it: as count_descriptors. */
static int ask_kernel(const int pair[2], unsigned char *control, size_t size)
{
    char text = 'x';
    struct iovec part = {&text, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = size};

    if (sendmsg(pair[0], &message, 0) < 0) {
        assert_int_equal(errno, EINVAL);
        return -1;
    }
    return count_received(pair[1]);
}

/* The same in every run. */
static size_t random_below(size_t limit)
{
    static uint32_t state = 1;

    state = state * 1664525 + 1013904223;
    return (state >> 8) % limit;
}

/* All bytes 0 but for heads: every descriptor is number 0. */
static size_t invent(unsigned char *control)
{
    static const size_t wrong[] = {0, 1, sizeof(struct cmsghdr) - 1, CONTROL_SIZE, SIZE_MAX - 15, SIZE_MAX};
    size_t size = random_below(CONTROL_SIZE);

    memset(control, 0, CONTROL_SIZE);
    for (size_t at = 0; at + sizeof(struct cmsghdr) <= CONTROL_SIZE;) {
        size_t length = sizeof(struct cmsghdr) + random_below(24);
        struct cmsghdr head = {.cmsg_len = length, .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        if (random_below(4) == 0)
            head.cmsg_level = OTHER_LEVEL;
        if (random_below(16) == 0)
            head.cmsg_len = wrong[random_below(sizeof wrong / sizeof *wrong)];
        memcpy(control + at, &head, sizeof head);
        at += CMSG_ALIGN(length);
    }
    return size;
}

static void test_control_messages_mean_to_us_what_they_mean_to_the_kernel(void **state)
{
    unsigned char control[CONTROL_SIZE];
    int seen[3] = {0};
    int pair[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    for (int i = 0; i < ROUNDS; i++) {
        size_t size = invent(control);
        int count = count_descriptors(control, size);
        assert_int_equal(ask_kernel(pair, control, size), count);
        seen[count < 0 ? 0 : count == 0 ? 1 : 2]++;
    }
    for (size_t i = 0; i < 3; i++)
        assert_true(seen[i] > ROUNDS / 100);
    close(pair[0]);
    close(pair[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_messages_mean_to_us_what_they_mean_to_the_kernel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
