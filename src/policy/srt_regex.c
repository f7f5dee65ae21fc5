/* The syntax of JavaScript regular expressions without flags, which forgives
 * much: only unclosed groups and classes, quantifiers with nothing before them,
 * ranges in the wrong order, odd groups and names, and a lone backslash at the
 * end are errors. Patterns are judged by UTF-16 units, as the engine does.
 *
 * One deviation: in group names every character past ASCII counts as a letter. */
#include "policy/srt_regex.h"

#include <stdint.h>

enum { END = -1, GROUPS_MAX = 65535, NESTING_MAX = 10000 };

struct name {
    const uint16_t *units;
    size_t length;
};

struct pattern_text {
    struct arena *arena;
    uint16_t *units;
    size_t count;
    size_t at;
    const char *problem;
    size_t groups;
    bool has_names; /* somewhere in the pattern; makes \k a reference */
    struct name *names;
    size_t name_count, name_capacity;
    struct name *references;
    size_t reference_count, reference_capacity;
};

/* Valid UTF-8 in, UTF-16 out: the parser of the file refused anything else. */
static void to_units(struct pattern_text *text, struct slice utf8)
{
    text->units = arena_alloc(text->arena, (utf8.len + 1) * sizeof(*text->units));
    for (size_t i = 0; i < utf8.len;) {
        unsigned char first = (unsigned char)utf8.ptr[i];
        size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
        uint32_t code = length == 1 ? first : first & (0xffU >> (length + 1));
        for (size_t k = 1; k < length && i + k < utf8.len; k++)
            code = code << 6 | ((unsigned char)utf8.ptr[i + k] & 0x3fU);
        i += length;
        if (code >= 0x10000) {
            text->units[text->count++] = (uint16_t)(0xd7c0 + (code >> 10));
            text->units[text->count++] = (uint16_t)(0xdc00 | (code & 0x3ff));
        } else {
            text->units[text->count++] = (uint16_t)code;
        }
    }
}

static int peek(const struct pattern_text *text, size_t ahead)
{
    return text->at + ahead < text->count ? text->units[text->at + ahead] : END;
}

static bool fail(struct pattern_text *text, const char *problem)
{
    text->problem = problem;
    return false;
}

static bool is_digit(int unit)
{
    return unit >= '0' && unit <= '9';
}

static int hex_value(int unit)
{
    if (is_digit(unit))
        return unit - '0';
    if (unit >= 'a' && unit <= 'f')
        return unit - 'a' + 10;
    if (unit >= 'A' && unit <= 'F')
        return unit - 'A' + 10;
    return -1;
}

static bool is_letter(int unit)
{
    return (unit >= 'a' && unit <= 'z') || (unit >= 'A' && unit <= 'Z');
}

/* Is there a named group anywhere? Asked before parsing, since it changes what
 * \k means. */
static bool scan_for_names(const struct pattern_text *text)
{
    bool in_class = false;

    for (size_t i = 0; i < text->count; i++) {
        struct pattern_text rest = {.units = text->units, .count = text->count, .at = i};
        int unit = peek(&rest, 0);
        if (unit == '\\')
            i++;
        else if (unit == '[')
            in_class = true;
        else if (unit == ']')
            in_class = false;
        else if (!in_class && unit == '(' && peek(&rest, 1) == '?' && peek(&rest, 2) == '<' && peek(&rest, 3) != '=' &&
                 peek(&rest, 3) != '!')
            return true;
    }
    return false;
}

/* {n}, {n,} or {n,m}. Anything else is ordinary text and nothing is taken. */
static bool take_interval(struct pattern_text *text, bool *ordered)
{
    size_t at = text->at + 1;
    uint64_t bounds[2] = {0, INT32_MAX};

    for (int i = 0; i < 2; i++) {
        size_t start = at;
        uint64_t value = 0;
        for (; at < text->count && is_digit(text->units[at]); at++) {
            value = value * 10 + (uint64_t)(text->units[at] - '0');
            if (value > INT32_MAX)
                value = INT32_MAX;
        }
        if (at > start)
            bounds[i] = value;
        else if (i == 0)
            return false;
        if (at == text->count)
            return false;
        if (text->units[at] == '}') {
            *ordered = (i == 0) || bounds[1] >= bounds[0];
            text->at = at + 1;
            return true;
        }
        if (i == 1 || text->units[at] != ',')
            return false;
        at++;
    }
    return false;
}

static bool take_quantifier(struct pattern_text *text)
{
    int unit = peek(text, 0);
    bool ordered = true;

    if (unit == '*' || unit == '+' || unit == '?')
        text->at++;
    else if (unit != '{' || !take_interval(text, &ordered))
        return true;
    if (!ordered)
        return fail(text, "numbers out of order in {} quantifier");
    if (peek(text, 0) == '?')
        text->at++;
    return true;
}

