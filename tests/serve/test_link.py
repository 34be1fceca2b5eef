"""The routes of a linking server, and what they refuse."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from linnet.codec import dumps, loads, to_json
from linnet.data import Concept, Document, Mention, Name
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Pipeline
from linnet.pipeline.several import several
from linnet.recipes.config import load
from linnet.serve.limits import HEADERS
from linnet.serve.routes import LINES
from tests.serve.conftest import Made, Scripted, trip, wait

TEXTS = ["Short stature and seizures.", "No cleft palate.", "A cold.", ""]


def plain(doc: Document, local: Pipeline) -> Any:
    return json.loads(dumps(doc, local.kb))


def test_one_text_several_texts_and_documents(made: Made, local: Pipeline) -> None:
    client = made()
    answer = client.post("/link", json={"text": TEXTS[0]})
    assert answer.headers["content-type"] == "application/json"
    assert all(answer.headers[name] == value for name, value in HEADERS.items())
    [doc] = local(TEXTS[0])
    assert answer.json() == {
        "pipeline": "small",
        "documents": [plain(doc, local)],
        "names": {"HP:0004322": "Short stature", "HP:0001250": "Seizure"},
    }
    several = client.post("/link", json={"texts": TEXTS}).json()["documents"]
    assert several == [plain(doc, local) for doc in local(TEXTS)]
    given = Document("n1", "Fits.", mentions=(Mention(0, 4, source="user", concepts=("X:1",)),))
    [linked] = client.post("/link", json={"documents": [to_json(given)]}).json()["documents"]
    assert linked == plain(local([given])[0], local)
    assert client.post("/link", json={"texts": []}).json()["documents"] == []


def test_a_stream_is_a_file_that_linnet_reads(made: Made, local: Pipeline) -> None:
    answer = made().post("/link", json={"texts": TEXTS}, headers={"Accept": LINES})
    assert answer.headers["content-type"] == LINES
    assert [loads(line, local.kb) for line in answer.text.splitlines()] == local(TEXTS)


def test_conditions(made: Made, kb: KnowledgeBase) -> None:
    client = made()

    def found(**allow: Any) -> list[str]:
        [doc] = client.post("/link", json={"text": "Seizures, a cold.", "allow": allow}).json()["documents"]
        return [id for mention in doc["mentions"] for id in mention["concepts"]]

    assert found(types=["Temperature"]) == ["X:1"]
    assert found(under=["HP:0001250"]) == found(ids=["HP:0001250"]) == ["HP:0001250"]
    wrong = client.post("/link", json={"text": "a", "allow": {"types": ["Phenotyp"]}})
    assert (wrong.status_code, "did you mean 'Phenotype'" in wrong.json()["detail"]) == (422, True)


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"{", 400, "not JSON"), (b"\xff", 400, "byte 0xff at 0: send it in UTF-8"), (b'{"text": NaN}', 400, "NaN"),
        (b"[" * 100_000, 400, "nested"), (b"[]", 422, "should be an object"), (b"{}", 422, "one of text, texts"),
        (b'{"text": "a", "texts": ["b"]}', 422, "one of text, texts"), (b'{"text": 5}', 422, "/text"),
        (b'{"text": "a", "txt": 1}', 422, '"/txt","message":"there is no such field"'),
         (b'{"text": "a", "pipeline": "smal"}', 404, "did you mean 'small'"),
        (b'{"documents": [{"id": "1"}]}', 422, "field 'text' is missing"),
        (b'{"documents": [{"id": "1", "text": "a", "mentions": [{"start": 0, "end": 9}]}]}', 422, "outside the text"),
        (json.dumps({"text": "a" * 101}).encode(), 413, "101 characters, at most 100"),
        (json.dumps({"texts": ["a" * 90] * 3}).encode(), 413, "270 characters, at most 200"),
        (json.dumps({"texts": [""] * 6}).encode(), 413, "6 documents, at most 5"),
        (json.dumps({"text": "refuse"}).encode(), 422, "this text cannot be linked"),
        (json.dumps({"text": "crash"}).encode(), 500, "a mistake in Linnet"),
        (json.dumps({"text": "\ud800"}).encode(), 422, "surrogate pair"),
        (json.dumps({"documents": [{"id": "ü\ud800", "text": "a"}]}).encode(), 422, '"id":"ü\\ud800"'),
    ],
)  # fmt: skip
def test_what_is_refused(made: Made, local: Pipeline, body: bytes, status: int, said: str) -> None:
    client = made({"small": Scripted(local, trip)}, text=100, request=200, documents=5)
    answer = client.post("/link", content=body)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert said in answer.text
    assert client.post("/link", json={"text": "Fits."}).status_code == 200


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ({"texts": [0] * 50_000}, 422), ({"documents": [0] * 50_000}, 422),
        ({"text": "a", "allow": {"ids": [0] * 50_000}}, 422),
        (dict.fromkeys(map(str, range(50_000)), 0), 422),
        ({"text": "a", "allow": dict.fromkeys(map(str, range(50_000)), 0)}, 422),
        ({"text": "a", "allow": {"types": ["Phenotype"] * 5_001, "ids": ["X:1"] * 5_000}}, 413),
    ],
)  # fmt: skip
def test_what_is_wrong_a_thousand_times_is_said_shortly(made: Made, value: Any, status: int) -> None:
    answer = made().post("/link", json=value)
    assert answer.status_code == status
    assert len(answer.content) < 5_000  # each error takes longer than what is wrong


def test_where_nothing_answers(made: Made) -> None:
    client = made()
    for method, path, status in (("GET", "/", 404), ("POST", "/lnk", 404), ("GET", "/link", 405)):
        answer = client.request(method, path)
        assert (answer.status_code, "openapi.json" in answer.json()["detail"]) == (status, True)


def test_a_body_beyond_all_bounds(made: Made) -> None:
    client = made(text=10, request=10)

    def parts() -> Iterator[bytes]:
        for _ in range(300):
            yield b" " * 10_000

    assert client.post("/link", content=b" " * 3_000_000).status_code == 413
    assert client.post("/link", content=parts()).status_code == 413


def test_one_that_fails_does_not_fail_others(made: Made, local: Pipeline) -> None:
    gate = threading.Event()

    def act(text: str) -> None:
        if text == "first":
            gate.wait(10)
        trip(text)

    scripted = Scripted(local, act)
    client = made({"small": scripted})
    texts = ["first", *TEXTS[:3], "refuse", "crash", "Fits."]
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(client.post, "/link", json={"text": "first"})]
        wait_until(lambda: scripted.calls)
        asked += [pool.submit(client.post, "/link", json={"text": text}) for text in texts[1:]]
        wait_until(lambda: 'linnet_queue_documents{pipeline="small"} 6.0' in client.get("/metrics").text)
        gate.set()
        statuses = [one.result().status_code for one in asked]
    assert statuses == [200, 200, 200, 200, 422, 500, 200]
    assert sorted(scripted.calls[1]) == sorted(texts[1:])  # they were tried together, then each alone
    metrics = client.get("/metrics").text
    assert 'linnet_documents_total{pipeline="small"} 5.0' in metrics
    assert 'linnet_failures_total{pipeline="small"} 2.0' in metrics
    assert 'linnet_batch_documents_count{pipeline="small"} 2.0' in metrics
    assert 'linnet_requests_total{route="/link",status="422"} 1.0' in metrics
    assert 'linnet_request_seconds_count{route="/link"} 7.0' in metrics


def test_which_document_failed_is_said(made: Made, local: Pipeline) -> None:
    client = made({"small": Scripted(local, trip)})
    for text, status in (("refuse", 422), ("crash", 500)):
        docs = [{"id": "1", "text": "Fits."}, {"id": "2", "text": text}, {"id": "3", "text": "Fits."}]
        answer = client.post("/link", json={"documents": docs})
        assert (answer.status_code, answer.json()["id"]) == (status, "2")


def test_empty_texts_do_not_change_how_long_one_waits(made: Made) -> None:
    client = made()
    linker = client.app.state.linking.linker("small")  # type: ignore[attr-defined]
    client.post("/link", json={"text": "Seizures."})
    wait_until(lambda: linker._speed)
    before = linker._speed
    for _ in range(5):
        client.post("/link", json={"text": ""})
    assert linker._speed == before


def test_a_line_of_the_stream_says_what_failed(made: Made, local: Pipeline) -> None:
    client = made({"small": Scripted(local, trip)})
    docs = [{"id": "a", "text": "Fits."}, {"id": "b", "text": "refuse"}, {"id": "c", "text": "A cold."}]
    answer = client.post("/link", json={"documents": docs}, headers={"Accept": LINES})
    first, second, third = map(json.loads, answer.text.splitlines())
    assert (answer.status_code, first["id"], third["id"]) == (200, "a", "c")
    assert (second["id"], second["status"], second["detail"]) == ("b", 422, "this text cannot be linked")


def wait_until(true: Any) -> None:
    until = time.monotonic() + 20
    while not true():
        assert time.monotonic() < until
        time.sleep(0.005)


def test_too_much_at_once_is_told_to_come_again(made: Made, local: Pipeline) -> None:
    gate = threading.Event()
    keys = ["greedy-greedy-greedy", "polite-polite-polite"]
    scripted = Scripted(local, lambda text: None if text.startswith("x") else wait(gate))
    client = made({"small": scripted}, keys=keys, waiting=100, requests=8)

    def ask(key: str, text: str) -> Any:
        return client.post("/link", json={"text": text}, headers={"Authorization": f"Bearer {key}"})

    with ThreadPoolExecutor(12) as pool:
        asked = [pool.submit(ask, keys[0], "first")]
        wait_until(lambda: scripted.calls)
        asked += [pool.submit(ask, keys[0], "x" * 40)]
        wait_until(lambda: waits(client, keys[0], 1))
        full = ask(keys[0], "x" * 20)
        assert (full.status_code, full.json()["type"]) == (429, "/problems/queue")
        assert "the client's share of the queue" in full.json()["detail"]
        assert 1 <= int(full.headers["retry-after"]) <= 60
        asked += [pool.submit(ask, keys[1], "x" * 45)]  # others still have their share
        wait_until(lambda: waits(client, keys[0], 2))
        assert "the queue is full" in ask(keys[1], "x" * 16).json()["detail"]
        asked += [pool.submit(ask, keys[0], "x") for _ in range(2)]
        wait_until(lambda: waits(client, keys[0], 4))
        refused = ask(keys[0], "x")
        assert (refused.status_code, refused.json()["type"]) == (429, "/problems/requests")
        gate.set()
        assert [one.result().status_code for one in asked] == [200] * 5


def waits(client: Any, key: str, count: int) -> bool:
    told = client.get("/metrics", headers={"X-API-Key": key}).text
    return f'linnet_queue_documents{{pipeline="small"}} {count}.0' in told


def test_what_takes_too_long(made: Made, local: Pipeline) -> None:
    gate = threading.Event()
    client = made({"small": Scripted(local, lambda text: wait(gate))}, seconds=0.05)
    late = client.post("/link", json={"text": "Fits."})
    assert (late.status_code, late.json()["type"]) == (504, "/problems/gateway-timeout")
    late = client.post("/link", json={"text": "Fits."}, headers={"Accept": LINES})
    assert json.loads(late.text)["status"] == 504
    gate.set()
    wait_until(lambda: client.post("/link", json={"text": "Fits."}).status_code == 200)


def test_concepts_and_search(made: Made) -> None:
    client = made()
    concept = client.get("/concepts/HP:0009999").json()
    assert (concept["asked"], concept["id"], concept["name"]) == ("HP:0009999", "HP:0001250", "Seizure")
    assert concept["parents"] == [{"id": "HP:0000118", "name": "Phenotypic abnormality"}]
    assert concept["names"][2] == {"text": "Fits", "scope": "related", "language": "en"}
    assert client.get("/concepts/HP:1").status_code == 404
    assert "X/1" in client.get("/concepts/X%2F1").json()["detail"], "ids may have slashes"
    hits = client.get("/search", params={"q": "seiz", "limit": 1}).json()["hits"]
    assert hits == [{"id": "HP:0001250", "name": "Seizure", "matched": "Seizure", "tier": "prefix"}]
    [near] = client.get("/search", params={"q": "siezure", "limit": 1}).json()["hits"]
    assert (near["id"], near["tier"]) == ("HP:0001250", "similar name")
    assert client.get("/search", params={"q": "cold", "type": "Disease"}).json()["hits"][0]["id"] == "X:2"
    assert client.get("/search", params={"q": "a", "type": "Diseas"}).status_code == 422
    assert client.get("/search", params={"q": "a", "under": "HP:1"}).status_code == 404
    assert client.get("/search").status_code == 422
    assert client.get("/search", params={"q": "a", "pipeline": "none"}).status_code == 404


def test_pipelines_health_and_description(made: Made, local: Pipeline, kb: KnowledgeBase) -> None:
    client = made({"small": local, "other": load("dictionary", kb=kb)})
    first, second = client.get("/pipelines").json()["pipelines"]
    assert (first["name"], second["name"]) == ("small", "other")
    assert first["kb"] == [{"name": "small", "version": kb.version, "concepts": int(kb.info["concepts"])}]
    assert "concepts" in first["gives"]
    assert client.get("/health").json() == {"status": "ok", "pipelines": ["small", "other"]}
    assert client.post("/link", json={"text": "Fits.", "pipeline": "other"}).json()["pipeline"] == "other"
    told = client.get("/openapi.json").json()
    assert set(told["paths"]) == {"/link", "/concepts/{concept}", "/search", "/pipelines", "/health", "/metrics"}
    asked = told["paths"]["/link"]["post"]["requestBody"]["content"]["application/json"]
    for example in asked["examples"].values():  # each is a request that the server takes, but for what it names
        value = {key: part for key, part in example["value"].items() if key not in ("pipeline", "allow")}
        assert client.post("/link", json=value).status_code == 200
    assert client.get("/nothing").headers["content-type"] == "application/problem+json"
    client.app.state.linking.close()  # type: ignore[attr-defined]
    head = client.head("/health")
    assert (client.get("/health").status_code, head.status_code, head.content) == (503, 503, b"")
    assert client.head("/metrics").status_code == 200
    stopped = client.post("/link", json={"text": "Fits."})
    assert (stopped.status_code, stopped.headers["retry-after"]) == (503, "1")


def test_edits_of_the_knowledge_base_are_followed(made: Made, tmp_path: Path) -> None:
    kb = build([Concept("X:1", (Name("Seizure"),))], tmp_path / "edited.kb")
    client = made({"small": load("dictionary", kb=kb)})
    assert client.post("/link", json={"text": "Fever, seizure."}).json()["names"] == {"X:1": "Seizure"}
    with KnowledgeBase.edit(kb.path) as edit:
        edit.add(Concept("X:2", (Name("Fever"),)))
    names = client.post("/link", json={"text": "Fever, seizure."}).json()["names"]
    assert names == {"X:1": "Seizure", "X:2": "Fever"}
    assert client.get("/concepts/X:2").json()["name"] == "Fever"


def test_names_of_any_terminology_come_before_similar_ones(made: Made, tmp_path: Path) -> None:
    first, second = (
        build([Concept(id, (Name(name),))], tmp_path / f"{name}.kb")
        for id, name in (("X:1", "Seizures"), ("Y:1", "Siezures"))  # the second is a name that looks mistyped
    )
    client = made({"both": several(*(load("dictionary", kb=kb) for kb in (first, second)))})
    hits = client.get("/search", params={"q": "siezures"}).json()["hits"]
    assert [(hit["id"], hit["tier"]) for hit in hits] == [("Y:1", "exact"), ("X:1", "similar name")]
    assert [hit["id"] for hit in client.get("/search", params={"q": "siezures", "limit": 1}).json()["hits"]] == ["Y:1"]


def test_search_asks_the_terminologies_that_have_what_is_wanted(made: Made, tmp_path: Path) -> None:
    fever = (Name("Fever"),)
    first, second = (
        build(
            [Concept(f"{of}:1", fever, (kind,)), Concept(f"{of}:2", fever, parents=(f"{of}:1",))], tmp_path / f"{of}.kb"
        )
        for of, kind in (("X", "Sign"), ("Y", "Disease"))
    )
    client = made({"both": several(*(load("dictionary", kb=kb) for kb in (first, second)))})

    def found(**filters: Any) -> list[str]:
        hits = client.get("/search", params={"q": "fever", **filters}).json()["hits"]
        return [hit["id"] for hit in hits]

    assert found(type="Sign") == ["X:1"]
    assert found(type=["Sign", "Disease"]) == ["X:1", "Y:1"]
    assert found(under="Y:1") == ["Y:1", "Y:2"]
    assert found(under=["Y:2", "X:1"], type="Sign") == ["X:1"]
    assert found(under="Y:1", type="Sign") == []
    for filters, status in (({"type": ["Sign", "Sing"]}, 422), ({"under": ["X:1", "Z:1"]}, 404)):
        assert client.get("/search", params={"q": "fever", **filters}).status_code == status


def test_edits_are_followed_by_whoever_asks_first(made: Made, tmp_path: Path) -> None:
    kb = build([Concept("X:1", (Name("Seizure"),))], tmp_path / "edited.kb")
    client = made({"small": load("dictionary", kb=kb)})

    def fever(number: int) -> None:
        with KnowledgeBase.edit(kb.path) as edit:
            edit.add(Concept(f"X:{number}", (Name("Fever"),)))

    fever(2)
    assert client.get("/concepts/X:2").json()["name"] == "Fever"
    fever(3)
    assert len(client.get("/search", params={"q": "fever"}).json()["hits"]) == 2
    assert len(client.get("/search", params={"q": "fevver"}).json()["hits"]) == 2
    assert client.get("/pipelines").json()["pipelines"][0]["kb"][0]["concepts"] == 3
    fever(4)
    assert len(client.get("/search", params={"q": "fevver"}).json()["hits"]) == 3
    assert client.post("/link", json={"text": "Fever", "allow": {"ids": ["X:4"]}}).json()["names"] == {"X:4": "Fever"}
    kb.path.unlink()
    for asked in (client.get("/concepts/X:2"), client.post("/link", json={"text": "Fever", "allow": {"ids": ["X:4"]}})):
        assert (asked.status_code, asked.headers["retry-after"]) == (503, "60")


def test_documents_come_as_they_were_read(made: Made, local: Pipeline) -> None:
    docs = local(TEXTS)  # with candidates, which have rows here and ids on the way
    answer = made().post("/link", json={"documents": [plain(doc, local) for doc in docs]}).json()
    assert [loads(json.dumps(value), local.kb) for value in answer["documents"]] == local(docs)
