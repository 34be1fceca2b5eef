"""The index over linked documents: ids that come twice, folders of others, several processes at once, mixed shards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from linnet.corpora import write
from linnet.data import Document, Mention
from linnet.errors import DataError, FormatError
from linnet.scale import linked_index
from linnet.scale.linked_index import shards_of
from linnet.scale.linked_query import Asked, Linked
from linnet.scale.shard_files import shard_of
from linnet.scale.shards import Settings

pytest.importorskip("duckdb", reason="the extra query is not installed")

FITS = Asked((frozenset(["HP:0000001"]),))


def doc(id: str, *concepts: str) -> Document:
    """Return a document with a mention, at the same place, of each concept."""
    return Document(id, "fits fever", mentions=tuple(Mention(0, 4, concepts=(one,)) for one in concepts))


def tables(folder: Path, *parts: list[Document]) -> None:
    """Write shards in Parquet as workers do."""
    pytest.importorskip("pyarrow")
    for number, docs in enumerate(parts):
        with shard_of(Settings(str(folder), str(folder), "parquet"), (number, 0), None) as shard:
            shard.add(shard.rendered(docs))
            shard.finish()


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_documents_of_the_same_id_keep_their_mentions(tmp_path: Path, format: str) -> None:
    one, other = [doc("a", "HP:0000001"), doc("b")], [doc("a", "HP:0000002", "HP:0000001", "HP:0000001"), doc("a")]
    if format == "parquet":
        tables(tmp_path, one, other)
    else:
        write([*one, *other], tmp_path / "shard-000000-000000.jsonl")
    with Linked(tmp_path) as there:
        assert [row[:2] for row in there.documents(FITS).rows()] == [("a", 1), ("a", 2)]
        assert there.together(FITS).rows()[0][:3] == ("HP:0000002", 1, 1)
        assert [row[3] for row in there.document("a").rows()] == ["HP:0000001"]


def test_a_mention_with_several_of_the_concepts_counts_once(tmp_path: Path) -> None:
    mention = Mention(0, 4, concepts=("HP:0000001", "HP:0000002"))
    write([Document("a", "fits", mentions=(mention,))], tmp_path / "a.jsonl")
    with Linked(tmp_path) as there:
        assert there.documents(Asked((frozenset(["HP:0000001", "HP:0000002"]),))).rows() == [("a", 1, None)]


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_ids_with_bars_and_backslashes_are_found(tmp_path: Path, format: str) -> None:
    ids = ("V:c|DEL|13|", "V:a\\b", "HP:0000001")
    docs = [Document("a", "fits", mentions=(Mention(0, 4, concepts=ids), Mention(0, 4, concepts=())))]
    if format == "parquet":
        tables(tmp_path, docs)
    else:
        write(docs, tmp_path / "a.jsonl")
    with Linked(tmp_path) as there:
        assert [row[3] for row in there.document("a").rows()] == sorted(ids)
        assert [there.documents(Asked((frozenset([id]),))).rows() for id in ids] == [[("a", 1, None)]] * 3


def test_a_part_that_is_being_written_is_left_out(tmp_path: Path) -> None:
    tables(tmp_path, [doc("a", "HP:0000001")], [doc("b", "HP:0000001")], [doc("c", "HP:0000001")])
    (tmp_path / "documents-000001-000000.parquet").unlink()
    with Linked(tmp_path) as there:
        assert [row[0] for row in there.documents(FITS).rows()] == ["a", "c"]


def test_shards_of_several_jobs_are_refused(tmp_path: Path) -> None:
    tables(tmp_path, [doc("a", "HP:0000001")], [doc("b", "HP:0000001")])
    (tmp_path / "shard-000000-000000.parquet").replace(tmp_path / "shard-000001-000000.parquet")
    (tmp_path / "documents-000000-000000.parquet").unlink()
    with pytest.raises(FormatError, match="do not belong together"):
        Linked(tmp_path)


def test_a_folder_of_something_else_is_not_replaced(tmp_path: Path) -> None:
    write([doc("a", "HP:0000001")], tmp_path / "a.jsonl")
    for place in (tmp_path, tmp_path / "mine"):
        place.mkdir(exist_ok=True)
        (place / "thesis.txt").write_text("years of work")
        with pytest.raises(FormatError, match="which is of no index: name a new folder"):
            Linked(tmp_path, index=place)
        assert (place / "thesis.txt").read_text() == "years of work"
    Linked(tmp_path, index=tmp_path / "new").close()
    write([doc("b", "HP:0000001")], tmp_path / "a.jsonl")
    with Linked(tmp_path, index=tmp_path / "new") as there:
        assert [row[0] for row in there.documents(FITS).rows()] == ["b"], "an older index is replaced"


def test_an_index_that_another_process_made_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write([doc("a", "HP:0000001")], tmp_path / "a.jsonl")
    real, theirs = linked_index._build, list[int]()

    def build(*given: Any) -> None:
        real(*given)
        if not theirs:
            theirs.append(0)
            other = linked_index.make_index(shards_of(tmp_path))
            theirs[0] = (other / "mentions.parquet").stat().st_ino

    monkeypatch.setattr(linked_index, "_build", build)
    with Linked(tmp_path) as there:
        assert len(there) == 1
        assert [(tmp_path / ".index" / "mentions.parquet").stat().st_ino] == theirs, "another process may read it"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".index", "a.jsonl"]


@pytest.mark.parametrize("text", ['{"linnet job": 1, "made of": [7]}', "[" * 100_000])
def test_odd_manifests(tmp_path: Path, text: str) -> None:
    write([doc("a", "HP:0000001")], tmp_path / "a.jsonl")
    (tmp_path / "manifest.json").write_text(text)
    if text.startswith("["):
        with pytest.raises(FormatError, match="cannot be read"):
            shards_of(tmp_path)
    else:
        assert shards_of(tmp_path).made_of == {}
        json.loads(text)


def test_names_that_look_like_patterns(tmp_path: Path) -> None:
    for name in ("run1", "run[1]", "runs*"):
        (tmp_path / name).mkdir()
        write([doc(name, "HP:0000001")], tmp_path / name / "a.jsonl")
    for name in ("run[1]", "runs*"):
        with Linked(tmp_path / name) as there:
            assert [row[0] for row in there.documents(FITS).rows()] == [name]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_halves_of_surrogate_pairs_are_read(tmp_path: Path, name: str) -> None:
    texts = {"half\ud83d": "fits\udc00 fever", "whole": "fits \U0001f600", "slash": r"fits \ud83d"}
    mentions = (Mention(0, 4, concepts=("HP:0000001",)),)
    write((Document(id, text, mentions=mentions, meta={"of": text}) for id, text in texts.items()), tmp_path / name)
    with Linked(tmp_path) as there:
        assert [row[0] for row in there.documents(FITS).rows()] == ["half\ufffd", "whole", "slash"]
        assert {row[0] for row in there.by(FITS, "of").rows()} == {"fits\ufffd fever", *list(texts.values())[1:]}
    assert {path.name for path in (tmp_path / ".index").iterdir()} == linked_index.OURS


def test_parquet_says_what_it_cannot_hold(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    with (
        shard_of(Settings(str(tmp_path), str(tmp_path), "parquet"), (0, 0), None) as shard,
        pytest.raises(DataError, match="half a surrogate pair"),
    ):
        shard.rendered([Document("a", "fits \ud83d")])
