/* Trust in a project's own policy, by content, as direnv does it.
 *
 * The digest covers the policy's path, its bytes, and the name and bytes of
 * everything it extends, files and presets, to the end of the chain: a change in
 * any of them, a new cloche with another preset included, ends the trust. The
 * policy itself must be a file of the user's own, reached through no link: a
 * repository must not be able to point `.cloche.json` at something that somebody
 * once trusted elsewhere. The bytes that were judged go on to the loader: a file
 * that is changed a moment later is not read again. */
#include "policy/find.h"

#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/preset.h"
#include "policy/trust_store.h"
#include "policy/variables.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sha2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHAIN_FILE_MAX = 1024 * 1024, CHAIN_DOCUMENTS_MAX = 64, CHAIN_DEPTH_MAX = 16 };

/* One walk over a policy and all it extends. */
struct chain {
    struct arena *arena;
    const struct surroundings *around;
    SHA2_CTX hash;
    struct policy_document seen[CHAIN_DOCUMENTS_MAX]; /* presets too, as preset:NAME */
    size_t seen_count;
};

/* Lengths go in with the bytes, so that no two chains hash the same text. */
static void hash_text(SHA2_CTX *hash, struct slice text)
{
    uint8_t length[8];

    for (size_t i = 0; i < sizeof length; i++)
        length[i] = (uint8_t)((uint64_t)text.len >> (8 * i));
    SHA256Update(hash, length, sizeof length);
    SHA256Update(hash, (const uint8_t *)text.ptr, text.len);
}

static void hash_finish(SHA2_CTX *hash, char digest[TRUST_DIGEST_TEXT])
{
    _Static_assert(TRUST_DIGEST_TEXT == SHA256_DIGEST_STRING_LENGTH, "the digest does not fit");

    SHA256End(hash, digest);
}

static bool add_document(struct chain *chain, struct slice name, struct slice content, size_t depth, struct error *err);

static bool add_extended(struct chain *chain, struct slice directory, struct slice text, size_t depth,
                         struct error *err)
{
    const struct slice prefix = SLICE("preset:");
    struct slice path = {0};
    struct slice content;

    if (slice_starts(text, prefix)) {
        const struct preset *preset = preset_find(slice_from(text, prefix.len));
        if (!preset)
            return error_set(err, "it extends %s, and there is no such preset", escaped(chain->arena, text));
        return add_document(chain, text, preset->text, depth, err);
    }
    if (!path_expand(chain->arena, chain->around, directory, text, false, &path, err))
        return error_wrap(err, "it extends %s", escaped(chain->arena, text));
    /* The loader's own reading of the name: what is hashed is what is merged. */
    path = path_normal(chain->arena, SLICE("/"), path);
    if (strlen(path.ptr) != path.len)
        return error_set(err, "it extends %s, which holds a NUL byte", escaped(chain->arena, text));
    if (!file_read(path.ptr, CHAIN_FILE_MAX, chain->arena, &content, NULL, err))
        return error_wrap(err, "it extends %s", escaped(chain->arena, text));
    return add_document(chain, path, content, depth, err);
}

static bool add_extends(struct chain *chain, struct slice name, const json_t *extends, size_t depth, struct error *err)
{
    struct slice directory = path_parent(name);

    if (!extends)
        return add_extended(chain, directory, SLICE("preset:base"), depth, err);
    if (json_is_string(extends))
        return add_extended(chain, directory, json_slice(extends), depth, err);
    if (!json_is_array(extends))
        return error_set(err, "its \"extends\" is not a list");
    for (size_t i = 0; i < json_array_size(extends); i++) {
        const json_t *entry = json_array_get(extends, i);
        if (!json_is_string(entry))
            return error_set(err, "its \"extends\" holds something that is not a string");
        if (!add_extended(chain, directory, json_slice(entry), depth, err))
            return false;
    }
    return true;
}

static bool add_document(struct chain *chain, struct slice name, struct slice content, size_t depth, struct error *err)
{
    JSON_CLEANUP json_t *root = NULL;

    for (size_t i = 0; i < chain->seen_count; i++)
        if (slice_equal(chain->seen[i].path, name))
            return true;
    if (chain->seen_count == CHAIN_DOCUMENTS_MAX || depth > CHAIN_DEPTH_MAX)
        return error_set(err, "it extends more than %d files, or deeper than %d levels", CHAIN_DOCUMENTS_MAX,
                         CHAIN_DEPTH_MAX);
    /* The name may live in the JSON of the file that extends this one. */
    name = arena_slice(chain->arena, name);
    chain->seen[chain->seen_count++] = (struct policy_document){name, content};

    hash_text(&chain->hash, name);
    hash_text(&chain->hash, content);
    if (!json_parse(content, escaped(chain->arena, name), &root, err))
        return false;
    if (!json_is_object(root))
        return error_set(err, "%s does not hold a JSON object", escaped(chain->arena, name));
    return add_extends(chain, name, json_object_get(root, "extends"), depth + 1, err);
}

