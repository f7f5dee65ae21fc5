/* Reads what a run uses from the /proc of its pid namespace, which shows nothing
 * else. Pid 1 does this: it has the capabilities to read every process of the run
 * and nobody in there can touch it. Where the run has to do with the host's /proc,
 * these are also all that it can read: that tells them from the others.
 *
 * Memory is that which cannot simply be dropped: anonymous pages, swapped ones
 * included, and files in memory (the run's tmpfs, memfds, System V segments,
 * shared anonymous mappings). Two rounds. The first adds up what each process
 * says it has resident: cheap, and too much where pages are shared after fork().
 * Only if that is over the limit, the second asks for proportional sizes.
 * Mapped files in memory appear in both the processes and the files; the larger
 * sum of the two is taken.
 *
 * A process may have lost its first thread, which then says it has no memory
 * while the others have it all; and a child of vfork() shows its parent's memory
 * as its own until it executes something. Memory of the kernel's (pipes, socket
 * buffers) is not seen here. */
#include "jail/measure.h"

#include "base/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATH_LENGTH = 96, MEMFDS_MAX = 8192, LEVELS_MAX = 33 }; /* the kernel nests pid namespaces 32 deep */

/* Files in memory that have no name, each counted once. */
struct memfds {
    uint64_t inodes[MEMFDS_MAX];
    uint64_t bytes;
};

/* One process, from its status file. */
struct process {
    char path[PATH_LENGTH]; /* below /proc, of a thread that is alive */
    int id;
    int parent;
    uint64_t threads;
    uint64_t anonymous;
    uint64_t shared;
};

