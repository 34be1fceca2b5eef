"""``linnet train``: train every part of a recipe that learns, in order, into a folder that links."""

from __future__ import annotations

import functools
import logging
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, cast

import typer

from linnet.cli.common import Metrics, Quiet, Verbose, how_far, listen, show_progress
from linnet.cli.inputs import Given, documents, refuse_overwriting
from linnet.cli.params import collect_changes
from linnet.cli.times import Time, write_times
from linnet.cli.tracking import tracking
from linnet.corpora.splits import dev_documents, split_documents, training_texts, with_dev
from linnet.data import Document
from linnet.errors import LinnetError, RecipeError
from linnet.fit.curve import CURVE
from linnet.fit.fitting import Done, Progress
from linnet.fit.fitting import train as train_all
from linnet.fit.plan import Task, needs_documents, needs_gold, needs_texts, note_choice, tasks
from linnet.fit.store import alone, first_process
from linnet.home import near_name
from linnet.kb import KnowledgeBase
from linnet.pipeline import Pipeline
from linnet.pipeline.component import blind
from linnet.recipes.config import load, read_recipe, recipes
from linnet.recipes.recipe import Recipe
from linnet.text.normalise import one_line
from linnet.train.from_kb import definitions

__all__ = ["Data", "OtherCorpus", "Params", "train"]

logger = logging.getLogger(__name__)

OWN = "own_letters, own_lexical, own"  # recipes for documents of one's own
WITHOUT_GOLD = "ontology_only"  # that for texts without annotation
EVERY = 10.0  # seconds between lines of progress

Data = Annotated[
    Path | None, typer.Option(envvar="LINNET_DATA", help="Folder of the known corpora.", show_default=False)
]
OtherCorpus = Annotated[
    str | None,
    typer.Option("--corpus", help="Corpus instead of the recipe's: a name, or a folder with train.jsonl, dev.jsonl."),
]
Params = Annotated[
    Path | None,
    typer.Option(help="Parameters of n-grams and cross-encoders: a params.json of entitytools; --set overrides it."),
]
Texts = Annotated[
    list[str] | None,
    typer.Option(
        help="Texts that nobody has annotated, for parts that learn from such: a file, folder or glob; repeatable."
    ),
]
Folds = Annotated[
    int | None,
    typer.Option(
        min=2,
        help="Cross-validate instead: -o gets predictions of all documents and a report; --corpus may be a file.",
    ),
]


