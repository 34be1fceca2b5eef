"""What needs an extra that is not installed is skipped, as it is on Pythons that have no PyTorch."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Generator

import pytest

EXTRAS = (
    "accelerate", "alembic", "anyio", "argon2", "cryptography", "dask", "duckdb", "fastapi", "fsspec", "httpx2",
    "huggingface_hub", "jwt", "mcp", "onnx", "onnxruntime", "optuna", "pandas", "prometheus_client", "psycopg",
    "pyarrow", "python_multipart", "ray", "safetensors", "spacy", "sqlalchemy", "starlette", "tokenizers", "torch",
    "transformers", "uvicorn",
)  # fmt: skip
MISSING = [name for name in EXTRAS if importlib.util.find_spec(name) is None]
# modules that are left half imported when one is not there
HALF = {
    "prometheus_client": r"linnet\.(serve|bench)\.",
    "torch": r"linnet\.nn\.",
    "sqlalchemy": r"(linnet|tests)\.annotate\.|linnet\.bench\.(serve|active)|tests\.browser\.workbench\.",
}
FLAIR = ["src/linnet/detect/flair_model.py"]

collect_ignore = [] if importlib.util.find_spec("flair") else FLAIR


def _skip(report: pytest.CollectReport | pytest.TestReport, path: object) -> None:
    """Turn a failure for want of an extra into a skip."""
    told = str(report.longrepr)
    lacks = [name for name in MISSING if f"No module named '{name}" in told or f"needs {name}, which is not" in told]
    for name, modules in HALF.items():
        if name in MISSING and "ImportError: cannot import name" in told and re.search(rf"from '{modules}", told):
            lacks.append(name)
    if report.failed and (name := next(iter(lacks), None)):
        report.outcome, report.longrepr = "skipped", (str(path), 0, f"Skipped: {name} is not installed")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skip modules."""
    report = yield
    _skip(report, collector.path)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skip tests."""
    report = yield
    _skip(report, item.path)
    return report
