/* Trust: given to a content, ended by any change in it or in what it extends. */
#include "policy/find.h"

#include "base/fd.h"
#include "policy/preset.h"
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <nettle/sha2.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void grant(struct scratch *scratch, const char *file)
{
    struct error err = {""};

    if (!trust_grant(&scratch->arena, &scratch->around, file, &err))
        fail_msg("%s", err.text);
}

static bool is_trusted(struct scratch *scratch, const char *file)
{
    struct error err = {""};
    bool trusted = false;

    if (!trust_check(&scratch->arena, &scratch->around, file, &trusted, &err))
        fail_msg("%s", err.text);
    return trusted;
}

static void refuses_to_grant(struct scratch *scratch, const char *file, const char *because)
{
    struct error err = {""};

    assert_false(trust_grant(&scratch->arena, &scratch->around, file, &err));
    if (!strstr(err.text, because))
        fail_msg("\"%s\" does not say \"%s\"", err.text, because);
}

static void cannot_judge(struct scratch *scratch, const char *file, const char *because)
{
    struct error err = {""};
    bool trusted = true;

    assert_false(trust_check(&scratch->arena, &scratch->around, file, &trusted, &err));
    assert_false(trusted);
    if (!strstr(err.text, because))
        fail_msg("\"%s\" does not say \"%s\"", err.text, because);
}

/* The one file in the store; NULL if it holds another number. */
static char *only_record(struct scratch *scratch)
{
    char *directory = scratch_path(scratch, "home/.local/state/cloche/trust");
    DIR *stream = opendir(directory);
    char *found = NULL;
    size_t count = 0;

    if (!stream)
        return NULL;
    for (struct dirent *entry = readdir(stream); entry; entry = readdir(stream)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        found = arena_printf(&scratch->arena, "%s/%s", directory, entry->d_name);
        count++;
    }
    closedir(stream);
    return count == 1 ? found : NULL;
}

static void test_trust_is_given_found_and_taken_back(void **state)
{
    struct scratch *scratch = *state;
    struct error err = {""};
    char *file = scratch_write(scratch, "home/project/.cloche.json", "{ /* mine */ }\n");

    assert_false(is_trusted(scratch, file));
    grant(scratch, file);
    assert_true(is_trusted(scratch, file));
    assert_true(trust_revoke(&scratch->arena, &scratch->around, file, &err));
    assert_false(is_trusted(scratch, file));
    assert_true(trust_revoke(&scratch->arena, &scratch->around, file, &err));
}

static void test_a_changed_policy_is_not_trusted_and_the_old_text_is_again(void **state)
{
    struct scratch *scratch = *state;
    char *file = scratch_write(scratch, "home/project/.cloche.json", "{}");

    grant(scratch, file);
    scratch_write(scratch, "home/project/.cloche.json", "{} ");
    assert_false(is_trusted(scratch, file));
    scratch_write(scratch, "home/project/.cloche.json", "{}");
    assert_true(is_trusted(scratch, file));
}

static void test_a_change_in_what_it_extends_ends_trust(void **state)
{
    struct scratch *scratch = *state;
    char *file =
        scratch_write(scratch, "home/project/.cloche.json", "{\"extends\": [\"./team/team.json\", \"preset:dev\"]}");

    scratch_write(scratch, "home/project/team/team.json", "{\"extends\": [\"../common.json\", \"~/own.json\"]}");
    scratch_write(scratch, "home/project/common.json", "{\"extends\": []}");
    scratch_write(scratch, "home/own.json", "{\"extends\": []}");
    grant(scratch, file);
    assert_true(is_trusted(scratch, file));
    scratch_write(scratch, "home/project/common.json", "{\"extends\": [], \"filesystem\": {}}");
    assert_false(is_trusted(scratch, file));
    scratch_write(scratch, "home/project/common.json", "{\"extends\": []}");
    assert_true(is_trusted(scratch, file));
    scratch_write(scratch, "home/own.json", "{\"extends\": [] }");
    assert_false(is_trusted(scratch, file));
}

