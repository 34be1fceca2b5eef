"""``linnet bench dense``: indexes of encoded names beside exact search, in speed, memory and recall."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from linnet.bench.lexical import mentions, misspell, real_concepts
from linnet.cli.common import AsJson, Quiet, Verbose, listen, progress, table
from linnet.data import Concept, Name
from linnet.errors import LinnetError
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.vocabularies.join import JoinReport, join

__all__ = ["dense", "variants"]

KINDS = ("flat", "hnsw", "ivf")
COLUMNS = (
    "index", "names", "generated", "names/s",
    "build s", "build MiB", "file MB", "open ms", "own MiB", "mapped MiB", "median ms",
    "95 % ms", "to exact", "recall@1", "recall@20",
)  # fmt: skip
PUBLISHED = "600 ms : 3 ms = 200 (TrainX: exact to HNSW, 3.6 million concepts)"
CHANGED = 0.5  # of the words of a variant, at least one is another


def dense(
    folder: Annotated[
        Path, typer.Option(help="Folder for the knowledge base, its vectors and indexes; later runs reuse it.")
    ] = Path("bench-dense"),
    data: Annotated[
        Path | None, typer.Option(envvar="LINNET_DATA", help="Folder of the terminologies and corpora.")
    ] = None,
    kb: Annotated[Path | None, typer.Option(help="Measure this knowledge base; files are kept beside it.")] = None,
    names: Annotated[int, typer.Option(min=1000, help="Minimum number of names; real names come first.")] = 1_000_000,
    queries: Annotated[int, typer.Option(min=2, help="Number of distinct mentions to look up.")] = 512,
    encoder: Annotated[str, typer.Option(help="A packaged encoder, a folder, or a Hugging Face name.")] = "minilm",
    backend: Annotated[str, typer.Option(help="Backend of the encoder: torch, or onnx (int8).")] = "torch",
    index: Annotated[list[str] | None, typer.Option(help="Indexes to build: hnsw, ivf; default: both.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Search the vectors of all real names, and of variants of them, exactly and by each index, on one thread.

    Names are those of MeSH, MEDIC, HPO and DOID; variants are real names in which words are exchanged, encoded like all
    others. Mentions are those of two development sets. recall@20 is the share of the exact first 20 concepts.
    """
    from linnet.bench.dense_steps import measure, time_additions  # noqa: PLC0415 - imports what no other command waits for

    listen(quiet=quiet, verbose=verbose)
    if backend not in ("torch", "onnx"):
        raise LinnetError(f"--backend {backend}: expected torch or onnx")
    if unknown := set(index or ()) - set(KINDS):
        raise LinnetError(f"--index {min(unknown)}: expected one of {', '.join(KINDS)}")
    kinds = [kind for kind in KINDS if kind == "flat" or kind in (index or KINDS)]
    opened, generated, texts = _task(folder, data, kb, names, queries)
    rows = []
    for row in measure(opened, texts, encoder=encoder, backend=backend, kinds=kinds):
        rows.append({**row, "generated": f"{generated:.0%}"})
        if as_json:
            print(json.dumps(rows[-1]))
    seconds = time_additions(opened, encoder=encoder, backend=backend)
    if as_json:
        print(json.dumps({"1,000 concepts added s": seconds}))
    else:
        cells = [[_cell(row.get(column)) for column in COLUMNS] for row in rows]
        table(
            f"{len(opened):,} concepts, {len(texts)} mentions; {PUBLISHED}",
            COLUMNS,
            cells,
            right=range(1, len(COLUMNS)),
        )
        print(f"1,000 concepts added to a copy are found after {seconds:.1f} s")


def _task(
    folder: Path, data: Path | None, kb: Path | None, names: int, queries: int
) -> tuple[KnowledgeBase, float, list[str]]:
    """Return a knowledge base, the share of its names that are generated, and what is looked up."""
    if kb is not None:
        own = KnowledgeBase.open(kb)
        return own, 0.0, misspell(own, queries)
    if data is None:
        raise LinnetError("say where terminologies and corpora are: --data DIR or LINNET_DATA; or give --kb FILE")
    folder.mkdir(parents=True, exist_ok=True)
    return *_kb(folder, data, names), mentions(data, queries)


def _kb(folder: Path, data: Path, names: int) -> tuple[KnowledgeBase, float]:
    """Return a knowledge base of about so many names, and the share of them that are generated."""
    real_path, path = folder / "real.kb", folder / f"names-{names}.kb"
    real = (
        KnowledgeBase.open(real_path)
        if real_path.exists()
        else build(join(real_concepts(data / "kb"), report=JoinReport()), real_path)
    )
    count = int(real.info["names"])
    if names <= count:
        return real, 0.0
    if not path.exists():
        texts = [name.text for name in real.names()]
        more = variants(texts, names - count)
        build(progress(itertools.chain(real.concepts(), more), what="concepts", quiet=True), path)
    kb = KnowledgeBase.open(path)
    return kb, 1 - count / int(kb.info["names"])


def variants(texts: Iterable[str], count: int) -> Iterator[Concept]:
    """Yield concepts of two new names each, real ones with words of others in place of theirs, until there are so many.

    >>> texts = ["acute renal failure", "chronic liver disease", "heart block"]
    >>> [name.text for concept in variants(texts, 2) for name in concept.names][:1] != texts[:1]
    True
    """
    chance = random.Random(13)  # noqa: S311 - a fixed choice, no secret
    split = [words for text in texts if 2 <= len(words := text.split()) <= 8]
    words = [word for some in split for word in some]
    seen = {" ".join(some) for some in split}
    made = 0
    while made < count:
        own: list[str] = []
        while len(own) < 2:
            some = list(chance.choice(split))
            for place in chance.sample(range(len(some)), max(1, int(CHANGED * len(some)))):
                some[place] = chance.choice(words)
            if (text := " ".join(some)) not in seen:
                seen.add(text)
                own.append(text)
        made += len(own)
        yield Concept(f"VARIANT:{made}", tuple(map(Name, own)))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.3f}" if value <= 1 else f"{value:,.2f}" if value < 100 else f"{value:,.0f}"
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
