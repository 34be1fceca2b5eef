"""Questions to linked documents, against the same counted in Python; what is damaged, changed, or meant to do harm."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linnet.codec import dumps
from linnet.corpora import write
from linnet.corpora.said import said
from linnet.data import JSON, Concept, Document, Mention, Name
from linnet.errors import FormatError, LinnetError
from linnet.kb.build import build
from linnet.scale.linked_query import Asked, Linked, ids_under

duckdb = pytest.importorskip("duckdb", reason="the extra query is not installed")

IDS = [f"HP:{number:07}" for number in range(1, 9)]
TEXT = "fits fever pain cough rash ache itch chill"
ASSERTIONS: tuple[Any, ...] = ("", "affirmed", "negated")


def made(count: int, seed: int = 1) -> list[Document]:
    draw = random.Random(seed)
    docs = []
    for number in range(count):
        mentions = [
            Mention(
                start,
                start + 4,
                concepts=tuple(draw.sample(IDS, draw.choice((0, 1, 1, 2)))),
                probability=draw.choice((None, 0.25, 0.5, 0.875)),
                calibration="joint",
                assertion=draw.choice(ASSERTIONS),
                meta=draw.choice([{}, {"denied": True}]),
            )
            for start in (0, 5, 11)
            if draw.random() < 0.6
        ]
        meta: dict[str, JSON] = {"year": 2000 + number % 3, "a/b~": "x"} if number % 5 else {}
        docs.append(Document(f"d{number}", TEXT, mentions=tuple(mentions), meta=meta))
    return docs


DOCS = made(200)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("out")
    write(DOCS[:120], place / "shard-000000-000000.jsonl")
    write(DOCS[120:], place / "shard-000001-000000.jsonl.gz", format="jsonl")
    (place / "errors.jsonl").write_text('{"id": "no", "reason": "x"}\n')
    (place / "manifest.json").write_text(json.dumps({"linnet job": 1, "finished": True, "made of": {}}))
    return place


@pytest.fixture(scope="module")
def linked(folder: Path) -> Iterator[Linked]:
    with Linked(folder) as there:
        yield there


def found(doc: Document, asked: Asked) -> list[Mention]:
    """Return the mentions that count."""
    return [
        mention
        for mention in doc.mentions or ()
        if (asked.above is None or (mention.probability is not None and mention.probability >= asked.above))
        and (not asked.only or said(mention) in asked.only)
    ]


def hits(asked: Asked) -> list[Document]:
    return [
        doc
        for doc in DOCS
        if all(any(ids & set(mention.concepts or ()) for mention in found(doc, asked)) for ids in asked.concepts)
    ]


def counted(doc: Document, asked: Asked) -> int:
    ids = frozenset().union(*asked.concepts)
    return sum(bool(ids & set(mention.concepts or ())) for mention in found(doc, asked))


QUESTIONS = [
    Asked((frozenset(IDS[:1]),)),
    Asked((frozenset(IDS[:3]),)),
    Asked((frozenset(IDS[:1]), frozenset(IDS[1:3]))),
    Asked((frozenset(IDS[:2]),), above=0.5),
    Asked((frozenset(IDS[:2]),), only=("affirmed",)),
    Asked((frozenset(IDS[:2]), frozenset(IDS[4:5])), above=0.5, only=("affirmed", "negated")),
    Asked((frozenset(["HP:9999999"]),)),
]


def test_a_job_without_a_shard_yet(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({"linnet job": 1, "finished": False}))
    with pytest.raises(FormatError, match="finished no shard yet"):
        Linked(tmp_path)


def test_scores_of_32_bits_reach_what_they_are_shown_as(tmp_path: Path) -> None:
    probabilities = [float(np.float32(0.9)), 0.9, 0.89]
    mentions = [Mention(0, 4, concepts=(IDS[0],), probability=one) for one in probabilities]
    write([Document(f"{n}", TEXT, mentions=(one,)) for n, one in enumerate(mentions)], tmp_path / "a.jsonl")
    with Linked(tmp_path / "a.jsonl") as there:
        assert len(there.documents(Asked((frozenset(IDS[:1]),), above=0.9))) == 2


def test_parts_of_dates(tmp_path: Path) -> None:
    hit = Mention(0, 4, concepts=(IDS[0],))
    metas: list[dict[str, JSON]] = [{"seen": day} for day in ("2019-05-02", "2019-05-30", "2020-01-01T10:00:00", "?")]
    write([Document(f"{n}", TEXT, mentions=(hit,), meta=meta) for n, meta in enumerate(metas)], tmp_path / "a.jsonl")
    with Linked(tmp_path / "a.jsonl") as there:
        asked = Asked((frozenset(IDS[:1]),))
        assert there.by(asked, "seen:year").rows() == [("2019", 2, 2), ("2020", 1, 1), (None, 1, 1)]
        assert there.by(asked, "seen:month").rows() == [("2019-05", 2, 2), ("2020-01", 1, 1), (None, 1, 1)]
        with pytest.raises(LinnetError, match="no document has 'seen:week' in its meta; some have seen"):
            there.by(asked, "seen:week")


@pytest.mark.parametrize("asked", QUESTIONS)
def test_as_counted_in_python(linked: Linked, asked: Asked) -> None:
    wanted = hits(asked)
    ids = frozenset().union(*asked.concepts)
    rows = linked.documents(asked).rows()
    assert [row[0] for row in rows] == [doc.id for doc in wanted]
    assert [row[1] for row in rows] == [counted(doc, asked) for doc in wanted]
    assert linked.hits() == len(wanted)
    years = Counter(str(doc.meta["year"]) for doc in wanted if "year" in doc.meta)
    assert {row[0]: row[1] for row in linked.by(asked, "year").rows() if row[0] and row[1]} == years
    near = Counter(id for doc in wanted for id in {i for m in found(doc, asked) for i in m.concepts or ()} - ids)
    base = Counter(id for doc in DOCS for id in {i for m in found(doc, asked) for i in m.concepts or ()})
    rows = linked.together(asked).rows()
    assert {row[0]: row[1] for row in rows} == near
    for id, count, of, lift, pmi in rows:
        assert of == base[id]
        assert lift == pytest.approx(count * len(DOCS) / (of * len(wanted)))
        assert pmi == pytest.approx(math.log2(lift))
    assert [row[1] for row in rows] == sorted(near.values(), reverse=True)
    by_lift = [row[3] for row in linked.together(asked, by_lift=True, least=3).rows()]
    assert by_lift == sorted(by_lift, reverse=True)


def test_years_with_all_documents_of_them(linked: Linked) -> None:
    answer = linked.by(QUESTIONS[1], "year")
    assert answer.columns == ["value", "documents", "of"]
    assert sum(row[2] for row in answer.rows() if row[0] == "2001") == sum(doc.meta.get("year") == 2001 for doc in DOCS)
    assert {row[0] for row in linked.by(QUESTIONS[1], "a/b~").rows()} == {"x", None}
    with pytest.raises(LinnetError, match="no document has 'yaer' in its meta; some have a/b~, year"):
        linked.by(QUESTIONS[1], "yaer")


def test_one_document(linked: Linked) -> None:
    doc = next(doc for doc in DOCS if doc.mentions and doc.mentions[0].concepts)
    rows = linked.document(doc.id).rows()
    assert rows == sorted(
        (m.start, m.end, doc.surface(m), id, m.probability, said(m))
        for m in doc.mentions or ()
        for id in m.concepts or ()
    )
    with pytest.raises(LinnetError, match="there is no document 'd9999'"):
        linked.document("d9999")


EVIL = "x'; DROP TABLE documents; --"


def test_nothing_that_is_asked_becomes_sql(linked: Linked, tmp_path: Path) -> None:
    assert linked.documents(Asked((frozenset([EVIL]),), only=(EVIL,))).rows() == []
    with pytest.raises(LinnetError, match="no document"):
        linked.document(EVIL)
    with pytest.raises(LinnetError, match="no document"):
        linked.by(QUESTIONS[0], EVIL)
    answer = linked.documents(QUESTIONS[1])
    for suffix in (".csv", ".parquet", ".jsonl"):
        path = tmp_path / f"it's; DROP{suffix}"
        assert answer.write(path) == len(answer) == len(hits(QUESTIONS[1]))
        [(count,)] = duckdb.sql("SELECT count(*) FROM '" + str(path).replace("'", "''") + "'").fetchall()
        assert count == len(answer)
    with pytest.raises(FormatError, match=r"answers are written as \.csv, \.parquet, \.jsonl"):
        answer.write(tmp_path / "a.xlsx")
    with pytest.raises(FormatError, match="cannot be written"):
        answer.write(tmp_path / "no" / "a.csv")
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".csv", ".jsonl", ".parquet"], "nothing half written"


# --- the index -------------------------------------------------------------------------------------------------------


def test_the_index_is_made_again_when_shards_change(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(DOCS[:3], path)
    state = tmp_path / ".a.jsonl.index" / "state.json"
    for count, again in ((3, True), (3, False), (5, True)):
        if count != 3:
            write(DOCS[:count], path)
        before = state.stat().st_mtime_ns if state.exists() else 0
        with Linked(path) as there:
            assert len(there) == count
        assert (state.stat().st_mtime_ns != before) == again
    state.write_text("damaged")
    with Linked(path, index=tmp_path / "elsewhere") as there:
        assert len(there) == 5
    with Linked(path) as there:
        assert len(there) == 5
    assert sorted(p.name for p in tmp_path.iterdir()) == [".a.jsonl.index", "a.jsonl", "elsewhere"]


def test_a_job_in_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    from linnet.corpora.frames import arrow

    docs_ = [replace(doc, id="twice") if number in (7, 130, 131) else doc for number, doc in enumerate(DOCS)]
    for number, docs in enumerate((docs_[:120], docs_[120:])):
        parquet.write_table(arrow(docs), tmp_path / f"shard-{number:06}-000000.parquet")
        table = {
            "document": [doc.id for doc in docs],
            "text": [doc.text for doc in docs],
            "meta": [json.dumps(dict(doc.meta)) for doc in docs],
            "mentions": [len(doc.mentions or ()) for doc in docs],
        }
        parquet.write_table(pa.table(table), tmp_path / f"documents-{number:06}-000000.parquet")
    with Linked(tmp_path) as there:
        for asked in QUESTIONS:
            expected = [(docs_[DOCS.index(doc)].id, counted(doc, asked)) for doc in hits(asked)]
            assert [row[:2] for row in there.documents(asked).rows()] == expected
        assert there.by(QUESTIONS[0], "year").rows()
    shutil.copy(tmp_path / "documents-000000-000000.parquet", tmp_path / "documents-000001-000000.parquet")
    with pytest.raises(FormatError, match="do not belong together"):
        Linked(tmp_path)
    (tmp_path / "documents-000000-000000.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(FormatError, match="no linked documents, or damaged"):
        Linked(tmp_path)
    for path in tmp_path.glob("documents-*"):
        path.unlink()
    with pytest.raises(FormatError, match="without documents"):
        Linked(tmp_path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"id": "1", "text": "a", "mentions": [{"sta', "no linked documents, or damaged"),
        ('{"id": "1", "mentions": 7}\n', "no linked documents, or damaged"),
        ('{"name": "no id"}\n', "1 lines have no id"),
        ("not JSON\n", "no linked documents, or damaged"),
    ],
)
def test_what_are_no_linked_documents(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "shard-000000-000000.jsonl").write_text(dumps(DOCS[0]) + "\n" + content)
    with pytest.raises(FormatError, match=said):
        Linked(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["shard-000000-000000.jsonl"], "nothing half made"


def test_folders_without_any(tmp_path: Path) -> None:
    for path, problem in (
        (tmp_path, "holds no linked documents"),
        (tmp_path / "no", "there is no such file or folder"),
    ):
        with pytest.raises(FormatError, match=problem):
            Linked(path)
    (tmp_path / "a.jsonl").write_text(dumps(DOCS[0]) + "\n")
    if os.geteuid():  # root may write anywhere
        tmp_path.chmod(0o500)
        with pytest.raises(FormatError, match="--index DIR"):
            Linked(tmp_path)
        tmp_path.chmod(0o700)


def test_ids_under(tmp_path: Path) -> None:
    rows = (
        Concept("HP:1", (Name("a"),)),
        Concept("HP:2", (Name("b"),), parents=("HP:1",)),
        Concept("HP:3", (Name("c"),)),
    )
    base = build(rows, tmp_path / "x.kb")
    assert ids_under(base, "HP:1") == {"HP:1", "HP:2"}
