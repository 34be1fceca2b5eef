"""Jobs that go on: what is kept, what is dropped, and when everything is linked afresh."""

from __future__ import annotations

import gzip
import json
import logging
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import IO, Any

import pytest

from linnet.corpora import read, write
from linnet.data import Document, Mention
from linnet.errors import FormatError, LinnetError
from linnet.home import hold
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow, Pipeline, Stage
from linnet.retrieve.exact import Exact
from linnet.scale.job_key import made_of
from linnet.scale.resumable import Unfinished, keeping, place_of, rest

COUNT = 200  # documents: three batches of 64 and some


class StopError(Exception):
    """What interrupts a job in these tests."""


class Marker:
    """Marks the first word; interrupts at a certain document."""

    needs: frozenset[str] = frozenset()
    gives = frozenset({"mentions"})

    def __init__(self, stop: str = "") -> None:
        self.stop, self.seen = stop, 0

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:
        out = []
        for doc in docs:
            if doc.id == self.stop:
                raise StopError
            self.seen += 1
            out.append(Document(doc.id, doc.text, mentions=(Mention(0, 4, concepts=("X:1",), probability=1 / 3),)))
        return out


def documents(count: int = COUNT, *, text: str = "Fits of rage.") -> list[Document]:
    return [Document(f"d{number}", f"{text} {number}") for number in range(count)]


def job(
    out: Path,
    marker: Marker,
    docs: Sequence[Document] | None = None,
    *,
    made_of: dict[str, Any] | None = None,
    fresh: bool = False,
    format: str = "jsonl",
) -> int:
    """Link documents to `out`; return how many were finished before."""
    given = documents() if docs is None else docs
    with keeping(out, format=format, made_of=made_of or {"pipeline": 1}, fresh=fresh) as kept:
        left = rest(kept, marker, lambda: iter(given), again=lambda _: None)
        before = len(kept)
        for _ in left:
            pass
        kept.become_output()
    return before


def stopped(out: Path, *, at: int = 150, **options: Any) -> None:
    with pytest.raises(StopError):
        job(out, Marker(f"d{at}"), **options)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    job(tmp_path / "whole.jsonl", Marker())
    return (tmp_path / "whole.jsonl").read_bytes()


@pytest.mark.parametrize("format", ["jsonl", "csv", "pubtator"])
@pytest.mark.parametrize("packed", ["", ".gz"])
def test_what_is_finished_is_not_linked_again(tmp_path: Path, format: str, packed: str) -> None:
    out = tmp_path / f"out.{format}{packed}"
    stopped(out, format=format)
    assert not out.exists()
    marker = Marker()
    assert job(out, marker, format=format) == 128, "two batches of 64"
    assert marker.seen == COUNT - 128
    assert sorted(path.name for path in tmp_path.iterdir()) == [out.name]
    write(Marker()(documents()), tmp_path / f"other.{format}{packed}", format=format)
    assert out.read_bytes() == (tmp_path / f"other.{format}{packed}").read_bytes()
    if packed:
        assert gzip.decompress(out.read_bytes())


def test_nothing_finished_leaves_nothing(out: Path) -> None:
    stopped(out, at=10)
    assert not list(out.parent.iterdir())


def test_finished_documents_are_read_again(out: Path, kb: KnowledgeBase) -> None:
    [linked] = Pipeline(Exact(kb=kb))([Document("a", "seizure", mentions=(Mention(0, 7),))])
    with pytest.raises(StopError), keeping(out, made_of={}, rows=kb) as kept:
        kept.keep([Document("a", "seizure")], [linked])
        raise StopError
    with keeping(out, made_of={}, rows=kb) as kept:
        assert list(kept) == [linked]
    with pytest.raises(LinnetError, match="kept as csv cannot be read"), keeping(out, format="csv", made_of={}) as kept:
        list(kept)


def test_long_documents_are_kept_one_by_one(out: Path) -> None:
    docs = documents(5, text="Fits. " * 40_000)
    with pytest.raises(StopError):
        job(out, Marker("d3"), docs)
    assert job(out, Marker(), docs) == 3


DAMAGES = {
    "a torn line": lambda data: data[:-20],
    "a line that was not finished": lambda data: data + b'{"documents": 999',
    "zeros, as after a power cut": lambda data: data[:-40] + bytes(40),
    "another document": lambda data: data.replace(b"d127", b"d128"),
}