/* The bytes of two neighbours must not be able to change places with each other. */
static void test_text_moved_from_one_file_to_the_next_ends_trust(void **state)
{
    struct scratch *scratch = *state;
    char *file = scratch_write(scratch, "home/project/.cloche.json", "{\"extends\": [\"./a\", \"./b\"]}");

    scratch_write(scratch, "home/project/a", "{\"extends\": []}  ");
    scratch_write(scratch, "home/project/b", "{\"extends\": []}");
    grant(scratch, file);
    assert_true(is_trusted(scratch, file));
    scratch_write(scratch, "home/project/a", "{\"extends\": []}");
    scratch_write(scratch, "home/project/b", "  {\"extends\": []}");
    assert_false(is_trusted(scratch, file));
}

static void hash_text(struct sha256_ctx *hash, struct slice text)
{
    uint8_t length[8] = {(uint8_t)text.len, (uint8_t)(text.len >> 8), (uint8_t)(text.len >> 16)};

    sha256_update(hash, sizeof length, length);
    sha256_update(hash, text.len, (const uint8_t *)text.ptr);
}

/* Presets are compiled in and cannot be changed by a test; so the digest is
 * worked out a second time: with their bytes it is the one on record, with one
 * byte less it is another. */
static void test_the_text_of_presets_is_part_of_what_is_trusted(void **state)
{
    struct scratch *scratch = *state;
    struct slice text = SLICE("{\"extends\": [\"preset:mcp\"]}");
    char *file = scratch_write(scratch, "home/project/.cloche.json", text.ptr);
    const struct slice chain[] = {SLICE("preset:mcp"), SLICE("preset:dev"), SLICE("preset:base")};
    struct error err = {""};
    struct slice record;

    grant(scratch, file);
    assert_true(file_read(only_record(scratch), 4096, &scratch->arena, &record, NULL, &err));
    for (size_t changed = 0; changed <= 3; changed++) {
        struct sha256_ctx hash;
        uint8_t digest[SHA256_DIGEST_SIZE];
        char hexadecimal[2 * SHA256_DIGEST_SIZE + 1];

        sha256_init(&hash);
        hash_text(&hash, slice_of(file));
        hash_text(&hash, text);
        for (size_t i = 0; i < 3; i++) {
            struct slice content = preset_find(slice_from(chain[i], strlen("preset:")))->text;
            content.len -= i == changed;
            hash_text(&hash, chain[i]);
            hash_text(&hash, content);
        }
        sha256_digest(&hash, sizeof digest, digest);
        for (size_t i = 0; i < sizeof digest; i++)
            snprintf(hexadecimal + 2 * i, 3, "%02x", digest[i]);
        assert_int_equal(strstr(record.ptr, hexadecimal) != NULL, changed == 3);
    }
}

static void test_the_same_text_elsewhere_is_not_trusted(void **state)
{
    struct scratch *scratch = *state;
    char *file = scratch_write(scratch, "home/project/.cloche.json", "{}");
    char *other = scratch_write(scratch, "home/other/.cloche.json", "{}");

    grant(scratch, file);
    assert_true(is_trusted(scratch, file));
    assert_false(is_trusted(scratch, other));
}

static void test_a_policy_has_one_name_however_it_is_reached(void **state)
{
    struct scratch *scratch = *state;

    scratch_write(scratch, "home/project/.cloche.json", "{}");
    assert_int_equal(symlink("home", scratch_path(scratch, "way")), 0);
    grant(scratch, scratch_path(scratch, "way/project/../project/.cloche.json"));
    assert_true(is_trusted(scratch, scratch_path(scratch, "home/project/.cloche.json")));
}

static void test_a_link_is_never_trusted(void **state)
{
    struct scratch *scratch = *state;
    char *file = scratch_write(scratch, "home/project/.cloche.json", "{}");
    char *elsewhere = scratch_write(scratch, "home/elsewhere.json", "{}");

    grant(scratch, file);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(symlink(elsewhere, file), 0);
    assert_false(is_trusted(scratch, file));
    refuses_to_grant(scratch, file, "symbolic link");
}

static void test_a_file_of_another_user_is_never_trusted(void **state)
{
    struct scratch *scratch = *state;
    char *file = scratch_write(scratch, "home/project/.cloche.json", "{}");

    if (geteuid() != 0)
        skip();
    grant(scratch, file);
    assert_true(is_trusted(scratch, file));
    assert_int_equal(chown(file, 12345, (gid_t)-1), 0);
    assert_false(is_trusted(scratch, file));
    refuses_to_grant(scratch, file, "another user");
}

