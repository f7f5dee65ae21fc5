/* The SandboxPolicy of Codex before permission profiles: a type, the roots that
 * may be written, and (from February to April 2026) ReadOnlyAccess, which says how
 * much may be read. Without that everything may. It is turned into the entries a
 * profile would have.
 *
 * Paths that may be read and lie in one that may be written stay writable, as
 * Codex had it: there they were redundant and no restriction. */
#include "policy/codex.h"

#include "base/path.h"
#include "policy/loader.h"
#include "policy/variables.h"

enum { TYPE_READ_ONLY, TYPE_WORKSPACE_WRITE, TYPE_FULL_ACCESS, TYPE_EXTERNAL };
const char *const codex_sandbox_policy_types[] = {"read-only", "workspace-write", "danger-full-access",
                                                  "external-sandbox", NULL};

static void add(struct loader *loader, struct codex_entries *entries, struct slice path, enum codex_access access,
                const struct place *place)
{
    codex_entry_add(loader, entries, (struct codex_entry){path, access, loader_origin(loader, place)});
}

static void read_access(struct loader *loader, const json_t *root, const char *name, struct codex_entries *entries)
{
    static const char *const types[] = {"full-access", "restricted", NULL};
    static const char *const full[] = {"type", NULL};
    static const char *const restricted[] = {"type", "include_platform_defaults", "readable_roots", NULL};
    struct place place = {.name = name};
    struct place at_type = {.parent = &place, .name = "type"};
    const json_t *access = json_object_get(root, name);
    size_t type = 0;

    if (access &&
        (!json_is_object(access) ? !codex_members(loader, &place, access, full)
                                 : (!codex_word(loader, &at_type, json_object_get(access, "type"), types, &type) ||
                                    !codex_members(loader, &place, access, type ? restricted : full))))
        return;
    if (type == 0) {
        add(loader, entries, SLICE("/"), CODEX_READ, &place);
        return;
    }
    entries->minimal = codex_flag(loader, &place, access, "include_platform_defaults", true);
    codex_paths_read(loader, &place, access, "readable_roots", CODEX_READ, entries);
    /* What one works in can be read, also where it cannot be written. */
    add(loader, entries, loader->around.project, CODEX_READ, &place);
}

static void add_writable(struct loader *loader, const json_t *root, struct codex_entries *entries)
{
    struct place at_type = {.name = "type"};
    struct place at_tmpdir = {.name = "exclude_tmpdir_env_var"};
    struct place at_tmp = {.name = "exclude_slash_tmp"};
    struct slice value;

    add(loader, entries, loader->around.project, CODEX_WRITE, &at_type);
    codex_paths_read(loader, NULL, root, "writable_roots", CODEX_WRITE, entries);
    if (!codex_flag(loader, NULL, root, "exclude_slash_tmp", false))
        add(loader, entries, SLICE("/tmp"), CODEX_WRITE, &at_tmp);
    if (!codex_flag(loader, NULL, root, "exclude_tmpdir_env_var", false) &&
        environment_find(loader->around.environment, SLICE("TMPDIR"), &value) && value.len && value.ptr[0] == '/')
        add(loader, entries, path_normal(loader->arena, SLICE("/"), value), CODEX_WRITE, &at_tmpdir);
}

static bool is_redundant(const struct codex_entries *entries, const struct codex_entry *entry)
{
    if (entry->access != CODEX_READ || entry->path.len <= 1)
        return false;
    for (size_t i = 0; i < entries->count; i++) {
        if (entries->items[i].access == CODEX_WRITE && path_covers(entries->items[i].path, entry->path))
            return true;
    }
    return false;
}

static void apply(struct loader *loader, const struct codex_entries *entries)
{
    struct codex_entries kept = {.minimal = entries->minimal};

    for (size_t i = 0; i < entries->count; i++) {
        if (!is_redundant(entries, &entries->items[i]))
            codex_entry_add(loader, &kept, entries->items[i]);
    }
    codex_entries_apply(loader, &kept);
}

static void external_network(struct loader *loader, const json_t *root)
{
    static const char *const words[] = {"restricted", "enabled", NULL};
    struct place place = {.name = "network_access"};
    const json_t *value = json_object_get(root, "network_access");
    size_t word = 0;

    if (!value || codex_word(loader, &place, value, words, &word))
        codex_network(loader, &place, word == 1);
}

void codex_sandbox_policy(struct loader *loader, size_t type, const json_t *root)
{
    static const char *const read_only[] = {"type", "access", "network_access", NULL};
    static const char *const workspace[] = {
        "type", "writable_roots", "read_only_access", "network_access", "exclude_tmpdir_env_var", "exclude_slash_tmp",
        NULL};
    static const char *const full[] = {"type", NULL};
    static const char *const external[] = {"type", "network_access", NULL};
    static const char *const *const members[] = {read_only, workspace, full, external};
    struct place at_type = {.name = "type"};
    struct place at_network = {.name = "network_access"};
    struct codex_entries entries = {0};

    if (!codex_members(loader, NULL, root, members[type]))
        return;
    switch (type) {
    case TYPE_FULL_ACCESS:
        codex_open_files(loader);
        codex_network(loader, &at_type, true);
        loader->policy->unconfined = true;
        return;
    case TYPE_EXTERNAL:
        codex_open_files(loader);
        external_network(loader, root);
        return;
    case TYPE_WORKSPACE_WRITE:
        read_access(loader, root, "read_only_access", &entries);
        add_writable(loader, root, &entries);
        break;
    default:
        read_access(loader, root, "access", &entries);
        break;
    }
    apply(loader, &entries);
    codex_network(loader, &at_network, codex_flag(loader, NULL, root, "network_access", false));
}
