/* c-ares can look services up by name, and would pull the C library's switch for
 * that into the binary: code that loads other code from files when it is called.
 * Ports are numbers here. These take the place of the library's own, so that
 * there is nothing that could be called. */
#include <errno.h>
#include <netdb.h>
#include <stddef.h>

struct servent *getservbyname(const char *name, const char *protocol)
{
    (void)name;
    (void)protocol;
    return NULL;
}

int getservbyport_r(int port, const char *protocol, struct servent *entry, char *buffer, size_t length,
                    struct servent **result)
{
    (void)port;
    (void)protocol;
    (void)entry;
    (void)buffer;
    (void)length;
    *result = NULL;
    return ENOENT;
}
