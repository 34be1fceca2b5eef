"""``linnet bench lexical``: speed, memory and recall of the n-gram index beside an exhaustive product."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from scipy import sparse

from linnet.cli.common import Quiet, Verbose, listen, progress, table
from linnet.corpora.catalog import read_corpus
from linnet.data import Concept
from linnet.errors import LinnetError
from linnet.kb import KnowledgeBase
from linnet.kb_build import build
from linnet.retrieve.ngram_file import index_path, open_index
from linnet.retrieve.ngram_index import NgramIndex, best_concepts
from linnet.retrieve.ngram_text import Analysis
from linnet.vocabularies import read_vocabulary
from linnet.vocabularies.join import JoinReport, join
from linnet.vocabularies.synthetic import synthetic

__all__ = ["lexical"]

ANALYSIS = Analysis()  # the defaults of the n-gram retriever
BATCH = 64
MOST_COMPARED = 3_000_000  # names above which the exhaustive product would not fit into memory
COLUMNS = (
    "names of", "names", "build s", "file MB", "open ms", "memory MB", "median ms", "95 % ms", "batch ms",
    "product ms", "product batch ms", "ratio", "batch ratio", "same top",
)  # fmt: skip


def lexical(
    data: Annotated[
        Path | None, typer.Option(envvar="LINNET_DATA", help="Folder of the terminologies and corpora.")
    ] = None,
    kb: Annotated[Path | None, typer.Option(help="Measure this knowledge base alone.")] = None,
    names: Annotated[int, typer.Option(min=1000, help="About so many synthetic names.")] = 1_000_000,
    queries: Annotated[int, typer.Option(min=BATCH, help="Distinct mentions looked up.")] = 512,
    k: Annotated[int, typer.Option(min=1, help="Candidates a mention.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line instead of a table.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Look mentions up by n-grams in all real names, in synthetic ones or in a knowledge base, on one thread."""
    listen(quiet=quiet, verbose=verbose)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for label, opened, texts in _tasks(data, kb, names, queries, Path(folder)):
            row = {"names of": label, "k": k, **_measure(opened, texts, k)}
            rows.append(row)
            if as_json:
                print(json.dumps(row))
    if not as_json:
        cells = [[_cell(row.get(column)) for column in COLUMNS] for row in rows]
        title = f"top {k} of {queries} mentions, batches of {BATCH}, one thread"
        table(title, COLUMNS, cells, right=range(1, len(COLUMNS)))


