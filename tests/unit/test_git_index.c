/* Git's index: what git wrote is taken, and no name that git itself would not take. */
#include "policy/git_index.h"

#include "base/arena.h"
#include "base/text.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

/* Indexes that are wrong as a whole are spoken of without a name. */
struct world {
    struct arena arena;
    struct text out;
    struct git_index_verdict verdict;
};

static const char *judge(struct world *world, struct slice content, size_t hash_length)
{
    git_index_judge(content, hash_length, &world->verdict);
    return world->verdict.refused;
}

static bool speaks_of(const struct world *world, struct slice name)
{
    return slice_equal((struct slice){world->verdict.name, world->verdict.length}, name);
}

/* One that git wrote: fuzz/corpus/git_index. */
static struct slice recorded(struct arena *arena, const char *name)
{
    enum { ROOM = 65536 };
    char *bytes = arena_alloc(arena, ROOM);
    int file = open(arena_printf(arena, "%s/%s", GIT_INDEXES, name), O_RDONLY);

    assert_true(file >= 0);
    ssize_t length = read(file, bytes, ROOM);
    close(file);
    assert_in_range(length, 100, ROOM - 1);
    return (struct slice){bytes, (size_t)length};
}

static void number(struct world *world, size_t value, int bytes)
{
    while (bytes-- > 0)
        text_append_byte(&world->out, (char)(value >> (8 * bytes)));
}

static void nulls(struct world *world, size_t count)
{
    while (count-- > 0)
        text_append_byte(&world->out, '\0');
}

static void header(struct world *world, size_t version, size_t count)
{
    world->out = text_in(&world->arena);
    text_append_string(&world->out, "DIRC");
    number(world, version, 4);
    number(world, count, 4);
}

struct item {
    size_t version;
    size_t mode;
    size_t dropped; /* of the name before, in version 4 */
    size_t stated;  /* the length of the whole name */
};

static void entry(struct world *world, struct item item, struct slice name)
{
    size_t start = text_slice(&world->out).len;

    nulls(world, 24);
    number(world, item.mode, 4);
    nulls(world, 12 + GIT_INDEX_HASH_SHA1);
    number(world, item.stated < 0xfff ? item.stated : 0xfff, 2);
    if (item.version == 4)
        number(world, item.dropped, 1);
    text_append(&world->out, name);
    nulls(world, item.version == 4 ? 1 : 8 - (text_slice(&world->out).len - start) % 8);
}

static const char *judge_made(struct world *world)
{
    nulls(world, GIT_INDEX_HASH_SHA1);
    return judge(world, text_slice(&world->out), GIT_INDEX_HASH_SHA1);
}

static const char *judge_name(struct world *world, size_t version, struct slice name)
{
    header(world, version, 2);
    entry(world, (struct item){version, 0100644, 0, 7}, SLICE("a/first"));
    entry(world, (struct item){version, 0100644, 7, name.len}, name);
    return judge_made(world);
}

static int set_up(void **state)
{
    static struct world world;

    world = (struct world){0};
    *state = &world;
    return 0;
}

static int take_down(void **state)
{
    struct world *world = *state;

    arena_free(&world->arena);
    return 0;
}

static void what_git_wrote_is_taken(void **state)
{
    static const char *const sha1[] = {"version-2", "version-3", "version-4", "blocks-2",
                                       "blocks-4",  "untracked", "sparse"};
    struct world *world = *state;
    struct arena *arena = &world->arena;

    for (size_t i = 0; i < sizeof sha1 / sizeof *sha1; i++) {
        assert_null(judge(world, recorded(arena, sha1[i]), GIT_INDEX_HASH_SHA1));
        assert_non_null(judge(world, recorded(arena, sha1[i]), GIT_INDEX_HASH_SHA256));
    }
    assert_null(judge(world, recorded(arena, "sha256-2"), GIT_INDEX_HASH_SHA256));
    assert_null(judge(world, recorded(arena, "sha256-4"), GIT_INDEX_HASH_SHA256));
    assert_non_null(judge(world, recorded(arena, "sha256-2"), GIT_INDEX_HASH_SHA1));
}

static void a_split_index_and_a_hostile_one_are_refused(void **state)
{
    struct world *world = *state;

    assert_non_null(judge(world, recorded(&world->arena, "split"), GIT_INDEX_HASH_SHA1));
    assert_non_null(strstr(world->verdict.refused, "split"));
    assert_non_null(judge(world, recorded(&world->arena, "hostile"), GIT_INDEX_HASH_SHA1));
    assert_true(speaks_of(world, SLICE(".git/hooks/post-checkout")));
}

