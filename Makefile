# Transformers, Worked Out. `make help` lists the targets.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help setup book test notebooks lint format serve lab requirements clean

help:            ## list the targets
	@grep -hE '^[a-z]+: .*##|^[a-z]+:  *##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: $(READY)  ## make .venv and install the exact pins

$(READY): requirements.txt pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --requirement requirements.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

book: $(READY)   ## build the site from the stored outputs
	$(BIN)/jupyter-book build . -W --keep-going
	@echo "The book: $(CURDIR)/_build/html/index.html"

test: book       ## run every cell and every test
	$(BIN)/python tests/run.py

notebooks: $(READY)  ## run all chapters and store clean outputs
	BOOK_STATIC=1 $(BIN)/python notebooks/execute.py $(ONLY)

lint: $(READY)   ## check style and format, notebooks too
	$(BIN)/ruff check
	$(BIN)/ruff format --check

format: $(READY) ## mend what ruff can mend
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

serve: book      ## build, then serve the site on http://localhost:8000
	$(BIN)/python -m http.server --directory _build/html --bind 127.0.0.1 8000

lab: $(READY)    ## open the chapters in JupyterLab
	$(BIN)/jupyter lab notebooks

requirements: requirements.in  ## compile requirements.txt anew (needs uv)
	uv pip compile --universal --python-version 3.11 --no-annotate --upgrade \
	    --custom-compile-command "make requirements" requirements.in \
	  | grep --invert-match --extended-regexp '^(cuda|nvidia|triton)' > requirements.txt

clean:           ## remove what was built (not .venv)
	rm -rf _build build dist *.egg-info .pytest_cache .ruff_cache .hypothesis .coverage*
