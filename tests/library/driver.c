/* What test_library.py has the library do. Each word is a test; it says what it
 * saw on stdout, and what it thinks is wrong on stderr, with status 1.
 *
 *     driver WORD BINARY PROJECT [MORE...] */
#include <cloche.h>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE = 30000 };

static const char *binary;
static const char *project;

#define REQUIRE(holds)                                                  \
    do {                                                                \
        if (!(holds)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __func__, __LINE__, #holds); \
            exit(1);                                                    \
        }                                                               \
    } while (0)

static cloche_session *session_with(const char *json, const char *const *arguments, cloche_error **error)
{
    struct cloche_options options = {
        .size = sizeof options, .binary = binary, .project = project, .arguments = arguments};
    cloche_policy *policy = cloche_policy_new(error);

    REQUIRE(policy);
    REQUIRE(cloche_policy_add_preset(policy, "dev", error));
    if (json)
        REQUIRE(cloche_policy_add_json(policy, json, error));
    cloche_session *session = cloche_session_new(policy, &options, error);
    cloche_policy_free(policy);
    return session;
}

static cloche_session *session_of(const char *json, cloche_error **error)
{
    return session_with(json, NULL, error);
}

static cloche_session *good_session(const char *json)
{
    cloche_error *error = NULL;
    cloche_session *session = session_of(json, &error);

    if (!session)
        fprintf(stderr, "%s\n", cloche_error_text(error));
    REQUIRE(session);
    return session;
}

static cloche_process *start(cloche_session *session, const char *text, int output)
{
    const char *argv[] = {"sh", "-c", text, NULL};
    struct cloche_spawn spawn = {
        .size = sizeof spawn, .argv = argv, .directory = project, .input = -1, .output = output, .diagnostics = -1};
    cloche_error *error = NULL;
    cloche_process *process = cloche_spawn(session, &spawn, &error);

    if (!process)
        fprintf(stderr, "%s\n", cloche_error_text(error));
    REQUIRE(process);
    return process;
}

static int end_of(cloche_process *process)
{
    struct cloche_status status = {.size = sizeof status};
    cloche_error *error = NULL;

    REQUIRE(cloche_wait(process, PATIENCE, &status, &error) == 1);
    REQUIRE(!status.refused);
    return status.code;
}

static int run(cloche_session *session, const char *text)
{
    cloche_process *process = start(session, text, -1);
    int code = end_of(process);

    cloche_process_free(process);
    return code;
}

/* ---- events ---- */

struct seen {
    int denied;
    char object[256];
    char hint[256];
};

static void see(void *argument, cloche_process *process, const struct cloche_event *event)
{
    struct seen *seen = argument;

    REQUIRE(process && event->json[0] == '{' && event->kind && event->verdict);
    if (strcmp(event->verdict, "denied") != 0)
        return;
    seen->denied++;
    snprintf(seen->object, sizeof seen->object, "%s", event->object ? event->object : "");
    snprintf(seen->hint, sizeof seen->hint, "%s", event->hint ? event->hint : "");
}

static void test_events(void)
{
    cloche_session *session = good_session(NULL);
    struct seen seen = {0};

    cloche_session_on_event(session, see, &seen);
    REQUIRE(run(session, "echo mine >made") == 0 && seen.denied == 0);
    cloche_process *process = start(session, "echo x >.bashrc", -1);
    REQUIRE(end_of(process) != 0 && seen.denied == 1);
    printf("%s\n%s\n", seen.object, seen.hint);
    char *annotated = cloche_annotate(process, "said on stderr\n", NULL);
    REQUIRE(annotated);
    printf("%s", annotated);
    cloche_free(annotated);
    cloche_session_free(session);
}

/* ---- ends ---- */

