# Each target sets up what it needs: .venv with the locked dependencies and this checkout, installed editable.
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test check bench test-clients test-engines test-gpu test-peers samples docs lock clean
.DEFAULT_GOAL := demo

$(READY): requirements.lock pyproject.toml
	@python=$$(.ci/find-python) && { [ -x $(BIN)/python ] || "$$python" -m venv $(VENV); }
	@echo "installing the locked dependencies into $(VENV) (about a minute)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(READY)
	@$(BIN)/agentreel demo

test: $(READY)
	@$(BIN)/python -m pytest -q

check: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python docs/make_cli.py --check

# The next ones need more than this checkout brings and skip with a printed reason when it can't be had.

# real Claude Code and Codex through the recorder
test-clients: $(READY)
	@$(BIN)/python -m pytest -q -rs tests/clients

# replay against a real vLLM and llama.cpp on the CPU
test-engines: $(READY)
	@$(BIN)/python -m pytest -q -rs tests/engines

# other people's programs read what we write, and build the graphs we claim to match
test-peers: $(READY)
	@$(BIN)/python -m pytest -q -rs tests/peers

# replay against a small model that torch computes, on a GPU where there is one; under 5 minutes on a CPU
test-gpu: $(READY)
	@$(BIN)/python -m pytest -q -rs tests/gpu

# JSON lines, ratios against named peers in one run
bench: $(READY)
	@for bench in benchmarks/bench_*.py; do $(BIN)/python $$bench || exit 1; done

samples: $(READY)
	@$(BIN)/python samples/make_samples.py

docs: $(READY)
	@$(BIN)/python docs/make_cli.py

# pins everything anew (needs uv): for development, for running alone, for building the wheel in docker/
LOCK := uv pip compile --upgrade --universal --python-version 3.12 --generate-hashes --no-header --quiet
lock:
	@$(LOCK) --extra dev --extra dask --extra perfetto pyproject.toml -o requirements.lock
	@$(LOCK) --no-annotate -c requirements.lock pyproject.toml -o requirements-run.lock
	@printf 'setuptools>=77\nwheel\n' | $(LOCK) --no-annotate -c requirements.lock - -o docker/build.lock

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis demo-out
