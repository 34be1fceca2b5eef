"""Several vocabularies become one: by id, by retired id, by cross-reference, or apart; nothing silent."""

from __future__ import annotations

import contextlib
import random
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.growth import LINEAR, growth

from linnet.data import Concept, Name
from linnet.errors import KnowledgeBaseError, LinnetError, LinnetWarning
from linnet.kb.build import build
from linnet.kb.cycles import closing_edges, ends_of
from linnet.vocabularies.join import JoinReport, join


def live(id: str, *names: str, parents: Iterable[str] = (), xrefs: Iterable[str] = ()) -> Concept:
    texts = names or (id.lower(),)
    return Concept(id, tuple(Name(text) for text in texts), parents=tuple(parents), xrefs=tuple(xrefs))


def joined(*sources: list[Concept], by_xref: bool = True) -> tuple[dict[str, Concept], JoinReport]:
    report = JoinReport()
    concepts = list(join(sources, by_xref=by_xref, report=report))
    found = {concept.id: concept for concept in concepts}
    assert len(found) == len(concepts)
    return found, report


def successors(concepts: dict[str, Concept]) -> dict[str, str]:
    return {id: one.replaced_by for id, one in concepts.items() if one.replaced_by is not None}


@pytest.mark.parametrize("step", [1, -1])
def test_chains_end_where_they_end_however_long_they_are(step: int) -> None:
    many = 100_000
    chain = {f"O:{i}": f"O:{i + 1}" for i in range(many)[::step]}
    circle = {"C:1": "C:2", "C:2": "C:3", "C:3": "C:2", "C:4": "C:1", "L": ""}
    ends = ends_of(chain | circle)
    assert ends == dict.fromkeys(chain, f"O:{many}") | {"C:1": "C:2", "C:2": "C:2", "C:3": "C:3", "C:4": "C:2", "L": ""}


def test_time_grows_with_the_retired_ids_not_with_their_square() -> None:
    def work(many: int) -> None:
        old = [Concept(f"O:{i}", replaced_by=f"O:{i + 1}" if i < many - 1 else "A:1") for i in range(many)]
        concepts, _ = joined([live("A:1"), *old])
        assert set(successors(concepts).values()) == {"A:1"}

    assert growth(work, 20_000) < LINEAR


def test_united_by_id() -> None:
    first = Concept("A:1", (Name("one"), Name("uno", "related")), ("T",), "", ("A:2",), ("X:1",), origin="a:1")
    other = Concept("A:1", (Name("eins", language="de"), Name("uno")), ("T", "U"), "Text.", ("A:3",), ("X:1", "X:2"))
    concepts, report = joined([first, live("A:2")], [other, live("A:3")])
    names = (Name("one"), Name("uno", "related"), Name("eins", language="de"))
    assert concepts["A:1"] == Concept("A:1", names, ("T", "U"), "Text.", ("A:2", "A:3"), ("X:1", "X:2"))
    assert concepts["A:1"].origin == "a:1"
    assert list(concepts) == ["A:1", "A:2", "A:3"]
    assert (report.read, report.concepts, report.by_id, report.conflicts()) == ([2, 2], 3, 1, [])
    assert str(report).startswith("sources of 2 and 2 concepts joined to 3: 1 by id, 0 by retired id")


def test_united_by_retired_id_either_way() -> None:
    old = Concept("O:1", (Name("old"),), replaced_by="O:2")
    chain = [old, Concept("O:2", replaced_by="A:1")]
    concepts, report = joined([live("A:1", "a"), *chain], [live("O:1", "b"), live("P:1", parents=["O:1"])])
    assert [name.text for name in concepts["A:1"].names] == ["a", "b"]
    assert concepts["P:1"].parents == ("A:1",)
    assert successors(concepts) == {"O:1": "A:1", "O:2": "A:1"}
    assert (report.by_retired, report.conflicts()) == (1, [])
    concepts, report = joined([live("A:1", "a")], [live("B:1", "b"), Concept("A:1", replaced_by="B:1")])
    assert successors(concepts) == {"B:1": "A:1"}
    assert concepts["B:1"].names == (Name("b"),)
    assert (report.by_retired, report.conflicts()) == (1, [])


def test_united_by_xref() -> None:
    sources = [live("A:1", "a", xrefs=["B:1"])], [live("B:1", "b", xrefs=["A:1", "Z:9"]), live("B:2", parents=["B:1"])]
    concepts, report = joined(*sources)
    assert concepts["A:1"].xrefs == ("B:1", "Z:9")
    assert concepts["B:2"].parents == ("A:1",)
    assert successors(concepts) == {"B:1": "A:1"}
    assert (report.by_xref, report.concepts) == (1, 2)
    apart, report = joined(*sources, by_xref=False)
    assert (len(apart), report.by_xref, report.ambiguous) == (3, 0, 0)
    # a third source that knows the merged-away id means the survivor, whatever else leads there
    concepts, report = joined(*sources, [live("B:1", "c"), live("A:1", "d")])
    assert [name.text for name in concepts["A:1"].names] == ["a", "b", "c", "d"]
    assert (report.by_id, report.by_xref) == (2, 1)


