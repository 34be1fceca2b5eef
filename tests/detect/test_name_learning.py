"""What annotated documents teach the dictionary: further surfaces, and what is hardly ever meant."""

from __future__ import annotations

import pickle
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from linnet.data import Concept, Document, Mention, Name, Span
from linnet.detect.dictionary import Dictionary
from linnet.errors import DataError, FormatError, RecipeError
from linnet.fit.plan import learners
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Allow, Pipeline, Step
from linnet.pipeline.decide import Decide
from linnet.recipes import config, saving

UNKNOWN = "X:9"  # what no knowledge base knows


def doc(id: str, text: str, **answers: str | None) -> Document:
    """A document in which every occurrence of each word of `answers` (``_`` is a blank) is marked."""
    mentions = []
    for word, concept in answers.items():
        concepts = None if concept is None else (concept,)
        places = re.finditer(word.replace("_", " "), text)
        mentions += [Mention(*place.span(), source="gold", concepts=concepts) for place in places]
    return Document(id, text, mentions=tuple(mentions))


ANSWERS: dict[str, str | None] = {"falling_sickness": "HP:0001250", "tumors": UNKNOWN, "CT": None}
TRAIN = (
    *(doc(f"a{n}", "A falling sickness and tumors. CT of the tumors.", **ANSWERS) for n in range(6)),
    *(doc(f"b{n}", "A cold day, and short stature.", short_stature="HP:0004322") for n in range(6)),
)


def fitted(kb: KnowledgeBase, train: Sequence[Document] = TRAIN, **keywords: Any) -> Dictionary:
    dictionary = Dictionary(kb=kb, **{"aliases": True, "min_precision": 0.3, **keywords})
    assert list(dictionary.fit(train, (), before=Pipeline(), kb=kb, args={})) == [Step(1, 1)]
    return dictionary


def found(dictionary: Dictionary, text: str, allow: Allow | None = None) -> dict[str, Mention]:
    [made] = Pipeline(dictionary)([Document("d", text)], allow=allow)
    return {made.surface(mention): mention for mention in made.mentions or ()}


def ids(dictionary: Dictionary, mention: Mention) -> list[str]:
    assert mention.candidates is not None
    return [dictionary.kb.id(row) for row in mention.candidates.rows.tolist()]


def test_surfaces_of_training_mentions_are_found_too(kb: KnowledgeBase) -> None:
    text = "No Falling sickness, no falling sicknesses; tumors, Tumors, CT, ct. Seizure."
    assert list(found(Dictionary(kb=kb), text)) == ["Seizure"]
    dictionary = fitted(kb)
    mentions = found(dictionary, text)
    # as they are written against all rules, else by the rules of names
    assert list(mentions) == ["Falling sickness", "falling sicknesses", "tumors", "Tumors", "CT", "Seizure"]
    assert ids(dictionary, mentions["falling sicknesses"]) == ["HP:0001250"]
    assert ids(dictionary, mentions["tumors"]) == ids(dictionary, mentions["CT"]) == []
    assert mentions["Falling sickness"].types == mentions["Seizure"].types == ("Phenotype", "Neurology")
    assert mentions["CT"].types == ()
    candidates = mentions["Falling sickness"].candidates
    assert candidates is not None
    assert candidates.names is not None
    assert candidates.names.tolist() == [-1]
    [answered] = Decide(kb=kb)(Pipeline(dictionary)([Document("d", text)]))
    assert [mention.concepts for mention in answered.mentions or ()][2:5] == [(), (), ()]


def test_long_forms_are_surfaces_too(kb: KnowledgeBase) -> None:
    texts = ["Grand mal attack (GMA) came. GMA went.", "Then GMA came."]
    train = [doc(f"{n}", texts[0], GMA="HP:0001250") for n in range(3)]
    dictionary = fitted(kb, train)
    assert list(found(dictionary, "A grand mal attack.")) == ["grand mal attack"]
    assert list(found(dictionary, texts[1])) == ["GMA"]
    assert list(found(dictionary, "General medical affairs (GMA) and GMA")) == []


