/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads that share a list of units: machines of a model, folds of a grid.
 */
#include "solver/train/train.h"

static bool team_tell(struct team *team, const struct klr_progress *now)
{
    const struct klr_params *params = team->params;
    if (!team->stopped)
        team->stopped = params->progress(now, params->context);
    return team->stopped;
}

static bool team_take(struct team *team, size_t *unit)
{
    pthread_mutex_lock(&team->lock);
    bool taken = team->begun < team->units && !team->code;
    *unit = team->begun;
    team->begun += taken;
    pthread_mutex_unlock(&team->lock);
    return taken;
}

static void team_end(struct team *team, int code, const struct klr_error *err)
{
    pthread_mutex_lock(&team->lock);
    if (code && !team->code) {
        team->code = code;
        team->err = *err;
    }
    pthread_cond_broadcast(&team->ended);
    pthread_mutex_unlock(&team->lock);
}

/* The loop of a member: take the next unit, as long as there is one. */
static void team_work(void *context, size_t member, size_t thread)
{
    struct team *team = context;
    struct klr_error err;
    size_t unit;
    while (team_take(team, &unit))
        team_end(team, team->unit(team->context, unit, member, &err), &err);
    (void)thread;
}

static int team_run(struct team *team, struct klr_pool *pool, size_t members,
                    struct klr_error *err)
{
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->ended, NULL);
    klr_pool_run(pool, members, team_work, team);
    pthread_cond_destroy(&team->ended);
    pthread_mutex_destroy(&team->lock);
    if (team->code && err)
        *err = team->err;
    return team->code;
}
