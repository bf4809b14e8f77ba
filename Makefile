# SPDX-License-Identifier: BSD-3-Clause
#
# GNU Make alone: settings first, rules below. `make help` lists the targets.
# Everything that is made, but for the three programs, is under $(BUILD); a
# build with other flags is another BUILD and BIN and the same rules.

# ---- Settings ----

# Loops that are worth it are written in vectors, and unrolled: -O3 adds nothing
# but time to compile.
CC      = cc
CFLAGS  = -O2
LDFLAGS =
LDLIBS  = -lm
AR      = ar
NM      = nm
PROVE   = prove
JOBS   := $(shell nproc 2>/dev/null || echo 2)

PREFIX  = /usr/local
DESTDIR =
BINDIR  = $(PREFIX)/bin
DATADIR = $(BINDIR)/../share/klr
MANDIR  = $(PREFIX)/share/man/man1

BUILD = build
BIN   = .

WARNINGS = -Wall -Wextra -Wshadow -Wconversion -Wmissing-prototypes -Wundef
ifdef WERROR
WARNINGS += -Werror
endif

# What the sources need whatever CFLAGS is. No contraction: a number must not
# depend on how the compiler fused its operations. Files beyond 2 GB where long
# has 32 bits.
LANGUAGE = -std=c11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -I. \
	-ffp-contract=off -pthread
COMPILE  = $(CC) $(LANGUAGE) $(WARNINGS) $(CFLAGS) $(CPPFLAGS)

ASAN  = -O1 -g -fsanitize=address -fno-omit-frame-pointer
UBSAN = -O1 -g -fsanitize=undefined,float-cast-overflow \
	-fno-sanitize-recover=all
# Both together make gcc see a truncation that is not there.
SANITIZE = $(ASAN) $(UBSAN) -Wno-format-truncation

# A program that exits with 1 must not be taken for one that a sanitizer or
# valgrind stopped, hence 99.
export ASAN_OPTIONS  = exitcode=99:allocator_may_return_null=1
export UBSAN_OPTIONS = exitcode=99:print_stacktrace=1
VALGRIND = valgrind -q --error-exitcode=99 --leak-check=full

