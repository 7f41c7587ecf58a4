# The test suite: one command, its own set-up included. A layer alone: make test-unit.

TEST_PACKAGES = postgresql chromium lua-check shellcheck fonts-dejavu-core

.PHONY: test lint test-setup

test: test-setup
	$(PYTHON) -m tests.run

lint: test-setup
	$(PYTHON) -m tests.run lint

test-%: test-setup
	$(PYTHON) -m tests.run $*
