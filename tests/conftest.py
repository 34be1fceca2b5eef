"""Fixtures for all tests: no network, a home of their own, a small knowledge base, the real data where it is."""

from __future__ import annotations

import importlib.util
import logging
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import settings

from linnet.data import Concept, Name
from linnet.kb import KnowledgeBase
from linnet.kb.build import build

OFFLINE = Path(__file__).parent / "offline"


def _block_network() -> None:
    spec = importlib.util.spec_from_file_location("linnet_tests_offline", OFFLINE / "sitecustomize.py")
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


settings.register_profile("linnet", deadline=None)  # machines differ, and no test measures time
settings.register_profile("elsewhere", deadline=None, max_examples=20)  # of what all examples were tried here
settings.load_profile("linnet")
if not Path(os.environ.get("LINNET_DATA") or "/nowhere").is_dir():
    os.environ.pop("LINNET_DATA", None)  # tests of real data look for the variable, and skip without it
_block_network()
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(OFFLINE), os.environ.get("PYTHONPATH", "")]))


def with_network() -> dict[str, str]:
    """Return an environment whose processes reach other addresses of this machine, which tests are kept from."""
    paths = [path for path in os.environ["PYTHONPATH"].split(os.pathsep) if path != str(OFFLINE)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "RAY_USAGE_STATS_ENABLED": "0"}


@pytest.fixture(scope="session", autouse=True)
def _home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep every test out of the user's own LINNET_HOME."""
    before = os.environ.get("LINNET_HOME")
    os.environ["LINNET_HOME"] = str(tmp_path_factory.mktemp("home"))
    yield
    if before is None:
        del os.environ["LINNET_HOME"]
    else:
        os.environ["LINNET_HOME"] = before


@pytest.fixture(autouse=True)
def _messages() -> Iterator[None]:
    """Give back the logger that a command takes for itself: its stream ends with the test."""
    yield
    logger = logging.getLogger("linnet")
    logger.handlers = []
    logger.setLevel(logging.NOTSET)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real corpora and terminologies, or a skip."""
    folder = os.environ.get("LINNET_DATA", "")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs the real data: set LINNET_DATA to its folder")
    return Path(folder)


@pytest.fixture
def float32(monkeypatch: pytest.MonkeyPatch) -> None:
    """No bfloat16, which processors have or not: what small networks learn, and digits of losses, depend on it."""
    monkeypatch.setattr("linnet.nn.device.bf16_gain", lambda: 0.0)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Eight threads, started in turn: two that install coverage's trace function at once fail (CPython 3.11)."""
    free = threading.Event()

    def wait(running: threading.Event) -> None:
        running.set()
        free.wait()

    with ThreadPoolExecutor(8) as threads:
        for _ in range(8):
            running = threading.Event()
            threads.submit(wait, running)
            running.wait()
        free.set()
        yield threads


CONCEPTS = (
    Concept("HP:0000118", (Name("Phenotypic abnormality"),), ("Phenotype",)),
    Concept(
        "HP:0001250",
        (Name("Seizure"), Name("Epileptic seizure"), Name("Fits", "related")),
        ("Phenotype", "Neurology"),
        "An event of abnormal electrical activity in the brain.",
        ("HP:0000118",),
        ("UMLS:C0036572",),
    ),
    Concept("HP:0002069", (Name("Tonic-clonic seizure"),), ("Phenotype", "Neurology"), parents=("HP:0001250",)),
    Concept("HP:0004322", (Name("Short stature"), Name("Small stature")), ("Phenotype",), parents=("HP:0000118",)),
    Concept("HP:0000175", (Name("Cleft palate"),), ("Phenotype",), parents=("HP:0000118",)),
    Concept("HP:0009381", (Name("Short finger"), Name("Short fingers")), ("Phenotype",), parents=("HP:0000118",)),
    Concept("HP:0001831", (Name("Short toe"), Name("Short toes")), ("Phenotype",), parents=("HP:0000118",)),
    Concept("HP:0001631", (Name("Atrial septal defect"),), ("Phenotype",), parents=("HP:0000118",)),
    Concept("X:1", (Name("Cold"),), ("Temperature",)),
    Concept("X:2", (Name("Cold"), Name("Common cold")), ("Disease",)),
    Concept("HP:0009999", (Name("Old seizure"),), replaced_by="HP:0001250"),
    Concept("HP:0009998", (), replaced_by="HP:0009999"),
    Concept("HP:0009997", (Name("Nothing"),), replaced_by=""),
)


@pytest.fixture(scope="session")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """A knowledge base of ten concepts: homonyms, a hierarchy, retired ids."""
    return build(CONCEPTS, tmp_path_factory.mktemp("kb") / "small.kb", sources=[{"vocabulary": "test"}])
