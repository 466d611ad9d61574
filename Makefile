# Everything runs in .venv, made from the lock files. `make run` and `make test` need Python 3.11 and make only.
PYTHON ?= python3.11
PY := .venv/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet
# --no-deps: the lock files name every package, and older versions of pip ask for newer ones through extras
# compiled modules are kept: every server a test starts would else compile all of them again
unexport PYTHONDONTWRITEBYTECODE
# more than two cores, because many tests wait for servers and clocks
WORKERS ?= 4
# a file stays on one worker, so its servers and caches are made once; tests/suites.py orders the files
DIST := --dist loadfile --no-loadscope-reorder

.PHONY: install run test verify check lint types imports compiled demo bench simulate conformance torture mutants client examples lock clean

.venv/.installed: requirements.lock pyproject.toml
	@test -x $(PY) || { echo "making .venv with $$($(PYTHON) --version)"; $(PYTHON) -m venv .venv; }
	@echo "installing $$(grep -c == requirements.lock) packages into .venv: one to two minutes, once"
	@$(PY) -m pip --disable-pip-version-check install --require-hashes --no-deps -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation -e . -e clients/python
	@touch $@

.venv/.installed-test: .venv/.installed requirements-test.lock
	@echo "installing what the tests need: one more minute, once"
	@$(PIP) install --require-hashes --no-deps -r requirements-test.lock
	@touch $@

install: .venv/.installed

run: install  ## serve on 127.0.0.1:8000 with SQLite, an embedded test chain and a desk that sells
	@.venv/bin/emporion serve --sandbox --desk

demo: install  ## a paid trade over MCP, A2A and REST against a running `make run`
	@.venv/bin/emporion demo

check: lint types imports  ## lint, types, import rules

lint: .venv/.installed-test
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .

types: .venv/.installed-test
	.venv/bin/mypy

imports: .venv/.installed-test
	.venv/bin/lint-imports

# each worker would else compile all tests again; a test that cannot be read is shown when the tests run
compiled: .venv/.installed-test
	-@$(PY) -m pytest --collect-only -qq >/dev/null 2>&1

test: .venv/.installed-test  ## check, then every test once: logic on SQLite, SQL and locks on PostgreSQL too
	$(MAKE) --no-print-directory -j 2 types lint imports compiled
	$(PY) -m pytest -n $(WORKERS) $(DIST) --suite test

verify: .venv/.installed-test  ## what make test leaves out: PostgreSQL halves and long repetitions (MINUTES=15: a part)
	$(PY) -m pytest -n $(WORKERS) $(DIST) --suite verify $(if $(MINUTES),--minutes $(MINUTES) --rotate $$(git rev-parse HEAD))

simulate: .venv/.installed-test  ## one seed replays a market with faults; SIMULATE="--seed 7 --operations 100000 --scenario calm"
	$(PY) -m tests.simulation $(SIMULATE)

bench: .venv/.installed-test  ## every figure with its marks, in about eight minutes; BENCH="--full": also a million jobs; "--against REV": compare
	$(PY) -m benchmarks $(BENCH)

conformance: .venv/.installed-test
	$(PY) -m tests.end_to_end.conformance.run $(CONFORMANCE)

torture: .venv/.installed-test  ## random kills, new random walks, and new seeds of the simulated market for MINUTES
	$(PY) -m tests.torture
	$(PY) -m pytest -q -s tests/end_to_end/walk --hypothesis-seed=$$(date +%s)
	$(PY) -m tests.simulation --minutes $(or $(MINUTES),15)

mutants: .venv/.installed-test  ## change the rules on purpose: the tests must notice
	$(PY) -m tests.mutants --clauses
	$(PY) -m tests.mutants $(MUTANTS)

client: .venv/.installed  ## write the table, signatures and records of the Python client again
	.venv/bin/emporion openapi | $(PY) clients/python/generate.py

examples: .venv/.installed-test  ## record the examples of openapi.json again
	$(PY) -m tests.support.recorded_examples

lock: .venv/.installed-test  ## pin again what pyproject.toml allows
	$(PIP) install uv
	.venv/bin/uv pip compile pyproject.toml --extra sandbox --extra build --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --prerelease if-necessary-or-explicit -q -o requirements.lock
	.venv/bin/uv pip compile pyproject.toml --extra test --extra build --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --prerelease if-necessary-or-explicit -q -o requirements-test.lock

clean:
	rm -rf .venv data .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
