/* What is proposed for what a command did: no more than that, and never what
 * nobody should grant. */
#include "watch/learn.h"

#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const char tree[] = "/home/u/p/f\n/home/u/.ssh/key\n/home/u/.config/app/a\n/home/u/.config/app/b\n"
                           "/home/u/notes/one\n/home/u/notes/deep/two\n/home/u/.bashrc\n/srv/data/f\n/etc/passwd\n"
                           "/home/u/many/1\n/home/u/many/2\n/home/u/many/3\n/home/u/many/4\n/home/u/many/5\n"
                           "/home/u/many/6\n/home/u/many/7\n/home/u/many/8\n/home/u/many/9\n";

struct lecture {
    struct world world;
    struct watch watch;
    struct lessons lessons;
};

static struct lecture *begin(void)
{
    static struct lecture lecture;

    lecture = (struct lecture){0};
    assert_true(world_make(&lecture.world, tree, "{\"extends\":[],\"filesystem\":{\"denyRead\":[\"/home/u/.ssh\"]}}"));
    watch_open(&lecture.watch);
    lecture.lessons.arena = &lecture.world.arena;
    return &lecture;
}

static void note(struct lecture *lecture, enum event_kind kind, enum event_verdict verdict, const char *object)
{
    const struct event event = {.kind = kind,
                                .verdict = verdict,
                                .op = SLICE("openat"),
                                .object = slice_of(object),
                                .program = SLICE("/bin/x")};

    watch_note(&lecture->watch, &event);
}

static void conclude(struct lecture *lecture, bool succeeded)
{
    const struct learning learning = {
        .policy = &lecture->world.policy, .tree = &lecture->world.model.tree, .succeeded = succeeded};

    learn(&learning, &lecture->watch, &lecture->lessons);
}

static const struct lesson *find(const struct lecture *lecture, enum lesson_tier tier, enum lesson_list list,
                                 const char *object)
{
    for (size_t i = 0; i < lecture->lessons.count; i++) {
        const struct lesson *lesson = &lecture->lessons.items[i];
        if (lesson->tier == tier && lesson->list == list && slice_is(lesson->object, object))
            return lesson;
    }
    return NULL;
}

static void end(struct lecture *lecture)
{
    watch_close(&lecture->watch);
    world_free(&lecture->world);
}

static void test_what_is_written_in_one_corner_becomes_one_grant(void **state)
{
    struct lecture *lecture = begin();
    (void)state;

    note(lecture, EVENT_FS_WRITE, EVENT_OBSERVED, "/home/u/.config/app/a");
    note(lecture, EVENT_FS_WRITE, EVENT_OBSERVED, "/home/u/.config/app/b");
    note(lecture, EVENT_FS_WRITE, EVENT_OBSERVED, "/home/u/.local/share/new/x/y");
    note(lecture, EVENT_FS_WRITE, EVENT_OBSERVED, "/home/u/notes/deep/two");
    conclude(lecture, true);
    assert_int_equal(lecture->lessons.count, 3);
    const struct lesson *app = find(lecture, LESSON_NEEDED, LESSON_WRITE, "/home/u/.config/app");
    assert_true(app && slice_is(app->entry, "~/.config/app") && app->count == 2 && !app->must_be_made);
    const struct lesson *made = find(lecture, LESSON_NEEDED, LESSON_WRITE, "/home/u/.local/share/new");
    assert_true(made && made->must_be_made && made->is_directory);
    assert_non_null(find(lecture, LESSON_NEEDED, LESSON_WRITE, "/home/u/notes/deep"));
    end(lecture);
}

static void test_few_files_are_named_and_many_are_their_directory(void **state)
{
    struct lecture *lecture = begin();
    char path[64];
    (void)state;

    note(lecture, EVENT_FS_READ, EVENT_OBSERVED, "/home/u/notes/one");
    note(lecture, EVENT_FS_READ, EVENT_OBSERVED, "/home/u/notes/deep/two");
    for (int i = 1; i <= 9; i++) {
        snprintf(path, sizeof path, "/home/u/many/%d", i);
        note(lecture, EVENT_FS_READ, EVENT_OBSERVED, path);
    }
    conclude(lecture, true);
    assert_int_equal(lecture->lessons.count, 3);
    assert_non_null(find(lecture, LESSON_NEEDED, LESSON_READ, "/home/u/notes/one"));
    assert_non_null(find(lecture, LESSON_NEEDED, LESSON_READ, "/home/u/notes/deep/two"));
    assert_non_null(find(lecture, LESSON_NEEDED, LESSON_READ, "/home/u/many"));
    end(lecture);
}