# All processors, unless -j says otherwise.
ifeq ($(MAKELEVEL)$(filter -j% --jobs%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(JOBS)
endif

# check-fuzz: mutants of each kind, and how many of them programs are given.
MUTANTS  = 100000
COMMANDS = 100

# Seconds after which a test is taken for one that never ends.
LIMIT = 900

# ---- Files ----

NAMES    = klr-train klr-predict klr-scale
PROGRAMS = $(NAMES:%=$(BIN)/%)
MANUALS  = $(wildcard docs/*.1)
SCRIPTS  = $(wildcard tools/klr-*)
MODULES  = $(wildcard tools/*.py)

# solver.c and kernel.c are one unit each; their parts are no objects. They take
# longest to compile and so come first.
UNITS   = $(wildcard kernel.c solver.c) $(wildcard base/*.c)
COMMON  = $(wildcard cli/*.c)
PARTS   = $(wildcard solver/*.c kernel/*.c)
OBJECTS = $(UNITS:%.c=$(BUILD)/%.o) $(COMMON:%.c=$(BUILD)/%.o)

# The tests link an archive, so that one which includes solver.c to reach its
# statics does not meet solver.o again.
ARCHIVE = $(BUILD)/klr.a

# TESTS: sources of unit tests and command-line tests. tests/*.c are programs
# that command-line tests call; they share nothing with the toolkit.
TESTS      = $(wildcard tests/unit/*.c tests/cli/*.t)
TEST_TOOLS = $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/*.c))
PRELOADS   = $(patsubst tests/preload/%.c,$(BUILD)/tests/%.so,\
             $(wildcard tests/preload/*.c))
UNIT_TESTS = $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(filter %.c,$(TESTS)))
LINE_TESTS = $(filter %.t,$(TESTS))
# Under sanitizers, and for another processor, tests of the tools, which are not
# compiled, tell nothing new.
ifeq ($(origin TESTS),file)
COMPILED = $(filter-out tests/cli/plots.t tests/cli/tools.t,$(TESTS))
else
COMPILED = $(TESTS)
endif
FUZZERS    = $(BUILD)/data $(BUILD)/model
LONG_TESTS = $(patsubst tests/long/%.c,$(BUILD)/long/%,\
             $(wildcard tests/long/*.c))
RUN_TESTS  = KLR_BIN=$(BIN) KLR_BUILD=$(BUILD) KLR_LIMIT=$(LIMIT) \
             $(PROVE) -j$(JOBS)

# ---- Programs ----

## all: build klr-train, klr-predict and klr-scale (default)
all: $(PROGRAMS)

$(PROGRAMS): $(BIN)/%: $(OBJECTS) $(BUILD)/%.o
	$(COMPILE) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(COMPILE) -MMD -MP -c -o $@ $<

$(ARCHIVE): $(OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

## demo: train on heart_scale, predict it, show probabilities and metrics
demo: all
	@mkdir -p $(BUILD)/demo
	$(BIN)/klr-train -s klr -g 0.05 heart_scale $(BUILD)/demo/model
	$(BIN)/klr-predict heart_scale $(BUILD)/demo/model $(BUILD)/demo/output
	@echo "The first rows of $(BUILD)/demo/output (label, probabilities):"
	@head -n 6 $(BUILD)/demo/output

# ---- Tests ----

# What includes solver.c to reach its statics is compiled in a third of the
# time, or, with sanitizers, in half of it.
$(BUILD)/tests/%: private override CFLAGS := \
	$(subst -O2,-O1,$(subst -O1,-Og,$(CFLAGS)))

$(BUILD)/tests/%: tests/unit/%.c $(ARCHIVE)
	@mkdir -p $(@D)
	$(COMPILE) -MMD -MP $(LDFLAGS) -o $@ $< $(ARCHIVE) $(LDLIBS)

$(BUILD)/long/%: tests/long/%.c $(ARCHIVE)
	@mkdir -p $(@D)
	$(COMPILE) -MMD -MP $(LDFLAGS) -o $@ $< $(ARCHIVE) $(LDLIBS)

$(TEST_TOOLS): $(BUILD)/tests/%: tests/%.c
	@mkdir -p $(@D)
	$(COMPILE) -MMD -MP $(LDFLAGS) -o $@ $< $(LDLIBS)

# Libraries for LD_PRELOAD, which make the system under a program fail.
$(BUILD)/tests/%.so: tests/preload/%.c
	@mkdir -p $(@D)
	$(COMPILE) -fPIC -shared -MMD -MP -o $@ $< -ldl

## check: all tests in a few minutes; TESTS="tests/cli/train.t ..." runs some
check: check-run
ifeq ($(origin TESTS),file)
check: check-symbols check-parts
endif

# Command-line tests need the programs, unit tests only the archive.
check-run: $(UNIT_TESTS) $(if $(LINE_TESTS),$(PROGRAMS) $(TEST_TOOLS))
	$(RUN_TESTS) $(UNIT_TESTS) $(LINE_TESTS)

## check-asan: the tests of programs under the address sanitizer
check-asan:
	$(MAKE) BUILD=build/asan BIN=build/asan CFLAGS="$(ASAN)" \
		TESTS="$(COMPILED)" check-run

## check-ubsan: the same tests under the undefined behaviour sanitizer
check-ubsan:
	$(MAKE) BUILD=build/ubsan BIN=build/ubsan CFLAGS="$(UBSAN)" \
		TESTS="$(COMPILED)" check-run

## check-sanitizers: the same tests under both at once, in half the time
check-sanitizers:
	$(MAKE) BUILD=build/sanitize BIN=build/sanitize CFLAGS="$(SANITIZE)" \
		TESTS="$(COMPILED)" check-run

## check-i386: the same tests where pointers and size_t have 32 bits
check-i386:
	$(MAKE) BUILD=build/i386 BIN=build/i386 CC=i686-linux-gnu-gcc \
		CFLAGS="-Og -msse2 -mfpmath=sse" LDFLAGS=-static \
		TESTS="$(COMPILED)" check-run

## check-valgrind: scale, train and predict under valgrind
check-valgrind: all
	@if ! command -v valgrind >/dev/null; then \
		echo "check-valgrind: skipped, no valgrind here"; exit 0; \
	fi; set -ex; out=$(BUILD)/valgrind; mkdir -p $$out; \
	head -n 80 heart_scale >$$out/data; \
	$(VALGRIND) $(BIN)/klr-scale -s $$out/range $$out/data >$$out/scaled; \
	awk '{ $$1 = NR % 3; print }' $$out/scaled >$$out/three; \
	for s in klr "sklr --no-bias" svm "klr -a trirls" "klr -a smo1" \
			"klr --regularizer coef" ivm lhalf kfd "kfd -a greedy"; do \
		$(VALGRIND) $(BIN)/klr-train -q -s $$s $$out/scaled $$out/model; \
		$(VALGRIND) $(BIN)/klr-predict $$out/scaled $$out/model $$out/output; \
	done; \
	for how in "svm -b 1 --multiclass ddag" "kfd --multiclass ova"; do \
		$(VALGRIND) $(BIN)/klr-train -q -s $$how $$out/three $$out/model; \
		$(VALGRIND) $(BIN)/klr-predict $$out/three $$out/model $$out/output; \
	done; \
	$(VALGRIND) $(BIN)/klr-train -q -v 3 -c 0.1,1 -g 0.05,0.1 $$out/scaled \
		$$out/model

## check-oom: every allocation of a run fails once
check-oom: all $(TEST_TOOLS) $(PRELOADS)
	$(RUN_TESTS) tests/oom.t

## check-fuzz: mutants of data and of models under both sanitizers
check-fuzz:
	$(MAKE) BUILD=build/sanitize BIN=build/sanitize CFLAGS="$(SANITIZE)" \
		fuzz-run

fuzz-run: $(FUZZERS) $(PROGRAMS)
	$(BUILD)/data -n $(MUTANTS)
	$(BUILD)/model -n $(MUTANTS)
	KLR_MUTANTS=$(COMMANDS) $(RUN_TESTS) tests/fuzz/commands.t

$(FUZZERS): $(BUILD)/%: $(BUILD)/tests/fuzz/%.o $(BUILD)/tests/fuzz/main.o \
		$(BUILD)/tests/fuzz/mutate.o $(BUILD)/tests/fuzz/support.o $(ARCHIVE)
	$(COMPILE) $(LDFLAGS) -o $@ $^ $(LDLIBS)

## fuzz: targets for libFuzzer (clang), else for AFL++ (afl-cc)
#
# The kernel unit, all vectors and no bytes of a file, is compiled by CC as it
# is: clang takes minutes to instrument it.
fuzz:
	@$(MAKE) BUILD=build/fuzzer CFLAGS="-O1 -g" build/fuzzer/kernel.o
	@if clang -fsanitize=fuzzer -x c -c -o /dev/null /dev/null 2>/dev/null; then \
		$(MAKE) BUILD=build/fuzzer CC=clang \
			CFLAGS="$(ASAN) $(UBSAN) -fsanitize=fuzzer-no-link" \
			libfuzzer; \
	elif command -v afl-cc >/dev/null; then \
		$(MAKE) BUILD=build/fuzzer CC=afl-cc CFLAGS="$(ASAN) $(UBSAN)" \
			aflfuzz; \
	else echo "fuzz: neither clang with libFuzzer nor afl-cc here"; fi

libfuzzer: $(FUZZERS:%=%-fuzzer)
	@for name in data model; do \
		echo "$(BUILD)/$$name-fuzzer FOLDER tests/fuzz/corpus/$$name"; done

$(FUZZERS:%=%-fuzzer): $(BUILD)/%-fuzzer: $(BUILD)/tests/fuzz/%.o \
		$(BUILD)/tests/fuzz/support.o $(ARCHIVE)
	$(COMPILE) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(LDLIBS)

aflfuzz: $(FUZZERS)
	@for name in data model; do \
		echo "afl-fuzz -i tests/fuzz/corpus/$$name -o FOLDER" \
			"$(BUILD)/$$name @@"; done

## check-long: the tests that take longer
check-long: LIMIT = 36000
check-long: $(LONG_TESTS) all $(TEST_TOOLS) check-fuzz
	$(RUN_TESTS) $(LONG_TESTS) $(wildcard tests/long/*.t)

## check-parts: each part of solver.c, kernel.c and each benchmark parses alone
# but bench/sgemm.c, which asks for OpenBLAS
check-parts:
	@set -e; for part in $(PARTS) \
	    $(filter-out bench/sgemm.c,$(wildcard bench/*.c bench/papers/*.c)); do \
		$(CC) $(LANGUAGE) -w -fsyntax-only $$part; \
	done

## check-symbols: solver.o and kernel.o export what their headers declare
check-symbols: $(BUILD)/solver.o $(BUILD)/kernel.o
	@status=0; for unit in solver kernel; do \
		for name in $$($(NM) -g --defined-only $(BUILD)/$$unit.o | \
				sed 's/.* //'); do \
			case $$name in \
			klr_*) grep -qw "$$name" $$unit.h && continue ;; \
			esac; \
			echo "$$unit.o: $$name is not declared in $$unit.h"; status=1; \
		done; \
	done; exit $$status

## format-check: the sources are as clang-format would have them, comments too
format-check:
	clang-format --dry-run -Werror $$(git ls-files '*.c' '*.h')
	@git ls-files '*.c' '*.h' | xargs awk 'length > 80 { wide = 1; \
		print FILENAME ":" FNR ": wider than 80" } END { exit wide }'

# cppcheck takes what klr_alloc hands out for leaked.
## analyze: clang-tidy and cppcheck, where they are installed
analyze:
	@if command -v clang-tidy >/dev/null; then \
		clang-tidy --quiet $(UNITS) $(COMMON) $(NAMES:%=%.c) -- \
			$(LANGUAGE); \
	else echo "analyze: no clang-tidy here"; fi
	@if command -v cppcheck >/dev/null; then \
		cppcheck --quiet --std=c11 -I. -D_GNU_SOURCE --error-exitcode=1 \
			--enable=warning,portability --suppress=memleak:base/memory.c \
			$(UNITS) $(COMMON) $(NAMES:%=%.c); \
	else echo "analyze: no cppcheck here"; fi

## bench: side by side with LIBSVM, as ratios
bench: all
	bench/run.sh

## bench-passes: passes of the Newton method over many problems
bench-passes: all $(TEST_TOOLS)
	bench/passes.pl

## bench-bars: large C, sparse models, paths, memory, threads against their bars
bench-bars: all $(TEST_TOOLS)
	bench/bars.pl

$(BUILD)/lbfgs: bench/papers/lbfgs.c
	@mkdir -p $(@D)
	$(COMPILE) $(LDFLAGS) -o $@ $< $(LDLIBS)

# papers: the tables to make; QUICK=1 takes small sets and coarse grids, JOBS
# says how many runs there are at once, ONLY which jobs, by a regular
# expression.
TABLES = consolo keerthi maalouf lin mika links

## papers: the papers' tables into docs/PAPERS.md; TABLES="keerthi ..." of some
papers: all $(BUILD)/lbfgs
	@set -e; for table in $(TABLES); do \
		KLR_BIN=$(BIN) KLR_BUILD=$(BUILD) bench/papers/$$table.pl \
			--jobs $(JOBS) --only '$(ONLY)'; \
	done

# ---- Installation ----

## install: programs, tools and manual pages to DESTDIR/PREFIX
install: all
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(DATADIR) $(DESTDIR)$(MANDIR)
	install -m 755 $(PROGRAMS) $(SCRIPTS) $(DESTDIR)$(BINDIR)
	install -m 644 $(MODULES) $(DESTDIR)$(DATADIR)
	$(if $(MANUALS),install -m 644 $(MANUALS) $(DESTDIR)$(MANDIR))

## uninstall: remove what install put there
uninstall:
	rm -f $(NAMES:%=$(DESTDIR)$(BINDIR)/%)
	rm -f $(SCRIPTS:tools/%=$(DESTDIR)$(BINDIR)/%)
	rm -f $(MODULES:tools/%=$(DESTDIR)$(DATADIR)/%)
	-rmdir $(DESTDIR)$(DATADIR) 2>/dev/null
	rm -f $(MANUALS:docs/%=$(DESTDIR)$(MANDIR)/%)

## clean: remove everything that was made
clean:
	rm -rf build $(NAMES)

## help: this list
help:
	@sed -n 's/^## \([a-z-]*\): /\1\t/p' Makefile | \
		awk -F '\t' '{ printf "  %-16s %s\n", $$1, $$2 }'

.PHONY: all demo check check-run check-asan check-ubsan check-sanitizers \
	check-i386 check-valgrind check-oom check-long check-fuzz fuzz-run \
	fuzz libfuzzer aflfuzz check-parts check-symbols format-check analyze \
	bench bench-passes bench-bars papers install uninstall clean help
.DELETE_ON_ERROR:
.SECONDARY:

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
