/* Which descriptors pid 1 keeps. They are put one behind the other, behind the control socket, so that
 * all others can be closed without looking at them. */
#include "jail/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Descriptors from `first` on, up to and without `end`. */
static bool close_between(int first, int end)
{
    return first >= end || close_range((unsigned)first, (unsigned)end - 1, 0) == 0;
}

bool kept_close_others(const int *doorman, int control, size_t kept, struct error *err)
{
    int next = doorman ? doorman[1] + 1 : 3;

    if ((!doorman || (close_between(3, doorman[0]) && close_between(doorman[0] + 1, doorman[1]))) &&
        close_between(next, control) && close_range((unsigned)control + 1 + (unsigned)kept, ~0U, 0) == 0)
        return true;
    return error_set_errno(err, errno, "cannot close descriptors");
}

/* Puts a descriptor behind the `*kept` that are kept; whatever is there is not needed
 * any more. -1: there is none. */
static bool keep(const struct init *init, int *fd, size_t *kept, struct error *err)
{
    int place = init->control + 1 + (int)*kept;

    if (*fd < 0)
        return true;
    if (*fd != place && dup3(*fd, place, O_CLOEXEC) < 0)
        return error_set_errno(err, errno, "cannot keep a descriptor");
    *fd = place;
    (*kept)++;
    return true;
}

/* One may stand where another is to be. */
static bool clear_way(const struct init *init, int *fd, struct error *err)
{
    enum { OTHERS = 3 };
    int first = init->control + 1 + (int)init->handed.count + OTHERS + 2 * (int)init->target.passed.count;

    if (*fd >= 0 && (*fd = fcntl(*fd, F_DUPFD_CLOEXEC, first)) < 0)
        return error_set_errno(err, errno, "cannot keep a descriptor");
    return true;
}

bool kept_clear_way(struct init *init, struct error *err)
{
    struct passed *passed = &init->target.passed;

    for (size_t i = 0; i < passed->count; i++) {
        if (!clear_way(init, &passed->fds[i], err) || !clear_way(init, &passed->originals[i], err))
            return false;
    }
    return (!init->network || clear_way(init, &init->scratch, err)) && clear_way(init, &init->whole, err);
}

bool kept_passed(struct init *init, size_t *kept, struct error *err)
{
    struct passed *passed = &init->target.passed;

    for (size_t i = 0; i < passed->count; i++) {
        if (!keep(init, &passed->fds[i], kept, err) || !keep(init, &passed->originals[i], kept, err))
            return false;
    }
    return true;
}

bool kept_gather(struct init *init, size_t *kept, struct error *err)
{
    int none = -1;
    int *inside = init->network ? &init->inside : &none;

    *kept = init->handed.count;
    return kept_clear_way(init, err) && keep(init, inside, kept, err) && keep(init, &init->scratch, kept, err) &&
           keep(init, &init->whole, kept, err) && kept_passed(init, kept, err);
}
