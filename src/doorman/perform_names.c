/* What makes a name or takes one away: mkdir, mknod, symlink, unlink, rmdir,
 * link. */
#include "base/fd.h"
#include "doorman/judge.h"
#include "doorman/own_view.h"
#include "doorman/perform.h"
#include "doorman/tell.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int make(const struct request *request, int directory, const char *last)
{
    switch (request->kind) {
    case REQUEST_MKDIR:
        return mkdirat(directory, last, request->mode);
    case REQUEST_MKNOD:
        return mknodat(directory, last, request->mode, request->device);
    default:
        return symlinkat(request->text, directory, last);
    }
}

/* The lock is held, so nothing can have been renamed into its place; a link that
 * was made there is not followed, for which no slash may stand behind the name. */
static void remember(struct house *house, int directory, struct place place)
{
    struct identity identity;

    place.directory = directory;
    if (judge_identity(&place, &identity))
        made_add(&house->made, &identity);
}

static struct answer refused_to_make(struct worker *worker, const struct place *place, const struct entry_name *entry,
                                     int error)
{
    error = judge_refusal_to_make(error, place->directory, entry);
    tell_entry(worker, place->directory, entry, error);
    return answer_error(error);
}

static struct answer make_in(struct worker *worker, const struct request *request, const struct place *place)
{
    struct house *house = worker->house;
    struct entry_name entry;
    int directory = place->directory;

    int error = judge_entry_name(house, place, &entry);
    if (!error && !worker->alone && judge_wants_alone(house, &entry.name))
        return answer_error(ANSWER_ALONE);
    if (!error)
        error = judge_write(house, &entry.name);
    if (!error && request->kind == REQUEST_SYMLINK)
        error = judge_link_name(house, &entry.name);
    if (error)
        return refused_to_make(worker, place, &entry, error);
    int result = make(request, directory, place->last);
    FD_CLEANUP int own = -1;
    if (result < 0 && errno == EROFS && entry.name.kind == NAME_KNOWN) {
        own = own_view_directory(house, directory, name_slice(&entry.name));
        if (own >= 0)
            result = make(request, directory = own, place->last);
    }
    if (result == 0 && request->kind == REQUEST_MKDIR)
        remember(house, directory, *place);
    if (result == 0)
        tell_made(worker, &entry.name);
    return answer_of(result);
}

typedef struct answer performance(struct worker *worker, const struct request *request, const struct place *place);

/* At the entry that the request names; `without_name` is what the root itself is answered with. */
static struct answer perform_at_entry(struct worker *worker, struct request *request, performance *act,
                                      int without_name)
{
    struct place place;
    int error = resolve(worker->house, request, &request->operands[0], RESOLVE_ENTRY, 0, &place);

    if (error) {
        tell_unresolved(worker, &request->operands[0], error);
        return answer_error(error);
    }
    struct answer answer = place.last_length == 0 ? answer_error(without_name) : act(worker, request, &place);
    place_close(&place);
    return answer;
}

struct answer perform_make(struct worker *worker, struct request *request)
{
    return perform_at_entry(worker, request, make_in, EEXIST);
}

static struct answer unlink_in(struct worker *worker, const struct request *request, const struct place *place)
{
    struct entry_name entry;
    int error = judge_entry_name(worker->house, place, &entry);

    if (!error)
        error = judge_change(worker->house, &entry);
    if (!error)
        error = judge_removal(worker->house, &entry);
    /* Without one git makes another. */
    if (error && !(request->flags & AT_REMOVEDIR) && judge_is_git_index(worker->house, &entry.name))
        error = 0;
    if (error) {
        error = judge_refusal(error, place->directory, &entry);
        if (entry.exists)
            tell_entry(worker, place->directory, &entry, error);
        return answer_error(error);
    }
    struct identity gone;
    bool known = request->flags & AT_REMOVEDIR && judge_identity(place, &gone);
    int result = unlinkat(place->directory, place->last, (int)request->flags);
    if (result < 0 && errno == EROFS && entry.name.kind == NAME_KNOWN) {
        FD_CLEANUP int own = own_view_directory(worker->house, place->directory, name_slice(&entry.name));
        if (own >= 0)
            result = unlinkat(own, place->last, (int)request->flags);
    }
    if (known && result == 0)
        made_forget(&worker->house->made, &gone);
    if (result == 0)
        tell_written(worker, &entry.name);
    return answer_of(result);
}

struct answer perform_unlink(struct worker *worker, struct request *request)
{
    return perform_at_entry(worker, request, unlink_in, request->flags & AT_REMOVEDIR ? EBUSY : EISDIR);
}

/* A second name for a file is a second way to write to it: only what may be
 * changed under its first name gets one (attack 6). */
static struct answer link_to(struct worker *worker, const struct place *from, const struct place *to)
{
    struct house *house = worker->house;
    struct entry_name source;
    struct entry_name target;

    int error = judge_entry_name(house, to, &target);
    if (!error && !worker->alone && judge_wants_alone(house, &target.name))
        return answer_error(ANSWER_ALONE);
    if (error)
        return answer_error(error);
    error = judge_object(house, from->object, &source);
    if (source.type == S_IFDIR)
        return answer_error(EPERM);
    if (error && !target.exists)
        tell_object(worker, from->object, &source, error);
    if (!error)
        error = judge_write(house, &target.name);
    if (!error && source.type == S_IFLNK)
        error = judge_link_name(house, &target.name);
    if (error)
        return refused_to_make(worker, to, &target, error);
    int result = linkat(AT_FDCWD, worker_number(from->object).text, to->directory, to->last, AT_SYMLINK_FOLLOW);
    if (result < 0 && (errno == EXDEV || errno == EROFS) && source.name.kind == NAME_KNOWN &&
        target.name.kind == NAME_KNOWN) {
        FD_CLEANUP int own_source = own_view_object(house, from->object, name_slice(&source.name));
        FD_CLEANUP int own_target = own_view_directory(house, to->directory, name_slice(&target.name));
        if (own_source >= 0 && own_target >= 0)
            result = linkat(AT_FDCWD, worker_number(own_source).text, own_target, to->last, AT_SYMLINK_FOLLOW);
    }
    if (result == 0)
        tell_made(worker, &target.name);
    return answer_of(result);
}

struct answer perform_link(struct worker *worker, struct request *request)
{
    enum resolve_for purpose = request->flags & AT_SYMLINK_FOLLOW ? RESOLVE_OBJECT : RESOLVE_LINK;
    struct place from;
    struct place to;

    int error = resolve(worker->house, request, &request->operands[0], purpose, 0, &from);
    if (error)
        return answer_error(error);
    error = resolve(worker->house, request, &request->operands[1], RESOLVE_ENTRY, 0, &to);
    if (error) {
        tell_unresolved(worker, &request->operands[1], error);
        place_close(&from);
        return answer_error(error);
    }
    struct answer answer = to.last_length == 0 ? answer_error(EEXIST) : link_to(worker, &from, &to);
    place_close(&from);
    place_close(&to);
    return answer;
}
