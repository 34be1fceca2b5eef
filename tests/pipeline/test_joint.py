"""Parts that find mentions and link them at once, and what is fused with what they found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from linnet.data import Candidates, Document, Mention
from linnet.detect.consistent import Consistent
from linnet.detect.dictionary import Dictionary
from linnet.errors import PipelineError
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow, Joint, Union
from linnet.pipeline.decide import Decide
from linnet.retrieve.earlier import Earlier
from linnet.retrieve.exact import Exact
from linnet.retrieve.ngram import Ngram
from linnet.retrieve.queries import look_up

TEXT = "Seizure, seizure and a cold."


@dataclass(kw_only=True)
class Names(Joint):
    """Finds words and gives them the concepts that are called so."""

    kb: KnowledgeBase
    words: Sequence[str] = ("Seizure", "cold")
    find: bool = True

    def detect(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Mention]]:
        found = [
            replace(
                doc,
                mentions=tuple(
                    Mention(doc.text.index(word), doc.text.index(word) + len(word))
                    for word in self.words
                    if word in doc.text
                ),
            )
            for doc in docs
        ]
        lists = self.retrieve(found, allow=allow)
        return [
            [replace(mention, candidates=some) for mention, some in zip(doc.mentions or (), own, strict=True)]
            for doc, own in zip(found, lists, strict=True)
        ]

    def retrieve(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Candidates]]:
        exact = Exact(kb=self.kb)
        return look_up(docs, exact.candidates, kb=self.kb, allow=allow, long_forms=False)


def shown(doc: Document, kb: KnowledgeBase) -> list[tuple[str, str, list[str]]]:
    return [
        (doc.surface(one), one.source, [kb.id(row) for row in one.candidates.rows] if one.candidates else [])
        for one in doc.mentions or ()
    ]


def test_mentions_are_found_with_candidates_and_those_of_people_get_theirs(kb: KnowledgeBase) -> None:
    joint = Names(kb=kb)
    assert joint.needs == frozenset()
    assert joint.gives == {"mentions", "candidates"}
    assert joint.drops == {"concepts"}
    user = Mention(9, 16, source="user", concepts=("X:9",))
    gold = Mention(0, 7, source="gold")
    old = Mention(17, 20, candidates=Candidates([1], [1.0]))  # type: ignore[arg-type]
    docs = [Document.of(TEXT), Document("b", TEXT, mentions=(gold, user, old))]
    plain, given = joint(docs)
    colds = [kb.id(row) for row in Exact(kb=kb)._candidates("cold", None).rows]
    assert shown(plain, kb) == [("Seizure", "pred", ["HP:0001250"]), ("cold", "pred", colds)]
    assert shown(given, kb) == [
        ("Seizure", "gold", ["HP:0001250"]),
        ("seizure", "user", ["HP:0001250"]),
        ("cold", "pred", colds),
    ]
    assert [one.concepts for one in given.mentions or ()] == [None, ("X:9",), None]
    answered = (joint >> Decide(kb=kb))(docs)
    assert (answered[1].mentions or ())[0].concepts == ("HP:0001250",)


def test_mentions_that_are_given_are_linked(kb: KnowledgeBase) -> None:
    joint = Names(kb=kb, find=False)
    assert joint.needs == {"mentions"}
    assert joint.gives == {"candidates"}
    assert joint.drops == frozenset()
    mentions = (Mention(0, 7, id="kept"), Mention(9, 16, source="user"), Mention(17, 20))
    [found] = (joint >> Decide(kb=kb))([Document("d", TEXT, mentions=mentions)])
    assert [(one.id, one.span, one.concepts) for one in found.mentions or ()] == [
        ("kept", mentions[0].span, ("HP:0001250",)),
        ("", mentions[1].span, ("HP:0001250",)),
        ("", mentions[2].span, ()),
    ]
    with pytest.raises(PipelineError, match="Names needs mentions"):
        joint([Document.of(TEXT)])


def test_a_union_gives_what_all_parts_give(kb: KnowledgeBase) -> None:
    assert (Names(kb=kb) | Dictionary(kb=kb)).gives == {"mentions", "candidates"}
    assert (Names(kb=kb) | Dictionary(kb=kb)).drops == {"concepts"}
    with pytest.raises(PipelineError, match=r"union: Names with find = false finds no mentions"):
        Dictionary(kb=kb) | Names(kb=kb, find=False)
    with pytest.raises(PipelineError, match=r"find = false"):
        Union([Names(kb=kb, find=False)])


def test_the_way_out_is_named(kb: KnowledgeBase) -> None:
    joint, ngram = Names(kb=kb), Ngram(kb=kb)
    for one, other in ((joint, ngram), (ngram, joint)):
        with pytest.raises(PipelineError, match=r"write Names >> \(Earlier \| Ngram\)"):
            one | other
    with pytest.raises(PipelineError, match=r"do not hold after Consistent: put a retriever \(earlier \| ngram"):
        joint >> Consistent() >> Decide(kb=kb)
    whole = joint >> Consistent() >> (Earlier(kb=kb) | ngram) >> Decide(kb=kb)
    assert whole.gives == {"mentions", "candidates", "concepts"}
    [doc] = whole("Seizure and a seizure. Seizure again: Seizure!")
    assert len(doc.mentions or ()) == 4
    assert {one.concepts for one in doc.mentions or ()} == {("HP:0001250",)}
