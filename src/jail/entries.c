/* One entry at a time, by a name relative to a directory that the caller has opened: what stands on
 * the way to it is his to trust or to check. */
#include "jail/entries.h"

#include "base/path.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static void terminate(struct slice text, char out[ENTRY_NAME_MAX])
{
    if (text.len)
        memcpy(out, text.ptr, text.len);
    out[text.len] = '\0';
}

bool entry_name(const struct step *step, const struct entry *entry, char name[ENTRY_NAME_MAX], struct error *err)
{
    size_t above = step->path.len == 1 ? 1 : step->path.len + 1;

    if (!path_covers(step->path, entry->path) || entry->path.len <= above || entry->path.len >= ENTRY_NAME_MAX ||
        entry->target.len >= ENTRY_NAME_MAX)
        return error_set(err, "cannot make %.*s inside the mount on %.*s", (int)entry->path.len, entry->path.ptr,
                         (int)step->path.len, step->path.ptr);
    terminate(slice_from(entry->path, above), name);
    return true;
}

static int make(int directory, const struct entry *entry, const char *name)
{
    char target[ENTRY_NAME_MAX];

    switch (entry->kind) {
    case ENTRY_DIRECTORY:
        return mkdirat(directory, name, 0755);
    case ENTRY_FILE:
        return mknodat(directory, name, S_IFREG | 0444, 0);
    case ENTRY_LINK:
        terminate(entry->target, target);
        return symlinkat(target, directory, name);
    case ENTRY_DEVICE:
        break;
    }
    return 0;
}

int entry_make(int directory, const struct entry *entry, const char *name)
{
    return make(directory, entry, name) < 0 && errno != EEXIST ? -1 : 0;
}
