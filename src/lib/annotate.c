/* The words for a model are the binary's: it gets the text and the events in memory
 * of our own, under no name. */
#include "lib/handles.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int file_of(const char *text, size_t length)
{
    int fd = beyond_standard(memfd_create("cloche", MFD_CLOEXEC));
    size_t done = 0;

    while (fd >= 0 && done < length) {
        ssize_t written = write(fd, text + done, length - done);
        if (written < 0 && errno != EINTR) {
            close(fd);
            return -1;
        }
        done += written > 0 ? (size_t)written : 0;
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

char *cloche_annotate(const cloche_process *process, const char *diagnostics, cloche_error **error)
{
    int text = file_of(diagnostics ? diagnostics : "", diagnostics ? strlen(diagnostics) : 0);
    int events = file_of(process->denials, process->denials_length);
    char name[32];
    char *argv[] = {process->session->binary, (char *)"annotate", (char *)"--events", name, NULL};
    char *annotated = NULL;
    char *complaint = NULL;
    int status = -1;

    snprintf(name, sizeof name, "/dev/fd/%d", events);
    if (text < 0 || events < 0)
        fail(error, CLOCHE_ERROR_SYSTEM, errno, "cannot keep a text in memory");
    else
        status = launch_and_listen(argv, text, events, &annotated, &complaint, error);
    if (text >= 0)
        close(text);
    if (events >= 0)
        close(events);
    if (status > 0) {
        fail(error, CLOCHE_ERROR_BINARY, 0, "%s", complaint);
        free(annotated);
        annotated = NULL;
    }
    if (status >= 0)
        free(complaint);
    return annotated;
}
