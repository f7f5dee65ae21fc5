/* The command shares this terminal, and may have done anything to it: changed its modes,
 * left it in the middle of an escape sequence, on another screen, without a cursor, with letters
 * in the colour of the ground, or stopped its output. All of that is taken back before a word is
 * written, and what was typed until then is thrown away: it was meant for somebody else, or
 * typed before the question could be read. While the question is open the command does not
 * run, so that nothing can be written over it; should something have run nevertheless, whatever was typed is no
 * answer: it may have been one to another question, painted over this one. A question that the command prints itself is
 * answered to the command, which learns a letter by it and gets nothing.
 *
 * Nothing here waits for long: a terminal that takes no bytes is one without answers. */
#include "session/prompt.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "session/caller.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { UNREAD_MS = 400, WRITES_MAX = 40, WRITE_PAUSE_MS = 50, ANCESTORS_MAX = 64 };

/* An unfinished sequence is broken off, the soft state reset, the usual screen shown with the cursor where it
 * is, letters are visible and in their places, nothing but keys is reported, and nothing stands below. */
static const char reset[] = "\x18\x1b\\\x0f\x1b(B\x1b[!p\x1b[0m\x1b"
                            "7\x1b[?1049l\x1b"
                            "7\x1b[r\x1b[?6l\x1b"
                            "8\x1b[0m\x0f\x1b(B\x1b[?7h\x1b[?5l\x1b[4l\x1b[?25h"
                            "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l\x1b[?2004l\x1b[>4;0m\x1b[=0u"
                            "\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\r\n\x1b[J";

static bool write_all(const struct prompt *prompt, const char *bytes)
{
    size_t left = strlen(bytes);

    for (int i = 0; left > 0 && i < WRITES_MAX;) {
        struct pollfd polled = {.fd = prompt->fd, .events = POLLOUT};
        ssize_t written = write(prompt->fd, bytes, left);
        if (written > 0) {
            bytes += written;
            left -= (size_t)written;
        } else if (written < 0 && errno != EAGAIN && errno != EINTR) {
            return false;
        } else {
            poll(&polled, 1, WRITE_PAUSE_MS);
            i++;
        }
    }
    return left == 0;
}

/* ---- the terminal ---- */

/* Is the group of the terminal ours, or one that the command has made? */
static bool is_ours(pid_t group)
{
    pid_t process = group;
    struct caller caller;

    if (group == getpgrp())
        return true;
    for (int i = 0; process > 1 && i < ANCESTORS_MAX; i++) {
        if (process == getpid())
            return true;
        process = caller_find(process, &caller) ? caller.parent : 0;
    }
    return false;
}

/* SIGTTOU is held back, so that one in the background may do this. */
static bool take_terminal(struct prompt *prompt)
{
    prompt->foreground = tcgetpgrp(prompt->fd);
    if (!is_ours(prompt->foreground)) {
        if (!prompt->said_background)
            log_warning("--ask: cloche is not in the foreground of its terminal, and nobody is asked until it is");
        prompt->said_background = true;
        return false;
    }
    if (tcgetattr(prompt->fd, &prompt->before) < 0)
        return false;
    prompt->has_terminal = true;
    if (prompt->foreground != getpgrp())
        tcsetpgrp(prompt->fd, getpgrp());
    return true;
}

static bool make_sane(const struct prompt *prompt)
{
    struct termios sane = prompt->before;

    sane.c_iflag = ICRNL | IUTF8;
    sane.c_oflag = OPOST | ONLCR;
    sane.c_cflag |= CREAD | CS8;
    sane.c_lflag = 0;
    sane.c_cc[VMIN] = 0;
    sane.c_cc[VTIME] = 0;
    tcflow(prompt->fd, TCOON); /* it may have been stopped */
    return tcsetattr(prompt->fd, TCSANOW, &sane) == 0 && tcflush(prompt->fd, TCIFLUSH) == 0;
}

static void give_terminal_back(struct prompt *prompt)
{
    if (!prompt->has_terminal)
        return;
    prompt->has_terminal = false;
    tcflush(prompt->fd, TCIFLUSH);
    tcsetattr(prompt->fd, TCSANOW, &prompt->before);
    if (prompt->foreground != getpgrp())
        tcsetpgrp(prompt->fd, prompt->foreground);
}

/* ---- the question ---- */

static void end_with(struct prompt *prompt, const char *word)
{
    prompt->watch->fd = -1;
    prompt->state = PROMPT_HELD;
    free(prompt->text);
    prompt->text = NULL;
    prompt->answered(prompt->argument, word);
}

static void show(struct prompt *prompt)
{
    prompt->length = 0;
    prompt->state = PROMPT_OPEN;
    if (!prompt->text || !make_sane(prompt) || !write_all(prompt, terminal_takes_sequences() ? reset : "\n") ||
        !write_all(prompt, prompt->text)) {
        end_with(prompt, "");
        return;
    }
    tcflush(prompt->fd, TCIFLUSH);
    prompt->opened = milliseconds_now();
    prompt->watch->fd = prompt->fd;
}

static void held(void *argument, bool still)
{
    struct prompt *prompt = argument;

    if (prompt->state != PROMPT_HOLDING)
        return;
    prompt->state = PROMPT_HELD;
    if (!still)
        log_warning("--ask: what runs in the sandbox cannot be stopped, and nobody is asked while it can write to the "
                    "terminal");
    if (still && (prompt->has_terminal || take_terminal(prompt)))
        show(prompt);
    else
        end_with(prompt, "");
}

