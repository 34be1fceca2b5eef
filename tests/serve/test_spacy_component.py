"""The component of spaCy pipelines: what it fills, how it aligns, and that it travels to files and processes."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import linnet
from linnet.data import Document
from linnet.errors import FormatError, KnowledgeBaseError, LinnetError
from linnet.kb import KnowledgeBase
from linnet.kb.build import build

spacy = pytest.importorskip("spacy", reason="the extra spacy is not installed")
component = pytest.importorskip("linnet.serve.spacy_component")

TEXT = "No short stature, but tonic-clonic seizures. Short fingers and toes."
ALL = ['dictionary.overlaps="all"']


def made(kb: KnowledgeBase, before: Any = (), **config: Any) -> Any:
    """Return a pipeline with patterns for a ruler, if any, and ours."""
    nlp = spacy.blank("en")
    for factory, patterns in before:
        nlp.add_pipe(factory).add_patterns(patterns)
    nlp.add_pipe("linnet", config={"pipeline": "dictionary", "kb": str(kb.path), **config})
    return nlp


def linked(spans: Any) -> list[tuple[str, str]]:
    return [(span.text, span.kb_id_) for span in spans]


FOUND = [("short stature", "HP:0004322"), ("tonic-clonic seizures", "HP:0002069"), ("Short fingers", "HP:0009381")]


def test_entities_are_the_longest_mentions_and_the_group_has_all(kb: KnowledgeBase) -> None:
    doc = made(kb, changes=ALL)(TEXT)
    assert linked(doc.ents) == FOUND
    everything = linked(doc.spans["linnet"])
    assert set(FOUND) < set(everything)
    assert ("seizures", "HP:0001250") in everything, "nested"
    [apart] = [span for span in doc.spans["linnet"] if span.kb_id_ == "HP:0001831"]
    assert apart.text == "Short fingers and toes", "from the first to the last word"
    assert [TEXT[start:end] for start, end in apart._.linnet["parts"]] == ["Short", "toes"]
    assert {ent.label_ for ent in doc.ents} == {"Phenotype"}


def test_what_is_known_of_a_span(kb: KnowledgeBase) -> None:
    doc = made(kb)(TEXT)
    known = doc.ents[0]._.linnet
    assert (known["id"], known["name"], known["assertion"]) == ("HP:0004322", "Short stature", "negated")
    assert (known["denied"], made(kb)("No family history of seizures.").ents[0]._.linnet["denied"]) == (False, True)
    assert known["candidates"][0] == {"id": "HP:0004322", "name": "Short stature", "score": known["probability"]}
    assert TEXT[known["start"] : known["end"]] == "short stature"
    assert doc[1:3]._.linnet == known, "a span that somebody else made of the same words"
    assert doc[0:1]._.linnet is None
    twice = spacy.tokens.Doc.from_docs([doc, doc])
    assert [ent._.linnet["name"] for ent in twice.ents] == 2 * [ent._.linnet["name"] for ent in doc.ents]
    again = spacy.tokens.Doc(doc.vocab).from_bytes(doc.to_bytes())
    assert [ent._.linnet for ent in again.ents] == [ent._.linnet for ent in doc.ents]


def test_it_links_as_its_pipeline_does(kb: KnowledgeBase) -> None:
    nlp = made(kb, changes=ALL)
    link = linnet.load("dictionary", kb=kb, changes=ALL)
    texts = [TEXT, "", " \n", "Cold 😀 fits, cleft  palate\u200b."] * 3
    for doc, ours in zip(nlp.pipe(texts, batch_size=5), link(texts), strict=True):
        assert found(doc) == expected(ours)


def found(doc: Any) -> list[Any]:
    links = (span._.linnet for span in doc.spans["linnet"])
    return sorted((known["start"], known["end"], known["parts"], known["concepts"]) for known in links)


def expected(doc: Document) -> list[Any]:
    return sorted((m.start, m.end, [[*part] for part in m.spans], [*(m.concepts or ())]) for m in doc.mentions or ())


@pytest.mark.parametrize(
    ("mode", "words"), [("expand", ["xxFits", "cold"]), ("contract", ["cold"]), ("strict", ["cold"])]
)
def test_mentions_inside_tokens_are_aligned(kb: KnowledgeBase, mode: str, words: list[str]) -> None:
    nlp = made(kb, alignment_mode=mode)
    nlp.tokenizer = spacy.tokenizer.Tokenizer(nlp.vocab)  # cuts at blanks alone
    doc = nlp("(fits) cold")
    assert [span.text for span in doc.spans["linnet"]] == [word.replace("xxFits", "(fits)") for word in words]


def test_entities_of_others_stay_or_yield(kb: KnowledgeBase) -> None:
    ruler = [("entity_ruler", [{"label": "BODY", "pattern": "fingers"}, {"label": "X", "pattern": "but"}])]
    doc = made(kb, ruler)(TEXT)
    assert [ent.label_ for ent in doc.ents] == ["Phenotype", "X", "Phenotype", "BODY"]
    assert linked(made(kb, ruler, overwrite_ents=True)(TEXT).ents) == FOUND
    untouched = made(kb, ruler, ents="none", spans_key="found")(TEXT)
    assert [ent.label_ for ent in untouched.ents] == ["X", "BODY"]
    assert linked(untouched.spans["found"])[0] == FOUND[0]


def test_the_likeliest_may_be_shorter(tmp_path: Path) -> None:
    concepts = [
        linnet.Concept("X:1", (linnet.Name("Tremor of hand"),)),
        linnet.Concept("X:2", (linnet.Name("Tremor"),)),
    ]
    kb = build(concepts, tmp_path / "tremor.kb")
    entities = {
        ents: [ent.text for ent in made(kb, changes=ALL, ents=ents)("Hand tremor").ents]
        for ents in ("longest", "likeliest")
    }
    assert entities == {"longest": ["Hand tremor"], "likeliest": ["tremor"]}


def test_entities_of_others_are_linked(kb: KnowledgeBase) -> None:
    patterns = [{"label": "SIGN", "pattern": "tonic-clonic seizures"}, {"label": "WORD", "pattern": "No"}]
    doc = made(kb, [("entity_ruler", patterns)], spans="ents")(TEXT)
    assert [(ent.text, ent.label_, ent.kb_id_) for ent in doc.ents] == [
        ("No", "WORD", "NIL"),
        ("tonic-clonic seizures", "SIGN", "HP:0002069"),
    ]
    assert doc.ents[1]._.linnet["name"] == "Tonic-clonic seizure"
    assert linked(doc.spans["linnet"]) == linked(doc.ents)


def test_spans_of_a_group_are_linked_by_a_recipe_for_given_mentions(kb: KnowledgeBase, tmp_path: Path) -> None:
    recipe = tmp_path / "given.toml"
    recipe.write_text('[[pipeline]]\nuse = "gold"\n[[pipeline]]\nuse = "exact"\n[[pipeline]]\nuse = "decide"\n')
    patterns = [{"label": "A", "pattern": "Fits"}, {"label": "B", "pattern": "Fits"}, {"label": "B", "pattern": "so"}]
    doc = made(kb, [("span_ruler", patterns)], pipeline=str(recipe), spans="ruler")("Fits, or so.")
    ruled = [(span.text, span.label_, span.kb_id_) for span in doc.spans["ruler"]]
    assert sorted(ruled) == [("Fits", "A", "HP:0001250"), ("Fits", "B", "HP:0001250"), ("so", "B", "NIL")]
    assert linked(made(kb, pipeline=str(recipe), spans="none-there")("Fits.").spans["linnet"]) == []


def test_two_processes_give_what_one_gives(kb: KnowledgeBase) -> None:
    nlp = made(kb)
    texts = [f"{TEXT} Cleft palate {number}." for number in range(12)]
    alone = [doc.to_bytes() for doc in nlp.pipe(texts)]
    assert [doc.to_bytes() for doc in nlp.pipe(texts, n_process=2, batch_size=3)] == alone


def test_documents_that_cannot_be_linked_go_to_the_handler_of_errors(kb: KnowledgeBase) -> None:
    nlp = made(kb)
    part = nlp.get_pipe("linnet")
    working = part._link

    def fail(docs: Any, link: Any) -> Any:
        if any("bad" in doc.text for doc in docs):
            raise ValueError("a bad text")
        return working(docs, link)

    part._link = fail
    texts = ["Seizures.", "A bad text.", "Short stature."]
    with pytest.raises(ValueError, match="a bad text"):
        list(nlp.pipe(texts))
    failed: list[tuple[str, list[str], str]] = []
    nlp.set_error_handler(lambda name, _, docs, error: failed.append((name, [doc.text for doc in docs], str(error))))
    assert [doc.text for doc in nlp.pipe(texts)] == ["Seizures.", "Short stature."]
    assert failed == [("linnet", ["A bad text."], "a bad text")]


def test_it_travels_by_name(kb: KnowledgeBase) -> None:
    nlp = made(kb)
    ours = nlp.get_pipe("linnet")
    assert linked(nlp(TEXT).ents) == FOUND
    packed = pickle.dumps(ours)
    assert len(packed) < 2_000
    assert linked(pickle.loads(packed)(nlp.make_doc(TEXT)).ents) == FOUND
    other = made(kb, pipeline="hpo")
    other.get_pipe("linnet").from_bytes(ours.to_bytes())
    assert linked(other(TEXT).ents) == FOUND
    with pytest.raises(LinnetError, match="are not what to_bytes"):
        ours.from_bytes(b"[]")


def test_it_is_stored_with_what_was_trained(kb: KnowledgeBase, tmp_path: Path) -> None:
    ours = made(kb, changes=ALL).get_pipe("linnet")
    ours.to_disk(tmp_path / "linnet")
    doc = spacy.blank("en").make_doc(TEXT)
    stored = component.LinnetComponent("gone", str(kb.path)).from_disk(tmp_path / "linnet")
    everything = linked(ours(doc).spans["linnet"])
    assert linked(stored(doc).spans["linnet"]) == everything, "the changes are in the folder"
    stored.to_disk(tmp_path / "linnet")  # into the folder that it reads
    for one in (stored, component.LinnetComponent("gone").from_disk(tmp_path / "linnet")):
        assert linked(one(doc).spans["linnet"]) == everything


@pytest.mark.slow
def test_another_process_loads_the_stored_pipeline(kb: KnowledgeBase, tmp_path: Path) -> None:
    made(kb).to_disk(tmp_path / "nlp")
    code = (
        "import linnet.serve.spacy_component, spacy\n"  # as the entry point of an installed Linnet does
        f"doc = spacy.load({str(tmp_path / 'nlp')!r})({TEXT!r})\n"
        "print([(ent.text, ent.kb_id_) for ent in doc.ents])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.strip() == str(FOUND)


def test_files_of_others_are_left_alone(kb: KnowledgeBase, tmp_path: Path) -> None:
    ours = made(kb).get_pipe("linnet")
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(LinnetError, match="holds something else than a pipeline"):
        ours.to_disk(tmp_path)
    with pytest.raises(FormatError, match=r"has no pipeline\.toml"):
        ours.from_disk(tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_another_knowledge_base_is_refused(kb: KnowledgeBase, tmp_path: Path) -> None:
    ours = made(kb).get_pipe("linnet")
    other = build([linnet.Concept("X:1", (linnet.Name("Fits"),))], tmp_path / "other.kb")
    stored = ours.to_bytes()
    moved = component.LinnetComponent("dictionary", str(other.path)).from_bytes(
        stored.replace(str(kb.path).encode(), str(other.path).encode())
    )
    with pytest.raises(KnowledgeBaseError, match=f"stored with version {kb.version} of its knowledge base"):
        moved(spacy.blank("en")(TEXT))


def test_wrong_values_are_named(kb: KnowledgeBase) -> None:
    with pytest.raises(LinnetError, match=r"linnet: ents is 'longer', expected .*did you mean 'longest'"):
        made(kb, ents="longer")
    with pytest.raises(LinnetError, match="alignment_mode is 'nearest', expected strict, contract, expand"):
        made(kb, alignment_mode="nearest")
    with pytest.raises(LinnetError, match="did you mean 'dictionary'"):
        made(kb, pipeline="dictionray")(TEXT)


@pytest.mark.slow
def test_displacy_shows_links(kb: KnowledgeBase) -> None:
    doc = made(kb)(TEXT)
    options = {"kb_url_template": "https://bioregistry.io/{}", "spans_key": "linnet"}
    for style in ("ent", "span"):
        shown = spacy.displacy.render(doc, style=style, options=options, jupyter=False)
        assert 'href="https://bioregistry.io/HP:0004322"' in shown


def test_a_second_pass_does_not_add_to_the_first(kb: KnowledgeBase) -> None:
    nlp = made(kb)
    doc = nlp(TEXT)
    once = doc.to_bytes()
    assert nlp.get_pipe("linnet")(doc).to_bytes() == once


def test_two_components_leave_each_other_what_they_found(kb: KnowledgeBase, tmp_path: Path) -> None:
    other = build([linnet.Concept("X:1", (linnet.Name("Seizures"),))], tmp_path / "other.kb")
    nlp = made(kb)
    config = {"pipeline": "dictionary", "kb": str(other.path), "spans_key": "other"}
    nlp.add_pipe("linnet", name="second", config=config)
    doc = nlp(nlp("Seizures with short stature."))
    for group, found in (("linnet", ["HP:0001250", "HP:0004322"]), ("other", ["X:1"])):
        assert [span._.linnet["id"] for span in doc.spans[group]] == found
    assert [span._.linnet["component"] for span in (*doc.ents, *doc.spans["other"])] == ["linnet", "linnet", "second"]
    links = [link for key, kept in doc.user_data.items() if key[:2] == ("._.", "linnet") for link in kept]
    assert len(links) == 3, "no second pass added to them"


def test_an_installed_linnet_is_found_by_spacy() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, name = project["entry-points"]["spacy_factories"]["linnet"].partition(":")
    assert getattr(sys.modules[module], name) is component.make_linnet


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*more than one replaced_by:linnet.errors.LinnetWarning")
def test_it_links_real_abstracts_as_the_pipeline_does(data: Path) -> None:
    docs = linnet.read(data / "pubmed" / "medline16n0902_sample.xml.gz")
    texts = [doc.text for doc, _ in zip(docs, range(100), strict=False)]
    nlp = spacy.blank("en")
    nlp.add_pipe("linnet", config={"pipeline": "hpo"})
    expand = 0
    for doc, ours in zip(nlp.pipe(texts), linnet.load("hpo")(texts), strict=True):
        assert found(doc) == expected(ours)
        assert [ent._.linnet["id"] for ent in doc.ents] == [ent.kb_id_ for ent in doc.ents]
        expand += sum(span.start_char != span._.linnet["start"] for span in doc.spans["linnet"])
    assert len(texts) == 100
    assert expand <= 5, "nearly all mentions begin with tokens"
