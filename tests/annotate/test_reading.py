"""Files that people upload: what their documents are called."""

from __future__ import annotations

import json

from linnet.annotate.reading import File, read_files

FILES = (
    File("note.txt", b"Seizures."),
    File("note.json", json.dumps({"id": "own", "text": "Fits."}).encode()),
    File("note.jsonl", json.dumps({"id": "other", "text": "Fits."}).encode()),
    File("elsewhere/note.txt", b"No seizures."),
    File("third/note.txt", b"Short stature."),
)


def test_no_document_is_named_after_a_place_on_the_server() -> None:
    first, again = read_files(FILES), read_files(FILES)
    ids = [doc.id for doc in first.docs]
    assert ids == [doc.id for doc in again.docs]  # the same upload adds nothing
    assert len(set(ids)) == len(ids) >= 4
    told = " ".join([*ids, *(fault.file + fault.message for fault in first.faults)])
    assert "/tmp" not in told
    assert "/" not in "".join(ids)
