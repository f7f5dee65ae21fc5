/* A scope is a group of processes that the service manager did not start, with a
 * cgroup; one that is "delegated" may be divided by who lives in it. So this
 * process asks for one around itself, and a run's cgroup is then made below it
 * as below any other that is delegated (jail/cgroup.c). The limits are on that
 * one: in a scope around the run alone the manager would take the cgroup away
 * with its last process, and what the kernel noted there of memory and processes
 * could not be read any more. This process keeps it; when it ends, however it
 * does, the scope is empty and the manager removes it with all that is in it.
 *
 * What the manager answers is not believed, only what the kernel says then: in
 * which cgroup this process is, whose that is, and what it hands down. */
#include "host/scope.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "host/cgroup.h"
#include "host/manager.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOOK_AGAIN_AFTER = 2 }; /* milliseconds */

/* Version 1 may have the controllers where both are mounted: no manager could give them then. */
static bool has_controllers(struct arena *arena)
{
    const char *mounted = cgroup_mounted();

    return mounted && cgroup_lists(arena, mounted, "cgroup.controllers", SLICE("memory")) &&
           cgroup_lists(arena, mounted, "cgroup.controllers", SLICE("pids"));
}

const char *scope_manager(struct arena *arena)
{
    struct manager_address addresses[MANAGER_ADDRESSES_MAX];

    return has_controllers(arena) && manager_find(arena, addresses) > 0 ? addresses[0].socket : NULL;
}

static void put_property(struct text *body, const char *name, const char *type)
{
    dbus_put_struct(body);
    dbus_put_string(body, slice_of(name));
    dbus_put_signature(body, slice_of(type));
}

static void put_text_property(struct text *body, const char *name, const char *value)
{
    put_property(body, name, "s");
    dbus_put_string(body, slice_of(value));
}

/* Only what is needed: more controllers would be turned on for everything beside the scope, too. */
static void put_controllers(struct text *body)
{
    put_property(body, "DelegateControllers", "as");
    struct dbus_array names = dbus_array_begin(body, sizeof(uint32_t));
    dbus_put_string(body, SLICE("memory"));
    dbus_put_string(body, SLICE("pids"));
    dbus_array_end(body, names);
}

/* Process 0 is whoever asks: so it is we, whatever our number is to the manager. */
static void put_processes(struct text *body)
{
    put_property(body, "PIDs", "au");
    struct dbus_array pids = dbus_array_begin(body, sizeof(uint32_t));
    dbus_put_u32(body, 0);
    dbus_array_end(body, pids);
}

/* StartTransientUnit(name, mode, properties, auxiliary units): ssa(sv)a(sa(sv)). */
static struct slice arguments(struct arena *arena, const char *unit, bool oom_policy)
{
    struct text body = text_in(arena);

    dbus_put_string(&body, slice_of(unit));
    dbus_put_string(&body, SLICE("fail"));
    struct dbus_array properties = dbus_array_begin(&body, sizeof(uint64_t));
    put_text_property(&body, "Description", "A run of cloche with limits");
    put_processes(&body);
    put_controllers(&body);
    put_property(&body, "TasksMax", "t");
    dbus_put_u64(&body, UINT64_MAX); /* no default of the manager's beside the run's own limit */
    put_text_property(&body, "CollectMode", "inactive-or-failed");
    /* Else the manager would stop the scope, and us who have to tell about it. */
    if (oom_policy)
        put_text_property(&body, "OOMPolicy", "continue");
    dbus_array_end(&body, properties);
    dbus_array_end(&body, dbus_array_begin(&body, sizeof(uint64_t)));
    return text_slice(&body);
}

/* Has the manager done what it was asked, as it says: `*done`. False: it has not said so. */
static bool is_end_of_job(const struct dbus_message *message, const char *unit, bool *done)
{
    struct dbus_cursor body = dbus_body(message);
    struct slice job;
    struct slice name;
    struct slice result;
    uint32_t number;

    if (message->kind != DBUS_SIGNAL || !slice_equal(message->member, SLICE("JobRemoved")) ||
        !slice_equal(message->interface, SLICE("org.freedesktop.systemd1.Manager")) ||
        !slice_equal(message->signature, SLICE("uoss")) || !dbus_take_u32(&body, &number) ||
        !dbus_take_string(&body, &job) || !dbus_take_string(&body, &name) || !dbus_take_string(&body, &result) ||
        !slice_equal(name, slice_of(unit)))
        return false;
    *done = slice_equal(result, SLICE("done"));
    return true;
}

