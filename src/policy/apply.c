/* One document, walked along the table of keys: types are checked, values are
 * stored where the table says, unknown members are reported. Scalars override
 * what an earlier source said; lists are lists.c's business. Everything that is
 * wrong is reported and the walk goes on, so that a person sees all of it. */
#include "policy/loader.h"

#include "base/text.h"

static bool walk(struct loader *loader, const struct key *owner, const struct key *table, const struct place *place,
                 const json_t *object);

/* ---- what a key allows, in words ---- */

static const char *words_text(struct arena *arena, const char *const *words)
{
    struct text out = text_in(arena);

    text_append_string(&out, words[1] ? "one of " : "");
    for (size_t i = 0; words[i]; i++)
        text_appendf(&out, "%s\"%s\"", i ? ", " : "", words[i]);
    return out.ptr;
}

static const char *allowed_text(struct arena *arena, const struct key *key)
{
    if (key->about)
        return key->about;
    switch (key->type) {
    case KEY_OBJECT:
    case KEY_MAP:
        return "an object";
    case KEY_OBJECTS:
        return "an array of objects";
    case KEY_BOOLEAN:
        return "true or false";
    case KEY_WORD:
        return words_text(arena, key->words);
    case KEY_INTEGER:
        return arena_printf(arena, "a whole number from %lld to %lld", (long long)key->least, (long long)key->most);
    case KEY_SIZE:
        return "a size (bytes, or a number with K, M, G or T like \"2G\")";
    case KEY_TEXT:
        return "a string";
    case KEY_PATHS:
    case KEY_FILES:
        return "an array of paths";
    case KEY_HOSTS:
        return "an array of host patterns";
    case KEY_PORTS:
        return "an array of ports";
    case KEY_NAMES:
    case KEY_TEXTS:
        return "an array of strings";
    case KEY_EXTENDS:
    case KEY_ANY:
    case KEY_CODE:
        break;
    }
    return "something else";
}

static void wrong_type(struct loader *loader, const struct key *key, const struct place *place, const json_t *value)
{
    const char *near =
        key->type == KEY_WORD && json_is_string(value) ? did_you_mean(json_slice(value), key->words) : NULL;

    loader_problem(loader, place, "found %s; %s is expected%s%s%s", value_words(loader->arena, value),
                   allowed_text(loader->arena, key), near ? "; did you mean \"" : "", near ? near : "",
                   near ? "\"?" : "");
}

/* ---- keys that nobody knows ---- */

static const char *nearest(struct loader *loader, const struct key *table, const char *name)
{
    const char *words[64];
    size_t count = 0;

    for (; table->name && count + 1 < sizeof words / sizeof *words; table++) {
        if (!loader->srt || loader->extended || (table->flags & KEY_IN_SRT))
            words[count++] = table->name;
    }
    words[count] = NULL;
    return did_you_mean(slice_of(name), words);
}

static void unknown_key(struct loader *loader, const struct key *owner, const struct key *table,
                        const struct place *place)
{
    /* Hints cost more than the words around them: not for a flood of keys. */
    bool flooded = loader->problems_unsaid > 0 || loader->warnings > PROBLEMS_MAX;
    const char *near = flooded ? NULL : nearest(loader, table, place->name);
    const char *elsewhere = flooded || near || loader->srt ? NULL : key_path_of(loader->arena, place->name);
    const char *hint = near        ? arena_printf(loader->arena, "; did you mean \"%s\"?", near)
                       : elsewhere ? arena_printf(loader->arena, "; it belongs at %s", elsewhere)
                                   : "";

    if (loader->srt && !(owner && (owner->flags & KEY_STRICT)))
        loader_warning(loader, place, "srt knows no such key; it is ignored%s", hint);
    else
        loader_problem(loader, place, "there is no such key here%s", hint);
}

/* ---- values ---- */

static void *field(struct loader *loader, size_t offset)
{
    return (char *)loader->policy + offset;
}

void unbuilt_note(struct loader *loader, const struct key *key, const struct place *place, bool active)
{
    struct pending_unbuilt *entry = NULL;

    for (size_t i = 0; i < loader->unbuilt_count && !entry; i++) {
        if (loader->unbuilt[i].key == key)
            entry = &loader->unbuilt[i];
    }
    if (!entry) {
        if (!active)
            return;
        loader->unbuilt = arena_grow(loader->arena, loader->unbuilt, loader->unbuilt_count, loader->unbuilt_count + 1,
                                     &loader->unbuilt_capacity, sizeof *loader->unbuilt);
        entry = &loader->unbuilt[loader->unbuilt_count++];
        entry->key = key;
    }
    entry->origin = loader_origin(loader, place);
    entry->active = active;
}

