"""A project whose knowledge base becomes its next release while people work, for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from linnet.data import Concept, Name
from linnet.home import kb_folder
from linnet.kb.build import build
from linnet.vocabularies.update import update
from tests.annotate.api import Person, Site
from tests.annotate.desk import fresh


@contextmanager
def a_release(site: Site, owner: Person, **more: Any) -> Iterator[tuple[int, Callable[[], object]]]:
    """Yield a project, and what brings its knowledge base to the release in which X:9, gout, is Y:1."""
    name = fresh("ours")
    ague, gout = Concept("X:8", (Name("Ague"),)), (Name("Gout"),)
    made = build([ague, Concept("X:9", gout)], kb_folder() / f"{name}.kb")
    later = build([ague, Concept("Y:1", gout), Concept("X:9", replaced_by="Y:1")], kb_folder() / f"{name}-2.kb")
    yield site.project(owner, kb=name, **more), lambda: update(made.path, later)
    for one in (made, later):
        one.close()
        one.path.unlink()