/* \uXXXX or \u{...}, `at` on the backslash; -1 if it is neither. */
static int take_name_escape(struct pattern_text *text)
{
    int value = 0;

    text->at += 2;
    if (peek(text, 0) == '{') {
        for (text->at++; hex_value(peek(text, 0)) >= 0 && value <= 0x10ffff; text->at++)
            value = value * 16 + hex_value(peek(text, 0));
        if (peek(text, 0) != '}' || value > 0x10ffff)
            return -1;
        text->at++;
        return value;
    }
    for (int i = 0; i < 4; i++, text->at++) {
        if (hex_value(peek(text, 0)) < 0)
            return -1;
        value = value * 16 + hex_value(peek(text, 0));
    }
    return value;
}

/* name> */
static bool take_name(struct pattern_text *text, struct name *name)
{
    size_t end = text->at;
    size_t length = 0;

    while (end < text->count && text->units[end] != '>')
        end++;
    uint16_t *units = arena_alloc(text->arena, (end - text->at + 1) * sizeof(*units));
    for (;;) {
        int unit = peek(text, 0);
        if (unit == '>' && length > 0) {
            text->at++;
            *name = (struct name){units, length};
            return true;
        }
        if (unit == '\\' && peek(text, 1) == 'u') {
            unit = take_name_escape(text);
            if (unit < 0)
                return fail(text, "Invalid Unicode escape");
        } else {
            text->at++;
        }
        bool good = is_letter(unit) || unit == '_' || unit == '$' || unit >= 0x80 || (length > 0 && is_digit(unit));
        if (!good)
            return fail(text, "Invalid capture group name");
        units[length++] = (uint16_t)unit;
    }
}

static bool is_same(struct name one, struct name other)
{
    return one.length == other.length && memcmp(one.units, other.units, one.length * sizeof(*one.units)) == 0;
}

static bool is_named(const struct pattern_text *text, struct name name)
{
    for (size_t i = 0; i < text->name_count; i++)
        if (is_same(text->names[i], name))
            return true;
    return false;
}

/* An escape outside a class; `at` on the backslash. `*atom` says whether a
 * quantifier may follow. */
static bool take_escape(struct pattern_text *text, bool *atom)
{
    int unit = peek(text, 1);

    text->at += 2;
    *atom = unit != 'b' && unit != 'B';
    if (unit == END)
        return fail(text, "\\ at end of pattern");
    if (unit == 'k' && text->has_names) {
        struct name name;
        if (peek(text, 0) != '<')
            return fail(text, "Invalid named reference");
        text->at++;
        if (!take_name(text, &name))
            return false;
        text->references = arena_grow(text->arena, text->references, text->reference_count, text->reference_count + 1,
                                      &text->reference_capacity, sizeof(*text->references));
        text->references[text->reference_count++] = name;
    }
    return true;
}

/* Octal digits of a class escape, the first already taken. */
static int take_octal(struct pattern_text *text, int value)
{
    for (int i = 0; i < 2; i++) {
        int unit = peek(text, 0);
        if (unit < '0' || unit > '7' || value * 8 + (unit - '0') > 255)
            break;
        value = value * 8 + (unit - '0');
        text->at++;
    }
    return value;
}

/* Exactly `digits` hexadecimal digits, or the letter itself. */
static int take_hex(struct pattern_text *text, int digits, int letter)
{
    int value = 0;

    for (int i = 0; i < digits; i++) {
        if (hex_value(peek(text, (size_t)i)) < 0)
            return letter;
        value = value * 16 + hex_value(peek(text, (size_t)i));
    }
    text->at += (size_t)digits;
    return value;
}

/* \d and its like are sets, not characters: they make no range. */
static bool is_set_escape(int unit)
{
    return unit == 'd' || unit == 'D' || unit == 's' || unit == 'S' || unit == 'w' || unit == 'W';
}

static bool take_class_escape(struct pattern_text *text, int *value, bool *is_set)
{
    int unit = peek(text, 1);

    if (unit == END)
        return fail(text, "\\ at end of pattern");
    text->at += 2;
    *value = unit;
    *is_set = is_set_escape(unit);
    if (unit == 'b')
        *value = '\b';
    else if (unit == 'f')
        *value = '\f';
    else if (unit == 'n')
        *value = '\n';
    else if (unit == 'r')
        *value = '\r';
    else if (unit == 't')
        *value = '\t';
    else if (unit == 'v')
        *value = '\v';
    else if (unit >= '0' && unit <= '7')
        *value = take_octal(text, unit - '0');
    else if (unit == 'x')
        *value = take_hex(text, 2, unit);
    else if (unit == 'u')
        *value = take_hex(text, 4, unit);
    else if (unit == 'k' && text->has_names)
        return fail(text, "Invalid escape");
    else if (unit == 'c') {
        int control = peek(text, 0);
        if (is_letter(control) || is_digit(control) || control == '_') {
            *value = control & 0x1f;
            text->at++;
        } else {
            *value = '\\';
            text->at--; /* the c is a character of its own */
        }
    }
    return true;
}

