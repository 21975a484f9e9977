# Transformers, Worked Out. `make help` lists the targets.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := setup
SITE   := _build/html
FILE   := _build/transformers-worked-out
ORACLES := _build/oracles
DIST   := dist
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Whatever the locale: paths and what is printed are in UTF-8.
export PYTHONUTF8 := 1

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup book wheel check test processors test-homework coverage mutations oracles matrix bench notebooks address lint types format homework pdf slides zip serve lab requirements clean

help:            ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-16s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:           ## make .venv and install the pinned packages: [TORCH=cpu|gpu]
	@"$(PYTHON)" book/environment.py "$(TORCH)"

book: $(READY)   ## build the site and print its path
	@$(BIN)/python -m book.build

lab:             ## open the chapters in JupyterLab (installs only what they need)
	@"$(PYTHON)" book/environment.py "$(TORCH)" lab
	$(BIN)/python -m jupyter trust notebooks/*.ipynb
	$(BIN)/python -m jupyter lab --ServerApp.root_dir=. $(if $(filter 0,$(shell id -u)),--allow-root) --LabApp.default_url=/lab/tree/notebooks

serve: book      ## build the site and serve it on http://localhost:8000
	$(BIN)/python -m http.server --directory $(SITE) --bind 127.0.0.1 8000

pdf: book        ## print the book, and each chapter, as PDFs (needs Chromium)
	@$(BIN)/python -m book.paper $(SITE) $(FILE).pdf

slides: $(READY) ## make a lecture's slides in _build/slides, of all chapters or one: [CHAPTER=05]
	@PYTHONPATH=book/_ext $(BIN)/python -m book.slides $(CHAPTER)

zip: book        ## pack the site, without the chat model, and the notebooks into one archive
	rm -rf $(SITE)/_static/downloads
	cd _build && ../$(BIN)/python -m zipfile -c $(notdir $(FILE)).zip $(notdir $(SITE))
	@$(BIN)/python -m book.build

test: $(READY)   ## run everything: check, every cell, the site and the homework
	$(BIN)/python tests/run.py

homework: $(READY) ## write a problem set: CHAPTER=05 [OUT=course] [SEED=] [PRIVATE=] [SITE_URL=] [ROSTER=] [PREVIEW=3]
	@$(BIN)/python -m homework.release --chapter "$(CHAPTER)" --out "$(or $(OUT),course)" \
	    --seed "$(SEED)" --private "$(PRIVATE)" --site "$(SITE_URL)" \
	    --roster "$(ROSTER)" --preview "$(or $(PREVIEW),0)"

processors: $(READY) ## run cells and corrections as other processors compute them: [ONLY="05 avx2"]
	$(BIN)/python tests/run.py processors $(ONLY)

test-homework: $(READY) ## run the homework's tests alone
	$(BIN)/python tests/run.py homework

check: $(READY)  ## quick checks before a commit: style, types, helpers, chapters
	$(BIN)/python tests/run.py check

format: $(READY) ## fix what ruff, oxlint and oxfmt can fix
	$(BIN)/python -m ruff check --fix
	$(BIN)/python -m ruff format
	$(BIN)/oxlint --fix
	$(BIN)/oxfmt '**/*.js' '**/*.css'

lint: $(READY)   ## check style and format, of notebooks, scripts and style sheets too
	$(BIN)/python -m ruff check
	$(BIN)/python -m ruff format --check
	$(BIN)/oxlint --deny-warnings
	$(BIN)/oxfmt --check '**/*.js' '**/*.css'

types: $(READY)  ## check the types of helpers, homework and book
	$(BIN)/python -m mypy

notebooks: $(READY)  ## run the chapters and store their outputs: [ONLY=05]
	BOOK_STATIC=1 $(BIN)/python notebooks/execute.py $(ONLY)

address: $(READY) ## write the repository's address into the stored files: [URL=]
	@$(BIN)/python -m book.address "$(URL)"

wheel: $(READY)  ## build the package helpers as a wheel: [DIST=dist]
	rm -rf build
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$(DIST)" .

bench: book       ## run the long measurements and store their results
	@set -e; export PYTHONPATH="$$PWD"; for script in $(filter-out $(addprefix benchmarks/,gpu.py matrix.py minigpt.py oracles%.py speedrun.py),$(wildcard benchmarks/*.py)); do echo "$$script"; $(BIN)/python "$$script"; done

coverage: $(READY)  ## measure how much of helpers its tests reach (95 % at least)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 tests/core tests/chapters --cov=helpers \
	    --cov-report=term:skip-covered --cov-fail-under=95

mutations: $(READY)  ## plant errors in the core with mutmut, list those that no test finds: [ONLY="helpers.norms*"]
	$(BIN)/python -m pip install --quiet mutmut==3.8.1
	OMP_NUM_THREADS=1 $(BIN)/python -m mutmut run $(ONLY)
	$(BIN)/python -m mutmut results

oracles: $(READY) ## compare our GPT and Llama with Hugging Face's and llama.cpp's, in an environment of its own
	@test -x $(ORACLES)/bin/python || $(BIN)/python -m venv --without-pip $(ORACLES)
	@where='import site; print(site.getsitepackages()[0])'; $(BIN)/python -c "$$where" \
	    > "$$($(ORACLES)/bin/python -c "$$where")/book.pth"
	$(ORACLES)/bin/python -m pip install --quiet --no-deps --requirement benchmarks/oracles.txt
	PYTHONPATH="$$PWD" OMP_NUM_THREADS=1 $(ORACLES)/bin/python benchmarks/oracles.py
	PYTHONPATH="$$PWD" OMP_NUM_THREADS=1 $(ORACLES)/bin/python benchmarks/oracles_llama.py
	PYTHONPATH="$$PWD" OMP_NUM_THREADS=1 $(ORACLES)/bin/python -m pytest -q -m nightly tests/core/test_to_hf.py tests/core/test_pretrained.py

matrix: $(READY) ## run helpers' tests and all chapters with other packages: [ONLY=] [WITH=python]
	OMP_NUM_THREADS=1 PYTHONPATH="$$PWD" $(BIN)/python benchmarks/matrix.py $(ONLY) $(and $(WITH),--python "$(WITH)")

requirements: requirements.in  ## compile the pins: [UPGRADE=--upgrade] (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --no-annotate $(UPGRADE) \
	    --custom-compile-command "make requirements" --output-file requirements.txt requirements.in
	sed -i.bak -E '/^(cuda|nvidia|triton)/d' requirements.txt && rm requirements.txt.bak
	uv pip compile --quiet --universal --python-version 3.11 --no-annotate --no-deps --generate-hashes \
	    --custom-compile-command "make requirements" --no-emit-package torch \
	    --output-file requirements-hashes.txt requirements.txt

clean:           ## delete what was built (not .venv)
	rm -rf _build build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis .coverage*
