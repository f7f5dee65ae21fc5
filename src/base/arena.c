/* Bump allocation in blocks. Blocks come from malloc, so that AddressSanitizer
 * still sees overruns at block ends; large requests get a block of their own.
 * Memory is zeroed when it is handed out, not with its block: pages that nobody
 * uses are never touched, and touching pages is what a quick start pays for. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCK_SIZE = 64 * 1024 };

static const size_t alignment = alignof(max_align_t);

struct arena_block {
    struct arena_block *older;
    size_t used;
    size_t size;
    size_t mapped; /* by arena_share: all its bytes, this header's too; 0: it is malloc's */
    alignas(max_align_t) unsigned char bytes[];
};

static _Noreturn void out_of_memory(void)
{
    static const char words[] = "cloche: out of memory\n";
    ssize_t ignored = write(STDERR_FILENO, words, sizeof words - 1);
    (void)ignored;
    _exit(125);
}

static void *take(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2)
        out_of_memory();
    size = (size + alignment - 1) & ~(alignment - 1);

    struct arena_block *block = arena->newest;
    if (!block || block->size - block->used < size) {
        size_t capacity = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        block = malloc(sizeof *block + capacity);
        if (!block)
            out_of_memory();
        block->used = 0;
        block->size = capacity;
        block->mapped = 0;
        block->older = arena->newest;
        arena->newest = block;
        arena->shared = false;
    }
    void *memory = block->bytes + block->used;
    block->used += size;
    arena->last = memory;
    return memory;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    return memset(take(arena, size), 0, size);
}

void *arena_grow(struct arena *arena, void *items, size_t have, size_t need, size_t *capacity, size_t item_size)
{
    if (need <= *capacity)
        return items;

    /* Large arrays grow in larger steps: what they leave behind stays in the arena,
     * and untouched memory costs nothing. */
    size_t factor = *capacity * item_size > 8192 ? 4 : 2;
    size_t grown = *capacity ? *capacity * factor : 8;
    if (grown < need)
        grown = need;
    if (item_size && grown > SIZE_MAX / 2 / item_size)
        out_of_memory();

    /* What was allocated last grows where it stands. */
    struct arena_block *block = arena->newest;
    if (items && block && arena->last == items) {
        size_t start = (size_t)((unsigned char *)items - block->bytes);
        size_t size = (grown * item_size + alignment - 1) & ~(alignment - 1);
        if (size <= block->size - start) {
            block->used = start + size;
            *capacity = grown;
            return items;
        }
    }

    void *storage = take(arena, grown * item_size);
    if (have)
        memcpy(storage, items, have * item_size);
    *capacity = grown;
    return storage;
}

struct slice arena_slice(struct arena *arena, struct slice text)
{
    char *copy = take(arena, text.len + 1);
    if (text.len)
        memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return (struct slice){copy, text.len};
}

char *arena_string(struct arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(take(arena, size), text, size);
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        return arena_string(arena, "");

    char *text = take(arena, (size_t)length + 1);
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

void arena_share(struct arena *arena, size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED)
        return;
    struct arena_block *block = memory;
    *block = (struct arena_block){.size = size - sizeof *block, .mapped = size};
    *arena = (struct arena){.newest = block, .shared = true};
}

bool arena_is_shared(const struct arena *arena)
{
    return arena->shared;
}

bool arena_part(const struct arena *arena)
{
    struct arena_block *block = arena->newest;

    while (block && !block->mapped)
        block = block->older;
    if (!block)
        return true;
    size_t size = block->mapped;
    size_t used = sizeof *block + block->used;
    void *copy = malloc(used);
    if (!copy)
        return false;
    memcpy(copy, block, used);
    void *memory =
        mmap(block, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED)
        memcpy(memory, copy, used);
    free(copy);
    return memory != MAP_FAILED;
}

void arena_free(struct arena *arena)
{
    struct arena_block *block = arena->newest;

    while (block) {
        struct arena_block *older = block->older;
        if (block->mapped)
            munmap(block, block->mapped);
        else
            free(block);
        block = older;
    }
    *arena = (struct arena){0};
}
