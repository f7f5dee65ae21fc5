/* Renames. A directory takes with it all that lies below it, so nobody may be
 * between deciding and acting on a name meanwhile (attack 108); and what was
 * looked at must be what is moved, so nobody may put a link or a directory in its
 * place meanwhile. The lock is taken alone. */
#include "base/fd.h"
#include "doorman/git_config.h"
#include "doorman/git_index.h"
#include "doorman/judge.h"
#include "doorman/lock.h"
#include "doorman/own_view.h"
#include "doorman/perform.h"
#include "doorman/tell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct move {
    struct place from;
    struct place to;
    struct entry_name source;
    struct entry_name target;
};

static int judge(struct house *house, struct move *move, unsigned flags)
{
    int error = judge_change(house, &move->source);

    if (!error)
        error = judge_change(house, &move->target);
    if (!error)
        error = judge_move(house, &move->from, &move->source, &move->target);
    if (!error && flags & RENAME_EXCHANGE)
        error = judge_move(house, &move->to, &move->target, &move->source);
    return error;
}

/* The library's function makes another call of it when there are no flags. */
static int rename_between_directories(int from, const char *source, int to, const char *target, unsigned flags)
{
    return (int)syscall(SYS_renameat2, from, source, to, target, flags);
}

/* Between two mounts of one root, which are there to pin things. */
static int rename_in_own_view(struct house *house, const struct move *move, unsigned flags)
{
    int error = errno;

    if (move->source.name.kind != NAME_KNOWN || move->target.name.kind != NAME_KNOWN)
        return -1;
    FD_CLEANUP int from = own_view_directory(house, move->from.directory, name_slice(&move->source.name));
    FD_CLEANUP int to = own_view_directory(house, move->to.directory, name_slice(&move->target.name));
    errno = error;
    if (from < 0 || to < 0)
        return -1;
    return rename_between_directories(from, move->from.last, to, move->to.last, flags);
}

/* Whose name it was: the first that may not be changed. */
static void tell_refused(struct worker *worker, struct move *move, int error)
{
    struct stat from;
    struct stat to;

    /* Between file systems nobody renames anything, nor what is not there. */
    if (!move->source.exists || fstat(move->from.directory, &from) < 0 || fstat(move->to.directory, &to) < 0 ||
        from.st_dev != to.st_dev)
        return;
    if (error == EBUSY)
        tell_carrying(worker, move->from.directory, &move->source, error);
    else if (judge_change(worker->house, &move->source) || judge_removal(worker->house, &move->source))
        tell_entry(worker, move->from.directory, &move->source, error);
    else
        tell_entry(worker, move->to.directory, &move->target, error);
}

static struct answer act(struct worker *worker, struct move *move, unsigned flags)
{
    int error = judge(worker->house, move, flags);

    /* What is not there was not looked at. */
    if (!error && !move->source.exists)
        return answer_error(move->source.absent_because);
    if (!error && flags & RENAME_EXCHANGE && !move->target.exists)
        return answer_error(move->target.absent_because);
    /* As the kernel has it, whoever asks; mv(1) asks this first, and then anew. */
    if (error && flags & RENAME_NOREPLACE && move->source.exists && move->target.exists)
        return answer_error(EEXIST);
    struct answer replaced;
    if (error && !flags &&
        (git_config_replace(worker, &move->to, &move->source, &move->target, &replaced) ||
         git_index_replace(worker, &move->to, &move->source, &move->target, &replaced)))
        return replaced;
    if (error) {
        error = judge_refusal(error, move->from.directory, &move->source);
        tell_refused(worker, move, error);
        return answer_error(error);
    }
    struct identity gone;
    bool replaces = move->target.type == S_IFDIR && !(flags & RENAME_EXCHANGE) && judge_identity(&move->to, &gone);
    int result =
        rename_between_directories(move->from.directory, move->from.last, move->to.directory, move->to.last, flags);
    if (result < 0 && (errno == EXDEV || errno == EROFS))
        result = rename_in_own_view(worker->house, move, flags);
    if (replaces && result == 0)
        made_forget(&worker->house->made, &gone);
    if (result == 0 && (move->source.type == S_IFDIR || move->target.type == S_IFDIR))
        tell_moved(worker, &move->source.name, &move->target.name, flags & RENAME_EXCHANGE);
    if (result == 0)
        tell_made(worker, &move->target.name);
    return answer_of(result);
}

static int look(struct worker *worker, struct move *move)
{
    int error = judge_entry_name(worker->house, &move->from, &move->source);

    return error ? error : judge_entry_name(worker->house, &move->to, &move->target);
}

static struct answer rename_between(struct worker *worker, struct move *move, unsigned flags)
{
    if (!lock_take(worker->lock, true))
        return answer_error(EAGAIN);
    int error = look(worker, move);
    struct answer answer = error ? answer_error(error) : act(worker, move, flags);
    lock_leave(worker->lock);
    return answer;
}

static bool is_dot(const struct place *place)
{
    return (place->last_length == 1 && place->last[0] == '.') ||
           (place->last_length == 2 && place->last[0] == '.' && place->last[1] == '.');
}

/* What the kernel finds out before it looks at what is there. */
static int check(const struct move *move, unsigned flags)
{
    if (move->to.last_length == 0 || is_dot(&move->to))
        return flags & RENAME_NOREPLACE ? EEXIST : EBUSY;
    return move->from.last_length == 0 || is_dot(&move->from) ? EBUSY : 0;
}

struct answer perform_rename(struct worker *worker, struct request *request)
{
    struct move move;

    if (request->flags & ~(unsigned)(RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT) ||
        (request->flags & RENAME_EXCHANGE && request->flags & (RENAME_NOREPLACE | RENAME_WHITEOUT)))
        return answer_error(EINVAL);
    int error = resolve(worker->house, request, &request->operands[0], RESOLVE_ENTRY, 0, &move.from);
    if (error) {
        tell_unresolved(worker, &request->operands[0], error);
        return answer_error(error);
    }
    error = resolve(worker->house, request, &request->operands[1], RESOLVE_ENTRY, 0, &move.to);
    if (error) {
        tell_unresolved(worker, &request->operands[1], error);
        place_close(&move.from);
        return answer_error(error);
    }
    error = check(&move, request->flags);
    struct answer answer = error ? answer_error(error) : rename_between(worker, &move, request->flags);
    place_close(&move.from);
    place_close(&move.to);
    return answer;
}
