# The front door: one word per job. CMake and Ninja do the work, in build/<preset>.
# Tests and compilers wait for the disk now and then: one more than there are cores.
JOBS ?= $(shell expr $$(nproc) + 1)
PREFIX ?= /usr/local

# Configures and builds one preset, or one target of it: $(call build,release[,target]).
build = mkdir -p build; cmake --preset $(1) >build/$(1).log || { cat build/$(1).log; exit 1; }; \
	cmake --build build/$(1) -j $(JOBS) $(if $(2),--target $(2))
# ThreadSanitizer cannot live with much address randomisation; some containers forbid this cure.
still = $(shell setarch -R true 2>/dev/null && echo setarch -R)
# A test that was skipped fails here too, unless the machine lacks its instruction set, or whoever
# runs it may not make networks.
ctest = ctest --test-dir build/$(1) --output-on-failure -j $(JOBS) -L $(2) $(3) \
	--output-junit $(CURDIR)/build/$(1)/tests.xml && \
	! { grep 'status="notrun"' build/$(1)/tests.xml | grep -vE 'name="([a-z0-9_]*_(avx2|avx512|plain)|mpi_net_slow_test)"'; }

# Freed memory stays poisoned for 16 MB, not 256: what tests touch anew takes the kernel's time.
quick = ASAN_OPTIONS=quarantine_size_mb=16

.PHONY: help build demo install python deb client cross test-arm test test-slow coverage reference bench clean
.NOTPARALLEL:

help: ## list these words
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 20

build: ## build the program, build/release/engram, or what has changed of it
	tools/setup build
	$(call build,release,engram_cli)

demo: build ## build engram and see forgetting happen and be cured
	rm -rf build/demo
	build/release/engram compare experiments/demo.yaml --out build/demo

install: ## put program, library, documents and experiments under PREFIX, /usr/local
	tools/setup build
	$(call build,release,installed)
	cmake --install build/release --prefix $(PREFIX) >build/install.log

python: ## build the Python package, build/release/python, and run its tests
	tools/setup build python
	$(call build,release,engram_python)
	$(call ctest,release,fast,-R '^python_')

deb: ## make a Debian package of program, library and units, in build
	tools/setup build
	$(call build,release,installed)
	tools/deb build/release build

cross: ## build for arm64 on this machine, in build/arm64
	tools/setup build cross
	tools/sysroot arm64 build/sysroot-arm64
	$(call build,arm64)

client: ## build engram-client, a device alone in one static file: build/engram-client, and -arm64
	tools/setup build client cross
	$(call build,release,engram_client)
	cp build/release/engram-client build/engram-client
	tools/sysroot arm64 build/sysroot-arm64
	$(call build,arm64,engram_client)
	cp build/arm64/engram-client build/engram-client-arm64

test-arm: cross client ## run the fast tests of the arm64 build under qemu, but for scripts; an hour
	$(call build,release,engram_cli)
	ctest --test-dir build/arm64 --output-on-failure -j $(JOBS) -L fast -R '_(portable|neon)$$|^(real|portable|rng|sha256|safetensors|bundle|scenario|transform|client_arm)_test$$' --timeout 3600

reference: ## make the reference of the library from its headers, build/reference
	tools/reference build/reference

test: ## run every fast test, plain and under sanitizers, and tools/check
	tools/setup build check chromium client mpi python
	$(call build,release)
	$(call build,asan)
	$(call ctest,release,fast)
	$(quick) $(call ctest,asan,fast)
	tools/check

test-slow: ## run the long tests, torture, mutants, memcheck, ThreadSanitizer, clang and the fuzzers
	tools/setup build check client deb fuzz mpi python slow torch
	$(call build,release)
	$(call build,asan)
	$(call build,tsan,threaded)
	$(call build,clang)
	tools/check --deep
	$(call ctest,release,slow)
	-tools/mutate --seconds 600 # says what survives; not all files were gone through yet
	$(call ctest,asan,long)
	TSAN_OPTIONS=suppressions=$(CURDIR)/tools/tsan.supp $(still) $(call ctest,tsan,threaded)
	tools/fuzz all 60

coverage: ## how many lines the fast tests run, by folder
	tools/setup build check
	tools/coverage

bench: ## measure speed, beside PyTorch, which it installs, and against the figures on record
	tools/setup build torch
	$(call build,release)
	tools/bench_compare build/release/engram --peer torch

clean: ## remove everything that was built
	rm -rf build
