/* The directory of a run without namespaces is emptied by a walk that hostile
 * neighbours may lead astray: it must never empty anything else. */
#include "jail/private_directory.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILES = 20000 };

static void make_file(const char *directory, const char *name)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void fill(const char *directory)
{
    for (int i = 0; i < FILES; i++) {
        char name[32];
        snprintf(name, sizeof name, "f%d", i);
        make_file(directory, name);
    }
}

static void test_everything_is_removed_closed_directories_included(void **state)
{
    char top[] = "/tmp/cloche-unit-XXXXXX";
    char below[64];
    (void)state;

    assert_non_null(mkdtemp(top));
    snprintf(below, sizeof below, "%s/a", top);
    assert_int_equal(mkdir(below, 0700), 0);
    snprintf(below, sizeof below, "%s/a/b", top);
    assert_int_equal(mkdir(below, 0700), 0);
    make_file(below, "f");
    assert_int_equal(chmod(below, 0), 0);
    private_directory_remove(top);
    assert_int_equal(access(top, F_OK), -1);
}

/* A directory that is being emptied is moved away: the way up from there leads to
 * its new place, which is none of ours. */
static void test_the_way_up_is_the_way_it_came(void **state)
{
    char top[] = "/tmp/cloche-unit-XXXXXX";
    char other[] = "/tmp/cloche-unit-XXXXXX";
    char inner[64];
    char deep[64];
    char moved[64];
    char gone[96];
    char victim[64];
    (void)state;

    assert_non_null(mkdtemp(top));
    assert_non_null(mkdtemp(other));
    snprintf(inner, sizeof inner, "%s/a", top);
    snprintf(deep, sizeof deep, "%s/a/b", top);
    snprintf(moved, sizeof moved, "%s/b", other);
    snprintf(victim, sizeof victim, "%s/victim", other);
    assert_int_equal(mkdir(inner, 0700), 0);
    assert_int_equal(mkdir(deep, 0700), 0);
    fill(deep);
    make_file(other, "victim");

    snprintf(gone, sizeof gone, "%s/f0", deep);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        private_directory_remove(top);
        _exit(0);
    }
    while (access(gone, F_OK) == 0)
        ;
    rename(deep, moved);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(access(victim, F_OK), 0);

    private_directory_remove(top);
    private_directory_remove(other);
    assert_int_equal(access(other, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_is_removed_closed_directories_included),
        cmocka_unit_test(test_the_way_up_is_the_way_it_came),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
