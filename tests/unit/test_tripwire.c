/* The file system that masks are made of: it shows that they are there, and
 * refuses all else. */
#include "watch/tripwire.h"

#include <errno.h>
#include <linux/fuse.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { WIRES = 100, FILE_NODE = 2 + 4, DIRECTORY_NODE = 2 + 5, NO_NODE = 2 + 6 };

/* Every third number has none; of the others, even ones are files. */
static enum wire wire_at(const void *argument, size_t number)
{
    (void)argument;
    if (number % 3 == 0)
        return WIRE_NONE;
    return number % 2 ? WIRE_DIRECTORY : WIRE_FILE;
}

static const struct tripwires wires = {.count = WIRES, .at = wire_at, .user = 1000, .group = 100, .time = 12345};

struct answered {
    struct fuse_out_header head;
    _Alignas(uint64_t) char bytes[TRIPWIRE_ANSWER_MAX];
    size_t length;
    struct tripped tripped;
};

static char sent[TRIPWIRE_REQUEST_MAX];

static const char *body_of(const struct answered *answered)
{
    return answered->bytes + sizeof answered->head;
}

static struct answered ask(uint32_t opcode, uint64_t node, const void *body, size_t size)
{
    struct fuse_in_header head = {
        .len = (uint32_t)(sizeof head + size), .opcode = opcode, .unique = 77, .nodeid = node, .pid = 4711};
    struct answered answered = {0};

    memcpy(sent, &head, sizeof head);
    if (size > 0)
        memcpy(sent + sizeof head, body, size);
    answered.length = tripwire_answer(&wires, sent, sizeof head + size, answered.bytes, &answered.tripped);
    if (answered.length > 0) {
        memcpy(&answered.head, answered.bytes, sizeof answered.head);
        assert_int_equal(answered.head.len, answered.length);
        assert_int_equal(answered.head.unique, 77);
    }
    return answered;
}

static void test_a_mask_looks_like_a_file_or_directory_nobody_may_open(void **state)
{
    const struct fuse_getattr_in in = {0};
    struct fuse_attr_out out;

    (void)state;
    struct answered answered = ask(FUSE_GETATTR, FILE_NODE, &in, sizeof in);
    memcpy(&out, body_of(&answered), sizeof out);
    assert_int_equal(out.attr.mode, S_IFREG);
    assert_int_equal(out.attr.uid, 1000);
    assert_int_equal(out.attr.gid, 100);
    assert_int_equal(out.attr.mtime, 12345);
    assert_true(out.attr_valid > 1000000);
    answered = ask(FUSE_GETATTR, DIRECTORY_NODE, &in, sizeof in);
    memcpy(&out, body_of(&answered), sizeof out);
    assert_int_equal(out.attr.mode, S_IFDIR);
    assert_false(answered.tripped.by_somebody);
}

