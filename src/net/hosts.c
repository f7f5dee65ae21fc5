/* Lines of "address name name... # comment". What is no address or no host name
 * is passed over, as resolvers do. */
#include "net/hosts.h"

#include "base/fd.h"

enum { HOSTS_FILE_MAX = 1 << 20, HOSTS_NAMES_MAX = 20000 };

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

static bool next_word(struct slice *rest, struct slice *word)
{
    size_t start = 0;

    while (start < rest->len && is_blank(rest->ptr[start]))
        start++;
    size_t end = start;
    while (end < rest->len && !is_blank(rest->ptr[end]))
        end++;
    *word = (struct slice){rest->ptr + start, end - start};
    *rest = slice_from(*rest, end);
    return word->len > 0;
}

static void add(struct hosts *hosts, struct slice name, const struct address *address)
{
    struct host host;

    if (hosts->by_name.count >= HOSTS_NAMES_MAX || !host_parse(name, &host, NULL) || host.is_address)
        return;
    struct slice canonical = {host.name, host.name_length};
    struct hosts_entry *entry = map_get(&hosts->by_name, canonical);
    if (!entry) {
        entry = ARENA_NEW(&hosts->arena, struct hosts_entry);
        *map_at(&hosts->by_name, arena_slice(&hosts->arena, canonical)) = entry;
    }
    if (entry->count < NET_ADDRESSES_MAX)
        entry->addresses[entry->count++] = *address;
}

void hosts_read(struct hosts *hosts, const char *path)
{
    struct slice rest;
    struct slice line;

    *hosts = (struct hosts){0};
    hosts->by_name = map_in(&hosts->arena);
    if (!file_read(path, HOSTS_FILE_MAX, &hosts->arena, &rest, NULL, NULL))
        return;
    for (; rest.len > 0; rest = slice_from(rest, line.len + (line.len < rest.len))) {
        struct slice word;
        struct address address;

        line = (struct slice){rest.ptr, slice_find(rest, '\n')};
        struct slice words = {line.ptr, slice_find(line, '#')};
        if (!next_word(&words, &word) || !address_parse(word, &address, NULL))
            continue;
        while (next_word(&words, &word))
            add(hosts, word, &address);
    }
}

const struct hosts_entry *hosts_find(const struct hosts *hosts, struct slice name)
{
    return map_get(&hosts->by_name, name);
}
