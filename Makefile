# Two commands: `make demo` and `make test`. Each makes its own environment under build/.
PYTHON ?= python3
BUILD := build
DEMO := $(BUILD)/demo
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# The interpreters of `make test-all`, each with the pandas it is tried with.
TEST_ALL := 3.10:2 3.11:3 3.12:2 3.13:3

.PHONY: demo test test-all test-stores lint bench bench-planted docs clean

demo: $(BUILD)/venv-demo/installed
	@mkdir -p $(DEMO)
	@$(BUILD)/venv-demo/bin/python fixtures/build.py --out $(DEMO)
	@cd $(DEMO) && ../venv-demo/bin/memaudit run
	@echo "page: $(CURDIR)/$(DEMO)/memaudit-report.html"
	@echo "once more with 24 queries; every text is encoded twice, which takes a little longer"
	@cd $(DEMO) && ../venv-demo/bin/memaudit run --quiet --config with_queries.toml --out with-queries.html
	@echo "page: $(CURDIR)/$(DEMO)/with-queries.html"

# The core only: no torch, no test tools.
$(BUILD)/venv-demo/installed: setup.cfg $(shell find memaudit probes reports -type f -not -name '*.pyc' 2>/dev/null)
	@mkdir -p $(BUILD)
	@test -x $(BUILD)/venv-demo/bin/python || $(PYTHON) -m venv $(BUILD)/venv-demo
	@$(BUILD)/venv-demo/bin/python -m pip install --quiet .
	@touch $@

test: $(BUILD)/venv-test/installed
	$(BUILD)/venv-test/bin/ruff check .
	$(BUILD)/venv-test/bin/ruff format --check .
	$(BUILD)/venv-test/bin/mypy
	$(BUILD)/venv-test/bin/python -m pytest --numprocesses 2 --dist loadfile --cov --cov-report=term $(PYTEST_ARGS)

$(BUILD)/venv-test/installed: setup.cfg constraints.txt
	@mkdir -p $(BUILD)
	@test -x $(BUILD)/venv-test/bin/python || $(PYTHON) -m venv $(BUILD)/venv-test
	@$(BUILD)/venv-test/bin/python -m pip install --quiet --constraint constraints.txt -e '.[dev]'
	@touch $@

# The suite on every supported Python that is here; tests of encoder models are skipped (extra `test`).
test-all:
	@for pair in $(TEST_ALL); do \
	  version=$${pair%%:*}; pandas=$${pair##*:}; venv=$(BUILD)/venv-$$version; \
	  python=""; \
	  for one in python$$version $$HOME/.pyenv/versions/$$version.*/bin/python; do \
	    if "$$one" -c "" >/dev/null 2>&1; then python=$$one; fi; \
	  done; \
	  if [ -z "$$python" ]; then echo "Python $$version: not here, skipped"; continue; fi; \
	  echo "== Python $$version, pandas $$pandas"; \
	  test -x $$venv/bin/python || $$python -m venv $$venv || exit 1; \
	  $$venv/bin/python -m pip install --quiet -e '.[test]' "pandas==$$pandas.*" || exit 1; \
	  $$venv/bin/python -m pytest -q $(PYTEST_ARGS) || exit 1; \
	done

# Stores written by the systems' own packages, a real Postgres and a real MariaDB: heavy, so not part of `make test`.
test-stores:
	@mkdir -p $(BUILD)
	@test -x $(BUILD)/venv-stores/bin/python || $(PYTHON) -m venv $(BUILD)/venv-stores
	@$(BUILD)/venv-stores/bin/python -m pip install --quiet --constraint constraints.txt -e '.[test-stores,test-postgres,test-mysql]'
	$(BUILD)/venv-stores/bin/python -m pytest tests/stores/test_real_packages.py tests/stores/test_sql_server.py tests/stores/test_mysql_server.py $(PYTEST_ARGS)

lint: $(BUILD)/venv-test/installed
	$(BUILD)/venv-test/bin/ruff check .
	$(BUILD)/venv-test/bin/ruff format --check .
	$(BUILD)/venv-test/bin/mypy

# Speed and error rates against their goals; BENCH_ARGS=--full for all runs of the simulations.
bench: $(BUILD)/venv-test/installed
	$(BUILD)/venv-test/bin/python bench/run.py $(BENCH_ARGS)

# The manual as pages for a browser; nothing is fetched when they are read.
docs: $(BUILD)/venv-docs/installed
	@NO_MKDOCS_2_WARNING=1 $(BUILD)/venv-docs/bin/mkdocs build --quiet --strict
	@echo "manual: $(CURDIR)/$(BUILD)/docs/index.html"

$(BUILD)/venv-docs/installed: setup.cfg
	@mkdir -p $(BUILD)
	@test -x $(BUILD)/venv-docs/bin/python || $(PYTHON) -m venv $(BUILD)/venv-docs
	@$(BUILD)/venv-docs/bin/python -m pip install --quiet -e '.[docs]'
	@touch $@

# Precision and recall of the content rules on planted stores; the dialogues beside the repository are used when there.
bench-planted: $(BUILD)/venv-test/installed
	$(BUILD)/venv-test/bin/python bench/bench_planted.py $(PLANTED_ARGS)

clean:
	rm -rf $(BUILD) *.egg-info .mypy_cache .pytest_cache .ruff_cache .coverage
