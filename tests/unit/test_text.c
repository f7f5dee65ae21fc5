/* Names in messages: what a file or a command is called may be chosen to deceive
 * whoever reads cloche's words (attack 101). */
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static const struct {
    const char *name;
    const char *shown;
} names[] = {
    {"plain", "plain"},
    {"", ""},
    {"two\ncloche: all is well", "two?cloche: all is well"},
    {"\r\t\x1b[2J\x7f", "???[2J?"},
    {"gr\xc3\xbc\xc3\x9f\x65 \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x8e\x89",
     "gr\xc3\xbc\xc3\x9f\x65 \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x8e\x89"},
    {"C1 \xc2\x9b[2J", "C1 ??[2J"},
    {"raw C1 \x9b[2J", "raw C1 ?[2J"},
    {"bidi \xe2\x80\xae"
     "cod.exe",
     "bidi ???cod.exe"},
    {"isolate \xe2\x81\xa6x", "isolate ???x"},
    {"line \xe2\x80\xa8 paragraph \xe2\x80\xa9", "line ??? paragraph ???"},
    {"nothing \xe2\x80\x8b\xef\xbb\xbf\xc2\xad", "nothing ????????"},
    {"tag \xf3\xa0\x81\x81", "tag ????"},
    {"overlong \xc0\x8a", "overlong ??"},
    {"cut \xe6\x97", "cut ??"},
};

static void test_finished_message_is_one_line_of_visible_characters(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[100];
        strcpy(text, names[i].name);
        text_make_safe(text);
        assert_string_equal(text, names[i].shown);
    }
}

static void test_errors_are_safe_however_they_were_made(void **state)
{
    struct error error;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        error_set(&error, "%s", names[i].name);
        assert_string_equal(error.text, names[i].shown);
        error_wrap(&error, "%s", names[i].name);
        assert_null(strchr(error.text, '\n'));
        error_set_errno(&error, 0, "%s", names[i].name);
        assert_memory_equal(error.text, names[i].shown, strlen(names[i].shown));
    }
}

static void test_log_says_one_line_per_message(void **state)
{
    int file = memfd_create("stderr", MFD_CLOEXEC);
    int before = dup(STDERR_FILENO);

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char said[200] = "";
        char expected[200] = "cloche: ";

        assert_int_equal(ftruncate(file, 0), 0);
        lseek(file, 0, SEEK_SET);
        dup2(file, STDERR_FILENO);
        log_error("%s", names[i].name);
        dup2(before, STDERR_FILENO);
        assert_true(pread(file, said, sizeof said - 1, 0) > 0);
        strcat(strcat(expected, names[i].shown), "\n");
        assert_string_equal(said, expected);
    }
    close(before);
    close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finished_message_is_one_line_of_visible_characters),
        cmocka_unit_test(test_errors_are_safe_however_they_were_made),
        cmocka_unit_test(test_log_says_one_line_per_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
