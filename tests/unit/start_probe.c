/* Says what a program finds when it has been begun: built with either beginning, for
 * tests/system/test_start.py. With `smash` it writes over its own stack instead; with
 * `nothing` it ends. */
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

enum { LARGE = 3 * 1024 * 1024, ODD = 7 };

struct guards {
    uintptr_t stack;
    uintptr_t jumps;
};

extern char **environ;

static _Thread_local int with_value = 42;
static _Thread_local int without_value;
static int counted_first;
static char **given_first;

__attribute__((constructor)) static void first(int argc, char **argv)
{
    counted_first = argc;
    given_first = argv;
}

__attribute__((destructor)) static void last(void)
{
    puts("destructor");
}

static void at_end(void)
{
    puts("at exit");
}

static struct guards read_guards(void)
{
    struct guards guards;

    __asm__ volatile("movq %%fs:0x28, %0" : "=r"(guards.stack));
    __asm__ volatile("movq %%fs:0x30, %0" : "=r"(guards.jumps));
    return guards;
}

static void *in_thread(void *argument)
{
    struct guards *guards = argument;

    *guards = read_guards();
    printf("thread: %d %d\n", with_value, without_value);
    with_value++;
    errno = ENOENT;
    return NULL;
}

static void show_threads(void)
{
    struct guards own = read_guards();
    struct guards other = {0};
    pthread_t thread;

    errno = 0;
    printf("main: %d %d\n", with_value, without_value);
    int made = pthread_create(&thread, NULL, in_thread, &other);
    int joined = made == 0 ? pthread_join(thread, NULL) : made;
    printf("made: %d, joined: %d\n", made, joined);
    printf("after: %d, errno %d, same guards %d\n", with_value, errno, memcmp(&own, &other, sizeof own) == 0);
    printf("guards %016lx %016lx\n", (unsigned long)own.stack, (unsigned long)own.jumps);
}

static void show_jumps(void)
{
    static jmp_buf place;
    volatile int times = 0;

    if (setjmp(place) < 3) {
        times = times + 1;
        longjmp(place, times);
    }
    printf("jumped %d times\n", times);
}

static unsigned long sum(const unsigned char *bytes, size_t size)
{
    unsigned long result = 5381;

    for (size_t i = 0; i < size; i++)
        result = result * 33 + bytes[i];
    return result;
}

/* Each size has its own way through the library's variants. */
static void show_strings(unsigned char *from, unsigned char *to)
{
    for (size_t i = 0; i < LARGE; i++)
        from[i] = (unsigned char)(1 + (i * i + i / 251) % 255);
    for (size_t size = 1; size + 2 * ODD < LARGE; size = size * 2 + size % 3) {
        memset(to, 1 + (int)size % 255, size + 2 * ODD);
        memcpy(to + ODD, from + 1, size);
        memmove(to + ODD + 2, to + ODD, size);
        printf("%zu: %lx %d", size, sum(to, size + 2 * ODD), memcmp(to + ODD + 2, from + 1, size));
        to[size] = '\0';
        printf(" %zu %p %d %zu\n", strlen((char *)to), memchr(to, 0, size + 1) ? (void *)1 : NULL,
               strncmp((char *)to, (char *)from, size) > 0, strnlen((char *)from, size));
    }
    printf("%s %s %d %zu\n", strstr("a needle in the hay", "needle"), strrchr("a/b/c", '/'), strcasecmp("Ab", "aB"),
           strcspn("words, and", ","));
}

static void show_process(int argc, char **argv, char **environment)
{
    struct timespec now = {0};

    printf("constructor: %d, same arguments %d\n", counted_first, given_first == argv);
    for (int i = 0; i < argc; i++)
        printf("argument %s\n", argv[i]);
    printf("same environment %d\n", environment == environ);
    for (char **name = environ; *name; name++)
        printf("variable %s\n", *name);
    printf("page %lu, secure %lu, name %s\n", getauxval(AT_PAGESZ), getauxval(AT_SECURE),
           program_invocation_short_name);
    printf("signal's stack %ld, processors %ld\n", sysconf(_SC_MINSIGSTKSZ), sysconf(_SC_NPROCESSORS_ONLN));
    printf("upper %c, clock %d\n", toupper('x'), clock_gettime(CLOCK_MONOTONIC, &now) == 0 && now.tv_sec > 0);
    printf("aligned %d\n", (uintptr_t)__builtin_frame_address(0) % 16 == 0);
}

/* Neither constant nor plain, or the compiler would know. */
__attribute__((noinline)) static void smash(size_t size)
{
    char small[16];
    volatile char *volatile place = small;

    for (size_t i = 0; i < size; i++)
        place[i] = 'x';
}

int main(int argc, char **argv, char **environment)
{
    if (argc > 1 && strcmp(argv[1], "smash") == 0)
        smash(64 * (size_t)argc);
    if (argc > 1 && strcmp(argv[1], "nothing") == 0)
        return 0;

    unsigned char *bytes = malloc(2 * LARGE);
    if (!bytes)
        return 1;
    atexit(at_end);
    show_process(argc, argv, environment);
    show_threads();
    show_jumps();
    show_strings(bytes, bytes + LARGE);
    free(bytes);
    printf("unfinished line");
    return 7;
}
