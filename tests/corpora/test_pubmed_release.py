"""PubMed's releases: the newest version of a citation counts, once, whatever the order of files; archives of PMC."""

from __future__ import annotations

import gzip
import io
import random
import tarfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from linnet.corpora import pmc_archive, pubmed_release, read
from linnet.corpora.faults import Faults
from linnet.corpora.reading import read_file
from linnet.corpora.sources import Named, locate
from linnet.errors import FormatError, LinnetError

Event = tuple[int, int, str] | tuple[int, int]  # a citation with its text, or what is deleted


def citation(pmid: int, version: int, text: str) -> str:
    return (
        f'<PubmedArticle><MedlineCitation Status="MEDLINE"><PMID Version="{version}">{pmid}</PMID>'
        "<Article><Journal><JournalIssue><PubDate><MedlineDate>1998 Dec-1999 Jan</MedlineDate></PubDate></JournalIssue>"
        f"<ISOAbbreviation>J. X.</ISOAbbreviation></Journal><ArticleTitle>{text}</ArticleTitle></Article>"
        "<CommentsCorrectionsList><CommentsCorrections><PMID Version='1'>999</PMID></CommentsCorrections>"
        "</CommentsCorrectionsList></MedlineCitation></PubmedArticle>"
    )


def release_file(path: Path, events: Iterable[Event]) -> Path:
    parts = []
    for event in events:
        if len(event) == 3:
            parts.append(citation(*event))
        else:
            parts.append(f'<DeleteCitation>\n<PMID Version="{event[1]}">{event[0]}</PMID>\n</DeleteCitation>')
    path.parent.mkdir(parents=True, exist_ok=True)
    data = f'<?xml version="1.0"?>\n<PubmedArticleSet>{"".join(parts)}</PubmedArticleSet>'.encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return path


def newest(files: Iterable[Iterable[Event]]) -> dict[str, str]:
    """Return what counts, by a slow and obvious way."""
    alive: dict[tuple[int, int], str] = {}
    for event in (event for events in files for event in events):
        alive.pop(event[:2], None)
        if len(event) == 3:
            alive[event[0], event[1]] = event[2]
    return {str(pmid): alive[pmid, max(v for p, v in alive if p == pmid)] for pmid, _ in alive}


def test_the_newest_version_counts(tmp_path: Path) -> None:
    base, update = tmp_path / "baseline", tmp_path / "updatefiles"
    release_file(base / "pubmed25n0001.xml.gz", [(1, 1, "a"), (2, 1, "b"), (3, 2, "c2"), (4, 1, "d"), (5, 1, "e")])
    release_file(base / "pubmed25n0002.xml.gz", [(3, 1, "c1"), (6, 1, "f"), (6, 1, "f again")])
    release_file(update / "pubmed25n1274.xml.gz", [(1, 1, "A"), (4, 1), (7, 1, "g"), (5, 1)])
    release_file(update / "pubmed25n1275.xml", [(5, 1, "E"), (7, 1)])
    (tmp_path / "other.txt").write_text("A note.")
    docs = list(read(tmp_path))
    assert [(doc.id, doc.text) for doc in docs] == [
        ("2", "b"), ("3", "c2"), ("6", "f again"), ("1", "A"), ("5", "E"), ("other", "A note."),
    ]  # fmt: skip
    assert dict(docs[0].meta) == {"year": 1998, "journal": "J. X."}
    again = [base / "pubmed25n0002.xml.gz", *sorted(update.iterdir()), base / "pubmed25n0001.xml.gz"]
    assert list(read(again)) == docs[:5], "in whatever order they are named"
    assert len(list(read(tmp_path, format="pubmed"))) == 11, "all of them, if that is said"


def test_one_file_is_a_unit_of_its_own(tmp_path: Path) -> None:
    release_file(tmp_path / "pubmed25n0001.xml", [(1, 1, "a"), (2, 1, "b")])
    release_file(tmp_path / "pubmed25n0002.xml", [(1, 2, "a2")])
    files = [one for one in locate([tmp_path], None) if isinstance(one, Named)]
    options = {"rows": None, "faults": Faults()}
    assert [[doc.text for doc in read_file(one, None, options)] for one in files] == [["b"], ["a2"]]
    release_file(tmp_path / "pubmed25n0001.xml", [(1, 1, "a")])
    with pytest.raises(FormatError, match="holds 1 citations, 2 when they were counted"):
        list(read_file(files[0], None, options))
    Path(dict(files[0].options)["kept"]).unlink()
    with pytest.raises(LinnetError, match="do all machines share LINNET_HOME"):
        list(read_file(files[0], None, options))


def test_as_the_slow_way(tmp_path: Path) -> None:
    draw = random.Random(7)
    for case in range(8):
        files = [
            [
                (draw.randrange(9), draw.randrange(1, 4), *([] if draw.random() < 0.2 else [f"{case} {file} {place}"]))
                for place in range(12)
            ]
            for file in range(4)
        ]
        folder = tmp_path / str(case)
        for number, events in enumerate(files):
            release_file(folder / f"pubmed25n{number:04}.xml", events)  # type: ignore[arg-type]
        found = list(read(folder))
        assert {doc.id: doc.text for doc in found} == newest(files)  # type: ignore[arg-type]
        assert len({doc.id for doc in found}) == len(found)


