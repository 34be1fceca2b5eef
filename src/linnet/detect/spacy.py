"""Mentions by any spaCy pipeline that finds entities or spans, an installed one or a folder."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from linnet.data import Document, FrozenDict, Mention, Span
from linnet.detect.label_types import checked_types, renamed
from linnet.errors import LinnetError, MissingExtraError, did_you_mean
from linnet.frozen import EMPTY
from linnet.home import expanded
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow, Detector
from linnet.pipeline.learner import made_once
from linnet.text.pieces import pieces, whole
from linnet.text.sentences import split_sentences

__all__ = ["Spacy"]

MODEL = "model"
SETS = frozenset({"doc.ents", "doc.spans"})  # what a part of a pipeline must set to find mentions


@dataclass(kw_only=True)
class Spacy(Detector):
    """Finds the entities (``ner``, ``entity_ruler``) and spans (``spancat``, ``span_ruler``) of a spaCy pipeline.

    Documents longer than the pipeline's ``max_length`` are read in pieces that end where sentences do. Where a part
    says how sure it is, as ``spancat`` does, ``signals["detect"]`` is its score.

    Args:
        model: the name of an installed pipeline (``en_core_sci_sm``) or its folder.
        types: the mention type of each label; where it is given, other labels are left out. Empty = all, with the
            pipeline's own names.
    """

    model: str
    types: Mapping[str, str] = EMPTY
    folder: Path | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.types = FrozenDict(self.types)

    @made_once
    def nlp(self) -> Any:
        """The pipeline, read at first use.

        Raises:
            MissingExtraError: spaCy is not installed.
            LinnetError: no such pipeline, or one that finds no entities and no spans.
            RecipeError: `types` names labels that it does not have.
        """
        nlp = _loaded(self.model, self.folder)
        parts = [name for name in nlp.pipe_names if SETS & set(nlp.get_pipe_meta(name).assigns)]
        if not parts:
            has = ", ".join(nlp.pipe_names) or "nothing"
            raise LinnetError(f"{self.model} finds neither entities nor spans, it has: {has}; give one with ner")
        labels = {label for name in parts for label in getattr(nlp.get_pipe(name), "labels", ())}
        checked_types(self.types, labels, who="spacy")
        return nlp

    def detect(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Mention]]:  # noqa: ARG002
        """Return the mentions of each document."""
        nlp = self.nlp
        read = [
            (number, start, doc.text[start:end]) for number, doc in enumerate(docs) for start, end in self._cut(doc)
        ]
        found: list[list[Mention]] = [[] for _ in docs]
        parsed = nlp.pipe([whole(text) for _, _, text in read])
        for (number, start, _), piece in zip(read, parsed, strict=True):
            found[number] += self._mentions(piece, start)
        return found

    def _cut(self, doc: Document) -> Iterator[Span]:
        """Yield the pieces of a document that the pipeline reads one by one; nearly always it is one."""
        most = self.nlp.max_length
        sentences = doc.sentences or (split_sentences(doc.text) if len(doc.text) > most else ())
        return pieces(doc.text, [sentence.start for sentence in sentences], most)

    def _mentions(self, piece: Any, offset: int) -> Iterator[Mention]:
        """Yield what the pipeline found in one piece of a document."""
        for span, score in _scored(piece):
            start, end = offset + span.start_char, offset + span.end_char
            types = renamed(span.label_, self.types)
            if types is not None and start < end:
                yield Mention(start, end, types=types, signals={} if score is None else {"detect": score})

    def save(self, folder: Path) -> None:
        """Write the component with its pipeline, so that the folder needs nothing but spaCy."""
        super().save(folder)
        self.nlp.to_disk(folder / MODEL)

    @classmethod
    def load(cls, folder: Path, *, kb: KnowledgeBase | None = None, partly: bool = False) -> Self:
        """Return the component that `save` wrote."""
        loaded = super().load(folder, kb=kb, partly=partly)
        loaded.folder = folder.absolute() / MODEL
        return loaded


def _loaded(model: str, folder: Path | None) -> Any:
    if importlib.util.find_spec("spacy") is None:
        raise MissingExtraError("spacy", extra="spacy", wanted_by="the detector spacy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the libraries that spaCy stands on
        import spacy  # noqa: PLC0415 - takes seconds

    place = folder or expanded(model)
    installed: Sequence[str] = spacy.util.get_installed_models()
    if model not in installed and not place.is_dir():
        hint = did_you_mean(model, installed) or f"; installed pipelines: {', '.join(installed) or 'none'}"
        raise LinnetError(f"spaCy has no pipeline {model!r}, and there is no such folder{hint}")
    try:
        return spacy.load(place if place.is_dir() else model)
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise LinnetError(f"{model}: cannot be loaded as a spaCy pipeline: {reason[0]}") from error


def _scored(piece: Any) -> Iterator[tuple[Any, float | None]]:
    """Yield the entities and spans of a text that was read, with how sure the pipeline is of each, if it says so."""
    for span in piece.ents:
        yield span, None
    for group in piece.spans.values():
        scores = group.attrs.get("scores")
        for place, span in enumerate(group):
            yield span, None if scores is None else float(scores[place])
