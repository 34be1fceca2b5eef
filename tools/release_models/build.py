"""The release of trained pipelines: one that learned diseases and chemicals, one of phenotypes, side by side.

The recipe is trained twice. Trained on the train splits it is measured on the dev splits, of which it has seen nothing;
what ships learns from both splits. Probabilities are learned from the documents themselves, each answered by parts that
have not seen it. Phenotypes are found by the recipe ``hpo``, which learns nothing (docs/decisions/0043). Finished
trainings are kept in the output folder: the same command goes on after an interruption.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from linnet import __version__
from linnet.corpora.splits import dev_documents, split_documents
from linnet.data import Document
from linnet.errors import LinnetError
from linnet.evaluate import evaluate
from linnet.fit.experiment import code_version
from linnet.fit.fitting import Done, Progress, train
from linnet.fit.packing import pack
from linnet.fit.plan import Task, tasks
from linnet.fit.training import train_in_place
from linnet.home import SEVERAL
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow, Pipeline
from linnet.pipeline.component import blind
from linnet.recipes import saving
from linnet.recipes.bundle import digest_of
from linnet.recipes.config import load, read_recipe, recipes
from tools.release_models.card import MEASURES, Row, card

MARKED = {"ncbi_disease": "Disease"}  # corpora in which nothing else is marked: chemicals found there are no errors

logger = logging.getLogger("release-models")


@dataclass
class Release:
    """What is released, and where it is built.

    Args:
        output: the folder of the archive and its checksum; what was trained is kept in ``work`` there.
        name: of the pipeline where it is installed.
        recipe: what is trained.
        learned: what that is called in the release.
        corpora: what it is trained on: known ones, or folders with train and dev documents.
        others: pipelines that learn nothing: recipes by what they are called in the release.
        measured: the corpus whose dev documents each of these is measured on.
    """

    output: Path
    name: str = "biomed"
    recipe: str = "release/diseases_chemicals"
    learned: str = "diseases-chemicals"
    corpora: Sequence[str] = ("bc5cdr", "ncbi_disease")
    others: Mapping[str, str] = field(default_factory=lambda: {"phenotypes": "hpo"})
    measured: Mapping[str, str] = field(default_factory=lambda: {"phenotypes": "gsc_plus"})

    # --- documents ---------------------------------------------------------------------------------------------------

    @cached_property
    def train(self) -> list[Document]:
        """The documents of the train splits; their ids begin with the corpus, as two may hold the same article."""
        return [doc for name in self.corpora for doc in _named(name, split_documents(name, split="train"))]

    @cached_property
    def dev(self) -> list[Document]:
        """Those of the dev splits."""
        return [doc for name in self.corpora for doc in _named(name, dev_documents(name))]

    def check(self) -> None:
        """Refuse corpora of which one split holds texts of another: what is measured must not have been learned.

        Raises:
            LinnetError: it does, or a corpus or a split is not there.
        """
        learned = {_text(doc) for doc in self.train}
        both = sum(_text(doc) in learned for doc in self.dev)
        if both or not self.dev:
            problem = f"{both:,} have texts that are learned from" if both else "there are none"
            raise LinnetError(f"dev documents of {', '.join(self.corpora)}: {problem}; they are what is measured on")

    # --- pipelines ---------------------------------------------------------------------------------------------------

    @cached_property
    def kb(self) -> KnowledgeBase:
        """The knowledge base of the recipe, built from LINNET_DATA.

        Raises:
            LinnetError: the recipe names none, or its sources are not there.
        """
        if (kb := read_recipe(self.recipe).open_kb()) is None:
            raise LinnetError(f"{self.recipe} names no knowledge base")
        return kb

    @cached_property
    def work(self) -> Path:
        """Where trained folders are kept, by all that they are made of, code included."""
        text = recipes().get(self.recipe, Path(self.recipe)).read_text(encoding="utf-8")
        made_of = [code_version(), text, self.kb.version, [doc.id for doc in (*self.train, *self.dev)]]
        return self.output / "work" / hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:12]

    def trial(self) -> Pipeline:
        """Return the pipeline that learned from the train splits alone, trained if it was not."""
        folder = self.work / "trial"
        if not folder.is_dir():
            pipeline = load(self.recipe, kb=self.kb)
            for news in train(pipeline, self._tasks(pipeline), self.train, (), output=folder):
                _tell(news)
        return load(folder, kb=self.kb)

    def final(self) -> Path:
        """Return the folder of the pipeline that learned from both splits."""
        folder = self.work / "final"
        if not folder.is_dir():
            pipeline, docs = load(self.recipe, kb=self.kb), [*self.train, *self.dev]
            train_in_place(pipeline, self._tasks(pipeline), docs, (), progress=_tell)
            pipeline.seen = pipeline.seen.with_documents(train=docs)
            saving.save(pipeline, folder)
        return folder

    def _tasks(self, pipeline: Pipeline) -> list[Task]:
        return tasks(pipeline, read_recipe(self.recipe).train, source=self.recipe)

    # --- the release -------------------------------------------------------------------------------------------------

    def figures(self) -> list[Row]:
        """Return a row for each corpus: what links its dev documents, and how well."""
        trial = self.trial()
        rows = [Row(self.learned, corpus, "its train split", measured(trial, corpus)) for corpus in self.corpora]
        others = ((name, corpus, load(self.others[name])) for name, corpus in self.measured.items())
        return rows + [Row(name, corpus, "nothing", measured(link, corpus)) for name, corpus, link in others]

    def build(self, *, with_kb: bool = True) -> Path:
        """Return the archive, which is built; its checksum is put beside it.

        Raises:
            LinnetError: data are missing, or something speaks against passing it on.
        """
        self.check()
        rows, learned, folder = self.figures(), self.final(), self.work / self.name
        others = {name: load(recipe) for name, recipe in self.others.items()}
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(learned, folder / self.learned)
        for name, pipeline in others.items():
            saving.save(pipeline, folder / name)
        told = {self.learned: f"{self.recipe}, trained on train and dev of {', '.join(self.corpora)}", **self.others}
        kbs = [self.kb, *(link.kb for link in others.values() if link.kb is not None)]
        (folder / SEVERAL).write_text(f"of = {json.dumps(list(told))}\n", encoding="utf-8")
        (folder / "card.md").write_text(card(self.name, told, rows, self.corpora, kbs), encoding="utf-8")
        archive = self.output / f"{self.name}-{__version__}.tar.gz"
        pack(folder, archive, name=self.name, with_kb=with_kb)
        archive.with_name("SHA256SUMS").write_text(f"{digest_of(archive)}  {archive.name}\n", encoding="ascii")
        return archive


def measured(pipeline: Pipeline, corpus: str) -> dict[str, float]:
    """Return the measures of a pipeline on the dev documents of a corpus, whose gold it does not see.

    Where one type is marked alone, it may answer with that type alone (``linnet link --types Disease``).
    """
    gold = list(dev_documents(corpus))
    allow = Allow(types=(MARKED[corpus],)) if corpus in MARKED else None
    found = pipeline(blind(gold, pipeline), allow=allow)
    report = evaluate(gold, found, kb=pipeline.kb)
    return {name: report[name].value for name in MEASURES}


def _named(corpus: str, docs: Iterable[Document]) -> Iterator[Document]:
    return (replace(doc, id=f"{Path(corpus).name}:{doc.id}") for doc in docs)


def _text(doc: Document) -> str:
    """Return what two copies of one text have in common."""
    return "".join(doc.text.split()).casefold()


def _tell(news: Progress | Done) -> None:
    if isinstance(news, Done):
        logger.info("%s: %s in %.0f s", news.part, "kept, trained" if news.kept else "trained", news.seconds)
