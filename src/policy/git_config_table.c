/* The closed table (product: "Git config by meaning"). There are no patterns in it
 * on purpose: git learns new keys that run programs with every version.
 *
 * What must not be taken away: without its URL a remote is looked for in
 * .git/remotes, in .git/branches and as a directory, all of which a command can
 * make, and a push into such a one runs its hooks (attack 107); without the core.*
 * keys git guesses what it was told before. */
#include "policy/git_config_table.h"

static const char *const text_words = "must be plain text";
static const char *const rebase_words = "must be true, false, merges or interactive";
static const char *const url_words = "must be a URL of http, https, ssh or git, or user@host:path";
static const char *const boolean_words = "must be true or false";
static const char *const core_stays = "removed, and git would guess it";

static const struct git_config_key keys[] = {
    {"user", "name", .accepts = git_value_is_text, .grammar = text_words},
    {"user", "email", .accepts = git_value_is_text, .grammar = text_words},

    {"branch", "remote", git_name_is_plain, git_value_is_remote, .grammar = "must be \".\" or the name of a remote",
     .names_remote = true},
    {"branch", "merge", git_name_is_plain, git_value_is_branch, .grammar = "must be a name below refs/"},
    {"branch", "rebase", git_name_is_plain, git_value_is_rebase_choice, .grammar = rebase_words},

    {"remote", "url", git_name_is_word, git_value_is_url, .grammar = url_words, .leads_somewhere = true,
     .why_stays = "removed, and git would look for the remote in files and directories that a command can make"},
    {"remote", "pushurl", git_name_is_word, git_value_is_url, .grammar = url_words, .leads_somewhere = true},
    {"remote", "fetch", git_name_is_word, git_value_is_refspec,
     .grammar = "must lead from refs/ to refs/remotes/ or refs/tags/"},

    {"core", "bare", .accepts = git_value_is_boolean, .grammar = boolean_words, .why_stays = core_stays},
    {"core", "filemode", .accepts = git_value_is_boolean, .grammar = boolean_words, .why_stays = core_stays},
    {"core", "ignorecase", .accepts = git_value_is_boolean, .grammar = boolean_words, .why_stays = core_stays},
    {"core", "symlinks", .accepts = git_value_is_boolean, .grammar = boolean_words, .why_stays = core_stays},
    {"core", "logallrefupdates", .accepts = git_value_is_reflog_choice, .grammar = "must be true, false or always",
     .why_stays = core_stays},
    {"core", "repositoryformatversion", .accepts = git_value_is_format_version, .grammar = "must be 0 or 1",
     .why_stays = core_stays},

    {"push", "default", .accepts = git_value_is_push_choice,
     .grammar = "must be nothing, current, upstream, tracking, simple or matching"},
    {"push", "autosetupremote", .accepts = git_value_is_boolean, .grammar = boolean_words},
    {"pull", "rebase", .accepts = git_value_is_rebase_choice, .grammar = rebase_words},
    {"pull", "ff", .accepts = git_value_is_forward_choice, .grammar = "must be true, false or only"},

    {"submodule", "url", git_name_is_word, git_value_is_url, .grammar = url_words, .leads_somewhere = true},
    {"submodule", "active", git_name_is_word, git_value_is_boolean, .grammar = boolean_words},
};

const struct git_config_key *git_config_find_key(const struct git_config_entry *entry)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        bool fits = keys[i].has_name ? entry->subsection.len && keys[i].has_name(entry->subsection)
                                     : entry->subsection.len == 0;
        if (fits && slice_is(entry->section, keys[i].section) && slice_is(entry->key, keys[i].key))
            return &keys[i];
    }
    return NULL;
}
