# SPDX-License-Identifier: BSD-3-Clause
#
# GNU Make alone: settings first, rules below. `make help` lists the targets.
# Everything that is made, but for the three programs, is under $(BUILD); a
# build with other flags is another BUILD and BIN and the same rules.

# ---- Settings ----

# Loops that are worth it are written in vectors, and unrolled: -O3 adds nothing
# but time to compile.
CC      = cc
CFLAGS  = -O2 $(SPARED)
LDFLAGS =
LDLIBS  = -lm
AR      = ar
NM      = nm
PROVE   = prove
JOBS   := $(shell nproc 2>/dev/null || echo 2)

PREFIX  = /usr/local
DESTDIR =
BINDIR  = $(PREFIX)/bin
LIBDIR  = $(PREFIX)/lib
INCDIR  = $(PREFIX)/include
DATADIR = $(BINDIR)/../share/klr
MANDIR  = $(PREFIX)/share/man/man1
DOCDIR  = $(PREFIX)/share/doc/klr
BASHDIR = $(PREFIX)/share/bash-completion/completions
ZSHDIR  = $(PREFIX)/share/zsh/site-functions
FISHDIR = $(PREFIX)/share/fish/vendor_completions.d
# Where klr.py goes: what PYTHONPATH names, or Python's own folder.
PYTHONDIR = $(DATADIR)

BUILD = build
BIN   = .

WARNINGS = -Wall -Wextra -Wshadow -Wconversion -Wmissing-prototypes -Wundef
ifdef WERROR
WARNINGS += -Werror
endif

# Passes of gcc that make nothing here faster, and take a sixth of the time to
# compile; none where the compiler does not know them.
SPARE  = -fno-gcse -fno-schedule-insns2 -fno-tree-dominator-opts -fno-tree-vrp
SPARED = $(eval SPARED := $$(shell $(CC) -Werror $(SPARE) -E -xc /dev/null \
	>/dev/null 2>&1 && echo $(SPARE)))$(SPARED)

# What the sources need whatever CFLAGS is, and so after it. Operations neither
# fused nor in another order: a number must not depend on what the compiler made
# of them. Files beyond 2 GB where long has 32 bits. Code that may lie anywhere:
# one object serves the programs and the library, whose functions call each
# other directly all the same.
LANGUAGE = -std=c11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -I. \
	-ffp-contract=off -fno-unsafe-math-optimizations -pthread -fPIC \
	-fno-semantic-interposition
COMPILE  = $(CC) $(WARNINGS) $(CFLAGS) $(LANGUAGE) $(CPPFLAGS)

ASAN  = -O1 -g1 -fsanitize=address -fno-omit-frame-pointer
UBSAN = -O1 -g1 -fsanitize=undefined,float-cast-overflow \
	-fno-sanitize-recover=all
# Both together make gcc see a truncation that is not there. Linked so, a program
# starts in half the time; other compilers, and systems without these archives,
# take SANITIZE_LINK= for it.
SANITIZE = $(ASAN) $(UBSAN) -Wno-format-truncation
SANITIZE_LINK = -no-pie -static-libasan -static-libubsan
SANITIZED = BUILD=build/sanitize BIN=build/sanitize CFLAGS="$(SANITIZE)" \
	LDFLAGS="$(SANITIZE_LINK)"

# A program that exits with 1 must not be taken for one that a sanitizer or
# valgrind stopped, hence 99.
export ASAN_OPTIONS  = exitcode=99:allocator_may_return_null=1
export TSAN_OPTIONS  = exitcode=99
export UBSAN_OPTIONS = exitcode=99:print_stacktrace=1
VALGRIND = valgrind -q --error-exitcode=99 --leak-check=full

# What is made is named; V=1 shows the commands.
ifdef V
SAY = @:
else
SAY = @echo
Q   = @
endif

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
PYTHON   = $(wildcard tools/python/*.py)
MODULES  = $(wildcard tools/*.py)
GUIDES   = README CHANGELOG LICENSE CITATION.cff heart_scale \
	$(wildcard docs/*.md examples/*.csv)

# Four units, each a table of contents; their parts are no objects. Those that
# take longest to compile come first.
UNITS   = kernel.c solver.c base/base.c
COMMON  = cli/cli.c
PARTS   = $(filter-out $(UNITS) $(COMMON), \
          $(wildcard solver/*/*.c kernel/*.c base/*.c cli/*.c \
          kernel/*/*.c base/*/*.c cli/*/*.c))
