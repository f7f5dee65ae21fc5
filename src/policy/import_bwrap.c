/* A command line of bubblewrap. Its mounts are done in order, the later over the
 * earlier; among our rules the deeper path wins. So a mount takes away what was
 * mounted below its place before, and what is left says the same in any order. */
#include "base/path.h"
#include "base/text.h"
#include "policy/import.h"

#include <string.h>

enum { PLACES_MAX = 4096 };

enum effect {
    EFFECT_SHOW,   /* SRC DEST: read-only */
    EFFECT_OPEN,   /* SRC DEST: writable */
    EFFECT_HIDE,   /* DEST: something empty */
    EFFECT_LINK,   /* TARGET DEST: what the host has there, where that is the usual link */
    EFFECT_COVER,  /* ... DEST: something of its own, which cannot be had here; the host's is not seen */
    EFFECT_FREEZE, /* DEST: what is mounted there becomes read-only */
    EFFECT_SET,    /* NAME VALUE */
    EFFECT_UNSET,
    EFFECT_CLEAR,
    EFFECT_NO_NETWORK,
    EFFECT_ALL_NAMESPACES,
    EFFECT_NETWORK,
    EFFECT_UNSEEN, /* more options, from elsewhere */
    EFFECT_HERE,   /* so it is here in any case */
    EFFECT_NONE    /* no counterpart */
};

struct bwrap_option {
    const char *name;
    unsigned arguments;
    enum effect effect;
};

static const struct bwrap_option options[] = {
    {"--ro-bind", 2, EFFECT_SHOW},
    {"--ro-bind-try", 2, EFFECT_SHOW},
    {"--bind", 2, EFFECT_OPEN},
    {"--bind-try", 2, EFFECT_OPEN},
    {"--dev-bind", 2, EFFECT_OPEN},
    {"--dev-bind-try", 2, EFFECT_OPEN},
    {"--tmpfs", 1, EFFECT_HIDE},
    {"--setenv", 2, EFFECT_SET},
    {"--unsetenv", 1, EFFECT_UNSET},
    {"--clearenv", 0, EFFECT_CLEAR},
    {"--unshare-net", 0, EFFECT_NO_NETWORK},
    {"--unshare-all", 0, EFFECT_ALL_NAMESPACES},
    {"--share-net", 0, EFFECT_NETWORK},
    {"--unshare-user", 0, EFFECT_HERE},
    {"--unshare-user-try", 0, EFFECT_HERE},
    {"--unshare-ipc", 0, EFFECT_HERE},
    {"--unshare-pid", 0, EFFECT_HERE},
    {"--unshare-uts", 0, EFFECT_HERE},
    {"--unshare-cgroup", 0, EFFECT_HERE},
    {"--unshare-cgroup-try", 0, EFFECT_HERE},
    {"--disable-userns", 0, EFFECT_HERE},
    {"--assert-userns-disabled", 0, EFFECT_HERE},
    {"--die-with-parent", 0, EFFECT_HERE},
    {"--new-session", 0, EFFECT_HERE},
    {"--as-pid-1", 0, EFFECT_HERE},
    {"--cap-drop", 1, EFFECT_HERE},
    {"--dev", 1, EFFECT_HERE},
    {"--proc", 1, EFFECT_HERE},
    {"--dir", 1, EFFECT_HERE},
    {"--perms", 1, EFFECT_HERE},
    {"--size", 1, EFFECT_HERE},
    {"--remount-ro", 1, EFFECT_FREEZE},
    {"--symlink", 2, EFFECT_LINK},
    {"--chdir", 1, EFFECT_NONE},
    {"--uid", 1, EFFECT_NONE},
    {"--gid", 1, EFFECT_NONE},
    {"--hostname", 1, EFFECT_NONE},
    {"--cap-add", 1, EFFECT_NONE},
    {"--seccomp", 1, EFFECT_NONE},
    {"--add-seccomp-fd", 1, EFFECT_NONE},
    {"--args", 1, EFFECT_UNSEEN},
    {"--argv0", 1, EFFECT_NONE},
    {"--userns", 1, EFFECT_NONE},
    {"--userns2", 1, EFFECT_NONE},
    {"--pidns", 1, EFFECT_NONE},
    {"--file", 2, EFFECT_COVER},
    {"--bind-data", 2, EFFECT_COVER},
    {"--ro-bind-data", 2, EFFECT_COVER},
    {"--bind-fd", 2, EFFECT_COVER},
    {"--ro-bind-fd", 2, EFFECT_COVER},
    {"--mqueue", 1, EFFECT_COVER},
    {"--chmod", 2, EFFECT_NONE},
    {"--overlay-src", 1, EFFECT_NONE},
    {"--overlay", 3, EFFECT_COVER},
    {"--tmp-overlay", 1, EFFECT_COVER},
    {"--ro-overlay", 1, EFFECT_COVER},
    {"--lock-file", 1, EFFECT_NONE},
    {"--sync-fd", 1, EFFECT_NONE},
    {"--block-fd", 1, EFFECT_NONE},
    {"--userns-block-fd", 1, EFFECT_NONE},
    {"--info-fd", 1, EFFECT_NONE},
    {"--json-status-fd", 1, EFFECT_NONE},
    {"--exec-label", 1, EFFECT_NONE},
    {"--file-label", 1, EFFECT_NONE},
};