static void disturbed(void *argument)
{
    struct prompt *prompt = argument;

    if (prompt->state == PROMPT_OPEN || prompt->state == PROMPT_CHECKING)
        end_with(prompt, "");
}

static void ended(void *argument)
{
    give_terminal_back(argument);
}

void prompt_put(struct prompt *prompt, const char *text)
{
    free(prompt->text);
    prompt->text = strdup(text);
    prompt->state = PROMPT_HOLDING;
    jail_hold_all(&prompt->hold);
}

void prompt_say(struct prompt *prompt, const char *words)
{
    if (prompt->has_terminal)
        write_all(prompt, words);
}

void prompt_again(struct prompt *prompt, const char *words)
{
    prompt->length = 0;
    prompt->state = PROMPT_OPEN;
    prompt->watch->fd = prompt->fd;
    prompt_say(prompt, words);
}

void prompt_release(struct prompt *prompt)
{
    if (prompt->state == PROMPT_IDLE)
        return;
    int foreground = prompt->has_terminal ? prompt->foreground : -1;
    prompt->watch->fd = -1;
    prompt->state = PROMPT_IDLE;
    give_terminal_back(prompt);
    jail_release_all(&prompt->hold);
    if (prompt->interrupted && foreground > 1)
        kill(-foreground, SIGINT);
    prompt->interrupted = false;
}

/* ---- what is typed ---- */

static void look(struct prompt *prompt)
{
    prompt->looks++;
    jail_look_at_all(&prompt->hold);
}

void prompt_look(struct prompt *prompt)
{
    if (prompt->state == PROMPT_OPEN && prompt->looks == 0)
        look(prompt);
}

static void finish_word(struct prompt *prompt)
{
    write_all(prompt, "\n");
    prompt->watch->fd = -1;
    prompt->state = PROMPT_CHECKING;
    look(prompt);
}

/* A look that was under way when the word was finished tells too little. */
static void looked(void *argument, bool still)
{
    struct prompt *prompt = argument;
    char word[PROMPT_WORD_MAX + 1];

    if (prompt->looks > 0)
        prompt->looks--;
    if (prompt->state != PROMPT_OPEN && prompt->state != PROMPT_CHECKING)
        return;
    if (!still) {
        prompt->spoiled = true;
        write_all(prompt, terminal_takes_sequences() ? reset : "\n");
        end_with(prompt, "");
    } else if (prompt->state == PROMPT_CHECKING && prompt->looks == 0) {
        memcpy(word, prompt->typed, prompt->length);
        word[prompt->length] = '\0';
        prompt->state = PROMPT_HELD;
        prompt->answered(prompt->argument, word);
    }
}

/* False: nothing more of it is wanted. */
static bool take_byte(struct prompt *prompt, char byte)
{
    enum { INTERRUPT = 3, END = 4, ERASE = 8, ESCAPE = 27, DELETE = 127 };
    const char echoed[] = {byte, '\0'};

    if (byte == INTERRUPT || byte == END) {
        prompt->interrupted = byte == INTERRUPT;
        write_all(prompt, "\n");
        end_with(prompt, "");
        return false;
    }
    if (byte == '\n' || byte == '\r') {
        if (prompt->length == 0)
            return true; /* nobody says anything by it */
        finish_word(prompt);
        return false;
    }
    if (byte == ESCAPE)
        return false; /* an arrow, say: the rest of it is none of the letters meant */
    if ((byte == ERASE || byte == DELETE) && prompt->length > 0) {
        prompt->length--;
        write_all(prompt, "\b \b");
    } else if (byte > ' ' && byte < DELETE && prompt->length < PROMPT_WORD_MAX) {
        prompt->typed[prompt->length++] = byte;
        write_all(prompt, echoed);
    }
    return true;
}

static void ready(void *argument, struct jail_watch *watch)
{
    struct prompt *prompt = argument;
    char bytes[256];
    ssize_t count = read(watch->fd, bytes, sizeof bytes);

    if (count < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (count <= 0) {
        end_with(prompt, ""); /* the terminal is gone */
        return;
    }
    /* Nobody has read the question yet. */
    if (milliseconds_now() < prompt->opened + UNREAD_MS)
        return;
    for (ssize_t i = 0; i < count; i++) {
        if (!take_byte(prompt, bytes[i]))
            return;
    }
}

/* ---- the whole ---- */

bool prompt_open(struct prompt *prompt, struct jail_watch *watch, struct error *err)
{
    *prompt = (struct prompt){.fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC), .watch = watch};
    prompt->hold = (struct jail_hold){
        .control = -1, .held = held, .looked = looked, .disturbed = disturbed, .ended = ended, .argument = prompt};
    *watch = (struct jail_watch){.fd = -1, .ready = ready, .argument = prompt};
    return prompt->fd >= 0 || error_set_errno(err, errno,
                                              "--ask needs a terminal to ask on, or --control-fd with a program at its "
                                              "other end, and there is none");
}

void prompt_close(struct prompt *prompt)
{
    give_terminal_back(prompt);
    free(prompt->text);
    fd_close(&prompt->fd);
}