static void test_what_cannot_be_read_in_full_cannot_be_trusted(void **state)
{
    struct scratch *scratch = *state;
    char *file = scratch_path(scratch, "home/project/.cloche.json");

    refuses_to_grant(scratch, file, "cannot open");
    scratch_write(scratch, "home/project/.cloche.json", "");
    refuses_to_grant(scratch, file, "not valid JSON");
    scratch_write(scratch, "home/project/.cloche.json", "[]");
    refuses_to_grant(scratch, file, "object");
    scratch_write(scratch, "home/project/.cloche.json", "{\"extends\": [\"./absent.json\"]}");
    refuses_to_grant(scratch, file, "absent.json");
    scratch_write(scratch, "home/project/.cloche.json", "{\"extends\": [\"preset:none\"]}");
    refuses_to_grant(scratch, file, "no such preset");
    scratch_write(scratch, "home/project/.cloche.json", "{\"extends\": [7]}");
    refuses_to_grant(scratch, file, "not a string");
    scratch_write(scratch, "home/project/.cloche.json", "{\"extends\": [\"./a\\u0000b\"]}");
    refuses_to_grant(scratch, file, "NUL");
    scratch_write(scratch, "home/project/.cloche.json", "{\"extends\": [\"$NOPE/x\"]}");
    refuses_to_grant(scratch, file, "NOPE");
    assert_null(only_record(scratch));
    refuses_to_grant(scratch, scratch->project, "");
    refuses_to_grant(scratch, "/", "does not name a file");
}

static void test_a_circle_of_files_is_followed_once(void **state)
{
    struct scratch *scratch = *state;
    char *file = scratch_write(scratch, "home/project/.cloche.json", "{\"extends\": [\"./a.json\"]}");

    scratch_write(scratch, "home/project/a.json", "{\"extends\": [\"./b.json\"]}");
    scratch_write(scratch, "home/project/b.json", "{\"extends\": [\"./a.json\"]}");
    /* That it is one is for the loader to refuse. */
    grant(scratch, file);
    assert_true(is_trusted(scratch, file));
    scratch_write(scratch, "home/project/b.json", "{\"extends\": \"./a.json\"}");
    assert_false(is_trusted(scratch, file));
}

/* The names of presets live in the JSON of the file that extends them: that must
 * not be looked at any more once it is gone (a sanitizer sees it). */
static void test_presets_named_at_several_levels_are_judged(void **state)
{
    struct scratch *scratch = *state;
    char *file = scratch_write(scratch, "home/project/.cloche.json",
                               "{\"extends\": [\"./one.json\", \"./two.json\", \"preset:dev\"]}");

    scratch_write(scratch, "home/project/one.json", "{\"extends\": [\"preset:dev\", \"preset:base\"]}");
    scratch_write(scratch, "home/project/two.json", "{\"extends\": [\"preset:base\", \"preset:dev\"]}");
    grant(scratch, file);
    assert_true(is_trusted(scratch, file));
    scratch_write(scratch, "home/project/two.json", "{\"extends\": [\"preset:base\", \"preset:open\"]}");
    assert_false(is_trusted(scratch, file));
}

static void test_a_trusted_policy_that_lost_a_part_is_an_error_not_a_verdict(void **state)
{
    struct scratch *scratch = *state;
    char *file = scratch_write(scratch, "home/project/.cloche.json", "{\"extends\": [\"./team.json\"]}");
    char *team = scratch_write(scratch, "home/project/team.json", "{\"extends\": []}");

    grant(scratch, file);
    assert_int_equal(unlink(team), 0);
    cannot_judge(scratch, file, "team.json");
}

static bool loads_with_write_to(struct scratch *scratch, const struct policy_source *source, const char *path)
{
    struct problems problems = {.arena = &scratch->arena};
    struct policy_request request = {.sources = source, .source_count = 1};
    struct policy *policy = ARENA_NEW(&scratch->arena, struct policy);

    if (!policy_load(&scratch->arena, &scratch->around, &request, policy, &problems))
        return false;
    for (size_t i = 0; i < policy->paths.count; i++)
        if (policy->paths.items[i].list == LIST_ALLOW_WRITE && slice_is(policy->paths.items[i].text, path))
            return true;
    return false;
}

