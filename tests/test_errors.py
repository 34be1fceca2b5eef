from __future__ import annotations

import inspect
import pickle
from pathlib import Path

import pytest

import linnet.errors as tree
from linnet.errors import FormatError, LinnetError, MissingExtraError, RecipeError, did_you_mean, how_to_install


def test_every_error_stands_in_the_tree_and_in_its_drawing() -> None:
    classes = [made for _, made in inspect.getmembers(tree, inspect.isclass) if issubclass(made, Exception)]
    for made in classes:
        assert made.__name__ in tree.__all__
        if not issubclass(made, Warning):
            assert issubclass(made, LinnetError)
            assert made.__name__ in str(tree.__doc__)


def test_errors_cross_process_borders() -> None:
    for error in (FormatError("f.tsv", "is odd", line=3), FormatError("f.tsv", "is odd"), RecipeError("r", ["a", "b"])):
        assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert pickle.loads(pickle.dumps(FormatError("f", "p", line=3))).line == 3


def test_messages() -> None:
    assert str(RecipeError("r.toml", ["a", "b"])) == "r.toml: 2 problems\n  a\n  b"
    assert MissingExtraError("torch", extra="neural", wanted_by="x").extra == "neural"
    assert did_you_mean("zzz", ["dictionary"]) == ""


def test_a_clone_installs_its_own_extras(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tree, "__file__", str(tmp_path / "my clone" / "src" / "linnet" / "errors.py"))
    assert how_to_install("neural") == "pip install 'linnet[neural]'"  # as from a wheel
    (tmp_path / "my clone").mkdir()
    (tmp_path / "my clone" / "pyproject.toml").touch()
    assert how_to_install("neural") == f"pip install -e '{tmp_path}/my clone[neural]'"
    assert str(MissingExtraError("torch", extra="neural", wanted_by="x")).endswith(how_to_install("neural"))
