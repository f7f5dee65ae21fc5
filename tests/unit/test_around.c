/* Where a run happens: which project, which home, and what is refused. */
#include "policy/around.h"

#include "base/fd.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct scene {
    struct arena arena;
    char root[64];    /* a real path: /tmp may be a link */
    char project[96]; /* root/home/user/project */
    char home[96];    /* root/home/user */
    char *home_variable;
    int start; /* the directory the test was started in */
    struct surroundings around;
    struct error err;
};

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    char template[] = "/tmp/cloche-around-XXXXXX";
    char real[PATH_MAX];

    assert_non_null(mkdtemp(template));
    assert_non_null(realpath(template, real));
    snprintf(scene->root, sizeof scene->root, "%s", real);
    snprintf(scene->home, sizeof scene->home, "%s/home", scene->root);
    assert_int_equal(mkdir(scene->home, 0700), 0);
    snprintf(scene->home, sizeof scene->home, "%s/home/user", scene->root);
    assert_int_equal(mkdir(scene->home, 0700), 0);
    snprintf(scene->project, sizeof scene->project, "%s/project", scene->home);
    assert_int_equal(mkdir(scene->project, 0700), 0);
    scene->home_variable = arena_printf(&scene->arena, "HOME=%s", scene->home);
    scene->start = open(".", O_DIRECTORY | O_CLOEXEC);
    assert_true(scene->start >= 0);
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    char *command = arena_printf(&scene->arena, "rm -rf '%s'", scene->root);

    assert_int_equal(fchdir(scene->start), 0);
    close(scene->start);
    assert_int_equal(system(command), 0);
    arena_free(&scene->arena);
    free(scene);
    return 0;
}

static bool gather(struct scene *scene, const char *option, const char *extra)
{
    char **environment = arena_alloc(&scene->arena, 3 * sizeof *environment);

    environment[0] = scene->home_variable;
    environment[1] = extra ? arena_string(&scene->arena, extra) : NULL;
    scene->err.text[0] = '\0';
    return surroundings_gather(&scene->arena, PERSONALITY_CLOCHE, option, environment, NULL, &scene->around,
                               &scene->err);
}

#define assert_slice(slice, text) assert_true(slice_is((slice), (text)))
#define assert_says(scene, words) assert_non_null(strstr((scene)->err.text, (words)))

static void test_the_current_directory_is_the_project(void **state)
{
    struct scene *scene = *state;

    assert_int_equal(chdir(scene->project), 0);
    assert_true(gather(scene, NULL, NULL));
    assert_slice(scene->around.project, scene->project);
    assert_slice(scene->around.home, scene->home);
    assert_int_equal(scene->around.is_root, geteuid() == 0);
    assert_true(scene->around.user.len > 0);
    assert_true(scene->around.host_name.len > 0);
}

static void test_the_option_beats_the_variable_and_the_variable_the_current_directory(void **state)
{
    struct scene *scene = *state;
    char *other = arena_printf(&scene->arena, "%s/other", scene->home);

    assert_int_equal(mkdir(other, 0700), 0);
    assert_int_equal(chdir(scene->project), 0);
    assert_true(gather(scene, NULL, arena_printf(&scene->arena, "CLOCHE_PROJECT=%s", other)));
    assert_slice(scene->around.project, other);
    assert_true(gather(scene, "../other/../project", arena_printf(&scene->arena, "CLOCHE_PROJECT=%s", other)));
    assert_slice(scene->around.project, scene->project);
    assert_true(gather(scene, NULL, "CLOCHE_PROJECT="));
    assert_slice(scene->around.project, scene->project);
}

static void test_a_further_variable_comes_after_cloche_project(void **state)
{
    struct scene *scene = *state;
    char *environment[] = {scene->home_variable, arena_printf(&scene->arena, "PROJECT_DIR=%s", scene->project), NULL};
    char *both[] = {environment[0], environment[1], arena_printf(&scene->arena, "CLOCHE_PROJECT=%s/no", scene->home),
                    NULL};

    assert_int_equal(chdir("/"), 0);
    assert_true(surroundings_gather_with(&scene->arena, PERSONALITY_CLOCHE, NULL, "PROJECT_DIR", environment, NULL,
                                         &scene->around, &scene->err));
    assert_slice(scene->around.project, scene->project);
    assert_false(surroundings_gather_with(&scene->arena, PERSONALITY_CLOCHE, NULL, "PROJECT_DIR", both, NULL,
                                          &scene->around, &scene->err));
    assert_says(scene, "$CLOCHE_PROJECT");
    /* Nobody else reads it. */
    assert_false(
        surroundings_gather(&scene->arena, PERSONALITY_CLOCHE, NULL, environment, NULL, &scene->around, &scene->err));
}

static void test_links_on_the_way_to_the_project_and_home_are_followed(void **state)
{
    struct scene *scene = *state;
    char *link = arena_printf(&scene->arena, "%s/link", scene->root);

    assert_int_equal(symlink(scene->home, link), 0);
    assert_true(gather(scene, arena_printf(&scene->arena, "%s/project/", link), NULL));
    assert_slice(scene->around.project, scene->project);
    scene->home_variable = arena_printf(&scene->arena, "HOME=%s", link);
    assert_true(gather(scene, scene->project, NULL));
    assert_slice(scene->around.home, scene->home);
}

