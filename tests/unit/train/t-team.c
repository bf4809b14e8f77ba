/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A team runs each unit once, begins none after a failure, returns the first
 * one, and asks a caller who wants to stop no more.
 */
#define SOLVER_FLOOR 7
#include "solver.c"

#include "tests/tap.h"

enum { UNITS = 40, FAILS = 7 };

static int times[UNITS], asked;

static int count(void *context, size_t unit, size_t member,
                 struct klr_error *err)
{
    struct team *team = context;
    (void)member;
    (void)err;
    pthread_mutex_lock(&team->lock);
    times[unit]++;
    pthread_mutex_unlock(&team->lock);
    return 0;
}

static int fail(void *context, size_t unit, size_t member,
                struct klr_error *err)
{
    count(context, unit, member, err);
    return unit >= FAILS ? klr_fail(err, KLR_E_DATA, "unit %zu", unit) : 0;
}

static int stop(const struct klr_progress *now, void *context)
{
    (void)now;
    (void)context;
    return ++asked == 3;
}

static int tell(void *context, size_t unit, size_t member,
                struct klr_error *err)
{
    struct team *team = context;
    struct klr_progress now = {0};
    (void)member;
    (void)err;
    pthread_mutex_lock(&team->lock);
    times[unit] = team_tell(team, &now);
    pthread_mutex_unlock(&team->lock);
    return 0;
}

static int run(team_unit *unit, size_t members, struct klr_error *err)
{
    struct klr_params params = {.progress = stop};
    struct team team = {.params = &params, .units = UNITS, .unit = unit};
    struct klr_pool *pool = NULL;
    team.context = &team;
    memset(times, 0, sizeof times);
    if (klr_pool_create(&pool, (long long)members, err))
        return -1;
    int code = team_run(&team, pool, members, err);
    klr_pool_free(pool);
    return code;
}

/* How many units have this number of times. */
static int units_of(int number)
{
    int found = 0;
    for (size_t unit = 0; unit < UNITS; unit++)
        found += times[unit] == number;
    return found;
}

int main(void)
{
    struct klr_error err = {0};
    for (size_t members = 1; members <= 3; members += 2)
        ok(run(count, members, &err) == 0 && units_of(1) == UNITS,
           "%zu: each unit once", members);
    ok(run(fail, 1, &err) == KLR_E_DATA && units_of(1) == FAILS + 1,
       "none begins after a failure");
    ok(strcmp(err.message, "unit 7") == 0, "the first failure: %s",
       err.message);
    ok(run(fail, 3, &err) == KLR_E_DATA && units_of(1) <= FAILS + 3,
       "nor by three, beside those at work");
    ok(run(tell, 1, &err) == 0 && asked == 3 && units_of(0) == 2 &&
           units_of(1) == UNITS - 2,
       "who has asked to stop is asked no more: %d", asked);
    return done_testing();
}