OBJECTS = $(UNITS:%.c=$(BUILD)/%.o) $(COMMON:%.c=$(BUILD)/%.o)

# The tests link an archive, so that one which includes solver.c to reach its
# statics does not meet solver.o again.
ARCHIVE = $(BUILD)/klr.a

# The library is the units without what programs share. Its ABI has the number
# SOVERSION.
VERSION   := $(shell sed -n 's/^.define KLR_VERSION "\(.*\)"/\1/p' solver.h)
SOVERSION  = 1
LIBRARY    = $(BUILD)/lib/libklr.so.$(SOVERSION)
LIBOBJECTS = $(UNITS:%.c=$(BUILD)/%.o)
HEADERS    = solver.h kernel.h $(addprefix base/,error.h memory.h numbers.h \
	option.h text.h threads.h files/input.h files/output.h)

# How shells complete options: install/completions. The tools need Python.
COMPLETED  = $(NAMES) $(if $(shell command -v python3),$(SCRIPTS:tools/%=%))
COMPLETIONS = $(COMPLETED:%=$(BUILD)/completions/%.bash) \
	$(COMPLETED:%=$(BUILD)/completions/_%) \
	$(COMPLETED:%=$(BUILD)/completions/%.fish)

# TESTS: sources of unit tests and command-line tests. tests/judge has programs
# that command-line tests call; they share nothing with the toolkit.
TESTS      = $(wildcard tests/unit/*/*.c tests/cli/*/*.t)
TEST_TOOLS = $(patsubst tests/judge/%.c,$(BUILD)/tests/%,\
             $(wildcard tests/judge/*.c))
PRELOADS   = $(patsubst tests/preload/%.c,$(BUILD)/tests/%.so,\
             $(wildcard tests/preload/*.c))
UNIT_TESTS = $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(filter %.c,$(TESTS)))
LINE_TESTS = $(filter %.t,$(TESTS))
# Those that take longest come first, so that no processor waits at the end.
LONGEST    = $(BUILD)/tests/kernel/t-gram $(BUILD)/tests/gram/t-operator \
	$(addprefix tests/cli/, programs/deterministic.t programs/kill.t \
	programs/library.t programs/readme.t tools/grids.t tools/plots.t \
	tools/tools.t train/auto.t train/basis.t train/certificates.t \
	train/memory.t train/objective.t train/train.t validate/log.t \
	validate/path.t)
IN_ORDER   = $(filter $(LONGEST),$(UNIT_TESTS) $(LINE_TESTS)) \
	$(filter-out $(LONGEST),$(UNIT_TESTS) $(LINE_TESTS))
# Under sanitizers tests of the tools, which are not compiled, of documents and
# of what is installed tell nothing new.
ifeq ($(origin TESTS),file)
COMPILED = $(filter-out tests/cli/tools/%.t $(addprefix tests/cli/programs/, \
	cookbook.t installed.t kill.t library.t manual.t readme.t),$(TESTS))
else
COMPILED = $(TESTS)
endif
FUZZERS    = $(BUILD)/fuzz_data $(BUILD)/fuzz_model
LONG_TESTS = $(patsubst tests/long/%.c,$(BUILD)/long/%,\
             $(wildcard tests/long/*.c))
# Whatever Python is told elsewhere, it buffers stdout.
RUN_TESTS  = PATH="$(abspath $(BUILD))/tests/path:$$PATH" PYTHONUNBUFFERED= \
             KLR_BIN=$(BIN) KLR_BUILD=$(BUILD) KLR_LIMIT=$(LIMIT) \
             $(PROVE) -j$(JOBS)

# ---- Programs ----

## all: build klr-train, klr-predict and klr-scale (default)
all: $(PROGRAMS)

$(PROGRAMS): $(BIN)/%: $(OBJECTS) $(BUILD)/%.o
	$(SAY) "  LINK $@"
	$(Q)$(COMPILE) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# Under sanitizers the loops of the kernel unit are most of the time. It is
# slower without the passes over trees.
$(BUILD)/kernel.o: private override CFLAGS := \
	$(filter-out -fno-tree-%,$(subst -O1,-O2,$(CFLAGS)))

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(SAY) "  CC   $@"
	$(Q)$(COMPILE) -MMD -MP -c -o $@ $<

$(ARCHIVE): $(OBJECTS)
	@rm -f $@
	$(SAY) "  AR   $@"
	$(Q)$(AR) rcs $@ $^

# ---- Library ----

## lib: libklr.a and libklr.so, which programs link: docs/LIBRARY.md
lib: $(BUILD)/lib/libklr.a $(BUILD)/lib/libklr.so

$(BUILD)/lib/libklr.a: $(LIBOBJECTS)
	@mkdir -p $(@D)
	@rm -f $@
	$(SAY) "  AR   $@"
	$(Q)$(AR) rcs $@ $^

$(LIBRARY): $(LIBOBJECTS) install/libklr.map
	@mkdir -p $(@D)
	$(SAY) "  LINK $@"
	$(Q)$(COMPILE) -shared -Wl,-soname,$(@F) \
		-Wl,--version-script=install/libklr.map -Wl,-z,defs $(LDFLAGS) \
		-o $@ $(LIBOBJECTS) $(LDLIBS)

$(BUILD)/lib/libklr.so: $(LIBRARY)
	@ln -sf $(<F) $@

# ---- Try it ----

## completions: of options, for bash, zsh and fish
completions: $(COMPLETIONS)

# All three by one recipe: --help says the same to each shell.
$(addprefix $(BUILD)/completions/,%.bash _% %.fish): $(PROGRAMS) $(SCRIPTS) \
		install/completions
	@mkdir -p $(@D)
	$(Q)install/completions $(if $(wildcard tools/$*),tools/$*,$(BIN)/$*) $(@D)

## demo: train on two thirds of heart_scale, judge the model on the rest
demo: all
	@mkdir -p $(BUILD)/demo
	awk 'NR % 3 > 0' heart_scale >$(BUILD)/demo/train
	awk 'NR % 3 == 0' heart_scale >$(BUILD)/demo/test
	$(BIN)/klr-train -s klr -g 0.05 $(BUILD)/demo/train $(BUILD)/demo/model
	$(BIN)/klr-predict $(BUILD)/demo/test $(BUILD)/demo/model \
		$(BUILD)/demo/output
	@echo "The first rows of $(BUILD)/demo/output (label, probabilities):"
	@head -n 6 $(BUILD)/demo/output

# ---- Tests ----

# A test that includes solver.c to reach its statics is the whole program, so
# that only what it reaches of them is compiled. Where the compiler knows no
# such thing, the archive has its functions again, and the test's come first.
ALONE = $(eval ALONE := $$(shell $(CC) -Werror -fwhole-program -E -xc \
	/dev/null >/dev/null 2>&1 && echo -fwhole-program || \
	echo -Wl,-z,muldefs))$(ALONE)
TEST_CFLAGS := $(subst -O2,-Og,$(subst -O1,-Og,$(CFLAGS)))
$(UNIT_TESTS): private override CFLAGS = $(TEST_CFLAGS) $(ALONE)
# The one that computes for longer than an optimised one takes to compile.
$(BUILD)/tests/kernel/t-gram: private override CFLAGS += -O2

$(BUILD)/tests/%: tests/unit/%.c $(ARCHIVE)
	@mkdir -p $(@D)
	$(SAY) "  CC   $@"
	$(Q)$(COMPILE) -MMD -MP $(LDFLAGS) -o $@ $< $(ARCHIVE) $(LDLIBS)

$(BUILD)/long/%: tests/long/%.c $(ARCHIVE)
	@mkdir -p $(@D)
	$(SAY) "  CC   $@"
	$(Q)$(COMPILE) -MMD -MP $(LDFLAGS) -o $@ $< $(ARCHIVE) $(LDLIBS)

$(TEST_TOOLS): $(BUILD)/tests/%: tests/judge/%.c
	@mkdir -p $(@D)
	$(SAY) "  CC   $@"
	$(Q)$(COMPILE) -MMD -MP $(LDFLAGS) -o $@ $< $(LDLIBS)

# Libraries for LD_PRELOAD: a system that fails, a clock that hastens.
$(BUILD)/tests/%.so: tests/preload/%.c
	@mkdir -p $(@D)
	$(SAY) "  CC   $@"
	$(Q)$(COMPILE) -shared -MMD -MP -o $@ $< -ldl

# Tests start the tools some hundred times: by Python itself, not by a script
# that looks for one of its versions, without the packages that are installed
# beside it, and from modules that are compiled, which the tools read and never
# write.
$(BUILD)/tests/path/python3: $(PYTHON) $(MODULES)
	@mkdir -p $(@D)
	@rm -f $@
	@python=$$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null) && \
		printf '#!/bin/sh\nexec "%s" -S "$$@"\n' "$$python" >$@ && \
		chmod +x $@ && \
		python3 -m compileall -q tools || :

## check: all tests in a few minutes; TESTS="tests/cli/train/train.t ..." runs some
check: check-run
ifeq ($(origin TESTS),file)
check: check-symbols check-floors
endif

# Command-line tests need the programs, some what is installed, unit tests only
# the archive.
check-run: $(UNIT_TESTS) $(if $(LINE_TESTS),$(PROGRAMS) $(TEST_TOOLS) \
		$(BUILD)/tests/haste.so $(BUILD)/tests/path/python3) \
		$(if $(filter %/library.t %/python.t,$(TESTS)),lib) \
		$(if $(filter %/installed.t,$(TESTS)),completions)
	$(RUN_TESTS) $(IN_ORDER)

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
	$(MAKE) $(SANITIZED) TESTS="$(COMPILED)" check-run

CLANG = BUILD=build/clang BIN=build/clang CC=clang

## check-clang: the same tests by that compiler, and the same bytes of many runs
check-clang: all
	$(MAKE) $(CLANG) TESTS="$(COMPILED)" check-run
	KLR_BIN=$(BIN) KLR_BUILD=build/clang tests/same.pl --jobs $(JOBS) \
		>build/clang/same
	$(MAKE) $(CLANG) AGAINST=build/clang/same same

## check-threads: two threads that use the library, under the thread sanitizer
check-threads:
	$(MAKE) BUILD=build/threads BIN=build/threads \
		CFLAGS="-O1 -g -fsanitize=thread" \
		TESTS=tests/unit/train/t-two_callers.c check-run

# What pointers and size_t have a say in: memory, data, kernels and models.
ifeq ($(origin TESTS),file)
I386_TESTS = $(wildcard $(addprefix tests/unit/,base/*.c data/*.c kernel/*.c \
	gram/*.c model/*.c) tests/cli/data/*.t tests/cli/model/*.t) \
	$(addprefix tests/cli/train/,train.t memory.t)
else
I386_TESTS = $(TESTS)
endif

# Where the system runs no such programs they are compiled all the same.
I386 = BUILD=build/i386 BIN=build/i386 CC=i686-linux-gnu-gcc \
	CFLAGS="-Og -msse2 -mfpmath=sse" LDFLAGS=-static

## check-i386: those that may differ where pointers and size_t have 32 bits
check-i386:
	$(MAKE) $(I386) all
	@if build/i386/klr-train --version >/dev/null 2>&1; then \
		$(MAKE) $(I386) TESTS="$(I386_TESTS)" check-run; \
	else echo "check-i386: no tests, 32-bit programs do not run here"; fi

ARM64 = BUILD=build/arm64 BIN=build/arm64 CC=aarch64-linux-gnu-gcc \
	LDFLAGS=-static

## check-arm64: programs for 64-bit ARM, emulated, write the same bytes
check-arm64: all
	$(MAKE) $(ARM64) all
	KLR_CROSS=build/arm64 $(RUN_TESTS) tests/cross/arm64.t

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
check-oom: LIMIT = 3600
check-oom: all $(TEST_TOOLS) $(PRELOADS)
	$(RUN_TESTS) $(wildcard tests/oom/*.t)

## check-fuzz: mutants of data and of models under both sanitizers
check-fuzz:
	$(MAKE) $(SANITIZED) fuzz-run

fuzz-run: $(FUZZERS) $(PROGRAMS)
	$(BUILD)/fuzz_data -n $(MUTANTS)
	$(BUILD)/fuzz_model -n $(MUTANTS)
	KLR_MUTANTS=$(COMMANDS) $(RUN_TESTS) tests/fuzz/commands.t

$(FUZZERS): $(BUILD)/%: $(BUILD)/tests/fuzz/%.o $(BUILD)/tests/fuzz/main.o \
		$(BUILD)/tests/fuzz/mutate.o $(BUILD)/tests/fuzz/support.o $(ARCHIVE)
	$(SAY) "  LINK $@"
	$(Q)$(COMPILE) $(LDFLAGS) -o $@ $^ $(LDLIBS)

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
		echo "$(BUILD)/fuzz_$$name-fuzzer FOLDER tests/fuzz/corpus/$$name"; done

$(FUZZERS:%=%-fuzzer): $(BUILD)/%-fuzzer: $(BUILD)/tests/fuzz/%.o \
		$(BUILD)/tests/fuzz/support.o $(ARCHIVE)
	$(SAY) "  LINK $@"
	$(Q)$(COMPILE) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(LDLIBS)

aflfuzz: $(FUZZERS)
	@for name in data model; do \
		echo "afl-fuzz -i tests/fuzz/corpus/$$name -o FOLDER" \
			"$(BUILD)/fuzz_$$name @@"; done

## check-long: the tests that take longer
check-long: LIMIT = 36000
check-long: $(LONG_TESTS) all $(TEST_TOOLS) check-fuzz
	$(RUN_TESTS) $(LONG_TESTS) $(wildcard tests/long/*.t)

# A comparison leaves the list as it is, for the next one.
## same: checksums of many runs into build/same; AGAINST=FILE compares with those
same: all
	KLR_BIN=$(BIN) KLR_BUILD=$(BUILD) tests/same.pl --jobs $(JOBS) \
		$(if $(AGAINST),--against $(AGAINST),>$(BUILD)/same)

## check-parts: each part of a unit and each benchmark parses alone
# but bench/parts/time_sgemm.c, which asks for OpenBLAS
check-parts:
	@set -e; for part in $(PARTS) \
	    $(filter-out bench/parts/time_sgemm.c,$(wildcard bench/*/*.c)); do \
		$(CC) $(LANGUAGE) -w -Werror=implicit-function-declaration \
			-fsyntax-only $$part; \
	done

