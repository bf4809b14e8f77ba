/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Signals that end a program, all but those of a crash. The handler does only
 * what a handler may: it sets a flag, or removes unfinished files and leaves by
 * _exit.
 */
#include "cli/cli.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static const int signals_crash[] = {SIGILL, SIGABRT, SIGFPE, SIGSEGV,
                                    SIGBUS, SIGSYS,  SIGTRAP};
/* Signals that end nothing by themselves, or cannot be caught. */
static const int signals_harmless[] = {SIGCHLD, SIGCONT,  SIGSTOP,
                                       SIGTSTP, SIGTTIN,  SIGTTOU,
                                       SIGURG,  SIGWINCH, SIGKILL};
static const int signals_failing[] = {SIGPIPE, SIGXFSZ}; /* of a write */

static volatile sig_atomic_t signals_deferred, signals_caught;

static void signals_handle(int number)
{
    if (!signals_deferred || signals_caught) {
        klr_output_abandon_all();
        _exit(CLI_INTERRUPTED + number);
    }
    signals_caught = number;
}

static void signals_leave(sigset_t *set, const int *number, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sigdelset(set, number[i]);
}

/* All others, those of real time too. */
static void signals_ending(sigset_t *set)
{
    sigfillset(set);
    signals_leave(set, signals_crash,
                  sizeof signals_crash / sizeof *signals_crash);
    signals_leave(set, signals_harmless,
                  sizeof signals_harmless / sizeof *signals_harmless);
    signals_leave(set, signals_failing,
                  sizeof signals_failing / sizeof *signals_failing);
}

static void signals_set(int number, void (*handler)(int))
{
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    signals_ending(&action.sa_mask);
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

void cli_catch_signals(void)
{
    sigset_t ending;
    signals_ending(&ending);
    for (int number = 1; number <= SIGRTMAX; number++)
        if (sigismember(&ending, number) == 1)
            signals_set(number, signals_handle);
    for (size_t i = 0; i < sizeof signals_failing / sizeof *signals_failing;
         i++)
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