/* What is loaded is what was judged, whatever stands there by then. */
static void test_a_file_that_changes_between_judging_and_loading_does_not_count(void **state)
{
    struct scratch *scratch = *state;
    char *file =
        scratch_write(scratch, "home/project/.cloche.json", "{\"extends\": [\"./team.json\", \"./last.json\"]}");
    char *team = scratch_write(scratch, "home/project/team.json", "{\"filesystem\": {\"allowWrite\": [\"/trusted\"]}}");
    struct policy_source source;
    struct error err = {""};
    bool trusted;

    scratch_write(scratch, "home/project/last.json", "{\"filesystem\": {\"denyRead\": []}}");
    grant(scratch, file);
    assert_true(trust_source(&scratch->arena, &scratch->around, file, &trusted, &source, &err));
    assert_true(trusted);
    assert_true(loads_with_write_to(scratch, &source, "/trusted"));

    scratch_write(scratch, "home/project/team.json", "{\"filesystem\": {\"allowWrite\": [\"/swapped\"]}}");
    scratch_write(scratch, "home/project/.cloche.json", "{\"filesystem\": {\"allowWrite\": [\"/swapped\"]}}");
    assert_true(loads_with_write_to(scratch, &source, "/trusted"));
    assert_false(loads_with_write_to(scratch, &source, "/swapped"));
    /* Nor does a link make it the twin of a file that was merged already. */
    assert_int_equal(unlink(team), 0);
    assert_int_equal(symlink(".cloche.json", team), 0);
    assert_true(loads_with_write_to(scratch, &source, "/trusted"));
    /* A plain file is read as it is. */
    struct policy_source plain = {.kind = SOURCE_FILE, .name = file};
    assert_true(loads_with_write_to(scratch, &plain, "/swapped"));
}

static void test_a_file_that_was_not_judged_is_refused(void **state)
{
    struct scratch *scratch = *state;
    char *file = scratch_write(scratch, "home/project/.cloche.json", "{\"extends\": [\"./team.json\"]}");
    struct policy_source source;
    struct error err = {""};
    bool trusted;

    scratch_write(scratch, "home/project/team.json", "{\"filesystem\": {\"allowWrite\": [\"/trusted\"]}}");
    grant(scratch, file);
    assert_true(trust_source(&scratch->arena, &scratch->around, file, &trusted, &source, &err));
    assert_true(loads_with_write_to(scratch, &source, "/trusted"));
    source.document_count = 1;
    assert_false(loads_with_write_to(scratch, &source, "/trusted"));
}

