"""A language model asked about improbable answers: what is sent and taken, what it costs, what numbers it leaves."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from linnet.codec import dumps
from linnet.data import Candidates, Document, Mention, Span
from linnet.errors import LinnetError, LinnetWarning, RecipeError
from linnet.kb import KnowledgeBase
from linnet.pipeline import Pipeline
from linnet.pipeline.decide import Decide
from linnet.recipes import config, saving
from linnet.reporter import Reporter, reporting
from linnet.rerank.chat import Server, server_of
from linnet.rerank.endpoint import Endpoint
from tests.chat_server import Chat, chatting, completion
from tests.web_server import Handler, serving

TEXT = "She had fits in the cold night."


@pytest.fixture
def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Chat]:
    """A server that chooses the second candidate; its answers are kept in a home of their own."""
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))
    with chatting(lambda _: "2") as server:
        monkeypatch.setenv("LINNET_ENDPOINT", server.url)
        yield server


def document(kb: KnowledgeBase, *, probability: float = 0.3) -> Document:
    """A document with a calibrated answer of that probability: X:1, with X:2 behind it."""
    candidates = Candidates.of({kb.row("X:1"): 0.5, kb.row("X:2"): 0.4}, kb=kb.version)
    mention = Mention(
        20, 24, id="m", candidates=candidates, concepts=("X:1",), probability=probability, calibration="joint"
    )
    return Document("d", TEXT, mentions=(mention,))


def only(docs: list[Document]) -> Mention:
    [doc] = docs
    [mention] = doc.mentions or ()
    return mention


def test_the_chosen_candidate_becomes_the_answer_without_a_probability(kb: KnowledgeBase, chat: Chat) -> None:
    found = only(Endpoint(kb=kb, model="m")([document(kb)]))
    assert (found.concepts, found.probability, found.calibration) == (("X:2",), None, "")
    assert found.candidates is not None
    assert found.candidates == found.candidates.sorted()
    assert [kb.id(row) for row in found.candidates.rows] == ["X:2", "X:1"]
    assert found.candidates.features["endpoint"].tolist() == pytest.approx([0.4, 0.5])


def test_what_is_sent_and_answered_is_noted_to_the_letter(
    kb: KnowledgeBase, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINNET_ENDPOINT_KEY", "secret-key")
    found = only(Endpoint(kb=kb, model="small", context=7)([document(kb)]))
    [(path, headers, request)] = chat.asked
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == "Bearer secret-key"
    note = json.loads(dumps(Document("d", TEXT, mentions=(found,)), kb))["mentions"][0]["meta"]["endpoint"]
    assert note == {"url": chat.url, "request": request, "outcome": "changed", "answer": "2"}
    question = request["messages"][1]["content"]
    assert question.splitlines() == [
        "Text: in the [[cold]] night.",
        "1. Cold (X:1)",
        "2. Cold (X:2) | also: Common cold",
        "0. none of them",
    ]
    assert "secret-key" not in repr(found)
    assert "secret-key" not in repr(server_of())


def test_only_improbable_answers_of_the_pipeline_are_asked_about(kb: KnowledgeBase, chat: Chat) -> None:
    doc = document(kb)
    [mention] = doc.mentions or ()
    others = [
        replace(mention, probability=0.5),
        replace(mention, probability=None),
        replace(mention, source="user"),
        replace(mention, source="gold", concepts=("X:2",)),
        replace(mention, concepts=("X:1", "X:2")),
        replace(mention, candidates=Candidates.none(kb.version), concepts=()),
    ]
    for other in others:
        given = replace(doc, mentions=(other,))
        assert Endpoint(kb=kb, model="m")([given]) == [given]
    assert chat.asked == []


def test_agreement_keeps_the_number_and_drops_its_mark(kb: KnowledgeBase, chat: Chat) -> None:
    chat.says = lambda _: "<think>The second is a disease.</think>\n 1.\n"
    found = only(Endpoint(kb=kb, model="m")([document(kb)]))
    assert (found.concepts, found.probability, found.calibration) == (("X:1",), 0.3, "")
    assert dict(found.meta["endpoint"])["outcome"] == "agreed"  # type: ignore[arg-type]


def test_none_of_them_is_an_answer(kb: KnowledgeBase, chat: Chat) -> None:
    chat.says = lambda _: "0"
    found = only(Endpoint(kb=kb, model="m")([document(kb)]))
    assert (found.concepts, found.probability) == ((), None)
    doc = document(kb)
    [mention] = doc.mentions or ()
    listed = Candidates.of({kb.row("X:1"): 0.5, kb.row("X:2"): 0.4, -1: 0.1}, kb=kb.version)
    found = only(Endpoint(kb=kb, model="m")([replace(doc, mentions=(replace(mention, candidates=listed),))]))
    assert found.candidates is not None
    assert found.candidates.rows[0] == -1


@pytest.mark.parametrize("said", ["3", "-1", "HP:0001250", "", "Ignore this: the answer is 2, surely", "1 2", "99999"])
def test_answers_outside_the_candidates_are_refused(kb: KnowledgeBase, chat: Chat, said: str) -> None:
    chat.says = lambda _: said
    doc, heard = document(kb), list[str]()
    endpoint = Endpoint(kb=kb, model="m")
    with reporting(Reporter(warn=heard.append)):
        found = only(endpoint([doc]))
        assert only(endpoint([doc])) == found
    assert replace(found, meta={}) == (doc.mentions or ())[0]
    note = found.meta["endpoint"]
    assert isinstance(note, dict)
    assert (note["outcome"], note["answer"]) == ("refused", said)
    assert ["answer_tokens" in one for one in heard] == [True], "said once"


def test_any_answer_can_be_written(kb: KnowledgeBase, chat: Chat) -> None:
    chat.says = lambda _: "\ud800 2"
    with pytest.warns(LinnetWarning, match="is no number of a candidate"):
        [doc] = Endpoint(kb=kb, model="m")([document(kb)])
    assert only([doc]).meta["endpoint"]["answer"] == "\\ud800 2"  # type: ignore[index,call-overload]
    assert b"refused" in dumps(doc, kb).encode()


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ((500, "oops"), "busy or broken"),
        ((401, "secret-key is wrong"), "does not give it"),
        ((307, ""), "307"),
        ((200, "no JSON"), "no chat completion"),
        ((200, '{"choices": []}'), "no chat completion"),
        ((200, '{"choices": [{"message": {"content": [2]}}]}'), "no chat completion"),
        ((200, " " * ((1 << 20) + 9)), "more than"),
    ],
)
def test_failures_keep_the_answer(
    kb: KnowledgeBase, chat: Chat, answer: tuple[int, str], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINNET_ENDPOINT_KEY", "secret-key")
    chat.says, chat.location = lambda _: answer, "http://127.0.0.1:1/v1/chat/completions"
    part, doc = Endpoint(kb=kb, model="m"), document(kb)
    with pytest.warns(LinnetWarning, match=problem):
        found = only(part([doc]))
    assert replace(found, meta={}) == (doc.mentions or ())[0]
    assert dict(found.meta["endpoint"])["outcome"] == "failed"  # type: ignore[arg-type]
    assert "secret-key" not in repr(found)


def test_after_three_failures_nothing_more_is_asked(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("LINNET_ENDPOINT", f"http://127.0.0.1:{free.getsockname()[1]}/v1")
    part, heard = Endpoint(kb=kb, model="m", keep=False), list[str]()
    with reporting(Reporter(warn=heard.append)):
        notes = ["endpoint" in only(part([document(kb)])).meta for _ in range(5)]
    assert notes == [True, True, True, False, False]
    assert len(heard) == 2
    assert "nothing more is asked" in heard[1]


@pytest.mark.parametrize("budget", [{"calls": 2}, {"tokens": 600}])
def test_a_spent_budget_ends_the_asking(kb: KnowledgeBase, chat: Chat, budget: dict[str, int]) -> None:
    chat.says = lambda _: (200, completion("2", tokens=250))
    part = Endpoint(kb=kb, model="m", keep=False, **budget)
    heard: list[str] = []
    with reporting(Reporter(warn=heard.append)):
        answers = [only(part([document(kb)])).concepts for _ in range(4)]
    assert answers == [("X:2",), ("X:2",), ("X:1",), ("X:1",)]
    assert len(chat.asked) == 2
    [said] = heard
    assert "budget is spent (2 calls" in said


def test_the_same_request_is_asked_once_and_costs_nothing_again(kb: KnowledgeBase, chat: Chat, tmp_path: Path) -> None:
    first = Endpoint(kb=kb, model="m", calls=1)([document(kb)])
    assert Endpoint(kb=kb, model="m", calls=0)([document(kb)]) == first
    assert len(chat.asked) == 1
    [kept] = (tmp_path / "home" / "endpoint").iterdir()
    assert "cold" not in kept.read_text(), "the text is not kept"
    kept.write_text("damaged")
    assert Endpoint(kb=kb, model="m")([document(kb)]) == first
    Endpoint(kb=kb, model="other")([document(kb)])
    assert [request["model"] for _, _, request in chat.asked] == ["m", "m", "other"]


def test_without_an_address_nothing_happens(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINNET_ENDPOINT", raising=False)
    part = Endpoint(kb=kb, model="m")
    with pytest.warns(LinnetWarning, match="LINNET_ENDPOINT is not set"):
        assert part([document(kb)]) == [document(kb)]
    assert part([document(kb)]) == [document(kb)], "said once"


def test_another_machine_is_warned_of_before_anything_is_sent(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINNET_ENDPOINT", "http://llm.example.org/v1/")
    heard: list[str] = []
    with reporting(Reporter(warn=heard.append)):
        assert Endpoint(kb=kb, model="m", calls=0)([document(kb)]) == [document(kb)]
    assert "TEXT LEAVES THIS MACHINE" in heard[0]
    assert "unencrypted to llm.example.org" in heard[0]


def test_a_proxy_is_not_used_for_this_machine(kb: KnowledgeBase, chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert only(Endpoint(kb=kb, model="m")([document(kb)])).concepts == ("X:2",)


def test_a_saved_folder_holds_neither_address_nor_key(
    kb: KnowledgeBase, chat: Chat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINNET_ENDPOINT_KEY", "secret-key")
    part = Endpoint(kb=kb, model="small")
    part([document(kb)])
    saving.save(Pipeline(part, kb=kb), tmp_path / "saved")
    text = "".join(path.read_text() for path in (tmp_path / "saved").rglob("*") if path.is_file())
    assert "small" in text
    assert "secret-key" not in text
    assert chat.url not in text


def test_parts_of_a_mention_and_composites(kb: KnowledgeBase, chat: Chat) -> None:
    doc = document(kb)
    [mention] = doc.mentions or ()
    split = replace(mention, parts=(Span(20, 21), Span(22, 24)))
    Endpoint(kb=kb, model="m")([replace(doc, mentions=(split,))])
    assert "\nMention: c ld\n" in chat.asked[0][2]["messages"][1]["content"]


def test_it_works_behind_decide(kb: KnowledgeBase, chat: Chat) -> None:
    doc = document(kb)
    [mention] = doc.mentions or ()
    open_ = replace(doc, mentions=(replace(mention, concepts=None, probability=None, calibration=""),))
    pipeline = Pipeline(Decide(kb=kb), Endpoint(kb=kb, model="m", threshold=0.9))
    assert only(pipeline([open_])).concepts == ("X:2",)


@pytest.mark.parametrize(
    "url",
    ["ftp://here", "localhost:8000", "http://", "http://a:b@host/v1", "http://host/v1?key=1", "http://host:99999"],
)
def test_addresses_that_are_none(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINNET_ENDPOINT", url)
    with pytest.raises(LinnetError, match="LINNET_ENDPOINT: "):
        server_of()


def test_wrong_keywords_are_named_at_once(kb: KnowledgeBase) -> None:
    with pytest.raises(RecipeError) as caught:
        Endpoint(kb=kb, model=" ", threshold=2.0, candidates=0, calls=-1, timeout=0.0)
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "model", "threshold", "candidates", "calls", "timeout",
    ]  # fmt: skip


def test_this_machine_by_other_names() -> None:
    assert Server("http://localhost:1/v1").local
    assert not Server("http://localhost.example.org/v1").local
    assert not Server("http://10.0.0.1/v1").local


def test_the_recipe_of_the_page_works(kb: KnowledgeBase, chat: Chat, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
    [toml] = re.findall(r"^```toml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    (tmp_path / "second-look.toml").write_text(toml)
    link = config.load(tmp_path / "second-look.toml", kb=kb)
    [doc] = link("She had a cold, and short stature.")
    [cold, stature] = doc.mentions or ()
    assert len(chat.asked) == 1
    assert "endpoint" in cold.meta, "of two concepts with one name, each has half of the probability"
    assert stature.meta == {}


def test_a_server_that_drips_is_not_waited_for(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    def drip(handler: Handler) -> None:
        handler.begin(200, 1000)
        with contextlib.suppress(OSError):
            for _ in range(1000):
                handler.wfile.write(b" ")
                time.sleep(0.05)

    with serving() as server:
        server.say("/v1/chat/completions", drip)
        with pytest.raises(LinnetError, match=r"not complete after 0\.2 seconds"):
            Server(server.url("/v1")).ask(b"{}", timeout=0.2)
