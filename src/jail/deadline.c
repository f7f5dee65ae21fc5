#include "jail/deadline.h"

#include "base/clock.h"

static int64_t now(void)
{
    return (int64_t)milliseconds_now();
}

struct deadline deadline_in(uint64_t seconds)
{
    const uint64_t century = 100ULL * 365 * 24 * 60 * 60;

    if (seconds == 0 || seconds >= century)
        return (struct deadline){0};
    return deadline_after((int64_t)seconds * 1000);
}

struct deadline deadline_after(int64_t milliseconds)
{
    return (struct deadline){now() + milliseconds};
}

bool deadline_is_over(const struct deadline *deadline)
{
    return deadline->milliseconds && now() >= deadline->milliseconds;
}

int deadline_patience(const struct deadline *deadline)
{
    const int64_t day = 24LL * 60 * 60 * 1000;

    if (deadline->milliseconds == 0)
        return -1;
    int64_t left = deadline->milliseconds - now();
    return left <= 0 ? 0 : left > day ? (int)day : (int)left;
}

int deadline_sooner(const struct deadline *deadline, int patience)
{
    int left = deadline_patience(deadline);

    return left >= 0 && (patience < 0 || left < patience) ? left : patience;
}
