"""The recipe for letters that people corrected: what it learns from them, and what stays as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

import linnet
from linnet.data import Document, Mention
from linnet.kb import KnowledgeBase
from tests.letters.letters import read_letters

from .conftest import Run


@pytest.mark.slow
def test_corrections_take_effect_and_assertion_stays(run: Run, kb: KnowledgeBase, tmp_path: Path) -> None:
    text = "No wobbles today. Short stature of the clinic. Mother had a seizure."
    found = (
        Mention(3, 10, source="gold", concepts=("HP:0001250",)),
        Mention(60, 67, source="gold", concepts=("HP:0002069",)),
    )
    for split, numbers in (("train", range(20)), ("dev", range(20, 60))):
        linnet.write([Document(f"l{number}", text, mentions=found) for number in numbers], tmp_path / f"{split}.jsonl")
    out = tmp_path / "out"
    assert run("train", "own_letters", "--corpus", tmp_path, "--kb", kb.path, "-o", out, "-q").code == 0
    [doc] = linnet.load(out)([text])
    assert [(doc.surface(m), m.concepts, m.assertion) for m in doc.mentions or ()] == [
        ("wobbles", ("HP:0001250",), "negated"),
        ("seizure", ("HP:0002069",), "family"),
    ]
    assert {mention.calibration for mention in doc.mentions or ()} == {"joint"}


@pytest.mark.slow
@pytest.mark.parametrize(("accepted", "found"), [(0, False), (1, True)])
def test_what_was_only_rejected_is_not_found(
    run: Run, kb: KnowledgeBase, tmp_path: Path, accepted: int, found: bool
) -> None:
    right = (Mention(0, 12, source="gold", concepts=("HP:0009381",)),)
    train = [Document(f"r{number}", "Short finger.", mentions=right) for number in range(5)]
    train += [Document("w", "Short stature.", mentions=())]
    accept = (Mention(0, 13, source="gold", concepts=("HP:0004322",)),)
    train += [Document(f"a{number}", "Short stature.  ", mentions=accept) for number in range(accepted)]
    linnet.write(train, tmp_path / "train.jsonl")
    linnet.write([Document("d", "Short finger.", mentions=right)], tmp_path / "dev.jsonl")
    out = tmp_path / "out"
    assert run("train", "own_letters", "--corpus", tmp_path, "--kb", kb.path, "-o", out, "-q").code == 0
    [doc] = linnet.load(out)(["Short stature."])
    assert bool(doc.mentions) is found


@pytest.mark.slow
def test_few_letters_do_no_harm(run: Run, tmp_path: Path) -> None:
    """Measure three folds of ten letters; the figures stand in docs/correct-in-a-sheet.md."""
    assert run("kb", "build", "--from", "hpo", "-q").code == 0
    letters = read_letters("develop")
    f1 = {}
    for recipe in ("hpo", "own_letters", "own_lexical"):
        pairs = [pair for fold in range(3) for pair in _fold(run, letters, recipe, fold, tmp_path / f"{recipe}{fold}")]
        right, gold, given = (sum(map(len, sets)) for sets in zip(*((a & b, a, b) for a, b in pairs), strict=True))
        f1[recipe] = 2 * right / (gold + given)
    assert f1 == pytest.approx({"hpo": 0.82, "own_letters": 0.81, "own_lexical": 0.54}, abs=0.02)


Units = set[tuple[int, int, tuple[str, ...] | None]]


def _fold(run: Run, letters: list[Document], recipe: str, fold: int, folder: Path) -> list[tuple[Units, Units]]:
    """Return gold and answers of every third letter, by a pipeline that learned from five of the others."""
    test, rest = letters[fold::3], [doc for place, doc in enumerate(letters) if place % 3 != fold]
    folder.mkdir()
    linnet.write(rest[:-2], folder / "train.jsonl")
    linnet.write(rest[-2:], folder / "dev.jsonl")
    if recipe != "hpo":
        assert run("train", recipe, "--corpus", folder, "--kb", "hpo", "-o", folder / "out", "-q").code == 0
    link = linnet.load("hpo" if recipe == "hpo" else folder / "out")
    return [(_units(doc), _units(found)) for doc, found in zip(test, link([d.bare() for d in test]), strict=True)]


def _units(doc: Document) -> Units:
    return {(mention.start, mention.end, mention.concepts) for mention in doc.mentions or ()}
