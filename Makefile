# Each target sets up what it needs: .venv with the locked dependencies and this checkout, installed editable.
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test check bench samples docs clean
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

samples: $(READY)
	@$(BIN)/python samples/make_samples.py

docs: $(READY)
	@$(BIN)/python docs/make_cli.py

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis demo-out