static void test_ends(void)
{
    cloche_session *session = good_session(NULL);
    struct cloche_status status = {.size = sizeof status};
    cloche_error *error = NULL;

    REQUIRE(run(session, "exit 7") == 7);
    REQUIRE(run(session, "exit 125") == 125); /* and not refused: end_of looks */
    REQUIRE(run(session, "kill -SEGV $$") == 128 + SIGSEGV);

    cloche_process *process = start(session, "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done", -1);
    REQUIRE(cloche_wait(process, 300, &status, &error) == 0);
    REQUIRE(cloche_signal(process, SIGTERM, &error));
    REQUIRE(end_of(process) == 9);
    REQUIRE(!cloche_signal(process, SIGTERM, &error) && cloche_error_code(error) == CLOCHE_ERROR_ARGUMENT);
    cloche_error_free(error);
    error = NULL;
    REQUIRE(cloche_wait(process, 0, &status, &error) == 1 && status.code == 9); /* as often as one likes */
    cloche_process_free(process);

    process = start(session, "trap '' TERM INT HUP; while :; do sleep 1; done", -1);
    REQUIRE(cloche_wait(process, 300, &status, &error) == 0);
    REQUIRE(cloche_kill(process, &error));
    REQUIRE(end_of(process) == 128 + SIGKILL);
    cloche_session_free(session); /* and the process with it */

    session = good_session(NULL);
    start(session, "sleep 1000", -1);
    cloche_session_free(session);
}

/* ---- one policy, then another ---- */

static void test_update(void)
{
    cloche_session *session = good_session(NULL);
    cloche_error *error = NULL;
    bool allowed = true;
    char *answer = NULL;

    REQUIRE(run(session, "echo 1 >first") == 0);
    REQUIRE(cloche_explain(session, "write:first", &allowed, &answer, &error) && allowed && answer[0] == '{');
    cloche_free(answer);

    cloche_policy *wrong = cloche_policy_new(&error);
    REQUIRE(cloche_policy_add_json(wrong, "{\"filesystm\": {}}", &error));
    REQUIRE(!cloche_session_update(session, wrong, &error) && cloche_error_code(error) == CLOCHE_ERROR_POLICY);
    REQUIRE(strstr(cloche_error_text(error), "filesystm"));
    cloche_error_free(error);
    error = NULL;
    cloche_policy_free(wrong);
    REQUIRE(run(session, "echo 2 >second") == 0);

    cloche_policy *stricter = cloche_policy_new(&error);
    REQUIRE(cloche_policy_add_preset(stricter, "dev", &error));
    REQUIRE(cloche_policy_add_json(stricter, " {\"filesystem\": {\"denyWrite\": [\".\"]}}", &error));
    REQUIRE(cloche_session_update(session, stricter, &error));
    cloche_policy_free(stricter);
    REQUIRE(run(session, "echo 3 >third") != 0);
    REQUIRE(cloche_explain(session, "write:third", &allowed, NULL, &error) && !allowed);
    REQUIRE(!cloche_explain(session, "--help", &allowed, NULL, &error));
    cloche_error_free(error);
    cloche_session_free(session);
}

/* ---- questions ---- */

static void ask(void *argument, cloche_process *process, const struct cloche_question *question)
{
    bool allow = strcmp(question->host, "other.test") == 0;

    (void)argument;
    printf("asked %s:%u\n", question->host, (unsigned)question->port);
    REQUIRE(cloche_answer(process, question->number, allow, allow ? NULL : "not today", NULL));
}

static void ask_about_files(void *argument, cloche_process *process, const struct cloche_question *question)
{
    const char *name = question->path ? strrchr(question->path, '/') : "";
    bool (*answer)(cloche_process *, uint32_t, bool, const char *, cloche_error **) =
        strcmp(name, "/kept") == 0 ? cloche_answer_for_run : cloche_answer;

    (void)argument;
    REQUIRE(!question->host && question->program && question->pid > 1);
    printf("asked to %s %s\n", question->kind, name);
    if (name[1] == 'a') {
        cloche_error *error = NULL;
        REQUIRE(!cloche_allow_for_session(process, question->number + 1, &error));
        cloche_error_free(error);
        REQUIRE(strcmp(name, "/a-other") == 0 ? cloche_answer(process, question->number, false, NULL, NULL)
                                              : cloche_allow_for_session(process, question->number, NULL));
        return;
    }
    REQUIRE(answer(process, question->number, strcmp(name, "/refused") != 0, NULL, NULL));
}

