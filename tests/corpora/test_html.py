from __future__ import annotations

import base64
import hashlib
import html
import io
import json
import re
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.growth import LINEAR, growth

from linnet.corpora.html import Concepts, write_html
from linnet.data import Candidates, Concept, Document, Mention, Name, Span
from linnet.errors import DataError, UnknownConceptError

ISLAND = re.compile(
    r'<script type="application/json"(?: data-index="([^"]*)"| id="concepts")>(.*?)</script>', re.DOTALL
)


class Fake:
    def __init__(self, *concepts: Concept, version: str = "v1", moved: dict[str, str] | None = None) -> None:
        self.concepts, self.version, self.moved, self.reads = concepts, version, moved or {}, 0

    def __getitem__(self, row: int, /) -> Concept:
        self.reads += 1
        return self.concepts[row]

    def row(self, id: str, /) -> int:
        ids = [concept.id for concept in self.concepts]
        if self.moved.get(id, id) not in ids:
            raise UnknownConceptError(id)
        return ids.index(self.moved.get(id, id))


def tree() -> Fake:
    """All over one trunk over two branches; C:5 hangs from both, nearer to B:2."""
    edges = {"A:0": [], "A:1": ["A:0"], "B:1": ["A:1"], "B:2": ["A:1"], "C:1": ["B:1"], "C:2": ["B:1"], "C:3": ["B:2"]}
    edges |= {"C:4": ["C:1"], "C:5": ["C:4", "B:2"]}
    return Fake(*(Concept(id, (Name(f"name of {id}"),), parents=tuple(up)) for id, up in edges.items()))


def candidates(rows: list[int], scores: list[float], **more: Any) -> Candidates:
    return Candidates(np.array(rows, np.int32), np.array(scores, np.float32), **more)


def page(*docs: Document, kb: Concepts | None = None, title: str = "t", notice: tuple[str, ...] = ()) -> str:
    stream = io.StringIO()
    write_html(docs, stream, kb=kb, title=title, notice=notice)
    return stream.getvalue()


def islands(text: str) -> tuple[list[tuple[list[Any], dict[str, Any]]], dict[str, Any]]:
    """Return (index, document) of each document, and the concepts."""
    *docs, concepts = ISLAND.findall(text)
    return [(json.loads(html.unescape(index)), json.loads(body)) for index, body in docs], json.loads(concepts[1])


def one(mention: Mention, kb: Concepts | None = None, text: str = "short toes and feet") -> dict[str, Any]:
    found, _ = islands(page(Document("d", text, mentions=(mention,)), kb=kb))
    entry: dict[str, Any] = found[0][1]["mentions"][0]
    return entry


