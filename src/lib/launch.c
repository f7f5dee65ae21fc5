/* Starts the binary. posix_spawn, because a program with threads and much memory
 * cannot be forked without harm; and what is passed on is made here, closed on
 * exec like everything else of ours, so that other threads that start programs
 * meanwhile pass none of it on. */
#include "lib/handles.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int beyond_standard(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(fd);
    return moved;
}

/* The three standard descriptors come from copies beyond them: any of them may be
 * another's source. */
static bool set_descriptors(const struct launch *launch, int copies[3], posix_spawn_file_actions_t *actions)
{
    for (int i = 0; i < 3; i++) {
        int from = launch->standard[i];
        copies[i] = from < 0 ? beyond_standard(open("/dev/null", O_RDWR | O_CLOEXEC))
                             : fcntl(from, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (copies[i] < 0)
            return false;
        if ((errno = posix_spawn_file_actions_adddup2(actions, copies[i], i)) != 0)
            return false;
    }
    /* On itself: that clears the flag which closes it. */
    for (size_t i = 0; i < launch->kept_count; i++) {
        if ((errno = posix_spawn_file_actions_adddup2(actions, launch->kept[i], launch->kept[i])) != 0)
            return false;
    }
    return !launch->directory || (errno = posix_spawn_file_actions_addchdir_np(actions, launch->directory)) == 0;
}

/* The command is not to inherit which signals this program ignores or has blocked. */
static bool set_signals(posix_spawnattr_t *attributes)
{
    sigset_t set;

    sigfillset(&set);
    errno = posix_spawnattr_setsigdefault(attributes, &set);
    sigemptyset(&set);
    if (errno == 0)
        errno = posix_spawnattr_setsigmask(attributes, &set);
    if (errno == 0)
        errno = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    return errno == 0;
}

static pid_t spawn(const struct launch *launch, const posix_spawn_file_actions_t *actions,
                   const posix_spawnattr_t *attributes, cloche_error **error)
{
    pid_t pid = -1;
    int number = strchr(launch->file, '/')
                     ? posix_spawn(&pid, launch->file, actions, attributes, launch->argv, launch->environment)
                     : posix_spawnp(&pid, launch->file, actions, attributes, launch->argv, launch->environment);

    if (number == 0)
        return pid;
    /* The step into the directory fails in the same way as the start of a program. */
    if (launch->directory && access(launch->directory, X_OK) < 0)
        fail(error, CLOCHE_ERROR_ARGUMENT, errno, "cannot start a command in %s", launch->directory);
    else
        fail(error, CLOCHE_ERROR_BINARY, number, "cannot run the cloche binary %s", launch->file);
    return -1;
}

pid_t launch(const struct launch *launch, cloche_error **error)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int copies[3] = {-1, -1, -1};
    pid_t pid = -1;

    if (posix_spawn_file_actions_init(&actions) != 0) {
        fail_memory(error);
        return -1;
    }
    if (posix_spawnattr_init(&attributes) == 0) {
        if (set_descriptors(launch, copies, &actions) && set_signals(&attributes))
            pid = spawn(launch, &actions, &attributes, error);
        else
            fail(error, CLOCHE_ERROR_SYSTEM, errno, "cannot prepare the descriptors of a command");
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    for (int i = 0; i < 3; i++) {
        if (copies[i] >= 0)
            close(copies[i]);
    }
    return pid;
}

/* ---- to its end ---- */

enum { HEARD_MAX = 16 * 1024 * 1024 };

struct heard {
    int fd;
    char *text;
    size_t length;
    size_t capacity;
};

/* False at its end, or when there is no more room. */
static bool hear(struct heard *heard)
{
    if (heard->capacity - heard->length < 4096 + 1) {
        size_t capacity = heard->capacity ? 2 * heard->capacity : 16384;
        char *grown = capacity <= HEARD_MAX ? realloc(heard->text, capacity) : NULL;
        if (!grown)
            return false;
        heard->text = grown;
        heard->capacity = capacity;
    }
    ssize_t got = read(heard->fd, heard->text + heard->length, heard->capacity - heard->length - 1);
    if (got < 0 && errno == EINTR)
        return true;
    if (got <= 0)
        return false;
    heard->length += (size_t)got;
    return true;
}

static void hear_all(struct heard heard[2])
{
    struct pollfd polled[2];

    while (heard[0].fd >= 0 || heard[1].fd >= 0) {
        for (int i = 0; i < 2; i++)
            polled[i] = (struct pollfd){.fd = heard[i].fd, .events = POLLIN};
        if (poll(polled, 2, -1) < 0)
            continue;
        for (int i = 0; i < 2; i++) {
            if (polled[i].revents && !hear(&heard[i])) {
                close(heard[i].fd);
                heard[i].fd = -1;
            }
        }
    }
}

static bool make_pipe(int *reading, int *writing)
{
    int pair[2];

    if (pipe2(pair, O_CLOEXEC) < 0)
        return false;
    *reading = pair[0];
    *writing = pair[1];
    return true;
}

static char *take_text(struct heard *heard)
{
    if (heard->text)
        heard->text[heard->length] = '\0';
    return heard->text ? heard->text : calloc(1, 1);
}

static int status_of(pid_t pid, cloche_error **error)
{
    int status;

    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            fail(error, CLOCHE_ERROR_SYSTEM, errno, "cannot learn how the cloche binary ended");
            return -1;
        }
    }
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    fail(error, CLOCHE_ERROR_BINARY, 0, "the cloche binary was killed by signal %d", WTERMSIG(status));
    return -1;
}

/* What the binary says for a terminal, as the text of an error: who speaks is known,
 * and who prints it ends the line. */
static void take_out_of_lines(char *text)
{
    static const char speaker[] = "cloche: ";
    const size_t length = sizeof speaker - 1;
    char *end = text;

    for (const char *from = text; *from;) {
        if (strncmp(from, speaker, length) == 0)
            from += length;
        size_t line = strcspn(from, "\n");
        line += from[line] == '\n';
        memmove(end, from, line);
        end += line;
        from += line;
    }
    while (end > text && end[-1] == '\n')
        end--;
    *end = '\0';
}

int launch_and_listen(char *const *argv, int input, int kept, char **output, char **diagnostics, cloche_error **error)
{
    struct heard heard[2] = {{.fd = -1}, {.fd = -1}};
    int ends[2] = {-1, -1};
    pid_t pid = -1;

    if (!make_pipe(&heard[0].fd, &ends[0]) || !make_pipe(&heard[1].fd, &ends[1])) {
        fail(error, CLOCHE_ERROR_SYSTEM, errno, "cannot make a pipe");
    } else {
        struct launch how = {.file = argv[0],
                             .argv = argv,
                             .environment = environ,
                             .standard = {input, ends[0], ends[1]},
                             .kept = {kept},
                             .kept_count = kept >= 0};
        pid = launch(&how, error);
    }
    for (int i = 0; i < 2; i++) {
        if (ends[i] >= 0)
            close(ends[i]);
        if (pid < 0 && heard[i].fd >= 0)
            close(heard[i].fd);
    }
    if (pid < 0)
        return -1;
    hear_all(heard);
    int status = status_of(pid, error);
    *output = take_text(&heard[0]);
    *diagnostics = take_text(&heard[1]);
    if (*diagnostics)
        take_out_of_lines(*diagnostics);
    if (status >= 0 && *output && *diagnostics)
        return status;
    fail_memory(error);
    free(*output);
    free(*diagnostics);
    return -1;
}
