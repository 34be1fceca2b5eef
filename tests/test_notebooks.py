"""The notebooks of the docs run, and show what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the libraries that run notebooks
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient, nbformat, *_ = map(pytest.importorskip, ("nbclient", "nbformat", "ipykernel", "pandas"))
    for variable in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "stored without outputs"
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3", resources=resources).execute()
    shown = [_shown(cell) for cell in notebook.cells if cell.cell_type == "code"]
    assert "<iframe" in shown[0]["text/html"]
    assert "Atrial septal defect" in shown[1]["text/html"]
    assert "HP:0004322  Short stature" in shown[2]["text/plain"]
    assert "srcdoc" in shown[3]["text/html"]
    assert shown[4]["text/plain"].startswith("('Seizure',")


def _shown(cell: Any) -> dict[str, str]:
    """Return what a cell ends with, by kind."""
    return next((dict(out.data) for out in reversed(cell.outputs) if out.output_type == "execute_result"), {})