/* Our cgroup, if it is the scope's. */
static bool find_cgroup(struct arena *arena, const char *unit, const char **directory)
{
    struct slice path;
    const char *mounted = cgroup_mounted();
    const char *end = arena_printf(arena, "/%s", unit);

    if (!mounted || !cgroup_own(arena, &path) || !slice_ends(path, slice_of(end)))
        return false;
    *directory = arena_printf(arena, "%s%.*s", mounted, (int)path.len, path.ptr);
    return true;
}

static bool await_cgroup(struct arena *arena, struct manager *manager, const char *unit, const char **directory,
                         struct error *err)
{
    bool over = false;
    bool done = false;

    for (;;) {
        struct arena scratch ARENA_CLEANUP = {0};
        struct dbus_message message;
        bool hung_up = false;
        const char *found;
        if (find_cgroup(&scratch, unit, &found)) {
            *directory = arena_string(arena, found);
            return true;
        }
        if (over)
            return done ? error_set(err, "the service manager made a scope, and this process is not in it")
                        : error_set(err, "the service manager could not make a scope");
        if (milliseconds_now() >= manager->deadline)
            return error_set(err, "the service manager makes no scope in time");
        over = manager_hear(manager, LOOK_AGAIN_AFTER, &message, &hung_up, err) ? is_end_of_job(&message, unit, &done)
                                                                                : hung_up;
    }
}

/* An older systemd has no such policy for scopes, and needs none. */
static bool ask(struct arena *arena, struct manager *manager, const char *unit, struct error *err)
{
    bool refused;

    return manager_call(manager, "StartTransientUnit", "ssa(sv)a(sa(sv))", arguments(arena, unit, true), &refused,
                        err) ||
           (refused && manager_call(manager, "StartTransientUnit", "ssa(sv)a(sa(sv))", arguments(arena, unit, false),
                                    &refused, err));
}

/* A cgroup that hands controllers down has no processes of its own. */
static bool divide(struct arena *arena, const char *directory, struct error *err)
{
    struct stat status;
    const char *own = arena_printf(arena, "%s/cloche", directory);

    if (stat(directory, &status) < 0 || status.st_uid != geteuid())
        return error_set(err, "the service manager's scope is not ours");
    if (mkdir(own, 0755) < 0)
        return error_set_errno(err, errno, "cannot make a cgroup in the service manager's scope");
    if (!cgroup_enter(own))
        return error_set_errno(err, errno, "cannot move within the service manager's scope");
    FD_CLEANUP int controllers =
        open(arena_printf(arena, "%s/cgroup.subtree_control", directory), O_WRONLY | O_CLOEXEC);
    if (controllers < 0 || !fd_write_all(controllers, SLICE("+memory +pids")))
        return error_set_errno(err, errno, "the service manager's scope has not the controllers memory and pids");
    if (!cgroup_has(own, "memory.max") || !cgroup_has(own, "pids.max"))
        return error_set(err, "the service manager's scope does not hand the controllers memory and pids down");
    return true;
}

/* Nobody can have taken it before. */
static bool name_unit(struct arena *arena, const char **unit, struct error *err)
{
    uint64_t number;

    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        return error_set_errno(err, errno, "cannot get random numbers for a name");
    *unit = arena_printf(arena, "cloche-run-%d-%016llx.scope", (int)getpid(), (unsigned long long)number);
    return true;
}

static bool enter_through(struct arena *arena, struct manager *manager, const struct manager_address *address,
                          uint64_t deadline, bool *heard, struct error *err)
{
    const char *unit;
    const char *directory;

    *heard = manager_open(address, deadline, manager, err);
    return *heard && name_unit(arena, &unit, err) && ask(arena, manager, unit, err) &&
           await_cgroup(arena, manager, unit, &directory, err) && divide(arena, directory, err);
}

bool scope_enter(struct arena *arena, struct error *err)
{
    struct manager_address addresses[MANAGER_ADDRESSES_MAX];
    struct manager *manager = ARENA_NEW(arena, struct manager);
    uint64_t deadline = milliseconds_now() + SCOPE_PATIENCE;
    size_t count = has_controllers(arena) ? manager_find(arena, addresses) : 0;
    bool heard = false;
    bool entered = false;

    error_set(err, "there is no service manager to ask");
    for (size_t i = 0; i < count && !heard; i++) {
        entered = enter_through(arena, manager, &addresses[i], deadline, &heard, err);
        fd_close(&manager->fd);
    }
    return entered;
}
