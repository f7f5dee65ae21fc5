/* Git's index: a header, entries, extensions, a checksum (git's own
 * Documentation/gitformat-index). Read once from the front to the end, with every
 * length checked against what is left.
 *
 * The checksum is not looked at, for git does not look at it either. Git may read
 * entries from places that the extensions EOIE and IEOT name: these must be the places
 * where they are. A split index takes names from a second file: refused.
 *
 * What may go wrong: a name that git reads otherwise than it is read here. So whatever
 * git writes in one way only is taken in that way only. */
#include "policy/git_index.h"

#include <stdint.h>

enum {
    HEADER_LENGTH = 12,
    STATUS_LENGTH = 40,
    MODE_AT = 24,
    MODE_TYPE = 0170000,
    MODE_DIRECTORY = 0040000,
    FLAG_EXTENDED = 0x4000,
    FLAGS_LENGTH_MASK = 0x0fff,
    FLAGS_EXTENDED_KNOWN = 0x6000, /* skip-worktree, intent-to-add */
    EXTENSION_HEADER_LENGTH = 8,
    VARINT_BYTES_MAX = 4,
    SEEN_MAX = 8
};

struct reader {
    struct slice content; /* without the checksum */
    size_t at;
    size_t hash_length;
    uint32_t version;
    uint32_t count;
    size_t entries_end;
    size_t last_extension;
    size_t kept; /* of the name before, in the last entry */
    bool is_directory;
    struct git_index_verdict *verdict; /* holds the name of the last entry */
};

static bool refuse(const struct reader *reader, const char *words)
{
    reader->verdict->refused = words;
    return false;
}

static bool refuse_whole(const struct reader *reader, const char *words)
{
    reader->verdict->length = 0;
    return refuse(reader, words);
}

static bool refuse_broken(const struct reader *reader)
{
    return refuse_whole(reader, "it is not an index as git writes it");
}

static bool refuse_split(const struct reader *reader)
{
    return refuse_whole(reader, "it is split: `git update-index --no-split-index` outside makes it whole");
}

