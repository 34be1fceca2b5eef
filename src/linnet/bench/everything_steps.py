"""The steps of ``linnet bench all``: each bench at a small size, its figures as ratios of what was measured in one run.

Texts are the notes of the demo, wherever it runs, so that a ratio depends on code and machine alone. Every ratio is the
better the higher it is. A bench that compares two ways gives their ratio; of one that knows only seconds, the ratio is
how often its work is done in the time of `reference`, in turns with it, both in processor time.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linnet.bench.http_site import abstracts
from linnet.bench.lexical import misspell
from linnet.bench.steps import STEPS as KB_STEPS
from linnet.bench.steps import answer
from linnet.bench.synthetic import synthetic
from linnet.corpora import read, write
from linnet.data import Document, Mention
from linnet.kb.build import build
from linnet.recipes.config import load, open_kb

__all__ = ["STEPS", "Ratio", "per_reference", "reference"]

SEED, TURNS = 13, 4
ENCODER = "minilm"
LENGTHS = (16, 128)  # tokens of the texts that are encoded


class Ratio(NamedTuple):
    """What is compared, the ratio, and the absolute figure behind it, which holds for this machine and moment."""

    what: str
    value: float
    figure: str


def reference() -> float:
    """Return the processor seconds of a fixed job that is like linking: strings, a dictionary, small NumPy calls."""
    started = time.process_time()
    counts: dict[str, int] = {}
    for number in range(60_000):
        word = f"word{number % 997}".upper()
        counts[word] = counts.get(word, 0) + len(word)
    row = np.arange(256.0)
    for _ in range(4_000):
        row = np.sort(np.abs(row - row.mean()))
    return time.process_time() - started


def per_reference(measure: Callable[[], float], *, turns: int = TURNS) -> tuple[float, float]:
    """Return how often some work is done in the time of the reference job, and the seconds of the work.

    Args:
        measure: does the work and returns its seconds.
        turns: how often both are done, in turn; the best of each counts.
    """
    taken = [(reference(), measure()) for _ in range(turns)]
    fixed, ours = (max(min(seconds), 1e-9) for seconds in zip(*taken, strict=True))
    return fixed / ours, ours


def _busy(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _kb(folder: Path) -> Iterator[Ratio]:
    path = folder / "synthetic.kb"
    size, asked, edits = 3_000, 5, 200
    value, seconds = per_reference(
        lambda: float(KB_STEPS["build"](path=str(path), concepts=size, seed=SEED, quiet=True)["processor"])
    )
    yield Ratio("concepts built in a reference", size * value, f"{size / seconds:,.0f}/s")

    def search() -> float:
        busy = KB_STEPS["search"](path=str(path), queries=asked, seed=SEED)["busy"]
        return math.fsum(map(math.fsum, busy.values())) / sum(map(len, busy.values()))

    value, seconds = per_reference(search)
    yield Ratio("searches in a reference", value, f"{1e3 * seconds:.2f} ms each")
    value, seconds = per_reference(lambda: float(KB_STEPS["edit"](path=str(path), edits=edits, seed=SEED)["processor"]))
    yield Ratio("edits in a reference", edits * value, f"{1e3 * seconds / edits:.2f} ms each")


def _dictionary(_: Path) -> Iterator[Ratio]:
    linker, docs = load("hpo"), abstracts(None, 120)
    linker(docs[:12])
    value, seconds = per_reference(lambda: _busy(lambda: list(linker.stream(docs))), turns=5)
    yield Ratio("notes linked in a reference", len(docs) * value, f"{len(docs) / seconds:,.0f}/s")


def _formats(folder: Path) -> Iterator[Ratio]:
    docs = _found(120)
    for name in ("pubtator", "bioc", "bioc_json", "jsonl"):
        path = folder / f"notes.{name}"
        for what, work in (
            ("written", lambda: write(docs, path, format=name)),  # noqa: B023 - called at once
            ("read", lambda: sum(1 for _ in read(path, format=name))),  # noqa: B023
        ):
            value, seconds = per_reference(lambda: _busy(work))  # noqa: B023
            speed = f"{path.stat().st_size / 1e6 / seconds:,.1f} MB/s"
            yield Ratio(f"notes {what} in a reference, {name}", len(docs) * value, speed)


def _evaluate(_: Path) -> Iterator[Ratio]:
    from linnet.bench.evaluate import measure  # noqa: PLC0415 - slow to import, as in all that follow

    mentions = 5_000
    value, seconds = per_reference(lambda: measure(60, mentions, 32, 1_000, seed=SEED).meter.processor)
    yield Ratio("mentions evaluated in a reference", mentions * value, f"{mentions / seconds:,.0f}/s")


def _lexical(folder: Path) -> Iterator[Ratio]:
    from linnet.bench.lexical_steps import measure  # noqa: PLC0415

    kb = build(synthetic(12_000, seed=SEED), folder / "synthetic.kb")
    row = measure(kb, misspell(kb, 448), 20, batch=64)
    yield Ratio("to an exhaustive product, single", row["ratio"], f"{row['median ms']:.2f} ms")
    yield Ratio("to an exhaustive product, batch", row["batch ratio"], f"{row['batch ms']:.2f} ms")
    yield Ratio("batch to single", row["median ms"] / row["batch ms"], f"{row['batch ms']:.2f} ms")


def _dense(folder: Path) -> Iterator[Ratio]:
    from linnet.bench.dense_steps import measure, time_additions  # noqa: PLC0415

    kb = build(synthetic(800, seed=SEED), folder / "synthetic.kb")
    flat, hnsw = measure(kb, misspell(kb, 64), encoder=ENCODER, backend="torch", kinds=("flat", "hnsw"))
    yield Ratio("hnsw to exact search", hnsw["to exact"], f"{hnsw['median ms']:.2f} ms")
    seconds = time_additions(kb, encoder=ENCODER, backend="torch")
    yield Ratio("1,000 concepts added, to encoding alone", 1_000 / flat["names/s"] / seconds, f"{seconds:.1f} s")


def _encode(_: Path) -> Iterator[Ratio]:
    from linnet.bench.encode_steps import measure, prepare  # noqa: PLC0415

    encoder, tasks = prepare(ENCODER, device="auto", download=False)
    for task in tasks:
        if task.fewest == task.most and task.most in LENGTHS:
            row = measure(encoder, task, batch=None, size=2_048, repeats=2)
            what, speed = f"{task.most} tokens, {task.numbers}", f"{row['texts/s']:,.0f} texts/s"
            yield Ratio(f"share of the matrix product, {what}", row["share"], speed)
            yield Ratio(f"to plain code, {what}", row["ratio"], speed)


def _found(count: int) -> list[Document]:
    """Return the notes, again and again, with what the dictionary finds in them as gold."""
    docs = []
    for doc in load("hpo")(abstracts(None, count)):
        found = [one for one in doc.mentions or () if one.concepts and not one.parts]
        gold = tuple(Mention(one.start, one.end, source="gold", concepts=one.concepts) for one in found)
        docs.append(Document(doc.id, doc.text, mentions=gold))
    return docs


def _notes(folder: Path) -> tuple[Path, Path]:
    """Return a recipe that names the notes as a corpus, and a knowledge base of their concepts among others."""
    kb, docs = open_kb("hpo"), _found(12)
    ids = {id for doc in docs for mention in doc.mentions or () for id in mention.concepts or ()}
    corpus = folder / "corpus"
    corpus.mkdir()
    write(docs, corpus / "dev.jsonl")
    concepts = (replace(kb[id], parents=()) for id in sorted(ids))
    small = build(itertools.chain(concepts, synthetic(500, seed=SEED)), folder / "notes.kb").path
    recipe = folder / "notes.toml"
    parts = "".join(f'[[pipeline]]\nuse = "{part}"\n' for part in ("gold", "ngram", "decide"))
    recipe.write_text(f"corpus = {json.dumps(str(corpus))}\nkb = {json.dumps(str(small))}\n{parts}", encoding="utf-8")
    return recipe, small


def _collective(folder: Path) -> Iterator[Ratio]:
    from linnet.bench.collective_steps import measure_all  # noqa: PLC0415

    recipe, _ = _notes(folder)
    rows = measure_all(str(recipe), encoder=ENCODER, most=6, cross=False, data=None, counts=(), long=2_000)
    alone = rows[2]
    for row in rows:
        if row is not alone and row.documents == alone.documents:
            yield Ratio(f"{row.what}, to each mention alone", row.speed / alone.speed, f"{row.speed:,.0f} mentions/s")


def _hierarchical(folder: Path) -> Iterator[Ratio]:
    from linnet.bench.hierarchical_steps import measure_all  # noqa: PLC0415

    recipe, _ = _notes(folder)
    tagger, *rows = measure_all(str(recipe), encoder=ENCODER, most=6, data=None)
    for row in rows:
        yield Ratio(f"{row.what}, to the tagger alone", row.speed / tagger.speed, f"{row.speed:.1f} notes/s")


def _generate(folder: Path) -> Iterator[Ratio]:
    from linnet.bench.generate_steps import measure_all  # noqa: PLC0415

    recipe, _ = _notes(folder)
    *ours, alone, batched = measure_all(str(recipe), encoder=ENCODER, most=16, concepts=0, beams=5, data=None)
    for row in ours:
        theirs = alone if row.batch == 1 else batched
        yield Ratio(
            f"to Transformers' search, batch {row.batch}", row.speed / theirs.speed, f"{row.speed:.1f} mentions/s"
        )


def _rerank(folder: Path) -> Iterator[Ratio]:
    from linnet.bench.rerank_steps import measure, prepare  # noqa: PLC0415

    _, kb = _notes(folder)
    cross, reads = prepare(str(kb), str(folder / "corpus"), None, documents=2, top_k=5, encoder=ENCODER)
    _, *rows = measure(cross, reads, repeats=2)
    for row in rows:
        yield Ratio(
            f"{row['packing']}, to one pair at a time", row["time ratio"], f"{row['mentions/s']:,.0f} mentions/s"
        )


def _http(_: Path) -> Iterator[Ratio]:
    from linnet.bench.http_steps import Plan, measure_http  # noqa: PLC0415

    found = {one.what: one.value for one in measure_http(Plan(docs=400, clients=20, repeats=3)).gauges}
    share, speed = found["share of the bulk pipeline, read and written"] / 100, found["over HTTP, 20 requests at once"]
    yield Ratio("over HTTP, to the bulk pipeline", share, f"{speed:,.0f} notes/s")


def _scale(_: Path) -> Iterator[Ratio]:
    from linnet.bench.scale_steps import Plan, measure_scale  # noqa: PLC0415

    report = measure_scale(Plan(copies=150, workers=(1, 2), shard=300))
    found = {one.what: one.value for one in report["2 workers"]}
    speed = found["documents/s, once the workers have loaded"]
    yield Ratio("2 workers to one", found["times as many as the first"], f"{speed:,.0f} notes/s")


BENCHES: dict[str, Callable[[Path], Iterable[Ratio]]] = {
    "kb": _kb, "dictionary": _dictionary, "formats": _formats, "evaluate": _evaluate, "lexical": _lexical,
    "dense": _dense, "encode": _encode, "collective": _collective, "hierarchical": _hierarchical,
    "generate": _generate, "rerank": _rerank, "http": _http, "scale": _scale,
}  # fmt: skip


def _step(name: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="linnet-bench-") as folder:
        return {"ratios": list(BENCHES[name](Path(folder)))}


STEPS: dict[str, Callable[..., dict[str, Any]]] = {name: functools.partial(_step, name) for name in BENCHES}


if __name__ == "__main__":
    answer(STEPS)