def test_policy_names_exactly_the_script_and_the_style_of_the_page() -> None:
    text = page()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    for tag, directive in ((r'script type="module"', "script-src"), ("style", "style-src")):
        code = re.search(rf"<{tag}>(.*?)</{tag.split()[0]}>", text, re.DOTALL)
        assert code is not None
        digest = base64.b64encode(hashlib.sha256(code[1].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}';" in policy[1]
    assert policy[1].startswith("default-src 'none';")
    assert not re.search(r"unsafe|https?:|\*", policy[1])
    assert not re.search(r"""(?:src|href)=["'](?!data:,)""", text)


@given(st.text(st.characters() | st.sampled_from("<>&\"'/!-\x00\u2028{}")), st.text())
def test_no_text_becomes_markup_and_none_is_lost(text: str, id: str) -> None:
    written = page(Document(id, text), title=text, notice=(text,))
    written.encode("ascii")
    found, _ = islands(written)
    assert found[0][1] == {"id": id, "text": text, "mentions": None}
    assert written.count("<script") == len(found) + 2
    assert written.count("</script") == len(found) + 2


@pytest.mark.parametrize("attack", ["</script><script>x()</script>", "<!--<script>", "{{script}}", "]]>", "\ud800"])
def test_hostile_strings_stay_strings_everywhere(attack: str) -> None:
    kb = Fake(Concept(attack, (Name(attack), Name(attack + "2")), definition=attack))
    found_here = Mention(0, 1, types=(attack,), concepts=(attack,), group=attack, terminology=attack)
    doc = Document(attack, attack, mentions=(found_here,))
    written = page(doc, kb=kb, title=attack, notice=(attack,))
    found, concepts = islands(written)
    assert found[0][0] == [attack, 1, attack, [attack], [attack], [attack]]
    assert concepts[attack] == {"n": attack, "d": attack, "s": [attack + "2"], "b": attack}


def test_documents_are_written_one_by_one() -> None:
    stream = io.StringIO()
    sizes = []

    def docs() -> Iterator[Document]:
        for i in range(3):
            sizes.append(len(stream.getvalue()))
            yield Document(f"d{i}", "x" * 5_000)

    write_html(docs(), stream, kb=None, title="t")
    assert sizes[1] - sizes[0] > 5_000
    assert sizes[2] - sizes[1] > 5_000


def test_offsets_count_utf16_units() -> None:
    text = "\U0001f600a\U0001f9e0b"
    assert one(Mention(1, 4, parts=(Span(1, 2), Span(3, 4))), text=text)["s"] == [[2, 3], [5, 6]]
    # two halves that are two code points here are one pair for a script, which still counts two units
    assert one(Mention(2, 3), text="\ud83d\ude00a")["s"] == [[2, 3]]


def test_mentions_come_in_reading_order_and_keep_what_a_reader_asks_for() -> None:
    mentions = (
        Mention(6, 10, concepts=(), source="gold", alternatives=(("C:1", "C:3"),)),
        Mention(0, 10, types=("Sign",), concepts=("C:4",), probability=0.1234567, calibration="given-span", group="g"),
        Mention(0, 5),
    )
    [(index, doc)], concepts = islands(page(Document("d", "short toes", mentions=mentions), kb=tree()))
    assert index == ["d", 3, "short toes", ["C:4"], ["Sign"], []]
    assert doc["mentions"] == [
        {"s": [[0, 10]], "c": ["C:4"], "t": ["Sign"], "p": 0.1234567, "k": "given-span", "g": "g"},
        {"s": [[0, 5]]},
        {"s": [[6, 10]], "c": [], "o": "gold", "a": [["C:1", "C:3"]]},
    ]
    assert concepts["C:4"] == {"n": "name of C:4", "p": ["name of C:1"], "b": "C:4"}
    assert concepts["C:1"] == {"n": "name of C:1"}


def test_several_terminologies_are_named() -> None:
    both = tuple(Mention(0, 5, concepts=(id,), terminology=name) for id, name in (("C:4", "signs"), ("X:1", "drugs")))
    [(index, doc)], _ = islands(page(Document("d", "short toes", mentions=both)))
    assert index[5] == ["drugs", "signs"]
    assert [mention["v"] for mention in doc["mentions"]] == ["drugs", "signs"], "side by side, by name"


def test_candidates_carry_scores_nil_and_the_number_of_the_rest() -> None:
    rows, scores = [4, -1, 5, 6, 7, 8, 0, 1], [0.9, 0.3, 0.2, 0.1, 0.1, 0.1, 0.0, -1.5]
    entry = one(Mention(0, 5, concepts=("C:1",), candidates=candidates(rows, scores, kb="v1")), kb=tree())
    assert entry["x"] == [["C:1", 0.9], [None, 0.3], ["C:2", 0.2], ["C:3", 0.1], ["C:4", 0.1], ["C:5", 0.1]]
    assert entry["y"] == 2


def test_candidates_read_without_a_knowledge_base_keep_their_labels() -> None:
    columns = candidates([-1, -1], [1.0, 0.5], ids=("X:1", None), labels=("Toe", None))
    mention = Mention(0, 5, concepts=("X:1",), candidates=columns)
    assert one(mention)["x"] == [["X:1", 1.0, "Toe"], [None, 0.5]]
    written = page(Document("d", "short", mentions=(mention,)))
    assert "concepts are shown by their ids" in written
    assert islands(written)[1] == {}


def test_rows_of_a_missing_or_other_knowledge_base_are_refused() -> None:
    mention = Mention(0, 5, candidates=candidates([0], [1.0], kb="v0"))
    with pytest.raises(DataError, match="row 0 of a knowledge base that was not given"):
        one(mention)
    with pytest.raises(DataError, match="version v0, the one given is v1"):
        one(mention, kb=tree())


def test_retired_and_unknown_concepts() -> None:
    kb = Fake(Concept("N:1", (Name("New"), Name("new"), Name("Other"))), moved={"O:1": "N:1"})
    _, concepts = islands(page(Document("d", "toe", mentions=(Mention(0, 3, concepts=("O:1", "U:1")),)), kb=kb))
    assert concepts == {"O:1": {"n": "New", "r": "N:1", "s": ["Other"], "b": "O:1"}}


def branches(kb: Fake, *ids: str) -> dict[str, str]:
    mentions = tuple(Mention(i, i + 1, concepts=(id,)) for i, id in enumerate(ids))
    _, concepts = islands(page(Document("d", "x" * len(ids), mentions=mentions), kb=kb))
    return {id: concepts[id].get("b", "") for id in ids}


def test_branches_part_the_concepts_where_the_tree_parts_them() -> None:
    assert branches(tree(), "C:1", "C:3", "C:5") == {"C:1": "B:1", "C:3": "B:2", "C:5": "B:2"}
    assert branches(tree(), "C:4", "C:2") == {"C:4": "C:1", "C:2": "C:2"}
    assert branches(tree(), "A:0", "B:1") == {"A:0": "A:0", "B:1": "A:0"}


def test_branches_of_one_terminology_are_not_too_wide_beside_another() -> None:
    kb = Fake(*tree().concepts, Concept("X:1"), Concept("X:2"))
    ids = ("C:1", "C:3", "X:1", "X:2")
    assert branches(kb, *ids)["C:1"] == "A:0"
    kb.kbs = {"c": {"C:1", "C:3"}, "x": {"X:1", "X:2"}}  # type: ignore[attr-defined]
    assert branches(kb, *ids) == {"C:1": "B:1", "C:3": "B:2", "X:1": "X:1", "X:2": "X:2"}


def test_branches_survive_cycles_and_missing_parents() -> None:
    loop = Fake(Concept("L:1", parents=("L:2",)), Concept("L:2", parents=("L:1", "L:3")), Concept("L:3"))
    assert branches(loop, "L:1", "L:2") == {"L:1": "L:2", "L:2": "L:2"}
    assert branches(Fake(Concept("L:1", parents=("L:1",))), "L:1") == {"L:1": ""}
    assert branches(Fake(Concept("L:1", parents=("L:9",))), "L:1") == {"L:1": "L:1"}


def test_time_grows_with_the_concepts_not_with_their_square() -> None:
    mentions = tuple(Mention(0, 1, concepts=(f"R:{i}",)) for i in range(10_000))  # of no knowledge base: all are roots
    begin = time.process_time()
    page(Document("d", "x", mentions=mentions))
    assert time.process_time() - begin < 2.5


class Chain:
    """C:0 over C:1 over C:2 and so on; under each of the last hundred also a leaf, L:i under C:i."""

    def __init__(self, levels: int) -> None:
        self.levels = levels

    def row(self, id: str, /) -> int:
        return int(id[2:]) + (self.levels if id.startswith("L") else 0)

    def __getitem__(self, row: int, /) -> Concept:
        if row < self.levels:
            return Concept(f"C:{row}", parents=(f"C:{row - 1}",) if row else ())
        return Concept(f"L:{row - self.levels}", parents=(f"C:{row - self.levels}",))


@pytest.mark.slow
def test_time_grows_with_the_levels_not_with_their_square() -> None:
    def work(levels: int) -> None:
        last = range(levels - 100, levels)
        mentions = tuple(Mention(i, i + 1, concepts=(f"L:{level}",)) for i, level in enumerate(last))
        _, concepts = islands(page(Document("d", "x" * 100, mentions=mentions), kb=Chain(levels)))
        nearest = {id: entry.get("b") for id, entry in concepts.items() if id.startswith("L")}
        # below the twentieth of the last hundred levels are 80 of 100 leaves, which is no longer nearly everything
        branch = f"C:{levels - 80}"
        assert nearest == {f"L:{level}": f"L:{level}" if level < levels - 80 else branch for level in last}

    assert growth(work, 100_000) < LINEAR


def test_branches_of_very_many_concepts() -> None:
    ids = [f"N:{i}" for i in range(3000)]
    trunk = {"A:0": (), "A:1": ("A:0",), "B:1": ("A:1",), "B:2": ("A:1",)}
    leaves = {id: ("B:1" if i % 3 else "B:2",) for i, id in enumerate(ids)}
    concepts = [Concept(id, parents=parents) for id, parents in (trunk | leaves).items()]
    rows = {concept.id: row for row, concept in enumerate(concepts)}
    kb = Fake(*concepts)
    vars(kb)["row"] = rows.__getitem__
    assert branches(kb, *ids) == {id: "B:1" if i % 3 else "B:2" for i, id in enumerate(ids)}


def test_the_top_names_knowledge_base_and_sources() -> None:
    kb = tree()
    sources = [{"vocabulary": "hpo", "release": "2026-01-01", "licence": "<free>", "path": "/home/someone/hp.obo"}, {}]
    vars(kb)["info"] = {"name": "hp", "version": "abc", "sources": json.dumps(sources)}
    written = page(kb=kb, notice=("Pipeline: dictionary",))
    assert '<summary dir="auto">Knowledge base: hp (2026-01-01) version abc</summary>' in written
    for line in ("From hpo, 2026-01-01, &lt;free&gt;", "Pipeline: dictionary"):
        assert f'<li dir="auto">{line}</li>' in written
    assert "someone" not in written
    assert "Knowledge base: version v1" in page(kb=tree())


def test_a_concept_is_described_once_and_rows_are_looked_up_once() -> None:
    kb = tree()
    columns = candidates([4, 6], [0.9, 0.1], kb="v1")
    docs = [
        Document(str(i), "toe", mentions=(Mention(0, 3, concepts=("C:1",), candidates=columns),)) for i in range(50)
    ]
    assert page(*docs, kb=kb).count("name of C:1") == 1
    assert kb.reads < 15
