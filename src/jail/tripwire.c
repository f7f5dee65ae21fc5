/* The mount of the tripwire. Its nodes must be known when masks are cloned from
 * it, and each look at a name waits for the supervisor, which takes longer than all
 * the rest. So where there are more than a few, pid 1 lists the root once, and the
 * kernel is told of all of them in few answers (READDIRPLUS), which hold for ever.
 *
 * The supervisor answers each request as it reads it. So nothing waits for it but
 * for a moment, or while it is stopped; when it is gone the kernel ends all waits,
 * and opening a mask is an error of another kind. */
#include "jail/tripwire.h"

#include "base/fd.h"
#include "base/passing.h"
#include "jail/attendant.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CONTEXT, DEVICE, SENT_COUNT };

enum { LIST_SIZE = 65536 };

void tripwire_open(struct tripwire *tripwire, int *inside)
{
    int ends[2];

    *inside = -1;
    if (!tripwire->hooks || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return;
    tripwire->socket = ends[0];
    *inside = ends[1];
}

int tripwire_watched(const struct tripwire *tripwire)
{
    return tripwire->device >= 0 ? tripwire->device : tripwire->socket;
}

static bool make(int context, int device, struct error *err)
{
    char number[16];
    char user[16];
    char group[16];
    const struct mount_option options[] = {{"source", "cloche"}, {"fd", number},      {"rootmode", "40000"},
                                           {"user_id", user},    {"group_id", group}, {"allow_other", NULL}};

    snprintf(number, sizeof number, "%d", device);
    snprintf(user, sizeof user, "%u", geteuid());
    snprintf(group, sizeof group, "%u", getegid());
    return mountfd_configure(context, "fuse", options, sizeof options / sizeof *options, err);
}

/* The kernel's first question is there before pid 1 hears that there is a file
 * system; nothing else is answered before that one. */
static void arm(struct tripwire *tripwire)
{
    int sent[SENT_COUNT] = {-1, -1};
    size_t count = SENT_COUNT;
    struct error ignored;
    char armed;

    if (passing_receive(tripwire->socket, &armed, sizeof armed, sent, &count, MSG_DONTWAIT) == 1 &&
        count == SENT_COUNT && make(sent[CONTEXT], sent[DEVICE], &ignored) &&
        tripwire->hooks->answer(tripwire->hooks->argument, sent[DEVICE])) {
        tripwire->device = fd_take(&sent[DEVICE]);
        send(tripwire->socket, &armed, sizeof armed, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    fd_close(&sent[CONTEXT]);
    fd_close(&sent[DEVICE]);
    fd_close(&tripwire->socket);
}

void tripwire_hear(struct tripwire *tripwire)
{
    if (tripwire->device < 0)
        arm(tripwire);
    else if (!tripwire->hooks->answer(tripwire->hooks->argument, tripwire->device))
        fd_close(&tripwire->device);
}

void tripwire_close(struct tripwire *tripwire)
{
    fd_close(&tripwire->socket);
    fd_close(&tripwire->device);
}

/* ---- pid 1 ---- */

void tripwire_offer(struct mounts *mounts)
{
    FD_CLEANUP int device = -1;
    struct error ignored;

    if (mounts->tripwire.socket < 0)
        return;
    device = openat(mounts->host_devices, "fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (device >= 0)
        mounts->tripwire.context = fsopen("fuse", FSOPEN_CLOEXEC);
    const int sent[SENT_COUNT] = {mounts->tripwire.context, device};
    if (mounts->tripwire.context < 0 || !attending_send(mounts->tripwire.socket, sent, SENT_COUNT, &ignored))
        fd_close(&mounts->tripwire.socket);
}

static size_t count_watched(const struct plan *plan)
{
    size_t count = 0;

    for (size_t i = 0; i < plan->step_count; i++)
        count += plan->steps[i].watched;
    return count;
}

/* Looking is all it is for: the kernel keeps what it is told, and asks (from 6.16) for as
 * much at once as there is room here. */
static bool list(int tree)
{
    FD_CLEANUP int root = openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char buffer[LIST_SIZE];
    long got;

    if (root < 0)
        return false;
    do
        got = syscall(SYS_getdents64, root, buffer, sizeof buffer);
    while (got > 0);
    return got == 0;
}

void tripwire_take(struct mounts *mounts, const struct plan *plan)
{
    enum { A_FEW = 3 }; /* as many questions as a list takes */
    struct tripwire_inside *inside = &mounts->tripwire;
    FD_CLEANUP int mount = -1;
    char armed;
    ssize_t received;

    if (inside->socket < 0)
        return;
    do
        received = recv(inside->socket, &armed, sizeof armed, 0);
    while (received < 0 && errno == EINTR);
    if (received == (ssize_t)sizeof armed)
        /* Not noexec: then nobody would be asked about who wants to execute what is hidden. */
        mount = fsmount(inside->context, FSMOUNT_CLOEXEC, MOUNT_SAFE_READ_ONLY);
    /* Kernels before 6.15 refuse to clone from what is not attached. */
    if (mount >= 0 && move_mount(mount, "", mounts->scratch.tree, TRIPWIRE_DIRECTORY, MOVE_MOUNT_F_EMPTY_PATH) == 0 &&
        (count_watched(plan) <= A_FEW || list(mount)))
        inside->tree = fd_take(&mount);
    fd_close(&inside->context);
    fd_close(&inside->socket);
}