## check-floors: no room uses one on a floor above, or has too many files
check-floors:
	perl tests/floors.pl

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

# clang-tidy passes over what a unit includes, and so has its parts; cppcheck
# goes through all of it.
## analyze: clang-tidy and cppcheck, where they are installed
analyze: $(addprefix tidy/,$(PARTS) $(NAMES:%=%.c)) \
	$(addprefix cppcheck/,$(UNITS) $(COMMON) $(NAMES:%=%.c))

tidy/%: %
	@if command -v clang-tidy >/dev/null; then \
		clang-tidy --quiet $< -- $(LANGUAGE); \
	else echo "$@: no clang-tidy here"; fi

# cppcheck takes what klr_alloc hands out for leaked.
cppcheck/%: %
	@if command -v cppcheck >/dev/null; then \
		cppcheck --quiet --std=c11 -I. -D_GNU_SOURCE --error-exitcode=1 \
			--enable=warning,portability --suppress=memleak:base/memory.c \
			$<; \
	else echo "$@: no cppcheck here"; fi

## bench: side by side with LIBSVM, as ratios
bench: all
	bench/run.sh

## bench-passes: passes of the Newton method over many problems
bench-passes: all $(TEST_TOOLS)
	bench/passes.pl

## bench-basis: klr on a basis beside klr of all examples and svm-train
bench-basis: all
	bench/basis.pl

