/* Runs between vfork and execve: the parent (pid 1) waits, and shares its memory
 * with us, so the reason of a failure is simply written where it can read it.
 * Credentials, signals, descriptors, limits and the working directory are this
 * process's own.
 *
 * The order matters: descriptors go first, privileges before anything the
 * command's user must be allowed to do himself (entering the working
 * directory), that when all masks are there, the filter last. */
#include "jail/target.h"

#include "base/fd.h"
#include "base/path.h"
#include "jail/attendant.h"
#include "jail/capabilities.h"
#include "jail/confine.h"
#include "jail/deliver.h"
#include "jail/filter.h"
#include "jail/handed.h"
#include "jail/jail.h"
#include "jail/landlock.h"
#include "jail/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STATUS_REFUSED = 125 };

/* Does the host's own directory stand there, and not one that a step made? */
static bool shows_the_hosts(const struct plan *plan, struct slice path)
{
    if (plan->backend == BACKEND_LANDLOCK)
        return true;
    for (;; path = path_parent(path)) {
        const struct step *step = map_get(&plan->by_path, path);
        if (step && step->kind != STEP_PIN)
            return step->kind == STEP_ROOT || step->kind == STEP_BIND;
        if (path.len <= 1)
            return false;
    }
}

static bool is_where_we_stood(const struct plan *plan, int fd)
{
    const struct standing *standing = &plan->standing;
    struct stat status;

    if (!standing->known || !shows_the_hosts(plan, plan->working_directory))
        return true;
    return fstat(fd, &status) == 0 && status.st_dev == standing->device && status.st_ino == standing->inode;
}

static bool enter_directory(const struct plan *plan, struct error *err)
{
    struct slice path = plan->working_directory;
    char name[4096];
    struct open_how how = {
        .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };

    if (path.len >= sizeof name)
        return error_set(err, "the path of the working directory is too long");
    memcpy(name, path.ptr, path.len);
    name[path.len] = '\0';
    FD_CLEANUP int fd = (int)syscall(SYS_openat2, AT_FDCWD, name, &how, sizeof how);
    if (fd < 0 || fchdir(fd) < 0)
        return error_set_errno(err, errno,
                               "cannot enter the working directory %s inside the sandbox (the policy hides it? allow "
                               "it with --allow-read, or start from another directory)",
                               name);
    if (!is_where_we_stood(plan, fd))
        return error_set(err,
                         "%s is not the directory any more that cloche was called in: it was moved or replaced "
                         "meanwhile. Find out by what, and start again",
                         name);
    return true;
}

/* A text file without a "#!" line is a shell script, as execvp(3) has it. */
static void execute_script(const char *path, const struct target *target)
{
    size_t count = 0;

    while (target->argv[count])
        count++;
    const char **arguments = arena_alloc(target->plan->arena, (count + 2) * sizeof *arguments);
    arguments[0] = "/bin/sh";
    arguments[1] = path;
    for (size_t i = 1; i < count; i++)
        arguments[i + 1] = target->argv[i];
    execve(arguments[0], (char *const *)arguments, target->plan->environment);
}

static void execute_path(const char *path, const struct target *target)
{
    execve(path, target->argv, target->plan->environment);
    if (errno == ENOEXEC)
        execute_script(path, target);
}

static const char *search_path(char *const *environment)
{
    for (size_t i = 0; environment && environment[i]; i++) {
        if (strncmp(environment[i], "PATH=", 5) == 0)
            return environment[i] + 5;
    }
    return "/usr/local/bin:/usr/bin:/bin";
}