def test_a_cross_reference_joins_in_either_order() -> None:
    ours, theirs = [live("A:1", "a", xrefs=["B:1", "Z:9"]), live("A:2")], [live("B:1", "b"), live("B:2")]
    for sources, kept, away in (((ours, theirs), "A:1", "B:1"), ((theirs, ours), "B:1", "A:1")):
        concepts, report = joined(*sources)
        assert successors(concepts) == {away: kept}
        assert {name.text for name in concepts[kept].names} == {"a", "b"}
        assert (report.by_xref, report.concepts, report.conflicts()) == (1, 3, [])
        assert joined(*sources, by_xref=False)[1].by_xref == 0
    # an id that the later source has retired leads on; what was merged before refers like its survivor
    concepts, _ = joined([live("A:1", xrefs=["B:9"])], [live("B:1"), Concept("B:9", replaced_by="B:1")])
    assert successors(concepts) == {"B:1": "A:1", "B:9": "A:1"}
    concepts, report = joined([live("A:1")], [live("B:1", xrefs=["A:1", "C:1"])], [live("C:1")], [live("D:1")])
    assert successors(concepts) == {"B:1": "A:1", "C:1": "A:1"}
    assert report.by_xref == 2


def test_what_is_ambiguous_is_so_in_either_order() -> None:
    several = [live("A:1", xrefs=["B:1", "B:2"]), live("A:3", xrefs=["B:3"]), live("A:4", xrefs=["B:3"])]
    named = [live("B:1"), live("B:2"), live("B:3")]
    assert successors(joined(several, named)[0]) == successors(joined(named, several)[0]) == {}
    assert joined(several, named)[1].examples == {
        "ambiguous": ["B:1 and A:1", "B:2 and A:1", "B:3 and A:3, A:4"],
    }
    # one that both refer to each other and a third that is referred to as well
    concepts, _ = joined([live("A:1", xrefs=["B:1", "B:2"])], [live("B:1", xrefs=["A:1"]), live("B:2")])
    assert successors(concepts) == {}


def test_ambiguous_ones_stay_apart() -> None:
    first = [live("A:1"), live("A:2")]
    concepts, report = joined(
        first, [live("B:1", xrefs=["A:1"]), live("B:2", xrefs=["A:1"]), live("B:3", xrefs=["A:2"])]
    )
    assert successors(concepts) == {"B:3": "A:2"}
    assert (report.ambiguous, report.by_xref) == (2, 1)
    assert report.conflicts() == [
        "2 kept apart because it is ambiguous with which they belong: B:1 and A:1; B:2 and A:1"
    ]
    concepts, report = joined(first, [live("B:1", xrefs=["A:2", "A:1"])])
    assert (successors(concepts), report.examples) == ({}, {"ambiguous": ["B:1 and A:2, A:1"]})
    concepts, report = joined(first, [live("A:1"), live("B:1", xrefs=["A:1"])])  # the id itself is stronger
    assert (successors(concepts), report.by_id, report.ambiguous) == ({}, 1, 1)
    two = [live("B:1"), Concept("A:1", replaced_by="B:1"), Concept("A:2", replaced_by="B:1")]
    concepts, report = joined(first, two)
    assert (successors(concepts), report.ambiguous, report.live_again) == ({}, 1, 2)


def test_what_is_live_stays_live() -> None:
    gone = Concept("B:1", (Name("gone"),), replaced_by="")
    concepts, report = joined([live("A:1"), gone], [live("B:1")])
    assert (successors(concepts), report.live_again) == ({}, 1)
    concepts, report = joined([live("A:1"), live("B:1")], [gone])
    assert (successors(concepts), report.live_again) == ({}, 1)
    # two of the later source mean the earlier one, so neither does
    old = Concept("B:1", replaced_by="A:1")
    concepts, report = joined([live("A:1"), old], [live("A:1"), live("B:1")])
    assert successors(concepts) == {}
    assert (report.ambiguous, report.live_again) == (1, 1)


def test_retired_twice() -> None:
    first = [live("A:1"), live("A:2"), Concept("O:1", replaced_by="A:1"), Concept("O:2", replaced_by="")]
    same = [Concept("O:1", replaced_by="A:1"), Concept("O:2", replaced_by="A:2")]
    concepts, report = joined(first, same)
    assert successors(concepts) == {"O:1": "A:1", "O:2": "A:2"}  # a successor is better than none
    assert report.conflicts() == []
    concepts, report = joined(first, [Concept("O:1", replaced_by="A:2")])
    assert successors(concepts) == {"O:1": "A:1", "O:2": ""}
    assert report.examples == {"retired_twice": ["O:1 for A:1 and for A:2"]}


def test_a_successor_may_come_later() -> None:
    concepts, _ = joined([live("A:1"), Concept("O:1", replaced_by="B:1")], [live("B:1")])
    assert successors(concepts) == {"O:1": "B:1"}
    concepts, _ = joined([live("A:1"), Concept("O:1", replaced_by="B:1")], [live("B:1", xrefs=["A:1"])])
    assert successors(concepts) == {"O:1": "A:1", "B:1": "A:1"}


