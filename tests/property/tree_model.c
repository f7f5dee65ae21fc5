#include "tree_model.h"

#include "base/path.h"

static struct model_node *child_of(const struct model_node *directory, struct slice name)
{
    for (struct model_node *node = directory->first_child; node; node = node->next) {
        if (slice_equal(node->name, name))
            return node;
    }
    return NULL;
}

static struct model_node *make_child(struct arena *arena, struct model_node *parent, struct slice name, enum node kind)
{
    struct model_node *node = ARENA_NEW(arena, struct model_node);

    *node =
        (struct model_node){.kind = kind, .name = name, .mode = 0777, .parent = parent, .next = parent->first_child};
    parent->first_child = node;
    return node;
}

struct model_node *model_add(struct model *model, struct slice path, enum node kind, struct slice target)
{
    struct model_node *node = model->host_root;
    struct slice rest = path;
    struct slice component;

    while (path_next(&rest, &component)) {
        struct model_node *next = child_of(node, component);
        bool last = rest.len == 0;

        if (node->kind != NODE_DIRECTORY || (next && last && next->kind != kind))
            return NULL;
        if (!next)
            next = make_child(model->arena, node, component, last ? kind : NODE_DIRECTORY);
        node = next;
    }
    node->target = target;
    return node;
}

/* The host's side. Paths have no links in them: that is tree_follow's promise. */
static const struct model_node *host_node(const struct model *model, struct slice path)
{
    const struct model_node *node = model->host_root;
    struct slice component;

    while (node && path_next(&path, &component))
        node = node->kind == NODE_DIRECTORY ? child_of(node, component) : NULL;
    return node;
}

static enum node look(void *context, struct slice path, struct arena *arena, struct slice *target)
{
    const struct model_node *node = host_node(context, path);

    (void)arena;
    if (!node)
        return NODE_ABSENT;
    *target = node->target;
    return node->kind;
}

static bool list(void *context, struct slice path, void (*found)(void *argument, struct slice name), void *argument)
{
    const struct model_node *node = host_node(context, path);

    if (!node || node->kind != NODE_DIRECTORY)
        return false;
    for (const struct model_node *child = node->first_child; child; child = child->next)
        found(argument, child->name);
    return true;
}

static bool read_content(void *context, struct slice path, size_t limit, struct arena *arena, struct slice *content)
{
    const struct model_node *node = host_node(context, path);

    (void)arena;
    if (!node || node->kind != NODE_FILE || node->target.len > limit)
        return false;
    *content = node->target;
    return true;
}

void model_init(struct model *model, struct arena *arena)
{
    *model = (struct model){.arena = arena};
    model->host_root = ARENA_NEW(arena, struct model_node);
    *model->host_root = (struct model_node){.kind = NODE_DIRECTORY, .mode = 0777};
    model->tree = (struct tree){.look = look, .list = list, .read = read_content, .context = model};
}

/* Inside. A position is a mount and a node in it. */
struct position {
    struct model_mount *mount;
    struct model_node *node;
};

static struct position into_mounts(const struct model *model, struct position position)
{
    for (;;) {
        struct model_mount *found = NULL;
        for (struct model_mount *mount = model->mounts; mount && !found; mount = mount->next) {
            if (mount->under == position.mount && mount->at == position.node)
                found = mount;
        }
        if (!found)
            return position;
        position = (struct position){found, found->root};
    }
}

static struct position parent_of(struct position position)
{
    while (position.node == position.mount->root && position.mount->under)
        position = (struct position){position.mount->under, position.mount->at};
    if (position.node != position.mount->root)
        position.node = position.node->parent;
    return position;
}

enum walk { WALK_FOUND, WALK_ABSENT, WALK_REFUSED };

static enum walk walk(const struct model *model, struct slice path, bool follow_links, struct position *position)
{
    struct slice rest = path;
    struct slice component;
    unsigned links = 0;

    *position = into_mounts(model, (struct position){model->root_mount, model->root_mount->root});
    while (path_next(&rest, &component)) {
        if (position->node->kind != NODE_DIRECTORY)
            return WALK_ABSENT;
        if (!(position->node->mode & 0111))
            return WALK_REFUSED;
        if (slice_is(component, "."))
            continue;
        if (slice_is(component, "..")) {
            *position = into_mounts(model, parent_of(*position));
            continue;
        }
        struct model_node *next = child_of(position->node, component);
        if (!next)
            return WALK_ABSENT;
        if (next->kind == NODE_LINK) {
            if (!follow_links || ++links > TREE_LINKS_MAX)
                return WALK_REFUSED;
            rest = slice_of(arena_printf(model->arena, "%.*s/%.*s", (int)next->target.len, next->target.ptr,
                                         (int)rest.len, rest.ptr));
            if (next->target.ptr[0] == '/')
                *position = into_mounts(model, (struct position){model->root_mount, model->root_mount->root});
            continue;
        }
        *position = into_mounts(model, (struct position){position->mount, next});
    }
    return WALK_FOUND;
}

static struct model_mount *attach(struct model *model, struct position at, struct model_node *root, bool writable)
{
    struct model_mount *mount = ARENA_NEW(model->arena, struct model_mount);

