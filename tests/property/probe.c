/* Tries things from inside a sandbox. Requests on standard input, each ended by
 * a NUL: a letter and a path. One line of output each: "ok SIZE" or an errno.
 *   R read a file    L list a directory    W open a file for writing
 *   C create a file (and take it away again) */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void answer(int error, long size)
{
    if (error)
        printf("%s\n", strerrorname_np(error));
    else
        printf("ok %ld\n", size);
}

static void read_file(const char *path)
{
    char content[4096];
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, content, sizeof content);

    answer(size < 0 ? errno : 0, (long)size);
    if (fd >= 0)
        close(fd);
}

static void list_directory(const char *path)
{
    DIR *directory = opendir(path);
    long count = 0;

    if (!directory) {
        answer(errno, 0);
        return;
    }
    while (readdir(directory))
        count++;
    answer(0, count);
    closedir(directory);
}

static void open_for_writing(const char *path)
{
    int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);

    answer(fd < 0 ? errno : 0, 0);
    if (fd >= 0)
        close(fd);
}

/* The path may end in a link to nowhere: what is made is made where it leads. */
static void create_file(const char *path)
{
    char name[PATH_MAX];
    char link[64];
    int fd = open(path, O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0600);
    ssize_t length;

    answer(fd < 0 ? errno : 0, 0);
    if (fd < 0)
        return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, name, sizeof name - 1);
    if (length > 0) {
        name[length] = '\0';
        unlink(name);
    }
    close(fd);
}

int main(void)
{
    char request[PATH_MAX + 2];
    size_t length = 0;
    int byte;

    while ((byte = getchar()) != EOF) {
        if (length < sizeof request)
            request[length++] = (char)byte;
        if (byte != '\0')
            continue;
        switch (request[0]) {
        case 'R':
            read_file(request + 1);
            break;
        case 'L':
            list_directory(request + 1);
            break;
        case 'W':
            open_for_writing(request + 1);
            break;
        case 'C':
            create_file(request + 1);
            break;
        default:
            printf("bad request\n");
        }
        length = 0;
    }
    return 0;
}
