"""Pipelines of several terminologies side by side: a document gets the mentions of each, in one run.

Each pipeline reads the documents as if it were alone; a span that two of them mark has a mention for each, named by its
``terminology`` (docs/decisions/0031). Sentences and abbreviations are found once. Candidates have ids instead of rows,
which would be of different knowledge bases.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from linnet.corpora.names import Remembering
from linnet.data import Candidates, Document, Mention, Span, by_position, mention_id
from linnet.errors import KnowledgeBaseError, PipelineError
from linnet.kb import KnowledgeBase
from linnet.kb.terminologies import Terminologies
from linnet.pipeline.allow import Allow
from linnet.pipeline.component import check_parts, require
from linnet.pipeline.learner import made_once
from linnet.pipeline.pipeline import Pipeline, Stage

__all__ = ["Several", "several"]


def several(*pipelines: Pipeline) -> Pipeline:
    """Return one pipeline that links to the terminologies of all of these; `Several` says how.

    Raises:
        PipelineError: fewer than two, one without a knowledge base, or two knowledge bases of one name.

    >>> import tempfile
    >>> from linnet import Concept, Name, load
    >>> from linnet.kb.build import build
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     signs = build([Concept("HP:0001250", (Name("Seizure"),))], f"{folder}/signs.kb")
    ...     drugs = build([Concept("RXCUI:8134", (Name("Phenobarbital"),))], f"{folder}/drugs.kb")
    ...     link = several(load("dictionary", kb=signs), load("dictionary", kb=drugs))
    ...     [doc] = link("Phenobarbital for seizures.")
    >>> [(doc.surface(mention), mention.concepts, mention.terminology) for mention in doc.mentions]
    [('Phenobarbital', ('RXCUI:8134',), 'drugs'), ('seizures', ('HP:0001250',), 'signs')]
    """
    stage = Several(pipelines)
    return Pipeline(stage, name=" + ".join(stage.terminologies.kbs))


@dataclass
class Several(Stage):
    """Pipelines side by side, each with its own knowledge base.

    Mentions of people go to the terminology that they name, or whose concepts they have; those without concepts are
    linked by every pipeline that links given mentions. A condition of `Allow` holds for the terminologies that know
    what it names; one of them must.

    Args:
        of: the pipelines; the names of their knowledge bases tell their mentions apart.
    """

    of: Sequence[Pipeline]

    def __post_init__(self) -> None:
        check_parts(self, self.of, Pipeline)
        names = [_name(kb) for kb in (one.kb for one in self.of) if kb is not None]
        if len(self.of) < 2 or len(names) < len(self.of):
            raise PipelineError("several terminologies take two pipelines or more, each with a knowledge base")
        if twice := [name for name in names if names.count(name) > 1]:
            raise PipelineError(f"two of the terminologies are called {twice[0]}: give each once")

    @property
    def terminologies(self) -> Terminologies:
        """The knowledge bases, asked as one."""
        return self._together

    @made_once
    def _together(self) -> Terminologies:
        return Terminologies({_name(one.kb): one.kb for one in self.of if one.kb is not None})

    @made_once
    def _labels(self) -> dict[str, _Label]:
        return {name: _Label(name, kb) for name, kb in self.terminologies.kbs.items()}

    @property
    def needs(self) -> frozenset[str]:
        """What the pipelines need, and what they would find each for itself."""
        alone = (part.gives for one in self.of for part in one.front)
        return super().needs.union(*alone)

    @property
    def gives(self) -> frozenset[str]:
        """What every pipeline gives."""
        return frozenset.intersection(*(one.gives for one in self.of))

    def rebound(self, kb: KnowledgeBase) -> Self:
        """Return the same with the pipelines of which `kb` is the edited knowledge base on that.

        Raises:
            KnowledgeBaseError: it is that of none.
        """
        mine = [one.kb is not None and kb.comes_from(one.kb.version) for one in self.of]
        if not any(mine):
            raise KnowledgeBaseError(
                f"{kb.path} (version {kb.version}) is none of {self.terminologies.path} with edits: "
                "load the pipelines with it"
            )
        return replace(self, of=[one.rebound(kb) if its else one for one, its in zip(self.of, mine, strict=True)])

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:
        """Return `docs` with the mentions of every terminology.

        Raises:
            KnowledgeBaseError: `allow` names what none of them has.
        """
        require(self, docs)
        if problem := next(allow.problems(self.terminologies), None) if allow else None:
            raise KnowledgeBaseError(f"allow.{problem}")
        found: list[list[Mention]] = [[] for _ in docs]
        notes: list[dict[str, Any]] = [dict(doc.meta) for doc in docs]
        passages = [doc.passages for doc in docs]
        for one, (name, kb) in zip(self.of, self.terminologies.kbs.items(), strict=True):
            given = [_given(doc, name, kb) for doc in docs]
            label = self._labels[name]
            for place, doc in enumerate(one(given, allow=allow and allow.known_to(kb))):
                found[place] += label.mentions(doc, unlinked=_unlinked(given[place]))
                notes[place] |= doc.meta
                passages[place] = passages[place] or doc.passages
        return [
            replace(doc, passages=parts, mentions=by_position([*_kept(doc, new), *new]), meta=note)
            for doc, parts, new, note in zip(docs, passages, found, notes, strict=True)
        ]


def _name(kb: KnowledgeBase) -> str:
    return kb.info["name"] or kb.path.stem


def _given(doc: Document, name: str, kb: KnowledgeBase) -> Document:
    """Return a document with the mentions that concern one terminology."""
    if not doc.mentions:
        return doc
    own = (
        mention
        for mention in doc.mentions
        if mention.terminology in ("", name) and (not mention.concepts or any(id in kb for id in mention.concepts))
    )
    return replace(doc, mentions=tuple(own))


def _unlinked(doc: Document) -> set[tuple[Span, ...]]:
    return {one.spans for one in doc.mentions or () if one.source != "pred" and one.concepts is None}


def _kept(doc: Document, new: Sequence[Mention]) -> Iterator[Mention]:
    """Yield the mentions of people, but for those that have been linked now."""
    linked = {mention.spans for mention in new if mention.source != "pred"}
    for mention in doc.mentions or ():
        if mention.source != "pred" and (mention.concepts is not None or mention.spans not in linked):
            yield mention


class _Label:
    """Marks the mentions that a pipeline found, or linked for people, as those of its terminology."""

    MOST = 1 << 14  # lists of candidates that are remembered: detectors give many mentions the same one

    def __init__(self, name: str, kb: KnowledgeBase) -> None:
        self.name = name
        self._rows = Remembering(kb)
        self._known: dict[int, tuple[Candidates, Candidates]] = {}

    def mentions(self, doc: Document, *, unlinked: Collection[tuple[Span, ...]]) -> Iterator[Mention]:
        """Yield what was found, and what of people's `unlinked` mentions has candidates now."""
        for mention in doc.mentions or ():
            if mention.source == "pred" or (mention.candidates is not None and mention.spans in unlinked):
                yield replace(
                    mention,
                    id=mention_id(doc.id, mention.spans, (*mention.types, mention.id, self.name)),
                    candidates=None if mention.candidates is None else self._with_ids(mention.candidates),
                    group=mention.group and f"{self.name}:{mention.group}",
                    terminology=self.name,
                )

    def _with_ids(self, candidates: Candidates) -> Candidates:
        from linnet.codec import with_ids  # noqa: PLC0415 - brings the JSON form of documents along

        if len(self._known) > self.MOST:
            self._known.clear()
        if id(candidates) not in self._known:
            self._known[id(candidates)] = (candidates, with_ids(candidates, self._rows))
        return self._known[id(candidates)][1]
