"""Stores on both databases, and a desk: a project with a document that somebody works on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # what counts and draws is tested where the extra "serve" is not installed, too
    from linnet.annotate.store import Store
    from tests.annotate.api import Person, Site
    from tests.annotate.desk import Desk


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    from tests.annotate.databases import postgresql

    with postgresql() as found:
        yield found


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Each database in turn: a folder, or a URL."""
    if request.param == "sqlite":
        return str(tmp_path_factory.mktemp("store"))
    found: str = request.getfixturevalue("url")
    return found


@pytest.fixture(scope="session")
def store(where: str) -> Iterator[Store]:
    """An open store that all tests share: each makes projects of its own."""
    from linnet.annotate.store import open_store

    opened = open_store(where)
    yield opened
    opened.close()


@pytest.fixture
def desk(store: Store) -> Desk:
    from tests.annotate.desk import Desk

    return Desk.open(store)


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A workbench on each database in turn, which tests share: each makes people and projects of its own."""
    from linnet.annotate.store import open_store
    from tests.annotate.api import Site
    from tests.annotate.databases import another

    folder = tmp_path_factory.mktemp("site")
    opened = open_store(folder if request.param == "sqlite" else another(request.getfixturevalue("url")))
    yield Site(opened, folder)
    opened.close()


@pytest.fixture(scope="session")
def root(site: Site) -> Person:
    """An administrator of the workbench."""
    return site.person("root", admin=True)
