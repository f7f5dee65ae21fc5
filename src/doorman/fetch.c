/* Performers hold no capability and stand under Landlock, so the kernel keeps
 * them from looking through /proc/PID/fd of the caller, and asked by the command
 * to open /proc/1/mem they fail as the command itself would (attack 105). What the
 * command may do there with itself is done here, by one thread that has
 * CAP_SYS_PTRACE, opens nothing for anything but reading, and serves only tasks that carry the
 * run's filter: never pid 1, which has all capabilities inside. */
#include "doorman/fetch.h"

#include "base/fd.h"
#include "doorman/name.h"
#include "doorman/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* One errand at a time: they are rare. */
struct errand {
    pthread_mutex_t turn; /* held by the performer whose errand it is */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    enum { ERRAND_NONE, ERRAND_GIVEN, ERRAND_DONE } state;

    enum { WANT_ENTRY, WANT_OPEN, WANT_SELF, WANT_SESSION, WANT_CALLER } want;
    int directory;
    const char *entry;
    int object;
    pid_t caller;
    int process; /* its numbers in the sandbox */
    int thread;
    struct session session;
    struct caller *who;
    int found;
    int error;
};

static int read_small(int directory, const char *path, char *text, size_t size)
{
    FD_CLEANUP int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);

    if (length < 0)
        return errno;
    text[length] = '\0';
    return 0;
}

/* How many directories below /proc/PID; -1 if it is not in one. */
static int depth_below_task(const struct house *house, int directory, int *process)
{
    struct name name;
    int depth = -1;

    name_of(house, directory, &name);
    struct slice path = name_slice(&name);
    if (name.kind != NAME_KNOWN || !slice_starts(path, SLICE("/proc/")))
        return -1;
    for (size_t i = 0; i < path.len; i++)
        depth += path.ptr[i] == '/';
    if (path.ptr[strlen("/proc/")] < '0' || path.ptr[strlen("/proc/")] > '9')
        return -1;
    *process = (int)strtol(path.ptr + strlen("/proc/"), NULL, 10);
    return depth - 1;
}

/* The directory is bound to its task, so what is read through it is about that
 * one, also when its number has been given to another. */
static bool is_of_the_run(int directory, int depth)
{
    static const char *const above[] = {".", "..", "../..", "../../..", "../../../.."};
    char path[64];
    char text[4096];
    struct stat status;

    if ((size_t)depth >= sizeof above / sizeof *above)
        return false;
    /* A task that is not dumpable lets nobody but itself in; its directory is root's. */
    if (fstatat(directory, above[depth], &status, 0) < 0 || status.st_uid != geteuid())
        return false;
    snprintf(path, sizeof path, "%s/status", above[depth]);
    return read_small(directory, path, text, sizeof text) == 0 && strstr(text, "\nSeccomp:\t2\n");
}

/* The last of these numbers, or the first: a task's in the sandbox, or on the host. */
static int number_of(const char *numbers, bool first)
{
    int number = 0;

    while (*numbers == '\t') {
        char *end;
        number = (int)strtol(numbers, &end, 10);
        if (first)
            return number;
        numbers = end;
    }
    return number;
}

enum { STATUS_MAX = 4096 };

static int read_status(const struct house *house, const struct errand *errand, char text[STATUS_MAX])
{
    char path[64];

    snprintf(path, sizeof path, "%d/status", errand->caller);
    return read_small(house->proc, path, text, STATUS_MAX);
}

static int ask_self(const struct house *house, struct errand *errand)
{
    char text[STATUS_MAX];

    int error = read_status(house, errand, text);
    if (error)
        return error;
    const char *processes = strstr(text, "\nNStgid:");
    const char *threads = strstr(text, "\nNSpid:");
    if (!processes || !threads)
        return EACCES;
    bool host = house->policy->around.shares_proc;
    errand->process = number_of(processes + strlen("\nNStgid:"), host);
    errand->thread = number_of(threads + strlen("\nNSpid:"), host);
    return 0;
}