    *mount = (struct model_mount){at.mount, at.node, root, writable, model->mounts};
    model->mounts = mount;
    return mount;
}

static struct model_node *make_own(struct model *model, enum node kind, unsigned mode)
{
    struct model_node *node = ARENA_NEW(model->arena, struct model_node);

    *node = (struct model_node){.kind = kind, .mode = mode, .synthetic = true};
    return node;
}

static bool make_entries(struct model *model, struct model_node *root, const struct step *step, struct error *err)
{
    for (size_t i = 0; i < step->entry_count; i++) {
        const struct entry *entry = &step->entries[i];
        struct slice rest = slice_from(entry->path, step->path.len);
        struct slice component;
        struct model_node *node = root;

        while (path_next(&rest, &component)) {
            struct model_node *next = child_of(node, component);
            bool last = rest.len == 0;
            if (node->kind != NODE_DIRECTORY || (!next && !last) || (next && last))
                return error_set(err, "entry %.*s cannot be made", (int)entry->path.len, entry->path.ptr);
            if (!next) {
                next = make_child(model->arena, node, component,
                                  entry->kind == ENTRY_DIRECTORY ? NODE_DIRECTORY
                                  : entry->kind == ENTRY_LINK    ? NODE_LINK
                                                                 : NODE_FILE);
                next->synthetic = true;
                next->mode = entry->kind == ENTRY_DIRECTORY ? 0555 : 0;
                next->target = entry->target;
            }
            node = next;
        }
    }
    return true;
}

static struct model_node *tmpfs(struct model *model, const struct step *step, struct error *err)
{
    struct model_node *root = make_own(model, NODE_DIRECTORY, step->mode);

    return make_entries(model, root, step, err) ? root : NULL;
}

static bool apply_step(struct model *model, const struct step *step, struct error *err)
{
    struct position at;
    struct model_node *root = NULL;
    bool writable = step->writable;

    if (walk(model, step->path, false, &at) != WALK_FOUND)
        return error_set(err, "nothing to attach %.*s to", (int)step->path.len, step->path.ptr);
    switch (step->kind) {
    case STEP_BIND:
        root = (struct model_node *)(uintptr_t)host_node(model, step->path);
        break;
    case STEP_OVERLAY:
        root = (struct model_node *)(uintptr_t)host_node(model, step->path);
        writable = true;
        break;
    case STEP_PIN:
        root = at.node;
        break;
    case STEP_HIDE_DIRECTORY:
        root = tmpfs(model, step, err);
        writable = false;
        break;
    case STEP_PRIVATE:
    case STEP_SESSION:
    case STEP_DEVICES:
        root = tmpfs(model, step, err);
        writable = step->kind != STEP_DEVICES;
        break;
    case STEP_PROC:
    case STEP_PROC_OF_HOST:
        root = make_own(model, NODE_DIRECTORY, 0555);
        break;
    case STEP_HIDE_FILE:
        root = make_own(model, NODE_FILE, 0);
        writable = false;
        break;
    case STEP_COPY:
    case STEP_EMPTY_FILE:
        root = make_own(model, NODE_FILE, 0444);
        writable = false;
        break;
    case STEP_ROOT:
    case STEP_ROOT_EMPTY:
        return error_set(err, "a second root");
    }
    if (!root)
        return error_set(err, "no source for %.*s", (int)step->path.len, step->path.ptr);
    if ((root->kind == NODE_DIRECTORY) != (at.node->kind == NODE_DIRECTORY))
        return error_set(err, "%.*s: a directory and a file", (int)step->path.len, step->path.ptr);
    attach(model, at, root, writable);
    return true;
}

bool model_apply(struct model *model, const struct plan *plan, struct error *err)
{
    struct model_mount *root = ARENA_NEW(model->arena, struct model_mount);

    model->mounts = NULL;
    *root = (struct model_mount){.root = model->host_root, .writable = plan->steps[0].writable};
    if (plan->steps[0].kind == STEP_ROOT_EMPTY) {
        root->root = tmpfs(model, &plan->steps[0], err);
        root->writable = false;
        if (!root->root)
            return false;
    } else if (plan->steps[0].kind != STEP_ROOT) {
        return error_set(err, "the first step is not a root");
    }
    model->root_mount = root;
    for (size_t i = 1; i < plan->step_count; i++) {
        if (!apply_step(model, &plan->steps[i], err))
            return false;
    }
    return true;
}

struct sight model_look(const struct model *model, struct slice path)
{
    struct position position;

    switch (walk(model, path, true, &position)) {
    case WALK_ABSENT:
        return (struct sight){.outcome = OUTCOME_ABSENT};
    case WALK_REFUSED:
        return (struct sight){.outcome = OUTCOME_REFUSED};
    case WALK_FOUND:
        break;
    }
    const struct model_node *node = position.node;
    struct sight sight = {.kind = node->kind, .writable = position.mount->writable};
    if (!(node->mode & 0444)) {
        sight.outcome = OUTCOME_REFUSED;
        sight.writable = false;
    } else if (node->synthetic) {
        sight.outcome = node->kind == NODE_DIRECTORY ? OUTCOME_OWN : OUTCOME_EMPTY;
    } else {
        sight.outcome = OUTCOME_HOST;
    }
    return sight;
}
