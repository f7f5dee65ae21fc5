/* Chooses the subcommand, or the personality by argv[0]. */
#include "base/log.h"

int main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    log_error("no command is built yet");
    return 125;
}
