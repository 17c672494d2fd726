# `make run` and `make test` are all a newcomer needs; each sets up .venv first.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: run serve setup test node sdk slow check docs bench figures golden clean

run: setup
	@$(BIN)/maskedbandit run experiments/quickstart.toml --out results/quickstart --resume

# a simulated study with a page, which goes on from where it was; with OPERATORS=2 a new one of two operators
serve: setup
	@$(BIN)/maskedbandit $(if $(filter 2,$(OPERATORS)),devices-demo -n 300 --serve,serve --demo --data results/serve)

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version) if sys.version_info < (3, 11) else 0'
	@echo "setting up .venv (once; a minute or two)"
	@$(PYTHON) -m venv .venv
	@PIP_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $(READY)

# with CI set, pytest explains a failed comparison of long lists in full, which can take hours; and compiled modules are
# kept for the next process, of which the tests start many; and there is a process for each core (and one more in `make
# slow`, conftest.py), whose threads of linear algebra would spin for longer than they compute
PYTEST := env -u CI -u PYTHONDONTWRITEBYTECODE OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto

# a folder or a file of tests, as in `make test T=tests/store`; else all of them
T ?=

test: setup
	@$(PYTEST) -m "not slow" $(T)

node:
	@command -v npm > /dev/null || { apt-get update -qq && apt-get install -y -qq nodejs npm > /dev/null; }

# the package for browsers and Node: its packages, if the lock changed, its types and its tests
SDK := sdk/typescript

sdk: setup $(SDK)/node_modules/ready
	@cd $(SDK) && PYTHON=$(abspath $(BIN))/python npm run --silent types:check
	@cd $(SDK) && npm run --silent typecheck && npm run --silent test

$(SDK)/node_modules/ready: $(SDK)/package-lock.json | node
	@cd $(SDK) && npm ci --no-audit --no-fund --loglevel=error && touch node_modules/ready

# the page is tested in a browser, the service behind a proxy, which installing it must not start, and a device in Ruby;
# they are installed only here, and only if they are missing
slow: $(READY)-docs node $(if $(T),,sdk)
	@command -v chromium > /dev/null || { apt-get update -qq && apt-get install -y -qq chromium > /dev/null; }
	@PATH="$$PATH:/usr/sbin" command -v nginx > /dev/null || { apt-get update -qq \
	  && RUNLEVEL=1 apt-get install -y -qq --no-install-recommends nginx-light > /dev/null; }
	@command -v ruby > /dev/null || { apt-get update -qq && apt-get install -y -qq ruby > /dev/null; }
	@$(PYTEST) -m slow $(T)

check: setup
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

# the site, in build/site; what it needs is installed only here
docs: $(READY)-docs
	@$(BIN)/python -m tools.site build

$(READY)-docs: $(READY)
	@PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

# best_arm asks for a scipy of long ago, but runs with ours: so it comes without what it asks for
bench: setup $(SDK)/node_modules/ready
	@PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps best_arm
	@$(BIN)/python -m bench

# every experiment has a figure of its name; an hour or two, as leagues hold policies that decide for every single user
figures: setup
	@mkdir -p docs/figures
	@set -e; for file in experiments/*.toml; do name=$$(basename $$file .toml); \
	  $(BIN)/maskedbandit run $$file --out results/$$name --resume; \
	  cp results/$$name/figure.svg docs/figures/$$name.svg; done
	@$(BIN)/maskedbandit audit newsletter --out results/audit
	@cp results/audit/audit.svg docs/figures/audit.svg
	@$(BIN)/python -m tools.figures.amplification docs/figures/amplification.svg
	@$(BIN)/python -m tools.figures.counting docs/figures/counting.svg
	@$(BIN)/python -m tools.figures.returning_users docs/figures/returning_users.svg
	@$(BIN)/python -m tools.figures.running_sums docs/figures/running_sums_noise.svg
	@$(BIN)/python -m tools.figures.several_rewards docs/figures/several_rewards_cost.svg
	@$(BIN)/python -m tools.figures.secagg_growth docs/figures/secagg_growth.svg
	@$(BIN)/python -m tools.figures.two_operators docs/figures/two_operators.svg
	@mkdir -p docs/figures/sites
	@$(BIN)/python -m tools.figures.site_price docs/figures/sites/price.svg
	@$(BIN)/python -m tools.figures.device_stays docs/figures/device_stays.svg
	@$(BIN)/python -m tools.figures.estimate docs/figures/estimate.svg
	@$(BIN)/python -m tools.figures.compare docs/figures/compare
	@$(BIN)/python -m tools.figures.tutorials docs/figures/tutorials
	@$(BIN)/python -m tools.cost_of_epsilon docs/tutorials/epsilon/table.js
	@$(BIN)/python -m tools.figures.drawings docs/figures/drawings

golden: setup
	@$(BIN)/python -m tests.golden

clean:
	rm -rf .venv results
