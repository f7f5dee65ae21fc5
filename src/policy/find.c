/* Which policy governs a run that names none: the first that is found.
 *
 * Only "there is no such file" moves on to the next place. A file that is there
 * but empty, unreadable or a dangling link is an error: falling back would run
 * the command under a policy its user did not choose. */
#include "policy/find.h"

#include "base/path.h"
#include "base/text.h"
#include "policy/variables.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* What srt 0.0.83 runs with when there is no settings file: no network, no
 * writes, all reads. */
static const struct slice srt_defaults = SLICE("{\"network\":{\"allowedDomains\":[],\"deniedDomains\":[]},"
                                               "\"filesystem\":{\"denyRead\":[],\"allowWrite\":[],\"denyWrite\":[]}}");

static bool look(const char *path, bool *there, struct error *err)
{
    struct stat status;

    *there = false;
    if (lstat(path, &status) < 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return true;
        return error_set_errno(err, errno, "cannot look for the policy %s", path);
    }
    if (stat(path, &status) < 0)
        return error_set_errno(err, errno, "cannot follow the link at %s, where a policy is expected", path);
    if (!S_ISREG(status.st_mode))
        return error_set(err, "the policy %s is not a regular file", path);
    if (status.st_size == 0)
        return error_set(err, "the policy %s is empty: remove it, or write {} to mean the defaults", path);
    if (access(path, R_OK) < 0)
        return error_set_errno(err, errno, "cannot read the policy %s", path);
    *there = true;
    return true;
}

static void use_file(struct arena *arena, struct policy_source *source, const char *path)
{
    *source = (struct policy_source){.kind = SOURCE_FILE, .name = arena_string(arena, path)};
}

static const char *below(struct arena *arena, struct slice directory, const char *name)
{
    return arena_slice(arena, path_normal(arena, directory, slice_of(name))).ptr;
}

/* $CLOCHE_POLICY was set on purpose: what it says must hold or stop. */
static bool use_variable(struct arena *arena, struct slice value, struct policy_source *source, struct error *err)
{
    const char *path = arena_slice(arena, value).ptr;
    bool there;

    if (!value.len)
        return error_set(err, "CLOCHE_POLICY is set but empty: name a policy file in it, or unset it");
    if (!look(path, &there, err))
        return error_wrap(err, "CLOCHE_POLICY");
    if (!there)
        return error_set(err, "CLOCHE_POLICY names %s, but there is no such file: correct it, or unset it", path);
    use_file(arena, source, path);
    return true;
}

/* A project's own policy counts only if its user trusted just this content. */
static bool look_in_project(struct arena *arena, const struct surroundings *around, struct policy_source *source,
                            bool *found, const char **passed_over, struct error *err)
{
    const char *path = below(arena, around->project, ".cloche.json");
    struct stat status;

    *found = false;
    if (lstat(path, &status) < 0) {
        if (errno == ENOENT)
            return true;
        return error_set_errno(err, errno, "cannot look for the policy %s", path);
    }
    if (!trust_source(arena, around, path, found, source, err))
        return false;
    if (!*found)
        *passed_over = path;
    return true;
}

static bool look_at(struct arena *arena, const char *path, struct policy_source *source, bool *found, struct error *err)
{
    if (!look(path, found, err))
        return false;
    if (*found)
        use_file(arena, source, path);
    return true;
}

const char *policy_users_file(struct arena *arena, const struct surroundings *around)
{
    return below(arena, xdg_directory(arena, around, "XDG_CONFIG_HOME"), "cloche/policy.json");
}

bool policy_find(struct arena *arena, const struct surroundings *around, struct policy_source *source,
                 const char **passed_over, struct error *err)
{
    const char *srt_settings = below(arena, around->home, ".srt-settings.json");
    struct slice value;
    bool found;

    *passed_over = NULL;
    if (around->personality == PERSONALITY_SRT) {
        /* What stands there counts, readable or not: the loader tells what is
         * wrong with it in srt's words. Only a file that is not there means the
         * defaults. */
        if (access(srt_settings, F_OK) == 0 || errno != ENOENT)
            use_file(arena, source, srt_settings);
        else
            *source = (struct policy_source){.kind = SOURCE_TEXT, .name = "srt's defaults", .text = srt_defaults};
        return true;
    }

    if (environment_find(around->environment, SLICE("CLOCHE_POLICY"), &value))
        return use_variable(arena, value, source, err);
    if (!look_in_project(arena, around, source, &found, passed_over, err) || found)
        return found;
    if (!look_at(arena, policy_users_file(arena, around), source, &found, err) || found)
        return found;
    if (!look_at(arena, srt_settings, source, &found, err) || found)
        return found;
    *source = (struct policy_source){.kind = SOURCE_PRESET, .name = "dev"};
    return true;
}
