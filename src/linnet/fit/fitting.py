"""Training of a whole pipeline: every part that learns, in order, each behind the parts before it.

A part that learns from what earlier parts say must not see what they say of documents they were trained on: a retriever
that knows the aliases of a document finds everything in it. So the training documents are divided into folds, and what
stands before a part answers for each fold with parts that have not seen it (`CrossFitted`): those that can
(`Learner.without`) leave the fold's documents out, others are trained again on the rest. Networks take too long for
that: they are trained again ``FOLDS`` times, or as often as ``cross_fit`` of their table says, and what else such a
part knows is left out fold by fold.

Finished parts are kept beside the output folder until all are done (`linnet.fit.store`), so that an interrupted
training can resume. Networks have their own training loop, which `fit_part` calls.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import logging
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from linnet.data import Document
from linnet.errors import LinnetError
from linnet.fit.curve import CURVE, Curve
from linnet.fit.plan import Task, annotated, in_front, learner_at, part_at, with_gold, with_part
from linnet.fit.preflight import check_teachable, shared
from linnet.fit.store import Finished, corpus_version, first_process, is_moving
from linnet.fit.unseen import enough_dev, fold_of, times_again
from linnet.home import read_json, real_path
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow, Fuse, Pipeline, Stage
from linnet.pipeline.component import Component, Fits, Step, identity
from linnet.pipeline.decide import Decide
from linnet.pipeline.learner import Learner, inner_of
from linnet.recipes import config, saving
from linnet.train.args import FREE

__all__ = [
    "FOLDS",
    "CrossFitted",
    "Done",
    "Progress",
    "fit_part",
    "train",
]

logger = logging.getLogger(__name__)

FOLDS = 10

Again = dict[tuple[int, ...], list[Learner]]  # place of a part -> it, trained without the documents of every n-th fold


@dataclass(frozen=True)
class Progress:
    """One step of one part."""

    part: str
    step: Step


@dataclass(frozen=True)
class Done:
    """A part that is trained: how long it took, in seconds, and whether it was kept from an earlier attempt."""

    part: str
    seconds: float
    kept: bool = False


# --- cross-fitting ---------------------------------------------------------------------------------------------------


@dataclass
class CrossFitted(Stage):
    """Answers for each document with the pipeline that has not seen it; for documents of no fold with ``whole``.

    ``places`` is document (`identity`) → number of the pipeline in ``folds``, which ``make`` trains when they are first
    asked: for a part that learns from the documents alone they never are.
    """

    whole: Pipeline
    make: Callable[[], Sequence[Pipeline]]
    places: Mapping[tuple[str, str], int]

    @functools.cached_property
    def folds(self) -> Sequence[Pipeline]:
        """The pipelines, each without the documents of its fold."""
        return self.make()

    @property
    def needs(self) -> frozenset[str]:
        """What the documents must bring."""
        return self.whole.needs

    @property
    def gives(self) -> frozenset[str]:
        """What the parts give."""
        return self.whole.gives

    @property
    def inner(self) -> Sequence[Component]:
        """The whole pipeline."""
        return [self.whole]

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:
        """Return `docs` after all parts, in order."""
        found: list[Document | None] = [None] * len(docs)
        by_fold: dict[int, list[int]] = {}
        for index, doc in enumerate(docs):
            by_fold.setdefault(self.places.get(identity(doc), -1), []).append(index)
        for fold, indexes in by_fold.items():
            pipeline = self.whole if fold < 0 else self.folds[fold]
            for index, doc in zip(indexes, pipeline([docs[i] for i in indexes], allow=allow), strict=True):
                found[index] = doc
        return [doc for doc in found if doc is not None]


def cross_fit(
    pipeline: Pipeline,
    done: Sequence[Task],
    docs: Sequence[Document],
    *,
    folds: int,
    checkpoints: Path | None = None,
    known: Again | None = None,
) -> Component:
    """Return trained parts such that they answer for `docs` as if they had not seen them.

    Args:
        pipeline: the parts, trained on `docs`.
        done: which of them were trained, in order.
        docs: the training documents.
        folds: how many; documents are divided by a hash of their id.
        checkpoints: a folder for those of networks that are trained again.
        known: parts that were trained again already, by all of `docs` and maybe more; those that have to be are put
            there for whoever asks next.
    """
    if not done:
        return pipeline
    fitting = _CrossFitting(pipeline, done, docs, folds, checkpoints, {} if known is None else known)
    return CrossFitted(pipeline, fitting.pipelines, {identity(doc): fitting.places[doc.id] for doc in docs})


@dataclass
class _CrossFitting:
    """The arguments of `cross_fit`; makes the pipelines of the folds."""

    pipeline: Pipeline
    done: Sequence[Task]
    docs: Sequence[Document]
    folds: int
    checkpoints: Path | None
    known: Again

    @functools.cached_property
    def places(self) -> dict[str, int]:
        """The fold of each document by id."""
        return {doc.id: fold_of(doc.id, self.folds) for doc in self.docs}

    def pipelines(self) -> list[Pipeline]:
        """Return for each fold the pipeline that has not seen it."""
        # each part with its last stage, earlier parts first
        for place, number in sorted({task.place: number for number, task in enumerate(self.done)}.items()):
            part = learner_at(self.pipeline, place)
            if not self.done[number].args.get("cross_fit", True):
                continue
            if part.NETWORK and not part.FOLDS:
                raise LinnetError(
                    f"{self.done[number].name} is a network that does not declare how often it may be trained again "
                    "(FOLDS), so no later part can learn from its answers for the training documents"
                )
            if part.FOLDS and place not in self.known:
                self.known[place] = self._retrain(number, part)
        return [self._without(fold) for fold in range(self.folds)]

    def _stages(self, number: int, part: Learner) -> list[int]:
        """Return the tasks up to `number` that trained a part, after the last of them that learned from no document."""
        place = self.done[number].place
        stages = [earlier for earlier in range(number + 1) if self.done[earlier].place == place]
        known = [stage for stage in stages if part.owes_nothing(self.done[stage].args)]
        return [stage for stage in stages if not known or stage > known[-1]]

    def _retrain(self, number: int, part: Learner) -> list[Learner]:
        """Return a part, the last to be trained being task `number`, with networks that have not seen every n-th fold.

        Earlier parts that were trained again answer for the rest as they do for all documents: what answers for a
        document has not seen it, though it may have seen some of those that are left out.
        A stage that learned from no document is not repeated: the next stage starts from its result.
        """
        task, made = self.done[number], []
        stages, times = self._stages(number, part), times_again(part, task)
        for out in range(times):
            rest = [doc for doc in self.docs if self.places[doc.id] % times != out]
            if not rest or len(rest) == len(self.docs) or not stages:
                made.append(part)
                continue
            logger.info("%s: trained again without part %d of %d of the documents", task.name, out + 1, times)
            fewer = with_part(self.pipeline, task.place, cast("Component", copy.copy(part)))
            for stage in stages:
                folder = self.checkpoints / f"{self.done[stage].folder}.{out}" if self.checkpoints else None
                self._fit(fewer, stage, rest, checkpoints=folder)
            made.append(part.with_network(learner_at(fewer, task.place)))
        return made

    def _without(self, fold: int) -> Pipeline:
        """Return the pipeline as trained on the documents of the other folds; networks are those trained again."""
        out = frozenset(id for id, place in self.places.items() if place == fold)
        fewer = self.pipeline
        if not out:
            return fewer
        rest = [doc for doc in self.docs if doc.id not in out]
        for number, task in enumerate(self.done):
            again = self.known.get(task.place)
            part = again[fold % len(again)] if again else learner_at(fewer, task.place)
            left = part.without(out) or (part if again else None)  # what was trained again has not seen them
            fewer = with_part(fewer, task.place, cast("Component", left or copy.copy(part)))
            if left is None:
                self._fit(fewer, number, rest)
        return fewer

    def _fit(
        self, pipeline: Pipeline, number: int, docs: Sequence[Document], *, checkpoints: Path | None = None
    ) -> None:
        for _ in fit_part(
            pipeline, self.done[number], docs, (), done=self.done[:number], folds=self.folds, checkpoints=checkpoints,
            known=self.known,
        ):  # fmt: skip
            pass


# --- training --------------------------------------------------------------------------------------------------------


def fit_part(
    pipeline: Pipeline,
    task: Task,
    docs: Sequence[Document],
    dev: Sequence[Document],
    *,
    done: Sequence[Task],
    folds: int = FOLDS,
    checkpoints: Path | None = None,
    known: Again | None = None,
) -> Iterator[Step]:
    """Train one part in place, behind cross-fitted earlier parts, of which some may be `known`.

    `checkpoints` is a folder for parts that can resume an interrupted training (networks).

    Raises:
        LinnetError: the part is a fusion that learns from dev documents and there are none.
    """
    part = learner_at(pipeline, task.place)
    from_dev = part.LEARNS_FROM == "dev"
    before, earlier = in_front(pipeline, task.place, done)
    if len(before.parts) > task.place[0]:
        known = None  # parts inside of this one have other places there
    # earlier parts may learn from documents that nobody has annotated, and cannot answer for them in front of this one
    taught, dev = (with_gold(docs), with_gold(dev)) if part.needs_gold(task.args) else (docs, dev)
    dev = enough_dev(pipeline, task, taught, dev, earlier=earlier, folds=folds) if from_dev else dev
    if from_dev and set(map(identity, docs)).isdisjoint(map(identity, dev)):
        earlier = []  # nothing has seen what the part learns from, so no fold would be asked
    kb = cast("KnowledgeBase", pipeline.kb)
    args = {**task.args, "checkpoints": checkpoints} if checkpoints is not None and part.NETWORK else task.args
    behind = cross_fit(before, earlier, docs, folds=folds, checkpoints=checkpoints, known=known)
    yield from cast("Fits", part).fit(taught, dev, before=behind, kb=kb, args=args)


def train(
    pipeline: Pipeline,
    todo: Sequence[Task],
    docs: Sequence[Document],
    dev: Sequence[Document],
    *,
    output: Path,
    folds: int = FOLDS,
    about: Sequence[str] = (),
    learned: Sequence[Task] = (),
) -> Generator[Progress | Done, None, None]:
    """Train a pipeline and, in the first process, write it to a folder that `linnet.load` reads.

    Args:
        pipeline: whose parts are trained in place.
        todo: which parts, in order (`tasks`).
        docs: the training documents, with unique ids.
        dev: documents that nothing is trained on; parts may choose on them.
        output: a new or empty folder.
        folds: of cross-fitting.
        about: lines for the folder's card.
        learned: trainings of parts that stay as they are, and that may have learned from these documents: later parts
            see them cross-fitted.

    Raises:
        LinnetError: the folder is not empty, no documents, a duplicate id, or no room to write.
    """
    named, output = output, real_path(output)  # "." has no name that another folder could be called after
    kept, key = output.with_name(f"{output.name}.parts"), _key(pipeline, todo, docs, dev, learned)
    if first_process() and _is_used(output) and not is_moving(kept, key=key):
        raise LinnetError(f"{named} exists and is not empty: give a new folder")
    check_teachable(pipeline, todo, docs, dev)
    finished = Finished(kept, key=key)
    curve = Curve(kept / CURVE)
    done: list[Task] = []
    again: Again = {}  # networks without parts of the documents, for all who ask
    for task in todo:
        place, start = kept / task.folder, time.perf_counter()
        was_kept = task.folder in finished.seconds
        if was_kept:
            part = _load_finished(learner_at(pipeline, task.place), place, pipeline.kb)
            pipeline = with_part(pipeline, task.place, part)
        else:
            unfinished, spent = kept / f"{task.folder}.training", curve.spent(task.label)
            again = {where: parts for where, parts in again.items() if where[0] < task.place[0]}
            known = [*learned, *done]
            steps = fit_part(pipeline, task, docs, dev, done=known, folds=folds, checkpoints=unfinished, known=again)
            for step in curve.follow(task.label, steps):
                yield Progress(task.label, step)
            save = cast("Stage", part_at(pipeline, task.place)).save
            finished.keep(task.folder, save, seconds=spent + time.perf_counter() - start)
            curve.finish(task.label, finished.seconds[task.folder])
        done.append(task)
        yield Done(task.label, finished.seconds[task.folder], kept=was_kept)
    if not first_process():
        return
    lines = [*about, *_note_seen(pipeline, done, docs, dev)]
    lines += [f"{task.label}: trained in {finished.seconds[task.folder]:.1f} s" for task in done]
    with finished.publish(output) as folder:
        _save(pipeline, folder, curve, lines)


def _is_used(output: Path) -> bool:
    return output.exists() and (not output.is_dir() or any(output.iterdir()))


def _save(pipeline: Pipeline, folder: Path, curve: Curve, lines: Sequence[str]) -> None:
    saving.save(pipeline, folder)
    curve.save(folder)
    # names of files may be no UTF-8
    with (folder / "card.md").open("a", encoding="utf-8", errors="backslashreplace") as card:
        card.writelines(f"* {line}\n" for line in lines)


def _note_seen(
    pipeline: Pipeline, done: Sequence[Task], docs: Sequence[Document], dev: Sequence[Document]
) -> Iterator[str]:
    """Have a trained pipeline know which documents it has seen, and yield what its card says of them."""
    chosen = [task.label for task in done if learner_at(pipeline, task.place).used_dev] if dev else []
    pipeline.seen = pipeline.seen.with_documents(train=annotated(pipeline, done, docs), dev=dev if chosen else ())
    yield f"training documents: {len(docs):,}, version {corpus_version(docs)}"
    if chosen:
        version = corpus_version(dev)
        both = f", {count:,} of them training documents too" if (count := shared(docs, dev)) else ""
        yield f"dev documents, which chose or calibrated {', '.join(chosen)}: {len(dev):,}{both}, version {version}"
    if any(isinstance(part, Decide) and not part.calibration for part in pipeline.parts):
        yield "probabilities are not calibrated: they rank answers"


def _load_finished(part: Learner, folder: Path, kb: KnowledgeBase | None) -> Component:
    """Return what was saved in place of `part`, which may have more to hand on (`Learner.go_on_from`).

    A fusion keeps its parts, which are tasks of their own.
    """
    if isinstance(part, Fuse):
        return replace(part, weights=read_json(folder / "config.json").get("weights"))
    loaded = type(cast("Stage", part)).load(folder, kb=kb)
    loaded.go_on_from(cast("Stage", part))
    return loaded


def _key(
    pipeline: Pipeline,
    todo: Sequence[Task],
    docs: Sequence[Document],
    dev: Sequence[Document],
    learned: Sequence[Task],
) -> str:
    """Return a hash of all that the result depends on: finished parts of another training are of no use."""
    kb = pipeline.kb.version if pipeline.kb else ""
    parts = [(config.name_of(part), _config(part)) for part in pipeline.parts]
    wanted = []
    for task in todo:
        free = FREE if learner_at(pipeline, task.place).NETWORK else ()
        wanted.append((task.place, task.name, sorted((k, v) for k, v in task.args.items() if k not in free)))
    wanted += [(task.place, task.name, []) for task in learned]
    text = repr((kb, pipeline.allow, parts, wanted, corpus_version(docs), corpus_version(dev)))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _config(part: Any) -> Any:
    return sorted(part.config().items(), key=str), [_config(inner) for inner in inner_of(part)]
