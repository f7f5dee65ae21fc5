/* Per-process limits, those of the plan and the room cloche needs for itself. */
#include "jail/limits.h"

#include <errno.h>

bool limits_make_room(size_t need, struct rlimit *before, struct error *err)
{
    if (getrlimit(RLIMIT_NOFILE, before) < 0)
        return error_set_errno(err, errno, "cannot read the limit of open files");
    if (before->rlim_cur >= need)
        return true;
    if (before->rlim_max < need)
        return error_set(err,
                         "this policy needs %zu open files at once, and the hard limit is %llu: raise it (ulimit -Hn)",
                         need, (unsigned long long)before->rlim_max);

    struct rlimit room = {.rlim_cur = before->rlim_max, .rlim_max = before->rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &room) < 0)
        return error_set_errno(err, errno, "cannot raise the limit of open files");
    return true;
}

static bool limit(int resource, const char *name, rlim_t value, struct error *err)
{
    struct rlimit setting;

    if (getrlimit((__rlimit_resource_t)resource, &setting) < 0)
        return error_set_errno(err, errno, "cannot read the limit %s", name);
    /* Never raises what the user himself is held to. */
    if (value < setting.rlim_max)
        setting.rlim_max = value;
    setting.rlim_cur = setting.rlim_max;
    if (setrlimit((__rlimit_resource_t)resource, &setting) < 0)
        return error_set_errno(err, errno, "cannot set the limit %s", name);
    return true;
}

bool limits_apply(const struct plan *plan, const struct rlimit *open_files, struct error *err)
{
    if (setrlimit(RLIMIT_NOFILE, open_files) < 0)
        return error_set_errno(err, errno, "cannot set the limit of open files");
    for (size_t i = 0; i < plan->rlimit_count; i++) {
        const struct rlimit_setting *setting = &plan->rlimits[i];
        if (!limit(setting->resource, setting->name, setting->value, err))
            return false;
    }
    return true;
}
