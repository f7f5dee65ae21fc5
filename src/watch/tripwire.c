/* The server's part of the FUSE protocol, as far as a file system goes that
 * refuses. The kernel does not check modes by itself (no default_permissions), or
 * it would refuse without asking; and whatever is not known here is refused too.
 *
 * What a mask looks like is told once and holds for ever, so that nobody who lists
 * the directory above waits for an answer. Requests come from the kernel; the
 * names in them come from the command. */
#include "watch/tripwire.h"

#include <dirent.h>
#include <errno.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FIRST_NODE = FUSE_ROOT_ID + 1, /* node of the wire with the number 0 */
    FOR_EVER = 1 << 30,            /* seconds */
    MINOR_VERSION = 31,
    BLOCK_SIZE = 4096,
    ENTRY_NAME_MAX = 24
};

struct request {
    struct fuse_in_header head;
    const char *body;
    size_t body_size;
};

static bool request_read(const void *bytes, size_t size, struct request *request)
{
    if (size < sizeof request->head)
        return false;
    memcpy(&request->head, bytes, sizeof request->head);
    request->body = (const char *)bytes + sizeof request->head;
    request->body_size = size - sizeof request->head;
    return request->head.len == size;
}

/* The head of an answer with `size` bytes behind it, or with an error and none. */
static size_t answer_with(const struct request *request, int errnum, size_t size, void *answer)
{
    struct fuse_out_header head = {
        .len = (uint32_t)(sizeof head + size), .error = -errnum, .unique = request->head.unique};

    memcpy(answer, &head, sizeof head);
    return head.len;
}

static void *body_of(void *answer)
{
    return (char *)answer + sizeof(struct fuse_out_header);
}

static enum wire wire_of(const struct tripwires *wires, uint64_t node)
{
    if (node < FIRST_NODE || node - FIRST_NODE >= wires->count)
        return WIRE_NONE;
    return wires->at(wires->argument, (size_t)(node - FIRST_NODE));
}

/* As a mask of a tmpfs looks. */
static struct fuse_attr look(const struct tripwires *wires, uint64_t node)
{
    bool directory = wire_of(wires, node) != WIRE_FILE;

    return (struct fuse_attr){.ino = node,
                              .atime = wires->time,
                              .mtime = wires->time,
                              .ctime = wires->time,
                              .mode = (directory ? S_IFDIR : S_IFREG) | 0000,
                              .nlink = directory ? 2 : 1,
                              .uid = wires->user,
                              .gid = wires->group,
                              .blksize = BLOCK_SIZE};
}

static size_t begin(const struct request *request, void *answer)
{
    struct fuse_init_in in;
    struct fuse_init_out out = {
        .major = FUSE_KERNEL_VERSION, .minor = MINOR_VERSION, .flags = FUSE_DO_READDIRPLUS, .max_write = BLOCK_SIZE};
    const size_t least = 2 * sizeof(uint32_t);

    if (request->body_size < least)
        return answer_with(request, EPROTO, 0, answer);
    memcpy(&in, request->body, least);
    if (in.major < FUSE_KERNEL_VERSION)
        return answer_with(request, EPROTO, 0, answer);
    memcpy(body_of(answer), &out, sizeof out);
    return answer_with(request, 0, sizeof out, answer);
}

static size_t open_root(const struct request *request, void *answer)
{
    const struct fuse_open_out out = {0};

    memcpy(body_of(answer), &out, sizeof out);
    return answer_with(request, 0, sizeof out, answer);
}

/* Names end at their NUL, which the kernel puts there. */
static struct slice name_in(const struct request *request)
{
    return (struct slice){request->body, strnlen(request->body, request->body_size)};
}

static struct fuse_entry_out entry_of(const struct tripwires *wires, uint64_t node)
{
    return (struct fuse_entry_out){
        .nodeid = node, .entry_valid = FOR_EVER, .attr_valid = FOR_EVER, .attr = look(wires, node)};
}

/* All wires at once: pid 1 has to ask for none of them by name. */
static size_t list(const struct tripwires *wires, const struct request *request, void *answer)
{
    struct fuse_read_in in;
    size_t used = 0;

    if (request->body_size < sizeof in)
        return answer_with(request, EINVAL, 0, answer);
    memcpy(&in, request->body, sizeof in);
    size_t room = TRIPWIRE_ANSWER_MAX - sizeof(struct fuse_out_header);
    if (in.size < room)
        room = in.size;
    for (uint64_t number = in.offset; number < wires->count; number++) {
        enum wire wire = wire_of(wires, number + FIRST_NODE);
        char name[ENTRY_NAME_MAX];
        if (wire == WIRE_NONE)
            continue;
        size_t length = (size_t)snprintf(name, sizeof name, "%llu", (unsigned long long)number);
        size_t size = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET_DIRENTPLUS + length);
        struct fuse_direntplus entry = {.entry_out = entry_of(wires, number + FIRST_NODE),
                                        .dirent = {.ino = number + FIRST_NODE,
                                                   .off = number + 1, /* where the next one begins */
                                                   .namelen = (uint32_t)length,
                                                   .type = wire == WIRE_FILE ? DT_REG : DT_DIR}};
        if (used + size > room)
            break;
        char *place = (char *)body_of(answer) + used;
        memset(place, 0, size);
        memcpy(place, &entry, FUSE_NAME_OFFSET_DIRENTPLUS);
        memcpy(place + FUSE_NAME_OFFSET_DIRENTPLUS, name, length);
        used += size;
    }
    return answer_with(request, 0, used, answer);
}

