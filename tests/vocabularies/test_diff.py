"""What changed between two knowledge bases, and what of the gold survives it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from linnet.corpora.catalog import read_corpus
from linnet.corpora.vocabulary import gold_ids
from linnet.data import Concept, Name
from linnet.vocabularies.build import Source, build_from
from linnet.vocabularies.diff import KINDS, Change, diff, survival

from .conftest import Make

ONE = Concept("X:1", (Name("one"), Name("uno", "related")), ("T",), "First.", ("X:0",), ("Y:1",))
ROOT = Concept("X:0", (Name("root"),))


def test_nothing_changed_whatever_the_rows(make: Make) -> None:
    turned = replace(ONE, names=ONE.names, types=("T",))
    assert list(diff(make(ROOT, ONE), make(turned, ROOT))) == []


@pytest.mark.parametrize(
    ("now", "changes"),
    [
        (replace(ONE, parents=()), [Change("moved", "X:1", "one", ("X:0",), ())]),
        (replace(ONE, definition=""), [Change("definition", "X:1", "one", ("First.",), ())]),
        (replace(ONE, types=("T", "U")), [Change("types", "X:1", "one", (), ("U",))]),
        (replace(ONE, xrefs=("Y:2",)), [Change("xrefs", "X:1", "one", ("Y:1",), ("Y:2",))]),
        (replace(ONE, names=ONE.names[:1]), [Change("names removed", "X:1", "one", ("uno (related)",), ())]),
        (
            replace(ONE, names=(*ONE.names, Name("eins", language="de"))),
            [Change("names added", "X:1", "one", (), ("eins (de)",))],
        ),
        (replace(ONE, names=ONE.names[::-1]), [Change("renamed", "X:1", "uno", ("one",), ("uno",))]),
        (
            replace(ONE, names=(Name("One"), ONE.names[1])),
            [
                Change("renamed", "X:1", "One", ("one",), ("One",)),
                Change("names added", "X:1", "One", (), ("One",)),
                Change("names removed", "X:1", "One", ("one",), ()),
            ],
        ),
    ],
)
def test_each_kind(make: Make, now: Concept, changes: list[Change]) -> None:
    assert list(diff(make(ROOT, ONE), make(ROOT, now))) == changes
    assert {change.kind for change in changes} <= set(KINDS)


def test_come_and_gone(make: Make) -> None:
    old = make(*(Concept(f"X:{number}", (Name(str(number)),)) for number in (1, 2, 3, 4, 9)))
    retired = [Concept("X:1", replaced_by="X:0"), Concept("X:0", replaced_by="X:3"), Concept("X:2", replaced_by="")]
    new = make(Concept("X:3", (Name("3"),)), Concept("X:5", (Name("5"),)), *retired)
    assert list(diff(old, new)) == [
        Change("retired", "X:1", "1", after=("X:3",)),
        Change("retired", "X:2", "2"),
        Change("removed", "X:4", "4"),
        Change("added", "X:5", "5"),
        Change("removed", "X:9", "9"),
    ]
    assert [change.kind for change in diff(new, old)] == ["added", "added", "added", "removed", "added"]


def test_retired_ones_that_lead_elsewhere(make: Make) -> None:
    live = Concept("X:0", (Name("0"),)), Concept("X:9", (Name("9"),))
    led = {"X:1": "X:0", "X:2": "X:0", "X:3": "", "X:4": "X:1", "X:5": "X:0"}
    leads = {"X:1": "X:9", "X:2": "", "X:3": "X:0", "X:4": "X:1", "X:6": "X:0", "X:5": "X:3"}
    old, new = (
        make(*live, *(Concept(id, (Name("gone"),), replaced_by=to) for id, to in some.items())) for some in (led, leads)
    )
    assert list(diff(old, new)) == [
        Change("redirected", "X:1", "gone", ("X:0",), ("X:9",)),  # X:4 follows it, X:5 ends where it did
        Change("redirected", "X:2", "gone", ("X:0",)),
        Change("redirected", "X:3", "gone", (), ("X:0",)),
    ]


def test_what_survives(make: Make) -> None:
    old = make(*(Concept(f"X:{number}", (Name("x"),)) for number in range(4)), Concept("O:1", replaced_by="X:1"))
    retired = [Concept("X:1", replaced_by="X:0"), Concept("X:2", replaced_by="")]
    new = make(Concept("X:0", (Name("x"),)), Concept("N:1", (Name("n"),)), *retired)
    gold = {"X:0": 5, "X:1": 3, "X:2": 2, "X:3": 1, "O:1": 4, "N:1": 7, "Z:1": 6}
    found = survival(gold, old, new)
    assert found.kept == {"X:0": 5, "N:1": 7}
    assert found.successors == {"X:1": "X:0", "O:1": "X:0"}  # O:1 by way of what the old one knows
    assert found.successor == {"X:1": 3, "O:1": 4}
    assert (found.lost, found.unknown) == ({"X:2": 2, "X:3": 1}, {"Z:1": 6})
    assert found.share() == pytest.approx(19 / 28)
    assert survival({}, old, new).share() == 0.0


def reference(old: Iterable[Concept], new: Iterable[Concept]) -> set[tuple[str, str]]:
    """Return (kind, id) of all changes, by dicts in memory."""
    before, after = ({c.id: c for c in side if c.replaced_by is None} for side in (old, new))
    gone = {c.id for c in new if c.replaced_by is not None}
    led, leads = ({c.id: c.replaced_by for c in side if c.replaced_by is not None} for side in (old, new))
    found = {("added", id) for id in after.keys() - before.keys()}
    found |= {("redirected", id) for id in led.keys() & leads.keys() if led[id] != leads[id]}
    found |= {("retired" if id in gone else "removed", id) for id in before.keys() - after.keys()}
    for id in before.keys() & after.keys():
        was, now = before[id], after[id]
        texts = [{(name.text, name.scope) for name in one.names} for one in (was, now)]
        checks = {
            "moved": set(was.parents) != set(now.parents),
            "renamed": was.name != now.name,
            "names added": bool(texts[1] - texts[0]),
            "names removed": bool(texts[0] - texts[1]),
            "definition": was.definition != now.definition,
            "types": set(was.types) != set(now.types),
            "xrefs": set(was.xrefs) != set(now.xrefs),
        }
        found |= {(kind, id) for kind, changed in checks.items() if changed}
    return found


def some(rng: random.Random) -> list[Concept]:
    # ids beyond the Basic Multilingual Plane and beside it, where orders of encodings differ
    ids = sorted(rng.sample(["A:1", "A:10", "a:1", "B", "Ä:1", "\uffee", "\U0001f600", "A:2", "Z:9"], 6))
    concepts = []
    for at, id in enumerate(ids):
        names = tuple(Name(text, rng.choice(["exact", "broad"])) for text in rng.sample("pqrs", rng.randrange(1, 4)))
        types, xrefs = (tuple(rng.sample("TUV", rng.randrange(3))) for _ in range(2))
        parents = tuple(rng.sample(ids[:at], min(at, rng.randrange(3))))
        concepts.append(Concept(id, names, types, rng.choice(["", "x"]), parents, xrefs))
    old = [id for id in ("A:1", "B", "Z:9", "O:1") if id not in ids]
    return [*concepts, *(Concept(id, replaced_by=rng.choice([*ids, ""])) for id in old)]


@pytest.mark.parametrize("seed", range(25))
def test_against_a_slow_reference(make: Make, seed: int) -> None:
    rng = random.Random(seed)
    old, new = some(rng), some(rng)
    changes = list(diff(make(*old), make(*new)))
    found = [(change.kind, change.id) for change in changes]
    assert len(found) == len(set(found))
    assert set(found) == reference(old, new)
    assert [change.id for change in changes] == sorted(change.id for change in changes)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_an_upgrade_of_the_hpo(data: Path, tmp_path: Path) -> None:
    path = data / "kb/hp_2017-03.obo.gz"
    old = build_from([Source("obo", path, {"prefix": ["HP"], "types": "branch"})], tmp_path / "old.kb")
    new = build_from([Source("hpo")], tmp_path / "new.kb")
    counts: Counter[str] = Counter()
    led = 0
    for change in diff(old, new):
        counts[change.kind] += 1
        led += change.kind == "retired" and bool(change.after)
    assert int(old.info["concepts"]) + counts["added"] - counts["retired"] == int(new.info["concepts"])
    assert (int(old.info["concepts"]), counts["retired"], counts["removed"]) == (11_673, 241, 0)
    assert led == 230  # the others were retired without a successor
    if new.sources[0]["release"] == "hp/releases/2025-01-16":
        assert [counts[kind] for kind in ("added", "moved", "renamed")] == [7_602, 1_698, 1_365]
    gold = gold_ids(read_corpus("gsc_plus", split="dev", data=data))
    survived = survival(gold, old, new)
    assert (gold.total(), len(gold), survived.share()) == (173, 89, 1.0)
    assert not survived.lost