## bench-bars: large C, sparse models, paths, memory, threads against their bars
bench-bars: all $(TEST_TOOLS)
	bench/bars.pl

## bench-defaults: the default C of klr beside others, a grid, and svm-train
bench-defaults: all
	bench/defaults.pl

$(BUILD)/lbfgs: bench/papers/lbfgs.c
	@mkdir -p $(@D)
	$(SAY) "  CC   $@"
	$(Q)$(COMPILE) $(LDFLAGS) -o $@ $< $(LDLIBS)

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

# $(call remove,FOLDER,NAMES): files that were installed there.
remove = for name in $(2); do rm -f "$(DESTDIR)$(1)/$$name"; done

## install: programs, tools, manual pages, documents, completions, to PREFIX
install: all completions
	install -d "$(DESTDIR)$(BINDIR)" "$(DESTDIR)$(DATADIR)" \
		"$(DESTDIR)$(MANDIR)" "$(DESTDIR)$(DOCDIR)" "$(DESTDIR)$(BASHDIR)" \
		"$(DESTDIR)$(ZSHDIR)" "$(DESTDIR)$(FISHDIR)"
	install -m 755 $(PROGRAMS) $(SCRIPTS) "$(DESTDIR)$(BINDIR)"
	install -m 644 $(MODULES) "$(DESTDIR)$(DATADIR)"
	install -m 644 $(MANUALS) "$(DESTDIR)$(MANDIR)"
	install -m 644 $(GUIDES) "$(DESTDIR)$(DOCDIR)"
	@set -e; cd $(BUILD)/completions; for name in $(COMPLETED); do \
		install -m 644 $$name.bash "$(DESTDIR)$(BASHDIR)/$$name"; \
		install -m 644 _$$name "$(DESTDIR)$(ZSHDIR)"; \
		install -m 644 $$name.fish "$(DESTDIR)$(FISHDIR)"; \
	done