/* One of them, by its number. */
static size_t find(const struct tripwires *wires, const struct request *request, void *answer)
{
    struct slice name = name_in(request);
    uint64_t number = 0;

    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] < '0' || name.ptr[i] > '9' || number >= wires->count)
            return answer_with(request, ENOENT, 0, answer);
        number = number * 10 + (uint64_t)(name.ptr[i] - '0');
    }
    if (name.len == 0 || wire_of(wires, number + FIRST_NODE) == WIRE_NONE)
        return answer_with(request, ENOENT, 0, answer);
    const struct fuse_entry_out out = entry_of(wires, number + FIRST_NODE);
    memcpy(body_of(answer), &out, sizeof out);
    return answer_with(request, 0, sizeof out, answer);
}

/* `df` asks this of every mount it sees. */
static size_t sizes(const struct request *request, void *answer)
{
    const struct fuse_statfs_out out = {.st = {.bsize = BLOCK_SIZE, .frsize = BLOCK_SIZE, .namelen = 255}};

    memcpy(body_of(answer), &out, sizeof out);
    return answer_with(request, 0, sizeof out, answer);
}

/* Is there to be told of this? Sets what was asked for. Who asks whether it may be
 * written to is told that it may not, which is not about reading. */
static bool is_reading(const struct request *request, struct tripped *tripped)
{
    struct fuse_access_in access;

    switch (request->head.opcode) {
    case FUSE_LOOKUP:
        tripped->op = "lookup";
        tripped->name = name_in(request);
        return true;
    case FUSE_OPEN:
    case FUSE_OPENDIR:
        tripped->op = "open";
        return true;
    case FUSE_READLINK:
        tripped->op = "readlink";
        return true;
    case FUSE_ACCESS:
        if (request->body_size < sizeof access)
            return false;
        memcpy(&access, request->body, sizeof access);
        tripped->op = "access";
        return (access.mask & (R_OK | X_OK)) != 0;
    default:
        return false;
    }
}

/* That it is there is no secret. */
static bool asks_whether_it_is_there(const struct request *request)
{
    struct fuse_access_in access;

    if (request->head.opcode != FUSE_ACCESS || request->body_size < sizeof access)
        return false;
    memcpy(&access, request->body, sizeof access);
    return access.mask == F_OK;
}

static void trip(const struct request *request, struct tripped *tripped)
{
    tripped->by_somebody = true;
    tripped->number = (size_t)(request->head.nodeid - FIRST_NODE);
    tripped->thread = (pid_t)request->head.pid;
}

static size_t refuse(const struct tripwires *wires, const struct request *request, void *answer,
                     struct tripped *tripped)
{
    if (asks_whether_it_is_there(request))
        return answer_with(request, 0, 0, answer);
    if (wire_of(wires, request->head.nodeid) != WIRE_NONE && is_reading(request, tripped))
        trip(request, tripped);
    return answer_with(request, EACCES, 0, answer);
}

/* What it looks like holds for ever, and still the kernel asks again before it
 * refuses to execute what nobody may. */
static size_t attributes(const struct tripwires *wires, const struct request *request, void *answer,
                         struct tripped *tripped)
{
    struct fuse_attr_out out = {.attr_valid = FOR_EVER, .attr = look(wires, request->head.nodeid)};

    if (wire_of(wires, request->head.nodeid) == WIRE_FILE) {
        trip(request, tripped);
        tripped->op = "execve";
        tripped->if_executing = true;
    }
    memcpy(body_of(answer), &out, sizeof out);
    return answer_with(request, 0, sizeof out, answer);
}

size_t tripwire_answer(const struct tripwires *wires, const void *bytes, size_t size, void *answer,
                       struct tripped *tripped)
{
    struct request request;

    *tripped = (struct tripped){0};
    if (!request_read(bytes, size, &request))
        return 0;
    bool at_root = request.head.nodeid == FUSE_ROOT_ID;
    switch (request.head.opcode) {
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
        return 0;
    case FUSE_INIT:
        return begin(&request, answer);
    case FUSE_GETATTR:
        return attributes(wires, &request, answer, tripped);
    case FUSE_STATFS:
        return sizes(&request, answer);
    case FUSE_RELEASEDIR:
    case FUSE_DESTROY:
        return answer_with(&request, 0, 0, answer);
    case FUSE_OPENDIR:
        return at_root ? open_root(&request, answer) : refuse(wires, &request, answer, tripped);
    case FUSE_READDIRPLUS:
        tripped->by_first = at_root;
        return at_root ? list(wires, &request, answer) : refuse(wires, &request, answer, tripped);
    case FUSE_LOOKUP:
        tripped->by_first = at_root;
        return at_root ? find(wires, &request, answer) : refuse(wires, &request, answer, tripped);
    /* There is none of these, and the kernel does not ask again. */
    case FUSE_INTERRUPT:
    case FUSE_GETXATTR:
    case FUSE_LISTXATTR:
    case FUSE_SETXATTR:
    case FUSE_REMOVEXATTR:
    case 52: /* FUSE_STATX, from 6.6 */
        return answer_with(&request, ENOSYS, 0, answer);
    default:
        return refuse(wires, &request, answer, tripped);
    }
}
