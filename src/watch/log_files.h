/* The files of a log: FILE, which is written, and FILE.1 to FILE.5, which were. */
#ifndef CLOCHE_WATCH_LOG_FILES_H
#define CLOCHE_WATCH_LOG_FILES_H

#include "base/arena.h"
#include "base/error.h"
#include "watch/log.h"
#include "watch/log_lines.h"

#include <sys/types.h>

struct log_file {
    int fd;
    const char *name;
    dev_t device;
    ino_t inode;
};

struct log_files {
    struct arena *arena;
    const char *path;
    int oldest;                               /* the highest number behind a name; 0: there is one file */
    struct log_file files[EVENT_LOG_OLD + 2]; /* oldest first; when following, one that is no longer there in front */
    size_t count;
    size_t current;  /* the one that is being read */
    bool older_gone; /* the oldest that is kept is there: what was before it is not */
    struct log_lines lines;
    char buffer[64 * 1024];
    struct slice unread; /* in the buffer */
};

/* Opens what there is; nothing is no error (count is 0). Close it with
 * log_files_close. */
enum log_files_kind { LOG_FILES_ONE, LOG_FILES_ROTATED };
bool log_files_open(struct arena *arena, const char *path, enum log_files_kind kind, struct log_files *files,
                    struct error *err);

/* The next line of all files, or false at the end of what there is now. */
bool log_files_next(struct log_files *files, struct slice *line, struct error *err);

/* At the end of what there is: opens what was begun since, if the log was rotated.
 * Then more may follow. */
bool log_files_renew(struct log_files *files, struct error *err);

/* The name of the file that the last line was in. */
const char *log_files_name(const struct log_files *files);

void log_files_close(struct log_files *files);

#endif
