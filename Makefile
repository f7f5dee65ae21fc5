# The two commands are `make run` and `make test`: each installs what is missing,
# builds, and does its work. Plain `make` builds and installs nothing.

SHELL = /bin/bash
.SHELLFLAGS = -o pipefail -c

BUILD = build
PREFIX = /usr/local
DESTDIR =
FUZZ_SECONDS = 600

BIN = $(DESTDIR)$(PREFIX)/bin
SHARE = $(DESTDIR)$(PREFIX)/share

.PHONY: all setup setup-build build run test test-clients test-kernels fuzz bench bench-peers install uninstall format lint clean
.NOTPARALLEL:

all:
	@scripts/setup --check build || { echo "run 'make setup' to install what is missing" >&2; exit 1; }
	@$(MAKE) --no-print-directory build

build:
	@test -f $(BUILD)/build.ninja || { echo "configuring $(BUILD)"; meson setup $(BUILD) >/dev/null; } || \
	    { tail -n 30 $(BUILD)/meson-logs/meson-log.txt; exit 1; }
	@ninja --quiet -C $(BUILD) cloche | sed '/no work to do/d'
	@ln -sf cloche $(BUILD)/srt
	@ln -sf cloche $(BUILD)/codex-linux-sandbox

setup:
	@scripts/setup build test

setup-build:
	@scripts/setup build

# The guided demonstration; with CMD='...' your own command, under glass in this
# directory.
# (value: a $ in CMD is the shell's, not make's.)
run: export COMMAND_TEXT := $(value CMD)
run: setup-build build
ifdef CMD
	@$(BUILD)/cloche run -c "$$COMMAND_TEXT"
else
	@scripts/demo $(BUILD)/cloche
endif

test: setup build
	@tests/run

# Heavy programs of others (databases, compilers of other languages, a browser)
# under cloche.
test-clients: setup build
	@scripts/setup clients
	@tests/run clients

# What depends on the kernel, under older ones of Debian's, in virtual machines.
test-kernels: setup build
	@scripts/setup kernels
	@tests/run kernels

fuzz: setup
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tests/run fuzz

bench: setup-build build
	@scripts/setup bench
	@bench/run
	@bench/network
	@bench/node

bench-peers: setup-build build
	@scripts/setup bench peers
	@bench/run --peers
	@bench/network --peers
	@bench/node --peers

install: all
	@for place in '$(BIN)' '$(SHARE)'; do \
	    while [ ! -e "$$place" ]; do place=$$(dirname "$$place"); done; \
	    [ -d "$$place" ] && [ -w "$$place" ] || { echo "cannot install below $(DESTDIR)$(PREFIX): $$place cannot be" \
	        "written; as root, or for yourself alone: make install PREFIX=$$HOME/.local" >&2; exit 1; }; \
	done
	@meson configure $(BUILD) --prefix '$(PREFIX)'
	@ninja --quiet -C $(BUILD) cloche libcloche.a libcloche.so.1.0.0 >/dev/null
	@DESTDIR='$(DESTDIR)' meson install -C $(BUILD) --no-rebuild --quiet >$(BUILD)/install.log 2>&1 || \
	    { echo "cannot install below $(DESTDIR)$(PREFIX): $$(grep 'Error: ' $(BUILD)/install.log | tail -n 1)" >&2; exit 1; }
	@echo "installed $(BIN)/cloche, srt and codex-linux-sandbox beside it; libcloche; manual pages, completions and the schema in $(SHARE)"
	@case ":$$PATH:" in *:'$(BIN)':*) ;; *) [ -n '$(DESTDIR)' ] || echo "$(BIN) is not on your PATH yet: export PATH=$(BIN):\$$PATH" ;; esac

uninstall:
	rm -f '$(BIN)/cloche' '$(BIN)/srt' '$(BIN)/codex-linux-sandbox'
	rm -f '$(SHARE)/man/man1/cloche.1' '$(SHARE)/man/man5/cloche.json.5' '$(SHARE)/man/man3/libcloche.3'
	rm -f '$(DESTDIR)$(PREFIX)/include/cloche.h'
	find '$(DESTDIR)$(PREFIX)/lib' '$(DESTDIR)$(PREFIX)/lib64' -maxdepth 3 \( -name 'libcloche.*' -o -name cloche.pc \) \
	    -delete 2>/dev/null || true
	rm -f '$(SHARE)/bash-completion/completions/cloche' '$(SHARE)/zsh/site-functions/_cloche'
	rm -f '$(SHARE)/fish/vendor_completions.d/cloche.fish'
	rm -rf '$(SHARE)/cloche'

format:
	clang-format -i $$(git ls-files '*.c' '*.h')

lint: setup
	@tests/run rooms layout shellcheck man clang tidy cppcheck

clean:
	rm -rf $(BUILD) build-sanitizers build-clang