struct place {
    struct slice path;
    const char *access; /* NULL: covered by a later one */
};

struct line {
    struct import *import;
    struct place *places;
    size_t count;
    size_t capacity;
    bool network;
};

static const struct bwrap_option *option_named(const char *word)
{
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strcmp(options[i].name, word) == 0)
            return &options[i];
    return NULL;
}

static struct slice normal(struct line *line, const char *path)
{
    return path_normal(line->import->arena, SLICE("/"), slice_of(path));
}

static void cover(struct line *line, struct slice path)
{
    for (size_t i = 0; i < line->count; i++)
        if (path_covers(path, line->places[i].path))
            line->places[i].access = NULL;
}

static bool place(struct line *line, struct slice path, const char *access, struct error *err)
{
    if (line->count == PLACES_MAX)
        return error_set(err, "there are more than %d mounts", (int)PLACES_MAX);
    cover(line, path);
    line->places = arena_grow(line->import->arena, line->places, line->count, line->count + 1, &line->capacity,
                              sizeof *line->places);
    line->places[line->count++] = (struct place){path, access};
    return true;
}

static bool bind(struct line *line, const char *option, char *const *words, const char *access, struct error *err)
{
    struct slice from = normal(line, words[0]);
    struct slice to = normal(line, words[1]);

    if (slice_is(from, "/dev/null"))
        return place(line, to, "none", err);
    if (path_covers(SLICE("/dev"), to) && to.len > 4) {
        import_add(line->import, "filesystem", "devices", to);
        return true;
    }
    /* A relative one is meant where bubblewrap is called. */
    if (words[0][0] == '/' && slice_equal(from, to))
        return path_covers(SLICE("/proc"), to) || path_covers(SLICE("/dev"), to) || place(line, to, access, err);
    import_note(line->import, "%s %s %s: here everything is seen where it really is, so %s is hidden%s", option,
                words[0], words[1], words[1], words[0][0] == '/' ? "" : "; write the path in full if it is the same");
    return place(line, to, "none", err);
}

