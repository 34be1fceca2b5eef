from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("prometheus_client", reason="the extra serve is not installed")

from starlette.testclient import TestClient

import linnet
from linnet.data import Document
from linnet.errors import LinnetError
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow, Pipeline
from linnet.pipeline.component import Texts, documents_of
from linnet.serve.app import make_app
from linnet.serve.keys import Keys
from linnet.serve.linking import Linking
from linnet.serve.settings import Settings


class Scripted(Pipeline):
    """A real pipeline in front of which something happens to certain texts: it waits, fails, or crashes."""

    def __init__(self, inner: Pipeline, act: Callable[[str], None]) -> None:
        super().__init__(*inner.parts, name="scripted", kb=inner.kb)
        self.act, self.calls = act, list[list[str]]()

    def __call__(self, docs: Texts, /, *, allow: Allow | None = None) -> list[Document]:
        given = documents_of(docs)
        self.calls.append([doc.text for doc in given])
        for doc in given:
            self.act(doc.text)
        return super().__call__(given, allow=allow)


def wait(gate: threading.Event) -> None:
    gate.wait(10)


def trip(text: str) -> None:
    if "crash" in text:
        raise ZeroDivisionError("a mistake")
    if "refuse" in text:
        raise LinnetError("this text cannot be linked")


@pytest.fixture(scope="session")
def local(kb: KnowledgeBase) -> Pipeline:
    """The pipeline that runs here."""
    return linnet.load("dictionary", kb=kb)


Made = Callable[..., TestClient]


@pytest.fixture
def made(local: Pipeline) -> Iterator[Made]:
    """Make clients of servers of `local`, or of other pipelines, which are stopped at the end."""
    open_ones = list[TestClient]()

    def make(
        pipelines: dict[str, Pipeline] | None = None, keys: Sequence[str] = (), everybody: bool = False, **limits: Any
    ) -> TestClient:
        named = {f"client {number}": key for number, key in enumerate(keys)}
        linking = Linking(pipelines or {"small": local}, Settings(**limits))
        app = make_app(linking, Keys(named), everybody=everybody)
        client = TestClient(app, base_url="http://localhost", raise_server_exceptions=False)
        client.__enter__()
        open_ones.append(client)
        return client

    yield make
    for client in open_ones:
        client.__exit__(None, None, None)