static void test_home_is_never_the_project_by_implication(void **state)
{
    struct scene *scene = *state;
    char *above = arena_printf(&scene->arena, "%s/home", scene->root);
    const char *too_wide[] = {scene->home, above, "/"};

    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(chdir(too_wide[i]), 0);
        assert_false(gather(scene, NULL, NULL));
        assert_says(scene, "-C");
        assert_false(gather(scene, NULL, arena_printf(&scene->arena, "CLOCHE_PROJECT=%s", too_wide[i])));
        assert_says(scene, "$CLOCHE_PROJECT");
        /* Named, it is what the user wants. */
        assert_true(gather(scene, too_wide[i], NULL));
        assert_slice(scene->around.project, too_wide[i]);
        assert_true(gather(scene, ".", NULL));
    }
}

static void test_srt_runs_anywhere_as_srt_does(void **state)
{
    struct scene *scene = *state;
    char *environment[] = {scene->home_variable, NULL};
    char *root_home[] = {(char[]){"HOME=/"}, NULL};

    assert_int_equal(chdir(scene->home), 0);
    assert_true(
        surroundings_gather(&scene->arena, PERSONALITY_SRT, NULL, environment, NULL, &scene->around, &scene->err));
    assert_slice(scene->around.project, scene->home);
    assert_true(
        surroundings_gather(&scene->arena, PERSONALITY_SRT, NULL, root_home, NULL, &scene->around, &scene->err));
}

static void test_a_project_that_is_no_directory_is_refused(void **state)
{
    struct scene *scene = *state;
    char *file = arena_printf(&scene->arena, "%s/file", scene->root);

    close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_false(gather(scene, file, NULL));
    assert_says(scene, "not a directory");
    assert_false(gather(scene, arena_printf(&scene->arena, "%s/absent", scene->root), NULL));
    assert_says(scene, "does not exist");
    assert_false(gather(scene, "", NULL));
    assert_says(scene, "empty");
}

static void test_a_current_directory_that_is_gone_is_said(void **state)
{
    struct scene *scene = *state;
    char *gone = arena_printf(&scene->arena, "%s/gone", scene->root);

    assert_int_equal(mkdir(gone, 0700), 0);
    assert_int_equal(chdir(gone), 0);
    assert_int_equal(rmdir(gone), 0);
    assert_false(gather(scene, NULL, NULL));
    assert_says(scene, "current directory");
    assert_true(gather(scene, scene->project, NULL));
}

static void test_a_home_that_cannot_be_one_is_refused(void **state)
{
    struct scene *scene = *state;

    scene->home_variable = (char[]){"HOME=relative/path"};
    assert_false(gather(scene, scene->project, NULL));
    assert_says(scene, "absolute");
    scene->home_variable = (char[]){"HOME=/"};
    assert_false(gather(scene, scene->project, NULL));
    assert_says(scene, "set HOME");
    scene->home_variable = (char[]){"HOME=/usr/.."};
    assert_false(gather(scene, scene->project, NULL));
    /* A home that does not exist hides nothing and harms nobody. */
    scene->home_variable = (char[]){"HOME=/nonexistent"};
    assert_true(gather(scene, scene->project, NULL));
    assert_slice(scene->around.home, "/nonexistent");
}

static void test_without_home_the_password_file_is_asked(void **state)
{
    struct scene *scene = *state;
    struct slice passwd, name, home;

    scene->home_variable = (char[]){"HOME="};
    assert_true(file_read("/etc/passwd", 1 << 20, &scene->arena, &passwd, NULL, &scene->err));
    if (!passwd_find(passwd, geteuid(), &name, &home) || home.len < 2) {
        assert_false(gather(scene, scene->project, NULL));
        return;
    }
    assert_true(gather(scene, scene->project, NULL));
    assert_true(slice_equal(scene->around.user, name));
}

static void test_passwd_lines_are_read_strictly(void **state)
{
    struct slice passwd = SLICE("short:x:7\n"
                                "\n"
                                ":x:7:7::/nameless:/bin/sh\n"
                                "words:x:seven:7::/words:/bin/sh\n"
                                "huge:x:4294967303:7::/huge:/bin/sh\n"
                                "long:x:7:7:a:b:/long:/bin/sh\n"
                                "root:x:0:0:root:/root:/bin/bash\n"
                                "good:x:7:7:A Name,,,:/home/good:/bin/sh\n"
                                "second:x:7:7::/home/second:/bin/sh\n"
                                "last:x:8:8::/home/last:");
    struct slice name, home;

    (void)state;
    assert_true(passwd_find(passwd, 7, &name, &home));
    assert_slice(name, "good");
    assert_slice(home, "/home/good");
    assert_true(passwd_find(passwd, 8, &name, &home));
    assert_slice(home, "/home/last");
    assert_false(passwd_find(passwd, 9, &name, &home));
    assert_false(passwd_find(SLICE(""), 0, &name, &home));
}

#define scene_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        scene_test(test_the_current_directory_is_the_project),
        scene_test(test_the_option_beats_the_variable_and_the_variable_the_current_directory),
        scene_test(test_a_further_variable_comes_after_cloche_project),
        scene_test(test_links_on_the_way_to_the_project_and_home_are_followed),
        scene_test(test_home_is_never_the_project_by_implication),
        scene_test(test_srt_runs_anywhere_as_srt_does),
        scene_test(test_a_project_that_is_no_directory_is_refused),
        scene_test(test_a_current_directory_that_is_gone_is_said),
        scene_test(test_a_home_that_cannot_be_one_is_refused),
        scene_test(test_without_home_the_password_file_is_asked),
        cmocka_unit_test(test_passwd_lines_are_read_strictly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
