/* Files that a program takes only from root or from its own user. In an ordinary
 * user's namespace root's files look like nobody's, and ssh then stops with "Bad
 * owner or permissions" at the first file its configuration includes: git over
 * ssh would not work. Such a file is shown as a copy that belongs to the user.
 *
 * Only what the command can read anyway is copied, and only what ssh would take
 * outside: root's files that nobody else can write. The rest stays as it is, and
 * so does everything where there are too many of them. */
#include "base/path.h"
#include "plan/internal.h"

enum { COPY_SIZE_MAX = 64 << 10 };

/* What ssh_config includes: everywhere, and on Fedora and its kin from there. */
static const char *const included_directory = "/etc/ssh/ssh_config.d";
static const char *const included_file = "/etc/crypto-policies/back-ends/openssh.config";

struct search {
    const struct policy *policy;
    const struct tree *tree;
    struct slice directory;
    struct copy *copies;
    size_t count;
    bool too_many;
};

static bool is_known(const struct search *search, struct slice path)
{
    for (size_t i = 0; i < search->count; i++) {
        if (slice_equal(search->copies[i].path, path))
            return true;
    }
    return false;
}

static void consider(struct search *search, struct slice name)
{
    const struct tree *tree = search->tree;
    struct arena *arena = search->policy->arena;
    struct tree_place place;
    struct slice content;
    struct error ignored;

    if (!tree_follow(tree, arena, name, &place, &ignored) || place.node != NODE_FILE || is_known(search, place.path))
        return;
    struct effect effect = plan_effect_at(search->policy, place.path);
    if (effect.access != ACCESS_READ || effect.backing != BACKING_HOST)
        return;
    if (!tree->is_roots_alone || !tree->is_roots_alone(tree->context, place.path) ||
        !tree->read(tree->context, place.path, COPY_SIZE_MAX, arena, &content))
        return;
    if (search->count == COPIES_MAX)
        search->too_many = true;
    else
        search->copies[search->count++] = (struct copy){place.path, content};
}

static void consider_entry(void *argument, struct slice name)
{
    struct search *search = argument;

    if (slice_ends(name, SLICE(".conf")) && !search->too_many)
        consider(search, path_join(search->policy->arena, search->directory, name));
}

size_t plan_find_copies(const struct policy *policy, const struct tree *tree, struct copy copies[COPIES_MAX])
{
    struct search search = {.policy = policy, .tree = tree, .copies = copies};
    struct tree_place place;
    struct error ignored;

    if (policy->around.is_root || policy->around.backend != BACKEND_NAMESPACES ||
        !tree_follow(tree, policy->arena, slice_of(included_directory), &place, &ignored) ||
        place.node != NODE_DIRECTORY)
        return 0;
    search.directory = place.path;
    tree->list(tree->context, place.path, consider_entry, &search);
    if (search.count > 0)
        consider(&search, slice_of(included_file));
    return search.too_many ? 0 : search.count;
}