static bool is_asking(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_FALSE:
    case JSON_NULL:
        return false;
    case JSON_ARRAY:
        return json_array_size(value) > 0;
    case JSON_INTEGER:
        return json_integer_value(value) != 0;
    case JSON_REAL:
        return json_real_value(value) != 0;
    case JSON_STRING: {
        uint64_t bytes;
        return !(size_parse(json_slice(value), &bytes) && bytes == 0);
    }
    case JSON_OBJECT:
    case JSON_TRUE:
        break;
    }
    return true;
}

static bool is_list(const struct key *key)
{
    return key->type == KEY_PATHS || key->type == KEY_NAMES || key->type == KEY_FILES || key->type == KEY_HOSTS ||
           key->type == KEY_PORTS || key->type == KEY_TEXTS;
}

/* A value without a place of its own (offset 0) is only judged: whoever owns the
 * object reads it in its `apply`. */
static bool store(struct loader *loader, const struct key *key, const struct place *place, const json_t *value)
{
    struct slice text;
    int64_t number = 0;
    uint64_t bytes = 0;

    switch (key->type) {
    case KEY_BOOLEAN:
        if (!json_is_boolean(value))
            break;
        if (key->offset)
            *(bool *)field(loader, key->offset) = json_is_true(value);
        return true;
    case KEY_WORD:
        for (int i = 0; json_is_string(value) && key->words[i]; i++) {
            if (slice_is(json_slice(value), key->words[i])) {
                if (key->offset)
                    *(int *)field(loader, key->offset) = i + 1;
                return true;
            }
        }
        break;
    case KEY_INTEGER:
        if (!value_integer(value, key->least, key->most, &number))
            break;
        if (key->offset)
            *(uint64_t *)field(loader, key->offset) = (uint64_t)number;
        return true;
    case KEY_SIZE:
        if (value_integer(value, 0, SIZE_BYTES_MAX, &number))
            bytes = (uint64_t)number;
        else if (!json_is_string(value) || !size_parse(json_slice(value), &bytes))
            break;
        if (key->offset)
            *(uint64_t *)field(loader, key->offset) = bytes;
        return true;
    case KEY_TEXT: {
        if (!value_any_text(loader, place, value, allowed_text(loader->arena, key), key->flags & KEY_MAY_BE_EMPTY,
                            &text))
            return false;
        const char *wrong = key->check ? key->check(text) : NULL;
        if (wrong)
            loader_problem(loader, place, "found %s: %s", value_words(loader->arena, value), wrong);
        else if (key->offset)
            *(struct slice *)field(loader, key->offset) = text;
        return !wrong;
    }
    case KEY_MAP:
        if (!json_is_object(value))
            break;
        return true;
    case KEY_ANY:
        return true;
    case KEY_CODE:
        loader_problem(loader, place, "it is a function, which a file cannot hold: only the library takes it");
        return false;
    default:
        return true;
    }
    wrong_type(loader, key, place, value);
    return false;
}

static bool is_removal(const json_t *item)
{
    return json_is_string(item) && json_string_value(item)[0] == '!';
}

static bool objects_apply(struct loader *loader, const struct key *key, const struct place *place, const json_t *array)
{
    bool good = true;
    size_t count = json_array_size(array);

    if (count > LIST_ENTRIES_MAX) {
        loader_problem(loader, place, "found %zu entries; at most %d are allowed", count, LIST_ENTRIES_MAX);
        return false;
    }
    for (size_t i = 0; i < count && key->remove && !loader->problems_unsaid; i++) {
        const json_t *item = json_array_get(array, i);
        struct place here = {.parent = place, .index = i};
        struct slice text;
        if (is_removal(item) && removal_text(loader, &here, item, &text))
            key->remove(loader, key, &here, text);
    }
    for (size_t i = 0; i < count && !loader->problems_unsaid; i++) {
        const json_t *item = json_array_get(array, i);
        struct place here = {.parent = place, .index = i};
        if (key->remove && is_removal(item))
            continue;
        if (!json_is_object(item)) {
            loader_problem(loader, &here, "found %s; an object is expected", value_words(loader->arena, item));
            good = false;
        } else if (!walk(loader, key, key->children, &here, item)) {
            path_judge(loader, &here, item);
            good = false;
        } else if (key->apply) {
            key->apply(loader, key, &here, item);
        }
    }
    return good;
}

