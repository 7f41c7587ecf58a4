# The test suite: one command, its own set-up included. A layer alone: make test-unit.

TEST_PACKAGES = postgresql chromium libatomic1 fonts-dejavu-core lua-check shellcheck debootstrap \
  slurmctld slurmd slurmdbd slurm-client slurm-wlm-basic-plugins slurm-wlm-mysql-plugin \
  mariadb-server munge

.PHONY: test lint bench test-setup

test: test-setup
	$(PYTHON) -m tests.run

lint: test-setup
	$(PYTHON) -m tests.run lint

# A table of what must be fast, also as var/bench.json.
bench: venv
	$(PYTHON) -m tests.bench

test-%: test-setup
	$(PYTHON) -m tests.run $*
