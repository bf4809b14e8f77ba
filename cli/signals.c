/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Signals that end a program, but for those of a crash. The handler does only
 * what a handler may: it sets a flag, or removes unfinished files and leaves by
 * _exit.
 */
#include "cli/cli.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static const int signals_ending[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1,
                                     SIGUSR2, SIGALRM, SIGTERM, SIGXCPU};
static const int signals_failing[] = {SIGPIPE, SIGXFSZ}; /* of a write */
enum {
    ENDING = sizeof signals_ending / sizeof *signals_ending,
    FAILING = sizeof signals_failing / sizeof *signals_failing
};

static volatile sig_atomic_t signals_deferred, signals_caught;

static void signals_handle(int number)
{
    if (!signals_deferred || signals_caught) {
        klr_output_abandon_all();
        _exit(CLI_INTERRUPTED + number);
    }
    signals_caught = number;
}

static void signals_set(int number, void (*handler)(int))
{
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < ENDING; i++)
        sigaddset(&action.sa_mask, signals_ending[i]);
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

void cli_catch_signals(void)
{
    for (int i = 0; i < ENDING; i++)
        signals_set(signals_ending[i], signals_handle);
    for (int i = 0; i < FAILING; i++)
        signals_set(signals_failing[i], SIG_IGN);
}

void cli_defer_signals(void)
{
    signals_deferred = 1;
}

int cli_signal(void)
{
    return signals_caught;
}