def test_files_that_are_written_otherwise(tmp_path: Path) -> None:
    """Tags that do not stand as NLM writes them are read as XML: comments, other encodings."""
    odd = citation(1, 1, "a").replace("<PMID V", "<!-- c --><PMID V", 1)
    (tmp_path / "pubmed25n0001.xml").write_text(f"<S>{odd}{citation(2, 1, 'b')}</S>")
    other = f'<?xml version="1.0" encoding="utf-16"?><S>{citation(2, 1, "B")}</S>'
    (tmp_path / "pubmed25n0002.xml").write_bytes(other.encode("utf-16"))
    assert [doc.text for doc in read(tmp_path)] == ["a", "B"]


def test_releases_that_are_damaged(tmp_path: Path) -> None:
    good = release_file(tmp_path / "pubmed25n0001.xml.gz", [(1, 1, "a" * 99)])
    second = tmp_path / "pubmed25n0002.xml.gz"
    for data, said in {
        good.read_bytes()[:-9]: "truncated",
        gzip.compress(b"<S></S>"): "holds no citation and deletes none",
        gzip.compress(b"<S><MedlineCitation><PMID>x</PMID></MedlineCitation></S>"): "'x' is no PMID",
        gzip.compress(b"<S><MedlineCitation/></S>"): "this citation has no PMID",
        gzip.compress(b"<S><MedlineCitation><PMID>9999999999</PMID></MedlineCitation></S>"): "9999999999 is no PMID",
        gzip.compress(f"<S>{citation(1, 1, 'a')}".encode()): "no well-formed XML",
    }.items():
        second.write_bytes(data)
        with pytest.raises(FormatError, match=said) as caught:
            list(read(tmp_path))
        assert caught.value.path == str(second)
    (tmp_path / "other.xml").write_text("<S/>")
    with pytest.raises(FormatError, match="is not called as files of a release are"):
        list(read(tmp_path, format="pubmed_release"))


def test_few_indexes_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))
    for number in range(7):
        path = release_file(tmp_path / str(number) / "pubmed25n0001.xml", [(number + 1, 1, "a")])
        assert [doc.id for doc in read(path, format="pubmed_release")] == [str(number + 1)]
    assert len(list((tmp_path / "home" / "releases").iterdir())) == pubmed_release.KEPT


# --- archives of PubMed Central --------------------------------------------------------------------------------------

ARTICLE = (
    '<article><front><article-meta><article-id pub-id-type="pmc">{id}</article-id>'
    "<pub-date><year>2019</year></pub-date></article-meta></front><body><p>Fits {id}.</p></body></article>"
)


def archive(path: Path, members: dict[str, bytes], *, link: str = "") -> Path:
    with tarfile.open(path, "w:gz" if path.suffix in (".gz", ".tgz") else "w") as made:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
        if link:
            info = tarfile.TarInfo("PMC/9.xml")
            info.type, info.linkname = tarfile.SYMTYPE, link
            made.addfile(info)
    return path


GOOD = {f"PMC000xxxxxx/PMC{id}.xml": ARTICLE.format(id=id).encode() for id in (1, 2)}


@pytest.mark.parametrize("name", ["oa.tar.gz", "oa.tgz", "oa.tar"])
def test_archives(tmp_path: Path, name: str) -> None:
    path = archive(tmp_path / name, {"list.csv": b"1", **GOOD})
    docs = list(read(path))
    assert [(doc.id, doc.text, doc.meta["year"]) for doc in docs] == [
        ("PMC1", "Fits 1.", 2019),
        ("PMC2", "Fits 2.", 2019),
    ]
    assert list(read(tmp_path)) == docs
    assert list(tmp_path.iterdir()) == [path], "nothing is unpacked"


def test_broken_articles_are_left_out_or_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "oa.tar.gz", {"PMC/0.xml": b"<article><front>", "PMC/8.xml": b"<html/>", **GOOD})
    with pytest.raises(FormatError, match=r"oa\.tar\.gz/PMC/0\.xml:1: no well-formed XML.*--on-error skip"):
        list(read(path))
    told: list[str] = []
    found = read(path, on_error=Faults("skip", lambda error, done: told.append(f"{error.path} {done}")))
    assert [doc.id for doc in found] == ["PMC1", "PMC2"]
    assert told == [f"{path}/PMC/0.xml left out", f"{path}/PMC/8.xml left out"]


def test_archives_that_mean_harm_or_are_damaged(tmp_path: Path) -> None:
    evil = {"../../evil.xml": GOOD["PMC000xxxxxx/PMC1.xml"]}
    bomb = {"PMC/1.xml": bytes(100 << 20)}
    cases = {
        "out": (archive(tmp_path / "out.tar.gz", evil), "no name of a file below the folder"),
        "link": (archive(tmp_path / "link.tar.gz", {}, link="/etc/passwd"), "is a link"),
        "bomb": (archive(tmp_path / "bomb.tar.gz", bomb), "refused as a bomb"),
        "none": (archive(tmp_path / "none.tar.gz", {"a.txt": b"x"}), "holds none of the files wanted"),
    }
    whole = archive(tmp_path / "whole.tar.gz", GOOD).read_bytes()
    cut, text = tmp_path / "cut.tar.gz", tmp_path / "text.tar.gz"
    cut.write_bytes(whole[:-30])
    text.write_text("not an archive")
    for path, said in (*cases.values(), (cut, "damaged"), (text, "is no archive|truncated")):
        with pytest.raises(FormatError, match=said) as caught:
            list(read(path))
        assert str(path) in str(caught.value)
    with pytest.raises(FormatError, match="archives are read from this disk"):
        list(pmc_archive.read("s3://a/oa.tar.gz"))
