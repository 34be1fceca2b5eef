"""Linnet as a part of a spaCy pipeline: ``nlp.add_pipe("linnet", config={"pipeline": "hpo"})``; extra ``spacy``.

What it fills, and how:

``doc.spans["linnet"]``
    every mention, nested and overlapping ones too. A discontinuous one is the span from its first to its last word.
``doc.ents``
    of these the longest that do not overlap, without the discontinuous ones: an entity is one stretch of text.
``span.kb_id_``
    the concept, of several the first; ``NIL``, as spaCy's own linker says, for a mention without one.
``span._.linnet``
    what is known of the mention (`Link`), with the offsets that it has in the text.

spaCy's spans begin and end with tokens. A mention that does not is aligned as ``alignment_mode`` says, by spaCy's own
rule: ``expand`` takes the tokens that it touches, ``contract`` those inside it, ``strict`` leaves it out.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, get_args

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import raise_error

from linnet.data import Document, Mention
from linnet.errors import FormatError, KnowledgeBaseError, LinnetError, did_you_mean
from linnet.pipeline import Pipeline
from linnet.recipes.config import load
from linnet.recipes.linking import link_given
from linnet.recipes.saving import save
from linnet.serve.spacy_links import NAME, NIL, Describer, Link, forget, set_extension, store

__all__ = ["Link", "LinnetComponent", "make_linnet"]

ENTS = "ents"
RECIPE = "pipeline.toml"
Ents = Literal["longest", "likeliest", "none"]
Alignment = Literal["strict", "contract", "expand"]
Handler = Callable[[str, Any, list[Doc], Exception], None]
DEFAULTS: dict[str, Any] = {
    "pipeline": "hpo",
    "kb": None,
    "changes": [],
    "spans": "",
    "ents": "longest",
    "overwrite_ents": False,
    "spans_key": NAME,
    "alignment_mode": "expand",
}
ASSIGNS = ["doc.ents", "doc.spans", "token.ent_iob", "token.ent_type", "token.ent_kb_id", "span._.linnet"]


@Language.factory(NAME, assigns=ASSIGNS, default_config=DEFAULTS)
def make_linnet(  # noqa: PLR0913, PLR0917 - the keywords of its config, which spaCy hands over by name
    nlp: Language,
    name: str,
    pipeline: str,
    kb: str | None,
    changes: list[str],
    spans: str,
    ents: str,
    overwrite_ents: bool,
    spans_key: str,
    alignment_mode: str,
) -> LinnetComponent:
    """Return the component of ``nlp.add_pipe("linnet", config={…})``; `LinnetComponent` describes the keywords.

    Raises:
        LinnetError: a value of `ents` or `alignment_mode` that there is not.
    """
    del nlp
    how: dict[str, Any] = {"ents": ents, "alignment_mode": alignment_mode}
    return LinnetComponent(
        pipeline, kb, changes, spans=spans, overwrite_ents=overwrite_ents, spans_key=spans_key, name=name, **how
    )


@dataclass
class LinnetComponent:
    """Finds and links mentions in spaCy's documents, or links the spans that earlier components have found.

    The pipeline is loaded at first use, in every process anew: what is pickled, and `to_bytes`, are its names alone.
    `to_disk` writes what was trained as well. A knowledge base is a file of its own, and is not written with it.

    Args:
        pipeline: a shipped recipe, a recipe file or a trained folder.
        kb: a knowledge base, by name or file, instead of the one that this names.
        changes: keys of the recipe with other values: ``dictionary.overlaps="all"``.
        spans: ``ents`` links the entities that are there, any other name the span group ``doc.spans[name]``; they keep
            place and label, and a pipeline that finds mentions links these instead (`link_given`). Empty: mentions are
            found.
        ents: which of overlapping mentions become entities: the ``longest``, the ``likeliest``, or ``none`` at all.
        overwrite_ents: entities that are there yield to ours; else they stay, and ours take what they leave.
        spans_key: the span group that gets all mentions.
        alignment_mode: ``expand``, ``contract`` or ``strict``, for mentions that do not begin and end with tokens.
        name: of the component, in messages.

    >>> import tempfile
    >>> import spacy
    >>> from linnet import Concept, Name, build
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kb = build([Concept("HP:0001250", (Name("Seizure"),))], f"{folder}/signs.kb")
    ...     nlp = spacy.blank("en")
    ...     _ = nlp.add_pipe("linnet", config={"pipeline": "dictionary", "kb": str(kb.path)})
    ...     doc = nlp("She had no seizures.")
    >>> [(ent.text, ent.kb_id_, ent._.linnet["assertion"]) for ent in doc.ents]
    [('seizures', 'HP:0001250', 'negated')]
    """

    pipeline: str
    kb: str | None = None
    changes: Sequence[str] = ()
    spans: str = ""
    ents: Ents = "longest"
    overwrite_ents: bool = False
    spans_key: str = NAME
    alignment_mode: Alignment = "expand"
    name: str = NAME
    version: str = field(default="", init=False)  # of the knowledge base, once it is known
    _loaded: _Ready | None = field(default=None, init=False, repr=False, compare=False)
    _handler: Handler = field(default_factory=lambda: raise_error, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for key, value, known in (("ents", self.ents, Ents), ("alignment_mode", self.alignment_mode, Alignment)):
            if value not in get_args(known):
                hint = did_you_mean(value, get_args(known))
                raise LinnetError(f"{self.name}: {key} is {value!r}, expected {', '.join(get_args(known))}{hint}")
        set_extension()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_loaded": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        set_extension()

    # --- linking -----------------------------------------------------------------------------------------------------

    @property
    def link(self) -> Pipeline:
        """The pipeline, loaded at first use in each process: an open knowledge base must not pass a fork.

        Raises:
            LinnetError: there is no such pipeline or knowledge base, or it is another than when this was stored.
        """
        return self._ready.link

    @property
    def _ready(self) -> _Ready:
        if self._loaded is None or self._loaded.process != os.getpid():
            whole = load(self.pipeline, kb=self.kb, changes=self.changes)
            if whole.kb is None:
                raise KnowledgeBaseError(f"{self.pipeline} has no knowledge base: give one as kb")
            if self.version and not whole.kb.comes_from(self.version):
                raise KnowledgeBaseError(
                    f"{self.name} was stored with version {self.version} of its knowledge base, {whole.kb.path} has "
                    f"version {whole.kb.version}: give the one it was stored with as kb"
                )
            self.version = whole.kb.version
            link = link_given(whole) if self.spans else whole
            self._loaded = _Ready(os.getpid(), whole, link, Describer(whole.kb, self.name), whole.kb.info["name"])
        return self._loaded

    def __call__(self, doc: Doc) -> Doc:
        """Return the document with its mentions."""
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 64) -> Iterator[Doc]:
        """Yield documents with their mentions, linked `batch_size` at a time.

        What the handler of errors (``nlp.set_error_handler``) does not raise is left out, as spaCy's own parts do.
        """
        ready = self._ready
        rest = iter(stream)
        while docs := list(itertools.islice(rest, batch_size)):
            try:
                linked = self._link(docs, ready.link)
            except Exception as error:
                if len(docs) == 1:
                    self._handler(self.name, self, docs, error)
                    continue
                yield from self.pipe(docs, batch_size=1)  # all but those at fault
            else:
                for doc, found in zip(docs, linked, strict=True):
                    forget(doc, self.name)
                    (self._fill_given if self.spans else self._fill)(doc, found, ready)
                    yield doc

    def _link(self, docs: Sequence[Doc], link: Pipeline) -> list[Document]:
        given = [Document.of(doc.text) for doc in docs]
        if self.spans:
            given = [replace(bare, mentions=self._given(doc, link)) for doc, bare in zip(docs, given, strict=True)]
        return list(link.stream(given, batch=len(given)))

    def get_error_handler(self) -> Handler:
        """Return what is called with name, component, documents and error where documents cannot be linked."""
        return self._handler

    def set_error_handler(self, error_handler: Handler) -> None:
        """Set what is called where documents cannot be linked; ``nlp.set_error_handler`` calls this."""
        self._handler = error_handler

    # --- spans that are given ----------------------------------------------------------------------------------------

    def _there(self, doc: Doc) -> list[Span]:
        """Return the spans that earlier components have found."""
        spans = doc.ents if self.spans == ENTS else doc.spans.get(self.spans, ())
        return [span for span in spans if span.start < span.end]

    def _given(self, doc: Doc, link: Pipeline) -> tuple[Mention, ...]:
        labels: dict[tuple[int, int], dict[str, None]] = {}
        for span in self._there(doc):
            labels.setdefault((span.start_char, span.end_char), {})[span.label_] = None
        seen = "types" in link.needs
        return tuple(Mention(*place, types=tuple(types) if seen else ()) for place, types in sorted(labels.items()))

    def _fill_given(self, doc: Doc, linked: Document, ready: _Ready) -> None:
        found = {(mention.start, mention.end): mention for mention in reversed(linked.mentions or ())}
        made = []
        for span in self._there(doc):
            if mention := found.get((span.start_char, span.end_char)):
                span = Span(doc, span.start, span.end, span.label, kb_id=_kb_id(mention.concepts), span_id=span.id)  # noqa: PLW2901
                store(span, ready.describe(mention))
            made.append(span)
        if self.spans == ENTS:
            doc.set_ents(made)
        else:
            doc.spans[self.spans] = made
        doc.spans[self.spans_key] = made

    # --- mentions that are found -------------------------------------------------------------------------------------

    def _fill(self, doc: Doc, linked: Document, ready: _Ready) -> None:
        made = []
        for mention in linked.mentions or ():
            label = next(iter(mention.types), ready.label)
            span = doc.char_span(
                *mention.span, label, kb_id=_kb_id(mention.concepts), alignment_mode=self.alignment_mode
            )
            if span is not None and len(span):
                made.append((mention, span))
                store(span, ready.describe(mention))
        doc.spans[self.spans_key] = [span for _, span in made]
        if self.ents != "none":
            kept = () if self.overwrite_ents else doc.ents
            doc.set_ents([*kept, *self._chosen(made, {token.i for span in kept for token in span})])

    def _chosen(self, made: Sequence[tuple[Mention, Span]], taken: set[int]) -> Iterator[Span]:
        """Yield the spans that become entities, none of which holds a token that is taken."""

        def rank(one: tuple[Mention, Span]) -> tuple[float, int, int]:
            mention, span = one
            first = mention.probability or 0.0 if self.ents == "likeliest" else 0.0
            return -first, -len(span), span.start

        for mention, span in sorted(made, key=rank):
            tokens = range(span.start, span.end)
            if not mention.parts and taken.isdisjoint(tokens):
                taken.update(tokens)
                yield span

    # --- storing -----------------------------------------------------------------------------------------------------

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the pipeline as a folder (`linnet.save`), in the place of what was written there before."""
        del exclude
        path, new = Path(path), Path(f"{path}.new")
        for folder in (new, path):
            if folder.is_dir() and any(folder.iterdir()) and not (folder / RECIPE).is_file():
                raise LinnetError(f"{folder} holds something else than a pipeline: give another folder")
        shutil.rmtree(new, ignore_errors=True)
        save(self._ready.whole, new)  # which may read what it has not read yet from the folder that it replaces
        shutil.rmtree(path, ignore_errors=True)
        new.rename(path)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Take the pipeline that `to_disk` wrote, with the knowledge base of `kb`, or the one it was written with.

        Raises:
            FormatError: there is none.
        """
        del exclude
        if not (Path(path) / RECIPE).is_file():
            raise FormatError(path, f"has no {RECIPE}: it is no folder that the component {self.name} wrote")
        self.pipeline, self.changes, self.version, self._loaded = str(Path(path).absolute()), (), "", None
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return what the component is loaded from, by name, and the version of its knowledge base."""
        del exclude
        self._ready  # noqa: B018 - finds out the version
        stored = {"pipeline": self.pipeline, "kb": self.kb, "changes": [*self.changes], "version": self.version}
        return json.dumps(stored).encode()

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Take what `to_bytes` returned.

        Raises:
            LinnetError: something else.
        """
        del exclude
        try:
            given = json.loads(data)
            self.pipeline, self.kb, self.changes, self.version = (
                given[key] for key in ("pipeline", "kb", "changes", "version")
            )
        except (ValueError, TypeError, KeyError) as error:
            raise LinnetError(f"{self.name}: these bytes are not what to_bytes of this component returned") from error
        self._loaded = None
        return self


class _Ready(NamedTuple):
    """What a process links with: the pipeline as it was loaded, and as it links here."""

    process: int
    whole: Pipeline
    link: Pipeline
    describe: Describer
    label: str  # of mentions without a type


def _kb_id(concepts: Sequence[str] | None) -> str:
    return "" if concepts is None else next(iter(concepts), NIL)