# Headers find each other by -I$(INCDIR) alone.
## install-lib: libraries, headers, klr.pc and klr.py to DESTDIR/PREFIX
install-lib: lib
	install -d "$(DESTDIR)$(LIBDIR)/pkgconfig" "$(DESTDIR)$(PYTHONDIR)" \
		"$(DESTDIR)$(INCDIR)/klr/base/files"
	install -m 644 $(BUILD)/lib/libklr.a $(LIBRARY) "$(DESTDIR)$(LIBDIR)"
	ln -sf $(notdir $(LIBRARY)) "$(DESTDIR)$(LIBDIR)/libklr.so"
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|' \
		-e 's|@INCDIR@|$(INCDIR)|; s|@VERSION@|$(VERSION)|' \
		install/klr.pc.in >"$(DESTDIR)$(LIBDIR)/pkgconfig/klr.pc"
	install -m 644 $(PYTHON) "$(DESTDIR)$(PYTHONDIR)"
	@set -e; for header in $(HEADERS); do \
		sed 's|^#include "|&klr/|' $$header \
			>"$(DESTDIR)$(INCDIR)/klr/$$header"; \
		chmod 644 "$(DESTDIR)$(INCDIR)/klr/$$header"; \
	done

## uninstall-lib: remove what install-lib put there
uninstall-lib:
	$(call remove,$(LIBDIR),libklr.a libklr.so $(notdir $(LIBRARY)) \
		pkgconfig/klr.pc)
	$(call remove,$(PYTHONDIR),$(notdir $(PYTHON)))
	$(call remove,$(INCDIR)/klr,$(HEADERS))
	-rmdir "$(DESTDIR)$(INCDIR)/klr/base/files" \
		"$(DESTDIR)$(INCDIR)/klr/base" "$(DESTDIR)$(INCDIR)/klr" \
		"$(DESTDIR)$(DATADIR)" 2>/dev/null

