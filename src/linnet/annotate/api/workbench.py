"""What all requests share: the store, the settings, the failures to sign in, and what was opened once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from anyio import CapacityLimiter

from linnet.annotate.api.aside import Aside
from linnet.annotate.api.watch import Look, Watch
from linnet.annotate.fresh import linker_of
from linnet.annotate.models import kb_called, load_model, recipe_named
from linnet.annotate.nearest import nearest_of
from linnet.annotate.oidc import OidcSettings, Provider
from linnet.annotate.problems import NotFoundError
from linnet.annotate.searching import Nearest
from linnet.annotate.signing import Attempts
from linnet.annotate.store import Store
from linnet.annotate.uses import Uses
from linnet.errors import KnowledgeBaseError
from linnet.fetch.archive import Room
from linnet.kb import KnowledgeBase
from linnet.kb.file import state_of
from linnet.pipeline import Pipeline
from linnet.recipes.config import load
from linnet.recipes.knowledge_bases import kb_of_version
from linnet.retrieve.ngram_file import NgramFile
from linnet.retrieve.ngram_index import NgramIndex
from linnet.retrieve.ngram_text import Analysis

__all__ = ["Settings", "Workbench"]

Key = TypeVar("Key")
Opened = TypeVar("Opened")
MOST_OPEN = 4  # linkers, each with its model
MOST_INDEXES = 32  # of names, which are mapped files: those of knowledge bases before an edit are among them


@dataclass(frozen=True, slots=True)
class Settings:
    """What can be set of a server.

    Args:
        data: the folder of the workbench, where trained models are.
        largest_body: bytes of an ordinary request.
        largest_upload: bytes of an upload, or of a history that is brought in.
        room: what an uploaded archive may unpack to.
        poll: seconds between two looks for what others did, for streams of events.
        ping: seconds of silence on such a stream.
        oidc: a provider that people sign in at.
        demo: whether whoever uses this machine is let in without a password, as the one user of a demo.
    """

    data: Path
    largest_body: int = 2 << 20
    largest_upload: int = 64 << 20
    room: Room = field(default_factory=lambda: Room(bytes=1 << 30, files=20_000))
    poll: float = 0.5
    ping: float = 15.0
    oidc: OidcSettings | None = None
    demo: bool = False


class Workbench:
    """One for each application; threads share it."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.settings = store, settings
        self.attempts, self.uses = Attempts(), Uses()
        self.oidc = None if settings.oidc is None else Provider(settings.oidc)
        self.stopping = threading.Event()  # set when the server is to stop: streams end then
        self._kbs: dict[str, tuple[KnowledgeBase, tuple[int, ...]]] = {}  # with the state of the file
        self._linkers: dict[tuple[str, str], Pipeline] = {}
        self._similar: dict[str, Aside[NgramIndex]] = {}
        self._nearest: dict[tuple[str, str], Aside[Nearest | None]] = {}
        self._opening = threading.Lock()
        self.drawing = CapacityLimiter(1)
        self._watches: dict[int, Watch] = {}

    def look(self, project: int) -> Look:
        """Return how a project is, for those who listen to it: asked once for all, and hardly older than now."""
        return self._watch(project).look(self.store, self.settings.poll / 2)

    def held_look(self, project: int) -> Look | None:
        """Return how a project was a moment ago, if somebody has just asked."""
        return self._watch(project).held(self.settings.poll / 2)

    def _watch(self, project: int) -> Watch:
        return self._watches.setdefault(project, Watch(project))

    def kb_named(self, name: str) -> KnowledgeBase:
        """Return the knowledge base with a name under LINNET_HOME, opened once, and again if it was edited.

        Raises:
            KnowledgeBaseError: there is none, or the name is a path.
        """
        if not name or not set(name).isdisjoint("/\\\0") or name.startswith("."):
            raise KnowledgeBaseError(f"{name!r} is no name of a knowledge base")
        return self._current(name, lambda: kb_called(name))

    def kb_of(self, version: str) -> KnowledgeBase:
        """Return the knowledge base of a version.

        Raises:
            NotFoundError: none under LINNET_HOME is of it, or was.
        """
        for kb, state in list(self._kbs.values()):
            if kb.version == version and state == state_of(kb.path):
                return kb

        def find() -> KnowledgeBase:
            found = kb_of_version(version)
            if found is None:
                raise NotFoundError(f"there is no knowledge base of version {version!r} here")
            return found

        return self._current(f"version {version}", find)

    def _current(self, key: str, find: Callable[[], KnowledgeBase]) -> KnowledgeBase:
        """Return what was opened under a key, anew if its file has changed: an open one answers nothing any more."""
        held = self._kbs.get(key)
        if held is None or held[1] != state_of(held[0].path):
            with self._opening:
                found = find()
                held = found, state_of(found.path)
                # without those whose file has changed: nobody asks for their version any more
                self._kbs = {name: one for name, one in self._kbs.items() if one[1] == state_of(one[0].path)}
                self._kbs[key] = held
        return held[0]

    def linker(self, model: Mapping[str, Any] | None, untrained: str, kb: KnowledgeBase) -> Pipeline:
        """Return what links spans, opened once: of a model of this workbench, or of a recipe where there is none.

        Raises:
            LinnetError: there is no such recipe, or it does not fit the knowledge base.
        """

        def make() -> Pipeline:
            data = self.settings.data
            whole = load(recipe_named(untrained, data), kb=kb) if model is None else load_model(model, data, kb)
            return linker_of(whole, kb)

        return self._once(self._linkers, _key(model, untrained, kb), make)

    def similar(self, kb: KnowledgeBase) -> Aside[NgramIndex]:
        """Return the index of a knowledge base's names by n-grams, which is opened aside, and made where it must be."""

        def make() -> NgramIndex:
            index = NgramFile(kb, Analysis()).current()
            index.search("first", 1)  # which is slower than all others
            return index

        return self._once(self._similar, kb.version, lambda: Aside(make), MOST_INDEXES)

    def nearest(self, model: Mapping[str, Any] | None, untrained: str, kb: KnowledgeBase) -> Aside[Nearest | None]:
        """Return what finds names by meaning, if the pipeline of `linker` has vectors already; opened aside too."""

        def make() -> Nearest | None:
            found = nearest_of(self.linker(model, untrained, kb))
            if found is not None:
                found("first", 1)
            return found

        return self._once(self._nearest, _key(model, untrained, kb), lambda: Aside(make))

    def _once(self, opened: dict[Key, Opened], key: Key, make: Callable[[], Opened], most: int = MOST_OPEN) -> Opened:
        """Return what was opened under a key; what was opened first is closed when there is too much."""
        found = opened.get(key)
        if found is None:
            with self._opening:
                found = opened.get(key)
                if found is None:
                    found = opened[key] = make()
                while len(opened) > most:
                    opened.pop(next(iter(opened)))
        return found


def _key(model: Mapping[str, Any] | None, untrained: str, kb: KnowledgeBase) -> tuple[str, str]:
    return (f"recipe {untrained}" if model is None else model["id"], kb.version)
