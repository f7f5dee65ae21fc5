/* Git's index, judged by the names in it. Git checks no name that it reads from an
 * index on disk: `git checkout .` writes to whatever is named there, and `git add -u`
 * reads it. */
#ifndef CLOCHE_POLICY_GIT_INDEX_H
#define CLOCHE_POLICY_GIT_INDEX_H

#include "base/slice.h"

enum {
    GIT_INDEX_SIZE_MAX = 64 * 1024 * 1024,
    GIT_INDEX_NAME_MAX = 4096,
    GIT_INDEX_HASH_SHA1 = 20,
    GIT_INDEX_HASH_SHA256 = 32
};

struct git_index_verdict {
    const char *refused; /* a clause; NULL: it may be put in place */
    size_t length;       /* of the name that is spoken of; 0: the file as a whole */
    char name[GIT_INDEX_NAME_MAX];
};

/* May this stand in a repository whose hashes have that many bytes? Reads a strict
 * subset of versions 2 to 4; whatever is read is read by git in the same way. */
void git_index_judge(struct slice content, size_t hash_length, struct git_index_verdict *verdict);

/* Is it a name that git itself would take into an index? `is_directory`: with a slash at
 * the end, as sparse indexes have them. */
bool git_index_name_is_safe(struct slice name, bool is_directory);

#endif
