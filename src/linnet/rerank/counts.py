"""What annotated documents say about names: how often each name meant each concept, and how often concepts occur.

A model that is to learn how far such counts can be trusted must not see a mention's own document among them, or it
learns that they are always right. `Counts.minus` gives the counts without some documents.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from linnet.data import Document, Mention
from linnet.errors import FormatError
from linnet.kb import KnowledgeBase
from linnet.pipeline.aliases import rows_now
from linnet.rerank.lexicon import name_words
from linnet.text.normalise import basic
from linnet.text.queries import query_texts

__all__ = ["Counts", "answers", "bag"]

Table = dict[str, Counter[int]]


def bag(name: str) -> str:
    """Return the words of a name as they are compared, in alphabetic order.

    >>> bag("Cancer of the kidney") == bag("renal cancer of the")
    True
    """
    return " ".join(sorted(set(name_words(name))))


def answers(mention: Mention, kb: KnowledgeBase) -> list[tuple[int, ...]]:
    """Return the rows of each answer that a gold mention accepts and the knowledge base holds in full."""
    accepted = [answer for answer in (mention.concepts or (), *mention.alternatives) if answer]
    return [tuple(kb.row(id) for id in answer) for answer in accepted if all(id in kb for id in answer)]


@dataclass
class Counts:
    """Counts of gold mentions: by normal form, by bag of words, by mention type; and of concepts.

    ``names`` and ``bags`` map a text to its concepts (rows) with counts; ``concepts`` counts rows; ``types`` maps a
    mention type to the rows it was said of. Mentions of several concepts count for the concepts and types alone.
    ``origin`` are the counts as they were before edits of the knowledge base, which later edits may bring back.
    """

    names: Table = field(default_factory=dict)
    bags: Table = field(default_factory=dict)
    concepts: Counter[int] = field(default_factory=Counter)
    types: Table = field(default_factory=dict)
    origin: Counts | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, docs: Iterable[Document], kb: KnowledgeBase) -> Counts:
        """Return the counts of documents with gold mentions and abbreviations."""
        counts = cls()
        for doc in docs:
            for mention, query in zip(doc.mentions or (), query_texts(doc), strict=True):
                accepted = answers(mention, kb)
                if accepted:
                    counts._add(mention, (doc.surface(mention), query), accepted[0])
        return counts

    def _add(self, mention: Mention, texts: Sequence[str], rows: tuple[int, ...]) -> None:
        self.concepts.update(rows)
        for kind in mention.types:
            self.types.setdefault(kind, Counter()).update(rows)
        if len(rows) == 1:
            for table, key in ((self.names, basic), (self.bags, bag)):
                for text in dict.fromkeys(key(text) for text in texts):  # not a set: files of counts are alike
                    if text:
                        table.setdefault(text, Counter()).update(rows)

    def minus(self, other: Counts) -> Counts:
        """Return these counts without those of some of the same documents; tables of other texts are shared."""
        return Counts(
            names=_minus(self.names, other.names),
            bags=_minus(self.bags, other.bags),
            concepts=self.concepts - other.concepts,
            types={kind: rows - other.types.get(kind, Counter()) for kind, rows in self.types.items()},
        )

    def rebound(self, kb: KnowledgeBase) -> Counts:
        """Return the same on the edited knowledge base `kb`: what was counted of a retired concept is its successor's.

        Counts of concepts that were retired without a successor are left out, with a warning.
        """
        first = self if self.origin is None else self.origin
        tables = [*first._tables()]
        rows = rows_now(kb, {row for _, table in tables for counted in table.values() for row in counted})
        moved = {name: _moved(table, rows) for name, table in tables}
        return Counts(moved["names"], moved["bags"], moved["concepts"].get("", Counter()), moved["types"], first)

    def save(self, path: Path) -> None:
        """Write the counts as JSON Lines: table, text, rows, counts."""
        with path.open("w", encoding="utf-8") as out:
            for name, table in self._tables():
                for text, rows in table.items():
                    out.write(json.dumps([name, text, list(rows), list(rows.values())], ensure_ascii=True) + "\n")

    def _tables(self) -> Iterator[tuple[str, Mapping[str, Counter[int]]]]:
        yield from (("names", self.names), ("bags", self.bags), ("types", self.types))
        yield "concepts", {"": self.concepts}

    @classmethod
    def load(cls, path: Path) -> Counts:
        """Return the counts that `save` wrote.

        Raises:
            FormatError: the file is missing or holds something else.
        """
        counts = cls()
        number = 0
        tables: dict[str, Table] = {"names": counts.names, "bags": counts.bags, "types": counts.types}
        try:
            for line in path.read_text(encoding="utf-8").splitlines():
                number += 1
                name, text, rows, values = json.loads(line)
                found = Counter(dict(zip(map(int, rows), map(int, values), strict=True)))
                if name == "concepts":
                    counts.concepts = found
                else:
                    tables[name][text] = found
        except OSError as error:
            raise FormatError(path, f"cannot be read: {error.strerror}; train the pipeline again") from error
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            raise FormatError(path, f"no counts ({error!r}); train the pipeline again", line=number) from error
        return counts


def _moved(table: Mapping[str, Counter[int]], rows: Mapping[int, int | None]) -> Table:
    """Return a table with other rows, without texts of which none is left."""
    made: Table = {}
    for text, counted in table.items():
        for row, count in counted.items():
            if (now := rows[row]) is not None:
                made.setdefault(text, Counter())[now] += count
    return made


def _minus(table: Table, other: Table) -> Table:
    return {**table, **{text: table[text] - rows for text, rows in other.items()}}
