"""``linnet bench lexical``: speed, memory and recall of the n-gram index beside an exhaustive product."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from linnet.bench.synthetic import synthetic
from linnet.cli.common import AsJson, Quiet, Verbose, listen, progress, table
from linnet.corpora.catalog import read_corpus
from linnet.data import Concept
from linnet.errors import LinnetError
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.vocabularies import read_vocabulary
from linnet.vocabularies.join import JoinReport, join

__all__ = ["lexical", "mentions", "misspell", "real_concepts"]

BATCH = 64
COLUMNS = (
    "names of", "names", "build s", "file MB", "open ms", "memory MB", "median ms", "95 % ms", "batch ms",
    "product ms", "product batch ms", "ratio", "batch ratio", "same top",
)  # fmt: skip


def lexical(
    data: Annotated[
        Path | None, typer.Option(envvar="LINNET_DATA", help="Folder of the terminologies and corpora.")
    ] = None,
    kb: Annotated[Path | None, typer.Option(help="Measure only this knowledge base.")] = None,
    names: Annotated[int, typer.Option(min=1000, help="Approximate number of synthetic names.")] = 1_000_000,
    queries: Annotated[int, typer.Option(min=BATCH, help="Number of distinct mentions to look up.")] = 512,
    k: Annotated[int, typer.Option(min=1, help="Candidates per mention.")] = 20,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Look mentions up by n-grams in all real names, in synthetic ones or in a knowledge base, on one thread."""
    from linnet.bench.lexical_steps import measure  # noqa: PLC0415 - imports SciPy, which no other command waits for

    listen(quiet=quiet, verbose=verbose)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for label, opened, texts in _tasks(data, kb, names, queries, Path(folder)):
            row = {"names of": label, "k": k, **measure(opened, texts, k, batch=BATCH)}
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
        yield opened.path.name, opened, misspell(opened, queries)
        return
    if data is None:
        raise LinnetError("say where terminologies and corpora are: --data DIR or LINNET_DATA; or give --kb FILE")
    concepts = join(real_concepts(data / "kb"), report=JoinReport())
    yield "MeSH, MEDIC, HPO, DOID", build(concepts, folder / "real.kb"), mentions(data, queries)
    made = build(progress(synthetic(names * 2 // 5), what="synthetic concepts", quiet=True), folder / "synthetic.kb")
    yield "synthetic", made, misspell(made, queries)


def real_concepts(folder: Path) -> list[Iterable[Concept]]:
    """Return the concepts of four terminologies, each on its own."""
    ctd = folder / "CTD_diseases_2017-06.tsv.gz"
    trees = folder / "mesh2015_tree_numbers_dhimmel.tsv.gz"
    return [
        read_vocabulary("mesh-table", folder / "mesh_merged.tsv.gz", trees=trees, diseases=ctd),
        read_vocabulary("medic", folder / "medic_2012-07-06_biosyn.txt.gz"),
        read_vocabulary("obo", folder / "hp_2017-03.obo.gz"),
        read_vocabulary("obo", folder / "doid_2015-05_HumanDO.obo.gz"),
    ]


def mentions(data: Path, count: int) -> list[str]:
    """Return distinct surfaces of the mentions in two development sets, in an order that chance fixed."""
    texts = {
        doc.surface(mention)
        for corpus in ("bc5cdr", "ncbi_disease")
        for doc in read_corpus(corpus, split="dev", data=data)
        for mention in doc.mentions or ()
    }
    return _some(sorted(texts), count)


def misspell(kb: KnowledgeBase, count: int) -> list[str]:
    """Return names spread over a knowledge base, each without one of its characters."""
    step = max(1, int(kb.info["names"]) // (4 * count))
    texts = [name.text for place, name in enumerate(kb.names()) if place % step == 0]
    chance = random.Random(13)  # noqa: S311 - a fixed choice, no secret
    return [text[: (cut := chance.randrange(len(text)))] + text[cut + 1 :] for text in _some(texts, count)]


def _some(texts: list[str], count: int) -> list[str]:
    return random.Random(13).sample(texts, min(count, len(texts)))  # noqa: S311 - a fixed choice, no secret


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.4f}" if value <= 1 and value > 0.9 else f"{value:,.2f}" if value < 100 else f"{value:,.0f}"
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
