"""Several terminologies in one run: what each pipeline finds alone, named, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import linnet
from linnet.codec import dumps, loads
from linnet.data import Candidates, Concept, Document, Mention, Name, Span
from linnet.detect.dictionary import Dictionary
from linnet.errors import KnowledgeBaseError, PipelineError, UnknownConceptError
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.kb.terminologies import Terminologies
from linnet.pipeline import Allow, Pipeline, Retriever
from linnet.pipeline.decide import Decide
from linnet.pipeline.several import Several, several

TEXT = "Seizures, on phenobarbital; no common cold. Atrial septal defect (ASD). ASD closed; cold hands."


@pytest.fixture(scope="module")
def drugs(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """Drugs, and a disease that the other knowledge base has too."""
    concepts = [
        Concept("RXNORM:8134", (Name("Phenobarbital"), Name("Luminal")), ("Drug",)),
        Concept("MESH:D012640", (Name("Seizures"),), ("Disease",)),
        Concept("RXNORM:9", (Name("Common cold remedy"), Name("Cold")), ("Drug",), replaced_by=None),
    ]
    return build(concepts, tmp_path_factory.mktemp("drugs") / "drugs.kb")


def linker(kb: KnowledgeBase, **options: object) -> Pipeline:
    return linnet.load("dictionary", kb=kb, changes=[f"dictionary.{key}={value!r}" for key, value in options.items()])


def rows(docs: Sequence[Document]) -> list[tuple[str, str, tuple[str, ...] | None]]:
    return [(doc.surface(m), m.terminology, m.concepts) for doc in docs for m in doc.mentions or ()]


@pytest.mark.slow
def test_each_finds_what_it_finds_alone(kb: KnowledgeBase, drugs: KnowledgeBase) -> None:
    alone = {one.info["name"]: linker(one)(TEXT)[0] for one in (kb, drugs)}
    [doc] = several(linker(kb), linker(drugs))(TEXT)
    assert doc.sentences == alone["small"].sentences
    assert doc.abbreviations == alone["small"].abbreviations
    for name, found in alone.items():
        ours = [mention for mention in doc.mentions or () if mention.terminology == name]
        keys = [(m.spans, m.concepts, m.probability, m.types, m.signals) for m in found.mentions or ()]
        assert [(m.spans, m.concepts, m.probability, m.types, m.signals) for m in ours] == keys
    assert rows([doc])[:3] == [
        ("Seizures", "drugs", ("MESH:D012640",)),
        ("Seizures", "small", ("HP:0001250",)),
        ("phenobarbital", "drugs", ("RXNORM:8134",)),
    ]
    nested = {(surface, name) for surface, name, _ in rows([doc]) if "cold" in surface.lower()}
    assert {("common cold", "small"), ("cold", "drugs")} <= nested, "one inside another of another terminology stays"
    ids = [mention.id for mention in doc.mentions or ()]
    assert len(set(ids)) == len(ids)
    assert ids == [m.id for d in several(linker(kb), linker(drugs))(TEXT) for m in d.mentions or ()], "and stable"


def test_what_is_found_travels_without_a_knowledge_base(kb: KnowledgeBase, drugs: KnowledgeBase) -> None:
    link = several(linker(kb), linker(drugs))
    [doc] = link(TEXT)
    assert loads(dumps(doc)) == doc
    first = (doc.mentions or ())[0]
    assert first.candidates is not None
    assert (first.candidates.ids, first.candidates.labels) == (("MESH:D012640",), ("Seizures",))
    assert first.candidates.kb == drugs.version
    assert link.names(first) == ("Seizures",)
    assert link.concepts is not None
    back = loads(dumps(doc), rows=link.concepts)
    assert dumps(back, rows=link.concepts) == dumps(doc), "rows of the terminologies together, and back"


def test_conditions_hold_where_they_are_known(kb: KnowledgeBase, drugs: KnowledgeBase) -> None:
    link = several(linker(kb), linker(drugs))
    found = rows(link(TEXT, allow=Allow(types=("Drug",))))
    assert ("phenobarbital", "drugs", ("RXNORM:8134",)) in found
    assert ("Seizures", "small", ("HP:0001250",)) in found, "it knows no such type"
    assert ("Seizures", "drugs", ("MESH:D012640",)) not in found
    only = rows(link(TEXT, allow=Allow(under=("HP:0001250",), ids=("RXNORM:8134",))))
    assert {id for _, _, ids in only for id in ids or ()} == {"HP:0001250", "RXNORM:8134"}
    inner = several(linker(kb, under=["HP:0001250"]), linker(drugs))
    assert {name for surface, name, _ in rows(inner(TEXT)) if surface == "ASD"} == set(), "conditions of its own"


@pytest.mark.parametrize(
    ("allow", "said"),
    [
        (Allow(types=("Durg",)), r"allow\.types: .*has no semantic type 'Durg'; did you mean 'Drug'"),
        (Allow(ids=("HP:0001250", "HP:1")), r"allow\.ids: .*has no concept 'HP:1'"),
        (Allow(by_type=(("Drug", Allow(ids=("HP:1",))),)), r"allow\.ids: .*has no concept 'HP:1'"),
        (Allow(types=("Drug",), also=(Allow(under=("HP:1",)),)), r"allow\.under: .*has no concept 'HP:1'"),
    ],
)
def test_a_condition_that_none_knows_is_an_error(
    kb: KnowledgeBase, drugs: KnowledgeBase, allow: Allow, said: str
) -> None:
    with pytest.raises(KnowledgeBaseError, match=said):
        several(linker(kb), linker(drugs))(TEXT, allow=allow)


@pytest.mark.parametrize("allow", [Allow(types=()), Allow(ids=()), Allow(under=()), Allow(also=(Allow(ids=()),))])
def test_an_empty_condition_allows_nothing_in_any(kb: KnowledgeBase, drugs: KnowledgeBase, allow: Allow) -> None:
    assert rows(several(linker(kb), linker(drugs))(TEXT, allow=allow)) == []


def test_sentences_and_abbreviations_are_found_once(kb: KnowledgeBase, drugs: KnowledgeBase) -> None:
    link = several(linker(kb), linker(drugs))
    assert [type(part).__name__ for part in link.front] == ["Sentences", "Abbreviations"]
    assert link.needs == frozenset()
    assert {"mentions", "candidates", "concepts"} <= link.gives


def test_people_are_kept_and_win_their_span_in_their_terminology(kb: KnowledgeBase, drugs: KnowledgeBase) -> None:
    link = several(linker(kb), linker(drugs))
    mine = Mention(0, 8, id="u1", source="user", concepts=("HP:0002069",))
    [doc] = link([Document("d", TEXT, mentions=(mine,))])
    at_start = [(m.source, m.concepts, m.terminology) for m in doc.mentions or () if m.span == Span(0, 8)]
    assert at_start == [("user", ("HP:0002069",), ""), ("pred", ("MESH:D012640",), "drugs")]
    named = replace(mine, concepts=(), terminology="drugs")
    [doc] = link([Document("d", TEXT, mentions=(named,))])
    at_start = [(m.source, m.concepts, m.terminology) for m in doc.mentions or () if m.span == Span(0, 8)]
    assert at_start == [("user", (), "drugs"), ("pred", ("HP:0001250",), "small")]
    again = link([doc])[0]
    assert again == doc, "what it found before is found anew"


@dataclass(kw_only=True)
class First(Retriever):
    """Gives every mention the first concept of its knowledge base."""

    kb: KnowledgeBase
    asked: list[str] = field(default_factory=list)

    def retrieve(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Candidates]]:
        self.asked += [doc.id for doc in docs]
        return [[Candidates.of({0: 1.0}, self.kb.version) for _ in doc.mentions or ()] for doc in docs]


def test_given_mentions_are_linked_in_each(kb: KnowledgeBase, drugs: KnowledgeBase) -> None:
    link = several(*(First(kb=one) >> Decide(kb=one) for one in (kb, drugs)))
    assert link.needs == {"mentions"}
    given = (Mention(0, 8, id="T1"), Mention(13, 26, id="T2", source="user"))
    [doc] = link([Document("d", TEXT, mentions=given)])
    assert rows([doc]) == [
        (surface, name, (id,))
        for surface in ("Seizures", "phenobarbital")
        for name, id in (("drugs", "RXNORM:8134"), ("small", "HP:0000118"))
    ]
    assert [mention.source for mention in doc.mentions or ()] == ["pred", "pred", "user", "user"]


def test_what_cannot_stand_side_by_side_is_refused(kb: KnowledgeBase, drugs: KnowledgeBase, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="take two pipelines or more"):
        several(linker(kb))
    with pytest.raises(PipelineError, match="two of the terminologies are called small"):
        several(linker(kb), linker(drugs), linker(kb))
    with pytest.raises(PipelineError, match="puts pipelines together"):
        Several([Dictionary(kb=kb), linker(drugs)])  # type: ignore[list-item]
    with pytest.raises(linnet.errors.LinnetError, match="save each of them"):
        linnet.save(several(linker(kb), linker(drugs)), tmp_path / "saved")


def test_an_edited_knowledge_base_is_taken_by_its_own_pipeline(drugs: KnowledgeBase, tmp_path: Path) -> None:
    signs = build([Concept("HP:1", (Name("Ache"),))], tmp_path / "signs.kb")
    held = Allow(ids=("HP:1", "RXNORM:8134"))
    link = several(linker(signs), linker(drugs))
    limited = Pipeline(link, allow=held)
    with KnowledgeBase.edit(signs.path) as edit:
        edit.add(Concept("HP:2", (Name("Itch"),)))
    signs = KnowledgeBase.open(signs.path)
    link, limited = link.rebound(signs), limited.rebound(signs)
    docs = link("Itch, ache, phenobarbital.")
    assert rows(docs) == [
        ("Itch", "signs", ("HP:2",)),
        ("ache", "signs", ("HP:1",)),
        ("phenobarbital", "drugs", ("RXNORM:8134",)),
    ]
    assert [link.names(mention) for mention in docs[0].mentions or ()] == [("Itch",), ("Ache",), ("Phenobarbital",)]
    assert isinstance(link.concepts, Terminologies)
    assert (limited.allow, rows(limited("Itch, ache, phenobarbital."))) == (held, rows(docs)[1:])
    with KnowledgeBase.edit(signs.path) as edit:
        edit.retire("HP:1")
    with pytest.raises(KnowledgeBaseError, match=r"allow\.ids: signs\.kb and drugs\.kb has no concept 'HP:1'"):
        limited.rebound(KnowledgeBase.open(signs.path))
    other = build([Concept("X:1", (Name("Gout"),))], tmp_path / "other.kb")
    with pytest.raises(KnowledgeBaseError, match=r"other\.kb .* is none of signs\.kb and drugs\.kb with edits"):
        link.rebound(other)


def test_terminologies_asked_as_one(kb: KnowledgeBase, drugs: KnowledgeBase) -> None:
    both = Terminologies({"small": kb, "drugs": drugs})
    for id in ("HP:0001250", "RXNORM:8134", "HP:0009999"):
        held = kb if id in kb else drugs
        assert id in both
        assert both[both.row(id)] == both[id] == held[id]
        assert both.id(both.row(id)) == held[id].id
    name = both.name_row(both.row("RXNORM:8134"), "Luminal")
    assert both.name_texts([name]) == ["Luminal"]
    assert both.name_row(both.row("RXNORM:8134"), "Nothing") == -1
    assert both.types()["Disease"] == kb.types()["Disease"] + drugs.types()["Disease"]
    assert both.info["name"] == "small, drugs"
    assert both.meant("rxnorm:8134") in ("", "RXNORM:8134")
    with pytest.raises(UnknownConceptError, match=r"no concept 'X:99' in small\.kb and drugs\.kb"):
        both.row("X:99")
    with pytest.raises(UnknownConceptError, match="no row -1"):
        both.id(-1)
