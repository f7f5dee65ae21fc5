/* A place that is mounted on, or from, is reached without following any link:
 * else whoever can swap a name for a link while a run starts chooses what is
 * bound, or slips a file out from under its mask (attack 4). */
#include "jail/mountfd.h"

#include "base/fd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct places {
    char top[64];
};

static int make_places(void **state)
{
    static struct places places;
    char command[512];

    snprintf(places.top, sizeof places.top, "/tmp/cloche-places-XXXXXX");
    if (!mkdtemp(places.top))
        return 1;
    snprintf(command, sizeof command,
             "cd %s && mkdir -p directory/below && touch file directory/below/file && ln -s file link-to-file && "
             "ln -s directory link-to-directory && ln -s nowhere dangling",
             places.top);
    *state = &places;
    return system(command); /* NOLINT(cert-env33-c): fixed words */
}

static int remove_places(void **state)
{
    const struct places *places = *state;
    char command[128];

    snprintf(command, sizeof command, "rm -r %s", places->top);
    return system(command); /* NOLINT(cert-env33-c): fixed words */
}

static bool can_be_opened(const struct places *places, const char *name, struct error *err)
{
    FD_CLEANUP int fd = -1;
    char path[256];

    int length = snprintf(path, sizeof path, "%s/%s", places->top, name);
    return mountfd_place((struct slice){path, (size_t)length}, &fd, err);
}

static void test_files_and_directories_are_places(void **state)
{
    struct error err;

    assert_true(can_be_opened(*state, "file", &err));
    assert_true(can_be_opened(*state, "directory", &err));
    assert_true(can_be_opened(*state, "directory/below/file", &err));
}

static void test_link_at_the_end_is_refused_and_named(void **state)
{
    struct error err;

    assert_false(can_be_opened(*state, "link-to-file", &err));
    assert_non_null(strstr(err.text, "link-to-file"));
    assert_non_null(strstr(err.text, "symbolic link"));
    assert_false(can_be_opened(*state, "link-to-directory", &err));
    assert_false(can_be_opened(*state, "dangling", &err));
}

static void test_link_on_the_way_is_refused(void **state)
{
    struct error err;

    assert_false(can_be_opened(*state, "link-to-directory/below/file", &err));
    assert_non_null(strstr(err.text, "symbolic link"));
}

static void test_link_of_the_kernel_is_refused(void **state)
{
    FD_CLEANUP int fd = -1;
    struct error err;

    (void)state;
    assert_false(mountfd_place(SLICE("/proc/self/root"), &fd, &err));
    assert_false(mountfd_place(SLICE("/proc/self/cwd/tmp"), &fd, &err));
}

static void test_absent_place_is_refused_and_named(void **state)
{
    struct error err;

    assert_false(can_be_opened(*state, "absent", &err));
    assert_non_null(strstr(err.text, "/absent"));
}

static void test_path_beyond_the_kernels_limit_is_refused(void **state)
{
    FD_CLEANUP int fd = -1;
    static char path[5000];
    struct error err;

    (void)state;
    memset(path, 'a', sizeof path);
    path[0] = '/';
    assert_false(mountfd_place((struct slice){path, sizeof path}, &fd, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_and_directories_are_places),
        cmocka_unit_test(test_link_at_the_end_is_refused_and_named),
        cmocka_unit_test(test_link_on_the_way_is_refused),
        cmocka_unit_test(test_link_of_the_kernel_is_refused),
        cmocka_unit_test(test_absent_place_is_refused_and_named),
        cmocka_unit_test(test_path_beyond_the_kernels_limit_is_refused),
    };

    return cmocka_run_group_tests(tests, make_places, remove_places);
}
