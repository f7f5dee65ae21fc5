/* What the personalities share: the names that other programs know cloche by. */
#include "cli/personality.h"

#include "base/log.h"
#include "cli/report.h"

bool personality_objects(const struct session *session)
{
    const struct options no_options = {0};
    struct objection *objections;
    size_t count = report_objections(&no_options, session, &objections);

    for (size_t i = 0; i < count; i++)
        log_error("refused: %s (%s)", objections[i].what, origin_text(session->arena, &objections[i].origin));
    return count > 0;
}
