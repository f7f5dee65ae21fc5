/* nf_tables with TPROXY in a fresh user and network namespace: what carries every
 * connection of a filtered run to the network process. The rules of a run are
 * made, and the namespace is thrown away. */
#include "host/subjects.h"

#include "host/tproxy.h"

#include <sched.h>

enum { STEP_ENTER = 100 };

static int nftables_steps(struct probe_report *report)
{
    enum tproxy_step step;

    report->step = STEP_ENTER;
    int errnum = probe_enter(CLONE_NEWNET);
    if (errnum != 0)
        return errnum;
    errnum = tproxy_install(false, false, &step);
    report->step = (int)step;
    return errnum;
}

static void probe_nftables(struct probe_report *report, const void *context)
{
    (void)context;
    report->errnum = nftables_steps(report);
}

void examine_nftables(struct arena *arena, struct examination *examination)
{
    struct probe_report report;
    struct finding *finding =
        examination_add(examination, "nftables", "nf_tables with TPROXY",
                        "filtered network: connections are carried to cloche by it", WEIGHT_OPTIONAL);

    if (examine_by_probe(arena, examination, probe_nftables, "a rule was made in a new network namespace", finding,
                         &report))
        return;
    if (report.step == STEP_ENTER) {
        finding->detail =
            arena_printf(arena, "not examined: no network namespace (%s)", examine_errno(arena, report.errnum));
    } else {
        finding->detail = arena_printf(arena,
                                       "%s refused (%s); the doorman leads connections there instead, unless a policy "
                                       "does without one",
                                       report.step == TPROXY_STEP_RULE ? "a TPROXY rule is" : "nf_tables is",
                                       examine_errno(arena, report.errnum));
        finding->remedy =
            "load the modules: sudo modprobe -a nf_tables nft_tproxy\n"
            "for good:         printf 'nf_tables\\nnft_tproxy\\n' | sudo tee /etc/modules-load.d/cloche.conf";
    }
}