static void an_index_that_is_cut_off_is_refused(void **state)
{
    static const char *const names[] = {"version-2", "version-3", "version-4", "blocks-4", "sparse"};
    struct world *world = *state;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct slice whole = recorded(&world->arena, names[i]);
        size_t taken = 0;
        for (size_t length = 0; length < whole.len; length++)
            taken += judge(world, (struct slice){whole.ptr, length}, GIT_INDEX_HASH_SHA1) == NULL;
        /* Where all entries and some extensions end it is an index again. */
        assert_in_range(taken, 0, 4);
    }
}

static const char *const hostile[] = {"/",
                                      "/home/x/OUT",
                                      "../OUT",
                                      "src/../../OUT",
                                      "..",
                                      ".",
                                      "./a",
                                      "a/.",
                                      "a/..",
                                      "a//b",
                                      "a/",
                                      "/a",
                                      ".git",
                                      ".git/config",
                                      ".GIT/config",
                                      ".gIt",
                                      "a/.git",
                                      "a/.git/hooks/x",
                                      "git~1",
                                      "GIT~1/config",
                                      ".git.",
                                      ".git ",
                                      ".git. . ./x",
                                      "git~1 ",
                                      ".git:x",
                                      ".git::$INDEX_ALLOCATION/x",
                                      ".git\\x",
                                      "a\\.git\\x",
                                      "a\\git~1",
                                      ".g\xe2\x80\x8cit/config",
                                      "\xef\xbb\xbf.git",
                                      ".git\xe2\x81\xaf",
                                      ".\xe2\x80\xaagi\xe2\x80\xact/x",
                                      ".G\xe2\x80\x8cIT"};
static const char *const harmless[] = {
    "a",     "a/b",    ".gitignore", ".gitmodules", ".github/x", "...",      "a/..b",    "git",
    "git~2", "git~10", ".gi",        "x.git",       "a b",       "x.git/y",  " ",        "a\\b",
    "..a",   "a..",    ".gitt",      ".git-x",      "a:b",       "\xff\xfe", "\xe2\x80", ".g\xe2\x80\x90it"};

static void names_that_git_would_not_take_are_refused(void **state)
{
    struct world *world = *state;

    for (size_t version = 2; version <= 4; version++) {
        assert_non_null(judge_name(world, version, SLICE("")));
        for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
            assert_non_null(judge_name(world, version, slice_of(hostile[i])));
            assert_true(speaks_of(world, slice_of(hostile[i])));
        }
        for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
            assert_null(judge_name(world, version, slice_of(harmless[i])));
    }
}

static void a_name_that_is_put_together_is_judged_whole(void **state)
{
    struct world *world = *state;

    header(world, 4, 2);
    entry(world, (struct item){4, 0100644, 0, 10}, SLICE(".gitignore"));
    entry(world, (struct item){4, 0100644, 6, 11}, SLICE("/config"));
    assert_non_null(judge_made(world));
    assert_true(speaks_of(world, SLICE(".git/config")));
    header(world, 4, 2);
    entry(world, (struct item){4, 0100644, 0, 10}, SLICE(".gitignore"));
    entry(world, (struct item){4, 0100644, 6, 11}, SLICE("modules"));
    assert_null(judge_made(world));
    header(world, 4, 2);
    entry(world, (struct item){4, 0100644, 0, 10}, SLICE(".gitignore"));
    entry(world, (struct item){4, 0100644, 11, 7}, SLICE("modules"));
    assert_non_null(judge_made(world));
}

static void a_slash_at_the_end_is_for_directories(void **state)
{
    struct world *world = *state;

    header(world, 2, 1);
    entry(world, (struct item){2, 0040000, 0, 4}, SLICE("a/b/"));
    assert_null(judge_made(world));
    header(world, 2, 1);
    entry(world, (struct item){2, 0040000, 0, 7}, SLICE("a/.git/"));
    assert_non_null(judge_made(world));
}

static void a_length_that_is_not_the_names_is_refused(void **state)
{
    static const size_t stated[] = {0, 4, 6, 7, 0xfff};
    struct world *world = *state;

    for (size_t version = 2; version <= 4; version++) {
        for (size_t i = 0; i < sizeof stated / sizeof *stated; i++) {
            header(world, version, 1);
            entry(world, (struct item){version, 0100644, 0, stated[i]}, SLICE("a/b/c"));
            assert_non_null(judge_made(world));
        }
    }
}

