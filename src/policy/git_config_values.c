/* What the values of safe keys look like. Each is narrower than what git takes:
 * git reads a path, a transport with a program of its own (ext::) or an option of
 * ssh out of what begins or looks like one. */
#include "policy/git_config_table.h"

enum { TEXT_MAX = 256, NAME_MAX_LENGTH = 1024, URL_MAX = 2048, PORT_DIGITS_MAX = 5 };

static bool is_one_of(struct slice value, const char *const *words)
{
    for (size_t i = 0; words[i]; i++) {
        if (slice_equal_ignoring_case(value, slice_of(words[i])))
            return true;
    }
    return false;
}

bool git_value_is_boolean(struct slice value)
{
    static const char *const words[] = {"true", "false", "yes", "no", "on", "off", "1", "0", NULL};

    return is_one_of(value, words);
}

bool git_value_is_format_version(struct slice value)
{
    return slice_is(value, "0") || slice_is(value, "1");
}

bool git_value_is_reflog_choice(struct slice value)
{
    return git_value_is_boolean(value) || slice_is(value, "always");
}

bool git_value_is_rebase_choice(struct slice value)
{
    return git_value_is_boolean(value) || slice_is(value, "merges") || slice_is(value, "interactive");
}

bool git_value_is_forward_choice(struct slice value)
{
    return git_value_is_boolean(value) || slice_is(value, "only");
}

bool git_value_is_push_choice(struct slice value)
{
    static const char *const words[] = {"nothing", "current", "upstream", "tracking", "simple", "matching", NULL};

    return is_one_of(value, words);
}

static bool has_control(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.ptr[i] < 0x20 || text.ptr[i] == 0x7f)
            return true;
    }
    return false;
}

bool git_value_is_text(struct slice value)
{
    return value.len > 0 && value.len <= TEXT_MAX && !has_control(value);
}

static bool has(struct slice text, const char *part)
{
    return text.ptr && memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

static bool has_any(struct slice text, const char *bytes)
{
    for (size_t i = 0; i < text.len; i++) {
        if (strchr(bytes, text.ptr[i]))
            return true;
    }
    return false;
}

/* As git-check-ref-format(1) has it for one or more components. */
static bool is_reference(struct slice name)
{
    if (!name.len || name.len > NAME_MAX_LENGTH || has_control(name) || has_any(name, " ~^:?[\\"))
        return false;
    if (name.ptr[0] == '-' || name.ptr[0] == '/' || name.ptr[0] == '.' || has(name, "..") || has(name, "//") ||
        has(name, "/.") || has(name, "@{") || has(name, ".lock/"))
        return false;
    return name.ptr[name.len - 1] != '/' && name.ptr[name.len - 1] != '.' && !slice_ends(name, SLICE(".lock"));
}

bool git_name_is_plain(struct slice name)
{
    return is_reference(name) && !has_any(name, "*\"");
}

/* Remotes and submodules have no files that are called so: whoever lists them finds
 * them here alone, and shells do that to complete words. */
bool git_name_is_word(struct slice name)
{
    return git_name_is_plain(name) && !has_any(name, "$`(){}<>|&;'!#");
}

bool git_value_is_remote(struct slice value)
{
    return slice_is(value, ".") || git_name_is_word(value);
}

bool git_value_is_branch(struct slice value)
{
    return slice_starts(value, SLICE("refs/")) && is_reference(value) && !has_any(value, "*");
}

static size_t stars(struct slice text)
{
    size_t count = 0;

    for (size_t i = 0; i < text.len; i++)
        count += text.ptr[i] == '*';
    return count;
}

/* Into branches that are followed, or tags: what is fetched becomes neither a branch
 * of the user's own nor a replacement of objects (refs/replace). */
bool git_value_is_refspec(struct slice value)
{
    if (value.len && value.ptr[0] == '^') {
        struct slice left_out = slice_from(value, 1);
        return slice_starts(left_out, SLICE("refs/")) && is_reference(left_out) && stars(left_out) <= 1;
    }
    if (value.len && value.ptr[0] == '+')
        value = slice_from(value, 1);
    struct slice from = {value.ptr, slice_find(value, ':')};
    if (from.len == value.len)
        return false;
    struct slice to = slice_from(value, from.len + 1);
    return slice_starts(from, SLICE("refs/")) && is_reference(from) && is_reference(to) &&
           (slice_starts(to, SLICE("refs/remotes/")) || slice_starts(to, SLICE("refs/tags/"))) && stars(from) <= 1 &&
           stars(from) == stars(to);
}

static bool is_alphanumeric(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
}

static bool consists_of(struct slice text, const char *also)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\0' || (!is_alphanumeric(text.ptr[i]) && !strchr(also, text.ptr[i])))
            return false;
    }
    return true;
}

