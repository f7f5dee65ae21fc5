/* When the names in a directory may stand for looks at each of them. */
#include "policy/listing.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A directory that no test changes. */
#define AT_REST "/usr"

static void test_names_that_are_there_are_listed_and_others_are_not(void **state)
{
    ARENA_CLEANUP struct arena arena = {0};
    struct listing *listing = listing_read(&arena, AT_REST);
    DIR *directory = opendir(AT_REST);
    struct dirent *entry;

    (void)state;
    assert_non_null(directory);
    if (!listing) {
        closedir(directory);
        skip(); /* a file system of which no list is believed */
    }
    while ((entry = readdir(directory)))
        assert_int_not_equal(listing_find(listing, slice_of(entry->d_name)), NODE_ABSENT);
    closedir(directory);
    assert_int_not_equal(listing_find(listing, SLICE("bin")), NODE_ABSENT);
    assert_int_equal(listing_find(listing, SLICE("BIN")), NODE_ABSENT);
    assert_int_equal(listing_find(listing, SLICE("no such name")), NODE_ABSENT);
}

static void test_a_directory_that_changes_is_not_believed(void **state)
{
    ARENA_CLEANUP struct arena arena = {0};
    char path[] = "/tmp/cloche-listing-XXXXXX";

    (void)state;
    assert_non_null(mkdtemp(path));
    assert_null(listing_read(&arena, path));
    rmdir(path);
}

static void test_file_systems_that_make_up_entries_are_not_believed(void **state)
{
    ARENA_CLEANUP struct arena arena = {0};

    (void)state;
    assert_null(listing_read(&arena, "/proc"));
    assert_null(listing_read(&arena, "/sys"));
}

static void test_what_is_no_directory_has_no_list(void **state)
{
    ARENA_CLEANUP struct arena arena = {0};

    (void)state;
    assert_null(listing_read(&arena, "/etc/passwd"));
    assert_null(listing_read(&arena, "/no/such/directory"));
    assert_null(listing_read(&arena, "/proc/self/cwd")); /* a link */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_that_are_there_are_listed_and_others_are_not),
        cmocka_unit_test(test_a_directory_that_changes_is_not_believed),
        cmocka_unit_test(test_file_systems_that_make_up_entries_are_not_believed),
        cmocka_unit_test(test_what_is_no_directory_has_no_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