static void long_names_are_read_up_to_what_a_path_can_have(void **state)
{
    struct world *world = *state;
    char name[GIT_INDEX_NAME_MAX + 1];

    memset(name, 'a', sizeof name);
    for (size_t version = 2; version <= 4; version++) {
        assert_null(judge_name(world, version, (struct slice){name, 0xffe}));
        assert_null(judge_name(world, version, (struct slice){name, 0xfff}));
        assert_null(judge_name(world, version, (struct slice){name, GIT_INDEX_NAME_MAX}));
        assert_non_null(judge_name(world, version, (struct slice){name, GIT_INDEX_NAME_MAX + 1}));
    }
}

static const char *judge_extension(struct world *world, const char *name, struct slice data)
{
    header(world, 2, 1);
    entry(world, (struct item){2, 0100644, 0, 1}, SLICE("a"));
    text_append_string(&world->out, name);
    number(world, data.len, 4);
    text_append(&world->out, data);
    return judge_made(world);
}

/* The entry ends at byte 76, 'L'. */
static void extensions_that_lead_git_elsewhere_are_refused(void **state)
{
    struct world *world = *state;

    assert_null(judge_extension(world, "TREE", SLICE("anything")));
    assert_null(judge_extension(world, "XYZZ", SLICE("")));
    assert_null(judge_extension(world, "sdir", SLICE("")));
    assert_non_null(judge_extension(world, "link", SLICE("")));
    assert_non_null(judge_extension(world, "evil", SLICE("")));
    assert_null(judge_extension(world, "EOIE", SLICE("\0\0\0Labcdefghijklmnopqrst")));
    assert_non_null(judge_extension(world, "EOIE", SLICE("\0\0\0Pabcdefghijklmnopqrst")));
    assert_non_null(judge_extension(world, "EOIE", SLICE("\0\0\0T")));
    assert_non_null(judge_extension(world, "TREE", SLICE("xxEOIE\0\0\0\030\0\0\0Labcdefghijklmnopqrst")));
    assert_null(judge_extension(world, "TREE", SLICE("xxEOIE\0\0\0\030\0\0\0Labcdefghijklmnopqrstu")));
    assert_null(judge_extension(world, "IEOT", SLICE("\0\0\0\1\0\0\0\014\0\0\0\1")));
    assert_non_null(judge_extension(world, "IEOT", SLICE("\0\0\0\1\0\0\0\020\0\0\0\1")));
    assert_non_null(judge_extension(world, "IEOT", SLICE("\0\0\0\1\0\0\0\014\0\0\0\2")));
    assert_non_null(judge_extension(world, "IEOT", SLICE("\0\0\0\1")));
    assert_non_null(judge_extension(world, "IEOT", SLICE("\0\0\0\2\0\0\0\014\0\0\0\1")));
}

static void versions_that_git_does_not_write_are_refused(void **state)
{
    struct world *world = *state;
    struct slice three = recorded(&world->arena, "version-3");
    struct text bytes = text_in(&world->arena);

    for (char version = 0; version < 8; version++) {
        bytes = text_in(&world->arena);
        text_append(&bytes, (struct slice){three.ptr, 7});
        text_append_byte(&bytes, version);
        text_append(&bytes, slice_from(three, 8));
        /* In two there are no longer flags, in four other names. */
        assert_int_equal(judge(world, text_slice(&bytes), GIT_INDEX_HASH_SHA1) == NULL, version == 3);
    }
    assert_non_null(judge(world, SLICE("DIRC"), GIT_INDEX_HASH_SHA1));
    assert_non_null(judge(world, SLICE(""), GIT_INDEX_HASH_SHA1));
}

static void more_than_is_ever_judged_is_refused(void **state)
{
    struct world *world = *state;

    /* The length alone is looked at. */
    assert_non_null(judge(world, (struct slice){"DIRC", (size_t)GIT_INDEX_SIZE_MAX + 1}, GIT_INDEX_HASH_SHA1));
    assert_non_null(strstr(world->verdict.refused, "64 MB"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, take_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_git_wrote_is_taken),
        TEST(a_split_index_and_a_hostile_one_are_refused),
        TEST(an_index_that_is_cut_off_is_refused),
        TEST(names_that_git_would_not_take_are_refused),
        TEST(a_name_that_is_put_together_is_judged_whole),
        TEST(a_slash_at_the_end_is_for_directories),
        TEST(a_length_that_is_not_the_names_is_refused),
        TEST(long_names_are_read_up_to_what_a_path_can_have),
        TEST(extensions_that_lead_git_elsewhere_are_refused),
        TEST(versions_that_git_does_not_write_are_refused),
        TEST(more_than_is_ever_judged_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
