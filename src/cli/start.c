/* Begins the program, instead of the C library's function of this name. That one first
 * asks the processor some 70 times for its features and caches, and in a virtual machine
 * each answer comes from the hypervisor: a sixth of a launch where it was measured. Here
 * nobody asks. The library chooses its string functions by the answers; with none it takes
 * those that every x86-64 can execute.
 *
 * All else is what the library does, done by its own functions. They are private to it: so
 * meson.build takes this file only with the one version it is written for, and
 * tests/system/test_start.py compares what a program finds with either beginning.
 *
 * The main thread must not be ended or cancelled as a thread: where that would lead to is
 * not prepared. */
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__GLIBC__ == 2 && __GLIBC_MINOR__ == 36, "configure with -Dstart=libc");

typedef int main_function(int argc, char **argv, char **environment);
typedef void first_function(int argc, char **argv, char **environment);
typedef void last_function(void);

/* Of the linker. */
extern const ElfW(Rela) __rela_iplt_start[];
extern const ElfW(Rela) __rela_iplt_end[];
extern first_function *const __preinit_array_start[];
extern first_function *const __preinit_array_end[];
extern first_function *const __init_array_start[];
extern first_function *const __init_array_end[];
extern last_function *const __fini_array_start[];
extern last_function *const __fini_array_end[];
void _init(void);
void _fini(void);

/* Of the library. */
const char *_dl_get_origin(void);
extern char **__environ;
extern void *__libc_stack_end;
extern int __libc_enable_secure;
extern const void *_dl_random;
void _dl_aux_init(const ElfW(auxv_t) * values);
void __tunables_init(char **environment);
void __libc_setup_tls(void);
void __libc_early_init(_Bool initial);
void __libc_init_first(int argc, char **argv, char **environment);
void __libc_check_standard_fds(void);
int __cxa_atexit(void (*function)(void *), void *argument, void *object);
int __libc_start_main(main_function *main, int argc, char **argv, last_function *init, last_function *fini,
                      last_function *loader_fini, void *stack_end);

/* Its copying reads these: what it has itself where it does not know the caches. */
enum {
    DATA_CACHE = 32 * 1024,
    SHARED_CACHE = 1024 * 1024,
    NOT_FOR_CACHES = SHARED_CACHE / 4 * 3,
    BY_ONE_INSTRUCTION = 2048
};
long __x86_data_cache_size = DATA_CACHE;
long __x86_data_cache_size_half = DATA_CACHE / 2;
long __x86_shared_cache_size = SHARED_CACHE;
long __x86_shared_cache_size_half = SHARED_CACHE / 2;
long __x86_shared_non_temporal_threshold = NOT_FOR_CACHES;
long __x86_rep_movsb_threshold = BY_ONE_INSTRUCTION;
long __x86_rep_movsb_stop_threshold = NOT_FOR_CACHES;
long __x86_rep_stosb_threshold = BY_ONE_INSTRUCTION;
int __x86_string_control;

/* Where the program lies matters only to who loads parts of it from beside itself. To learn it the
 * library reads a link in /proc, for which the kernel first makes what is not there yet. */
const char *_dl_get_origin(void)
{
    const intptr_t unknown = -1;

    return (const char *)unknown;
}

static void call_last(void *unused)
{
    (void)unused;
    for (last_function *const *next = __fini_array_end; next > __fini_array_start;)
        (*--next)();
    _fini();
}

static void call_first(int argc, char **argv, char **environment)
{
    for (first_function *const *next = __preinit_array_start; next < __preinit_array_end; next++)
        (*next)(argc, argv, environment);
    _init();
    for (first_function *const *next = __init_array_start; next < __init_array_end; next++)
        (*next)(argc, argv, environment);
}

/* Chooses among the library's variants of a function. Until then none of those may be called,
 * nor what the compiler makes of them. */
__attribute__((no_stack_protector)) static void choose_functions(void)
{
    for (const ElfW(Rela) *choice = __rela_iplt_start; choice < __rela_iplt_end; choice++) {
        ElfW(Addr) (*choose)(void) = (ElfW(Addr)(*)(void))choice->r_addend;
        *(ElfW(Addr) *)choice->r_offset = choose();
    }
}

/* What stacks and stored jumps are guarded by: from the kernel, new for each process. A zero in
 * the first keeps strings from being read, or written, across it. */
__attribute__((no_stack_protector)) static void set_guards(void)
{
    uintptr_t guards[2];

    memcpy(guards, _dl_random, sizeof guards);
    guards[0] &= ~(uintptr_t)0xff;
    __asm__ volatile("movq %0, %%fs:0x28" : : "r"(guards[0]));
    __asm__ volatile("movq %0, %%fs:0x30" : : "r"(guards[1]));
}

__attribute__((no_stack_protector)) int __libc_start_main(main_function *main, int argc, char **argv,
                                                          last_function *init, last_function *fini,
                                                          last_function *loader_fini, void *stack_end)
{
    char **end = argv + argc + 1;

    /* Only programs with a loader, or of older libraries, are given these. */
    (void)init, (void)fini, (void)loader_fini;
    __environ = end;
    __libc_stack_end = stack_end;
    while (*end)
        end++;
    _dl_aux_init((const ElfW(auxv_t) *)(end + 1));
    __tunables_init(__environ);
    choose_functions();
    __libc_setup_tls();
    set_guards();
    __libc_early_init(1);
    __libc_init_first(argc, argv, __environ);
    __cxa_atexit(call_last, NULL, NULL);
    if (__libc_enable_secure)
        __libc_check_standard_fds();
    call_first(argc, argv, __environ);
    exit(main(argc, argv, __environ));
}
