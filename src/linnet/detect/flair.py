"""The recogniser of TrainX (Oberhauser et al. 2020): Flair's sequence tagger (Akbik et al. 2018), BIOES and a CRF.

Flair is a library of its own; what is made of it, and how it learns, says `linnet.detect.flair_model`. It needs
Transformers below 5, so that it has an environment of its own, in which the components that need the extra ``neural``
do not run.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linnet.data import Document, Mention, Span
from linnet.errors import MissingExtraError, RecipeError
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow, Component, Detector, Sentences, Step
from linnet.text.pieces import whole
from linnet.text.tagging import Chunk
from linnet.train.network import NetworkComponent

if TYPE_CHECKING:
    from linnet.detect.flair_model import FlairModel, Marked

__all__ = ["Flair"]

NO_TYPE = "mention"  # what the tagger calls mentions without a type
WORD = re.compile(r"[^\W_]+|[^\s]")


@dataclass(kw_only=True)
class Flair(NetworkComponent["FlairModel"], Detector):
    """Finds mentions with Flair's sequence tagger, TrainX's recogniser; must be trained (``make test-flair``).

    A bidirectional LSTM with a CRF reads the vectors of words, stacked on the states of a forward and a backward
    language model over characters. ``signals["detect"]`` is the confidence that Flair gives a mention, the mean of
    those of its words.

    Args:
        embeddings: a folder with ``words.txt`` (a word and its numbers a line, as word2vec and GloVe write them) and
            language models forward and backward, as a trained folder of this component keeps them
            (`linnet.detect.flair_model` converts Flair's own); any of these may be missing. Empty = all of them are
            made of the training documents.
        words: numbers in the vector of a word that is made; 0 = no such vectors.
        characters: numbers in the state of a language model that is made; 0 = no such models.
        hidden: numbers in a state of the LSTM above, each way.
        min_probability: mentions less sure than this are left out.
    """

    embeddings: str = ""
    words: int = 100
    characters: int = 128
    hidden: int = 256
    min_probability: float = 0.0

    NETWORK = False  # Flair's own loop trains it, which keeps no checkpoints
    NEEDS = frozenset({"sentences"})
    LEARNED = frozenset({"embeddings", "words", "characters", "hidden"})

    def __post_init__(self) -> None:
        problems = [
            f"{name}: {getattr(self, name)} must be 0 or more"
            for name in ("words", "characters")
            if getattr(self, name) < 0
        ]
        if not (self.embeddings or self.words or self.characters):
            problems.append("words, characters: both are 0, so that the tagger would see nothing")
        problems += [] if self.hidden >= 1 else [f"hidden: {self.hidden} must be 1 or more"]
        if not 0 <= self.min_probability <= 1:
            problems.append(f"min_probability: {self.min_probability} must be from 0 to 1")
        if problems:
            raise RecipeError("flair", problems)

    def read_network(self, folder: Path | None) -> FlairModel:
        """Return the trained tagger of a folder.

        Raises:
            PipelineError: nothing has been trained.
        """
        from linnet.detect.flair_model import FlairModel  # noqa: PLC0415 - imports torch and flair

        self.require_trained()
        assert folder is not None  # noqa: S101 - what was trained and not saved is there already
        return FlairModel.load(folder)

    def require_libraries(self) -> None:
        """Say what to install where Flair is missing."""
        require_flair()

    def detect(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Mention]]:  # noqa: ARG002
        """Return the mentions of each document."""
        model = self.network
        read = [(number, tokens) for number, doc in enumerate(docs) for tokens in tokens_of(doc)]
        texts = [[whole(docs[number].text[start:end]) for start, end in tokens] for number, tokens in read]
        found: list[list[Mention]] = [[] for _ in docs]
        for (number, tokens), spans in zip(read, model.predict(texts), strict=True):
            for first, last, kind, sure in spans:
                if sure >= self.min_probability:
                    types = () if kind == NO_TYPE else (kind,)
                    start, end = tokens[first].start, tokens[last].end
                    found[number].append(Mention(start, end, types=types, signals={"detect": sure}))
        return found

    def learn(
        self,
        train: Sequence[Document],
        dev: Sequence[Document],
        /,
        *,
        before: Component,  # noqa: ARG002
        kb: KnowledgeBase,  # noqa: ARG002
        args: Mapping[str, Any],
    ) -> Iterator[Step]:
        """Train the tagger on the mentions of `train`, and stop early when it gains nothing on `dev`.

        Raises:
            RecipeError: `args` that this training does not know.
            DataError: no mention to learn from.
        """
        from linnet.detect.flair_model import fit  # noqa: PLC0415 - imports torch and flair

        self.network = yield from fit(self, marked_sentences(train), marked_sentences(dev), args=args)


def require_flair() -> None:
    """Say what to install where Flair is missing.

    Raises:
        MissingExtraError: it is.
    """
    if importlib.util.find_spec("flair") is None:
        note = (
            " - in an environment of its own (python -m venv flair-env, then flair-env/bin/pip), because Flair needs "
            "transformers below 5 and Linnet's other networks need 5; in a checkout, make test-flair builds .venv-flair"
        )
        raise MissingExtraError("flair", extra="flair", wanted_by="the detector flair", note=note)


# --- documents as the tagger reads them: the tokens of each sentence, and the mentions among them --------------------


def tokens_of(doc: Document) -> list[list[Span]]:
    """Return the tokens of each sentence of a document: runs of letters and digits, and single signs.

    >>> doc = Document("d", "No p.o. food. Fits.", sentences=(Span(0, 13), Span(14, 19)))
    >>> [[doc.text[start:end] for start, end in tokens] for tokens in tokens_of(doc)]
    [['No', 'p', '.', 'o', '.', 'food', '.'], ['Fits', '.']]
    """
    found = []
    for start, end in doc.sentences or ():
        tokens = [Span(*word.span()) for word in WORD.finditer(doc.text, start, end)]
        if tokens:
            found.append(tokens)
    return found


def marked_sentences(docs: Sequence[Document]) -> list[Marked]:
    """Return the sentences of documents with their mentions."""
    rows = []
    for doc in Sentences()(docs):
        wanted = [(m.span, m.types[0] if m.types else NO_TYPE) for m in doc.mentions or () if not m.parts]
        for tokens in tokens_of(doc):
            words = [whole(doc.text[start:end]) for start, end in tokens]
            rows.append((words, _chunks(tokens, wanted)))
    return rows


def _chunks(tokens: Sequence[Span], wanted: Sequence[tuple[Span, str]]) -> list[Chunk]:
    """Return the mentions in a sentence as tokens; of those that overlap the longest: tags can hold no more."""
    found: list[Chunk] = []
    inside = [item for item in wanted if item[0].start < tokens[-1].end and tokens[0].start < item[0].end]
    for span, kind in sorted(inside, key=lambda item: item[0].start - item[0].end):
        touched = [place for place, token in enumerate(tokens) if token.start < span.end and span.start < token.end]
        if touched and not any(one.first <= touched[-1] and touched[0] <= one.last for one in found):
            found.append(Chunk(touched[0], touched[-1], kind))
    return sorted(found)
