/* The log of many runs: whole lines, bounded files, a chain that holds across
 * rotations and writers. */
#include "watch/log.h"

#include "base/fd.h"
#include "scratch.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct slice read_log(struct arena *arena, const char *path)
{
    struct slice content = {"", 0};
    bool absent = false;

    assert_true(file_read(path, 64 * 1024 * 1024, arena, &content, &absent, NULL) || absent);
    return content;
}

static struct policy policy_of(const struct scratch *scratch, bool chain)
{
    struct policy policy = {.around = scratch->around, .violation = {.chain = chain}};

    return policy;
}

static const char *log_in(struct arena *arena, const struct scratch *scratch)
{
    return arena_printf(arena, "%s/deep/er/log.jsonl", scratch->home);
}

static size_t count_lines(struct slice content)
{
    size_t count = 0;

    for (size_t i = 0; i < content.len; i++)
        count += content.ptr[i] == '\n';
    return count;
}

static void test_nothing_is_touched_before_the_first_line(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};
    struct event_log log;
    struct stat status;
    const struct scratch *scratch = *state;
    struct policy policy = policy_of(scratch, false);
    const char *path = log_in(&arena, scratch);

    event_log_open(&log, path, &policy);
    event_log_close(&log);
    assert_int_not_equal(stat(arena_printf(&arena, "%s/deep", scratch->home), &status), 0);

    event_log_append(&log, SLICE("{\"a\":1}"));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(stat(arena_printf(&arena, "%s/deep", scratch->home), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    assert_string_equal(read_log(&arena, path).ptr, "{\"a\":1}\n");
    event_log_close(&log);
}

static void test_writers_that_share_a_log_keep_lines_whole_and_files_bounded(void **state)
{
    enum { WRITERS = 4, LINES = 600, LENGTH = 16 * 1024 };
    struct arena arena ARENA_CLEANUP = {0};
    const struct scratch *scratch = *state;
    struct policy policy = policy_of(scratch, false);
    const char *path = log_in(&arena, scratch);
    static char line[LENGTH];
    size_t total = 0;

    memset(line, 'x', sizeof line);
    for (int writer = 0; writer < WRITERS; writer++) {
        if (fork() == 0) {
            struct event_log log;
            event_log_open(&log, path, &policy);
            for (int i = 0; i < LINES; i++)
                event_log_append(&log, (struct slice){line, sizeof line});
            _exit(log.lost != 0);
        }
    }
    for (int writer = 0; writer < WRITERS; writer++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    for (int i = 0; i <= EVENT_LOG_OLD + 1; i++) {
        const char *name = i ? arena_printf(&arena, "%s.%d", path, i) : path;
        struct slice content = read_log(&arena, name);
        assert_int_equal(content.len % (sizeof line + 1), 0);
        assert_true(content.len < EVENT_LOG_BYTES + (WRITERS + 1) * (sizeof line + 1));
        assert_true(i <= EVENT_LOG_OLD || content.len == 0);
        total += count_lines(content);
    }
    /* 37.5 MB were written, 24 MB at most are kept. */
    assert_true(total > 1000 && total < WRITERS * LINES);
}

static bool chain_holds(struct arena *arena, const char *path, size_t *count)
{
    struct log_chain chain = {0};
    bool holds = true;

    for (int i = EVENT_LOG_OLD; i >= 0; i--) {
        struct slice content = read_log(arena, i ? arena_printf(arena, "%s.%d", path, i) : path);
        while (content.len > 0) {
            struct slice line = {content.ptr, slice_find(content, '\n')};
            holds = log_chain_follow(&chain, line, false) && holds;
            content = slice_from(content, line.len + 1);
        }
    }
    *count = chain.chained;
    return holds && chain.outside == 0;
}

static void test_a_chain_holds_across_runs_and_rotations_and_breaks_where_a_line_changes(void **state)
{
    enum { RUNS = 5, LINES = 60, LENGTH = 20 * 1024 };
    struct arena arena ARENA_CLEANUP = {0};
    const struct scratch *scratch = *state;
    struct policy policy = policy_of(scratch, true);
    const char *path = log_in(&arena, scratch);
    static char line[LENGTH];
    size_t count;

    memset(line, 'x', sizeof line);
    memcpy(line, "{\"a\":\"", 6);
    memcpy(line + sizeof line - 2, "\"}", 2);
    for (int run = 0; run < RUNS; run++) {
        struct event_log log;
        event_log_open(&log, path, &policy);
        for (int i = 0; i < LINES; i++)
            event_log_append(&log, (struct slice){line, sizeof line});
        assert_int_equal(log.lost, 0);
        event_log_close(&log);
    }
    assert_true(read_log(&arena, arena_printf(&arena, "%s.1", path)).len > 0);
    assert_true(chain_holds(&arena, path, &count));
    assert_int_equal(count, RUNS * LINES);

    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "y", 1, 100), 1);
    close(fd);
    assert_false(chain_holds(&arena, path, &count));
}

static void test_whoever_can_only_read_the_log_cannot_hold_others_up(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};
    const struct scratch *scratch = *state;
    struct policy policy = policy_of(scratch, true);
    const char *path = log_in(&arena, scratch);
    struct event_log log;
    struct stat status;

    event_log_open(&log, path, &policy);
    event_log_append(&log, SLICE("{\"a\":1}"));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    event_log_append(&log, SLICE("{\"a\":2}"));
    assert_int_equal(log.lost, 0);
    close(fd);
    assert_int_equal(stat(arena_printf(&arena, "%s.lock", path), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0200);
    event_log_close(&log);
}

static void test_a_lock_that_nobody_gives_back_costs_a_line_and_not_the_run(void **state)
{
    struct arena arena ARENA_CLEANUP = {0};
    const struct scratch *scratch = *state;
    struct policy policy = policy_of(scratch, true);
    const char *path = log_in(&arena, scratch);
    struct event_log log;

    event_log_open(&log, path, &policy);
    event_log_append(&log, SLICE("{\"a\":1}"));
    int fd = open(arena_printf(&arena, "%s.lock", path), O_WRONLY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    event_log_append(&log, SLICE("{\"a\":2}"));
    assert_int_equal(log.lost, 1);
    close(fd);
    event_log_append(&log, SLICE("{\"a\":3}"));
    assert_int_equal(log.lost, 1);
    assert_int_equal(count_lines(read_log(&arena, path)), 2);
    event_log_close(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_is_touched_before_the_first_line, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_writers_that_share_a_log_keep_lines_whole_and_files_bounded, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_a_chain_holds_across_runs_and_rotations_and_breaks_where_a_line_changes,
                                        scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_whoever_can_only_read_the_log_cannot_hold_others_up, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_a_lock_that_nobody_gives_back_costs_a_line_and_not_the_run, scratch_make,
                                        scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
