# Sluiceway's commands. `make demo` needs a Debian 12 machine and root (or sudo), nothing else.

HOST_PYTHON ?= python3
PYTHON := .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help demo status stop clean venv host-python

help:
	@echo "make demo    play the main job on a Slurm of its own; leaves the portal running"
	@echo "make status  what runs, since when, and the URL"
	@echo "make stop    end what runs; data stays"
	@echo "make clean   end what runs, remove the demo's Unix users and var/"
	@echo "make test    run all tests (make test-unit and so on: one layer)"
	@echo "make lint    run all linters"
	@echo "make bench   measure what must be fast; writes var/bench.json"

demo status stop clean: host-python
	@$(HOST_PYTHON) -m portal.ops.demo $@

# .venv with what the tests and linters need.
venv: host-python
	@$(HOST_PYTHON) -m portal.ops.demo venv --dev

host-python:
	@command -v $(HOST_PYTHON) >/dev/null 2>&1 || { \
	  echo "$(HOST_PYTHON) is missing; installing it by apt"; \
	  if [ "$$(id -u)" = 0 ]; then apt-get update -q && apt-get install -yq python3 python3-venv; \
	  elif command -v sudo >/dev/null; then \
	    sudo sh -c 'apt-get update -q && apt-get install -yq python3 python3-venv'; \
	  else echo "next: run as root: apt-get install python3 python3-venv"; exit 2; fi; }

# --- Tests and linters -----------------------------------------------------------------------

include tests/make.mk

test-setup: host-python
	@$(HOST_PYTHON) -m portal.ops.demo venv --dev --packages $(TEST_PACKAGES)
