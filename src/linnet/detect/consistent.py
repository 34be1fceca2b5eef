"""One document, one meaning: what was found in it once is looked for in the rest of it.

A network finds "tacrolimus" in one sentence and overlooks it in the next. Within one document the same words nearly
always mean the same (Gale et al. 1992, *One sense per discourse*), and a short form means what its definition says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from linnet.data import Document, Mention, Span, mention_id
from linnet.errors import RecipeError
from linnet.pipeline import Allow, Stage
from linnet.pipeline.component import merge, require
from linnet.text.short_forms import ShortForms
from linnet.text.tokens import Tokens, tokenize

__all__ = ["Consistent"]

SHORT = 5  # characters: words as short as these, or with a capital inside, are looked for as they are written
TIGHT = "-/\u2010\u2011"  # signs that make one name of what they touch


@dataclass(kw_only=True)
class Consistent(Stage):
    """Adds mentions that repeat others of the same document; those that are there stay as they are.

    Args:
        repeats: look for the words of mentions elsewhere.
        abbreviations: short forms of which a long form is a mention are mentions of its type.
        min_probability: from which ``signals["detect"]`` on a mention is looked for elsewhere; one without counts as 1.

    >>> from dataclasses import replace
    >>> doc = Document.of("Tacrolimus failed. Stop tacrolimus.")
    >>> doc = replace(doc, mentions=(Mention(0, 10, types=("Drug",), signals={"detect": 0.99}),))
    >>> [found] = Consistent(abbreviations=False)([doc])
    >>> [(found.surface(mention), mention.types) for mention in found.mentions]
    [('Tacrolimus', ('Drug',)), ('tacrolimus', ('Drug',))]
    """

    repeats: bool = True
    abbreviations: bool = True
    min_probability: float = 0.9

    GIVES = frozenset({"mentions"})
    DROPS = frozenset({"candidates", "concepts"})  # the mentions that it adds have none

    def __post_init__(self) -> None:
        if not 0 <= self.min_probability <= 1:
            raise RecipeError("consistent", [f"min_probability: {self.min_probability} must be from 0 to 1"])

    @property
    def needs(self) -> frozenset[str]:
        """Mentions, and what short forms are found by."""
        return frozenset({"mentions", "sentences", "abbreviations"} if self.abbreviations else {"mentions"})

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:  # noqa: ARG002
        """Return `docs` with mentions added."""
        require(self, docs)
        return [self._document(doc) for doc in docs]

    def _document(self, doc: Document) -> Document:
        mentions = doc.mentions or ()
        known = [one for one in mentions if not one.parts and one.signals.get("detect", 1.0) >= self.min_probability]
        text = _Text(doc.text, tokenize(doc.text))
        taken = bytearray(len(doc.text))  # 1 for each character of a mention
        for mention in mentions:
            taken[mention.start : mention.end] = b"\x01" * (mention.end - mention.start)
        found: list[Mention] = []
        sources = [self._short(doc, known, text)] if self.abbreviations else []
        sources += [_repeats(known, text)] if self.repeats else []
        for span, model in (pair for pairs in sources for pair in pairs):
            if not any(taken[span.start : span.end]):
                taken[span.start : span.end] = b"\x01" * (span.end - span.start)
                id = mention_id(doc.id, [span], model.types)
                found.append(Mention(*span, id=id, types=model.types, signals=model.signals))
        return merge(doc, [*(one for one in mentions if one.source == "pred"), *found])

    def _short(self, doc: Document, known: Sequence[Mention], text: _Text) -> Iterator[tuple[Span, Mention]]:
        """Yield the short forms of long forms that are mentions, each with the mention."""
        longs = {text.text[mention.start : mention.end].casefold(): mention for mention in known}
        forms = ShortForms.of(doc)
        borders = [sentence.start for sentence in doc.sentences or ()]
        for found in forms.occurrences(text.text, text.tokens, borders=borders):
            model = longs.get(found.long.casefold())
            if model is not None:
                yield Span(int(text.tokens.starts[found.first]), found.end), model


class _Text(NamedTuple):
    text: str
    tokens: Tokens


def _repeats(known: Iterable[Mention], text: _Text) -> Iterator[tuple[Span, Mention]]:
    """Yield where the words of mentions stand, the longest first, each with the mention."""
    starts = {start: place for place, start in enumerate(text.tokens.starts.tolist())}
    ends = {end: place for place, end in enumerate(text.tokens.ends.tolist())}
    folded = [surface.casefold() for surface in text.tokens.surfaces]
    places: dict[str, list[int]] = {}
    for place, word in enumerate(folded):
        places.setdefault(word, []).append(place)
    seen: set[str] = set()
    for model in sorted(known, key=lambda one: (one.start - one.end, one.start)):
        surface = text.text[model.start : model.end]
        if surface in seen:
            continue  # the same words stand in the same places
        seen.add(surface)
        first, last = starts.get(model.start), ends.get(model.end)
        if first is None or last is None or last < first:
            continue  # it begins or ends inside a word
        for place in places[folded[first]]:
            if place != first and _same(text, folded, (first, last), place):
                yield Span(int(text.tokens.starts[place]), int(text.tokens.ends[place + last - first])), model


def _same(text: _Text, folded: Sequence[str], words: tuple[int, int], place: int) -> bool:
    """Return whether the words from `place` on are the same as those from first to last, and no part of more."""
    first, last = words
    end = place + last - first
    if folded[place : end + 1] != folded[first : last + 1]:
        return False
    start, stop = int(text.tokens.starts[place]), int(text.tokens.ends[end])
    own = text.text[int(text.tokens.starts[first]) : int(text.tokens.ends[last])]
    there = text.text[start:stop]
    if (len(own) <= SHORT or own[1:] != own[1:].lower()) and own != there:
        return False
    gaps = text.tokens.gaps
    if [gap.split() for gap in gaps[first + 1 : last + 1]] != [gap.split() for gap in gaps[place + 1 : end + 1]]:
        return False
    return not (text.text[start - 1 : start] in TIGHT and start) and text.text[stop : stop + 1] not in (*TIGHT,)
