/* Runs a command under a preset, and tells what was refused it.
 *
 *     cc run.c $(pkg-config --cflags --libs cloche) -o run
 *     ./run dev sh -c 'echo hello; echo x >/etc/motd'
 */
#include <cloche.h>

#include <stdio.h>

static void tell(void *argument, cloche_process *process, const struct cloche_event *event)
{
    (void)argument;
    (void)process;
    if (event->verdict[0] == 'd')
        printf("denied: %s %s%s%s\n", event->kind, event->object ? event->object : "?",
               event->hint ? "; to allow it: " : "", event->hint ? event->hint : "");
}

static int complain(cloche_error *error)
{
    fprintf(stderr, "run: %s\n", cloche_error_text(error));
    cloche_error_free(error);
    return 125;
}

int main(int argc, char **argv)
{
    cloche_error *error = NULL;
    struct cloche_status status = {.size = sizeof status};

    if (argc < 3) {
        fprintf(stderr, "usage: run PRESET COMMAND [ARGUMENT...]\n");
        return 125;
    }
    cloche_policy *policy = cloche_policy_new(&error);
    if (!policy || !cloche_policy_add_preset(policy, argv[1], &error))
        return complain(error);
    cloche_session *session = cloche_session_new(policy, NULL, &error);
    cloche_policy_free(policy);
    if (!session)
        return complain(error);
    cloche_session_on_event(session, tell, NULL);

    struct cloche_spawn spawn = {
        .size = sizeof spawn, .argv = (const char *const *)argv + 2, .input = 0, .output = 1, .diagnostics = 2};
    cloche_process *process = cloche_spawn(session, &spawn, &error);
    if (!process || cloche_wait(process, -1, &status, &error) < 0)
        return complain(error);
    cloche_session_free(session);
    return status.code;
}
