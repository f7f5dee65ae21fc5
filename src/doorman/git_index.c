/* Git's index by the names in it.
 *
 * Git writes index.lock and renames it to index. As with the configuration, what gets
 * there is a copy (replace.h) that was judged (policy/git_index.h), with the lock held
 * alone: one look at what is in the lock, one file written.
 *
 * How long a hash is decides where in an entry its name begins: the repository's
 * configuration says it, which no run can change in that. Where it cannot be known, the
 * index stays as it is. */
#include "doorman/git_index.h"

#include "base/path.h"
#include "base/text.h"
#include "doorman/records.h"
#include "doorman/replace.h"
#include "doorman/tell.h"
#include "policy/git_config.h"
#include "policy/git_index.h"

#include <errno.h>
#include <fcntl.h>

enum { POINTER_LENGTH_MAX = 16 };

static bool is_meant(struct house *house, struct entry_name *source, struct entry_name *target)
{
    return source->name.kind == NAME_KNOWN && target->name.kind == NAME_KNOWN && source->exists &&
           replace_is_lock_of(name_slice(&source->name), name_slice(&target->name)) &&
           judge_change(house, source) == 0 && judge_is_git_index(house, &target->name);
}

static bool mentions_format(struct slice config)
{
    const struct slice word = SLICE("objectformat");

    for (size_t i = 0; i + word.len <= config.len; i++) {
        if (slice_equal_ignoring_case((struct slice){config.ptr + i, word.len}, word))
            return true;
    }
    return false;
}

/* 0 if it cannot be known. */
static size_t hash_length_in(struct arena *arena, struct slice content)
{
    size_t length = GIT_INDEX_HASH_SHA1;
    struct git_config config;

    /* A file that git_config_read() leaves to git may say anything but what it does not mention. */
    if (content.len <= GIT_CONFIG_SIZE_MAX && !mentions_format(content))
        return length;
    if (!git_config_read(arena, content, &config, NULL))
        return 0;
    for (size_t i = 0; i < config.count; i++) {
        if (!slice_is(config.entries[i].name, "extensions.objectformat"))
            continue;
        if (slice_is(config.entries[i].value, "sha256"))
            length = GIT_INDEX_HASH_SHA256;
        else if (!slice_is(config.entries[i].value, "sha1"))
            return 0;
    }
    return length;
}

/* A worktree's directory has its configuration where git puts such directories: two above. */
static size_t hash_length_of(struct arena *arena, int directory)
{
    const char *config = "config";
    struct file_copy copy;

    int error = replace_copy(arena, directory, "commondir", POINTER_LENGTH_MAX, &copy);
    if (!error && (slice_is(copy.content, "../..\n") || slice_is(copy.content, "../..")))
        config = "../../config";
    else if (error != ENOENT)
        return 0;
    if (replace_copy(arena, directory, config, GIT_CONFIG_SIZE_MAX, &copy) != 0)
        return 0;
    return hash_length_in(arena, copy.content);
}

static const char *words_of(struct arena *arena, const struct git_index_verdict *verdict)
{
    struct slice name = {verdict->name, verdict->length};

    return name.len ? arena_printf(arena, "%s: %s", escaped(arena, name), verdict->refused) : verdict->refused;
}

static void judge(struct arena *arena, int directory, struct slice content, struct git_index_verdict *verdict)
{
    size_t hash_length = hash_length_of(arena, directory);

    if (hash_length) {
        git_index_judge(content, hash_length, verdict);
        return;
    }
    verdict->length = 0;
    verdict->refused = "the repository's configuration does not say in a plain way which hashes are in it";
}

static int replace(struct worker *worker, struct arena *arena, const struct place *place, struct slice lock_path,
                   const struct name *name)
{
    struct git_index_verdict *verdict = ARENA_NEW(arena, struct git_index_verdict);
    struct file_copy from;
    struct file_copy old = {0};

    int error = replace_copy(arena, place->directory, path_name(lock_path).ptr, GIT_INDEX_SIZE_MAX, &from);
    if (error)
        return error;
    from.keeps_time = true;
    old.exists = fstatat(place->directory, path_name(name_slice(name)).ptr, &old.status, AT_SYMLINK_NOFOLLOW) == 0;
    if (old.exists && !S_ISREG(old.status.st_mode))
        return EACCES;
    judge(arena, place->directory, from.content, verdict);
    if (verdict->refused) {
        tell_git(worker, name, RECORD_DENIED, words_of(arena, verdict));
        return EACCES;
    }
    return replace_put(worker->house, place->directory, name_slice(name), &from, &old);
}

bool git_index_replace(struct worker *worker, const struct place *place, struct entry_name *source,
                       struct entry_name *target, struct answer *answer)
{
    ARENA_CLEANUP struct arena arena = {0};

    if (!is_meant(worker->house, source, target))
        return false;
    int error = replace(worker, &arena, place, name_slice(&source->name), &target->name);
    *answer = error ? answer_error(error) : answer_value(0);
    return true;
}