static void test_every_way_to_read_is_refused_and_told(void **state)
{
    static const struct fuse_open_in opening = {0};
    static const struct fuse_access_in reading = {.mask = R_OK};
    static const struct fuse_access_in entering = {.mask = X_OK};
    static const struct {
        uint32_t opcode;
        uint64_t node;
        const void *body;
        size_t size;
        const char *op;
        const char *name;
    } cases[] = {
        {FUSE_OPEN, FILE_NODE, &opening, sizeof opening, "open", ""},
        {FUSE_OPENDIR, DIRECTORY_NODE, &opening, sizeof opening, "open", ""},
        {FUSE_LOOKUP, DIRECTORY_NODE, "id_rsa", sizeof "id_rsa", "lookup", "id_rsa"},
        {FUSE_ACCESS, FILE_NODE, &reading, sizeof reading, "access", ""},
        {FUSE_ACCESS, DIRECTORY_NODE, &entering, sizeof entering, "access", ""},
        {FUSE_READLINK, FILE_NODE, NULL, 0, "readlink", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct answered answered = ask(cases[i].opcode, cases[i].node, cases[i].body, cases[i].size);
        assert_int_equal(answered.head.error, -EACCES);
        assert_int_equal(answered.length, sizeof answered.head);
        assert_true(answered.tripped.by_somebody);
        assert_int_equal(answered.tripped.number + 2, cases[i].node);
        assert_int_equal(answered.tripped.thread, 4711);
        assert_string_equal(answered.tripped.op, cases[i].op);
        assert_true(slice_is(answered.tripped.name, cases[i].name));
    }
}

static void test_looking_whether_it_is_there_is_no_offence(void **state)
{
    const struct fuse_access_in existing = {.mask = F_OK};
    const struct fuse_access_in writing = {.mask = W_OK};

    (void)state;
    struct answered answered = ask(FUSE_ACCESS, FILE_NODE, &existing, sizeof existing);
    assert_int_equal(answered.head.error, 0);
    assert_false(answered.tripped.by_somebody);
    answered = ask(FUSE_ACCESS, FILE_NODE, &writing, sizeof writing);
    assert_int_equal(answered.head.error, -EACCES);
    assert_false(answered.tripped.by_somebody);
}

/* An answer of no error to any of these would be data, or the end of asking. */
static void test_whatever_else_is_asked_of_a_mask_is_refused(void **state)
{
    static const char body[256];

    (void)state;
    for (uint32_t opcode = 0; opcode < 5000; opcode++) {
        bool harmless = opcode == FUSE_INIT || opcode == FUSE_GETATTR || opcode == FUSE_STATFS ||
                        opcode == FUSE_RELEASEDIR || opcode == FUSE_DESTROY || opcode == FUSE_ACCESS;
        struct answered answered = ask(opcode, DIRECTORY_NODE, body, sizeof body);
        if (opcode == FUSE_FORGET || opcode == FUSE_BATCH_FORGET)
            assert_int_equal(answered.length, 0);
        else if (!harmless)
            assert_true(answered.head.error == -EACCES || answered.head.error == -ENOSYS);
        if (answered.length > 0 && answered.head.error == -ENOSYS)
            assert_true(opcode != FUSE_OPEN && opcode != FUSE_OPENDIR && opcode != FUSE_ACCESS);
        assert_false(answered.tripped.by_first);
    }
}

/* The kernel reads 4096 bytes at a time, and asks for more where it was left. */
static void test_the_root_lists_every_wire_once(void **state)
{
    bool seen[WIRES] = {false};
    struct fuse_read_in in = {.size = 4096};
    size_t rounds = 0;

    (void)state;
    for (;; rounds++) {
        struct answered answered = ask(FUSE_READDIRPLUS, FUSE_ROOT_ID, &in, sizeof in);
        size_t at = sizeof answered.head;
        assert_int_equal(answered.head.error, 0);
        assert_true(answered.tripped.by_first);
        if (answered.length == at)
            break;
        while (at < answered.length) {
            struct fuse_direntplus entry;
            char name[24] = {0};
            memcpy(&entry, answered.bytes + at, FUSE_NAME_OFFSET_DIRENTPLUS);
            memcpy(name, answered.bytes + at + FUSE_NAME_OFFSET_DIRENTPLUS, entry.dirent.namelen);
            size_t number = (size_t)entry.entry_out.nodeid - 2;
            assert_int_equal(strtol(name, NULL, 10), (long)number);
            assert_true(number < WIRES && number % 3 != 0 && !seen[number]);
            assert_int_equal(entry.entry_out.attr.mode, number % 2 ? S_IFDIR : S_IFREG);
            seen[number] = true;
            in.offset = entry.dirent.off;
            at += FUSE_DIRENTPLUS_SIZE(&entry);
        }
    }
    assert_true(rounds > 1);
    for (size_t i = 0; i < WIRES; i++)
        assert_int_equal(seen[i], i % 3 != 0);
}

static void test_a_wire_is_found_by_its_number_and_nothing_else(void **state)
{
    static const char *const wrong[] = {"", "3", "100", "99999999999999999999999", "4x", "-4", "id_rsa", "../4"};
    struct fuse_entry_out out;

    (void)state;
    struct answered answered = ask(FUSE_LOOKUP, FUSE_ROOT_ID, "4", sizeof "4");
    memcpy(&out, body_of(&answered), sizeof out);
    assert_int_equal(out.nodeid, FILE_NODE);
    assert_int_equal(out.attr.mode, S_IFREG);
    assert_true(answered.tripped.by_first && !answered.tripped.by_somebody);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(ask(FUSE_LOOKUP, FUSE_ROOT_ID, wrong[i], strlen(wrong[i]) + 1).head.error, -ENOENT);
}

static void test_nodes_that_no_mask_has_tell_nothing(void **state)
{
    static const struct fuse_open_in in = {0};
    static const uint64_t nodes[] = {0, NO_NODE, 2 + WIRES, UINT64_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        struct answered answered = ask(FUSE_OPEN, nodes[i], &in, sizeof in);
        assert_int_equal(answered.head.error, -EACCES);
        assert_false(answered.tripped.by_somebody);
    }
}

static void test_what_is_no_request_gets_no_answer(void **state)
{
    struct tripped tripped;
    _Alignas(uint64_t) char answer[TRIPWIRE_ANSWER_MAX];
    struct fuse_in_header head = {.len = sizeof head + 1, .opcode = FUSE_OPEN, .nodeid = FILE_NODE};

    (void)state;
    assert_int_equal(tripwire_answer(&wires, &head, sizeof head - 1, answer, &tripped), 0);
    assert_int_equal(tripwire_answer(&wires, &head, sizeof head, answer, &tripped), 0);
    assert_false(tripped.by_somebody);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_mask_looks_like_a_file_or_directory_nobody_may_open),
        cmocka_unit_test(test_every_way_to_read_is_refused_and_told),
        cmocka_unit_test(test_looking_whether_it_is_there_is_no_offence),
        cmocka_unit_test(test_whatever_else_is_asked_of_a_mask_is_refused),
        cmocka_unit_test(test_the_root_lists_every_wire_once),
        cmocka_unit_test(test_a_wire_is_found_by_its_number_and_nothing_else),
        cmocka_unit_test(test_nodes_that_no_mask_has_tell_nothing),
        cmocka_unit_test(test_what_is_no_request_gets_no_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
