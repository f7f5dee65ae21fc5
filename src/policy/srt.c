/* Is this a settings file that srt 0.0.83 would take, and if not, what would it
 * say? The file is walked along the tables of srt_schema.c, key by key in srt's
 * order. As in srt, a value of the wrong type ends the judgement of everything
 * around it ("broken"), while one of the right type that is not acceptable
 * ("blemished") does not: the rules of srt_rules.c, which span several keys, are
 * asked only where the types are right throughout.
 *
 * Where we part from srt on purpose: what json_parse refuses (duplicate keys,
 * numbers no machine holds, lone surrogates) never comes here. Keys of a map are
 * judged in the order of the file, where JavaScript puts whole numbers first. */
#include "policy/srt.h"

#include "base/json.h"
#include "policy/load.h"
#include "policy/srt_rules.h"
#include "policy/srt_schema.h"

#include <stdint.h>

enum verdict { SOUND, BLEMISHED, BROKEN };

/* Where in the file we are. A file that was parsed is at most as deep as the
 * tables, since nothing unknown is entered. */
struct place {
    const struct place *above;
    struct slice key; /* ptr NULL: `index` */
    size_t index;
};

struct check {
    const char *file;
    struct problems *problems;
    bool silent;   /* only the verdict is wanted */
    bool extended; /* srt_check_extended */
};

static void append_place(struct text *path, const struct place *place)
{
    if (!place)
        return;
    append_place(path, place->above);
    if (place->above)
        text_append_byte(path, '.');
    if (place->key.ptr)
        text_append_string(path, srt_shown(path->arena, place->key));
    else
        text_appendf(path, "%zu", place->index);
}

static void complain(const struct check *check, const struct place *place, const char *message)
{
    struct text path = text_in(check->problems->arena);

    if (check->silent)
        return;
    append_place(&path, place);
    problem_add(check->problems, check->file, path.len ? path.ptr : "(root)", "%s", message);
}

static enum verdict worse(enum verdict one, enum verdict other)
{
    return one > other ? one : other;
}

static const char *type_name(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "object";
    case JSON_ARRAY:
        return "array";
    case JSON_STRING:
        return "string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "boolean";
    default:
        return "null";
    }
}

static enum verdict wrong_type(const struct check *check, const struct place *place, const char *expected,
                               const json_t *value)
{
    complain(check, place,
             arena_printf(check->problems->arena, "Expected %s, received %s", expected, type_name(value)));
    return BROKEN;
}

/* Length as JavaScript counts it. The text is UTF-8: the parser saw to that. */
static size_t utf16_length(struct slice text)
{
    size_t length = 0;

    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        length += (byte & 0xc0) == 0x80 ? 0 : byte >= 0xf0 ? 2 : 1;
    }
    return length;
}

static enum verdict check_string(const struct check *check, const struct srt_schema *schema, const struct place *place,
                                 const json_t *value)
{
    struct arena *arena = check->problems->arena;
    enum verdict verdict = SOUND;

    if (!json_is_string(value))
        return wrong_type(check, place, "string", value);
    struct slice text = json_slice(value);
    size_t length = utf16_length(text);
    if (length < (size_t)schema->minimum) {
        complain(check, place,
                 schema->too_short
                     ? schema->too_short
                     : arena_printf(arena, "String must contain at least %d character(s)", schema->minimum));
        verdict = BLEMISHED;
    }
    if (schema->maximum && length > (size_t)schema->maximum) {
        complain(check, place, schema->too_long);
        verdict = BLEMISHED;
    }
    bool excepted = check->extended && schema->any_when_extended && slice_is(text, "*");
    const char *message = schema->judge_string && !excepted ? schema->judge_string(arena, text) : NULL;
    if (message) {
        complain(check, place, message);
        verdict = BLEMISHED;
    }
    return verdict;
}

/* Past 2^53 every double is a whole number. */
static bool is_fraction(double number)
{
    const double exact = 9007199254740992.0;

    return number > -exact && number < exact && (double)(int64_t)number != number;
}

static enum verdict check_integer(const struct check *check, const struct srt_schema *schema, const struct place *place,
                                  const json_t *value)
{
    struct arena *arena = check->problems->arena;
    enum verdict verdict = SOUND;

    if (!json_is_number(value))
        return wrong_type(check, place, "number", value);
    double number = json_number_value(value);
    if (is_fraction(number)) {
        complain(check, place, "Expected integer, received float");
        verdict = BLEMISHED;
    }
    if (schema->minimum && number < schema->minimum) {
        complain(check, place, arena_printf(arena, "Number must be greater than or equal to %d", schema->minimum));
        verdict = BLEMISHED;
    }
    if (schema->maximum && number > schema->maximum) {
        complain(check, place, arena_printf(arena, "Number must be less than or equal to %d", schema->maximum));
        verdict = BLEMISHED;
    }
    return verdict;
}