/* The project is in a home that is hidden but for it. */
static void test_ask_about_files(void)
{
    static const char *const arguments[] = {"--ask", NULL};
    cloche_error *error = NULL;
    cloche_session *session = session_with(NULL, arguments, &error);

    REQUIRE(session);
    REQUIRE(run(session, "echo x > ../alone") != 0); /* nobody was to be asked */
    cloche_session_on_ask(session, ask_about_files, NULL);
    REQUIRE(run(session, "echo x > ../once") == 0);
    REQUIRE(run(session, "echo x > ../refused") != 0);
    REQUIRE(run(session, "mkdir ../kept && echo x > ../kept/one && echo x > ../kept/two") == 0);
    REQUIRE(run(session, "echo 1 > '../a$HOME x'") == 0);
    REQUIRE(run(session, "echo 2 >> '../a$HOME x'") == 0); /* which is not asked about again */
    REQUIRE(run(session, "echo 3 > ../a-other || cat ../a-other") != 0);
    cloche_session_free(session);
}

static void test_ask(void)
{
    cloche_session *session = good_session("{\"network\": {\"allowedDomains\": [\"site.test\"]}}");
    cloche_error *error = NULL;

    REQUIRE(run(session, "curl -sf -m 20 -o /dev/null http://site.test/x") == 0);
    REQUIRE(run(session, "curl -sf -m 20 -o /dev/null http://other.test/x") != 0); /* nobody was to be asked */
    cloche_session_on_ask(session, ask, NULL);
    REQUIRE(run(session, "curl -sf -m 20 -o /dev/null http://site.test/x") == 0);
    REQUIRE(run(session, "curl -sf -m 20 -o /dev/null http://other.test/x") == 0);
    REQUIRE(run(session, "curl -sf -m 20 -o /dev/null http://packages.test/x") != 0);
    cloche_session_on_ask(session, NULL, NULL);

    /* Other lists for one that runs. */
    cloche_process *process =
        start(session,
              "for i in $(seq 200); do curl -sf -o /dev/null http://packages.test/x && exit 5; sleep 0.05; done", -1);
    struct cloche_status status = {.size = sizeof status};
    REQUIRE(cloche_wait(process, 300, &status, &error) == 0);
    cloche_policy *wider = cloche_policy_new(&error);
    REQUIRE(cloche_policy_add_preset(wider, "dev", &error));
    REQUIRE(cloche_policy_add_json(wider, "{\"network\": {\"allowedDomains\": [\"packages.test\"]}}", &error));
    REQUIRE(cloche_session_update(session, wider, &error));
    cloche_policy_free(wider);
    REQUIRE(end_of(process) == 5);
    cloche_session_free(session);
}

/* ---- many ---- */

static size_t open_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    size_t count = 0;

    REQUIRE(directory);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

static void *in_thread(void *argument)
{
    const char *name = argument;
    char json[256];
    char text[256];

    snprintf(json, sizeof json, "{\"filesystem\": {\"denyWrite\": [\"only-%s\"]}}", name);
    cloche_session *session = good_session(json);
    for (int i = 0; i < 4; i++) {
        snprintf(text, sizeof text, "echo x >only-%s", name);
        REQUIRE(run(session, text) != 0);
        snprintf(text, sizeof text, "echo x >by-%s", name);
        REQUIRE(run(session, text) == 0);
    }
    cloche_session_free(session);
    return NULL;
}

static void test_threads(void)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    pthread_t threads[4];
    size_t before = open_descriptors();

    for (size_t i = 0; i < 4; i++)
        REQUIRE(pthread_create(&threads[i], NULL, in_thread, (void *)names[i]) == 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    REQUIRE(open_descriptors() == before);
}