static bool value_apply(struct loader *loader, const struct key *key, const struct place *place, const json_t *value)
{
    bool good;

    if (key->type == KEY_EXTENDS)
        return true;
    if (loader->srt && !loader->extended && (key->flags & KEY_SRT_IGNORES)) {
        loader_warning(loader, place, "srt ignores %s on Linux", key->name);
        return true;
    }
    if ((key->type == KEY_OBJECT && !json_is_object(value)) ||
        ((is_list(key) || key->type == KEY_OBJECTS) && !json_is_array(value))) {
        wrong_type(loader, key, place, value);
        return false;
    }
    if (key->type == KEY_OBJECT)
        good = walk(loader, key, key->children, place, value);
    else if (key->type == KEY_OBJECTS)
        good = objects_apply(loader, key, place, value);
    else if (is_list(key))
        good = list_apply(loader, key, place, value);
    else
        good = store(loader, key, place, value);
    if (!good)
        return false;

    if (key->origin_offset)
        *(struct origin *)field(loader, key->origin_offset) = loader_origin(loader, place);
    if (key->no_effect && is_asking(value))
        loader_warning(loader, place, "%s has no effect: %s", key->name, key->no_effect);
    if (key->type == KEY_OBJECTS && key->apply)
        return true; /* each entry spoke for itself */
    if (key->unbuilt && (is_asking(value) || !is_list(key)))
        unbuilt_note(loader, key, place,
                     key->unbuilt_word ? slice_is(json_slice(value), key->unbuilt_word) : is_asking(value));
    if (key->apply)
        key->apply(loader, key, place, value);
    return true;
}

static bool walk(struct loader *loader, const struct key *owner, const struct key *table, const struct place *place,
                 const json_t *object)
{
    bool good = true;
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)object, name, value)
    {
        struct place here = {.parent = place, .name = name};
        const struct key *key = key_find(table, name);

        if (!key || (loader->srt && !loader->extended && !(key->flags & KEY_IN_SRT))) {
            unknown_key(loader, owner, table, &here);
            good = good && loader->srt;
        } else if (!value_apply(loader, key, &here, value)) {
            good = false;
        }
    }
    for (const struct key *key = table; key->name; key++) {
        if ((key->flags & KEY_REQUIRED) && !json_object_get(object, key->name)) {
            loader_problem(loader, place, "\"%s\" is missing: %s is expected", key->name,
                           allowed_text(loader->arena, key));
            good = false;
        }
    }
    return good;
}

bool object_check(struct loader *loader, const struct key *key, const struct place *place, const json_t *object)
{
    return walk(loader, key, key->children, place, object);
}

/* Room for all rules of the document at once, and for as many again: moving them
 * would touch twice the memory, and untouched memory is what a quick start is made
 * of. */
static void reserve_rules(struct policy *policy, const struct preset_list *lists, const json_t *root)
{
    struct path_rules *paths = &policy->paths;
    size_t more = json_array_size(json_object_get(root, "rules"));
    const char *name;
    json_t *list;

    json_object_foreach(json_object_get(root, "filesystem"), name, list)
    {
        more += json_array_size(list);
    }
    for (; lists && lists->section; lists++)
        more += lists->count;
    if (paths->count + more > paths->capacity)
        paths->items = arena_grow(policy->arena, paths->items, paths->count, paths->count + 2 * more, &paths->capacity,
                                  sizeof *paths->items);
}

static const struct key *key_of(const struct preset_list *list)
{
    if (!*list->section)
        return key_find(policy_keys, list->name);
    const struct key *section = key_find(policy_keys, list->section);
    return section ? key_find(section->children, list->name) : NULL;
}

/* Ours, and tested: there are no mistakes of spelling or type in it to be told. */
static bool compiled_apply(struct loader *loader, const struct preset_list *list)
{
    const struct key *key = key_of(list);

    if (key)
        return list_apply_compiled(loader, key, list);
    loader_problem(loader, NULL, "%s.%s is no list of a policy", list->section, list->name);
    return false;
}

bool document_apply(struct loader *loader, const struct preset_list *lists, const json_t *root)
{
    bool good = true;

    reserve_rules(loader->policy, lists, root);
    for (; lists && lists->section; lists++)
        good = compiled_apply(loader, lists) && good;
    return walk(loader, NULL, policy_keys, NULL, root) && good;
}
