"""The steps of ``linnet bench generate``."""

from __future__ import annotations

import dataclasses
import itertools
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from linnet.bench.measured import MIB, best_seconds, dev_documents, open_kb
from linnet.bench.synthetic import synthetic
from linnet.evaluate.meter import peak_resident
from linnet.kb.build import build
from linnet.nn.seq2seq import Seq2Seq
from linnet.nn.texts import padded
from linnet.nn.trie import Steps, Trie
from linnet.pipeline import Pipeline
from linnet.recipes.config import read_recipe
from linnet.retrieve.generate import Generate
from linnet.text.contexts import InContext

__all__ = ["Row", "measure_all"]

BATCHES = (1, 8, 64)
TREE = dict[int, Any]


@dataclass(frozen=True)
class Row:
    """How fast names are written.

    Args:
        names: of what knowledge base.
        count: how many names it has.
        size: bytes of the prefix tree a name.
        what: writes them.
        batch: mentions at once.
        speed: mentions a second.
        share: of the time that the prefix tree takes.
        memory: MiB, the highest of the process up to then.
    """

    names: str
    count: int
    size: float
    what: str
    batch: int
    speed: float
    share: float
    memory: float

    def to_record(self) -> dict[str, Any]:
        """Return the row as JSON has it."""
        return dataclasses.asdict(self)


class TimedTree:
    """A prefix tree that adds up the seconds it is asked for."""

    def __init__(self, tree: Trie) -> None:
        self.tree, self.root, self.seconds = tree, tree.root, 0.0

    def step(self, states: Any) -> Steps:
        """Return what the tree says."""
        began = time.perf_counter()
        found = self.tree.step(states)
        self.seconds += time.perf_counter() - began
        return found

    def named(self, state: int) -> Any:
        """Return what the tree says."""
        return self.tree.named(state)


def measure_all(source: str, *, encoder: str, most: int, concepts: int, beams: int, data: Path | None) -> list[Row]:
    """Return rows of the names of a recipe's knowledge base, then of a synthetic one.

    Raises:
        RecipeError: the recipe names no corpus or knowledge base.
    """
    recipe = read_recipe(source)
    kb = open_kb(recipe, source, data=data)
    part = Generate(kb=kb, encoder=encoder, beams=beams, k=beams)
    docs = dev_documents(recipe, most, data=data)
    for before in Pipeline(part).front:
        docs = before(docs)
    mentions = [one for doc in docs for one in part.contexts(doc)][:most]
    few = mentions[: max(1, most // 8)]
    rows = [*_ours(part, kb.path.name, mentions), *(_theirs(part, kb.path.name, few, size) for size in BATCHES[::2])]
    if concepts:
        with tempfile.TemporaryDirectory() as folder:
            many = build(synthetic(concepts, seed=13), Path(folder) / "synthetic.kb")
            rows += _ours(Generate(kb=many, encoder=encoder, beams=beams, k=beams), "synthetic", mentions)
    return rows


def _ours(part: Generate, names: str, mentions: Sequence[InContext]) -> list[Row]:
    """Return the speed of the component at several sizes of batches."""
    count, size = _size(part)
    rows = []
    for batch in BATCHES:
        part.batch = batch
        some = list(mentions[: max(8, len(mentions) * batch // BATCHES[-1])])
        tree = part.tree = TimedTree(part.tree)  # type: ignore[assignment]
        seconds = best_seconds(lambda some=some: part.find(some, [None] * len(some)), 2)  # type: ignore[misc]
        part.tree = tree.tree
        share = tree.seconds / 2 / seconds
        rows.append(Row(names, count, size, "linnet", batch, len(some) / seconds, share, peak_resident() / MIB))
    return rows


def _size(part: Generate) -> tuple[int, float]:
    """Return how many names there are, and the bytes of the tree for each."""
    _ = part.tree
    count = int(part.name_counts.sum())
    return count, sum(path.stat().st_size for path in part.index_files if path.exists()) / max(1, count)


def _theirs(part: Generate, names: str, mentions: Sequence[InContext], batch: int) -> Row:
    """Return the speed of ``transformers.generate`` under a tree of dictionaries, prompts of one length at a time."""
    network = part.network
    tree = _nested(part, network)
    texts, _ = part.inputs(mentions)
    prompts = part.prompts(mentions)
    places = sorted(range(len(texts)), key=lambda place: len(prompts[place]))
    groups = [list(own) for _, own in itertools.groupby(places, key=lambda place: len(prompts[place]))]
    batches = [own[start : start + batch] for own in groups for start in range(0, len(own), batch)]

    def write() -> None:
        for some in batches:
            ids, mask, _ = padded([texts[place] for place in some], padding=network.tokenizer.pad_token_id)
            shown = torch.tensor([[network.start, *prompts[place]] for place in some])
            _generate(network, tree, ids, mask, shown, part.beams)

    seconds = best_seconds(write, 1)
    count, _ = _size(part)
    speed = len(texts) / seconds
    return Row(names, count, 0.0, "transformers.generate", batch, speed, 0.0, peak_resident() / MIB)


def _nested(part: Generate, network: Seq2Seq) -> TREE:
    texts = [part.form(name.text) for name in part.kb.names()]
    tree: TREE = {}
    for tokens in network.pieces(texts):
        node = tree
        for token in (*tokens, network.end):
            node = node.setdefault(token, {})
    return tree


def _generate(network: Seq2Seq, tree: TREE, ids: Any, mask: Any, prompt: Any, beams: int) -> None:
    width = prompt.shape[1]

    def allowed(_: int, written: Any) -> list[int]:
        node = tree
        for token in written[width:].tolist():
            node = node.get(token, {})
        return list(node) or [network.end]

    with torch.inference_mode():
        network.backbone.generate(  # type: ignore[operator]
            input_ids=ids, attention_mask=mask, decoder_input_ids=prompt, num_beams=beams, num_return_sequences=beams,
            max_new_tokens=64, do_sample=False, early_stopping=False, eos_token_id=network.end,
            pad_token_id=network.tokenizer.pad_token_id, prefix_allowed_tokens_fn=allowed,
        )  # fmt: skip
