"""The pipelines that a server links with, and how many requests it answers at once."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from linnet.errors import LinnetError, did_you_mean
from linnet.pipeline import Pipeline
from linnet.recipes.config import load, recipes
from linnet.recipes.linking import default_recipe, find_untrained
from linnet.serve.linker import Linker
from linnet.serve.metrics import Metrics
from linnet.serve.problems import Problem
from linnet.serve.settings import Settings

__all__ = ["Linking", "load_pipelines"]

logger = logging.getLogger(__name__)


def load_pipelines(sources: Sequence[str], kbs: Sequence[str] = ()) -> dict[str, Pipeline]:
    """Return pipelines by what requests call them: recipes by their name, files and folders by the last part of it.

    Args:
        sources: recipes, recipe files and trained folders; "" is the default recipe of a knowledge base.
        kbs: knowledge bases instead of those that they name; of several, each pipeline links to all.

    Raises:
        LinnetError: one cannot be loaded, or two have the same name.
    """
    found: dict[str, Pipeline] = {}
    for source in sources:
        linkers = [load(source or default_recipe(kb), kb=kb) for kb in kbs or (None,)]
        name = source or linkers[0].name
        untrained, parts = find_untrained(name)
        if parts:
            logger.warning("%s is untrained (%s): run linnet train %s -o DIR", untrained, ", ".join(parts), untrained)
        name = name if name in recipes() else Path(name).absolute().with_suffix("").name
        if name in found:
            raise LinnetError(f"--link: two pipelines are called {name!r}: rename a folder, or leave one out")
        found[name] = linkers[0] if len(linkers) == 1 else _side_by_side(linkers)
    return found


def _side_by_side(linkers: Sequence[Pipeline]) -> Pipeline:
    from linnet.pipeline.several import several  # noqa: PLC0415 - most texts are linked to one

    return several(*linkers)


class Linking:
    """What the requests of one application share.

    Args:
        pipelines: by name; the first one answers requests that name none.
        settings: limits.
    """

    def __init__(self, pipelines: Mapping[str, Pipeline], settings: Settings | None = None) -> None:
        self.settings, self.metrics = settings or Settings(), Metrics()
        self._open: Counter[str] = Counter()  # requests of each client
        self._reading = 0  # requests that are just coming in
        self.linkers = {
            name: Linker(name, made, self.settings, self.metrics, lambda: self._reading > 0)
            for name, made in pipelines.items()
        }

    def linker(self, name: str | None) -> Linker:
        """Return what links, the first one without a name.

        Raises:
            Problem: there is none of this name, or none at all.
        """
        if not self.linkers:
            raise Problem(404, "no-pipeline", "The server links with no pipeline", "start it with --link PIPELINE")
        if name is None:
            return next(iter(self.linkers.values()))
        if name not in self.linkers:
            hint = did_you_mean(name, self.linkers) or f"; there are: {', '.join(self.linkers)}"
            raise Problem(404, "no-pipeline", "There is no such pipeline", f"no pipeline {name!r}{hint}")
        return self.linkers[name]

    @contextmanager
    def admit(self, client: str) -> Iterator[None]:
        """Count a request of a client while it is answered.

        Raises:
            Problem: 429, too many are being answered, or too many of this client.
        """
        most = self.settings.requests
        mine = self._open[client] >= max(1, most // 2)
        if mine or self._open.total() >= most:
            whose = "from this client" if mine else "at once"
            raise Problem(429, "requests", f"Too many requests {whose}", "ask again", headers={"Retry-After": "1"})
        with self.counted(client):
            yield

    @contextmanager
    def counted(self, client: str) -> Iterator[None]:
        """Count a request that was admitted, while its answer is under way."""
        self._open[client] += 1
        try:
            yield
        finally:
            self._open[client] -= 1
            if not self._open[client]:
                del self._open[client]

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Tell the pipelines that a request is just coming in."""
        self._reading += 1
        try:
            yield
        finally:
            self._reading -= 1

    @property
    def well(self) -> bool:
        """Whether all pipelines take requests."""
        return all(linker.alive for linker in self.linkers.values())

    def close(self) -> None:
        """Finish what was accepted, and stop."""
        for linker in self.linkers.values():
            linker.close()