/* The host's /proc shows everybody: nobody but the caller is served there. */
static bool is_a_strangers(const struct house *house, struct errand *errand, int process)
{
    return house->policy->around.shares_proc && (ask_self(house, errand) != 0 || process != errand->process);
}

static int look(const struct house *house, struct errand *errand, int *found)
{
    struct stat status;
    int process = 0;
    int depth = depth_below_task(house, errand->directory, &process);

    if (depth >= 0 && is_a_strangers(house, errand, process))
        return EACCES;
    *found = openat(errand->directory, errand->entry, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (*found < 0)
        return errno;
    if (depth < 0)
        return 0;
    bool is_link = fstat(*found, &status) == 0 && S_ISLNK(status.st_mode);
    if (!is_link)
        return 0;
    fd_close(found);
    if (!is_of_the_run(errand->directory, depth))
        return EACCES;
    *found = openat(errand->directory, errand->entry, O_PATH | O_CLOEXEC);
    return *found < 0 ? errno : 0;
}

/* For reading, and only what /proc itself says of a task of the run, which every other one of it may know. */
static int open_of_task(const struct house *house, struct errand *errand, int *found)
{
    struct statfs status;
    char number[16];
    int process = 0;
    int depth = depth_below_task(house, errand->directory, &process);

    /* Whatever it carries: the first one has all capabilities. */
    bool is_first = process == 1 && !house->policy->around.shares_proc;
    if (depth < 0 || is_first || is_a_strangers(house, errand, process) || !is_of_the_run(errand->directory, depth) ||
        fstatfs(errand->object, &status) < 0 || status.f_type != PROC_SUPER_MAGIC)
        return EACCES;
    snprintf(number, sizeof number, "%d", errand->object);
    *found = openat(house->self, number, O_RDONLY | O_CLOEXEC);
    return *found < 0 ? errno : 0;
}

/* "pid (name) state parent group session terminal ..."; the name may hold anything. */
int fetch_read_session(int proc, pid_t caller, struct session *session)
{
    const int pseudo_terminals = 136;
    char path[64];
    char text[1024];

    snprintf(path, sizeof path, "%d/stat", caller);
    int error = read_small(proc, path, text, sizeof text);
    if (error)
        return error;
    const char *behind_name = strrchr(text, ')');
    if (!behind_name || strlen(behind_name) < strlen(") S"))
        return EACCES;
    /* parent, group, session, terminal */
    const char *at = behind_name + strlen(") S");
    long numbers[4];
    for (size_t i = 0; i < 4; i++) {
        char *end;
        numbers[i] = strtol(at, &end, 10);
        if (end == at)
            return EACCES;
        at = end;
    }
    session->id = (pid_t)numbers[2];
    int device = (int)numbers[3];
    if (device == 0)
        return ENXIO;
    int major = device >> 8 & 0xfff;
    int minor = (device & 0xff) | (device >> 12 & 0xfff00);
    session->terminal = major >= pseudo_terminals && major < pseudo_terminals + 8 ? minor : -1;
    return 0;
}

static size_t program_of(const struct house *house, pid_t process, char text[PATH_MAX])
{
    char path[64];

    snprintf(path, sizeof path, "%d/exe", process);
    ssize_t length = process > 0 ? readlinkat(house->proc, path, text, PATH_MAX) : -1;
    return length > 0 ? (size_t)length : 0;
}

static int ask_caller(const struct house *house, struct errand *errand)
{
    struct caller *who = errand->who;
    char text[STATUS_MAX];

    int error = read_status(house, errand, text);
    if (error)
        return error;
    const char *process = strstr(text, "\nTgid:");
    const char *parent = strstr(text, "\nPPid:");
    who->process = process ? number_of(process + strlen("\nTgid:"), true) : 0;
    who->parent = parent ? number_of(parent + strlen("\nPPid:"), true) : 0;
    who->program_length = program_of(house, who->process, who->program);
    who->parent_program_length = program_of(house, who->parent, who->parent_program);
    return 0;
}

static int run(const struct house *house, struct errand *errand)
{
    switch (errand->want) {
    case WANT_ENTRY:
        return look(house, errand, &errand->found);
    case WANT_OPEN:
        return open_of_task(house, errand, &errand->found);
    case WANT_SELF:
        return ask_self(house, errand);
    case WANT_SESSION:
        return fetch_read_session(house->proc, errand->caller, &errand->session);
    case WANT_CALLER:
        return ask_caller(house, errand);
    }
    return EINVAL;
}

static void *fetch_main(void *argument)
{
    struct house *house = argument;
    struct errand *errand = house->errand;

    pthread_mutex_lock(&errand->mutex);
    for (;;) {
        while (errand->state != ERRAND_GIVEN)
            pthread_cond_wait(&errand->changed, &errand->mutex);
        errand->error = run(house, errand);
        errand->state = ERRAND_DONE;
        pthread_cond_broadcast(&errand->changed);
    }
    return NULL;
}

/* Between beginning and ending an errand it is this thread's alone. */
static void begin_errand(struct errand *errand, pid_t caller)
{
    pthread_mutex_lock(&errand->turn);
    errand->caller = caller;
    errand->found = -1;
}

static void run_errand(struct errand *errand)
{
    pthread_mutex_lock(&errand->mutex);
    errand->state = ERRAND_GIVEN;
    pthread_cond_broadcast(&errand->changed);
    while (errand->state != ERRAND_DONE)
        pthread_cond_wait(&errand->changed, &errand->mutex);
    errand->state = ERRAND_NONE;
    pthread_mutex_unlock(&errand->mutex);
}

static void end_errand(struct errand *errand)
{
    pthread_mutex_unlock(&errand->turn);
}

int fetch_entry(const struct house *house, pid_t caller, int directory, const char *entry, int *fd)
{
    struct errand *errand = house->errand;

    begin_errand(errand, caller);
    errand->want = WANT_ENTRY;
    errand->directory = directory;
    errand->entry = entry;
    run_errand(errand);
    int error = errand->error;
    *fd = errand->found;
    end_errand(errand);
    return error;
}

int fetch_open(const struct house *house, pid_t caller, int directory, int object, int *fd)
{
    struct errand *errand = house->errand;

    begin_errand(errand, caller);
    errand->want = WANT_OPEN;
    errand->directory = directory;
    errand->object = object;
    run_errand(errand);
    int error = errand->error;
    *fd = errand->found;
    end_errand(errand);
    return error;
}

int fetch_self(const struct house *house, pid_t caller, bool thread, char *text, size_t size)
{
    struct errand *errand = house->errand;

    begin_errand(errand, caller);
    errand->want = WANT_SELF;
    run_errand(errand);
    int error = errand->error;
    if (!error && thread)
        snprintf(text, size, "%d/task/%d", errand->process, errand->thread);
    else if (!error)
        snprintf(text, size, "%d", errand->process);
    end_errand(errand);
    return error;
}

int fetch_session(const struct house *house, pid_t caller, struct session *session)
{
    struct errand *errand = house->errand;

    begin_errand(errand, caller);
    errand->want = WANT_SESSION;
    run_errand(errand);
    int error = errand->error;
    *session = errand->session;
    end_errand(errand);
    return error;
}

void fetch_caller(const struct house *house, pid_t thread, struct caller *caller)
{
    struct errand *errand = house->errand;

    begin_errand(errand, thread);
    errand->want = WANT_CALLER;
    errand->who = caller;
    run_errand(errand);
    end_errand(errand);
}

bool fetch_start(struct house *house)
{
    static struct errand errand = {
        .turn = PTHREAD_MUTEX_INITIALIZER, .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    const struct thread thread = {.main = fetch_main, .argument = house};

    house->errand = &errand;
    return thread_start_in_the_end(&thread);
}