def test_circles_are_broken(tmp_path: Path) -> None:
    first = [live("A:1", parents=["A:2"]), live("A:2")]
    second = [live("B:1", xrefs=["A:1"]), live("B:2", parents=["B:1"], xrefs=["A:2"])]
    concepts, report = joined(first, second)
    assert (concepts["A:1"].parents, concepts["A:2"].parents) == (("A:2",), ())
    assert report.examples == {"parents_left_out": ["A:2 under A:1"]}
    assert len(build(join([first, second], report=JoinReport()), tmp_path / "a.kb")) == 2
    concepts, report = joined([live("A:1")], [live("A:1", parents=["B:1"]), live("B:1", parents=["B:1"])])
    assert concepts["B:1"].parents == ()


def test_circles_through_retired_parents_are_broken(tmp_path: Path) -> None:
    first = [live("A:1", parents=["A:9"]), live("A:2", parents=["A:1"]), Concept("A:9", replaced_by="A:2")]
    concepts, report = joined(first, [live("B:1")])
    assert (concepts["A:1"].parents, concepts["A:2"].parents) == (("A:2",), ())
    assert report.examples == {"parents_left_out": ["A:2 under A:1"]}
    assert len(build(concepts.values(), tmp_path / "a.kb")) == 3


def test_a_gene_is_not_its_species() -> None:
    taxa = [live("NCBITaxon:11676"), live("NCBITaxon:9606")]
    gene = live("NCBIGene:155030", xrefs=["NCBITaxon:11676", "HGNC:5"])
    for sources in ([taxa, [gene]], [[gene], taxa]):
        concepts, report = joined(*sources)
        assert (successors(concepts), report.by_xref, report.ambiguous) == ({}, 0, 0)
        assert concepts["NCBIGene:155030"].xrefs == gene.xrefs
    assert successors(joined([live("HGNC:5")], [gene])[0]) == {"NCBIGene:155030": "HGNC:5"}
    organism = live("MESH:D015497", xrefs=["NCBITaxon:11676"])
    assert successors(joined(taxa, [organism])[0]) == {"MESH:D015497": "NCBITaxon:11676"}


def test_without_a_report_conflicts_are_told() -> None:
    sources = [live("A:1")], [live("B:1", xrefs=["A:1"]), live("B:2", xrefs=["A:1"])]
    with pytest.warns(LinnetWarning, match="2 kept apart"):
        list(join(sources))
    assert len(list(join([[live("A:1")], [live("A:1")]]))) == 1
    assert list(join([])) == []


def test_an_id_twice_in_one_source() -> None:
    sources = [[live("A:1")], [Concept("B:1", origin="b.tsv:2"), Concept("B:1", replaced_by="", origin="b.tsv:3")]]
    with pytest.raises(KnowledgeBaseError, match=r"b\.tsv:2 and b\.tsv:3: concept id 'B:1' stands twice"):
        list(join(sources))


def test_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, _data: bytes) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda: contextlib.nullcontext(Full()))
    with pytest.raises(LinnetError, match=r"temporary file .*No space left on device"):
        list(join([[live("A:1")]]))


def test_any_sources_make_a_knowledge_base(tmp_path: Path) -> None:
    rng = random.Random(13)
    for _ in range(60):
        sources = [_random_source(rng, prefix) for prefix in "ABC"]
        concepts, report = joined(*sources)
        kb = build(concepts.values(), tmp_path / "any.kb")
        assert len(kb) == report.concepts
        for source in sources:
            for concept in source:
                if concept.replaced_by is None:
                    assert concept.name in [name.text for name in kb[kb.row(concept.id)].names]


def _random_source(rng: random.Random, prefix: str) -> list[Concept]:
    ids = [f"{rng.choice([prefix, 'S'])}:{number}" for number in range(6)]
    everything = [f"{letter}:{number}" for letter in "ABCS" for number in range(6)]
    concepts = []
    for at, id in enumerate(ids):
        parents = rng.sample(ids[:at], min(at, rng.randrange(3)))
        concepts.append(live(id, f"{prefix} {id}", parents=parents, xrefs=rng.sample(everything, rng.randrange(3))))
    old = [id for id in rng.sample(everything, 4) if id not in ids]
    return concepts + [Concept(id, replaced_by=rng.choice([*ids, ""])) for id in old]


@pytest.mark.parametrize("seed", range(20))
def test_closing_edges_leave_no_circle(seed: int) -> None:
    rng = random.Random(seed)
    edges = [(rng.randrange(12), rng.randrange(12)) for _ in range(40)]
    closing = closing_edges(edges)
    kept = [edge for at, edge in enumerate(edges) if at not in closing]
    assert closing_edges(kept) == []
    for at in closing:  # each of them is needed
        assert closing_edges([*kept, edges[at]]) == [len(kept)]
    assert closing_edges([]) == []
