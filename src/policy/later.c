/* The list is of what runs when somebody enters a directory, opens it in an
 * editor, installs its packages or logs in: things that people do with a project
 * they have not looked at. What a build or a test of it runs (Makefile, build.rs,
 * conftest.py) is not here: that is to run the project. */
#include "policy/later.h"

#include "base/path.h"

#include <string.h>

static const struct {
    const char *name;
    const char *words;
} files[] = {
    {".npmrc", "npm takes its registry, and programs that it starts, from it"},
    {".yarnrc", "yarn runs the program that it names"},
    {".yarnrc.yml", "yarn runs the program and the plugins that it names"},
    {".pnpmfile.cjs", "pnpm runs it when packages are installed"},
    {"mise.toml", "mise runs what it says when its directory is entered"},
    {".mise.toml", "mise runs what it says when its directory is entered"},
    {".exrc", "vi runs it when it is started here"},
    {".vimrc", "vim runs it when it is started here"},
    {".nvim.lua", "nvim runs it when it is started here"},
    {".nvimrc", "nvim runs it when it is started here"},
    {".dir-locals.el", "emacs obeys it when a file here is opened"},
    {".gdbinit", "gdb runs it when it is started here"},
    {".lldbinit", "lldb runs it when it is started here"},
    {".pdbrc", "Python's debugger runs it when it is started here"},
    {"lefthook.yml", "lefthook runs what it says as hooks of git"},
    {".lefthook.yml", "lefthook runs what it says as hooks of git"},
    {".pre-commit-config.yaml", "pre-commit runs what it says as hooks of git"},
    {".xprofile", "it is run at every log-in"},
    {".xinitrc", "it is run when X is started"},
    {".pam_environment", "it sets the environment of every log-in"},
};

/* Directories, of the user's or of a home that is made up here. */
static const struct {
    const char *place;
    const char *words;
} places[] = {
    {"/.cargo/config", "cargo runs the programs that it names"}, /* and config.toml */
    {"/.config/systemd/user/", "systemd runs the user's units"},
    {"/.local/share/systemd/user/", "systemd runs the user's units"},
    {"/.config/autostart/", "it is started at every log-in"},
    {"/.config/environment.d/", "it sets the environment of every log-in"},
    {"/.config/fish/", "fish runs it when it is started"},
    {"/.config/git/", "git obeys it in every repository"},
    {"/.local/share/applications/", "the desktop starts what it says, in the name of an application"},
    {"/.local/share/dbus-1/services/", "D-Bus starts what it says when it is called"},
    {"/.bashrc.d/", "the shell may run it when it is started"},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool contains(struct slice path, const char *place)
{
    return memmem(path.ptr, path.len, place, strlen(place)) != NULL;
}

const char *later_words(struct slice path)
{
    struct slice name = path_name(path);

    for (size_t i = 0; i < COUNT(files); i++) {
        if (slice_is(name, files[i].name))
            return files[i].words;
    }
    if (!contains(path, "/."))
        return NULL;
    for (size_t i = 0; i < COUNT(places); i++) {
        if (contains(path, places[i].place))
            return places[i].words;
    }
    return NULL;
}

bool later_is_prefix(struct slice path)
{
    for (size_t i = 0; i < COUNT(places); i++) {
        struct slice place = slice_of(places[i].place);
        for (size_t length = 1; length < place.len; length++) {
            if (place.ptr[length] == '/' && slice_ends(path, (struct slice){place.ptr, length}))
                return true;
        }
    }
    return false;
}

bool later_is_sequence(struct slice path)
{
    struct slice directory = path_name(path_parent(path));

    return slice_is(path_name(path), "git-rebase-todo") || (slice_ends(path, SLICE("/sequencer/opts"))) ||
           (slice_is(path_name(path), "strategy") && slice_is(directory, "rebase-merge"));
}

bool later_is_own_strategy(struct slice name)
{
    static const char *const own[] = {"ort", "recursive", "resolve", "octopus", "ours", "subtree"};

    for (size_t i = 0; i < COUNT(own); i++) {
        if (slice_is(name, own[i]))
            return true;
    }
    return false;
}