def test_what_is_hardly_ever_marked_is_not_found(kb: KnowledgeBase) -> None:
    assert list(found(Dictionary(kb=kb), "A common cold.")) == ["common cold"]
    dictionary = fitted(kb)
    mentions = found(dictionary, "A cold, a cleft palate, short stature and falling sickness.")
    assert list(mentions) == ["cleft palate", "short stature", "falling sickness"]
    signals = {surface: mention.signals["detect"] for surface, mention in mentions.items()}
    assert 0.5 < signals["cleft palate"] < signals["short stature"] < 1  # a type of which nearly all is marked
    assert found(fitted(kb, min_precision=0.0), "A cold.")["cold"].signals["detect"] < 0.2
    assert "falling sickness" not in found(fitted(kb, aliases=False), "A cold and falling sickness.")


def test_a_longer_name_that_is_not_meant_gives_way(tmp_path: Path) -> None:
    names = build([Concept("X:1", (Name("Fever"),)), Concept("X:2", (Name("Fever of unknown cause"),))], tmp_path / "a")
    train = [doc(f"{n}", "A fever of unknown cause. The fever fell.", fever="X:1") for n in range(5)]
    text = "Fever of unknown cause."
    assert list(found(fitted(names, train, min_precision=0.0), text)) == ["Fever of unknown cause"]
    assert list(found(fitted(names, train), text)) == ["Fever"]


def test_types_that_nobody_marks_are_not_found(tmp_path: Path) -> None:
    texts = ("Fever", "Cough", "Rash", "Mouse", "Rat", "Dog")
    concepts = [Concept(f"X:{n}", (Name(text),), ("Sign",) if n < 3 else ("Animal",)) for n, text in enumerate(texts)]
    train = [doc(f"{n}", "A mouse with fever, a rat with cough.", fever="X:0", cough="X:1") for n in range(3)]
    assert list(found(fitted(build(concepts, tmp_path / "typed"), train), "A dog with a rash.")) == ["rash"]
    bare = build([replace(concept, types=()) for concept in concepts], tmp_path / "bare")
    assert list(found(fitted(bare, train), "A dog with fever, a mouse with a rash.")) == ["dog", "fever", "rash"]


def test_what_nobody_has_reviewed_teaches_nothing(kb: KnowledgeBase) -> None:
    train = [replace(one, reviewed=(Span(0, 2),)) for one in TRAIN]
    unseen = [replace(one, mentions=None) for one in TRAIN]
    text = "A cold, tumors and falling sickness."
    for docs in (train, unseen):
        assert list(found(fitted(kb, docs), text)) == ["cold"]
    assert list(found(fitted(kb, [*TRAIN, *unseen, *train]), text)) == list(found(fitted(kb), text))


def test_what_a_document_brought_says_nothing_of_it(kb: KnowledgeBase) -> None:
    once = [*TRAIN, doc("once", "An odd spell, an odd spell, an odd spell.", odd_spell="HP:0001250")]
    odd = found(fitted(kb, once), "An odd spell.")["odd spell"]
    known = found(fitted(kb), "Epileptic seizures.")["Epileptic seizures"]
    assert odd.signals == known.signals  # what is believed of its concept


def test_without_leaves_out_what_documents_taught(kb: KnowledgeBase) -> None:
    dictionary = fitted(kb)
    out = [one.id for one in TRAIN if one.id.startswith("a")]
    rest = [one for one in TRAIN if one.id not in out]
    fewer, again = dictionary.without([*out, "unknown"]), fitted(kb, rest)
    assert fewer.without(out[:1]).learned.surfaces.totals.tolist() == fewer.learned.surfaces.totals.tolist()
    for text in ("Tumors, CT, falling sickness.", "A cold and short stature."):
        assert found(fewer, text) == found(again, text)
    assert "CT" in found(dictionary, "CT")
    assert list(found(dictionary.without([one.id for one in TRAIN]), "A cold, CT.")) == ["cold"]


