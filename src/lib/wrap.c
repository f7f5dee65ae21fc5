/* Command lines for programs that start commands by themselves. */
#include "lib/handles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One piece of memory: the pointers, then the texts. */
static char **in_one_piece(const struct words *words, cloche_error **error)
{
    size_t size = (words->count + 1) * sizeof(char *);

    for (size_t i = 0; i < words->count; i++)
        size += strlen(words->items[i]) + 1;
    char **whole = malloc(size);
    if (!whole) {
        fail_memory(error);
        return NULL;
    }
    char *at = (char *)(whole + words->count + 1);
    for (size_t i = 0; i < words->count; i++) {
        whole[i] = at;
        at = stpcpy(at, words->items[i]) + 1;
    }
    whole[words->count] = NULL;
    return whole;
}

/* A /tmp that must be shared is held by this program, which has to live then. */
static bool wrapped_words(const cloche_session *session, struct words *words, cloche_error **error)
{
    char place[64];

    snprintf(place, sizeof place, "/proc/%d/fd/%d", (int)getpid(), session->tmp);
    return session_words(session, "run", &session->policy, words, error) &&
           (session->tmp < 0 || !session->tmp_wanted ||
            (words_add(words, "--session-tmp", error) && words_add(words, place, error)));
}

char **cloche_wrap(const cloche_session *session, const char *const *argv, cloche_error **error)
{
    struct words words = {0};
    char **whole = NULL;

    if (!argv || !argv[0])
        fail(error, CLOCHE_ERROR_ARGUMENT, 0, "there is no command to wrap");
    else if (wrapped_words(session, &words, error) && words_add(&words, "--", error) &&
             words_add_all(&words, argv, error))
        whole = in_one_piece(&words, error);
    words_free(&words);
    return whole;
}

/* In single quotes, in which a shell changes nothing; a quote itself is put
 * outside of them. */
static char *append_quoted(char *at, const char *word)
{
    *at++ = '\'';
    for (; *word; word++) {
        if (*word == '\'')
            at = stpcpy(at, "'\\''");
        else
            *at++ = *word;
    }
    *at++ = '\'';
    return at;
}

static char *quote_all(const struct words *words, cloche_error **error)
{
    size_t size = 1;

    for (size_t i = 0; i < words->count; i++)
        size += 4 * strlen(words->items[i]) + 3;
    char *text = malloc(size);
    if (!text) {
        fail_memory(error);
        return NULL;
    }
    char *at = text;
    for (size_t i = 0; i < words->count; i++) {
        if (i > 0)
            *at++ = ' ';
        at = append_quoted(at, words->items[i]);
    }
    *at = '\0';
    return text;
}

char *cloche_wrap_shell(const cloche_session *session, const char *text, cloche_error **error)
{
    struct words words = {0};
    char *whole = NULL;

    if (!text || !*text)
        fail(error, CLOCHE_ERROR_ARGUMENT, 0, "there is no command to wrap");
    else if (wrapped_words(session, &words, error) && words_add(&words, "-c", error) && words_add(&words, text, error))
        whole = quote_all(&words, error);
    words_free(&words);
    return whole;
}