/* On systems whose programs have all moved to /usr. */
static bool is_usual_link(struct slice path)
{
    static const char *const usual[] = {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (slice_is(path, usual[i]))
            return true;
    return false;
}

static void freeze(struct line *line, struct slice path)
{
    for (size_t i = 0; i < line->count; i++)
        if (line->places[i].access && slice_equal(line->places[i].path, path) &&
            strcmp(line->places[i].access, "write") == 0)
            line->places[i].access = "read";
}

static void set_variable(struct line *line, const char *name, const char *value)
{
    json_t *set = json_object_get(json_object_get(line->import->policy, "environment"), "set");

    if (!set) {
        set = json_object();
        import_set(line->import, "environment", "set", set);
    }
    if (json_object_set_new(set, name, json_string(value)) < 0)
        import_note(line->import, "--setenv %s: it is not UTF-8, which a policy file has to be", name);
}

static void note_option(struct line *line, const struct bwrap_option *option, char *const *words)
{
    struct text text = text_in(line->import->arena);

    text_append_string(&text, option->name);
    for (unsigned i = 0; i < option->arguments; i++)
        text_appendf(&text, " %s", words[i]);
    import_note(line->import, "%s: it has no counterpart", text.ptr);
}

static bool take(struct line *line, const struct bwrap_option *option, char *const *words, struct error *err)
{
    struct import *import = line->import;

    switch (option->effect) {
    case EFFECT_SHOW:
        return bind(line, option->name, words, "read", err);
    case EFFECT_OPEN:
        return bind(line, option->name, words, "write", err);
    case EFFECT_HIDE: {
        struct slice path = normal(line, words[0]);
        if (slice_is(path, "/tmp") || slice_is(path, "/var/tmp")) {
            cover(line, path);
            return true; /* the run's own here, too */
        }
        if (!slice_is(path, "/"))
            import_note(import, "--tmpfs %s: it is hidden; what is written there is refused, not lost", words[0]);
        return place(line, path, "none", err);
    }
    case EFFECT_LINK:
        if (is_usual_link(normal(line, words[1])))
            return place(line, normal(line, words[1]), "read", err);
        note_option(line, option, words);
        return true;
    case EFFECT_COVER:
        note_option(line, option, words);
        return place(line, normal(line, words[option->arguments - 1]), "none", err);
    case EFFECT_FREEZE:
        freeze(line, normal(line, words[0]));
        return true;
    case EFFECT_UNSEEN:
        return error_set(err, "%s %s: options that are not on this line cannot be carried over; write them out",
                         option->name, words[0]);
    case EFFECT_SET:
        set_variable(line, words[0], words[1]);
        return true;
    case EFFECT_UNSET:
        import_add(import, "environment", "deny", slice_of(words[0]));
        return true;
    case EFFECT_CLEAR:
        import_add(import, "environment", "pass", SLICE("!*"));
        return true;
    case EFFECT_NO_NETWORK:
    case EFFECT_ALL_NAMESPACES:
    case EFFECT_NETWORK:
        line->network = option->effect == EFFECT_NETWORK;
        return true;
    case EFFECT_HERE:
        return true;
    case EFFECT_NONE:
        note_option(line, option, words);
        return true;
    }
    return true;
}

/* With nothing at "/" only what is listed is there. */
static void finish(struct line *line)
{
    struct import *import = line->import;
    bool root = false;

    for (size_t i = 0; i < line->count; i++) {
        const struct place *each = &line->places[i];
        if (!each->access)
            continue;
        if (each->path.len > 1 || strcmp(each->access, "write") == 0)
            import_rule(import, import_literal_path(import, each->path), each->access);
        root = root || (each->path.len == 1 && strcmp(each->access, "none") != 0);
    }
    import_set(import, "filesystem", "readMode", json_string(root ? "all" : "listed"));
    if (!root)
        import_set(import, "filesystem", "platformDefaults", json_false());
    import_set(import, "filesystem", "caches", json_string("none"));
    import_set(import, "network", "mode", json_string(line->network ? "host" : "none"));
    import_note(import, "preset:base is beneath: secrets are hidden and tokens held back; \"extends\": [] for neither");
}

bool import_bwrap(struct import *import, char *const *words, char *const **command, struct error *err)
{
    struct line line = {.import = import, .network = true};

    for (words++; *words && strncmp(*words, "--", 2) == 0 && strcmp(*words, "--") != 0; words++) {
        const struct bwrap_option *option = option_named(*words);
        if (!option)
            return error_set(err, "\"%s\" is not an option of bubblewrap that is known here", *words);
        for (unsigned i = 1; i <= option->arguments; i++)
            if (!words[i])
                return error_set(err, "%s needs %u words behind it", option->name, option->arguments);
        if (!take(&line, option, words + 1, err))
            return false;
        words += option->arguments;
    }
    if (*words && strcmp(*words, "--") == 0)
        words++;
    *command = *words ? words : NULL;
    finish(&line);
    return true;
}
