#include "watch/log_filter.h"

#include "base/path.h"

static const char *const kinds[] = {"fs.read", "fs.write", "net.connect", "net.dns", "unix.connect",
                                    "syscall", "limit",    "exec.later",  "run",     NULL};

static bool kind_matches(struct slice wanted, struct slice kind)
{
    return slice_starts(kind, wanted) && (kind.len == wanted.len || kind.ptr[wanted.len] == '.');
}

static bool kind_is_known(struct slice wanted)
{
    for (size_t i = 0; kinds[i]; i++)
        if (kind_matches(wanted, slice_of(kinds[i])))
            return true;
    return false;
}

bool log_filter_kinds(struct log_filter *filter, struct slice list, struct error *err)
{
    for (;;) {
        size_t end = slice_find(list, ',');
        struct slice kind = {list.ptr, end};
        if (!kind.len || !kind_is_known(kind))
            return error_set(err,
                             "\"%.*s\" is not a kind of event; there are fs.read, fs.write, net.connect, net.dns, "
                             "unix.connect, syscall, limit, exec.later and run, and fs, net, unix for all of those",
                             (int)kind.len, kind.ptr);
        if (filter->kind_count == LOG_KINDS_MAX)
            return error_set(err, "more than %d kinds of events were named", (int)LOG_KINDS_MAX);
        filter->kinds[filter->kind_count++] = kind;
        if (end == list.len)
            return true;
        list = slice_from(list, end + 1);
    }
}

static bool contains(struct slice text, struct slice part)
{
    return part.len == 0 || (text.len >= part.len && memmem(text.ptr, text.len, part.ptr, part.len));
}

bool log_filter_run(const struct log_filter *filter, const struct log_run *run, const struct log_entry *entry)
{
    if (entry->time < filter->since || entry->time > filter->until || !slice_starts(run->id, filter->run) ||
        !contains(run->command, filter->command))
        return false;
    return !filter->project.len || (run->project.len && path_covers(filter->project, run->project));
}

static bool verdict_matches(enum log_verdicts verdicts, const struct log_entry *entry)
{
    switch (verdicts) {
    case LOG_ALL:
        return true;
    case LOG_DENIED:
        return log_entry_is_denied(entry);
    case LOG_WORTH_SEEING:
        break;
    }
    return log_entry_is_denied(entry) || slice_is(entry->kind, "exec.later");
}

bool log_filter_entry(const struct log_filter *filter, const struct log_run *run, const struct log_entry *entry)
{
    bool kind = filter->kind_count == 0;

    for (size_t i = 0; i < filter->kind_count; i++)
        kind = kind || kind_matches(filter->kinds[i], entry->kind);
    return kind && log_filter_run(filter, run, entry) && verdict_matches(filter->verdicts, entry);
}
