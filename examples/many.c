/* Several commands at once, one loop for all of them: what a program with a loop
 * of its own would do.
 *
 *     cc many.c $(pkg-config --cflags --libs cloche) -o many
 *     ./many 'echo one' 'sleep 1; echo two' 'echo x >/etc/motd'
 */
#include <cloche.h>

#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { COMMANDS_MAX = 64 };

static void tell(void *argument, cloche_process *process, const struct cloche_event *event)
{
    (void)argument;
    (void)process;
    if (strcmp(event->kind, "run") == 0) /* that one started or ended */
        return;
    printf("%s %s %s\n", event->verdict, event->kind, event->object ? event->object : "");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    cloche_process *processes[COMMANDS_MAX];
    cloche_error *error = NULL;
    int left = 0;

    cloche_session *session = cloche_session_new(NULL, NULL, &error);
    if (session)
        cloche_session_on_event(session, tell, NULL);
    for (int i = 1; session && i < argc && left < COMMANDS_MAX; i++) {
        const char *command[] = {"sh", "-c", argv[i], NULL};
        struct cloche_spawn spawn = {.size = sizeof spawn, .argv = command, .input = -1, .output = 1, .diagnostics = 2};
        processes[left] = cloche_spawn(session, &spawn, &error);
        if (!processes[left])
            break;
        left++;
    }
    while (session && !error && left > 0) {
        struct pollfd polled = {.fd = cloche_session_fd(session), .events = POLLIN};
        poll(&polled, 1, -1);
        cloche_dispatch(session, &error);
        for (int i = 0; i < left && !error;) {
            struct cloche_status status = {.size = sizeof status};
            if (cloche_wait(processes[i], 0, &status, &error) == 1) {
                printf("ended with %d\n", status.code);
                fflush(stdout);
                cloche_process_free(processes[i]);
                processes[i] = processes[--left];
            } else {
                i++;
            }
        }
    }
    if (error)
        fprintf(stderr, "many: %s\n", cloche_error_text(error));
    cloche_session_free(session);
    int failed = error != NULL;
    cloche_error_free(error);
    return failed;
}