/* The policy's one name: its directory without links, its own name as it is. */
static bool locate(struct arena *arena, const char *file, struct slice *path, struct error *err)
{
    const char *slash = strrchr(file, '/');
    const char *name = slash ? slash + 1 : file;
    struct slice directory = slash ? (struct slice){file, (size_t)(slash - file) + 1} : SLICE("./");
    char real[PATH_MAX];

    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return error_set(err, "\"%s\" does not name a file", file);
    if (!realpath(arena_slice(arena, directory).ptr, real))
        return error_set_errno(err, errno, "cannot find the directory of %s", file);
    *path = arena_slice(arena, path_join(arena, slice_of(real), slice_of(name)));
    return true;
}

/* Opens a policy that may be trusted at all; `*why_not` says what keeps it from
 * that. False with an error only when that cannot be told. */
static bool open_candidate(struct slice path, int *fd, const char **why_not, struct error *err)
{
    struct stat status;

    *why_not = NULL;
    *fd = open(path.ptr, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (*fd < 0 && errno == ELOOP) {
        *why_not = "it is a symbolic link: put the file itself there";
        return true;
    }
    if (*fd < 0)
        return error_set_errno(err, errno, "cannot open %s", path.ptr);
    if (fstat(*fd, &status) < 0)
        return error_set_errno(err, errno, "cannot inspect %s", path.ptr);
    if (!S_ISREG(status.st_mode))
        *why_not = "it is not a regular file";
    else if (status.st_uid != geteuid())
        *why_not = "it belongs to another user, who could change it at any time: make it your own with chown";
    return true;
}

static bool digest_of(struct arena *arena, const struct surroundings *around, int fd, struct slice path,
                      struct chain *chain, char digest[TRUST_DIGEST_TEXT], struct error *err)
{
    struct slice content;

    *chain = (struct chain){.arena = arena, .around = around};
    SHA256Init(&chain->hash);
    if (!fd_read_all(fd, path.ptr, CHAIN_FILE_MAX, arena, &content, err) || !add_document(chain, path, content, 0, err))
        return false;
    hash_finish(&chain->hash, digest);
    return true;
}

static void key_of(struct slice path, char key[TRUST_DIGEST_TEXT])
{
    SHA2_CTX hash;

    SHA256Init(&hash);
    hash_text(&hash, path);
    hash_finish(&hash, key);
}

bool trust_grant(struct arena *arena, const struct surroundings *around, const char *file, struct error *err)
{
    FD_CLEANUP int fd = -1;
    struct slice path = {0};
    const char *why_not;
    char key[TRUST_DIGEST_TEXT];
    char digest[TRUST_DIGEST_TEXT];

    if (!locate(arena, file, &path, err) || !open_candidate(path, &fd, &why_not, err))
        return false;
    if (why_not)
        return error_set(err, "cannot trust %s: %s", path.ptr, why_not);
    if (!digest_of(arena, around, fd, path, ARENA_NEW(arena, struct chain), digest, err))
        return error_wrap(err, "cannot trust %s", path.ptr);
    key_of(path, key);
    return trust_store_write(arena, around, key, digest, path, err);
}

bool trust_revoke(struct arena *arena, const struct surroundings *around, const char *file, struct error *err)
{
    struct slice path = {0};
    char key[TRUST_DIGEST_TEXT];

    if (!locate(arena, file, &path, err))
        return false;
    key_of(path, key);
    return trust_store_remove(arena, around, key, err);
}

bool trust_source(struct arena *arena, const struct surroundings *around, const char *file, bool *trusted,
                  struct policy_source *source, struct error *err)
{
    struct chain *chain = ARENA_NEW(arena, struct chain);
    FD_CLEANUP int fd = -1;
    struct slice path = {0};
    const char *why_not;
    bool present;
    char key[TRUST_DIGEST_TEXT];
    char granted[TRUST_DIGEST_TEXT];
    char digest[TRUST_DIGEST_TEXT];

    *trusted = false;
    if (!locate(arena, file, &path, err))
        return false;
    key_of(path, key);
    /* Nothing of a policy that nobody ever trusted is parsed. */
    if (!trust_store_read(arena, around, key, granted, &present, err))
        return error_wrap(err, "cannot tell whether %s is trusted", path.ptr);
    if (!present)
        return true;
    if (!open_candidate(path, &fd, &why_not, err))
        return error_wrap(err, "cannot tell whether %s is still what you trusted", path.ptr);
    if (why_not)
        return true;
    if (!digest_of(arena, around, fd, path, chain, digest, err))
        return error_wrap(err, "cannot tell whether %s is still what you trusted", path.ptr);
    *trusted = memcmp(digest, granted, sizeof digest) == 0;
    *source = (struct policy_source){
        .kind = SOURCE_FILE, .name = path.ptr, .documents = chain->seen, .document_count = chain->seen_count};
    return true;
}

bool trust_check(struct arena *arena, const struct surroundings *around, const char *file, bool *trusted,
                 struct error *err)
{
    struct policy_source ignored;

    return trust_source(arena, around, file, trusted, &ignored, err);
}
