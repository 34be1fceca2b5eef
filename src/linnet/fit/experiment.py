"""One experiment, from a recipe to predictions and report; results for the same inputs are reused."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import linnet
from linnet.corpora import read, write
from linnet.corpora.catalog import CORPORA, corpus_files, corpus_named, read_corpus, splits_of
from linnet.corpora.splits import dev_documents, training_texts, with_dev
from linnet.data import Document
from linnet.errors import FormatError, RecipeError, did_you_mean
from linnet.evaluate import About, Options, Report, evaluate
from linnet.evaluate.cost import Cost, cost
from linnet.evaluate.evaluation import fingerprint, metric_names
from linnet.evaluate.files import write_reports
from linnet.evaluate.report import BY_ASSERTION, BY_TYPE
from linnet.fit.curve import CURVE, SECONDS, read_curve, training_lines
from linnet.fit.fitting import Done
from linnet.fit.fitting import train as fit
from linnet.fit.plan import must_have_dev, note_choice, tasks
from linnet.fit.store import alone
from linnet.fit.transfer import transfer
from linnet.home import writable
from linnet.kb import KnowledgeBase
from linnet.pipeline import Pipeline
from linnet.pipeline.component import blind
from linnet.recipes.config import load, read_recipe
from linnet.recipes.recipe import Recipe
from linnet.text.files import replacing

__all__ = ["Experiment", "code_version"]

logger = logging.getLogger(__name__)

STATE = "state.json"  # what the files of the folder were made from
MODEL = "model"  # the folder of the trained pipeline
SAMPLE = 200  # documents that speed is measured on
BATCH = 64
INDEXES = ("hnsw", "ivf", "edits")  # files beside the vectors that they are made of


@cache
def code_version() -> str:
    """Return the version of Linnet with a hash of its sources, so that an edited checkout is another version."""
    folder = Path(linnet.__file__).parent
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        total.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return f"{linnet.__version__}+{total.hexdigest()[:8]}"


def _unknown_metrics(recipe: Recipe) -> list[str]:
    """Return what is wrong with the metrics that a recipe expects: hours of training would end at a typing error."""
    known = metric_names()
    names = {key: key.partition(".")[2] for key in recipe.expect}
    return [
        f"expect.{key}: no such metric{did_you_mean(name, known)}"
        for key, name in names.items()
        if name not in known and not name.startswith((BY_TYPE, BY_ASSERTION))
    ]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A recipe on one split of its corpus with one seed, and the folder of what it gives.

    Args:
        source: name or file of the recipe.
        split: of the recipe's corpus.
        folder: for ``predictions.jsonl``, ``report.json``, ``.md`` and ``.html``.
        teacher: the folder of the same experiment with the recipe that has trained the parts of this one.
        seed: instead of the recipe's own.
        fold: layout of the recipe's corpus that is one fold of a cross-validation.
        data: folder of corpora and sources of knowledge bases.
        repeats: warm runs that speed is measured by.
        fresh: do everything again.
        fresh_teacher: train again what `teacher` is the folder of.
    """

    source: str
    split: str
    folder: Path
    teacher: Path | None = None
    seed: int | None = None
    fold: str = ""
    data: Path | None = None
    repeats: int = 3
    fresh: bool = False
    fresh_teacher: bool = False
    done: list[str] = field(default_factory=list, compare=False)  # steps that were run, not kept

    @property
    def recipe(self) -> Recipe:
        """The recipe with this experiment's seed.

        Raises:
            RecipeError: it has wrong fields, or names no corpus that is known.
        """
        recipe = read_recipe(self.source, changes=self._changes)
        if not corpus_named(recipe.corpus):
            found = f"unknown corpus {recipe.corpus!r}" if recipe.corpus else "missing"
            raise RecipeError(self.source, [f"corpus: {found}; reproduce needs one of {', '.join(CORPORA)}"])
        for name, corpora in (("train_corpus", [recipe.train_corpus]), ("train_texts", recipe.train_texts)):
            if unknown := [corpus for corpus in corpora if corpus and not corpus_named(corpus)]:
                raise RecipeError(self.source, [f"{name}: unknown corpus {unknown[0]!r}"])
        if recipe.trained_by:
            self._check_teacher(recipe, read_recipe(recipe.trained_by))
        if self.split not in splits_of(recipe.corpus):
            known = ", ".join(splits_of(recipe.corpus))
            raise RecipeError(self.source, [f"expect: {recipe.corpus} has no split {self.split!r}, it has {known}"])
        if problems := _unknown_metrics(recipe):
            raise RecipeError(self.source, problems)
        return recipe

    def _check_teacher(self, recipe: Recipe, teacher: Recipe) -> None:
        problem = ""
        if teacher.trained_by:
            problem = f"{recipe.trained_by!r} is not trained itself"
        elif teacher.learns_from == recipe.corpus != teacher.corpus:
            problem = f"{recipe.trained_by!r} may choose by the {self.split} documents of {recipe.corpus}"
        if problem:
            raise RecipeError(self.source, [f"trained_by: {problem}"])

    def run(self, kb: KnowledgeBase | None = None) -> Report:
        """Return the report, after whatever steps are still to be done.

        Args:
            kb: a knowledge base instead of the recipe's.

        Raises:
            LinnetError: the recipe, its corpus or its knowledge base is not there or not right.
        """
        recipe = self.recipe
        opened = kb or recipe.open_kb(data=self.data)
        if opened is None:
            raise RecipeError(self.source, ["kb: missing; name a knowledge base, or the sources to build it from"])
        gold = list(read_corpus(recipe.corpus, split=self.split, data=self.data))
        writable(self.folder)
        key, done, steps = self._train_all(recipe, gold, opened)
        done.append("predictions")
        if "predictions" not in steps:
            self._predict(self._load(recipe, opened), gold, opened)
            steps = self._keep(key, done)
        if "report" in steps:
            return Report.of_json((self.folder / "report.json").read_bytes())
        measured = self._cost(recipe, gold, opened)
        report = self._report(recipe, gold, opened, measured)
        outputs = [self.folder / f"report.{suffix}" for suffix in ("json", "md", "html")]
        write_reports([report], outputs)
        self._keep(key, [*done, "report"])
        return report

    def model(self) -> Path:
        """Return the folder of the trained pipeline, after whatever is still to be trained of it.

        Raises:
            LinnetError: as of `run`, or the recipe trains nothing.
        """
        recipe = self.recipe
        opened = recipe.open_kb(data=self.data)
        if opened is None or not recipe.train:
            raise RecipeError(self.source, ["train: missing; the recipe trains nothing that another recipe could use"])
        writable(self.folder)
        self._train_all(recipe, list(read_corpus(recipe.corpus, split=self.split, data=self.data)), opened)
        return self.folder / MODEL

    def _train_all(
        self, recipe: Recipe, gold: Sequence[Document], kb: KnowledgeBase
    ) -> tuple[str, list[str], dict[str, str]]:
        """Train what is to be trained; return the key of this experiment, the steps up to here, and the finished."""
        if recipe.trained_by:
            self._teacher(recipe).model()
        key = self._key(recipe, gold, kb)
        steps = {} if self.fresh else self._finished_steps(key)
        done = ["model"] if recipe.train else []
        if recipe.train and "model" not in steps:
            self._fit(recipe, kb)
            steps = self._keep(key, done)
        return key, done, steps

    def _teacher(self, recipe: Recipe) -> Experiment:
        """Return the experiment whose trained parts are taken."""
        if self.teacher is None:
            raise RecipeError(self.source, [f"trained_by: linnet reproduce trains {recipe.trained_by!r} first"])
        return Experiment(
            source=recipe.trained_by, split=self.split, folder=self.teacher, seed=self.seed, data=self.data,
            repeats=self.repeats, fresh=self.fresh_teacher,
        )  # fmt: skip

    def _load(self, recipe: Recipe, kb: KnowledgeBase) -> Pipeline:
        """Return the pipeline of the recipe: trained, if it or another one says what to train."""
        if recipe.train:
            return load(self.folder / MODEL, kb=kb)
        pipeline = load(self.source, kb=kb, changes=self._changes)
        return transfer(pipeline, self._model_folder(recipe)) if recipe.trained_by else pipeline

    def _model_folder(self, recipe: Recipe) -> Path:
        return (self._teacher(recipe).folder if recipe.trained_by else self.folder) / MODEL

    @property
    def _changes(self) -> list[str]:
        """The changes of this experiment to its recipe."""
        changes = [] if self.seed is None else [f"seed={self.seed}"]
        if self.fold:
            corpus = read_recipe(self.source).corpus.partition("/")[0]
            changes.append(f'corpus="{corpus}/{self.fold}"')
        return changes

    # --- steps -------------------------------------------------------------------------------------------------------

    def _fit(self, recipe: Recipe, kb: KnowledgeBase) -> None:
        """Train on the train split of the recipe's corpus; the documents to measure on are never seen."""
        logger.info("%s: training on %s", self.source, recipe.learns_from)
        self.done.append("model")
        pipeline = load(self.source, kb=kb, changes=self._changes)
        if recipe.chosen_on:
            note_choice(pipeline, recipe, list(dev_documents(recipe.corpus, data=self.data)))
        corpus = recipe.learns_from
        shown = self._usable_splits(recipe)
        train, dev = (
            list(read_corpus(corpus, split=split, data=self.data)) if split in shown else []
            for split in ("train", "dev")
        )
        train, dev = with_dev(train, dev, recipe.dev_share, seed=recipe.seed)
        train += training_texts(recipe.train_texts, [*train, *dev], data=self.data)
        output = self.folder / MODEL
        todo = tasks(pipeline, recipe.train, source=self.source, seed=recipe.seed)
        if not dev and (kept := must_have_dev(pipeline, todo)):  # what it is measured on is nothing to choose by
            logger.info(
                "%s: %s not fitted, because the scores are measured on the dev documents", self.source, ", ".join(kept)
            )
            todo = [task for task in todo if not must_have_dev(pipeline, [task])]
        about = [f"recipe: {self.source}", f"corpus: {corpus}, split train", f"seed: {recipe.seed}"]
        about += [f"texts without annotation: {', '.join(recipe.train_texts)}"] if recipe.train_texts else []
        with alone(output):
            if output.exists():
                shutil.rmtree(output)  # of other inputs
            for news in fit(pipeline, todo, train, dev, output=output, about=about):
                if isinstance(news, Done):
                    logger.info("%s: trained %s in %.1f s", self.source, news.part, news.seconds)

    def _usable_splits(self, recipe: Recipe) -> list[str]:
        """Return the splits that parts may learn from: not the one that is measured."""
        measured = self.split if recipe.learns_from == recipe.corpus else ""
        there = splits_of(recipe.learns_from)
        return [split for split in ("train", "dev") if split in there and split != measured]

    def _learned_from(self, recipe: Recipe) -> list[str]:
        """Return a hash of the files of each split that parts learn from."""
        splits = [(recipe.learns_from, split) for split in self._usable_splits(recipe)]
        splits += [(corpus, "train") for corpus in recipe.train_texts]
        return [_content(corpus_files(corpus, split=split, data=self.data)) for corpus, split in splits]

    def _predict(self, pipeline: Pipeline, gold: Sequence[Document], kb: KnowledgeBase) -> None:
        logger.info("%s: linking %s documents of %s", self.source, f"{len(gold):,}", self.split)
        self.done.append("predictions")
        write(pipeline.stream(blind(gold, pipeline), batch=BATCH), self.folder / "predictions.jsonl", kb=kb)

    def _cost(self, recipe: Recipe, gold: Sequence[Document], kb: KnowledgeBase) -> Cost | None:
        if not gold or not self.repeats:
            return None
        logger.info("%s: measuring speed and memory", self.source)
        self.done.append("cost")
        return cost(
            lambda: self._load(recipe, KnowledgeBase.open(kb.path)),
            blind(gold[:SAMPLE], self._load(recipe, kb)),
            repeats=self.repeats,
            index=[kb.path, *self._load(recipe, kb).index_files, self._model_folder(recipe)],
        )

    def _report(self, recipe: Recipe, gold: Sequence[Document], kb: KnowledgeBase, measured: Cost | None) -> Report:
        logger.info("%s: evaluating", self.source)
        self.done.append("report")
        predicted = list(read(self.folder / "predictions.jsonl", kb=kb))
        pipeline = " >> ".join(str(part["use"]) for part in recipe.pipeline)
        about = About(
            system=_name(self.source), corpus=f"{recipe.corpus}:{self.split}", split=self.split,
            pipeline=pipeline, code=code_version(),
        )  # fmt: skip
        report = evaluate(
            gold, predicted, kb=kb, train=self._read_train(recipe), about=about, options=Options(seed=recipe.seed)
        )
        curve = read_curve(self._model_folder(recipe) / CURVE)
        seconds = [row.value for row in curve if row.metric == SECONDS]
        training = {"training": training_lines(curve), "training_seconds": sum(seconds) if seconds else None}
        return report.model_copy(update={"cost": measured, **training})

    def _read_train(self, recipe: Recipe) -> list[Document] | None:
        """Return the training documents, for slices of seen and unseen concepts; None where there are none."""
        corpus = (read_recipe(recipe.trained_by) if recipe.trained_by else recipe).learns_from
        if (self.split == "train" and corpus == recipe.corpus) or "train" not in splits_of(corpus):
            return None
        try:
            return list(read_corpus(corpus, split="train", data=self.data))
        except FormatError as error:
            logger.info("no slices of seen concepts: %s", error)
            return None

    # --- what is kept ------------------------------------------------------------------------------------------------

    def _key(self, recipe: Recipe, gold: Sequence[Document], kb: KnowledgeBase) -> str:
        """Return a hash of all that predictions depend on; the report depends on the number of warm runs as well."""
        told = recipe.model_dump(mode="json", exclude={"expect", "description"})
        learned = self._learned_from(recipe) if recipe.train else []
        if recipe.trained_by:
            learned = [_content(self._model_folder(recipe).rglob("*"))]
        values = [told, learned, self.split, fingerprint(gold), kb.version, code_version()]
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()

    def _finished_steps(self, key: str) -> dict[str, str]:
        """Return the steps that were finished with this key and whose files are still what they were."""
        try:
            state = json.loads((self.folder / STATE).read_text(encoding="utf-8"))
            same = isinstance(state, dict) and state.get("key") == key
            steps = dict(state["steps"]) if same else {}
            if state.get("repeats") != self.repeats:
                steps.pop("report", None)
        except (OSError, ValueError, KeyError, TypeError):
            return {}
        return {step: seen for step, seen in steps.items() if step in FILES and self._hash_output(step) == seen}

    def _keep(self, key: str, steps: Sequence[str]) -> dict[str, str]:
        state = {step: self._hash_output(step) for step in steps}
        with replacing(self.folder / STATE) as stream:
            json.dump({"key": key, "repeats": self.repeats, "steps": state}, stream, indent=1)
        return state

    def _hash_output(self, step: str) -> str:
        """Return the hash of the file that a step writes, "" if it is not there."""
        try:
            with (self.folder / FILES[step]).open("rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError:
            return ""


FILES = {"model": f"{MODEL}/pipeline.toml", "predictions": "predictions.jsonl", "report": "report.json"}


def _content(paths: Iterable[Path]) -> str:
    """Return a hash of the names and the content of files, but for indexes, which are made of others, and later."""
    total = hashlib.sha256()
    for path in sorted(path for path in paths if path.is_file() and path.suffix[1:] not in INDEXES):
        with path.open("rb") as stream:
            total.update(path.name.encode() + b"\0" + hashlib.file_digest(stream, "sha256").digest())
    return total.hexdigest()


def _name(source: str) -> str:
    return Path(source).stem if source.endswith(".toml") else source