/* With colons and dots: an address. */
static bool is_hexadecimal(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\0' || !strchr("0123456789abcdefABCDEF:.", text.ptr[i]))
            return false;
    }
    return true;
}

static bool is_host(struct slice host)
{
    if (host.len > 2 && host.ptr[0] == '[')
        return host.ptr[host.len - 1] == ']' && is_hexadecimal((struct slice){host.ptr + 1, host.len - 2});
    /* A hyphen at the front would be an option of ssh. */
    return host.len && is_alphanumeric(host.ptr[0]) && consists_of(host, ".-_");
}

static bool is_user(struct slice user, const char *also)
{
    return user.len && user.ptr[0] != '-' && consists_of(user, also);
}

/* host, host:port, [v6]:port */
static bool is_host_with_port(struct slice text)
{
    size_t closed = text.len && text.ptr[0] == '[' ? slice_find(text, ']') : 0;
    size_t colon = closed == text.len ? text.len : closed + slice_find(slice_from(text, closed), ':');

    if (colon == text.len)
        return is_host(text);
    struct slice port = slice_from(text, colon + 1);
    for (size_t i = 0; i < port.len; i++) {
        if (port.ptr[i] < '0' || port.ptr[i] > '9')
            return false;
    }
    return port.len > 0 && port.len <= PORT_DIGITS_MAX && is_host((struct slice){text.ptr, colon});
}

/* Control characters in disguise: git writes a decoded user to the terminal when it
 * asks for a password, and to whoever keeps passwords, line by line. */
static bool has_escaped_control(struct slice text)
{
    for (size_t i = 0; i + 2 < text.len; i++) {
        char high = text.ptr[i + 1];
        if (text.ptr[i] == '%' && (high == '0' || high == '1' || (high == '7' && strchr("fF", text.ptr[i + 2]))))
            return true;
    }
    return false;
}

static const char *const ssh_path = "/._~-+=,@:";

/* scheme://[user@]host[:port]/path; only http has escapes, which git leaves to curl. */
static bool is_url_of(struct slice value, struct slice scheme, bool has_escapes)
{
    if (!slice_starts(value, scheme) || has_escaped_control(value))
        return false;
    value = slice_from(value, scheme.len);
    struct slice authority = {value.ptr, slice_find(value, '/')};
    struct slice path = slice_from(value, authority.len);
    size_t at = slice_find(authority, '@');
    if (at < authority.len) {
        if (!is_user((struct slice){authority.ptr, at}, has_escapes ? "._~-+=:%!$&*,;" : "._-+"))
            return false;
        authority = slice_from(authority, at + 1);
    }
    if (path.len <= 1 || has(path, "/..") || !is_host_with_port(authority))
        return false;
    return consists_of(path, has_escapes ? "%/._~-+=,@:!()&$;?#*" : ssh_path);
}

/* user@host:path, which goes to ssh. */
static bool is_short_ssh(struct slice value)
{
    size_t at = slice_find(value, '@');
    size_t colon = slice_find(value, ':');

    if (at == value.len || colon == value.len || colon < at)
        return false;
    struct slice path = slice_from(value, colon + 1);
    return is_user((struct slice){value.ptr, at}, "._-+") &&
           is_host((struct slice){value.ptr + at + 1, colon - at - 1}) && path.len && path.ptr[0] != '-' &&
           path.ptr[0] != ':' && !has(path, "..") && consists_of(path, ssh_path);
}

bool git_value_is_url(struct slice value)
{
    if (value.len > URL_MAX)
        return false;
    return is_url_of(value, SLICE("https://"), true) || is_url_of(value, SLICE("http://"), true) ||
           is_url_of(value, SLICE("ssh://"), false) || is_url_of(value, SLICE("git://"), false) || is_short_ssh(value);
}