static uint32_t number_at(struct slice content, size_t at)
{
    const unsigned char *bytes = (const unsigned char *)content.ptr + at;

    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static uint32_t half_at(struct slice content, size_t at)
{
    const unsigned char *bytes = (const unsigned char *)content.ptr + at;

    return (uint32_t)bytes[0] << 8 | bytes[1];
}

static bool has(const struct reader *reader, size_t length)
{
    return reader->content.len - reader->at >= length;
}

/* Code points that some file systems of Apple's do not see in a name: all of them have
 * three bytes. */
static bool is_unseen(struct slice text)
{
    const unsigned char *bytes = (const unsigned char *)text.ptr;

    if (text.len < 3)
        return false;
    if (bytes[0] == 0xef)
        return bytes[1] == 0xbb && bytes[2] == 0xbf;
    if (bytes[0] != 0xe2)
        return false;
    if (bytes[1] == 0x80)
        return (bytes[2] >= 0x8c && bytes[2] <= 0x8f) || (bytes[2] >= 0xaa && bytes[2] <= 0xae);
    return bytes[1] == 0x81 && bytes[2] >= 0xaa && bytes[2] <= 0xaf;
}

static bool is_git_to_apple(struct slice component)
{
    char seen[SEEN_MAX];
    size_t length = 0;

    while (component.len) {
        if (is_unseen(component)) {
            component = slice_from(component, 3);
            continue;
        }
        if (length == sizeof seen)
            return false;
        seen[length++] = component.ptr[0];
        component = slice_from(component, 1);
    }
    return slice_equal_ignoring_case((struct slice){seen, length}, SLICE(".git"));
}

static bool starts_ignoring_case(struct slice text, struct slice prefix)
{
    return text.len >= prefix.len && slice_equal_ignoring_case((struct slice){text.ptr, prefix.len}, prefix);
}

/* Dots and spaces at the end do not count there, nor what follows a colon; and there is a short name. */
static bool is_git_to_windows(struct slice component)
{
    size_t length = 0;

    if (starts_ignoring_case(component, SLICE(".git")))
        length = 4;
    else if (starts_ignoring_case(component, SLICE("git~1")))
        length = 5;
    else
        return false;
    while (length < component.len && (component.ptr[length] == '.' || component.ptr[length] == ' '))
        length++;
    return length == component.len || component.ptr[length] == ':' || component.ptr[length] == '\\';
}

static bool is_safe_component(struct slice component)
{
    if (component.len == 0 || slice_is(component, ".") || slice_is(component, "..") || is_git_to_apple(component) ||
        is_git_to_windows(component))
        return false;
    for (size_t i = 0; i < component.len; i++) {
        if (component.ptr[i] == '\\' && is_git_to_windows(slice_from(component, i + 1)))
            return false;
    }
    return true;
}

bool git_index_name_is_safe(struct slice name, bool is_directory)
{
    if (is_directory && name.len && name.ptr[name.len - 1] == '/')
        name.len--;
    for (;;) {
        size_t length = slice_find(name, '/');
        if (!is_safe_component((struct slice){name.ptr, length}))
            return false;
        if (length == name.len)
            return true;
        name = slice_from(name, length + 1);
    }
}

/* How many bytes of the name before fall away: version 4. */
static bool read_varint(struct reader *reader, size_t *value)
{
    *value = 0;
    for (size_t i = 0; i < VARINT_BYTES_MAX && has(reader, 1); i++) {
        unsigned char byte = (unsigned char)reader->content.ptr[reader->at++];
        *value = (*value << 7) + (byte & 0x7f);
        if (!(byte & 0x80))
            return true;
        *value += 1;
    }
    return false;
}

static bool read_name(struct reader *reader, size_t stated)
{
    struct git_index_verdict *verdict = reader->verdict;
    size_t dropped = verdict->length;

    if (reader->version == 4 && (!read_varint(reader, &dropped) || dropped > verdict->length))
        return refuse_broken(reader);
    reader->kept = verdict->length - dropped;
    struct slice rest = slice_from(reader->content, reader->at);
    size_t length = slice_find(rest, '\0');
    if (length == rest.len)
        return refuse_broken(reader);
    if (reader->kept + length > GIT_INDEX_NAME_MAX)
        return refuse_whole(reader, "a name in it is longer than any path can be");
    memcpy(verdict->name + reader->kept, rest.ptr, length);
    verdict->length = reader->kept + length;
    reader->at += length;
    /* A length that is too long for its field is not stated. */
    if (stated != (verdict->length < FLAGS_LENGTH_MASK ? verdict->length : FLAGS_LENGTH_MASK))
        return refuse_broken(reader);
    return true;
}

/* One to eight NULs behind the name, up to a multiple of eight; one in version 4. */
static bool skip_padding(struct reader *reader, size_t start)
{
    size_t padding = reader->version == 4 ? 1 : 8 - (reader->at - start) % 8;

    if (!has(reader, padding))
        return refuse_broken(reader);
    for (size_t i = 0; i < padding; i++) {
        if (reader->content.ptr[reader->at++] != '\0')
            return refuse_broken(reader);
    }
    return true;
}

static bool read_entry(struct reader *reader)
{
    size_t start = reader->at;
    size_t fixed = STATUS_LENGTH + reader->hash_length + 2;

    if (!has(reader, fixed + 2))
        return refuse_broken(reader);
    uint32_t mode = number_at(reader->content, start + MODE_AT);
    uint32_t flags = half_at(reader->content, start + fixed - 2);
    reader->is_directory = (mode & MODE_TYPE) == MODE_DIRECTORY;
    reader->at += fixed;
    if (flags & FLAG_EXTENDED) {
        if (reader->version < 3 || half_at(reader->content, reader->at) & ~(uint32_t)FLAGS_EXTENDED_KNOWN)
            return refuse_broken(reader);
        reader->at += 2;
    }
    return read_name(reader, flags & FLAGS_LENGTH_MASK) && skip_padding(reader, start);
}

static bool judge_entries(struct reader *reader)
{
    for (uint32_t i = 0; i < reader->count; i++) {
        if (!read_entry(reader))
            return false;
        if (reader->verdict->length == 0)
            return refuse_split(reader); /* its name is in the other part */
        if (!git_index_name_is_safe((struct slice){reader->verdict->name, reader->verdict->length},
                                    reader->is_directory))
            return refuse(reader,
                          "git would write to it, or read it, outside of the work tree or in its own directory");
    }
    reader->entries_end = reader->at;
    return true;
}

/* Where blocks of entries begin, for several threads to read: "version, then offset and
 * count of each". The first entry of a block keeps nothing of the one before. */
static bool check_blocks(const struct reader *reader, struct slice table)
{
    struct reader again = *reader;
    uint32_t count = 0;

    if (table.len < 4 || table.len % 8 != 4 || number_at(table, 0) != 1)
        return refuse_broken(reader);
    again.at = HEADER_LENGTH;
    again.verdict->length = 0;
    for (size_t at = 4; at < table.len; at += 8) {
        uint32_t entries = number_at(table, at + 4);
        if (number_at(table, at) != again.at || entries == 0 || entries > reader->count - count)
            return refuse_broken(reader);
        for (uint32_t i = 0; i < entries; i++) {
            if (!read_entry(&again))
                return false;
            if (i == 0 && reader->version == 4 && again.kept)
                return refuse_broken(reader);
        }
        count += entries;
    }
    return count == reader->count || refuse_broken(reader);
}

static bool judge_extension(const struct reader *reader, struct slice name, struct slice data)
{
    if (slice_is(name, "link"))
        return refuse_split(reader);
    if (slice_is(name, "IEOT"))
        return check_blocks(reader, data);
    if (slice_is(name, "EOIE"))
        return (data.len == 4 + reader->hash_length && number_at(data, 0) == reader->entries_end) ||
               refuse_broken(reader);
    if (slice_is(name, "sdir") || (name.ptr[0] >= 'A' && name.ptr[0] <= 'Z'))
        return true;
    return refuse_whole(reader, "it has an extension that cloche does not know");
}

static bool judge_extensions(struct reader *reader)
{
    size_t table_count = 0;

    while (reader->at < reader->content.len) {
        if (!has(reader, EXTENSION_HEADER_LENGTH))
            return refuse_broken(reader);
        struct slice name = {reader->content.ptr + reader->at, 4};
        size_t length = number_at(reader->content, reader->at + 4);
        reader->last_extension = reader->at;
        reader->at += EXTENSION_HEADER_LENGTH;
        if (!has(reader, length) || (slice_is(name, "IEOT") && table_count++))
            return refuse_broken(reader);
        if (!judge_extension(reader, name, (struct slice){reader->content.ptr + reader->at, length}))
            return false;
        reader->at += length;
    }
    return true;
}

/* Git looks for EOIE at one place before the end, whatever that is a part of. */
static bool judge_end(const struct reader *reader)
{
    size_t length = EXTENSION_HEADER_LENGTH + 4 + reader->hash_length;

    if (reader->content.len < HEADER_LENGTH + length)
        return true;
    size_t at = reader->content.len - length;
    if (memcmp(reader->content.ptr + at, "EOIE", 4) != 0)
        return true;
    return reader->last_extension == at || refuse_broken(reader);
}

void git_index_judge(struct slice content, size_t hash_length, struct git_index_verdict *verdict)
{
    struct reader reader = {.content = content, .at = HEADER_LENGTH, .hash_length = hash_length, .verdict = verdict};

    verdict->refused = NULL;
    verdict->length = 0;
    if (content.len > GIT_INDEX_SIZE_MAX) {
        refuse_whole(&reader, "it is larger than 64 MB, which is the most that is judged");
        return;
    }
    if (content.len < HEADER_LENGTH + hash_length || !slice_starts(content, SLICE("DIRC"))) {
        refuse_broken(&reader);
        return;
    }
    reader.content.len -= hash_length;
    reader.version = number_at(content, 4);
    reader.count = number_at(content, 8);
    if (reader.version < 2 || reader.version > 4) {
        refuse_whole(&reader, "it has a version that cloche does not know");
        return;
    }
    if (judge_entries(&reader) && judge_extensions(&reader))
        judge_end(&reader);
}
