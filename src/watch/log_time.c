#include "watch/log_time.h"

#include <stdio.h>
#include <time.h>

enum { SECOND = 1000, YEAR_MIN = 1970, YEAR_MAX = 9999 };

/* Takes exactly `digits` digits off the text. */
static bool take_number(struct slice *text, size_t digits, int *value)
{
    if (text->len < digits)
        return false;
    *value = 0;
    for (size_t i = 0; i < digits; i++) {
        if (text->ptr[i] < '0' || text->ptr[i] > '9')
            return false;
        *value = *value * 10 + (text->ptr[i] - '0');
    }
    *text = slice_from(*text, digits);
    return true;
}

static bool take_byte(struct slice *text, char byte)
{
    if (!text->len || text->ptr[0] != byte)
        return false;
    *text = slice_from(*text, 1);
    return true;
}

static bool take_date(struct slice *text, struct tm *moment)
{
    if (!take_number(text, 4, &moment->tm_year) || !take_byte(text, '-') || !take_number(text, 2, &moment->tm_mon) ||
        !take_byte(text, '-') || !take_number(text, 2, &moment->tm_mday))
        return false;
    if (moment->tm_year < YEAR_MIN || moment->tm_year > YEAR_MAX || moment->tm_mon < 1 || moment->tm_mon > 12 ||
        moment->tm_mday < 1 || moment->tm_mday > 31)
        return false;
    moment->tm_year -= 1900;
    moment->tm_mon -= 1;
    return true;
}

/* "08:30", or "08:30:00". */
static bool take_clock(struct slice *text, struct tm *moment)
{
    if (!take_number(text, 2, &moment->tm_hour) || !take_byte(text, ':') || !take_number(text, 2, &moment->tm_min))
        return false;
    if (take_byte(text, ':') && !take_number(text, 2, &moment->tm_sec))
        return false;
    return moment->tm_hour < 24 && moment->tm_min < 60 && moment->tm_sec < 61;
}

/* ".123"; digits past the third do not count. */
static bool take_decimals(struct slice *text, int *milliseconds)
{
    int weight = 100;

    *milliseconds = 0;
    if (!take_byte(text, '.'))
        return true;
    size_t before = text->len;
    while (text->len && text->ptr[0] >= '0' && text->ptr[0] <= '9') {
        *milliseconds += (text->ptr[0] - '0') * weight;
        weight /= 10;
        *text = slice_from(*text, 1);
    }
    return text->len < before;
}

bool log_time_parse(struct slice text, int64_t *milliseconds)
{
    struct tm moment = {0};
    int decimals;

    if (!take_date(&text, &moment) || !take_byte(&text, 'T') || !take_clock(&text, &moment) ||
        !take_decimals(&text, &decimals) || !take_byte(&text, 'Z') || text.len)
        return false;
    *milliseconds = (int64_t)timegm(&moment) * SECOND + decimals;
    return true;
}

static int64_t unit_of(char letter)
{
    switch (letter) {
    case 's':
        return SECOND;
    case 'm':
        return (int64_t)60 * SECOND;
    case 'h':
        return (int64_t)60 * 60 * SECOND;
    case 'd':
        return (int64_t)24 * 60 * 60 * SECOND;
    case 'w':
        return (int64_t)7 * 24 * 60 * 60 * SECOND;
    default:
        return 0;
    }
}

/* "1h30m" */
static bool parse_span(struct slice text, int64_t *span)
{
    enum { AMOUNT_MAX = 1000000 };

    if (!text.len)
        return false;
    *span = 0;
    while (text.len) {
        int64_t amount = 0;
        size_t digits = 0;
        for (; digits < text.len && text.ptr[digits] >= '0' && text.ptr[digits] <= '9'; digits++) {
            amount = amount * 10 + (text.ptr[digits] - '0');
            if (amount > AMOUNT_MAX)
                return false;
        }
        int64_t unit = digits < text.len ? unit_of(text.ptr[digits]) : 0;
        if (!digits || !unit)
            return false;
        *span += amount * unit;
        text = slice_from(text, digits + 1);
    }
    return true;
}

static bool parse_local(struct slice text, int64_t now, int64_t *milliseconds)
{
    time_t seconds = (time_t)(now / SECOND);
    struct tm moment = {0};
    struct slice clock = text;

    if (!take_date(&text, &moment)) {
        moment = (struct tm){0};
        struct tm today;
        if (!localtime_r(&seconds, &today) || !take_clock(&clock, &moment) || clock.len)
            return false;
        moment.tm_year = today.tm_year;
        moment.tm_mon = today.tm_mon;
        moment.tm_mday = today.tm_mday;
    } else if (text.len &&
               ((!take_byte(&text, 'T') && !take_byte(&text, ' ')) || !take_clock(&text, &moment) || text.len)) {
        return false;
    }
    moment.tm_isdst = -1;
    *milliseconds = (int64_t)mktime(&moment) * SECOND;
    return true;
}

bool log_time_asked(struct slice text, int64_t now, int64_t *milliseconds, struct error *err)
{
    int64_t span;

    if (parse_span(text, &span)) {
        *milliseconds = now - span;
        return true;
    }
    if (log_time_parse(text, milliseconds) || parse_local(text, now, milliseconds))
        return true;
    return error_set(err,
                     "\"%.*s\" is not a time: a span before now such as 30m, 2h or 3d, a moment such as 2026-11-15, "
                     "\"2026-11-15 08:30\" or 08:30 in local time, or 2026-11-15T08:30:00Z",
                     (int)text.len, text.ptr);
}

static struct tm local_of(int64_t milliseconds)
{
    time_t seconds = (time_t)(milliseconds / SECOND);
    struct tm moment = {0};

    localtime_r(&seconds, &moment);
    return moment;
}

void log_time_of_day(int64_t milliseconds, char text[LOG_TIME_TEXT])
{
    struct tm moment = local_of(milliseconds);

    snprintf(text, LOG_TIME_TEXT, "%02d:%02d:%02d", moment.tm_hour, moment.tm_min, moment.tm_sec);
}

void log_time_date(int64_t milliseconds, char text[LOG_TIME_TEXT])
{
    struct tm moment = local_of(milliseconds);

    snprintf(text, LOG_TIME_TEXT, "%04d-%02d-%02d", moment.tm_year + 1900, moment.tm_mon + 1, moment.tm_mday);
}