def test_coordinations_are_judged_as_a_whole(kb: KnowledgeBase) -> None:
    train = [doc(f"{n}", "Short fingers and toes.", Short_fingers_and_toes=None) for n in range(5)]
    text = "Short fingers and toes."
    assert sorted(found(fitted(kb, train, aliases=False), text)) == ["Short fingers", "Short toes"]
    nothing = [replace(one, mentions=()) for one in train]
    assert found(fitted(kb, nothing), text) == {}


def test_conditions_hold_for_surfaces(kb: KnowledgeBase) -> None:
    text = "Falling sickness and CT."
    assert list(found(fitted(kb), text)) == ["Falling sickness", "CT"]
    assert list(found(fitted(kb), text, Allow(types=("Neurology",)))) == ["Falling sickness"]
    assert list(found(fitted(kb, types=["Disease"]), text)) == []


def test_what_a_surface_meant_decides_among_equals(kb: KnowledgeBase) -> None:
    train = [doc(f"{n}", "A common cold, cold.", cold="X:2") for n in range(5)]
    assert ids(Dictionary(kb=kb), found(Dictionary(kb=kb), "Cold")["Cold"]) == ["X:1", "X:2"]
    dictionary = fitted(kb, train)
    assert ids(dictionary, found(dictionary, "Cold")["Cold"]) == ["X:2", "X:1"]


def test_it_learns_only_if_it_is_asked_to(kb: KnowledgeBase) -> None:
    assert learners(Pipeline(Dictionary(kb=kb))) == []
    for keywords in ({"aliases": True}, {"min_precision": 0.1}):
        assert [task.name for task in learners(Pipeline(Dictionary(kb=kb, **keywords)))] == ["dictionary"]
    with pytest.raises(DataError, match=r"min_precision is 1\.5, must be from 0 to 1"):
        Dictionary(kb=kb, min_precision=1.5)


def test_saved_loaded_pickled(kb: KnowledgeBase, tmp_path: Path) -> None:
    dictionary, text = fitted(kb), "A cold, tumors, CT, falling sicknesses and short stature."
    saving.save(Pipeline(dictionary, kb=kb), tmp_path / "saved")
    [loaded] = config.load(tmp_path / "saved", kb=kb).parts
    assert isinstance(loaded, Dictionary)
    for other in (loaded, pickle.loads(pickle.dumps(dictionary))):
        assert found(other, text) == found(dictionary, text)
        assert found(other.without(["a1", "b1"]), text) == found(dictionary.without(["a1", "b1"]), text)
    changed = config.load(tmp_path / "saved", kb=kb, changes=["dictionary.min_precision=0.0"])
    assert len(changed([Document("d", text)])[0].mentions or ()) == 1 + len(found(dictionary, text))
    with pytest.raises(RecipeError, match=r"dictionary\.aliases: was trained with True, not with False"):
        config.load(tmp_path / "saved", kb=kb, changes=["dictionary.aliases=false"])
    (tmp_path / "saved" / "0-dictionary" / "marked.jsonl").unlink()
    with pytest.raises(FormatError, match=r"marked\.jsonl: is missing or damaged"):
        config.load(tmp_path / "saved", kb=kb)


def test_part_of_the_knowledge_base(kb: KnowledgeBase, tmp_path: Path) -> None:
    fitted(kb).save(tmp_path / "saved")
    small = build([Concept("X:1", (Name("Cold"),))], tmp_path / "small.kb")
    with pytest.raises(FormatError, match="train again"):
        Dictionary.load(tmp_path / "saved", kb=small)
    part = Dictionary.load(tmp_path / "saved", kb=small, partly=True)
    assert list(found(part, "Falling sickness and CT.")) == ["CT"]