## uninstall: remove what install put there
uninstall:
	$(call remove,$(BINDIR),$(NAMES) $(SCRIPTS:tools/%=%))
	$(call remove,$(DATADIR),$(notdir $(MODULES)))
	$(call remove,$(MANDIR),$(notdir $(MANUALS)))
	$(call remove,$(DOCDIR),$(notdir $(GUIDES)))
	$(call remove,$(BASHDIR),$(COMPLETED))
	$(call remove,$(ZSHDIR),$(COMPLETED:%=_%))
	$(call remove,$(FISHDIR),$(COMPLETED:%=%.fish))
	-rmdir "$(DESTDIR)$(DATADIR)" "$(DESTDIR)$(DOCDIR)" 2>/dev/null

# What is committed, with the time of the commit: the same bytes each time.
## dist: a tarball of what is committed, build/klr-VERSION.tar.gz
dist:
	@mkdir -p $(BUILD)
	git archive --prefix=klr-$(VERSION)/ HEAD | gzip -9n \
		>$(BUILD)/klr-$(VERSION).tar.gz

## clean: remove everything that was made
clean:
	rm -rf build tools/__pycache__ tools/python/__pycache__ $(NAMES)

## help: this list
help:
	@sed -n 's/^## \([a-z-]*\): /\1\t/p' Makefile | \
		awk -F '\t' '{ printf "  %-16s %s\n", $$1, $$2 }'
	@echo "V=1 shows commands; PREFIX and DESTDIR say where to install to."

.PHONY: all lib completions demo check check-run check-asan check-ubsan \
	check-sanitizers check-clang check-threads check-i386 check-arm64 \
	check-valgrind check-oom check-long check-fuzz fuzz-run same fuzz \
	libfuzzer aflfuzz check-parts check-floors check-symbols format-check \
	analyze bench bench-passes bench-basis bench-bars bench-defaults papers \
	install install-lib uninstall uninstall-lib dist clean help
.DELETE_ON_ERROR:
.SECONDARY:

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
