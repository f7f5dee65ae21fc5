/* Hosts that we do not have: from what their kernel would answer and what their
 * settings would say, the diagnosis must name the one cause and the one remedy. */
#include "host/examine.h"
#include "host/subjects.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct settings plain_settings(void)
{
    static char release[] = "6.8.0-31-generic";
    static char program[] = "/usr/local/bin/cloche";

    return (struct settings){
        .release = release,
        .program = program,
        .max_user_namespaces = 15000,
        .unprivileged_userns_clone = SETTING_ABSENT,
        .apparmor_restrict_unprivileged_userns = SETTING_ABSENT,
        .ptrace_scope = SETTING_ABSENT,
        .proc_mounted = true,
    };
}

static struct finding diagnose(struct arena *arena, enum namespace_step step, int errnum, bool is_root, bool chrooted,
                               const struct settings *settings)
{
    struct namespace_failure failure = {
        .step = step, .errnum = errnum, .is_root = is_root, .chrooted = chrooted, .settings = settings};
    struct finding finding = {.id = "user-namespaces", .title = "user namespaces"};

    diagnose_user_namespaces(arena, &failure, &finding);
    assert_int_equal(finding.status, FINDING_MISSING);
    return finding;
}

static void assert_says(const char *text, const char *part)
{
    assert_non_null(text);
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static void assert_never_says(const char *text, const char *part)
{
    if (text != NULL && strstr(text, part) != NULL)
        fail_msg("\"%s\" is in \"%s\"", part, text);
}

static void test_ubuntu_with_powerless_namespaces_gets_the_profile_for_this_binary(void **state)
{
    ARENA_CLEANUP struct arena arena = {0};
    struct settings settings = plain_settings();

    (void)state;
    settings.apparmor_restrict_unprivileged_userns = 1;
    for (enum namespace_step step = NAMESPACE_USER; step <= NAMESPACE_TMPFS; step++) {
        struct finding finding =
            diagnose(&arena, step, step == NAMESPACE_TMPFS ? EACCES : EPERM, false, false, &settings);
        assert_says(finding.detail, "kernel.apparmor_restrict_unprivileged_userns is 1");
        assert_says(finding.remedy, "profile cloche \"/usr/local/bin/cloche\" flags=(unconfined) {");
        assert_says(finding.remedy, "userns,");
        assert_says(finding.remedy, "sudo apparmor_parser -r /etc/apparmor.d/cloche");
        assert_says(finding.remedy, "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0");
    }
}

static void test_apparmor_is_not_blamed_where_it_is_not_the_cause(void **state)
{
    ARENA_CLEANUP struct arena arena = {0};
    struct settings settings = plain_settings();

    (void)state;
    settings.apparmor_restrict_unprivileged_userns = 0;
    assert_never_says(diagnose(&arena, NAMESPACE_USER, EPERM, false, false, &settings).remedy, "apparmor_parser");
    settings.apparmor_restrict_unprivileged_userns = 1;
    assert_never_says(diagnose(&arena, NAMESPACE_USER, EPERM, true, false, &settings).remedy, "apparmor_parser");
    assert_never_says(diagnose(&arena, NAMESPACE_USER, ENOSPC, false, false, &settings).remedy, "apparmor_parser");
    assert_never_says(diagnose(&arena, NAMESPACE_USER, EPERM, false, true, &settings).remedy, "apparmor_parser");
}

static void test_debian_switch_is_named_for_users_and_not_for_root(void **state)
{
    ARENA_CLEANUP struct arena arena = {0};
    struct settings settings = plain_settings();

    (void)state;
    settings.unprivileged_userns_clone = 0;
    struct finding user = diagnose(&arena, NAMESPACE_USER, EPERM, false, false, &settings);
    assert_says(user.detail, "kernel.unprivileged_userns_clone is 0");
    assert_says(user.remedy, "sudo sysctl -w kernel.unprivileged_userns_clone=1");
    struct finding root = diagnose(&arena, NAMESPACE_USER, EPERM, true, false, &settings);
    assert_never_says(root.detail, "unprivileged_userns_clone");
}

static void test_limit_of_zero_and_limit_reached_are_told_apart(void **state)
{
    ARENA_CLEANUP struct arena arena = {0};
    struct settings settings = plain_settings();

    (void)state;
    struct finding reached = diagnose(&arena, NAMESPACE_USER, ENOSPC, false, false, &settings);
    assert_says(reached.detail, "too many user namespaces");
    assert_says(reached.detail, "15000");
    settings.max_user_namespaces = 0;
    struct finding zero = diagnose(&arena, NAMESPACE_USER, ENOSPC, false, false, &settings);
    assert_says(zero.detail, "user.max_user_namespaces is 0");
    assert_says(zero.remedy, "sudo sysctl -w user.max_user_namespaces=");
}

static void test_chroot_is_named(void **state)
{
    ARENA_CLEANUP struct arena arena = {0};
    struct settings settings = plain_settings();

    (void)state;
    assert_says(diagnose(&arena, NAMESPACE_USER, EPERM, true, true, &settings).detail, "inside a chroot");
    assert_never_says(diagnose(&arena, NAMESPACE_USER, EPERM, true, false, &settings).detail, "runs inside a chroot");
}

static void test_docker_filter_gets_docker_options(void **state)
{
    ARENA_CLEANUP struct arena arena = {0};
    struct settings settings = plain_settings();

    (void)state;
    settings.seccomp_mode = 2;
    settings.in_container = true;
    struct finding finding = diagnose(&arena, NAMESPACE_USER, EPERM, true, false, &settings);
    assert_says(finding.detail, "this seems to be a container");
    assert_says(finding.remedy, "--security-opt seccomp=unconfined");
    settings.in_container = false;
    assert_never_says(diagnose(&arena, NAMESPACE_USER, EPERM, true, false, &settings).remedy, "--security-opt");
}

static void test_kernel_without_the_feature_is_named(void **state)
{
    ARENA_CLEANUP struct arena arena = {0};
    struct settings settings = plain_settings();

    (void)state;
    assert_says(diagnose(&arena, NAMESPACE_USER, EINVAL, false, false, &settings).remedy, "CONFIG_USER_NS");
    assert_says(diagnose(&arena, NAMESPACE_MOUNT_CALLS, ENOSYS, false, false, &settings).detail, "older than 5.12");
}

static void test_hostile_program_path_reaches_neither_terminal_nor_shell(void **state)
{
    ARENA_CLEANUP struct arena arena = {0};

    (void)state;
    assert_never_says(diagnose_apparmor_remedy(&arena, "/tmp/\033[2Jx/cloche"), "\033");
    assert_never_says(diagnose_apparmor_remedy(&arena, "/tmp/';reboot;'/cloche"), "reboot");
    assert_says(diagnose_apparmor_remedy(&arena, "/opt/cloche-0.1/bin/cloche"), "\"/opt/cloche-0.1/bin/cloche\"");
}

static void test_masked_proc_is_told_from_a_plain_refusal(void **state)
{
    ARENA_CLEANUP struct arena arena = {0};
    struct settings settings = plain_settings();
    struct finding finding = {0};

    (void)state;
    settings.proc_masked = true;
    diagnose_fresh_proc(&arena, EPERM, &settings, &finding);
    assert_says(finding.detail, "masked");
    assert_says(finding.remedy, "systempaths=unconfined");
    settings.proc_masked = false;
    diagnose_fresh_proc(&arena, EPERM, &settings, &finding);
    assert_never_says(finding.detail, "masked");
    settings.proc_mounted = false;
    diagnose_fresh_proc(&arena, EPERM, &settings, &finding);
    assert_says(finding.detail, "no /proc of this pid namespace is mounted");
}

static void test_masks_of_proc_are_seen_in_mountinfo(void **state)
{
    (void)state;
    assert_false(settings_proc_is_masked(SLICE("")));
    assert_false(settings_proc_is_masked(SLICE("22 1 8:1 / / rw - ext4 /dev/vda rw\n"
                                               "23 22 0:21 / /proc rw,nosuid shared:5 - proc proc rw\n")));
    assert_false(settings_proc_is_masked(SLICE("24 23 0:22 / /proc/sys/fs/binfmt_misc rw - binfmt_misc x rw\n")));
    assert_true(settings_proc_is_masked(SLICE("23 22 0:21 / /proc rw - proc proc rw\n"
                                              "24 23 0:21 /sys /proc/sys ro,nosuid - proc proc rw\n")));
    assert_true(settings_proc_is_masked(SLICE("24 23 0:21 / /proc/kcore rw - tmpfs tmpfs rw")));
    assert_true(settings_proc_is_masked(SLICE("23 22 0:21 / /proc ro,nosuid - proc proc rw\n")));
    assert_false(settings_proc_is_masked(SLICE("23 22 0:21 / /process ro - ext4 x rw\n")));
    assert_false(settings_proc_is_masked(SLICE("23 22 0:21 / /mnt ro - ext4 x rw\n")));
}

static void test_cut_off_mountinfo_is_survived(void **state)
{
    static const char line[] = "24 23 0:21 /sys /proc/sys ro,nosuid - proc proc rw\n";

    (void)state;
    for (size_t length = 0; length < sizeof(line); length++)
        settings_proc_is_masked((struct slice){line, length});
    assert_true(settings_proc_is_masked((struct slice){line, sizeof(line) - 1}));
}

static void add(struct examination *examination, enum finding_weight weight, enum finding_status status)
{
    examination_add(examination, "x", "X", "y", weight)->status = status;
}

static void test_conclusion_rests_on_what_every_run_needs(void **state)
{
    ARENA_CLEANUP struct arena arena = {0};
    struct examination examination = {0};

    (void)state;
    add(&examination, WEIGHT_REQUIRED, FINDING_LIMITED);
    add(&examination, WEIGHT_OPTIONAL, FINDING_MISSING);
    examine_conclude(&arena, &examination);
    assert_string_equal(examination.backend, "namespaces");
    size_t shortfalls = examination.shortfall_count;

    add(&examination, WEIGHT_DEFAULT, FINDING_MISSING);
    examine_conclude(&arena, &examination);
    assert_string_equal(examination.backend, "namespaces");
    assert_int_equal(examination.verdict, VERDICT_DEGRADED);
    assert_int_equal(examination.shortfall_count, shortfalls + 1);

    add(&examination, WEIGHT_NAMESPACES, FINDING_MISSING);
    examine_conclude(&arena, &examination);
    assert_null(examination.backend);

    examination_add(&examination, "landlock", "Landlock", "y", WEIGHT_DEFAULT);
    examine_conclude(&arena, &examination);
    assert_string_equal(examination.backend, "landlock");
    assert_int_equal(examination.verdict, VERDICT_DEGRADED);

    add(&examination, WEIGHT_REQUIRED, FINDING_MISSING);
    examine_conclude(&arena, &examination);
    assert_null(examination.backend);
    assert_int_equal(examination.verdict, VERDICT_IMPOSSIBLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ubuntu_with_powerless_namespaces_gets_the_profile_for_this_binary),
        cmocka_unit_test(test_apparmor_is_not_blamed_where_it_is_not_the_cause),
        cmocka_unit_test(test_debian_switch_is_named_for_users_and_not_for_root),
        cmocka_unit_test(test_limit_of_zero_and_limit_reached_are_told_apart),
        cmocka_unit_test(test_chroot_is_named),
        cmocka_unit_test(test_docker_filter_gets_docker_options),
        cmocka_unit_test(test_kernel_without_the_feature_is_named),
        cmocka_unit_test(test_hostile_program_path_reaches_neither_terminal_nor_shell),
        cmocka_unit_test(test_masked_proc_is_told_from_a_plain_refusal),
        cmocka_unit_test(test_masks_of_proc_are_seen_in_mountinfo),
        cmocka_unit_test(test_cut_off_mountinfo_is_survived),
        cmocka_unit_test(test_conclusion_rests_on_what_every_run_needs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
