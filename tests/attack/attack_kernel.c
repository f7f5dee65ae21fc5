/* Attacks on the kernel's surface: any system call with any arguments, by any
 * door; sockets, keys, shared memory and message queues. */
#include "attacker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    long number;
} calls[] = {
    {"io_uring_setup", SYS_io_uring_setup},
    {"io_uring_enter", SYS_io_uring_enter},
    {"io_uring_register", SYS_io_uring_register},
    {"bpf", SYS_bpf},
    {"perf_event_open", SYS_perf_event_open},
    {"userfaultfd", SYS_userfaultfd},
    {"kexec_load", SYS_kexec_load},
    {"kexec_file_load", SYS_kexec_file_load},
    {"init_module", SYS_init_module},
    {"finit_module", SYS_finit_module},
    {"delete_module", SYS_delete_module},
    {"add_key", SYS_add_key},
    {"request_key", SYS_request_key},
    {"keyctl", SYS_keyctl},
    {"personality", SYS_personality},
    {"socket", SYS_socket},
    {"socketpair", SYS_socketpair},
    {"ioctl", SYS_ioctl},
    {"clone", SYS_clone},
    {"unshare", SYS_unshare},
    {"getpid", SYS_getpid},
    {"open_tree", SYS_open_tree},
    {"move_mount", SYS_move_mount},
    {"fsopen", SYS_fsopen},
    {"fsconfig", SYS_fsconfig},
    {"fsmount", SYS_fsmount},
    {"fspick", SYS_fspick},
    {"mount_setattr", SYS_mount_setattr},
    {"open_tree_attr", 467},
    {"mount", SYS_mount},
    {"umount2", SYS_umount2},
    {"pivot_root", SYS_pivot_root},
    {"setns", SYS_setns},
    {"chroot", SYS_chroot},
    {"reboot", SYS_reboot},
    {"swapon", SYS_swapon},
    {"syslog", SYS_syslog},
    {"acct", SYS_acct},
    {"quotactl", SYS_quotactl},
    {"fchmod", SYS_fchmod},
    {"fchmodat", SYS_fchmodat},
    {"fchmodat2", 452},
    {"openat", SYS_openat},
    {"mknodat", SYS_mknodat},
    {"fcntl", SYS_fcntl},
    {"landlock_create_ruleset", 444},
#ifdef SYS_creat
    {"chmod", SYS_chmod},
    {"creat", SYS_creat},
#endif
};

static long call_number(const char *name)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (strcmp(calls[i].name, name) == 0)
            return calls[i].number;
    }
    return (long)number(name);
}

/* A word is a number, @TEXT for the address of a text, or nothing for 0. */
static long argument(char **words, size_t count, size_t index)
{
    if (index >= count)
        return 0;
    return words[index][0] == '@' ? (long)(uintptr_t)(words[index] + 1) : (long)number(words[index]);
}

static long call_with(long which, char **words)
{
    size_t count = 0;

    while (count < 6 && words[count])
        count++;
    return syscall(which, argument(words, count, 0), argument(words, count, 1), argument(words, count, 2),
                   argument(words, count, 3), argument(words, count, 4), argument(words, count, 5));
}

static int any_call(char **words)
{
    return call_with(call_number(words[0]), words + 1) < 0 ? -1 : 0;
}

static int call_by_x32(char **words)
{
    return call_with(call_number(words[0]) | 0x40000000, words + 1) < 0 ? -1 : 0;
}

/* getpid, by the 32-bit table's number. */
static int call_by_int80(char **words)
{
    (void)words;
#ifdef __x86_64__
    long result = 20;
    __asm__ volatile("int $0x80" : "+a"(result) : "b"(0), "c"(0), "d"(0) : "memory", "r8", "r9", "r10", "r11");
    if ((int)result < 0) {
        errno = -(int)result;
        return -1;
    }
    return 0;
#else
    errno = ENOSYS;
    return -1;
#endif
}

static int make_shared_memory(char **words)
{
    int id = shmget((key_t)number(words[0]), 4096, IPC_CREAT | IPC_EXCL | 0666);
    char *memory = id < 0 ? (char *)-1 : shmat(id, NULL, 0);

    if (memory == (char *)-1)
        return -1;
    strcpy(memory, words[1]);
    return 0;
}

static int remove_shared_memory(char **words)
{
    int id = shmget((key_t)number(words[0]), 0, 0);

    return id < 0 ? -1 : shmctl(id, IPC_RMID, NULL);
}

static int read_shared_memory(char **words)
{
    int id = shmget((key_t)number(words[0]), 0, 0);
    const char *memory = id < 0 ? (const char *)-1 : shmat(id, NULL, SHM_RDONLY);

    if (memory == (const char *)-1)
        return -1;
    fputs(memory, stdout);
    return 0;
}

static int make_queue(char **words)
{
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 256};
    mqd_t queue = mq_open(words[0], O_CREAT | O_EXCL | O_RDWR, 0666, &attributes);

    return queue < 0 ? -1 : mq_send(queue, words[1], strlen(words[1]), 0);
}

static int remove_queue(char **words)
{
    return mq_unlink(words[0]);
}

static int read_queue(char **words)
{
    char buffer[256];
    mqd_t queue = mq_open(words[0], O_RDONLY | O_NONBLOCK);
    ssize_t length = queue < 0 ? -1 : mq_receive(queue, buffer, sizeof buffer, NULL);

    if (length < 0)
        return -1;
    fwrite(buffer, 1, (size_t)length, stdout);
    return 0;
}

static int add_key(char **words)
{
    return (int)syscall(SYS_add_key, "user", words[0], words[1], strlen(words[1]), KEY_SPEC_USER_KEYRING);
}

static int read_key(char **words)
{
    char buffer[256];
    long key = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", words[0], 0);
    long length = key < 0 ? -1 : syscall(SYS_keyctl, KEYCTL_READ, key, buffer, sizeof buffer);

    if (length < 0)
        return -1;
    fwrite(buffer, 1, (size_t)length, stdout);
    return 0;
}

static int remove_key(char **words)
{
    long key = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", words[0], 0);

    return key < 0 ? -1 : (int)syscall(SYS_keyctl, KEYCTL_INVALIDATE, key);
}

const struct operation kernel_operations[] = {
    {"call", 1, any_call},
    {"call-by-x32", 1, call_by_x32},
    {"call-by-int80", 0, call_by_int80},
    {"make-shared-memory", 2, make_shared_memory},
    {"remove-shared-memory", 1, remove_shared_memory},
    {"read-shared-memory", 1, read_shared_memory},
    {"make-queue", 2, make_queue},
    {"remove-queue", 1, remove_queue},
    {"read-queue", 1, read_queue},
    {"add-key", 2, add_key},
    {"read-key", 1, read_key},
    {"remove-key", 1, remove_key},
    {0},
};
