/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs a target: on mutants of its corpus, by number, or on files.
 *
 *   PROGRAM -n COUNT [SEED]      mutants SEED .. SEED+COUNT-1, in as many
 *                                processes as there are processors
 *   PROGRAM [-w FOLDER] SEED...  these mutants, kept as FOLDER/SEED
 *   PROGRAM -c CORPUS ...        mutants of the files in that folder
 *   PROGRAM FILE...              files, such as those that a fuzzer has found
 *
 * A mutant that breaks a promise, stops a sanitizer, asks for ROOM megabytes at
 * once, or takes HANG seconds of processor or WAIT in all, is named, and the
 * others still have their turn. Reading a mutant takes a tenth of the time that
 * training on one takes: a campaign of more than DEEP mutants reads them all,
 * and trains on about DEEP of them.
 */
#include "tests/fuzz/fuzz.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HANG = 60, WAIT = 900, CHUNK = 500, WORKERS = 64, FAILURES = 10 };
enum { DEEP = 100000 };
#define ROOM "16"

static struct mutant mutant;

/* Settings of the address sanitizer, which calls this: an allocation beyond
 * ROOM fails, and lack of memory is no error that a mutant may end with. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=" ROOM;
}

/* ---- The corpus ---- */

static char *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    char *text = malloc(MUTANT_MOST);
    FUZZ_CHECK(file && text, "%s cannot be read", path);
    *length = fread(text, 1, MUTANT_MOST, file);
    FUZZ_CHECK(feof(file) || fgetc(file) == EOF, "%s is too long", path);
    fclose(file);
    return text;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void corpus_read(struct corpus *corpus, const char *folder)
{
    struct dirent **entry;
    int count = scandir(folder, &entry, is_visible, alphasort);
    FUZZ_CHECK(count > 0, "no corpus in %s", folder);
    corpus->item = calloc((size_t)count, sizeof *corpus->item);
    FUZZ_CHECK(corpus->item, "no memory");
    for (int i = 0; i < count; i++) {
        struct specimen *s = &corpus->item[corpus->count++];
        FUZZ_CHECK(asprintf(&s->name, "%s/%s", folder, entry[i]->d_name) > 0,
                   "no memory");
        s->text = read_file(s->name, &s->length);
        free(entry[i]);
    }
    free(entry);
}

/* The target's corpus, or that of another folder. */
static void corpus_fill(struct corpus *corpus, const char *folder)
{
    corpus_read(corpus, folder ? folder : fuzz_folder);
    if (!folder)
        fuzz_add_specimens(corpus);
}

static void corpus_free(struct corpus *corpus)
{
    for (size_t i = 0; i < corpus->count; i++) {
        free(corpus->item[i].name);
        free(corpus->item[i].text);
    }
    free(corpus->item);
}

/* ---- Arguments ---- */

static bool is_number(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == '\0';
}

static uint64_t number(const char *text)
{
    return strtoull(text, NULL, 10);
}

/* ---- One input ---- */

/* Other work on the machine is not to count for what a mutant takes. */
static void set_limits(unsigned processor, unsigned all)
{
    struct itimerval timer = {.it_value = {.tv_sec = processor}};
    setitimer(ITIMER_PROF, &timer, NULL);
    alarm(all);
}

static void feed(const char *text, size_t length)
{
    /* Exactly as long as the input: nothing readable behind it. */
    uint8_t *copy = malloc(length ? length : 1);
    FUZZ_CHECK(copy, "no memory");
    memcpy(copy, text, length);
    set_limits(HANG, WAIT);
    LLVMFuzzerTestOneInput(copy, length);
    set_limits(0, 0);
    free(copy);
}

/* The corpus itself is without fault, or mutants of it would tell little. */
static void corpus_feed(const struct corpus *corpus)
{
    for (size_t i = 0; i < corpus->count; i++) {
        unsigned long before = fuzz_reached[0];
        feed(corpus->item[i].text, corpus->item[i].length);
        FUZZ_CHECK(fuzz_reached[0] > before, "%s is refused",
                   corpus->item[i].name);
    }
}

static void feed_file(const char *path)
{
    size_t length;
    char *text = read_file(path, &length);
    feed(text, length);
    free(text);
}

static void feed_seed(const struct corpus *corpus, const char *seed,
                      const char *folder)
{
    char path[4096];
    mutate(&mutant, corpus, number(seed));
    if (folder) {
        snprintf(path, sizeof path, "%s/%s", folder, seed);
        FILE *file = fopen(path, "wb");
        FUZZ_CHECK(file, "%s cannot be written", path);
        fwrite(mutant.text, 1, mutant.length, file);
        FUZZ_CHECK(!fclose(file), "%s cannot be written", path);
    }
    feed(mutant.text, mutant.length);
}

/* ---- Many mutants ---- */

/* Data that a worker, which may die at any time, leaves to its parent. */
struct worker {
    pid_t pid;
    uint64_t seed, end; /* the mutant at work, and where the chunk ends */
    unsigned long reached[FUZZ_STAGES];
};