@pytest.fixture(scope="module")
def clinical(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """Return a knowledge base that has all words of what KHK and CAD mean, but not the name."""
    names = ("Osteoarthritis", "Coronary artery calcification", "Skin disease", "Fever", "Cough", "Rash", "Headache")
    concepts = [Concept(f"X:{number}", (Name(name),)) for number, name in enumerate(names, 1)]
    return build(concepts, tmp_path_factory.mktemp("kb") / "clinical.kb")


ALL_RIGHT = [doc(f"a{n}", "Fever, cough, rash.", Fever="X:4", cough="X:5", rash="X:6") for n in range(6)]


def test_a_short_form_that_was_wrong_says_nothing_of_the_name(clinical: KnowledgeBase) -> None:
    keywords = {"short_forms": "clinical", "min_precision": 0.2}
    text = "Osteoarthritis. OA of the knee."
    assert list(found(fitted(clinical, ALL_RIGHT, **keywords), text)) == ["Osteoarthritis", "OA"]
    rejected = [Document(f"r{n}", "Knee: sats 88% OA.", mentions=()) for n in range(5)]
    assert list(found(fitted(clinical, [*ALL_RIGHT, *rejected], **keywords), text)) == ["Osteoarthritis"]
    rejected = [Document(f"r{n}", "Osteoarthritis.", mentions=()) for n in range(5)]
    assert list(found(fitted(clinical, [*ALL_RIGHT, *rejected], **keywords), text)) == ["OA"]


def test_a_short_form_that_a_document_defines_is_the_name(clinical: KnowledgeBase) -> None:
    rejected = [Document(f"r{n}", "Osteoarthritis (OA). OA.", mentions=()) for n in range(5)]
    dictionary = fitted(clinical, [*ALL_RIGHT, *rejected], short_forms="clinical")
    assert list(found(dictionary, "Osteoarthritis. OA of the knee.")) == ["OA"]


@pytest.mark.parametrize(
    ("short", "text"),
    [("KHK", "Bekannte KHK. Fever."), ("CAD", "Severe CAD."), ("severe OA", "Severe OA.")],
)
def test_surfaces_are_found_whatever_a_table_says(clinical: KnowledgeBase, short: str, text: str) -> None:
    assert short not in found(Dictionary(kb=clinical, short_forms="clinical"), text)
    train = [*ALL_RIGHT, doc("s", f"A {short} there.", **{short.replace(" ", "_"): "X:2"})]
    dictionary = fitted(clinical, train, short_forms="clinical")
    mention = {surface.lower(): mention for surface, mention in found(dictionary, text).items()}[short.lower()]
    assert ids(dictionary, mention)[0] == "X:2"


def test_the_table_decides_between_what_people_meant(clinical: KnowledgeBase) -> None:
    train, text = [*ALL_RIGHT, *(doc(f"s{n}", "Then OA.", OA="X:2") for n in range(5))], "OA of the knee joints."
    dictionary = fitted(clinical, train, short_forms="clinical")
    assert ids(dictionary, found(dictionary, text)["OA"]) == ["X:2", "X:1"]
    dictionary = fitted(clinical, [*train, doc("s", "OA there.", OA="X:1")], short_forms="clinical")
    assert ids(dictionary, found(dictionary, text)["OA"]) == ["X:1"]


def test_conjuncts_may_be_marked_one_by_one(kb: KnowledgeBase) -> None:
    text, parts = "Short fingers and toes.", (Span(0, 5), Span(18, 22))
    answers = (
        Mention(0, 13, source="gold", concepts=("HP:0009381",)),
        Mention(0, 22, parts=parts, source="gold", concepts=("HP:0001831",)),
    )
    train = [Document(f"{n}", text, mentions=answers) for n in range(5)]
    assert found(fitted(kb, train), text).keys() == {"Short fingers", "Short toes"}
    other = [replace(one, mentions=(answers[0], replace(answers[1], concepts=("HP:0001250",)))) for one in train]
    dictionary = fitted(kb, other)
    assert ids(dictionary, found(dictionary, text)["Short toes"])[0] == "HP:0001250"
