"""Documents -> columns: which tokens, sentences and mentions the tags of `linnet.corpora.conll` can hold."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

from linnet.data import Document, Mention, Span
from linnet.errors import DataError
from linnet.reporter import warn
from linnet.text.sentences import split_sentences
from linnet.text.tagging import Scheme, chunks_of, encode_chunks, scheme_named
from linnet.text.tokens import tokenize

__all__ = ["HEADER", "lost", "unescape", "unescape_blanks", "write"]

HEADER = ["FORM", "LINNET:START", "LINNET:END", "LINNET:TAG", "LINNET:IDS", "MISC"]
NOTHING, NIL = "_", "NIL"
SIGN = re.compile(r"\S")
ESCAPED = str.maketrans({sign: f"%{ord(sign):02X}" for sign in "%| \t\r\n\0"})
EMPTY = "%"  # a type or id of no characters
RESERVED = frozenset([NOTHING, NIL, "-", "-1", "O"])  # what is read as no id
BLANKS = {" ": r"\s", "\t": r"\t", "\n": r"\n", "\r": r"\r", "|": r"\p", "\\": r"\\"}
UNBLANKS = {code: sign for sign, code in BLANKS.items()}


def escape(value: str) -> str:
    """Return a type or id without blanks, breaks, ``|`` and ``%``."""
    escaped = value.translate(ESCAPED) or EMPTY
    return f"%{ord(escaped[0]):02X}{escaped[1:]}" if escaped in RESERVED else escaped


def unescape(value: str) -> str:
    """Return what `escape` was given.

    >>> unescape(escape("50% | NIL")), escape("NIL")
    ('50% | NIL', '%4EIL')
    """
    return "" if value == EMPTY else re.sub(r"%([0-9A-F]{2})", lambda match: chr(int(match[1], 16)), value)


def escape_blanks(value: str) -> str:
    """Return what stands between tokens as CoNLL-U writes it in ``SpacesAfter``."""
    return "".join(BLANKS.get(sign, sign) for sign in value)


def unescape_blanks(value: str) -> str:
    r"""Return what `escape_blanks` was given; unknown escapes stay as they are.

    >>> unescape_blanks(r"\\s\n")
    '\\s\n'
    """
    return re.sub(r"\\.", lambda match: UNBLANKS.get(match[0], match[0]), value, flags=re.DOTALL)


# --- what fits -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Plan:
    """What of a document becomes rows, and what does not."""

    sentences: list[list[Span]]
    mentions: list[Mention]
    lost: Counter[str]


def lost(doc: Document) -> Counter[str]:
    """Return how much of the text, sentences and mentions of `doc` the columns cannot hold, by kind.

    Kinds: discontinuous mentions, nested mentions (inside, or the same span as, one that is kept), overlapping
    mentions (crossing one that begins before), mentions of blanks only, blanks at mention borders (mentions that come
    back without them), sentence spans (that do not come back as they are), texts of blanks only.

    >>> dict(lost(Document("d", "left arm", mentions=(Mention(0, 8), Mention(5, 8)))))
    {'nested mentions': 1}
    """
    return _plan(doc).lost


def _plan(doc: Document) -> _Plan:
    mentions, gone = _fitting(doc)
    sentences = split_sentences(doc.text) if doc.sentences is None else doc.sentences
    cuts = {border for span in sentences for border in span}
    for mention in mentions:
        cuts.difference_update(range(mention.start + 1, mention.end))
    borders = cuts.union(*(mention.span for mention in mentions)) if mentions else cuts
    ordered = sorted(cuts)
    groups = itertools.groupby(_tokens(doc.text, sorted(borders)), lambda token: bisect_right(ordered, token.start))
    rows = [list(tokens) for _, tokens in groups]
    if doc.sentences is not None:
        found = Counter(Span(tokens[0].start, tokens[-1].end) for tokens in rows)
        gone["sentence spans"] += (Counter(doc.sentences) - found).total()
    gone["texts of blanks only"] += bool(doc.text) and not rows
    return _Plan(rows, mentions, +gone)


def _fitting(doc: Document) -> tuple[list[Mention], Counter[str]]:
    """Return the mentions that tags can hold, without blanks at their borders, and count the others."""
    kept: list[Mention] = []
    gone: Counter[str] = Counter()
    end = 0
    trimmed = [(mention, _trim(doc.text, mention)) for mention in doc.mentions or ()]
    # the outermost first; of two that become the same, the one that has no blanks to lose
    for mention, span in sorted(trimmed, key=lambda pair: (pair[1].start, -pair[1].end, pair[0].span != pair[1])):
        if mention.parts:
            gone["discontinuous mentions"] += 1
        elif span.start == span.end:
            gone["mentions of blanks only"] += 1
        elif span.start < end:
            gone["nested mentions" if span.end <= end else "overlapping mentions"] += 1
        else:
            gone["blanks at mention borders"] += span != mention.span
            end = span.end
            kept.append(Mention(span.start, end, types=mention.types, concepts=mention.concepts))
    return kept, gone


def _trim(text: str, mention: Mention) -> Span:
    surface = text[mention.start : mention.end]
    start = mention.end - len(surface.lstrip())
    return Span(start, start + len(surface.strip()))


def _tokens(text: str, borders: Sequence[int]) -> Iterator[Span]:
    """Yield words and single signs, split at `borders` (in order)."""
    words, starts, ends, gaps = tokenize(text)
    after = 0
    for place, gap in enumerate(gaps):
        yield from (Span(after + match.start(), after + match.end()) for match in SIGN.finditer(gap))
        if place < len(words):
            start, after = int(starts[place]), int(ends[place])
            inside = borders[bisect_right(borders, start) : bisect_right(borders, after - 1)]
            yield from itertools.starmap(Span, itertools.pairwise((start, *inside, after)))


# --- rows ------------------------------------------------------------------------------------------------------------


def write(docs: Iterable[Document], out: TextIO, *, scheme: str = "BIO") -> int:
    """Write documents in columns and return how many; one warning counts what they cannot hold (`lost`).

    Tokens are words and single signs of `linnet.text.tokens`, split where mentions begin and end. Sentences are the
    document's, else those of `split_sentences`; two that a mention reaches across become one.

    Args:
        docs: the documents.
        out: the open file.
        scheme: BIO, IOB1, BIOES or BILOU.

    Raises:
        LinnetError: an unknown scheme.
        DataError: a document whose id does not fit in a line, or a text with NUL characters.
    """
    chosen = scheme_named(scheme)
    out.write(f"# global.columns = {' '.join(HEADER)}\n")
    gone: Counter[str] = Counter()
    count = 0
    for doc in docs:
        if doc.id != doc.id.strip() or not doc.id or re.search(r"[\t\r\n\0]", doc.id):
            raise DataError(f"document {doc.id!r}: its id is empty or holds blanks at its ends, tabs or line breaks")
        if "\0" in doc.text:
            raise DataError(f"document {doc.id!r}: its text holds NUL characters, which no text file can")
        plan = _plan(doc)
        out.write(f"# newdoc id = {doc.id}\n")
        out.writelines(_lines(doc.text, plan, chosen))
        gone += plan.lost
        count += 1
    if gone:
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in sorted(gone.items()))
        warn(f"the columns of CoNLL cannot hold and do not have: {kinds}")
    return count


def _lines(text: str, plan: _Plan, scheme: Scheme) -> Iterator[str]:
    waiting = deque(plan.mentions)
    flat = [token for tokens in plan.sentences for token in tokens]
    place = 0
    for tokens in plan.sentences:
        mentions = []
        while waiting and waiting[0].start < tokens[-1].end:
            mentions.append(waiting.popleft())
        chunks = chunks_of(tokens, mentions)
        ids = [NOTHING] * len(tokens)
        for chunk, mention in zip(chunks, mentions, strict=True):
            ids[chunk.first : chunk.last + 1] = [_concepts(mention)] * (chunk.last - chunk.first + 1)
        typed = [c._replace(type="|".join(map(escape, m.types))) for c, m in zip(chunks, mentions, strict=True)]
        for (start, end), tag, id in zip(tokens, encode_chunks(len(tokens), typed, scheme), ids, strict=True):
            yield f"{text[start:end]}\t{start}\t{end}\t{tag}\t{id}\t{_misc(text, flat, place)}\n"
            place += 1
        yield "\n"


def _concepts(mention: Mention) -> str:
    if mention.concepts is None:
        return NOTHING
    return "|".join(map(escape, mention.concepts)) or NIL


def _misc(text: str, tokens: Sequence[Span], place: int) -> str:
    """Return what stands around a token where it is not the blanks that its offsets speak of."""
    items = []
    before, end = text[: tokens[0].start], tokens[place].end
    if place == 0 and before.strip(" "):
        items.append(f"SpacesBefore={escape_blanks(before)}")
    last = place + 1 == len(tokens)
    after = text[end:] if last else text[end : tokens[place + 1].start]
    if not after and not last:
        items.append("SpaceAfter=No")
    elif after.strip(" ") or (after and last):
        items.append(f"SpacesAfter={escape_blanks(after)}")
    return "|".join(items) or NOTHING
