/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress of training on stderr: what a line says, how many there are where
 * nobody may be reading, and the line of a terminal.
 */
#include "cli/cli.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tap.h"

/* The text on stderr since the last call, at most `size` - 1 bytes. */
static int reader;
static char heard[1 << 17];

static const char *hear(void)
{
    ssize_t got = read(reader, heard, sizeof heard - 1);
    heard[got > 0 ? got : 0] = '\0';
    return heard;
}

/* stderr becomes a file, read beside it. */
static void to_file(void)
{
    char path[] = "/tmp/klr-progress-XXXXXX";
    int writer = mkstemp(path);
    reader = open(path, O_RDONLY);
    unlink(path);
    dup2(writer, STDERR_FILENO);
    close(writer);
}

static const struct klr_progress one = {.problem = 1,
                                        .problems = 1,
                                        .iterations = 7,
                                        .violation = 0.25,
                                        .gap = NAN};

/* After so many seconds. */
static const char *say(struct cli_progress *progress, struct klr_progress now,
                       double seconds)
{
    now.seconds = seconds;
    cli_progress(&now, progress);
    return hear();
}

static void test_lines(void)
{
    struct klr_progress now = one;
    struct cli_progress progress = {.name = "name"};
    ok(!*say(&progress, now, 0.99), "nothing in the first second");
    ok(!strcmp(say(&progress, now, 1),
               "name: 1.0 s, 7 iterations, violation 2.5e-01\n"),
       "then a line");
    ok(!*say(&progress, now, 10.9), "none within ten seconds of it");
    now.problem = 2;
    now.problems = 3;
    now.objective = 12.5;
    now.gap = 0.125;
    ok(!strcmp(say(&progress, now, 11),
               "name: problem 2/3, 11.0 s, 7 iterations, violation 2.5e-01, "
               "objective 12.5, gap 1.2e-01\n"),
       "then all that is known");
    now.iterations = 0;
    now.objective = 0;
    now.violation = now.gap = INFINITY;
    ok(!strcmp(say(&progress, now, 21),
               "name: problem 2/3, 21.0 s, 0 iterations\n"),
       "before the first iteration of a problem that is little");
    now.violation = 0;
    ok(!strcmp(say(&progress, now, 31),
               "name: problem 2/3, 31.0 s, 0 iterations\n"),
       "a violation of 0 is none that is known");
    now.points = 110;
    ok(!strcmp(say(&progress, now, 41),
               "name: 110 points, 0% done, 41.0 s, time left unknown\n"),
       "a grid");
    now.done = 0.25;
    ok(!strcmp(say(&progress, now, 52),
               "name: 110 points, 25% done, 52.0 s, some 156 s left\n"),
       "and its rest");
    cli_progress_end(&progress);
    ok(!*hear(), "nothing at the end");
}

/* A pipe of 64 KB that nobody reads stops nobody. */
static void test_bound(void)
{
    struct cli_progress progress = {.name = "name"};
    size_t length = 0, lines = 0;
    for (double seconds = 10; seconds < 1e5; seconds += 10) {
        size_t more = strlen(say(&progress, one, seconds));
        length += more;
        lines += more > 0;
    }
    ok(lines > 100 && length <= 32 * 1024, "%zu lines in a day, %zu bytes",
       lines, length);
}

static void test_quiet(void)
{
    struct cli_progress progress = {.name = "name", .quiet = true};
    ok(!*say(&progress, one, 100), "quiet");
    cli_progress_end(&progress);
    ok(!*hear(), "to the end");
}

/* True if the terminal gets that text next, which may take a moment. */
static bool shows(int terminal, const char *text)
{
    struct pollfd wait = {.fd = terminal, .events = POLLIN};
    size_t length = 0, wanted = strlen(text);
    while (length < wanted && poll(&wait, 1, 10000) > 0) {
        ssize_t got = read(terminal, heard + length, wanted - length);
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    return length == wanted && memcmp(heard, text, wanted) == 0;
}

static void test_terminal(void)
{
    struct cli_progress progress = {.name = "name"};
    struct klr_progress now = one;
    int terminal = posix_openpt(O_RDWR | O_NOCTTY), shown;
    if (terminal < 0 || grantpt(terminal) || unlockpt(terminal) ||
        (shown = open(ptsname(terminal), O_RDWR | O_NOCTTY)) < 0) {
        ok(true, "# SKIP there is no terminal");
        return;
    }
    dup2(shown, STDERR_FILENO);
    setenv("TERM", "dumb", 1);
    now.seconds = 0.5;
    cli_progress(&now, &progress);
    setenv("TERM", "xterm", 1);
    now.seconds = 0.05;
    cli_progress(&now, &progress);
    now.seconds = 0.5;
    cli_progress(&now, &progress);
    ok(shows(terminal, "\rname: 0.5 s, 7 iterations, violation 2.5e-01\033[K"),
       "a terminal that can go back has a line, but not at once");
    now.seconds = 0.625;
    cli_progress(&now, &progress);
    ok(shows(terminal, "\rname: 0.6 s, 7 iterations, violation 2.5e-01\033[K"),
       "that is drawn again");
    cli_progress_end(&progress);
    cli_progress_end(&progress);
    fputs("end", stderr);
    ok(shows(terminal, "\r\033[Kend"), "and goes at the end, once");
}

int main(void)
{
    to_file();
    test_lines();
    test_bound();
    test_quiet();
    test_terminal();
    return done_testing();
}