def train(
    recipe: Annotated[str, typer.Argument(help="Recipe: the name of one that comes with Linnet, or a file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="New folder for the trained pipeline.")],
    kb: Annotated[str | None, typer.Option(help="Knowledge base instead of the recipe's: a name or a file.")] = None,
    corpus: OtherCorpus = None,
    texts: Texts = None,
    data: Data = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="Change a key of the recipe, decide.threshold=0.9; repeatable.")
    ] = None,
    params: Params = None,
    folds: Folds = None,
    metrics: Metrics = None,
    wandb: Annotated[
        str | None, typer.Option(metavar="PROJECT", help="Also log to Weights & Biases, offline by default.")
    ] = None,
    tensorboard: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also write TensorBoard logs to this folder.")
    ] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Train the parts of a recipe that learn on the train split, and write the pipeline to a folder."""
    first = first_process()  # which speaks for all of them
    listen(quiet=quiet or not first, verbose=verbose)
    changes = collect_changes(params, recipe, changes, corpus=corpus)
    read = read_recipe(recipe, changes=changes)
    learned = (f"{read.learns_from}/{split}.*" for split in ("train", "dev"))
    curve = metrics and metrics.with_suffix(".curve.csv")
    inputs = [None if recipe in recipes() else recipe, params, *learned, *(texts or ())]
    refuse_overwriting(inputs, [output, metrics, curve], data=data)
    if read.trained_by:
        raise RecipeError(recipe, [f"trained_by: its parts come from {read.trained_by!r}; train that recipe"])
    pipeline = load(recipe, kb=read.open_kb(data=data) if kb is None else kb, changes=changes)
    todo = tasks(pipeline, read.train, source=recipe, seed=read.seed)
    _require_teachers(recipe, read, pipeline, todo, folds=folds, texts=texts)
    follow = functools.partial(_follow, read, output, metrics=metrics, wandb=wandb, tensorboard=tensorboard)
    unmarked = functools.partial(_unannotated, read, texts or (), pipeline, todo, data=data)
    if folds is not None:
        from linnet.cli.cross_validate import cross_validate  # noqa: PLC0415 - most train one pipeline

        kb_used = cast("KnowledgeBase", pipeline.kb)
        cross_validate(
            recipe, kb_used, read.learns_from, data, folds, output, changes, texts=unmarked, follow=follow, quiet=quiet
        )
        return
    docs, dev = with_dev(*_documents(read.learns_from, data), read.dev_share, seed=read.seed)
    if corpus and not needs_gold(pipeline, todo):
        _tell_unread(recipe, corpus, docs)
    docs += unmarked([*docs, *dev])
    if read.chosen_on:
        note_choice(pipeline, read, list(dev_documents(read.corpus, data=data)))
    taught = len(docs) if needs_texts(pipeline, todo) else sum(doc.mentions is not None for doc in docs)
    about, told = _described(recipe, read, texts or (), taught=taught, of=len(docs))
    follow(train_all(pipeline, todo, docs, dev, output=output, about=about), documents=len(docs))
    if first and curve is not None and (output / CURVE).exists():
        shutil.copyfile(output / CURVE, curve)
    logger.info("%s: trained on %s", output, told)


def _require_teachers(
    recipe: str, read: Recipe, pipeline: Pipeline, todo: Sequence[Task], *, folds: int | None, texts: list[str] | None
) -> None:
    """Refuse a recipe of which no part learns, or that learns from gold, where no corpus is named."""
    if not todo:
        raise RecipeError(recipe, [f"pipeline: no part learns, so there is nothing to train; {OWN} learn"])
    if not read.learns_from and (folds is not None or needs_gold(pipeline, todo)):
        missing = "corpus: missing; name the corpus to train on: --corpus, or corpus in the recipe"
        hint = f"; of texts without annotation {WITHOUT_GOLD} learns" if texts else ""
        raise RecipeError(recipe, [f"{missing}{hint}"])


def _tell_unread(recipe: str, corpus: str, docs: Sequence[Document]) -> None:
    """Warn of annotation that a training does not look at."""
    if marked := sum(bool(doc.mentions) for doc in docs):
        told = f"learns from names alone, not from what people marked in {marked:,} documents of {corpus}"
        logger.warning("%s: %s; %s learn from that", recipe, told, OWN)


def _described(recipe: str, read: Recipe, texts: Sequence[str], *, taught: int, of: int) -> tuple[list[str], str]:
    """Return what the card says of a training, and what its last line of progress says it was trained on."""
    named = [*read.train_texts, *texts]
    nothing = "none" if named else "none, the knowledge base alone"
    told = f"{read.learns_from}, split train" if read.learns_from else nothing
    about = [f"recipe: {recipe}", f"corpus: {told}", f"seed: {read.seed}"]
    about += [f"texts without annotation: {', '.join(named)}"] if named else []
    about += [f"training documents without annotation, not used: {of - taught:,}"] if taught < of else []
    some = f"{taught:,} documents" if taught == of else f"{taught:,} annotated of {of:,} documents"
    where = ", ".join([*([read.learns_from] if read.learns_from else []), *named])
    return about, f"{some} of {where}" if where else "the knowledge base alone"


def _follow(
    read: Recipe,
    output: Path,
    news: Iterable[Progress | Done],
    *,
    documents: int,
    metrics: Path | None,
    wandb: str | None,
    tensorboard: Path | None,
) -> None:
    """Train into a folder alone: print the progress, send it to what tracks it, and write the seconds of each part."""
    first = first_process()
    times: list[Done] = []
    project, board = (wandb, tensorboard) if first else (None, None)
    with alone(output), tracking(project, read.model_dump(mode="json"), folder=board) as tracker:
        for one in _log_progress(news):
            tracker.tell(one)
            times += [one] if isinstance(one, Done) else []
    if metrics is not None and first:
        write_times(metrics, (Time("train", done.part, documents, done.seconds) for done in times))


def _documents(corpus: str, data: Path | None) -> tuple[list[Document], list[Document]]:
    """Return the documents of a corpus to train on, and those to choose on; none where there is no corpus."""
    if not corpus:
        return [], []
    return list(split_documents(corpus, split="train", data=data)), list(dev_documents(corpus, data=data))


def _unannotated(
    read: Recipe,
    texts: Sequence[str],
    pipeline: Pipeline,
    todo: Sequence[Task],
    docs: Sequence[Document],
    *,
    data: Path | None,
) -> list[Document]:
    """Return texts without what people marked in them; without any, where nothing else is there, definitions.

    Texts of documents that are there already are left out.

    Raises:
        LinnetError: parts learn from texts, and there are none; or what should be a file is none.
    """
    found = training_texts(read.train_texts, docs, data=data)
    beside = [*docs, *found]
    if texts or beside or not needs_documents(pipeline, todo):
        if words := [one for one in Given(tuple(texts)).sorted_out()[0] if isinstance(one, Document)]:
            name, hint = words[0].text, near_name(Path(words[0].text))
            raise LinnetError(f"--texts {name}: there is no such file, folder or split of a corpus{hint}")
        known = {one_line(doc.text) for doc in beside}
        more = [doc for doc in documents(texts, None, data=data) if one_line(doc.text) not in known]
        return [*found, *blind(more, Pipeline())]
    kb = cast("KnowledgeBase", pipeline.kb)
    found = list(definitions(kb))
    if not found:
        raise LinnetError(f"{kb.path} has no definitions to learn from: name texts that nobody has annotated: --texts")
    logger.info("no --texts: learning from the %s definitions of %s", f"{len(found):,}", kb.path)
    return found


def _log_progress(news: Iterable[Progress | Done]) -> Iterator[Progress | Done]:
    """Yield progress and print it to stderr: dev scores always, other steps often only on a terminal.

    What a part tells while it prepares its training, or answers for others, is printed now and then.
    """
    start = said = time.monotonic()

    def show(what: str, done: int, total: int) -> None:
        nonlocal said
        if done < total and time.monotonic() - said >= EVERY:
            said = time.monotonic()
            logger.info("%s, %s", how_far(what, done, total), _duration(said - start))

    with show_progress(show):
        for one in news:
            yield one
            if isinstance(one, Done):
                logger.info("%s: %s in %.1f s", one.part, "kept, trained" if one.kept else "trained", one.seconds)
            elif one.step.score is not None or sys.stderr.isatty() or time.monotonic() - said >= EVERY:
                said = time.monotonic()
                logger.info("%s", _line(one, said - start))


def _line(news: Progress, seconds: float) -> str:
    step = news.step
    total = "" if step.total is None else f"/{step.total:,}"
    losses = "".join(f", {name} {value:.4f}" for name, value in step.losses.items())
    epoch = "" if step.epoch is None else f" of epoch {step.epoch}"
    score = "" if step.score is None else f", score {step.score:.4f}"
    left = "" if not step.seconds_left else f", {_duration(step.seconds_left)} left"
    return f"{news.part}: step {step.step:,}{total}{epoch}{losses}{score}, {_duration(seconds)}{left}"


def _duration(seconds: float) -> str:
    """Return a time for people, in a suitable unit.

    >>> _duration(4.2), _duration(200), _duration(9000)
    ('4 s', '3.3 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
