/* Sender and receiver of records. The receiver trusts nothing but the kernel's
 * word for the size of a packet: the doorman handles what a hostile command
 * says. */
#include "doorman/records.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void doorman_record_add(struct doorman_record *record, uint32_t *length, const char *bytes, size_t count)
{
    size_t used = doorman_record_size(record) - offsetof(struct doorman_record, text);
    size_t room = sizeof record->text - used;

    if (count > room)
        count = room;
    if (count > 0)
        memcpy(record->text + used, bytes, count);
    *length = (uint32_t)count;
}

size_t doorman_record_size(const struct doorman_record *record)
{
    return offsetof(struct doorman_record, text) + (size_t)record->path_length + record->program_length +
           record->parent_program_length + record->reason_length;
}

void doorman_record_send(int fd, const struct doorman_record *record)
{
    if (fd < 0)
        return;
    /* Signals are the warden's way to end waits for the world; this is none. */
    while (write(fd, record, doorman_record_size(record)) < 0 && errno == EINTR)
        ;
}

static bool is_sound(const struct doorman_record *record, size_t size)
{
    return size >= offsetof(struct doorman_record, text) && record->kind < RECORD_KINDS &&
           record->verdict < RECORD_VERDICTS && record->path_length <= PATH_MAX && record->program_length <= PATH_MAX &&
           record->parent_program_length <= PATH_MAX && record->reason_length <= RECORD_REASON_MAX &&
           doorman_record_size(record) == size;
}

bool doorman_record_receive(int fd, struct doorman_record *record)
{
    for (;;) {
        ssize_t size = recv(fd, record, sizeof *record, MSG_DONTWAIT);
        if (size <= 0 && !(size < 0 && errno == EINTR))
            return false;
        if (size > 0 && is_sound(record, (size_t)size))
            return true;
    }
}