static size_t read_text(const struct meter *meter, const char *path, char *text, size_t size)
{
    FD_CLEANUP int fd = openat(meter->proc, path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;

    while (fd >= 0 && used < size - 1) {
        ssize_t got = read(fd, text + used, size - 1 - used);
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    text[used] = '\0';
    return used;
}

/* The number in the line that starts with `key`, which includes the colon. A
 * process chooses its name, which is the first line; newlines in it are escaped. */
static uint64_t field(const char *text, const char *key)
{
    size_t length = strlen(key);

    for (const char *line = text; line && *line;) {
        if (strncmp(line, key, length) == 0)
            return strtoull(line + length, NULL, 10);
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return 0;
}

static uint64_t kilobytes(const char *text, const char *key)
{
    return field(text, key) * 1024;
}

static bool read_status(const struct meter *meter, struct process *process)
{
    char path[PATH_LENGTH + 16];
    char text[4096];

    snprintf(path, sizeof path, "%s/status", process->path);
    if (read_text(meter, path, text, sizeof text) == 0)
        return false;
    process->parent = (int)field(text, "PPid:");
    process->threads = field(text, "Threads:");
    process->anonymous = kilobytes(text, "RssAnon:") + kilobytes(text, "VmSwap:");
    process->shared = kilobytes(text, "RssShmem:");
    return strstr(text, "\nVmRSS:") != NULL;
}

/* Numbers of a process from the pid namespace of /proc inwards. */
static size_t read_numbers(const struct meter *meter, const char *id, int numbers[LEVELS_MAX])
{
    static const char key[] = "\nNSpid:";
    char path[PATH_LENGTH];
    char text[4096];
    size_t count = 0;

    snprintf(path, sizeof path, "%s/status", id);
    read_text(meter, path, text, sizeof text);
    const char *at = strstr(text, key);
    for (at = at ? at + sizeof key - 1 : ""; *at == '\t' && count < LEVELS_MAX; count++) {
        char *end;
        numbers[count] = (int)strtol(at, &end, 10);
        at = end;
    }
    return count;
}

/* The number by which pid 1 itself knows a process, or 0. */
static int own_number(const struct meter *meter, int id)
{
    char name[16];
    int numbers[LEVELS_MAX] = {0};

    if (!meter->shows_others)
        return id;
    snprintf(name, sizeof name, "%d", id);
    return read_numbers(meter, name, numbers) > meter->level ? numbers[meter->level] : 0;
}

static bool is_of_the_run(const struct meter *meter, int id)
{
    char path[PATH_LENGTH];
    char ignored[1];

    if (id == meter->self)
        return false;
    if (!meter->shows_others)
        return true;
    snprintf(path, sizeof path, "%d/ns/pid", id);
    return readlinkat(meter->proc, path, ignored, sizeof ignored) > 0;
}

bool meter_open(const struct plan *plan, struct meter *meter, struct error *err)
{
    *meter = (struct meter){
        .count_memory = plan->memory.way == LIMIT_BY_SAMPLES,
        .count_files = plan->open_files != 0,
        .memory_limit = plan->memory.value,
        .shows_others = plan->policy->around.shares_proc,
    };
    meter->proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int numbers[LEVELS_MAX] = {0};
    size_t count = meter->proc < 0 ? 0 : read_numbers(meter, "self", numbers);
    if (count == 0)
        return error_set(err, "cannot open the run's own /proc to measure what it uses");
    meter->self = numbers[0];
    meter->level = count - 1;
    if (!meter->count_memory)
        return true;
    meter->store = open("/dev/shm", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (meter->store < 0)
        return error_set(err, "cannot open the run's own /dev/shm to measure what is in it");
    return true;
}

/* The entries of a directory that are numbers. */
static DIR *open_directory(const struct meter *meter, const char *path)
{
    return fd_list(openat(meter->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static bool next_number(DIR *directory, int *number)
{
    const struct dirent *entry;

    while ((entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        *number = (int)strtol(entry->d_name, NULL, 10);
        return true;
    }
    return false;
}

/* The first thread has ended, and others may live on. */
static void read_living_thread(const struct meter *meter, struct process *process)
{
    char path[PATH_LENGTH];
    int thread;
    uint64_t threads = process->threads;

    snprintf(path, sizeof path, "%d/task", process->id);
    DIR *directory = open_directory(meter, path);
    if (!directory)
        return;
    while (next_number(directory, &thread)) {
        snprintf(process->path, sizeof process->path, "%d/task/%d", process->id, thread);
        if (read_status(meter, process))
            break;
    }
    process->threads = threads;
    closedir(directory);
}

static void read_process(const struct meter *meter, int id, struct process *process)
{
    *process = (struct process){.id = id};
    snprintf(process->path, sizeof process->path, "%d", id);
    if (!read_status(meter, process) && process->threads > 0)
        read_living_thread(meter, process);
}

/* Much cheaper than reading its status. */
static uint64_t count_threads(const struct meter *meter, int id)
{
    enum { LINKS_OF_A_DIRECTORY = 2 };
    char path[PATH_LENGTH];
    struct stat status;

    snprintf(path, sizeof path, "%d/task", id);
    if (fstatat(meter->proc, path, &status, 0) < 0 || status.st_nlink < LINKS_OF_A_DIRECTORY)
        return 0;
    return status.st_nlink - LINKS_OF_A_DIRECTORY;
}

static uint64_t open_files(const struct meter *meter, int id)
{
    char path[PATH_LENGTH];
    struct stat status;
    uint64_t count = 0;
    int ignored;

    snprintf(path, sizeof path, "%d/fd", id);
    /* The size is the number of entries from Linux 6.2 on, and 0 before. */
    if (fstatat(meter->proc, path, &status, 0) == 0 && status.st_size > 0)
        return (uint64_t)status.st_size;
    DIR *directory = open_directory(meter, path);
    while (directory && next_number(directory, &ignored))
        count++;
    if (directory)
        closedir(directory);
    return count;
}

static void add_memfd(struct memfds *memfds, uint64_t inode, uint64_t bytes)
{
    for (size_t i = 0; i < MEMFDS_MAX; i++) {
        uint64_t *slot = &memfds->inodes[(inode + i) % MEMFDS_MAX];
        if (*slot == inode)
            return;
        if (*slot == 0) {
            *slot = inode;
            break;
        }
    }
    memfds->bytes += bytes;
}

static void add_memfds_of(const struct meter *meter, int id, struct memfds *memfds)
{
    static const char prefix[] = "/memfd:";
    char path[PATH_LENGTH];
    int number;

    snprintf(path, sizeof path, "%d/fd", id);
    DIR *directory = open_directory(meter, path);
    if (!directory)
        return;
    while (next_number(directory, &number)) {
        char name[sizeof prefix];
        char target[sizeof prefix];
        struct stat status;

        snprintf(name, sizeof name, "%d", number);
        /* By name first: stat() may wait for a slow file system. */
        if (readlinkat(dirfd(directory), name, target, sizeof target) == (ssize_t)sizeof target &&
            memcmp(target, prefix, sizeof prefix - 1) == 0 && fstatat(dirfd(directory), name, &status, 0) == 0)
            add_memfd(memfds, status.st_ino, (uint64_t)status.st_blocks * 512);
    }
    closedir(directory);
}

static uint64_t system_v_segments(const struct meter *meter)
{
    enum { RSS_COLUMN = 14 };
    int fd = openat(meter->proc, "sysvipc/shm", O_RDONLY | O_CLOEXEC);
    FILE *table = fd < 0 ? NULL : fdopen(fd, "r");
    uint64_t bytes = 0;
    char line[512];

    while (table && fgets(line, sizeof line, table)) {
        char *at = line;
        uint64_t value = 0;
        for (int column = 0; column <= RSS_COLUMN; column++)
            value = strtoull(at, &at, 10); /* the heading has no numbers */
        bytes += value;
    }
    if (table)
        fclose(table);
    else
        fd_close(&fd);
    return bytes;
}

static uint64_t stored(const struct meter *meter)
{
    struct statfs status;

    if (fstatfs(meter->store, &status) < 0)
        return 0;
    return (status.f_blocks - status.f_bfree) * (uint64_t)status.f_bsize;
}

static bool shares_with_parent(const struct meter *meter, const struct process *process)
{
    int parent = own_number(meter, process->parent);

    return parent > 0 && syscall(SYS_kcmp, own_number(meter, process->id), parent, KCMP_VM, 0, 0) == 0;
}

/* Replaces the sums of a process by its share in them. False: it has ended meanwhile, or its thread has. */
static bool read_shares(const struct meter *meter, struct process *process)
{
    char path[PATH_LENGTH + 16];
    char text[4096];

    snprintf(path, sizeof path, "%s/smaps_rollup", process->path);
    if (read_text(meter, path, text, sizeof text) == 0)
        return false;
    process->anonymous = kilobytes(text, "Pss_Anon:") + kilobytes(text, "SwapPss:");
    process->shared = kilobytes(text, "Pss_Shmem:");
    return true;
}

/* One round over all processes. */
static void survey(const struct meter *meter, bool shares, struct memfds *memfds, uint64_t *anonymous, uint64_t *shared,
                   struct usage *usage)
{
    DIR *processes = open_directory(meter, ".");
    int id;

    *anonymous = 0;
    *shared = 0;
    while (processes && next_number(processes, &id)) {
        struct process process;
        if (!is_of_the_run(meter, id))
            continue;
        if (meter->count_files) {
            uint64_t files = open_files(meter, id);
            usage->files = files > usage->files ? files : usage->files;
        }
        if (!meter->count_memory) {
            usage->tasks += count_threads(meter, id);
            continue;
        }
        read_process(meter, id, &process);
        usage->tasks += process.threads;
        if (memfds)
            add_memfds_of(meter, id, memfds);
        if (shares && shares_with_parent(meter, &process))
            continue;
        /* The sums of one that has ended may have been its parent's, which made it by vfork(). */
        if (shares && process.anonymous + process.shared > 0 && !read_shares(meter, &process))
            read_process(meter, id, &process);
        *anonymous += process.anonymous;
        *shared += process.shared;
    }
    if (processes)
        closedir(processes);
}

void measure(const struct meter *meter, struct usage *usage)
{
    struct memfds memfds = {.bytes = 0};
    uint64_t anonymous;
    uint64_t shared;

    *usage = (struct usage){0};
    survey(meter, false, &memfds, &anonymous, &shared, usage);
    if (!meter->count_memory)
        return;

    uint64_t files = memfds.bytes + system_v_segments(meter) + stored(meter);
    usage->memory = anonymous + (shared > files ? shared : files);
    if (usage->memory <= meter->memory_limit)
        return;
    struct usage again = {0};
    survey(meter, true, NULL, &anonymous, &shared, &again);
    usage->memory = anonymous + (shared > files ? shared : files);
}
