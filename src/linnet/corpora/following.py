"""Documents that follow their terminology to its release: retired ids become their successors, lost ones are told."""

from __future__ import annotations

import functools
import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain

from linnet.data import Document, Mention
from linnet.kb import KnowledgeBase
from linnet.kb.successors import is_retired, row_of, successor
from linnet.kb.terminologies import Terminologies
from linnet.reporter import warn

__all__ = ["follow"]

logger = logging.getLogger(__name__)

SHOWN = 20  # ids, and mentions, that a message names


def follow(docs: Iterable[Document], kb: KnowledgeBase | Terminologies, *, where: str) -> Iterator[Document]:
    """Yield documents whose retired ids are replaced by their successors; ids that `kb` lacks stay.

    At the end it is said how many were replaced, and warnings name the ids that it lacks, those that it holds as
    retired without a successor, and the mentions that have them. Candidates stay as they are: they say of which
    version they are.

    Args:
        docs: the documents, of this or an earlier version of the terminology.
        kb: the new version, or several terminologies.
        where: what messages call the documents.

    >>> import tempfile
    >>> from linnet.data import Concept, Name
    >>> from linnet.kb.build import build
    >>> doc = Document("a", "Fits.", mentions=(Mention(0, 4, source="gold", concepts=("X:1",)),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     new = build([Concept("X:2", (Name("fits"),)), Concept("X:1", replaced_by="X:2")], f"{folder}/new.kb")
    ...     [followed] = follow([doc], new, where="gold.jsonl")
    >>> followed.mentions[0].concepts
    ('X:2',)
    """
    found = _Following(kb)
    for doc in docs:
        mentions = doc.mentions and tuple(found.followed(mention, doc) for mention in doc.mentions)
        yield replace(doc, mentions=mentions)
    found.say(where)


@dataclass
class _Following:
    """What has become of ids so far: in how many mentions each stood."""

    kb: KnowledgeBase | Terminologies
    replaced: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._row, self._live = row_of(self.kb), successor(self.kb)
        self._is_retired = functools.cache(functools.partial(is_retired, self.kb))
        name = self.kb.path.name
        self._lost = {True: _Lost(f"retired from {name} without a successor"), False: _Lost(f"that {name} lacks")}

    def followed(self, mention: Mention, doc: Document) -> Mention:
        """Return a mention with the ids that are live."""
        ids = dict.fromkeys(chain(mention.concepts or (), *mention.alternatives))
        lost = [id for id in ids if self._row(id) is None]
        for kind, some in self._lost.items():
            some.add([id for id in lost if self._is_retired(id) == kind], mention, doc)
        retired = [id for id in ids if self._live(id) != id]
        if not retired:
            return mention
        self.replaced.update(f"{id} → {self._live(id)}" for id in retired)
        return replace(
            mention,
            concepts=mention.concepts and self._all_live(mention.concepts),
            alternatives=tuple(dict.fromkeys(map(self._all_live, mention.alternatives))),
        )

    def _all_live(self, ids: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(map(self._live, ids)))  # two that were merged are one

    def say(self, where: str) -> None:
        """Say what has become of ids."""
        if self.replaced:
            logger.info("%s: retired ids replaced by their successors: %s", where, _counted(self.replaced))
        for lost in self._lost.values():
            lost.say(where)


@dataclass
class _Lost:
    """Ids of one kind that lead nowhere: in how many mentions each stood, and the first of these."""

    kind: str
    ids: Counter[str] = field(default_factory=Counter)
    places: list[str] = field(default_factory=list)

    def add(self, ids: list[str], mention: Mention, doc: Document) -> None:
        """Note the ids that a mention has."""
        self.ids.update(ids)
        if ids and len(self.places) <= SHOWN:
            self.places.append(f"{doc.id} {mention.start}-{mention.end} {doc.surface(mention)!r:.60}")

    def say(self, where: str) -> None:
        """Warn of them."""
        if self.ids:
            named = f"{_counted(self.ids)}, in {_few(self.places)}"
            more = "; linnet corpus check names all" if len(self.places) > SHOWN else ""
            warn(f"{where}: ids {self.kind}, left as they are: {named}{more}")


def _counted(ids: Counter[str]) -> str:
    """Return how many there are, and the most frequent ones."""
    return f"{ids.total():,} ({_few([f'{id}: {count:,}' for id, count in ids.most_common(SHOWN + 1)])})"


def _few(items: list[str]) -> str:
    return ", ".join(items[:SHOWN]) + (", …" if len(items) > SHOWN else "")