def _tasks(
    data: Path | None, kb: Path | None, names: int, queries: int, folder: Path
) -> Iterable[tuple[str, KnowledgeBase, list[str]]]:
    """Yield what is measured: a label, a knowledge base, and texts to look up."""
    if kb is not None:
        opened = KnowledgeBase.open(kb)
        yield opened.path.name, opened, _misspelt(opened, queries)
        return
    if data is None:
        raise LinnetError("say where terminologies and corpora are: --data DIR or LINNET_DATA; or give --kb FILE")
    concepts = join(_real(data / "kb"), report=JoinReport())
    yield "MeSH, MEDIC, HPO, DOID", build(concepts, folder / "real.kb"), _mentions(data, queries)
    made = build(progress(synthetic(names * 2 // 5), what="synthetic concepts", quiet=True), folder / "synthetic.kb")
    yield "synthetic", made, _misspelt(made, queries)


def _real(folder: Path) -> list[Iterable[Concept]]:
    ctd = folder / "CTD_diseases_2017-06.tsv.gz"
    trees = folder / "mesh2015_tree_numbers_dhimmel.tsv.gz"
    return [
        read_vocabulary("mesh-table", folder / "mesh_merged.tsv.gz", trees=trees, diseases=ctd),
        read_vocabulary("medic", folder / "medic_2012-07-06_biosyn.txt.gz"),
        read_vocabulary("obo", folder / "hp_2017-03.obo.gz"),
        read_vocabulary("obo", folder / "doid_2015-05_HumanDO.obo.gz"),
    ]


def _mentions(data: Path, count: int) -> list[str]:
    """Return distinct surfaces of the mentions in two development sets, in an order that chance fixed."""
    texts = {
        doc.surface(mention)
        for corpus in ("bc5cdr", "ncbi_disease")
        for doc in read_corpus(corpus, split="dev", data=data)
        for mention in doc.mentions or ()
    }
    return _some(sorted(texts), count)


def _misspelt(kb: KnowledgeBase, count: int) -> list[str]:
    """Return names spread over a knowledge base, each without one of its characters."""
    step = max(1, int(kb.info["names"]) // (4 * count))
    texts = [name.text for place, name in enumerate(kb.names()) if place % step == 0]
    chance = random.Random(13)  # noqa: S311 - a fixed choice, no secret
    return [text[: (cut := chance.randrange(len(text)))] + text[cut + 1 :] for text in _some(texts, count)]


def _some(texts: list[str], count: int) -> list[str]:
    return random.Random(13).sample(texts, min(count, len(texts)))  # noqa: S311 - a fixed choice, no secret


def _measure(kb: KnowledgeBase, texts: Sequence[str], k: int) -> dict[str, Any]:
    # in processes of their own: what building needed is no part of what searching needs
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(1, maxtasksperchild=1) as pool:
        built = pool.apply(_build, (kb,))
    with spawn.Pool(1, maxtasksperchild=1) as pool:
        found = pool.apply(_search, (kb, texts, k))
    if found["names"] > MOST_COMPARED:
        return {**built, **found}
    with spawn.Pool(1, maxtasksperchild=1) as pool:
        compared = pool.apply(_compare, (kb, texts, k))
    return {
        **built, **found, **compared, "ratio": compared["product ms"] / found["median ms"],
        "batch ratio": compared["product batch ms"] / found["batch ms"],
    }  # fmt: skip


def _build(kb: KnowledgeBase) -> dict[str, Any]:
    path = index_path(kb, ANALYSIS)
    path.unlink(missing_ok=True)
    started = time.perf_counter()
    open_index(kb, ANALYSIS)
    seconds = time.perf_counter() - started
    return {"build s": seconds, "build memory MB": _peak(), "file MB": path.stat().st_size / 1e6}


def _search(kb: KnowledgeBase, texts: Sequence[str], k: int) -> dict[str, Any]:
    before = _peak()
    started = time.perf_counter()
    index = open_index(kb, ANALYSIS)
    opened = time.perf_counter() - started
    for text in texts[:BATCH]:
        index.search(text, k)
    times = []
    for text in texts:
        started = time.thread_time()
        index.search(text, k)
        times.append((time.thread_time() - started) * 1e3)
    quantiles = statistics.quantiles(times, n=20)
    return {
        "names": len(index), "open ms": opened * 1e3, "memory MB": _peak(), "memory before MB": before,
        "median ms": statistics.median(times), "95 % ms": quantiles[-1], "batch ms": statistics.fmean(times),
    }  # fmt: skip


def _compare(kb: KnowledgeBase, texts: Sequence[str], k: int) -> dict[str, Any]:
    """Measure the product of mentions with all names, and how much of its best candidates are found."""
    index = open_index(kb, ANALYSIS)
    arrays = index.arrays
    shape = (len(index), len(index.inverse))
    by_name = sparse.csr_array((arrays["name_weights"], arrays["name_units"], arrays["name_ends"]), shape=shape)
    product = sparse.csr_array(index.by_gram @ by_name.T)  # (n-grams, names)
    times, batch_times, same, wanted = [], [], 0, 0
    for start in range(0, len(texts), BATCH):
        some = texts[start : start + BATCH]
        matrix = _vectors(index, some)
        started = time.thread_time()
        exact = [_best(index, row, k) for row in _rows(matrix @ product)]
        batch_times.append((time.thread_time() - started) * 1e3 / len(some))
        for text, best in zip(some, exact, strict=True):
            wanted += len(best)
            same += len(np.intersect1d(best, index.search(text, k)[0]))
        started = time.thread_time()
        _best(index, next(_rows(matrix[:1] @ product)), k)
        times.append((time.thread_time() - started) * 1e3)
    return {
        "product ms": statistics.median(times), "product batch ms": statistics.median(batch_times),
        "same top": same / max(1, wanted),
    }  # fmt: skip


def _vectors(index: NgramIndex, texts: Sequence[str]) -> Any:
    """Return the vectors of texts (texts, n-grams) at length 1."""
    places = {gram: place for place, gram in enumerate(index.grams.tolist())}
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    for row, text in enumerate(texts):
        frequencies = ANALYSIS.frequencies(ANALYSIS.units(text))
        weights = {
            places[gram]: tf * index.arrays["idf"][places[gram]] for gram, tf in frequencies.items() if gram in places
        }
        length = sum(weight**2 for weight in weights.values()) ** 0.5
        rows += [row] * len(weights)
        columns += weights
        values += [weight / length for weight in weights.values()]
    return sparse.csr_array((np.array(values, np.float32), (rows, columns)), shape=(len(texts), len(places)))


def _rows(matrix: Any) -> Iterator[tuple[Any, Any]]:
    """Return the columns and values of each row."""
    ends = matrix.indptr.tolist()
    return iter([(matrix.indices[a:b], matrix.data[a:b]) for a, b in itertools.pairwise(ends)])


def _best(index: NgramIndex, row: tuple[Any, Any], k: int) -> Any:
    names, scores = row
    return best_concepts(index.concepts[names], scores, index.name_rows[names], k)[0]


def _peak() -> float:
    import resource  # noqa: PLC0415 - Unix alone has it

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3  # bytes there, kB elsewhere


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.4f}" if value <= 1 and value > 0.9 else f"{value:,.2f}" if value < 100 else f"{value:,.0f}"
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
