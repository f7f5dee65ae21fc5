/* A prepared session, carried out. */
#ifndef CLOCHE_SESSION_RUN_H
#define CLOCHE_SESSION_RUN_H

#include "jail/jail.h"
#include "session/prepare.h"

/* As jail_run, with whoever else the plan needs. */
enum jail_end session_run(struct session *session, char *const *argv, int control_fd, struct head_start *head_start,
                          int *status, struct error *err);

#endif