static void test_many(void)
{
    cloche_session *session = good_session(NULL);
    cloche_process *processes[16];
    size_t before = open_descriptors();

    for (int i = 0; i < 16; i++)
        processes[i] = start(session, "exit 3", -1);
    for (int i = 0; i < 16; i++) {
        REQUIRE(end_of(processes[i]) == 3);
        cloche_process_free(processes[i]);
    }
    for (int i = 0; i < 30; i++)
        REQUIRE(run(session, "true") == 0);
    REQUIRE(open_descriptors() == before);
    cloche_session_free(session);
}

/* ---- descriptors ---- */

static void test_descriptors(void)
{
    int ends[2];
    char text[64] = "";

    /* A program without standard descriptors of its own, and with one it did not hide. */
    REQUIRE(pipe(ends) == 0);
    int reading = fcntl(ends[0], F_DUPFD, 20);
    int writing = fcntl(ends[1], F_DUPFD, 20);
    for (int i = 0; i < 10; i++)
        close(i);
    cloche_session *session = good_session(NULL);
    cloche_process *process = start(session, "ls /proc/self/fd | tr '\\n' ' '", writing);
    end_of(process);
    cloche_session_free(session);
    if (read(reading, text, sizeof text - 1) < 0 || strncmp(text, "0 1 2 3 ", 9) != 0)
        exit(1);
}

