/* The /tmp of a session is a descriptor, which the binary makes and hands over. Each
 * command is started with it; the kernel takes it all away with the last one. */
#include "lib/handles.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int take_descriptor(int socket)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    char mark;
    struct iovec part = {&mark, sizeof mark};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    int fd = -1;

    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) <= 0)
        return -1;
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(head), sizeof fd);
    return fd < 0 ? -1 : beyond_standard(fd);
}

/* -1: there is none to be had; see `error`. */
static int ask_for_tmp(const cloche_session *session, const struct words *policy, cloche_error **error)
{
    struct words words = {0};
    char *said = NULL;
    char *complaint = NULL;
    char number[16];
    int pair[2];
    int tmp = -1;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        fail(error, CLOCHE_ERROR_SYSTEM, errno, "cannot make a socket");
        return -1;
    }
    pair[1] = beyond_standard(pair[1]);
    snprintf(number, sizeof number, "%d", pair[1]);
    if (pair[1] >= 0 && session_words(session, "session", policy, &words, error) && words_add(&words, "--fd", error) &&
        words_add(&words, number, error) &&
        launch_and_listen(words.items, -1, pair[1], &said, &complaint, error) >= 0) {
        tmp = take_descriptor(pair[0]);
        if (tmp < 0)
            fail(error, CLOCHE_ERROR_REFUSED, 0, "%s", complaint);
        free(said);
        free(complaint);
    }
    words_free(&words);
    close(pair[0]);
    if (pair[1] >= 0)
        close(pair[1]);
    return tmp;
}

bool session_hold_tmp(cloche_session *session, const struct words *policy, const char *word, cloche_error **error)
{
    cloche_error *why = NULL;
    bool wanted = word && strcmp(word, "session") == 0;

    if (session->tmp < 0 && (!word || wanted))
        session->tmp = ask_for_tmp(session, policy, wanted ? error : &why);
    cloche_error_free(why);
    if (wanted && session->tmp < 0)
        return false;
    session->tmp_wanted = wanted;
    return true;
}
