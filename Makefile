# SPDX-License-Identifier: GPL-2.0-only
# What there is to make. Everything that decides anything is in selftests/qemu/lab
# (fetching, building, booting) and selftests/run (testing).

lab	:= selftests/qemu/lab
# What runs in a contained command ends with it, see selftests/contain.sh. make's own number: a
# command that begins while make is killed ends, too.
contained := selftests/contained
export CONTAIN_MAKE := $(shell echo $$PPID)
T	?= *
# The same chance each time: a failure is of a change, and not of the day
SEED	?= 20260101

help:
	@echo 'make demo        record a program in an emulated machine and decode it'
	@echo 'make check       every test (T=PATTERN: some, e.g. T="guest/*")'
	@echo '                 (DELAY=60: its harts stop at random, for up to 60 ms)'
	@echo '                 (CAPTURES=DIR: traces of others'"'"' encoders, RTL=DIR: open RTL of'
	@echo '                 hardware, see selftests/README)'
	@echo 'make check-all   check, and what takes longer: each broken machine, long recordings (hours)'
	@echo 'make check-host  libraries and tools only: no root, no emulator'
	@echo 'make check-debug the driver under KASAN, lockdep, kmemleak, without memory'
	@echo '                 (OPTIONS="--minutes 1 --attrs 10000 --unmaps 10000": shorter)'
	@echo 'make mutants     mistakes put into the driver, each of which a test has to find (an hour)'
	@echo 'make mutants-user  the same with the libraries and the command (hours, no root)'
	@echo 'make lint        checkpatch, sparse, device tree schemas'
	@echo 'make shell       a shell in the guest, driver loaded'
	@echo 'make modules     the driver (KDIR=... for another kernel than the guest'"'"'s)'
	@echo 'make tools       libraries and command for this machine, in build/native'
	@echo 'make deb         Debian packages for amd64 and riscv64, in build/deb'
	@echo 'make install     those, under DESTDIR= and PREFIX= (/usr/local)'
	@echo 'make series      patches for the kernel: a branch in the git tree TREE=DIR (BRANCH=ntrace)'
	@echo 'make lab         everything the guest needs, without booting it'
	@echo 'make bench       how fast and how small'
	@echo 'make pgo         optimise a program with a profile from its trace (clang, BOLT, GCC)'
	@echo 'make pgo-kernel  the same for a small kernel that clang builds (half an hour)'
	@echo 'make fuzz        60 seconds of every fuzz target'
	@echo 'make coverage    how much of the libraries the tests reach'
	@echo 'make clean       remove what was built, keep what was fetched'
	@echo 'make distclean   remove build/'

lab:
	@$(lab)/build

demo: lab
	@$(lab)/demo

check: lab
	@SEED=$(SEED) selftests/run "$(T)"

check-all: lab
	@groups=all LAB_SECONDS=14400 selftests/run "$(T)"

check-host:
	@selftests/native-tools --tests
	@SEED=$(SEED) selftests/run --native 'host/*'

check-debug: lab
	@selftests/debug/run $(OPTIONS)

mutants: lab
	@selftests/mutants/run

mutants-user:
	@selftests/mutants/run --user

lint:
	@selftests/lint

shell: lab
	@$(lab)/boot --shell

bench: lab
	@selftests/bench/run
	@selftests/bench/driver

pgo: lab
	@selftests/pgo/run
	@selftests/pgo/gcc

pgo-kernel: lab
	@selftests/pgo/kernel

fuzz:
	@selftests/fuzz/run

coverage:
	@selftests/coverage

tools:
	@selftests/native-tools

install: tools
	@$(contained) $(MAKE) -s --no-print-directory -C tools-perf out=$(CURDIR)/build/native install

series:
	@series/make "$(TREE)" $(BRANCH)

deb:
	@$(lab)/build-deb

ifdef KDIR
modules:
	$(contained) $(MAKE) -C $(KDIR) M=$(CURDIR) modules
else
modules:
	@$(lab)/setup
	@$(lab)/build-module
endif

clean:
	@$(lab)/clean

distclean:
	@$(lab)/clean --all

.PHONY: help lab demo check check-all check-host check-debug mutants mutants-user lint shell bench pgo pgo-kernel fuzz coverage tools deb install series modules clean distclean
