"""Cross-validation of a recipe: each part of the documents is linked by a pipeline that was trained on the others.

The folder of its output keeps the trained pipeline and the predictions of each fold, so that an interrupted run
resumes with the fold, and the part of its pipeline, that it was at.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from linnet import __version__
from linnet.corpora import read, write
from linnet.corpora.splits import folds, with_dev
from linnet.data import Document
from linnet.errors import LinnetError
from linnet.fit.fitting import Done, Progress, train
from linnet.fit.plan import learner_at, must_have_dev, note_choice, tasks
from linnet.fit.store import corpus_version
from linnet.home import read_json, writable
from linnet.kb import KnowledgeBase
from linnet.pipeline.component import blind
from linnet.recipes.config import load, read_recipe
from linnet.text.files import replacing

__all__ = ["PREDICTIONS", "CrossValidation", "Fold"]

PREDICTIONS = "predictions.jsonl"
STATE = "folds.json"  # what the folds of the folder were made from
BATCH = 64
SHARE = 1 / 8  # of what a fold learns from, to choose on, where parts do so and the recipe names no share


class Fold(NamedTuple):
    """The documents that one pipeline learns from, that it chooses on, and that it links."""

    train: Sequence[Document]
    dev: Sequence[Document]
    held: Sequence[Document]


@dataclass(frozen=True, kw_only=True)
class CrossValidation:
    """A recipe, and documents in so many folds.

    Args:
        source: name or file of the recipe.
        kb: the knowledge base.
        docs: documents with gold, with unique ids.
        dev: other documents, for parts that choose or are calibrated on them; without any, the recipe's ``dev_share``
            of what a fold learns from, or an eighth where it names none and there are such parts.
        folds: how many.
        folder: for ``predictions.jsonl``, and what each fold gives.
        changes: ``key=value`` pairs for the recipe, as for `linnet.recipes.config.read_recipe`.
        texts: documents without annotation that all folds learn from as well.
    """

    source: str
    kb: KnowledgeBase
    docs: Sequence[Document]
    dev: Sequence[Document] = ()
    folds: int = 5
    folder: Path
    changes: Sequence[str] = ()
    texts: Sequence[Document] = ()

    def run(self) -> Iterator[Progress | Done]:
        """Yield the progress of each training, and write all documents as linked, in their order, when all are done.

        Raises:
            LinnetError: too few documents or a duplicate id, or the folder holds something else.
        """
        divided = list(self.divide())
        self._claim()
        found: dict[str, Document] = {}
        for number, fold in enumerate(divided, 1):
            linked = self.folder / f"fold-{number}.jsonl"
            if not linked.exists():
                for news in self._train(fold, self.folder / f"fold-{number}"):
                    yield replace(news, part=f"fold {number} of {self.folds}, {news.part}")
                pipeline = load(self.folder / f"fold-{number}", kb=self.kb)
                write(pipeline.stream(blind(fold.held, pipeline), batch=BATCH), linked, kb=self.kb)
            found |= {doc.id: doc for doc in read(linked, kb=self.kb)}
        write((found[doc.id] for doc in self.docs), self.folder / PREDICTIONS, kb=self.kb)

    def divide(self) -> Iterator[Fold]:
        """Yield the folds: each document is linked once, whole, together with others of the same text."""
        recipe = read_recipe(self.source, changes=self.changes)
        parts = folds(self.docs, self.folds, seed=recipe.seed)
        share = recipe.dev_share or (SHARE if not self.dev and self._chooses() else 0.0)
        for held in parts:
            rest = [doc for part in parts if part is not held for doc in part]
            yield Fold(*with_dev(rest, self.dev, share, seed=recipe.seed), held)

    def _chooses(self) -> bool:
        """Return whether a part chooses on dev documents, or can learn from nothing else."""
        pipeline = load(self.source, kb=self.kb, changes=self.changes)
        todo = tasks(pipeline, read_recipe(self.source, changes=self.changes).train, source=self.source)
        early = [part for part in (learner_at(pipeline, task.place) for task in todo) if part.LEARNS_FROM == "train"]
        return bool(must_have_dev(pipeline, todo)) or any(part.USES_DEV for part in early)

    def _train(self, fold: Fold, output: Path) -> Iterator[Progress | Done]:
        if (output / "pipeline.toml").is_file():
            return  # trained, and interrupted before all was linked
        recipe = read_recipe(self.source, changes=self.changes)
        pipeline = load(self.source, kb=self.kb, changes=self.changes)
        note_choice(pipeline, recipe, self.dev)
        todo = tasks(pipeline, recipe.train, source=self.source, seed=recipe.seed)
        about = (f"recipe: {self.source}", f"one of {self.folds} folds", f"seed: {recipe.seed}")
        yield from train(pipeline, todo, [*fold.train, *self.texts], fold.dev, output=output, about=about)

    def _claim(self) -> None:
        """Note in the folder what its folds are made from, and refuse one that holds something else."""
        state, key = self.folder / STATE, self._key()
        known = read_json(state).get("key") if state.is_file() else None
        if known is None and self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise LinnetError(f"{self.folder} exists and is not empty: give a new folder")
        if known not in (None, key):
            raise LinnetError(
                f"{self.folder} holds the folds of another recipe, corpus, knowledge base or number: give a new folder"
            )
        with replacing(writable(self.folder) / STATE) as stream:
            json.dump({"key": key}, stream)

    def _key(self) -> str:
        recipe = read_recipe(self.source, changes=self.changes)
        told = recipe.model_dump(mode="json", exclude={"expect", "description", "kb", "tune"})
        documents = [corpus_version(docs) for docs in (self.docs, self.dev, self.texts)]
        text = json.dumps([told, documents, self.kb.version, self.folds, __version__], sort_keys=True)
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
