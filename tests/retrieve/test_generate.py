"""The network that writes names, with encoders of a few weights made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.tiny_models import tiny_bert, tiny_model, tiny_seq2seq

from linnet.data import Concept, Document, Mention, Name
from linnet.errors import DataError, LinnetError, LinnetWarning, RecipeError
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Abbreviations, Allow, Pipeline, Sentences
from linnet.retrieve.generate import Generate, GenerateArgs, PretrainArgs
from linnet.retrieve.generate_training import Finetuning, Pretraining, SimilarNames
from linnet.text.contexts import InContext
from linnet.train.from_kb import FromKb

NAMES = (
    ("seizure", "fit", "convulsion"),
    ("short stature", "small height"),
    ("cleft palate", "palate cleft"),
    ("renal cyst", "cyst of kidney"),
    ("heart attack", "infarction"),
    ("fever", "pyrexia"),
)
SURFACES = ("fits", "smallness", "open palate", "cysts", "coronary event", "hot skin")
WORDS = sorted(
    {word for texts in (*NAMES, SURFACES) for text in texts for word in text.split()} | {"and", "patient", "is", "had"}
)

pytestmark = pytest.mark.usefixtures("float32")


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_bert(tmp_path_factory.mktemp("bert") / "tiny", words=WORDS, layers=1))


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    stream = [
        Concept(f"X:{i}", tuple(map(Name, texts)), ("odd" if i % 2 else "even",), definition=f"what {texts[0]} is")
        for i, texts in enumerate(NAMES)
    ]
    return build(stream, tmp_path / "names.kb")


@pytest.fixture
def part(kb: KnowledgeBase, bert: str) -> Generate:
    return Generate(kb=kb, encoder=bert)


def note(number: int, text: str, surface: str, *ids: str) -> Document:
    """Return a document with one gold mention."""
    at = text.index(surface)
    mention = Mention(at, at + len(surface), source="gold", concepts=ids)
    return Abbreviations()(Sentences()([Document(f"n{number}", text, mentions=(mention,))]))[0]


def notes(count: int = 12, *, shift: int = 0) -> list[Document]:
    """Return documents whose mentions look like none of the names; with a shift, answers that contradict each other."""
    return [
        note(i, f"patient had {SURFACES[i % 6]} and", SURFACES[i % 6], f"X:{(i + shift * (i // 6)) % 6}")
        for i in range(count)
    ]


def first(part: Generate, docs: list[Document]) -> list[int]:
    return [int(found.rows[0]) for [found] in part.retrieve(docs)]


QUICK = {"batch": 6, "lr": 5e-3, "bf16": False, "schedule": "constant", "epochs": 60, "label_smoothing": 0.0}


def taught(part: Generate, docs: list[Document], **args: Any) -> Generate:
    list(part.fit(docs, [], before=Pipeline(part), kb=part.kb, args={**QUICK, **args}))
    return part


# --- writing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bart", "t5", "pair"])
def test_with_beams_enough_all_concepts_are_found_with_the_probabilities_of_their_best_names(
    kb: KnowledgeBase, kind: str, bert: str, tmp_path: Path
) -> None:
    encoder = bert if kind == "pair" else str(tiny_seq2seq(tmp_path / kind, kind, words=WORDS))
    part = Generate(kb=kb, encoder=encoder, k=20, beams=20)
    docs = notes(4)
    for doc, [found] in zip(docs, part.retrieve(docs), strict=True):
        assert sorted(found.rows.tolist()) == list(range(6))
        slow = slow_scores(part, part.contexts(doc)[0])
        assert found.scores == pytest.approx([slow[row] for row in found.rows.tolist()], abs=1e-4)
        assert (np.diff(found.scores) <= 0).all()


def slow_scores(part: Generate, mention: InContext) -> dict[int, float]:
    """The geometric means of the probabilities of names, one at a time: the best of each concept."""
    network = part.network
    [text], _ = part.inputs([mention])
    [prompt] = part.prompts([mention])
    best: dict[int, float] = {}
    for name in part.kb.names():
        tokens = [*network.pieces([part.form(name.text)])[0], network.end]
        ids = torch.tensor([text.ids])
        with torch.inference_mode():
            encoded = network.encode(ids, torch.ones_like(ids))
            logs = network.logits(encoded, torch.ones_like(ids), torch.tensor([[*prompt, *tokens]])).log_softmax(-1)[0]
        mean = sum(float(logs[len(prompt) + n, token]) for n, token in enumerate(tokens)) / len(tokens)
        best[name.concept] = max(best.get(name.concept, 0.0), float(np.exp(mean)))
    return best


def test_one_and_eight_mentions_at_a_time_agree(kb: KnowledgeBase, bert: str) -> None:
    docs = [note(i, f"{'patient had ' * (i % 3)}{SURFACES[i % 6]}", SURFACES[i % 6]) for i in range(12)]
    one, many = (Generate(kb=kb, encoder=bert, batch=batch).retrieve(docs) for batch in (1, 8))
    for [mine], [other] in zip(one, many, strict=True):
        assert mine.rows.tolist() == other.rows.tolist()
        assert mine.scores == pytest.approx(other.scores, abs=1e-5)


def test_the_matched_name_is_told(part: Generate) -> None:
    names = {name.row: name for name in part.kb.names()}
    for [found] in part.retrieve(notes(3)):
        assert found.names is not None
        assert [names[row].concept for row in found.names.tolist()] == found.rows.tolist()


def test_what_is_not_allowed_is_not_written(part: Generate) -> None:
    odd = Allow(types=("odd",))
    for [found] in part.retrieve(notes(4), allow=odd):
        assert sorted(found.rows.tolist()) == [1, 3, 5]


def test_trees_of_conditions_are_made_once(part: Generate) -> None:
    odd, even = part.kb.mask(types=["odd"]), part.kb.mask(types=["even"])
    assert part.tree_of(odd) is part.tree_of(part.kb.mask(types=["odd"])) is not part.tree_of(even)
    assert part.tree_of(None) is part.tree


def test_where_nothing_is_allowed_nothing_is_written(part: Generate) -> None:
    nothing = part.kb.mask(types=["odd"]) & part.kb.mask(types=["even"])
    contexts = [one for doc in notes(2) for one in part.contexts(doc)]
    assert [found.rows.tolist() for found in part.find(contexts, [nothing, nothing])] == [[], []]


def test_a_prompt_that_leaves_no_room_is_refused(kb: KnowledgeBase, tmp_path: Path) -> None:
    bert = str(tiny_bert(tmp_path / "short", window=40))
    part = Generate(kb=kb, encoder=bert, tokens=32, prompt="{mention} " + "is " * 30)
    with pytest.raises(RecipeError, match="leave no room for a name in 40"):
        part.retrieve(notes(1))


@pytest.mark.parametrize("stage", ["pretrain", "finetune"])
def test_names_longer_than_the_window_teach_their_beginning(stage: str, tmp_path: Path) -> None:
    concepts = [Concept("X:0", (Name("fever " * 60),)), Concept("X:1", (Name("renal cyst"),))]
    bert = str(tiny_bert(tmp_path / "short", words=WORDS, layers=1, window=40))
    part = Generate(kb=build(concepts, tmp_path / "long.kb"), encoder=bert, tokens=16)
    docs = [note(i, "patient had fits and", "fits", f"X:{i}") for i in range(2)]
    taught(part, docs, stage=stage, epochs=1)
    made = Pretraining(part, PretrainArgs()) if stage == "pretrain" else Finetuning(part, GenerateArgs(), docs)
    examples = made.made(made.examples(docs, epoch=0, rng=np.random.default_rng(1)))
    longest = max(examples, key=lambda one: len(one.name))
    assert len(longest.prompt) + len(longest.name) == part.network.window
    assert part.network.end not in longest.name


def test_a_name_of_several_concepts_gives_all_of_them_or_the_one_with_the_fewest_names(
    bert: str, tmp_path: Path
) -> None:
    kb = build(
        [
            Concept("X:0", (Name("fever"), Name("fit"))),
            Concept("X:1", (Name("fever"),)),
            Concept("X:2", (Name("cyst"),)),
        ],
        tmp_path / "shared.kb",
    )
    every, fewest = (Generate(kb=kb, encoder=bert, shared=shared, k=9, beams=9) for shared in ("all", "fewest"))
    [[found]], [[fewer]] = every.retrieve(notes(1)), fewest.retrieve(notes(1))
    scores = dict(zip(found.rows.tolist(), found.scores.tolist(), strict=True))
    assert sorted(scores) == [0, 1, 2]
    assert scores[0] >= scores[1]
    texts = {name.row: name.text for name in kb.names()}
    assert fewer.names is not None
    written = {(row, texts[name]) for row, name in zip(fewer.rows.tolist(), fewer.names.tolist(), strict=True)}
    assert written == {(0, "fit"), (1, "fever"), (2, "cyst")}


def test_concepts_of_one_name_come_by_row(bert: str, tmp_path: Path) -> None:
    kb = build([Concept("X:0", (Name("fit"),)), Concept("X:1", (Name("fever"),))], tmp_path / "edited.kb")
    with KnowledgeBase.edit(kb.path) as edit:
        edit.replace(Concept("X:0", (Name("fever"),)))  # the last of all names
    part = Generate(kb=KnowledgeBase.open(kb.path), encoder=bert)
    for k, wanted in ((1, [0]), (2, [0, 1])):
        part.k = k
        [[found]] = part.retrieve(notes(1))
        assert found.rows.tolist() == wanted


def test_plain_names_are_read_and_written(bert: str, tmp_path: Path) -> None:
    kb = build([Concept("X:0", (Name("Cleft-Palate,"),)), Concept("X:1", (Name("+"),))], tmp_path / "plain.kb")
    part = Generate(kb=kb, encoder=bert, plain=True)
    pieces = part.network.pieces([" cleft palate"])[0]
    assert part.tree.find(pieces) is not None
    assert part.inputs([InContext("Had: ", "FITS!", " and")])[0] == part.inputs([InContext("had  ", "fits", " and")])[0]


def test_a_prompt_may_be_empty_or_another(kb: KnowledgeBase, bert: str) -> None:
    mention = [InContext("had ", "fits", "")]
    without = Generate(kb=kb, encoder=bert, prompt="")
    assert without.prompts(mention) == [[]]
    assert without.form("fit") == "fit"
    assert Generate(kb=kb, encoder=bert, prompt="is").prompts(mention) == [without.network.pieces(["is"])[0]]
    whole = Generate(kb=kb, encoder=bert, prompt="had {mention} and is").prompts(mention)
    assert whole == [without.network.pieces(["had fits and is"])[0]]
    assert len(without.retrieve(notes(2))) == 2


def test_long_mentions_keep_their_ends_and_are_counted(part: Generate) -> None:
    text = "seizure " + "and " * 200 + "cyst"
    long = Document("l", text, mentions=(Mention(0, len(text)),), sentences=(), abbreviations=())
    with pytest.warns(LinnetWarning, match="1 mentions are longer than 64 word pieces"):
        [[found]] = part.retrieve([long])
    assert len(found)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"k": 0}, "k: 0 must be at least 1"),
        ({"beams": 0}, "beams: 0 must be at least 1"),
        ({"tokens": 3}, "tokens: 3 must be at least 8"),
        ({"length_penalty": -1.0}, "length_penalty: -1.0 must be at least 0"),
    ],
)
def test_wrong_options_are_refused(kb: KnowledgeBase, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(RecipeError, match=problem):
        Generate(kb=kb, **options)


def test_encoders_that_no_pair_can_be_made_of_are_refused(kb: KnowledgeBase, tmp_path: Path) -> None:
    with pytest.raises(LinnetError, match="pairs are made of encoders of the kind of BERT"):
        _ = Generate(kb=kb, encoder=str(tiny_model(tmp_path / "modernbert", "modernbert"))).network
    with pytest.raises(LinnetError, match="neither a packaged one"):
        _ = Generate(kb=kb, encoder="nowhere").network


# --- learning --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["similar", "random", "preferred", "shortest"])
def test_ten_documents_are_learned_by_heart(part: Generate, target: str) -> None:
    docs = notes(12)
    assert first(taught(part, docs, target=target), docs) == [i % 6 for i in range(12)]


@pytest.mark.slow
def test_answers_that_contradict_each_other_cannot_be_learned(part: Generate) -> None:
    docs = notes(24, shift=1)
    wanted = [(i + i // 6) % 6 for i in range(24)]
    found = first(taught(part, docs), docs)
    assert sum(one == other for one, other in zip(found, wanted, strict=True)) <= 12


@pytest.mark.slow
def test_names_alone_teach_names(part: Generate) -> None:
    taught(part, [], stage="pretrain", lr=3e-3, epochs=100)
    from_kb = FromKb(part.kb)
    made = [from_kb.example(drawn) for drawn in from_kb.drawn(np.random.default_rng(1))]
    docs = [note(place, "".join(one.mention), one.mention.text) for place, one in enumerate(made)]
    right = [row == one.concept for row, one in zip(first(part, docs), made, strict=True)]
    assert sum(right) >= 12


def test_fine_tuning_goes_on_from_pre_training(part: Generate) -> None:
    taught(part, [], stage="pretrain", epochs=1)
    begun = part.network.fingerprint()
    taught(part, notes(6), epochs=1)
    assert part.begun.fingerprint() == begun != part.network.fingerprint()


@pytest.mark.slow
def test_preferences_make_wrong_names_less_probable(part: Generate) -> None:
    docs = notes(12)
    part.begun = part.network
    training = Finetuning(part, GenerateArgs(preference=1.0, label_smoothing=0.0), docs)
    examples = training.examples(docs, epoch=0, rng=np.random.default_rng(1))
    assert all(one.wrong and one.name not in one.wrong for one in examples)
    batch = training.collate(examples)
    assert sum(int(group.right.sum()) for group in batch) == 12
    losses = training.loss(batch)
    assert set(losses) == {"nll", "preference"}
    before = float(losses["preference"].detach())
    taught(part, docs, preference=1.0)
    assert float(Finetuning(part, training.args, docs).loss(batch)["preference"].detach()) < before
    assert first(part, docs) == [i % 6 for i in range(12)]


def test_only_the_tokens_of_the_name_are_learned(part: Generate) -> None:
    training = Finetuning(part, GenerateArgs(label_smoothing=0.0), notes(3))
    examples = training.examples([], epoch=0, rng=np.random.default_rng(1))
    [group] = training.collate(examples)
    shown = {}
    for row, learned in zip(group.following.tolist(), group.learned.tolist(), strict=True):
        first = learned.index(True)
        shown[tuple(token for token, taken in zip(row, learned, strict=True) if taken)] = row[:first]
    assert shown == {tuple(one.name): list(one.prompt) for one in examples}
    assert all(one.name[-1] == part.network.end for one in examples)
    with torch.no_grad():
        loss = float(training.loss([group])["nll"])
        logs = part.network.logits(part.network.encode(group.ids, group.mask), group.mask, group.following).log_softmax(
            -1
        )
    each = [-float(logs[row, place, group.following[row, place]]) for row, place in group.learned.nonzero().tolist()]
    assert loss == pytest.approx(sum(each) / len(each), rel=1e-4)


@pytest.mark.parametrize("preference", [0.0, 1.0])
def test_groups_change_nothing(part: Generate, preference: float, monkeypatch: pytest.MonkeyPatch) -> None:
    part.begun = part.network
    training = Finetuning(part, GenerateArgs(preference=preference), notes(12))
    examples = training.examples([], epoch=0, rng=np.random.default_rng(1))
    together = training.collate(examples)
    monkeypatch.setattr("linnet.retrieve.generate_training.token_budget", lambda _: 40)
    apart = training.collate(examples)
    assert len(together) < len(apart)
    with torch.no_grad():
        one, other = training.loss(together), training.loss(apart)
    assert one.keys() == other.keys()
    assert all(float(one[name]) == pytest.approx(float(other[name]), rel=1e-4) for name in one)


def test_examples_of_the_knowledge_base_are_texts_when_they_are_needed(part: Generate) -> None:
    training = Pretraining(part, PretrainArgs())
    drawn = training.examples((), epoch=0, rng=np.random.default_rng(1))
    assert drawn.shape == (13, 2)
    made = training.made(list(drawn))
    ends = {tuple(training.name(name.text)) for name in part.kb.names()}
    assert {tuple(one.name) for one in made} == ends


def test_the_most_similar_name_is_chosen() -> None:
    names = {0: ["fever", "high temperature", "pyrexia"], 1: ["fevers of unknown origin"]}
    similar = SimilarNames(names)
    assert similar.nearest("Fevers", names[0]) == "fever"
    assert similar.nearest("raised temperatures", names[0]) == "high temperature"
    assert similar.nearest("???", names[0]) == "fever"  # like none: the first


def test_a_name_that_just_fits_into_the_window_is_written(tmp_path: Path) -> None:
    bert = str(tiny_bert(tmp_path / "short", words=WORDS, layers=1, window=40))
    found = []
    for place, words in enumerate((37, 38)):  # behind "fits is", with the end
        kb = build([Concept("X:0", (Name("fever " * words),))], tmp_path / f"{place}.kb")
        found.append(
            len(Generate(kb=kb, encoder=bert, tokens=16).retrieve([note(0, "patient had fits", "fits")])[0][0])
        )
    assert found == [1, 0]


def test_a_name_that_the_right_concept_has_too_is_not_wrong(bert: str, tmp_path: Path) -> None:
    docs = [note(0, "patient had fits and", "fits", "X:0")]
    wrong = {}
    for other in ("seizure", "fever"):
        concepts = [Concept("X:0", (Name("renal cyst"), Name("Seizure"))), Concept("X:1", (Name(other),))]
        part = Generate(kb=build(concepts, tmp_path / f"{other}.kb"), encoder=bert, plain=True)
        made = Finetuning(part, GenerateArgs(preference=1.0), docs)
        [example] = made.examples(docs, epoch=0, rng=np.random.default_rng(1))
        wrong[other] = [list(name) for name in example.wrong]
    assert wrong == {"seizure": [], "fever": [made.name("fever")]}


def test_a_preferred_name_that_an_edit_gave_is_written(bert: str, tmp_path: Path) -> None:
    path = build([Concept("X:0", (Name("seizure"), Name("fit")))], tmp_path / "one.kb").path
    with KnowledgeBase.edit(path) as edit:
        edit.replace(Concept("X:0", (Name("renal cyst"), Name("seizure"), Name("fit"))))
    part = Generate(kb=KnowledgeBase.open(path), encoder=bert)
    docs = [note(0, "patient had fits and", "fits", "X:0")]
    made = Finetuning(part, GenerateArgs(target="preferred"), docs)
    [example] = made.examples(docs, epoch=0, rng=np.random.default_rng(1))
    assert example.name == made.name("renal cyst")


def test_nothing_to_learn_from_is_refused(part: Generate) -> None:
    with pytest.raises(DataError, match="no mention of the training documents"):
        taught(part, [Document("a", "nothing", mentions=())])
