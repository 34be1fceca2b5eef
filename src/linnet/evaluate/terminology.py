"""Predictions of the terminology that gold documents are annotated with, and ids that are of none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from linnet.data import Document, Mention
from linnet.errors import MismatchError
from linnet.kb import KnowledgeBase

__all__ = ["of_one_terminology", "unknown_ids"]

NO_CONCEPT = frozenset(["NIL", "-1"])


def of_one_terminology(
    gold: Sequence[Document], predicted: Sequence[Document], *, kb: KnowledgeBase | None = None
) -> tuple[list[Document], list[Document]]:
    """Return gold and predicted documents with the mentions of the terminology that gold is of.

    Mentions that name no terminology stay; where the predictions name fewer than two, all of them do. Of gold all stay
    that does not name it, which may know it by another name.

    Args:
        gold: documents with gold mentions.
        predicted: the same documents.
        kb: says which terminology, also where gold alone is of several; without it that whose concepts have the
            prefixes of gold's.

    Raises:
        MismatchError: no terminology of the predictions is that of `kb`, or none or several are those of gold.

    >>> gold = [Document("a", "Fits.", mentions=(Mention(0, 4, source="gold", concepts=("HP:0001250",)),))]
    >>> names = {"hpo": "HP:0001250", "mesh": "MESH:D012640"}
    >>> found = (Mention(0, 4, concepts=(id,), terminology=name) for name, id in names.items())
    >>> _, [doc] = of_one_terminology(gold, [Document("a", "Fits.", mentions=tuple(found))])
    >>> [mention.terminology for mention in doc.mentions]
    ['hpo']
    """
    named = sorted(_names(predicted))
    if len(named) < 2:  # such as what is left of one who found several
        ours = _of_kb([*gold, *predicted], kb) if kb is not None else set[str]()
        return (_of_those(gold, *ours) if len(ours) == 1 else list(gold)), list(predicted)
    chosen = _of_kb(predicted, kb) if kb is not None else _of_gold(gold, predicted)
    if len(chosen) != 1:
        what = f"{' and '.join(sorted(chosen))} are" if chosen else "none is"
        whose = f"of {kb.path.name}" if kb is not None else "of gold's concepts"
        way = "give --kb the knowledge base of gold"
        raise MismatchError(f"the predictions are of {', '.join(named)}; {what} {whose}: {way}")
    return _of_those(gold, *chosen), _only(predicted, *chosen)


def _of_those(gold: Sequence[Document], name: str) -> list[Document]:
    return _only(gold, name) if name in _names(gold) else list(gold)


def _names(docs: Iterable[Document]) -> set[str]:
    return {mention.terminology for mention in _mentions(docs)} - {""}


def _mentions(docs: Iterable[Document]) -> Iterator[Mention]:
    return (mention for doc in docs for mention in doc.mentions or ())


def _concepts(docs: Iterable[Document]) -> Iterator[str]:
    return (id for mention in _mentions(docs) for id in mention.concepts or ())


def _of_kb(predicted: Iterable[Document], kb: KnowledgeBase) -> set[str]:
    """Return the terminologies whose candidates are of a knowledge base, or else that of its name."""
    made: dict[str, set[str]] = {}
    for mention in _mentions(predicted):
        if mention.terminology and mention.candidates is not None:
            made.setdefault(mention.terminology, set()).add(mention.candidates.kb)
    found = {name for name, versions in made.items() if any(one and kb.comes_from(one) for one in versions)}
    return found or {kb.info["name"]} & _names(predicted)


def _of_gold(gold: Iterable[Document], predicted: Iterable[Document]) -> set[str]:
    """Return the terminologies with a concept of a prefix that gold's concepts have."""
    wanted = {_prefix(id) for id in _concepts(gold)}
    return {
        mention.terminology
        for mention in _mentions(predicted)
        if mention.terminology and any(_prefix(id) in wanted for id in mention.concepts or ())
    }


def _prefix(id: str) -> str:
    return id.partition(":")[0]


def _only(docs: Iterable[Document], name: str) -> list[Document]:
    return [
        replace(doc, mentions=tuple(one for one in doc.mentions if one.terminology in ("", name)))
        if doc.mentions
        else doc
        for doc in docs
    ]


def unknown_ids(gold: Sequence[Document], predicted: Sequence[Document], kb: KnowledgeBase) -> str:
    """Return how many predicted concepts a knowledge base lacks, an example, and the id that may be meant; "" = none.

    Retired ids that lead to a successor are known; ``NIL`` and ``-1`` say that there is no concept.
    """
    counts = Counter(_concepts(predicted))
    unknown = {id: count for id, count in counts.most_common() if id not in NO_CONCEPT and id not in kb}
    if not unknown:
        return ""
    prefixes = dict.fromkeys(_prefix(id) for id in _concepts(gold) if ":" in id)
    meant = ((id, near) for id in unknown for near in _respelled(id, prefixes) if near in kb)
    example, near = next(meant, (next(iter(unknown)), ""))
    total = sum(unknown.values())
    what = f"{total:,} predicted concepts are" if total > 1 else "1 predicted concept is"
    return f"{what} not in the knowledge base, such as {example!r}" + (f"; did you mean {near!r}?" if near else "")


def _respelled(id: str, prefixes: Iterable[str]) -> Iterator[str]:
    """Yield an id without its prefix, and with each of others."""
    local = id.rpartition(":")[2]
    yield local
    yield from (f"{prefix}:{local}" for prefix in prefixes)
