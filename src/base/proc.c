#include "base/proc.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool proc_is_own(void)
{
    char self[16];
    char number[16];
    ssize_t length = readlink("/proc/self", self, sizeof self);
    int wanted = snprintf(number, sizeof number, "%d", (int)getpid());

    return length == wanted && memcmp(self, number, (size_t)length) == 0;
}
