/* Yama's ptrace scope. Scopes 0 to 2 leave a process with CAP_SYS_PTRACE over
 * the sandbox's namespace its view of the sandbox's memory; 3 leaves nobody
 * any, and the doorman could not read what a call names. */
#include "host/degraded.h"
#include "host/subjects.h"

void examine_ptrace(struct arena *arena, struct examination *examination)
{
    long scope = examination->settings.ptrace_scope;
    struct finding *finding = examination_add(examination, "ptrace", "reading the sandbox's memory",
                                              "the doorman: it must see the arguments of a call", WEIGHT_DEFAULT);

    if (scope == SETTING_ABSENT) {
        finding->detail = "Yama is not in force";
    } else if (scope < 3) {
        finding->detail = arena_printf(arena, "kernel.yama.ptrace_scope is %ld", scope);
    } else {
        finding->status = FINDING_MISSING;
        finding->token = degraded_tokens[DEGRADED_LATE_NAMES];
        finding->detail = arena_printf(arena, "kernel.yama.ptrace_scope is %ld: nobody may", scope);
        finding->remedy = "set kernel.yama.ptrace_scope to 2 or less in /etc/sysctl.d and reboot (3 cannot be lowered)";
    }
}