static void test_passed(void)
{
    cloche_session *session = good_session(NULL);
    const char *argv[] = {"bash", "-c",
                          "read line <&21 && echo \"got $line\" >&23; exec 23>&-; ls /proc/self/fd | wc -l", NULL};
    int in[2];
    int out[2];
    char text[64] = "";
    cloche_error *error = NULL;

    REQUIRE(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    REQUIRE(fcntl(in[0], F_DUPFD_CLOEXEC, 21) == 21 && fcntl(out[1], F_DUPFD_CLOEXEC, 23) == 23);
    const int descriptors[] = {21, 23, -1};
    struct cloche_spawn spawn = {.size = sizeof spawn,
                                 .argv = argv,
                                 .directory = project,
                                 .input = -1,
                                 .output = STDOUT_FILENO,
                                 .diagnostics = STDERR_FILENO,
                                 .descriptors = descriptors};
    cloche_process *process = cloche_spawn(session, &spawn, &error);
    REQUIRE(process);
    close(out[1]);
    close(23);
    REQUIRE(write(in[1], "a line\n", 7) == 7);
    REQUIRE(end_of(process) == 0);
    REQUIRE(read(out[0], text, sizeof text) == 11 && strcmp(text, "got a line\n") == 0);
    REQUIRE(read(out[0], text, sizeof text) == 0);
    cloche_process_free(process);

    const int closed[] = {77, -1};
    const char *test[] = {"test", "!", "-e", "/proc/self/fd/77", NULL};
    spawn.descriptors = closed;
    spawn.argv = test;
    spawn.size = offsetof(struct cloche_spawn, descriptors); /* a program that knows nothing of them */
    process = cloche_spawn(session, &spawn, &error);
    REQUIRE(process && end_of(process) == 0);
    cloche_process_free(process);
    spawn.size = sizeof spawn;
    REQUIRE(!cloche_spawn(session, &spawn, &error) && cloche_error_code(error) == CLOCHE_ERROR_ARGUMENT);
    REQUIRE(strstr(cloche_error_text(error), "descriptor 77 is not open"));
    cloche_error_free(error);
    error = NULL;
    int many[CLOCHE_DESCRIPTORS_MAX + 2];
    for (size_t i = 0; i <= CLOCHE_DESCRIPTORS_MAX; i++)
        many[i] = 21;
    many[CLOCHE_DESCRIPTORS_MAX + 1] = -1;
    spawn.descriptors = many;
    REQUIRE(!cloche_spawn(session, &spawn, &error) && cloche_error_code(error) == CLOCHE_ERROR_ARGUMENT);
    cloche_error_free(error);
    cloche_session_free(session);
}

static void test_orphan(void)
{
    cloche_session *session = good_session(NULL);
    char text[256];

    snprintf(text, sizeof text, "trap '' HUP TERM; exec -a %s sleep 1000", getenv("MARK"));
    const char *argv[] = {"bash", "-c", text, NULL};
    struct cloche_spawn spawn = {.size = sizeof spawn, .argv = argv, .input = -1, .output = -1, .diagnostics = -1};
    REQUIRE(cloche_spawn(session, &spawn, NULL));
    printf("started\n");
    fflush(stdout);
    pause();
}

/* ---- misuse ---- */

static void expect(cloche_error **error, enum cloche_code code, const char *words)
{
    const char *text = *error ? cloche_error_text(*error) : "";

    /* Neither begun nor ended as a line on a terminal is. */
    bool plain =
        strncmp(text, "cloche: ", 8) != 0 && !strstr(text, "\ncloche: ") && *text && text[strlen(text) - 1] != '\n';
    if (!*error || cloche_error_code(*error) != code || !strstr(text, words) || !plain) {
        fprintf(stderr, "instead of \"%s\": %d \"%s\"\n", words, *error ? (int)cloche_error_code(*error) : -1, text);
        exit(1);
    }
    cloche_error_free(*error);
    *error = NULL;
}

static void test_misuse(void)
{
    cloche_error *error = NULL;
    struct cloche_options missing = {.size = sizeof missing, .binary = "/nowhere/cloche"};
    struct cloche_options other = {.size = sizeof other, .binary = getenv("OTHER_VERSION")};
    struct cloche_options no_such = {.size = sizeof no_such, .binary = binary, .project = "/nowhere"};
    const char *nothing[] = {NULL};
    const char *command[] = {"true", NULL};
    struct cloche_spawn empty = {.size = sizeof empty, .argv = nothing};
    struct cloche_spawn vanished = {.size = sizeof vanished, .argv = command, .directory = "/nowhere"};
    char *long_text = malloc(CLOCHE_JSON_MAX + 100);

    REQUIRE(!cloche_session_new(NULL, &missing, &error));
    expect(&error, CLOCHE_ERROR_BINARY, "/nowhere/cloche: No such file or directory");
    REQUIRE(!cloche_session_new(NULL, &other, &error));
    expect(&error, CLOCHE_ERROR_VERSION, "cloche 99.0.0");
    REQUIRE(!cloche_session_new(NULL, &no_such, &error));
    expect(&error, CLOCHE_ERROR_POLICY, "/nowhere");
    REQUIRE(!cloche_session_new(NULL, &missing, NULL)); /* a reason nobody wants */

    cloche_session *session = good_session(NULL);
    REQUIRE(!cloche_spawn(session, &empty, &error));
    expect(&error, CLOCHE_ERROR_ARGUMENT, "no command");
    REQUIRE(!cloche_spawn(session, NULL, &error));
    expect(&error, CLOCHE_ERROR_ARGUMENT, "no command");
    REQUIRE(!cloche_spawn(session, &vanished, &error));
    expect(&error, CLOCHE_ERROR_ARGUMENT, "/nowhere: No such file or directory");
    REQUIRE(!cloche_wrap(session, nothing, &error));
    expect(&error, CLOCHE_ERROR_ARGUMENT, "no command");

    cloche_policy *policy = cloche_policy_new(&error);
    REQUIRE(!cloche_policy_add_json(policy, "[]", &error));
    expect(&error, CLOCHE_ERROR_POLICY, "begins with {");
    REQUIRE(long_text);
    memset(long_text, ' ', CLOCHE_JSON_MAX + 99);
    long_text[0] = '{';
    long_text[CLOCHE_JSON_MAX + 98] = '}';
    long_text[CLOCHE_JSON_MAX + 99] = '\0';
    REQUIRE(!cloche_policy_add_json(policy, long_text, &error));
    expect(&error, CLOCHE_ERROR_ARGUMENT, "put it into a file");
    REQUIRE(!cloche_policy_add_file(policy, "", &error));
    expect(&error, CLOCHE_ERROR_ARGUMENT, "empty");
    REQUIRE(!cloche_session_update(session, policy, &error));
    expect(&error, CLOCHE_ERROR_ARGUMENT, "no policy");
    free(long_text);
    cloche_policy_free(policy);
    cloche_session_free(session);
    cloche_session_free(NULL);
    cloche_process_free(NULL);
    cloche_policy_free(NULL);
    cloche_error_free(NULL);
}

/* ---- wrapping ---- */

static void test_wrap(void)
{
    cloche_session *session = good_session(NULL);
    cloche_error *error = NULL;
    const char *argv[] = {"printf", "%s|", "a b", "it's", "", "-c", "$HOME `x` \\ \n!", NULL};
    char *text = cloche_wrap_shell(session, "echo \"it's\" $((6 * 7))", &error);
    char **words = cloche_wrap(session, argv, &error);

    REQUIRE(text && words);
    printf("%s\n", text);
    fflush(stdout);
    cloche_free(text);
    cloche_session_free(session);
    execv(words[0], words);
    exit(1);
}

/* ---- the /tmp of a session ---- */

static void test_tmp(void)
{
    size_t before = open_descriptors();
    cloche_session *one = good_session(NULL);
    cloche_session *two = good_session("{\"filesystem\":{\"tmp\":\"session\"}}");
    cloche_session *apart = good_session("{\"filesystem\":{\"tmp\":\"private\"}}");
    const char *command[] = {"cat", "/tmp/two", NULL};
    cloche_error *error = NULL;

    REQUIRE(run(one, "mkfifo /tmp/pipe && echo one > /tmp/one") == 0);
    REQUIRE(run(two, "test ! -e /tmp/one && echo two > /tmp/two") == 0);
    REQUIRE(run(apart, "test ! -e /tmp/one && echo three > /tmp/three") == 0);
    REQUIRE(run(apart, "test ! -e /tmp/three") == 0);
    REQUIRE(run(one, "test ! -e /tmp/two && grep -q one /tmp/one") == 0);
    cloche_process *reads = start(one, "grep -q word /tmp/pipe", -1);
    REQUIRE(run(one, "echo word > /tmp/pipe") == 0);
    REQUIRE(end_of(reads) == 0);
    cloche_process_free(reads);

    cloche_policy *other = cloche_policy_new(&error);
    REQUIRE(other && cloche_policy_add_preset(other, "strict", &error) && cloche_session_update(one, other, &error));
    REQUIRE(run(one, "test ! -e /tmp/one") == 0); /* that one says private */
    cloche_policy_free(other);

    char **words = cloche_wrap(two, command, &error);
    REQUIRE(words);
    char *text = cloche_wrap_shell(two, "cat /tmp/two", &error);
    REQUIRE(text && strstr(text, "--session-tmp"));
    REQUIRE(system(text) == 0);
    cloche_free(text);
    cloche_free(words);
    text = cloche_wrap_shell(one, "true", &error);
    REQUIRE(text && !strstr(text, "--session-tmp"));
    cloche_free(text);
    cloche_session_free(one);
    cloche_session_free(two);
    cloche_session_free(apart);
    REQUIRE(open_descriptors() == before);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {
        {"events", test_events}, {"ends", test_ends},     {"update", test_update},           {"threads", test_threads},
        {"many", test_many},     {"orphan", test_orphan}, {"descriptors", test_descriptors}, {"misuse", test_misuse},
        {"wrap", test_wrap},     {"ask", test_ask},       {"files", test_ask_about_files},   {"tmp", test_tmp},
        {"passed", test_passed},
    };

    if (argc < 4)
        return 2;
    binary = argv[2];
    project = argv[3];
    REQUIRE(cloche_abi() == CLOCHE_ABI);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        if (strcmp(tests[i].name, argv[1]) == 0) {
            tests[i].run();
            return 0;
        }
    }
    return 2;
}
