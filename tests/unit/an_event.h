/* An event that several tests are about. */
#ifndef CLOCHE_TESTS_AN_EVENT_H
#define CLOCHE_TESTS_AN_EVENT_H

#include "watch/event.h"

#include <errno.h>

static const struct event denied_write = {
    .kind = EVENT_FS_WRITE,
    .verdict = EVENT_DENIED,
    .op = SLICE("openat"),
    .object = SLICE("/etc/x"),
    .error = EROFS,
    .pid = 123,
    .program = SLICE("/usr/bin/sh"),
    .parent = 1,
    .parent_program = SLICE("/bin/bash"),
    .reason = SLICE("no allowWrite covers it"),
    .rule = {"/p/policy.json", "filesystem.allowWrite"},
    .hint = SLICE("--allow-write /etc/x"),
};

#endif