static void test_what_nobody_should_grant_is_refused(void **state)
{
    static const struct {
        enum event_kind kind;
        const char *object;
        enum lesson_list list;
    } cases[] = {
        {EVENT_FS_READ, "/home/u", LESSON_READ},
        {EVENT_FS_READ, "/home/u/.config", LESSON_READ},
        {EVENT_FS_WRITE, "/home/u/.bashrc", LESSON_WRITE},
        {EVENT_FS_WRITE, "/home/u/a*b", LESSON_WRITE},
        {EVENT_FS_WRITE, "/home/u/a\nb", LESSON_WRITE},
        {EVENT_FS_WRITE, "/home/u/a\xff", LESSON_WRITE},
        {EVENT_FS_WRITE, "/home/u/.ssh/key", LESSON_WRITE},
    };
    struct lecture *lecture = begin();
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        note(lecture, cases[i].kind, EVENT_OBSERVED, cases[i].object);
    note(lecture, EVENT_FS_WRITE, EVENT_DENIED, "/etc/new");
    note(lecture, EVENT_FS_WRITE, EVENT_DENIED, "/x");
    note(lecture, EVENT_FS_READ, EVENT_DENIED, "/home/u/.ssh/key");
    note(lecture, EVENT_NET_CONNECT, EVENT_DENIED, "127.0.0.1:80");
    note(lecture, EVENT_SYSCALL, EVENT_DENIED, "bpf");
    conclude(lecture, false);
    assert_true(lecture->lessons.count > 0);
    for (size_t i = 0; i < lecture->lessons.count; i++) {
        if (lecture->lessons.items[i].tier != LESSON_REFUSED)
            fail_msg("granted: %s", escaped(&lecture->world.arena, lecture->lessons.items[i].object));
    }
    end(lecture);
}

static void test_what_was_refused_is_needed_only_if_the_command_failed(void **state)
{
    (void)state;
    for (int succeeded = 0; succeeded < 2; succeeded++) {
        struct lecture *lecture = begin();
        note(lecture, EVENT_FS_WRITE, EVENT_DENIED, "/srv/data/new");
        conclude(lecture, succeeded);
        assert_int_equal(lecture->lessons.count, 1);
        assert_non_null(find(lecture, succeeded ? LESSON_OPTIONAL : LESSON_NEEDED, LESSON_WRITE, "/srv/data"));
        end(lecture);
    }
}

static void test_the_policy_says_what_was_learned(void **state)
{
    static const char *const extends[] = {"preset:dev"};
    struct lecture *lecture = begin();
    struct text out = text_in(&lecture->world.arena);
    struct world again;
    (void)state;

    note(lecture, EVENT_FS_WRITE, EVENT_OBSERVED, "/home/u/.config/app/a");
    note(lecture, EVENT_FS_READ, EVENT_OBSERVED, "/home/u/notes/one");
    note(lecture, EVENT_FS_WRITE, EVENT_DENIED, "/srv/data/new");
    note(lecture, EVENT_NET_CONNECT, EVENT_ALLOWED, "example.com:443");
    conclude(lecture, true);
    lessons_write_policy(&lecture->lessons, SLICE("x */ \n { y"), extends, 1, &out);
    assert_true(world_make(&again, tree, out.ptr));
    assert_string_equal(world_access(&again, "/home/u/.config/app/new"), "rw");
    assert_string_equal(world_access(&again, "/home/u/notes/one"), "r-");
    assert_string_equal(world_access(&again, "/home/u/notes/deep/two"), "--");
    assert_string_equal(world_access(&again, "/srv/data/new"), "r-");
    assert_int_equal(again.policy.network.allowed.count, 1);
    world_free(&again);
    end(lecture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_in_one_corner_becomes_one_grant),
        cmocka_unit_test(test_few_files_are_named_and_many_are_their_directory),
        cmocka_unit_test(test_what_nobody_should_grant_is_refused),
        cmocka_unit_test(test_what_was_refused_is_needed_only_if_the_command_failed),
        cmocka_unit_test(test_the_policy_says_what_was_learned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
