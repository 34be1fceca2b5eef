"""Silver labels: what a terminology alone says of texts that nobody has annotated, for a tagger to learn from.

The names that a dictionary finds are mentions (distant supervision: Mintz et al. 2009). What it does not find is no
evidence of the contrary, since the wordings of texts outnumber those of terminologies. So a word outside of matches is
only taken for a negative where there is a reason:

* no name of the knowledge base holds it, and it is not rare in these texts;
* names hold it, but it is hardly ever part of a match (*patient*, *of*);
* names hold it, and it stands between words that are certainly outside: a name of one word would have been found, so
  *disease* or *renal* alone is none.

All other words are in doubt, and so is a match that touches one (*familial* | *breast cancer*): they are left out of
``reviewed``, and nothing is learned from them.

>>> from linnet.data import Document, Mention
>>> texts = ["Breast cancer, or familial breast cancer.", "A familial adenoma at the cancer unit."]
>>> docs = [Document(text[0], text) for text in texts]
>>> found = [[Mention(0, 13), Mention(27, 40)], [Mention(2, 18)]]
>>> for doc in silver(docs, found, names=["Breast cancer", "Familial adenoma"], rare=1):
...     [doc.surface(mention) for mention in doc.mentions], [doc.text[start:end] for start, end in doc.reviewed]
(['Breast cancer'], ['Breast cancer, or', '.'])
(['familial adenoma'], ['A familial adenoma at the cancer unit.'])
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from linnet.data import Document, Mention, Span
from linnet.reporter import tell
from linnet.text.normalise import basic
from linnet.text.variants import stem
from linnet.text.words import flat_mentions, spans_of

__all__ = ["silver"]

SELDOM = 0.05  # share of a word's occurrences in matches, below which the others are negatives
RARE = 5  # occurrences of a word, below which nothing is known of it
SHORTEST = 3  # letters of a rare word that may be a name: shorter ones are units, initials, Roman numbers
NONE = -1


class _Words(NamedTuple):
    """A document with the stem of each word, and the number of the match that holds it."""

    doc: Document
    spans: list[Span]
    stems: list[str]
    mentions: list[Mention]
    owners: list[int]


def silver(
    docs: Sequence[Document],
    found: Sequence[Sequence[Mention]],
    *,
    names: Iterable[str],
    seldom: float = SELDOM,
    rare: int = RARE,
) -> list[Document]:
    """Return documents with the matches of names as mentions; ``reviewed`` leaves out what is in doubt.

    Args:
        docs: texts; what people marked in them is not looked at.
        found: the matches in each of them.
        names: all names of the knowledge base.
        seldom: share of a word's occurrences in matches, below which the others are negatives.
        rare: number of a word's occurrences, below which nothing is known of it.
    """
    held = {stem_of(name[start:end]) for name in names for start, end in spans_of(name)}
    read = []
    for doc, mentions in zip(docs, found, strict=True):
        read.append(_read(doc, mentions))
        tell("texts divided into words", len(read), len(docs))
    doubtful = _doubtful(read, held, seldom, rare)
    return [_labelled(words, doubtful, held) for words in read]


def _doubtful(read: Sequence[_Words], held: set[str], seldom: float, rare: int) -> set[str]:
    """Return the stems of words that may be of a mention where no match holds them."""
    total = Counter(one for words in read for one in words.stems)
    inside = Counter(one for words in read for one, owner in zip(words.stems, words.owners, strict=True) if owner >= 0)
    return {
        one
        for one, count in total.items()
        if any(map(str.isalpha, one))
        and ((count < rare or inside[one] >= seldom * count) if one in held else count < rare and len(one) >= SHORTEST)
    }


def stem_of(word: str) -> str:
    """Return what words of one meaning have in common: their `stem`, of an acronym its letters."""
    return stem(basic(word))


def _read(doc: Document, found: Iterable[Mention]) -> _Words:
    spans = spans_of(doc.text)
    owners = [NONE] * len(spans)
    mentions = []
    for number, (mention, first, last) in enumerate(flat_mentions(found, spans)):
        mentions.append(Mention(mention.start, mention.end, types=mention.types))
        owners[first : last + 1] = [number] * (last + 1 - first)
    return _Words(doc, spans, [stem_of(doc.text[start:end]) for start, end in spans], mentions, owners)


def _labelled(words: _Words, doubtful: set[str], held: set[str]) -> Document:
    """Return a document with its matches, but those that touch a word in doubt."""
    owners, doubt = words.owners, _in_doubt(words, doubtful, held)
    beside = [False, *doubt, False]
    touched = {owner for place, owner in enumerate(owners) if beside[place] or beside[place + 2]} - {NONE}
    unknown = [each or owner in touched for each, owner in zip(doubt, owners, strict=True)]
    mentions = tuple(mention for number, mention in enumerate(words.mentions) if number not in touched)
    return replace(words.doc, mentions=mentions, reviewed=tuple(_stretches(words.spans, unknown)))


def _in_doubt(words: _Words, doubtful: set[str], held: set[str]) -> list[bool]:
    """Return for each word whether it is in doubt: a word of names is none that stands alone among negatives."""
    owners = words.owners
    maybe = [owner == NONE and one in doubtful for one, owner in zip(words.stems, owners, strict=True)]
    outside = [True, *(owner == NONE and not each for owner, each in zip(owners, maybe, strict=True)), True]
    alone = [
        each and one in held and outside[place] and outside[place + 2]
        for place, (each, one) in enumerate(zip(maybe, words.stems, strict=True))
    ]
    return [each and not by_itself for each, by_itself in zip(maybe, alone, strict=True)]


def _stretches(spans: Sequence[Span], unknown: Sequence[bool]) -> Iterator[Span]:
    """Yield the stretches of text between words that are unknown."""
    first: Span | None = None
    last = Span(0, 0)
    for span, skipped in zip(spans, unknown, strict=True):
        if not skipped:
            first, last = first or span, span
        elif first is not None:
            yield Span(first.start, last.end)
            first = None
    if first is not None:
        yield Span(first.start, last.end)
