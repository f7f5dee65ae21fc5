#include "cli/log_output.h"

#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "session/prepare.h"
#include "watch/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

const char *log_default_path(struct arena *arena, const struct surroundings *around)
{
    struct session_request request = {.project = ".", .environment = environ};
    struct session session;
    struct error err;

    if (session_read(arena, &request, &session, &err))
        return event_log_path(arena, &session.policy);
    log_warning("the policy that governs here is not valid (cloche check tells), so its violationLogPath is not known");
    return event_log_path(arena, &(struct policy){.around = *around});
}

struct log_table log_output_table(struct arena *arena, const struct surroundings *around)
{
    enum { WIDTH_UNKNOWN = 80 };
    struct winsize size = {0};
    struct log_table table = {.home = slice_of(escaped(arena, around->home))};

    if (!isatty(STDOUT_FILENO))
        return table;
    table.colours = fd_wants_colour(STDOUT_FILENO);
    table.width = WIDTH_UNKNOWN;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        table.width = size.ws_col;
    return table;
}

bool log_output_write(const char *path, struct slice content, struct error *err)
{
    FD_CLEANUP int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600);

    if (fd < 0 || !fd_write_all(fd, content))
        return error_set_errno(err, errno, "cannot write %s", path);
    return true;
}