struct campaign {
    const struct corpus *corpus;
    struct worker *worker; /* (WORKERS) shared */
    size_t workers;
    uint64_t next, end;
    int failures;
};

static void work(struct worker *self, const struct corpus *corpus)
{
    memset(fuzz_reached, 0, sizeof fuzz_reached);
    for (; self->seed < self->end; self->seed++) {
        mutate(&mutant, corpus, self->seed);
        feed(mutant.text, mutant.length);
        for (int i = 0; i < FUZZ_STAGES; i++) {
            self->reached[i] += fuzz_reached[i];
            fuzz_reached[i] = 0;
        }
    }
    exit(0); /* here leaks are found */
}

static void start(struct campaign *c, struct worker *worker)
{
    if (worker->seed == worker->end) {
        worker->seed = c->next;
        worker->end = c->end - c->next < CHUNK ? c->end : c->next + CHUNK;
        c->next = worker->end;
    }
    worker->pid = 0;
    if (worker->seed == worker->end)
        return;
    pid_t pid = fork();
    FUZZ_CHECK(pid >= 0, "no process");
    if (pid == 0)
        work(worker, c->corpus);
    worker->pid = pid;
}

/* A worker has ended; what it left undone but for the mutant that broke it
 * remains to be done. */
static void account(struct campaign *c, struct worker *worker, int status)
{
    if (status == 0)
        return;
    c->failures++;
    if (worker->seed == worker->end) {
        printf("FAILED: a leak in one of the last %d mutants before %llu\n",
               CHUNK, (unsigned long long)worker->end);
        return;
    }
    int by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    printf("FAILED: mutant %llu%s\n", (unsigned long long)worker->seed,
           by == SIGPROF || by == SIGALRM ? " takes too long" : "");
    fflush(stdout);
    worker->seed++;
}

static void run(struct campaign *c)
{
    size_t busy = 0;
    for (size_t i = 0; i < c->workers; i++) {
        start(c, &c->worker[i]);
        busy += c->worker[i].pid != 0;
    }
    while (busy > 0) {
        int status;
        pid_t pid = wait(&status);
        size_t i = 0;
        FUZZ_CHECK(pid > 0, "%s", strerror(errno));
        while (c->worker[i].pid != pid)
            i++;
        account(c, &c->worker[i], status);
        c->worker[i].pid = 0;
        if (c->failures < FAILURES)
            start(c, &c->worker[i]);
        busy -= c->worker[i].pid == 0;
    }
}

/* 0 if all is well: no failure, and enough inputs got through each stage for
 * the stages behind it to have been tried. */
static int report(const struct campaign *c, uint64_t first, const char *name)
{
    uint64_t count = c->end - first;
    const uint64_t tried[FUZZ_STAGES] = {count, count / fuzz_sparing};
    bool shallow = false;
    printf("%s: mutants %llu to %llu:", name, (unsigned long long)first,
           (unsigned long long)c->end - 1);
    for (int i = 0; i < FUZZ_STAGES; i++) {
        unsigned long reached = 0;
        for (size_t w = 0; w < c->workers; w++)
            reached += c->worker[w].reached[i];
        printf(" %lu %s,", reached, fuzz_stages[i]);
        shallow |= count >= 1000 && reached < tried[i] / 20;
    }
    printf(" %d failures%s\n", c->failures,
           shallow ? "; too few came through" : "");
    if (c->failures)
        printf("repeat one by: %s NUMBER\n", name);
    return c->failures || shallow;
}

static int feed_many(const struct corpus *corpus, uint64_t first,
                     uint64_t count, const char *name)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct campaign c = {.corpus = corpus, .next = first, .end = first + count};
    c.workers = (size_t)(processors < 1         ? 1
                         : processors > WORKERS ? WORKERS
                                                : processors);
    c.worker = mmap(NULL, WORKERS * sizeof *c.worker, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    FUZZ_CHECK(c.worker != MAP_FAILED, "no memory");
    corpus_feed(corpus);
    if (fuzz_is_slow)
        fuzz_sparing = count / DEEP + (count % DEEP > 0);
    fflush(stdout);
    run(&c);
    int status = report(&c, first, name);
    munmap(c.worker, WORKERS * sizeof *c.worker);
    return status;
}

/* ---- The command line ---- */

int main(int argc, char **argv)
{
    struct corpus corpus = {NULL, 0};
    const char *kept = NULL, *folder = NULL;
    uint64_t count = 0;
    int status = 0, option;
    while ((option = getopt(argc, argv, "n:w:c:")) != -1)
        if (option == 'n' && is_number(optarg))
            count = number(optarg);
        else if (option == 'w')
            kept = optarg;
        else if (option == 'c')
            folder = optarg;
        else
            return 2;
    if (count || (optind < argc && is_number(argv[optind])))
        corpus_fill(&corpus, folder);
    if (count)
        status = feed_many(&corpus, optind < argc ? number(argv[optind]) : 1,
                           count, argv[0]);
    for (int i = optind; !count && i < argc; i++)
        if (corpus.count)
            feed_seed(&corpus, argv[i], kept);
        else
            feed_file(argv[i]);
    corpus_free(&corpus);
    return status;
}