static bool take_class_atom(struct pattern_text *text, int *value, bool *is_set)
{
    *is_set = false;
    if (peek(text, 0) == '\\')
        return take_class_escape(text, value, is_set);
    *value = peek(text, 0);
    text->at++;
    return true;
}

static bool take_class(struct pattern_text *text)
{
    text->at++;
    if (peek(text, 0) == '^')
        text->at++;
    while (peek(text, 0) != END && peek(text, 0) != ']') {
        int low = 0;
        int high = 0;
        bool low_set = false;
        bool high_set = false;

        if (!take_class_atom(text, &low, &low_set))
            return false;
        if (peek(text, 0) != '-')
            continue;
        text->at++;
        if (peek(text, 0) == END || peek(text, 0) == ']')
            break;
        if (!take_class_atom(text, &high, &high_set))
            return false;
        if (!low_set && !high_set && low > high)
            return fail(text, "Range out of order in character class");
    }
    if (peek(text, 0) == END)
        return fail(text, "Unterminated character class");
    text->at++;
    return true;
}

enum group_kind { CAPTURE, PLAIN, LOOKAHEAD, LOOKBEHIND };

struct group {
    enum group_kind kind;
    struct name name; /* length 0: none */
};

static bool take_group_open(struct pattern_text *text, struct group *group)
{
    bool named = false;

    *group = (struct group){.kind = CAPTURE};
    text->at++;
    if (peek(text, 0) == '?') {
        int unit = peek(text, 1);
        int next = peek(text, 2);
        if (unit == ':')
            group->kind = PLAIN;
        else if (unit == '=' || unit == '!')
            group->kind = LOOKAHEAD;
        else if (unit == '<' && (next == '=' || next == '!'))
            group->kind = LOOKBEHIND;
        else if (unit != '<')
            return fail(text, "Invalid group");
        named = group->kind == CAPTURE;
        text->at += group->kind == LOOKBEHIND ? 3 : 2;
    }
    if (group->kind != CAPTURE)
        return true;
    if (text->groups == GROUPS_MAX)
        return fail(text, "Too many captures");
    text->groups++;
    return !named || take_name(text, &group->name);
}

/* A name counts from where its group ends. */
static bool take_group_close(struct pattern_text *text, const struct group *group)
{
    text->at++;
    if (group->name.length == 0)
        return true;
    if (is_named(text, group->name))
        return fail(text, "Duplicate capture group name");
    text->names = arena_grow(text->arena, text->names, text->name_count, text->name_count + 1, &text->name_capacity,
                             sizeof(*text->names));
    text->names[text->name_count++] = group->name;
    return true;
}

/* One atom or mark of the pattern. `*quantifiable`: a quantifier may follow. */
static bool take_term(struct pattern_text *text, bool *quantifiable)
{
    bool ordered;

    *quantifiable = true;
    switch (peek(text, 0)) {
    case '*':
    case '+':
    case '?':
        return fail(text, "Nothing to repeat");
    case '{':
        if (take_interval(text, &ordered))
            return fail(text, "Nothing to repeat");
        text->at++;
        return true;
    case '|':
    case '^':
    case '$':
        *quantifiable = false;
        text->at++;
        return true;
    case '[':
        return take_class(text);
    case '\\':
        return take_escape(text, quantifiable);
    default:
        text->at++;
        return true;
    }
}

static bool parse(struct pattern_text *text)
{
    struct group *open = NULL;
    size_t depth = 0;
    size_t capacity = 0;

    while (peek(text, 0) != END) {
        bool quantifiable = true;
        bool lookbehind = false;

        if (peek(text, 0) == '(') {
            if (depth == NESTING_MAX)
                return fail(text, "Regular expression too large");
            open = arena_grow(text->arena, open, depth, depth + 1, &capacity, sizeof(*open));
            if (!take_group_open(text, &open[depth++]))
                return false;
            continue;
        }
        if (peek(text, 0) == ')') {
            if (depth == 0)
                return fail(text, "Unmatched ')'");
            lookbehind = open[--depth].kind == LOOKBEHIND;
            if (!take_group_close(text, &open[depth]))
                return false;
        } else if (!take_term(text, &quantifiable)) {
            return false;
        }
        size_t behind = text->at;
        if (quantifiable && !take_quantifier(text))
            return false;
        if (lookbehind && text->at > behind)
            return fail(text, "Invalid quantifier");
    }
    return depth == 0 || fail(text, "Unterminated group");
}

const char *srt_regex_check(struct arena *arena, struct slice pattern, size_t *groups)
{
    struct pattern_text text = {.arena = arena};

    to_units(&text, pattern);
    text.has_names = scan_for_names(&text);
    if (!parse(&text))
        return text.problem;
    for (size_t i = 0; i < text.reference_count; i++)
        if (!is_named(&text, text.references[i]))
            return "Invalid named capture referenced";
    *groups = text.groups;
    return NULL;
}
