/* Landlock rulesets, spelled out: the kernel we run on may be newer than the
 * headers we build with. Private to this room. */
#ifndef CLOCHE_JAIL_RULESET_H
#define CLOCHE_JAIL_RULESET_H

#include "base/error.h"
#include "plan/plan.h"
#include "plan/rights.h"

#include <stdint.h>

enum { ABI_TRUNCATE = 3, ABI_NETWORK = 4, ABI_DEVICES = 5, ABI_SCOPES = 6 };

#define RIGHT_TRUNCATE (1ULL << 14)
#define RIGHT_DEVICES (1ULL << 15)

#define RIGHT_TCP_BIND (1ULL << 0)
#define RIGHT_TCP_CONNECT (1ULL << 1)

#define SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#define SCOPE_SIGNAL (1ULL << 1)

#define READ_RIGHTS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE)
#define CHANGE_FILE_RIGHTS (LANDLOCK_ACCESS_FS_WRITE_FILE | RIGHT_TRUNCATE)
/* struct landlock_ruleset_attr as of ABI 6. */
struct ruleset_attributes {
    uint64_t handled_files;
    uint64_t handled_network;
    uint64_t scoped;
};

struct ruleset {
    int fd;
    uint64_t handled; /* of files */
};

/* 0: there is no Landlock. */
int ruleset_abi(void);

/* Signals stay inside, and so do connections to names that no mount holds, unless the plan lets every socket be. */
uint64_t ruleset_scopes(int abi, const struct plan *plan);

bool ruleset_make(const struct ruleset_attributes *attributes, struct ruleset *ruleset, struct error *err);

/* Rules only add. Whatever a rule cannot be made for stays denied, so that is no
 * error. A file gets those of the rights that files can have. */
void ruleset_allow(const struct ruleset *ruleset, int place, uint64_t rights);

/* "> /dev/stderr" opens what the descriptor stands for once more: a file or
 * terminal of the host's tree, which no path of the plan covers. It may be
 * opened the way it already is. */
void ruleset_allow_standard_descriptors(const struct ruleset *ruleset);

/* For this process and all it starts. */
bool ruleset_take_on(const struct ruleset *ruleset, struct error *err);

#endif
