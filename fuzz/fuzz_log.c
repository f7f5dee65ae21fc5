/* A log, read as cloche log reads it. However the bytes are cut, the same lines come
 * out; whatever they hold, nothing that drives a terminal comes out of an entry, no
 * markup out of the page, and no tag out of the block for models. */
#include "watch/annotate.h"
#include "watch/log_book.h"
#include "watch/log_chain.h"
#include "watch/log_lines.h"
#include "watch/log_table.h"
#include "watch/page.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void require_safe(struct arena *arena, struct slice text)
{
    struct slice lines = text;

    while (lines.len) {
        size_t end = slice_find(lines, '\n');
        char *copy = (char *)arena_slice(arena, (struct slice){lines.ptr, end}).ptr;
        text_make_safe(copy);
        require(memcmp(copy, lines.ptr, end) == 0);
        lines = slice_from(lines, end < lines.len ? end + 1 : end);
    }
}

/* What log_lines makes of the input in pieces of `step` bytes. */
static size_t digest_of_lines(struct slice input, size_t step)
{
    static struct log_lines lines;
    size_t digest = 5381;

    memset(&lines, 0, sizeof lines);
    while (input.len) {
        struct slice piece = {input.ptr, input.len < step ? input.len : step};
        struct slice line;
        input = slice_from(input, piece.len);
        while (log_lines_next(&lines, &piece, &line)) {
            for (size_t i = 0; i < line.len; i++)
                digest = digest * 33 + (unsigned char)line.ptr[i];
            digest += lines.number;
        }
        require(piece.len == 0);
    }
    log_lines_end(&lines);
    return digest + lines.skipped;
}

static void take_line(struct arena *arena, struct slice line, struct log_book *book, struct log_chain *chain)
{
    struct log_entry entry;
    struct text out = text_in(arena);

    log_chain_follow(chain, line, false);
    if (!log_entry_parse(arena, line, &entry))
        return;
    log_line_append(&out, line);
    require_safe(arena, text_slice(&out));

    struct log_run *run = log_book_run(book, &entry);
    require(run != NULL);
    log_book_keep(book, run, &entry);

    struct log_table table = {.width = 70};
    struct text shown = text_in(arena);
    log_table_run(&table, run, &shown);
    log_table_event(&table, &entry, &shown);
    annotate_line(&entry, &shown);
    require_safe(arena, text_slice(&shown));
    struct text block = text_in(arena);
    annotate_line(&entry, &block);
    require(!strcasestr(block.ptr, "<sandbox_violations") && !strcasestr(block.ptr, "</sandbox_violations"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct log_lines lines;
    struct arena arena ARENA_CLEANUP = {0};
    struct slice input = {(const char *)data, size};
    struct log_book book = log_book_in(&arena);
    struct log_chain chain = {0};
    struct slice line;

    require(digest_of_lines(input, 1) == digest_of_lines(input, 7));
    require(digest_of_lines(input, 1) == digest_of_lines(input, size + 1));

    memset(&lines, 0, sizeof lines);
    while (log_lines_next(&lines, &input, &line))
        take_line(&arena, line, &book, &chain);
    for (size_t i = 0; i < book.run_count; i++) {
        struct text page = text_in(&arena);
        page_write(book.runs[i], &page);
        require_safe(&arena, text_slice(&page));
        const char *body = strstr(page.ptr, "<body>");
        require(body && !strstr(body, "<script") && !strstr(body, "<img") && !strstr(body, "<style"));
        require(strcmp(page.ptr + page.len - 8, "</html>\n") == 0);
    }
    return 0;
}
