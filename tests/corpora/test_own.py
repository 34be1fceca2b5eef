"""Folders of one's own annotated files in the place of a known corpus."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from linnet.corpora import write
from linnet.corpora.splits import has_split, split_documents
from linnet.data import Document, Mention
from linnet.errors import FormatError, LinnetError

DOC = Document("a", "a cold", mentions=(Mention(2, 6, id="g", source="gold"), Mention(0, 1, id="p", source="pred")))


def test_splits_are_files_or_folders(tmp_path: Path) -> None:
    write([DOC, replace(DOC, id="b", mentions=(Mention(0, 1, id="p", source="pred"),))], tmp_path / "train.jsonl")
    (tmp_path / "dev").mkdir()
    write([DOC], tmp_path / "dev" / "some.jsonl")
    assert has_split(str(tmp_path), "train")
    assert has_split(str(tmp_path), "dev")
    assert not has_split(str(tmp_path), "test")
    for split in ("train", "dev"):
        found, *others = split_documents(str(tmp_path), split=split)
        assert [doc.mentions for doc in others] == [None] * (split == "train")  # nobody has looked at it
        assert [mention.id for mention in found.mentions or ()] == ["g"]  # predictions teach nothing


def test_what_is_no_split_is_refused(tmp_path: Path) -> None:
    write([DOC], tmp_path / "train.jsonl")
    write([DOC], tmp_path / "train.pubtator")
    with pytest.raises(FormatError, match=r"found train\.jsonl, train\.pubtator"):
        list(split_documents(str(tmp_path), split="train"))
    with pytest.raises(FormatError, match="found nothing so called; linnet corpus split"):
        list(split_documents(str(tmp_path), split="dev"))
    (tmp_path / "sixty.jsonl").touch()
    for name, hint in (("sixti.jsonl", r"; did you mean 'sixty\.jsonl'\?$"), ("else/sixti.jsonl", "$")):
        with pytest.raises(LinnetError, match=rf"there is no file '.*{name}'{hint}"):
            has_split(str(tmp_path / name), "train")
    with pytest.raises(LinnetError, match="neither a known corpus nor a folder; did you mean 'bc5cdr'"):
        has_split("bc5cdrr", "train")