@pytest.mark.parametrize("name", ["documents", "progress"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_not_whole_is_dropped(
    out: Path, whole: bytes, name: str, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    stopped(out)
    path = place_of(out) / name
    before = path.read_bytes()
    path.write_bytes(DAMAGES[damage](before))
    assert job(out, Marker()) in (64, 128)
    assert out.read_bytes() == whole
    if path.name == "documents" or damage != "another document":
        assert "what was not written whole is linked again" in caplog.text


@pytest.mark.parametrize("name", ["documents", "progress"])
@pytest.mark.parametrize("content", [None, b"", b"\n", b"[]\n", b"{}\n", b"\xff\n", b'{"made of": 1}\n'])
def test_what_is_no_more_is_linked_afresh(out: Path, whole: bytes, name: str, content: bytes | None) -> None:
    stopped(out)
    path = place_of(out) / name
    path.unlink() if content is None else path.write_bytes(content)
    assert job(out, Marker()) == 0
    assert out.read_bytes() == whole


def test_another_job_is_not_gone_on_with(out: Path, whole: bytes, caplog: pytest.LogCaptureFixture) -> None:
    stopped(out)
    assert job(out, Marker(), made_of={"pipeline": 2}) == 0
    assert "was made with another pipeline: all documents are linked afresh" in caplog.text
    assert out.read_bytes() == whole
    stopped(out, format="csv")
    assert job(out, Marker()) == 0
    assert "was made with another format" in caplog.text
    assert out.read_bytes() == whole
    stopped(out)
    assert job(out, Marker(), fresh=True) == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda docs: docs[:100],
        lambda docs: [Document("new", "Fits."), *docs],
        lambda docs: [docs[1], docs[0], *docs[2:]],
        lambda docs: [*docs[:100], Document("d100", "Other words."), *docs[101:]],
        lambda docs: [*docs[:100], Document("other", docs[100].text), *docs[101:]],
        lambda docs: [Document("d0", docs[0].text, meta={"a": 1}), *docs[1:]],
        lambda docs: [Document("d0", docs[0].text, mentions=()), *docs[1:]],
    ],
)
def test_other_documents_are_linked_afresh(out: Path, change: Any, caplog: pytest.LogCaptureFixture) -> None:
    stopped(out)
    docs = change(documents())
    assert job(out, Marker(), docs) == 0
    assert "the documents are not those of before: all are linked afresh" in caplog.text
    assert [doc.id for doc in read(out)] == [doc.id for doc in docs]


def test_what_changes_behind_the_finished_documents_is_no_matter(out: Path) -> None:
    stopped(out)
    docs = [*documents()[:128], Document("d128", "Other words."), Document("more", "Words.")]
    assert job(out, Marker(), docs) == 128
    assert [doc.text for doc in read(out)] == [doc.text for doc in docs]


def test_it_can_be_interrupted_again_and_again(out: Path, whole: bytes, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "linnet")
    for at in (100, 130, 199):
        stopped(out, at=at)
    assert job(out, Marker()) == 192
    assert out.read_bytes() == whole
    assert "64 documents are finished: run the same command to resume" in caplog.text
    assert "resuming after 128 finished documents" in caplog.text


def test_two_processes_do_not_write_to_one_place(out: Path, tmp_path: Path) -> None:
    with keeping(out, made_of={}) as kept:
        kept.keep(documents(1), documents(1))
        (tmp_path / "link.jsonl").symlink_to(out)
        for place in (out, tmp_path / "link.jsonl"):
            with pytest.raises(LinnetError, match="another process is linking to it"), keeping(place, made_of={}):
                pass
        assert len(kept) == 1
    assert not place_of(out).exists()
    with keeping(out, made_of={}):
        pass


def test_who_held_the_lock_may_have_gone(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is made again if the process before removes it between our look and our lock."""

    def late(lock: Path) -> sqlite3.Connection | None:
        monkeypatch.setattr("linnet.scale.resumable.hold", hold)
        connection = hold(lock)
        shutil.rmtree(lock.parent)
        return connection

    monkeypatch.setattr("linnet.scale.resumable.hold", late)
    assert job(out, Marker(), documents(3)) == 0
    assert len(out.read_text().splitlines()) == 3


def test_places_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FormatError, match=r"there is no folder .*none; make it first"):
        job(tmp_path / "none" / "out.jsonl", Marker())
    mine = place_of(tmp_path / "out.jsonl")
    mine.mkdir()
    (mine / "notes.txt").write_text("mine")
    with pytest.raises(FormatError, match=r"holds 'notes.txt': move that away"):
        job(tmp_path / "out.jsonl", Marker())
    assert (mine / "notes.txt").read_text() == "mine"
    place_of(tmp_path / "b").write_text("a file")
    with pytest.raises(FormatError, match="is no folder: move that away"):
        job(tmp_path / "b", Marker())


@pytest.mark.parametrize("name", ["", "documents", "progress", "lock", "output"])
def test_links_that_somebody_put_there(out: Path, tmp_path: Path, name: str) -> None:
    """In a folder that others may write to they choose what a link leads to."""
    (tmp_path / "home").mkdir()
    mine = tmp_path / "home" / "documents"
    mine.write_text("mine")
    if name:
        place_of(out).mkdir()
        (place_of(out) / name).symlink_to(mine)
    else:
        place_of(out).symlink_to(mine.parent)
    with pytest.raises(FormatError, match=f"{f'holds {name!r}' if name else 'is no folder'}: move that away"):
        job(out, Marker())
    assert mine.read_text() == "mine"
    assert [path.name for path in mine.parent.iterdir()] == ["documents"]


def test_the_folder_of_another_user(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped(out)
    assert place_of(out).stat().st_mode & 0o777 == 0o700
    another = os.geteuid() + 1
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: another)
        with pytest.raises(FormatError, match="belongs to another user: move that away"):
            job(out, Marker())
    place_of(out).chmod(0o777)
    stopped(out, at=199)
    assert place_of(out).stat().st_mode & 0o777 == 0o700
    assert job(out, Marker()) == 192


def test_folders_that_may_not_be_written_to(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:  # a mode of the folder would not keep root out
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(FormatError, match=r"out.jsonl: cannot be written: .*out.jsonl.unfinished: Permission denied"):
        job(out, Marker())


def test_a_lock_that_is_none(out: Path) -> None:
    place_of(out).mkdir()
    (place_of(out) / "lock").write_text("no database at all, but long enough to be looked at " * 100)
    with pytest.raises(FormatError, match=r"cannot be written: .*lock"):
        job(out, Marker())


def test_no_room(out: Path) -> None:
    class Full:
        def __init__(self, file: IO[bytes]) -> None:
            self.file = file

        def write(self, data: bytes) -> None:
            raise OSError(28, "No space left on device")

        def close(self) -> None:
            self.file.close()
            raise OSError(28, "No space left on device")

    with pytest.raises(LinnetError, match="No space left on device; make room"), keeping(out, made_of={}) as kept:
        kept.keep(documents(1), documents(1))
        kept._files[0] = Full(kept._files[0])  # type: ignore[call-overload]
        kept.keep(documents(1), documents(1))
    with keeping(out, made_of={}) as kept:
        assert len(kept) == 1


# --- what a job is made of -------------------------------------------------------------------------------------------


def test_what_tells_jobs_apart(kb: KnowledgeBase, tmp_path: Path) -> None:
    def told(**keywords: Any) -> str:
        return json.dumps(made_of(Pipeline(Exact(kb=kb, **keywords), kb=kb)))

    assert told() == told() != told(level="case")
    assert kb.version in told()
    fused = made_of(Pipeline(Exact(kb=kb) | Exact(kb=kb, level="case")))["pipeline"]
    assert [part["use"] for part in fused[0]["of"]] == ["linnet.retrieve.exact:Exact"] * 2
    assert made_of(Pipeline(Marker()), {"choice": 1}) == {**made_of(Pipeline(Marker())), "choice": 1}


def test_what_was_learned_counts(tmp_path: Path) -> None:
    folder = tmp_path / "trained" / "0-exact"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_text("1")

    def told() -> Any:
        return made_of(Pipeline(Marker(), name=str(tmp_path / "trained")))["trained folder"]

    first = told()
    (folder / "index.hnsw").write_text("made again at any time")
    assert told() == first
    (folder / "model.safetensors").write_text("22")
    assert told() != first
    assert made_of(Pipeline(Marker(), name="hpo"))["trained folder"] == ""


def test_files_that_keywords_name_count(tmp_path: Path) -> None:
    class Named(Marker, Stage):
        def __init__(self, encoder: str) -> None:
            super().__init__()
            self.encoder = encoder

        def config(self) -> dict[str, Any]:
            return {"encoder": self.encoder, "name": "x\0", "long": "y" * 5000}

    path = tmp_path / "encoder"
    path.write_text("1")
    first = made_of(Pipeline(Named(str(path))))
    path.write_text("22")
    assert first != made_of(Pipeline(Named(str(path))))


def test_an_unfinished_job_counts_its_documents(out: Path) -> None:
    def several() -> Iterator[Document]:
        yield from documents(3)

    with keeping(out, made_of={}) as kept:
        assert isinstance(kept, Unfinished)
        assert (len(kept), kept.documents) == (0, 0)
        kept.keep(list(several()), list(several()))
        assert (len(kept), kept.documents) == (3, 3)


def test_the_lock_ends_with_its_holder(tmp_path: Path) -> None:
    first = hold(tmp_path / "lock")
    assert first is not None
    assert hold(tmp_path / "lock") is None
    first.close()
    second = hold(tmp_path / "lock")
    assert second is not None
    with closing(second):
        assert hold(tmp_path / "lock") is None


def test_what_is_private_stays_private(out: Path) -> None:
    out.write_text("")
    out.chmod(0o600)
    stopped(out)
    assert place_of(out).stat().st_mode & 0o777 == 0o700
    job(out, Marker())
    assert out.stat().st_mode & 0o777 == 0o600
