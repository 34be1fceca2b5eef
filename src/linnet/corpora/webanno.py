r"""WebAnno TSV 3, the export of INCEpTION and WebAnno: a token a line, a column for each feature of each layer.

Annotations of span layers are gold mentions, but for those of layers that describe tokens (parts of speech, lemmas …).
Their type is the feature ``value``, else the name of the layer. The feature ``identifier`` is the concept, and so is
what begins with ``http``: addresses become CURIEs where it is known what they stand for
(`linnet.kb.curies`). Other features stay in ``meta``, the layer in ``meta["layer"]``. Layers that describe
tokens, relations between spans, chains and slots are left out, annotations of no length too, with a warning.

Offsets count UTF-16 units of the text, as Java does. Sentences are those of the file; what lies between them is a line
break, or blanks where there is more room.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from linnet.corpora.counting import Offsets, utf16_units
from linnet.corpora.ids import to_curie
from linnet.corpora.layout import MAX_GAP, filler
from linnet.corpora.sources import stem
from linnet.data import Document, Mention, Span, by_position
from linnet.errors import FormatError
from linnet.reporter import warn
from linnet.text.files import open_text, shown

__all__ = ["read"]

FORMAT = re.compile(r"#FORMAT=WebAnno TSV 3\.\d")
LAYER = re.compile(r"#T_(SP|RL|CH)=([^|]+)\|?(.*)")
TOKEN = re.compile(r"(\d{1,9}-\d{1,9}(?:\.\d{1,9})?)\t(\d{1,9})-(\d{1,9})\t")
TEXT = "#Text="
LINGUISTIC = re.compile(r"de\.tudarmstadt\.ukp\.dkpro\.core\.api\.(?:lexmorph|segmentation|syntax|transform)\.")
SLOT = "ROLE_"
BAR = re.compile(r"\\.|(\|)", re.DOTALL)  # one that no backslash escapes, which may be escaped itself
STACKED = re.compile(r"((?:[^\\]|\\.)*?)\[(\d+)\]", re.DOTALL)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
IN_TEXT = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f"}
CONCEPT = "identifier"


@dataclass(frozen=True, slots=True)
class _Layer:
    """A layer of the header: its kind (SP, RL or CH), name and features; one without any has a column all the same."""

    kind: str
    name: str
    features: tuple[str, ...]

    def is_slot(self, place: int) -> bool:
        """Return whether the feature in `place` holds the roles of slots, or their targets, which stand behind it."""
        return any(feature.startswith(SLOT) for feature in self.features[max(place - 1, 0) : place + 1])

    @property
    def marks(self) -> bool:
        """Whether its annotations are mentions."""
        return self.kind == "SP" and not LINGUISTIC.match(self.name)


@dataclass(slots=True)
class _Annotation:
    """A mention on its way: units from its first to its last token, and its features."""

    layer: _Layer
    begin: int
    end: int
    line: int
    values: dict[str, str] = field(default_factory=dict)


def read(path: str | Path, *, name: str = "") -> Iterator[Document]:
    """Yield the one document of a WebAnno TSV file, version 3.0 to 3.3; its id is `name`.

    Raises:
        FormatError: another format or version, lines with other columns than the header names, offsets that run
            backwards, outside the text or to another text than the token's; with the line.
    """
    file = shown(path)
    reader = _Reader(file)
    for number, line in enumerate(open_text(path, by_line=True), 1):
        reader.take(line, number)
    if not reader.layers and not reader.pieces:
        raise FormatError(file, "holds no document: expected lines #T_SP=…, #Text=… and tokens")
    yield reader.document(name or stem(path))


class _Reader:
    """Takes the lines of a file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.layers: list[_Layer] = []
        self.pieces: list[str] = []  # of the text: sentences, and what lies between them
        self._units = 0  # of the text so far
        self._filled = 0  # of them between sentences
        self._begins: list[tuple[int, int]] = []  # units of the sentences
        self._offsets = Offsets("")  # in the last of them
        self._sentence: list[str] = []
        self._found: dict[object, _Annotation] = {}
        self._left_out: Counter[str] = Counter()

    def take(self, line: str, number: int) -> None:
        """Take in one line."""
        if number == 1:
            if not FORMAT.match(line):
                raise FormatError(self.path, f"expected #FORMAT=WebAnno TSV 3.3, found {line[:60]!r}", line=1)
        elif line.startswith(TEXT):
            self._sentence.append(_unescaped(line.removeprefix(TEXT)))
        elif not self._begins and (layer := LAYER.fullmatch(line)):
            kind, name, features = layer.groups()
            self.layers.append(_Layer(kind, name, tuple(features.split("|"))))
        elif (token := TOKEN.match(line)) is not None:
            self._token(token, line, number)
        elif line.strip() and not line.startswith("#"):
            problem = f"expected a token such as 1-1, its offsets 0-4 and its text, found {line[:60]!r}"
            raise FormatError(self.path, problem, line=number)

    def _token(self, token: re.Match[str], line: str, number: int) -> None:
        begin, end = int(token[2]), int(token[3])
        cells = line[token.end() :].removesuffix("\t").split("\t")
        if self._sentence:
            self._begin(begin, cells[0], number)
        elif not self._begins:
            raise FormatError(self.path, "expected #Text= before the tokens of a sentence", line=number)
        if not self._begins[-1][0] <= begin <= end <= self._units:
            problem = f"the offsets {begin}-{end} are not in the sentence, {self._begins[-1][0]}-{self._units}"
            raise FormatError(self.path, f"{problem}; they count UTF-16 units", line=number)
        self._check(begin, end, cells[0], number)
        wanted = sum(len(layer.features) for layer in self.layers)
        if len(cells) - 1 != wanted:
            problem = f"has {len(cells) - 1} columns behind the token, the header names {wanted}"
            raise FormatError(self.path, problem, line=number)
        at = 1
        for place, layer in enumerate(self.layers):
            self._cells(layer, (place, token[1]), cells[at : at + len(layer.features)], (begin, end, number))
            at += len(layer.features)

    def _check(self, begin: int, end: int, said: str, number: int) -> None:
        """Check that the text of a token stands at its offsets; some programs escape it as they do the sentence's."""
        span = self._offsets.units(begin - self._begins[-1][0], end - self._begins[-1][0])
        there = self._offsets.text[slice(*span)] if span else ""
        if span and there not in (said, _unescaped(said)):
            problem = f"the offsets {begin}-{end} say {there!r:.80}, the token {said!r:.80}"
            raise FormatError(self.path, f"{problem}; offsets count UTF-16 units", line=number)

    def _begin(self, begin: int, first: str, number: int) -> None:
        """Begin a sentence whose first token, ``first``, stands at unit ``begin``."""
        text = "\n".join(self._sentence)
        self._sentence = []
        places = (text.find(said) for said in (first, _unescaped(first)))
        begin -= utf16_units(text)[next((place for place in places if place >= 0), 0)]
        gap = begin - self._units
        self._filled += gap
        if self._filled > MAX_GAP:
            problem = f"the sentence begins at {begin:,}: expected gaps of at most {MAX_GAP:,} units in all"
            raise FormatError(self.path, problem, line=number)
        if gap < 0:
            problem = f"the sentence begins at {begin}, what stands before it ends at {self._units}"
            raise FormatError(self.path, f"{problem}; offsets count UTF-16 units", line=number)
        self.pieces += [filler(gap), text]
        self._units = begin + utf16_units(text)[-1]
        self._begins.append((begin, self._units))
        self._offsets = Offsets(text)

    def _cells(self, layer: _Layer, key: object, cells: Sequence[str], place: tuple[int, int, int]) -> None:
        """Take the cells that a layer has for one token: annotations by position, those of several tokens by number."""
        if all(cell == "_" for cell in cells):
            return
        if not layer.marks:
            self._left_out[f"annotations of {layer.name.rpartition('.')[2]}"] += 1
            return
        begin, end, number = place
        for column, (feature, cell) in enumerate(zip(layer.features, cells, strict=True)):
            if layer.is_slot(column):
                self._left_out["slots"] += cell != "_" and feature.startswith(SLOT)
                continue
            for position, item in enumerate(_items(cell)):
                stacked = STACKED.fullmatch(item)
                value, own = (stacked[1], (layer.name, stacked[2])) if stacked else (item, (key, position))
                found = self._found.setdefault(own, _Annotation(layer, begin, end, number))
                found.end = max(found.end, end)
                if value not in ("*", "_"):
                    found.values[feature] = _unescaped(value)

    # --- the document ---

    def document(self, id: str) -> Document:
        """Return the document of all lines taken."""
        text = "".join([*self.pieces, "\n".join(self._sentence)])
        offsets = Offsets(text)
        mentions = []
        for found in self._found.values():
            span = offsets.units(found.begin, found.end)
            if span is not None:
                mentions.append(_mention(found, span))
            elif found.begin == found.end:
                self._left_out["annotations of no length"] += 1
            else:
                problem = f"the offsets {found.begin}-{found.end} are inside a character; they count UTF-16 units"
                raise FormatError(self.path, problem, line=found.line)
        sentences = tuple(span for begin, end in self._begins if (span := offsets.units(begin, end)) is not None)
        if left_out := +self._left_out:
            named = ", ".join(f"{what} ({count:,})" for what, count in sorted(left_out.items()))
            warn(f"{self.path}: left out: {named}")
        return Document(id, text, sentences=sentences, mentions=by_position(mentions))


def _unescaped(text: str) -> str:
    return ESCAPED.sub(lambda found: IN_TEXT.get(found[1], found[1]), text)


def _items(cell: str) -> list[str]:
    """Return the annotations that a cell holds."""
    bars = [found.start() for found in BAR.finditer(cell) if found[1]]
    return [cell[start + 1 : end] for start, end in itertools.pairwise([-1, *bars, len(cell)])]


def _mention(found: _Annotation, span: Span) -> Mention:
    values = dict(found.values)
    layer = found.layer.name.rpartition(".")[2]
    type = values.pop("value", layer)
    told = [key for key, value in values.items() if key == CONCEPT or value.startswith(("http://", "https://"))]
    concepts = tuple(to_curie(values.pop(key), type) for key in told)
    return Mention(*span, types=(type,), source="gold", concepts=concepts or None, meta={"layer": layer, **values})
