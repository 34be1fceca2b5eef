from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from linnet.data import Candidates, Document, Mention
from linnet.errors import MismatchError
from linnet.evaluate import Options, compare, evaluate, measure
from linnet.evaluate.terminology import of_one_terminology, unknown_ids
from linnet.kb import KnowledgeBase

TEXT = "Seizures and aspirin."


def gold(*concepts: str, terminology: str = "") -> list[Document]:
    found = (Mention(0, 8, source="gold", concepts=(id,), terminology=terminology) for id in concepts)
    return [Document("a", TEXT, mentions=tuple(found))]


def predicted(*more: Mention, **candidates: Candidates) -> list[Document]:
    found = (
        Mention(0, 8, concepts=("MESH:D012640",), terminology="mesh", candidates=candidates.get("mesh")),
        Mention(0, 8, concepts=("HP:0001250",), terminology="hpo", candidates=candidates.get("hpo")),
        Mention(13, 20, concepts=("MESH:D001241",), terminology="mesh", candidates=candidates.get("mesh")),
    )
    return [Document("a", TEXT, mentions=(*found, *more))]


def named(docs: Sequence[Document]) -> list[str]:
    return [mention.terminology for doc in docs for mention in doc.mentions or ()]


def test_only_the_terminology_of_gold_is_scored() -> None:
    report = evaluate(gold("HP:0001250"), predicted())
    assert (report["strict.precision"].value, report["strict.recall"].value) == (1.0, 1.0)
    assert report["all.accuracy@1"].value == 1.0
    mesh = evaluate(gold("MESH:D012640"), predicted())
    assert (mesh["strict.precision"].value, mesh["strict.recall"].value) == (0.5, 1.0)


def test_mentions_without_terminology_stay() -> None:
    _, found = of_one_terminology(gold("HP:0001250"), predicted(Mention(9, 12, concepts=("X:1",))))
    assert named(found) == ["hpo", ""]
    alone = [Document("a", TEXT, mentions=(Mention(0, 8, terminology="mesh"),))]
    assert of_one_terminology(gold("HP:0001250"), alone)[1] == alone, "one terminology is scored as it is"


def test_a_knowledge_base_says_which(kb: KnowledgeBase) -> None:
    ids = Candidates(np.array([-1], np.int32), np.array([1.0], np.float32), ids=("HP:0001250",), kb=kb.version)
    both = gold("HP:0001250", terminology="hpo")[0].mentions, gold("MESH:D012640", terminology="mesh")[0].mentions
    wanted = [Document("a", TEXT, mentions=(*(both[0] or ()), *(both[1] or ())))]
    ours, found = of_one_terminology(wanted, predicted(hpo=ids), kb=kb)
    assert (named(ours), named(found)) == (["hpo"], ["hpo"])
    with pytest.raises(MismatchError, match=r"of hpo, mesh; none is of small\.kb: give --kb"):
        of_one_terminology(wanted, predicted(), kb=kb)
    with pytest.raises(MismatchError, match="hpo and mesh are of gold's concepts"):
        of_one_terminology(wanted, predicted())
    with pytest.raises(MismatchError, match="none is of gold's concepts"):
        of_one_terminology(gold("OMIM:1"), predicted())


def test_gold_of_several_is_that_of_the_knowledge_base_however_many_were_found(kb: KnowledgeBase) -> None:
    names = {str(kb.info["name"]): "HP:0001250", "mesh": "MESH:D012640"}
    mentions = tuple(Mention(0, 8, concepts=(id,), terminology=name) for name, id in names.items())
    both, one = ([Document("a", TEXT, mentions=some)] for some in (mentions, mentions[:1]))
    options = Options(samples=0)
    compared = [measure(both, found, kb=kb, options=options) for found in (both, one)]
    assert [found.report["strict.f1"].value for found in compared] == [1.0, 1.0]
    assert compare(compared)
    assert evaluate(both, one, options=options)["strict.recall"].value == 0.5, "nothing says which"


def test_gold_may_know_the_terminology_by_another_name() -> None:
    report = evaluate(gold("HP:0001250", terminology="HPO"), predicted(), options=Options(samples=0))
    assert report["strict.f1"].value == 1.0


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        (["X:1", "HP:0009999", "NIL", "-1"], ""),
        (["1", "no", "no"], "3 predicted concepts are not in the knowledge base, such as '1'; did you mean 'X:1'?"),
        (["x:1"], "1 predicted concept is not in the knowledge base, such as 'x:1'; did you mean 'X:1'?"),
        (["MESH:D1", "MESH:D1"], "2 predicted concepts are not in the knowledge base, such as 'MESH:D1'"),
    ],
)
def test_ids_that_a_knowledge_base_lacks_are_told(kb: KnowledgeBase, ids: list[str], said: str) -> None:
    found = [Document("a", TEXT, mentions=tuple(Mention(n, n + 1, concepts=(id,)) for n, id in enumerate(ids)))]
    assert unknown_ids(gold("X:1"), found, kb) == said