static enum verdict check_word(const struct check *check, const struct srt_schema *schema, const struct place *place,
                               const json_t *value)
{
    struct arena *arena = check->problems->arena;
    struct text choices = text_in(arena);

    for (size_t i = 0; schema->words[i]; i++) {
        if (json_is_string(value) && slice_is(json_slice(value), schema->words[i]))
            return SOUND;
        text_appendf(&choices, "%s'%s'", i ? " | " : "", schema->words[i]);
    }
    if (!json_is_string(value))
        return wrong_type(check, place, choices.ptr, value);
    complain(check, place,
             arena_printf(arena, "Invalid enum value. Expected %s, received '%s'", choices.ptr,
                          srt_shown(arena, json_slice(value))));
    return BROKEN;
}

static enum verdict check_value(const struct check *check, const struct srt_schema *schema, const struct place *place,
                                const json_t *value);

static enum verdict check_list(const struct check *check, const struct srt_schema *schema, const struct place *place,
                               const json_t *value)
{
    enum verdict verdict = SOUND;

    if (!json_is_array(value))
        return wrong_type(check, place, "array", value);
    if (json_array_size(value) < (size_t)schema->minimum) {
        complain(check, place,
                 arena_printf(check->problems->arena, "Array must contain at least %d element(s)", schema->minimum));
        verdict = BLEMISHED;
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        struct place item = {.above = place, .index = i};
        verdict = worse(verdict, check_value(check, schema->item, &item, json_array_get(value, i)));
    }
    return verdict;
}

static enum verdict check_pair(const struct check *check, const struct srt_schema *schema, const struct place *place,
                               const json_t *value)
{
    enum verdict verdict = SOUND;

    if (!json_is_array(value))
        return wrong_type(check, place, "array", value);
    if (json_array_size(value) < 2) {
        complain(check, place, "Array must contain at least 2 element(s)");
        return BROKEN;
    }
    if (json_array_size(value) > 2) {
        complain(check, place, "Array must contain at most 2 element(s)");
        verdict = BLEMISHED;
    }
    struct place first = {.above = place, .index = 0};
    struct place second = {.above = place, .index = 1};
    verdict = worse(verdict, check_value(check, schema->item, &first, json_array_get(value, 0)));
    return worse(verdict, check_value(check, schema->second, &second, json_array_get(value, 1)));
}

static enum verdict check_map(const struct check *check, const struct srt_schema *schema, const struct place *place,
                              const json_t *value)
{
    enum verdict verdict = SOUND;

    if (!json_is_object(value))
        return wrong_type(check, place, "object", value);
    for (void *at = json_object_iter((json_t *)value); at; at = json_object_iter_next((json_t *)value, at)) {
        struct place item = {.above = place, .key = {json_object_iter_key(at), json_object_iter_key_len(at)}};
        verdict = worse(verdict, check_value(check, schema->item, &item, json_object_iter_value(at)));
    }
    return verdict;
}

static bool is_known(const struct srt_key *keys, struct slice name)
{
    for (; keys->name; keys++)
        if (slice_is(name, keys->name))
            return true;
    return false;
}

static enum verdict check_unknown_keys(const struct check *check, const struct srt_schema *schema,
                                       const struct place *place, const json_t *value)
{
    struct text message = text_in(check->problems->arena);

    for (void *at = json_object_iter((json_t *)value); at; at = json_object_iter_next((json_t *)value, at)) {
        struct slice name = {json_object_iter_key(at), json_object_iter_key_len(at)};
        if (!is_known(schema->keys, name))
            text_appendf(&message, "%s'%s'",
                         message.len ? ", " : "Unrecognized key(s) in object: ", srt_shown(message.arena, name));
    }
    if (message.len == 0)
        return SOUND;
    complain(check, place, message.ptr);
    return BLEMISHED;
}

static enum verdict check_object(const struct check *check, const struct srt_schema *schema, const struct place *place,
                                 const json_t *value)
{
    enum verdict verdict = SOUND;

    if (!json_is_object(value))
        return wrong_type(check, place, "object", value);
    for (const struct srt_key *key = schema->keys; key->name; key++) {
        struct place item = {.above = place, .key = slice_of(key->name)};
        const json_t *found = json_object_get(value, key->name);
        if (found) {
            verdict = worse(verdict, check_value(check, key->schema, &item, found));
        } else if (key->required) {
            complain(check, &item, "Required");
            verdict = BROKEN;
        }
    }
    return schema->strict ? worse(verdict, check_unknown_keys(check, schema, place, value)) : verdict;
}