/* Asking costs a tenth of a failing execve. What cannot be told is tried. */
static bool is_there(const char *path)
{
    return faccessat(AT_FDCWD, path, F_OK, AT_EACCESS) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

/* Tries every directory; a file that was there but could not be executed decides
 * the error. */
static int execute_searched(const char *name, const struct target *target, char found[4096])
{
    struct slice rest = slice_of(search_path(target->plan->environment));
    int worst = ENOENT;

    for (;;) {
        struct slice directory = {rest.ptr, slice_find(rest, ':')};
        size_t name_length = strlen(name);
        char path[4096];

        if (directory.len + name_length + 2 <= sizeof path) {
            memcpy(path, directory.ptr, directory.len);
            /* An empty entry is the working directory. */
            size_t length = directory.len;
            if (length)
                path[length++] = '/';
            memcpy(path + length, name, name_length + 1);
            if (is_there(path)) {
                execute_path(path, target);
                if (errno != ENOENT && errno != ENOTDIR)
                    worst = errno;
                memcpy(found, path, sizeof path);
            }
        }
        if (directory.len == rest.len)
            return worst;
        rest = slice_from(rest, directory.len + 1);
    }
}

/* What a person can do about a file that may not be executed; "" where nothing is known. */
static const char *how_to_execute(const char *path)
{
    struct stat status;

    if (stat(path, &status) < 0)
        return "";
    if (S_ISDIR(status.st_mode))
        return ": it is a directory";
    if ((status.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0)
        return ": it is not executable; chmod +x it, or run the program that reads it";
    return "";
}

static int say_why_not(struct target *target, const char *name, const char *found, int errnum)
{
    struct error *err = &target->error;

    if (errnum == ENOENT || errnum == ENOTDIR) {
        if (*found)
            error_set(err,
                      "cannot run %s: the file is there, but the interpreter or loader it asks for is not visible "
                      "inside the sandbox",
                      found);
        else
            error_set(err, "cannot run %s: no such command is visible inside the sandbox%s", name,
                      strchr(name, '/') ? "" : " (looked in PATH)");
        return JAIL_STATUS_NOT_FOUND;
    }
    const char *path = *found ? found : name;
    if (errnum == EACCES)
        error_set(err, "cannot run %s: Permission denied%s", path, how_to_execute(path));
    else
        error_set_errno(err, errnum, "cannot run %s", path);
    return JAIL_STATUS_NOT_EXECUTABLE;
}

static int execute(struct target *target)
{
    const char *name = target->argv[0];
    char found[4096] = "";
    int errnum;

    if (!name || !*name) {
        error_set(&target->error, "there is no command to run");
        return JAIL_STATUS_NOT_FOUND;
    }
    if (strchr(name, '/')) {
        execute_path(name, target);
        errnum = errno;
        if (errnum == ENOENT && strlen(name) < sizeof found && faccessat(AT_FDCWD, name, F_OK, AT_EACCESS) == 0)
            memcpy(found, name, strlen(name) + 1);
    } else {
        errnum = execute_searched(name, target, found);
    }
    return say_why_not(target, name, found, errnum);
}

/* Under a filter that asks the doorman about sending, nothing can be sent to the
 * doorman before it is there to be asked: it gets this process before, and takes
 * the listener from it. */
static bool introduce_oneself(const struct plan *plan, int doorman, int ruleset, struct error *err)
{
    if (!plan->doorman.datagrams)
        return true;
    FD_CLEANUP int process = (int)syscall(SYS_pidfd_open, getpid(), 0);
    const int descriptors[] = {process, ruleset};
    if (process < 0)
        return error_set_errno(err, errno, "cannot make a descriptor of a process");
    return attending_send(doorman, descriptors, 2, err);
}

/* What the doorman works with: where calls arrive, and the rules that bind its
 * hands. The last thing that is done here by anybody but the command. */
static bool call_the_doorman(const struct plan *plan, int doorman, int listener, int ruleset, struct error *err)
{
    const int descriptors[] = {listener, ruleset};
    int error = EPIPE;

    if (listener < 0)
        return true;
    if (!plan->doorman.datagrams)
        return attending_send(doorman, descriptors, 2, err);
    if (write(doorman, &listener, sizeof listener) != (ssize_t)sizeof listener ||
        read(doorman, &error, sizeof error) != (ssize_t)sizeof error || error != 0)
        return error_set_errno(err, error, "the doorman cannot take over the system-call filter");
    return true;
}

static bool take_on_landlock(const struct target *target, int *ruleset, struct error *err)
{
    const struct plan *plan = target->plan;

    return plan->backend == BACKEND_LANDLOCK ? confine_files(plan, err)
                                             : landlock_apply(plan, &target->passed, ruleset, err);
}

/* No directory is entered before it is hidden, if it is to be: whoever stands in it stays in it. */
static bool give_up_privileges(const struct target *target, int doorman, struct error *err)
{
    const struct plan *plan = target->plan;
    int ruleset = -1;
    int listener = -1;

    return limits_apply(plan, &target->open_files, err) && capabilities_drop(plan->keep_file_capabilities, err) &&
           take_on_landlock(target, &ruleset, err) && (!target->complete || target->complete(target->argument, err)) &&
           enter_directory(plan, err) && (plan->backend != BACKEND_LANDLOCK || confine_calls(plan, err)) &&
           introduce_oneself(plan, doorman, ruleset, err) && filter_apply(plan, &listener, err) &&
           call_the_doorman(plan, doorman, listener, ruleset, err);
}

/* Without a session of its own, in which nothing could be stopped by Ctrl-Z. */
static void leave_terminal(void)
{
    FD_CLEANUP int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

    if (fd < 0 && errno == ENXIO)
        return; /* there is none */
    if (fd < 0 || ioctl(fd, TIOCNOTTY) < 0)
        setsid();
}

static void replace_devices(const struct passed *passed)
{
    handed_replace_devices();
    for (size_t i = 0; i < passed->count; i++)
        handed_replace_device(passed->numbers[i]);
}

/* It began where pid 1 waits. When that goes on, it is not to take the processor from the command. */
static void part(const struct target *target)
{
    placement_keep(&target->placement, 0, PLACEMENT_ANYWHERE);
    placement_elsewhere(&target->placement, getppid());
}

static _Noreturn void become(struct target *target)
{
    int doorman = target->doorman;

    part(target);
    umask(target->umask);
    if (target->own_group)
        setpgid(0, 0);
    if (target->no_terminal)
        leave_terminal();
    if (!passed_place(&target->passed, &doorman, &target->error)) {
        target->status = STATUS_REFUSED;
        _exit(1);
    }
    if (target->plan->backend == BACKEND_NAMESPACES)
        replace_devices(&target->passed);
    if (!give_up_privileges(target, doorman, &target->error)) {
        target->status = STATUS_REFUSED;
        _exit(1);
    }
    sigaction(SIGCHLD, &target->child_action, NULL);
    deliver_spare_stops();
    sigprocmask(SIG_SETMASK, &target->signal_mask, NULL);
    target->status = 0;
    int status = execute(target);
    target->status = status;
    _exit(1);
}

bool target_start(struct target *target, pid_t *pid, struct error *err)
{
    /* The child begins here, where the supervisor keeps us: another processor would have to be woken for it. */
    pid_t child = vfork();

    if (child == 0)
        become(target);
    int errnum = errno;
    placement_keep(&target->placement, 0, PLACEMENT_ANYWHERE);
    if (child < 0)
        return error_set_errno(err, errnum, "cannot make a process for the command");
    target->spared_stop = deliver_spared_stop();
    *pid = child;
    return true;
}
