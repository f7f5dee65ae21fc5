/* Git's configuration by meaning.
 *
 * Git writes config.lock and renames it to config. Whoever wrote it may hold it
 * open still, and write on behind its new name: so it is never the file itself that
 * gets there (replace.h), but a copy that was judged (policy/git_config.h). Nobody of
 * any run is between deciding and acting meanwhile, for the lock is held alone.
 *
 * What may go wrong leaves the old configuration in place; config.lock may be gone. */
#include "doorman/git_config.h"

#include "base/path.h"
#include "base/text.h"
#include "doorman/records.h"
#include "doorman/replace.h"
#include "doorman/tell.h"
#include "policy/git_config.h"

#include <errno.h>
#include <sys/stat.h>

static bool is_meant(struct house *house, struct entry_name *source, const struct entry_name *target)
{
    return source->name.kind == NAME_KNOWN && target->name.kind == NAME_KNOWN && source->exists &&
           replace_is_lock_of(name_slice(&source->name), name_slice(&target->name)) &&
           judge_change(house, source) == 0 && judge_is_git_config(house, &target->name);
}

/* "a.b, c.d: not among ...; e.f: must be ..." */
static const char *words_of(struct arena *arena, const struct git_config_findings *findings)
{
    struct text words = text_in(arena);

    for (size_t i = 0; i < findings->count; i++) {
        const struct git_config_finding *finding = &findings->items[i];
        bool more = i + 1 < findings->count && strcmp(finding->words, finding[1].words) == 0;
        text_append_string(&words, escaped(arena, finding->name));
        if (more)
            text_append_string(&words, ", ");
        else
            text_appendf(&words, "%s%s%s", finding->name.len ? ": " : "", finding->words,
                         i + 1 < findings->count ? "; " : "");
    }
    if (findings->unsaid)
        text_appendf(&words, "; and %zu more", findings->unsaid);
    return text_slice(&words).ptr;
}

static int replace(struct worker *worker, struct arena *arena, const struct place *place, struct slice lock_path,
                   const struct name *name)
{
    const char *lock = path_name(lock_path).ptr;
    const char *config = path_name(name_slice(name)).ptr;
    struct git_config_verdict verdict;
    struct file_copy from;
    struct file_copy old;

    int error = replace_copy(arena, place->directory, lock, GIT_CONFIG_SIZE_MAX, &from);
    if (!error)
        error = replace_copy(arena, place->directory, config, GIT_CONFIG_SIZE_MAX, &old);
    if (error && (error != ENOENT || !from.exists))
        return error;
    git_config_judge(arena, old.content, from.content, &verdict);
    if (verdict.refused.count) {
        tell_git(worker, name, RECORD_DENIED, words_of(arena, &verdict.refused));
        return EACCES;
    }
    error = replace_put(worker->house, place->directory, name_slice(name), &from, &old);
    if (!error && verdict.told.count)
        tell_git(worker, name, RECORD_OBSERVED, words_of(arena, &verdict.told));
    return error;
}

bool git_config_replace(struct worker *worker, const struct place *place, struct entry_name *source,
                        const struct entry_name *target, struct answer *answer)
{
    ARENA_CLEANUP struct arena arena = {0};

    if (!is_meant(worker->house, source, target))
        return false;
    int error = replace(worker, &arena, place, name_slice(&source->name), &target->name);
    *answer = error ? answer_error(error) : answer_value(0);
    return true;
}

bool git_config_is_probed(const struct worker *worker, int object, const struct entry_name *entry)
{
    struct stat status;

    return worker->request->kind == REQUEST_CHMOD && judge_is_git_config(worker->house, &entry->name) &&
           fstat(object, &status) == 0 && S_ISREG(status.st_mode) &&
           ((worker->request->mode ^ status.st_mode) & 07777 & ~(mode_t)S_IXUSR) == 0;
}