static void test_records_are_private_and_nothing_else_is_left(void **state)
{
    struct scratch *scratch = *state;
    char *file = scratch_write(scratch, "home/project/.cloche.json", "{}");
    struct stat status;

    grant(scratch, file);
    grant(scratch, file);
    char *record = only_record(scratch);
    assert_non_null(record);
    assert_int_equal(stat(record, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(stat(scratch_path(scratch, "home/.local/state/cloche/trust"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_int_equal(stat(scratch_path(scratch, "home/.local/state/cloche"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
}

static void test_a_record_that_others_could_have_written_does_not_count(void **state)
{
    struct scratch *scratch = *state;
    char *file = scratch_write(scratch, "home/project/.cloche.json", "{}");

    grant(scratch, file);
    char *record = only_record(scratch);
    assert_int_equal(chmod(record, 0620), 0);
    cannot_judge(scratch, file, "written by others");
    assert_int_equal(chmod(record, 0600), 0);
    assert_true(is_trusted(scratch, file));
    assert_int_equal(chmod(scratch_path(scratch, "home/.local/state/cloche"), 0777), 0);
    cannot_judge(scratch, file, "written by others");
    refuses_to_grant(scratch, file, "written by others");
}

static void test_links_in_the_store_are_not_followed(void **state)
{
    struct scratch *scratch = *state;
    char *file = scratch_write(scratch, "home/project/.cloche.json", "{}");
    char *store = scratch_path(scratch, "home/.local/state/cloche/trust");
    char *moved = scratch_path(scratch, "home/project/trust");

    grant(scratch, file);
    assert_int_equal(rename(store, moved), 0);
    assert_int_equal(symlink(moved, store), 0);
    cannot_judge(scratch, file, "trust");
    refuses_to_grant(scratch, file, "trust");
    assert_int_equal(unlink(store), 0);
    assert_int_equal(rename(moved, store), 0);
    assert_true(is_trusted(scratch, file));

    char *record = only_record(scratch);
    char *copy = scratch_path(scratch, "home/project/record");
    assert_int_equal(rename(record, copy), 0);
    assert_int_equal(symlink(copy, record), 0);
    cannot_judge(scratch, file, "symbolic link");
}

static void test_a_damaged_record_is_said(void **state)
{
    struct scratch *scratch = *state;
    char *file = scratch_write(scratch, "home/project/.cloche.json", "{}");

    grant(scratch, file);
    char *record = only_record(scratch);
    assert_int_equal(truncate(record, 20), 0);
    cannot_judge(scratch, file, "trust the policy again");
    grant(scratch, file);
    assert_true(is_trusted(scratch, file));
}

static void test_the_state_directory_follows_xdg_when_it_is_absolute(void **state)
{
    struct scratch *scratch = *state;
    char *file = scratch_write(scratch, "home/project/.cloche.json", "{}");

    scratch->environment[0] = arena_printf(&scratch->arena, "XDG_STATE_HOME=%s/my/state", scratch->root);
    grant(scratch, file);
    assert_int_equal(access(scratch_path(scratch, "my/state/cloche/trust"), F_OK), 0);
    assert_int_not_equal(access(scratch_path(scratch, "home/.local"), F_OK), 0);
    scratch->environment[0] = (char[]){"XDG_STATE_HOME=relative"};
    assert_false(is_trusted(scratch, file));
    grant(scratch, file);
    assert_int_equal(access(scratch_path(scratch, "home/.local/state/cloche/trust"), F_OK), 0);
}

static void test_a_home_that_is_not_there_is_not_made(void **state)
{
    struct scratch *scratch = *state;
    char *file = scratch_write(scratch, "home/project/.cloche.json", "{}");

    scratch->around.home = slice_of(scratch_path(scratch, "nobody"));
    assert_false(is_trusted(scratch, file));
    refuses_to_grant(scratch, file, "nobody");
    assert_int_not_equal(access(scratch_path(scratch, "nobody"), F_OK), 0);
}

#define scratch_test(function) cmocka_unit_test_setup_teardown(function, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(test_trust_is_given_found_and_taken_back),
        scratch_test(test_a_changed_policy_is_not_trusted_and_the_old_text_is_again),
        scratch_test(test_a_change_in_what_it_extends_ends_trust),
        scratch_test(test_text_moved_from_one_file_to_the_next_ends_trust),
        scratch_test(test_the_text_of_presets_is_part_of_what_is_trusted),
        scratch_test(test_the_same_text_elsewhere_is_not_trusted),
        scratch_test(test_a_policy_has_one_name_however_it_is_reached),
        scratch_test(test_a_link_is_never_trusted),
        scratch_test(test_a_file_of_another_user_is_never_trusted),
        scratch_test(test_what_cannot_be_read_in_full_cannot_be_trusted),
        scratch_test(test_a_circle_of_files_is_followed_once),
        scratch_test(test_presets_named_at_several_levels_are_judged),
        scratch_test(test_a_trusted_policy_that_lost_a_part_is_an_error_not_a_verdict),
        scratch_test(test_a_file_that_changes_between_judging_and_loading_does_not_count),
        scratch_test(test_a_file_that_was_not_judged_is_refused),
        scratch_test(test_records_are_private_and_nothing_else_is_left),
        scratch_test(test_a_record_that_others_could_have_written_does_not_count),
        scratch_test(test_links_in_the_store_are_not_followed),
        scratch_test(test_a_damaged_record_is_said),
        scratch_test(test_the_state_directory_follows_xdg_when_it_is_absolute),
        scratch_test(test_a_home_that_is_not_there_is_not_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
