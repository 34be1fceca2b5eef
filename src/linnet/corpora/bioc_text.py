"""The text of a BioC document, put together from its passages, and the place of annotations in it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from linnet.corpora.bioc import BioCAnnotation, BioCDocument, BioCPassage, Location
from linnet.corpora.layout import MAX_GAP, filler
from linnet.data import Span
from linnet.errors import FormatError

__all__ = ["NEAR", "Layout", "Placed", "laid_out", "placed"]

NEAR = 5  # characters that an annotation may stand beside its text


class Layout(NamedTuple):
    """The text of a document, the spans of its passages, and those of its sentences (None: it marks none)."""

    text: str
    passages: list[Span]
    sentences: tuple[Span, ...] | None


class Placed(NamedTuple):
    """Where an annotation stands: its spans in order, whether they overlapped, and whether it had to be moved."""

    spans: tuple[Span, ...]
    overlapped: bool = False
    moved: bool = False


def laid_out(source: BioCDocument, path: str) -> Layout:
    r"""Return the text of a document with its passages and sentences.

    Args:
        source: the document.
        path: how messages name the file.

    Raises:
        FormatError: offsets that run backwards, overlap or leave gaps beyond `MAX_GAP`; a sentence that is not in the
            text of its passage.

    >>> source = BioCDocument("1", passages=[BioCPassage(0, "Fits."), BioCPassage(6, "None seen.")])
    >>> laid_out(source, "f.xml")
    Layout(text='Fits.\nNone seen.', passages=[Span(start=0, end=5), Span(start=6, end=16)], sentences=None)
    """
    pieces: list[str] = []
    spans: list[Span] = []
    sentences: list[Span] = []
    end = filled = 0
    for i, passage in enumerate(source.passages):
        what = f"document {source.id!r}: passage {i + 1}"
        gap = _gap(passage.offset, end, what, path, passage.line)
        filled += gap
        if filled > MAX_GAP:
            problem = f"{what} at offset {passage.offset:,} leaves gaps of more than {MAX_GAP:,} characters"
            raise FormatError(path, problem, line=passage.line)
        text, found = _passage_text(passage, what, path)
        pieces += [filler(gap), text]
        end = passage.offset + len(text)
        spans.append(Span(passage.offset, end))
        sentences += found
    marked = any(passage.sentences for passage in source.passages)
    return Layout("".join(pieces), spans, tuple(sentences) if marked else None)


def _gap(offset: int, end: int, what: str, path: str, line: int | None) -> int:
    if offset < end:
        problem = f"{what} starts at offset {offset}, before the end {end} of what stands before it"
        cure = "offsets count characters (code points) from the start of the document"
        raise FormatError(path, f"{problem}; {cure}", line=line)
    return offset - end


def _passage_text(passage: BioCPassage, what: str, path: str) -> tuple[str, list[Span]]:
    """Return the text of a passage, put together from its sentences if it has none of its own, and their spans."""
    spans = [Span(sentence.offset, sentence.offset + len(sentence.text)) for sentence in passage.sentences]
    if passage.text:
        for sentence, (start, end) in zip(passage.sentences, spans, strict=True):
            said = passage.text[max(start - passage.offset, 0) : max(end - passage.offset, 0)]
            if said != sentence.text or start < passage.offset:
                problem = f"{what}, sentence at {start}: the passage says {said[:60]!r}, the sentence"
                raise FormatError(path, f"{problem} {sentence.text[:60]!r}", line=sentence.line)
        return passage.text, spans
    pieces: list[str] = []
    end = passage.offset
    for i, sentence in enumerate(passage.sentences):
        gap = _gap(sentence.offset, end, f"{what}, sentence {i + 1}", path, sentence.line)
        if gap > MAX_GAP:
            raise FormatError(path, f"{what}, sentence {i + 1} leaves a gap of {gap:,} characters", line=sentence.line)
        pieces += [" " * gap, sentence.text]
        end = spans[i].end
    return "".join(pieces), spans


# --- annotations -----------------------------------------------------------------------------------------------------


def placed(annotation: BioCAnnotation, text: str, passage: int = 0) -> Placed | str:
    """Return where `annotation` stands in the `text` of its document, or what is wrong with it.

    The text of a discontinuous annotation is that of its parts in the file's order, joined by a blank or by nothing,
    or that of its hull; an annotation without text is taken at its word.

    Args:
        annotation: with at least one location.
        text: of the document.
        passage: the offset of its passage, for the message.

    >>> placed(BioCAnnotation(locations=[Location(6, 4), Location(0, 3)], text="hurt ear"), "ears, hurt").spans
    (Span(start=0, end=3), Span(start=6, end=10))
    """
    locations = annotation.locations
    if len(locations) == 1:  # nearly all
        start, length = locations[0]
        if length and len(annotation.text) == length and text.startswith(annotation.text, start):
            return Placed((Span(start, start + length),))
    if any(length == 0 for _, length in locations):
        return "a location of length 0, expected at least one character"
    moved = False
    if not _agrees(annotation.text, locations, text):
        nearby = _nearby(annotation.text, locations, text)
        if nearby is None:
            return _disagreement(annotation.text, locations, text, passage)
        locations, moved = nearby, True
    spans = sorted(Span(offset, offset + length) for offset, length in locations)
    overlapped = any(a.end > b.start for a, b in itertools.pairwise(spans))
    return Placed(_merged(spans), overlapped, moved)


def _agrees(said: str, locations: Sequence[Location], text: str) -> bool:
    if any(offset + length > len(text) for offset, length in locations):
        return False
    pieces = [text[offset : offset + length] for offset, length in locations]
    if not said or said in (" ".join(pieces), "".join(pieces)):
        return True
    hull = min(offset for offset, _ in locations), max(offset + length for offset, length in locations)
    return said == text[hull[0] : hull[1]]


def _nearby(said: str, locations: Sequence[Location], text: str) -> list[Location] | None:
    """Return the locations moved to the nearest places where their text stands, none more than `NEAR` away."""
    if len(said) != sum(length for _, length in locations) + len(locations) - 1:
        return None
    found: list[Location] = []
    start = 0
    for offset, length in locations:
        piece = said[start : start + length]
        start += length + 1
        near = [at for at in range(max(offset - NEAR, 0), offset + NEAR + 1) if text.startswith(piece, at)]
        if not near:
            return None
        found.append(Location(min(near, key=lambda at: abs(at - offset)), length))
    return found


def _merged(spans: Sequence[Span]) -> tuple[Span, ...]:
    merged = [spans[0]]
    for span in spans[1:]:
        if span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(span.end, merged[-1].end))
        else:
            merged.append(span)
    return tuple(merged)


def _disagreement(said: str, locations: Sequence[Location], text: str, passage: int) -> str:
    where = ", ".join(f"{offset}-{offset + length}" for offset, length in locations)
    found = " ".join(text[offset : offset + length] for offset, length in locations)
    problem = f"its locations {where} say {found[:80]!r}, its text says {said[:80]!r}"
    if any(offset + length > len(text) for offset, length in locations):
        problem = f"its locations {where} lie outside the text of {len(text)} characters; its text says {said[:80]!r}"
    offset, length = locations[0]
    counted = "characters (code points) from the start of the document"
    if passage and text[passage + offset : passage + offset + length] == said:
        return f"{problem}; offsets count {counted}, these count from the start of the passage"
    if not text.isascii():
        for encoding, width, name in (("utf-8", 1, "UTF-8 bytes"), ("utf-16-le", 2, "UTF-16 units")):
            data = text.encode(encoding, "surrogatepass")[offset * width : (offset + length) * width]
            if data.decode(encoding, "replace") == said:
                return f"{problem}; offsets count {counted}, these count {name}"
    return f"{problem}; offsets count {counted}"