/* Of the two forms, the one that the value has tells what is wrong with it; a
 * value of neither form is told both. */
static enum verdict check_path_entry(const struct check *check, const struct srt_schema *schema,
                                     const struct place *place, const json_t *value)
{
    struct check quiet = *check;
    const struct srt_schema *form = json_is_string(value) ? schema->item : schema->second;

    quiet.silent = true;
    if (check_value(&quiet, form, place, value) != BROKEN &&
        (json_is_string(value) || json_is_true(json_object_get(value, "literal"))))
        return check_value(check, form, place, value);
    complain(check, place, "Expected a path, or { \"path\": \"<path>\", \"literal\": true }");
    return BROKEN;
}

static enum verdict check_form(const struct check *check, const struct srt_schema *schema, const struct place *place,
                               const json_t *value)
{
    switch (schema->kind) {
    case SRT_BOOLEAN:
        return json_is_boolean(value) ? SOUND : wrong_type(check, place, "boolean", value);
    case SRT_STRING:
        return check_string(check, schema, place, value);
    case SRT_INTEGER:
        return check_integer(check, schema, place, value);
    case SRT_WORD:
        return check_word(check, schema, place, value);
    case SRT_LIST:
        return check_list(check, schema, place, value);
    case SRT_PAIR:
        return check_pair(check, schema, place, value);
    case SRT_OBJECT:
        return check_object(check, schema, place, value);
    case SRT_MAP:
        return check_map(check, schema, place, value);
    case SRT_PATH_ENTRY:
        return check_path_entry(check, schema, place, value);
    case SRT_FUNCTION:
        complain(check, place, "filterRequest must be a function");
        return BROKEN;
    }
    return BROKEN;
}

static enum verdict check_value(const struct check *check, const struct srt_schema *schema, const struct place *place,
                                const json_t *value)
{
    enum verdict verdict = check_form(check, schema, place, value);
    const char *message = verdict != BROKEN && schema->judge ? schema->judge(value) : NULL;

    if (!message)
        return verdict;
    complain(check, place, message);
    return BLEMISHED;
}

static void check_settings(const struct check *check, const json_t *root)
{
    struct problems *problems = check->problems;
    const char *file = check->file;
    size_t before = problems->errors;

    if (check_value(check, &srt_settings, NULL, root) != BROKEN)
        srt_check_rules(root, file, problems);
    if (problems->errors > before)
        return;
    const json_t *network = json_object_get(root, "network");
    if (json_object_get(network, "tlsTerminate") && json_object_get(network, "mitmProxy"))
        problem_add(problems, file, "network", "%s", SRT_EXCLUSIVE);
}

void srt_check(const struct json_t *root, const char *file, struct problems *problems)
{
    check_settings(&(struct check){.file = file, .problems = problems}, root);
}

void srt_check_extended(const struct json_t *root, const char *file, struct problems *problems)
{
    check_settings(&(struct check){.file = file, .problems = problems, .extended = true}, root);
}

static void print_refusal(struct text *out, const char *lost)
{
    text_appendf(out, "Refusing to run with the built-in defaults, which would drop %s.\n", lost);
}

void srt_print_problems(const struct problems *problems, struct text *out)
{
    static const char rules[] = "this file's rules (its denyRead, allowRead and credential entries included)";
    const char *open = NULL; /* the file whose list of problems is being printed */

    for (size_t i = 0; i < problems->count; i++) {
        const struct problem *problem = &problems->items[i];
        if (problem->warning)
            continue;
        if (open && strcmp(open, problem->file) == 0) {
            text_appendf(out, "; %s: %s", problem->path, problem->text);
            continue;
        }
        if (open) {
            text_append_byte(out, '\n');
            print_refusal(out, rules);
            open = NULL;
        }
        if (strcmp(problem->text, SRT_EXCLUSIVE) == 0) {
            text_appendf(out, "Error: %s\n", problem->text);
        } else if (problem->path[0] == '\0') {
            text_appendf(out, "Error: %s %s\n", problem->file, problem->text);
            print_refusal(out, strcmp(problem->text, SRT_MISSING) == 0 ? "the rules --settings asked for" : rules);
        } else {
            text_appendf(out, "Error: %s does not hold a valid config — %s: %s", problem->file, problem->path,
                         problem->text);
            open = problem->file;
        }
    }
    if (open) {
        text_append_byte(out, '\n');
        print_refusal(out, rules);
    }
}
