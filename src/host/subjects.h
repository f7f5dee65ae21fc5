/* The subjects of an examination, one file each. Every function adds its
 * findings to the examination; settings and facts are there already. */
#ifndef CLOCHE_HOST_SUBJECTS_H
#define CLOCHE_HOST_SUBJECTS_H

#include "host/examine.h"
#include "host/probe.h"

/* Adds a finding with status OK and nothing else to say yet. */
struct finding *examination_add(struct examination *examination, const char *id, const char *title,
                                const char *needed_for, enum finding_weight weight);

/* One sentence on a probe that did not come to its own end, else NULL. */
const char *examine_broken_off(struct arena *arena, const struct probe_report *report);

/* Tries a subject that lives in a user namespace; `works` is the detail if that
 * succeeds. False where there is more to say: why `report` stopped where it did. */
bool examine_by_probe(struct arena *arena, const struct examination *examination, probe_function probe,
                      const char *works, struct finding *finding, struct probe_report *report);

/* "EPERM (Operation not permitted)" */
const char *examine_errno(struct arena *arena, int errnum);

/* Subjects that live in a user namespace are not tried where there is none: the
 * finding then says so, and this is false. */
bool examine_can_enter(const struct examination *examination, struct finding *finding);

void examine_kernel(struct arena *arena, struct examination *examination);
void examine_namespaces(struct arena *arena, struct examination *examination);
void examine_landlock(struct arena *arena, struct examination *examination);
void examine_seccomp(struct arena *arena, struct examination *examination);
void examine_nftables(struct arena *arena, struct examination *examination);
void examine_overlay(struct arena *arena, struct examination *examination);
void examine_fuse(struct arena *arena, struct examination *examination);
void examine_cgroup(struct arena *arena, struct examination *examination);
void examine_ptrace(struct arena *arena, struct examination *examination);

/* Why user namespaces cannot be used, from the step a run's first moves failed
 * at. Apart from the probe, so that hosts we do not have can be tested. */
enum namespace_step { NAMESPACE_USER = 1, NAMESPACE_IDS, NAMESPACE_MOUNTS, NAMESPACE_TMPFS, NAMESPACE_MOUNT_CALLS };

struct namespace_failure {
    enum namespace_step step;
    int errnum;
    bool is_root;
    bool chrooted;
    const struct settings *settings;
};

void diagnose_user_namespaces(struct arena *arena, const struct namespace_failure *failure, struct finding *finding);
void diagnose_fresh_proc(struct arena *arena, int errnum, const struct settings *settings, struct finding *finding);

/* The AppArmor profile that gives `program` user namespaces, and how to load it. */
const char *diagnose_apparmor_remedy(struct arena *arena, const char *program);

#endif
