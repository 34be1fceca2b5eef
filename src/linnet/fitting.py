"""Training of a whole pipeline: every part that learns, in order, each behind the parts before it.

A part that learns from what earlier parts say must not see what they say of documents they were trained on: a retriever
that knows the aliases of a document finds everything in it. So the training documents are divided into folds, and what
stands before a part answers for each fold with parts that have not seen it (`CrossFitted`): those with a method
``without(ids)`` leave the fold's documents out, others are trained again on the rest. Networks take too long for that:
those with a method ``with_network`` are trained again ``FOLDS`` times, and what else such a part knows is left out
fold by fold.

Finished parts are kept beside the output folder until all are done (`linnet.finished`), so that an interrupted training
goes on where it was. Networks are trained by a loop of their own, which takes a part's place in `fit_part`.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from linnet import config
from linnet.data import Document
from linnet.errors import LinnetError
from linnet.finished import Finished, corpus_version, first_process
from linnet.home import read_json, real_path
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow, Fuse, Pipeline, Stage
from linnet.roles import Component, Fits, Step
from linnet.teachable import check_teachable
from linnet.todo import FROM_DEV, Task, is_network, part_at, with_part, with_parts
from linnet.train.args import FREE

__all__ = [
    "FOLDS",
    "CrossFitted",
    "Done",
    "Progress",
    "fit_part",
    "fold_of",
    "train",
    "train_in_place",
]

logger = logging.getLogger(__name__)

FOLDS = 10

Again = dict[tuple[int, ...], list[Any]]  # place of a part -> it, trained without the documents of every n-th fold


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

    ``places`` is document id → number of the pipeline in ``folds``, which ``make`` trains when they are first asked:
    for a part that learns from the documents alone they never are.
    """

    whole: Pipeline
    make: Callable[[], Sequence[Pipeline]]
    places: Mapping[str, int]

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
    def parts(self) -> tuple[Component, ...]:
        """The parts of the whole pipeline."""
        return self.whole.parts

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:
        """Return `docs` after all parts, in order."""
        found: list[Document | None] = [None] * len(docs)
        by_fold: dict[int, list[int]] = {}
        for index, doc in enumerate(docs):
            by_fold.setdefault(self.places.get(doc.id, -1), []).append(index)
        for fold, indexes in by_fold.items():
            pipeline = self.whole if fold < 0 else self.folds[fold]
            for index, doc in zip(indexes, pipeline([docs[i] for i in indexes], allow=allow), strict=True):
                found[index] = doc
        return [doc for doc in found if doc is not None]


def cross_fitted(
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
    places = {doc.id: fold_of(doc.id, folds) for doc in docs}

    def made() -> list[Pipeline]:
        again = {} if known is None else known
        # each with its last stage, what stands before it first
        for place, number in sorted({task.place: number for number, task in enumerate(done)}.items()):
            if place not in again and hasattr(part_at(pipeline, place), "with_network"):
                again[place] = _trained_again(pipeline, done[: number + 1], docs, places, folds, checkpoints, again)
        outs = [frozenset(id for id, place in places.items() if place == fold) for fold in range(folds)]
        return [
            _without(pipeline, done, [doc for doc in docs if doc.id not in out], out, folds, again, fold)
            if out
            else pipeline
            for fold, out in enumerate(outs)
        ]

    return CrossFitted(pipeline, made, places)


def fold_of(id: str, folds: int) -> int:
    """Return the fold of a document, which its id alone decides.

    >>> fold_of("8701013", 3) in range(3)
    True
    """
    digest = hashlib.blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % folds


def _trained_again(
    pipeline: Pipeline,
    done: Sequence[Task],
    docs: Sequence[Document],
    places: Mapping[str, int],
    folds: int,
    checkpoints: Path | None,
    again: Again,
) -> list[Any]:
    """Return the last part of `done` with networks that have not seen the documents of every n-th fold.

    Earlier parts that were trained `again` answer for the rest as they do for all documents: what answers for a
    document has not seen it, though it may have seen some of those that are left out.
    What one of its stages learned from no document (``owes_nothing``) is not learned again: the next goes on with it.
    """
    task = done[-1]
    part: Any = part_at(pipeline, task.place)
    stages = [number for number, other in enumerate(done) if other.place == task.place]
    owes_nothing = getattr(part, "owes_nothing", lambda _: False)
    known = [number for number in stages if owes_nothing(done[number].args)]
    stages = [number for number in stages if not known or number > known[-1]]
    made = []
    for out in range(part.FOLDS):
        rest = [doc for doc in docs if places[doc.id] % part.FOLDS != out]
        if not rest or len(rest) == len(docs) or not stages:
            made.append(part)
            continue
        logger.info("%s: trained again without part %d of %d of the documents", task.name, out + 1, part.FOLDS)
        parts = [_copied(other, (index,), [task]) for index, other in enumerate(pipeline.parts)]
        fewer = with_part(with_parts(pipeline, parts), task.place, copy.copy(part))
        for number in stages:
            folder = checkpoints / f"{done[number].folder}.{out}" if checkpoints is not None else None
            for _ in fit_part(
                fewer, done[number], rest, (), done=done[:number], folds=folds, checkpoints=folder, known=again
            ):
                pass
        made.append(part.with_network(part_at(fewer, task.place)))
    return made


def _without(
    pipeline: Pipeline,
    done: Sequence[Task],
    rest: Sequence[Document],
    out: frozenset[str],
    folds: int,
    again: Again,
    fold: int,
) -> Pipeline:
    """Return the pipeline as trained on the `rest` of the documents, without those in `out`; networks are `again`."""
    parts = [_copied(part, (index,), done) for index, part in enumerate(pipeline.parts)]
    fewer = with_parts(pipeline, parts)
    for number, task in enumerate(done):
        ready = again.get(task.place)
        part = ready[fold % len(ready)] if ready else part_at(fewer, task.place)
        leave_out = getattr(part, "without", None)
        if leave_out is not None:
            fewer = with_part(fewer, task.place, leave_out(out))
        else:
            for _ in fit_part(fewer, task, rest, (), done=done[:number], folds=folds, known=again):
                pass
    return fewer


def _copied(part: Any, place: tuple[int, ...], done: Sequence[Task]) -> Any:
    """Return a copy of a part that is trained again; what is not is shared, with all that it has looked up or built."""
    inner = getattr(part, "of", None)
    trained = any(task.place[: len(place)] == place for task in done)
    if not trained or (inner is None and hasattr(part, "without")):
        return part
    made = copy.copy(part)
    if inner is not None:
        made.of = [_copied(each, (*place, index), done) for index, each in enumerate(inner)]
    return made


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

    `checkpoints` is a folder for parts that can go on where an interrupted training of theirs was (``RESUMES``).

    Raises:
        LinnetError: the part learns from dev documents and there are none.
    """
    part = cast("Fits", part_at(pipeline, task.place))
    if isinstance(part, FROM_DEV) and not dev:
        raise LinnetError(f"{task.name} learns from the dev documents, and there are none")
    earlier = [other for other in done if other.place[0] < task.place[0]]
    if isinstance(part, FROM_DEV) and not {doc.id for doc in docs} & {doc.id for doc in dev}:
        earlier = []  # nothing has seen what the part learns from, so no fold would be asked
    before = with_parts(pipeline, pipeline.parts[: task.place[0]])
    kb = cast("KnowledgeBase", pipeline.kb)
    resumes = checkpoints is not None and is_network(cast("Component", part))
    args = {**task.args, "checkpoints": checkpoints} if resumes else task.args
    behind = cross_fitted(before, earlier, docs, folds=folds, checkpoints=checkpoints, known=known)
    yield from part.fit(docs, dev, before=behind, kb=kb, args=args)


def train(
    pipeline: Pipeline,
    todo: Sequence[Task],
    docs: Sequence[Document],
    dev: Sequence[Document],
    *,
    output: Path,
    folds: int = FOLDS,
    about: Sequence[str] = (),
) -> Iterator[Progress | Done]:
    """Train a pipeline and, in the first process, write it to a folder that `linnet.load` reads.

    Args:
        pipeline: whose parts are trained in place.
        todo: which parts, in order (`tasks`).
        docs: the training documents, with unique ids.
        dev: documents that nothing is trained on; parts may choose on them.
        output: a new or empty folder.
        folds: of cross-fitting.
        about: lines for the folder's card.

    Raises:
        LinnetError: the folder holds something, no documents, an id that stands twice, or no room to write.
    """
    if first_process() and output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise LinnetError(f"{output} is no empty folder: give a new one, nothing is overwritten")
    check_teachable(pipeline, todo, docs, dev)
    output = real_path(output)  # "." has no name that another folder could be called after
    kept = output.with_name(f"{output.name}.parts")
    finished = Finished(kept, key=_key(pipeline, todo, docs, dev))
    done: list[Task] = []
    again: Again = {}  # networks without parts of the documents, for all who ask
    for task in todo:
        place, start = kept / task.folder, time.perf_counter()
        was_kept = task.folder in finished.seconds
        if was_kept:
            pipeline = with_part(pipeline, task.place, _loaded(part_at(pipeline, task.place), place, pipeline.kb))
        else:
            unfinished = kept / f"{task.folder}.training"
            again = {where: parts for where, parts in again.items() if where[0] < task.place[0]}
            for step in fit_part(
                pipeline, task, docs, dev, done=done, folds=folds, checkpoints=unfinished, known=again
            ):
                yield Progress(task.label, step)
            save = cast("Stage", part_at(pipeline, task.place)).save
            finished.keep(task.folder, save, seconds=time.perf_counter() - start)
        done.append(task)
        yield Done(task.label, finished.seconds[task.folder], kept=was_kept)
    if not first_process():
        return
    lines = [*about, *_note_seen(pipeline, done, docs, dev)]
    lines += [f"{task.label}: trained in {finished.seconds[task.folder]:.1f} s" for task in done]
    with finished.whole(output) as folder:
        config.save(pipeline, folder)
        with (folder / "card.md").open("a", encoding="utf-8") as card:
            card.writelines(f"* {line}\n" for line in lines)


def _note_seen(
    pipeline: Pipeline, done: Sequence[Task], docs: Sequence[Document], dev: Sequence[Document]
) -> Iterator[str]:
    """Have a trained pipeline know which documents it has seen, and yield what its card says of them."""
    chosen = [task.label for task in done if cast("Stage", part_at(pipeline, task.place)).USES_DEV] if dev else []
    pipeline.seen = pipeline.seen.with_documents(train=docs, dev=dev if chosen else ())
    yield f"training documents: {len(docs):,}, version {corpus_version(docs)}"
    if chosen:
        version = corpus_version(dev)
        yield f"dev documents, which chose or calibrated {', '.join(chosen)}: {len(dev):,}, version {version}"


def _loaded(part: Component, folder: Path, kb: KnowledgeBase | None) -> Component:
    """Return what was saved in place of `part`, which may have more to hand on (``goes_on_from``).

    A fusion keeps its parts, which are tasks of their own.
    """
    if isinstance(part, Fuse):
        return replace(part, weights=read_json(folder / "config.json").get("weights"))
    loaded = type(cast("Stage", part)).load(folder, kb=kb)
    goes_on_from = getattr(loaded, "goes_on_from", None)
    if goes_on_from is not None:
        goes_on_from(part)
    return loaded


def train_in_place(pipeline: Pipeline, todo: Sequence[Task], docs: Sequence[Document], dev: Sequence[Document]) -> None:
    """Train the parts of a pipeline as `train` does, and write nothing.

    Raises:
        LinnetError: no documents, or an id that stands twice.
    """
    if todo:
        check_teachable(pipeline, todo, docs, dev)
    for number, task in enumerate(todo):
        for _ in fit_part(pipeline, task, docs, dev, done=todo[:number]):
            pass


def _key(pipeline: Pipeline, todo: Sequence[Task], docs: Sequence[Document], dev: Sequence[Document]) -> str:
    """Return a hash of all that the result depends on: finished parts of another training are of no use."""
    kb = pipeline.kb.version if pipeline.kb else ""
    parts = [(config.name_of(part), _config(part)) for part in pipeline.parts]
    wanted = []
    for task in todo:
        free = FREE if is_network(part_at(pipeline, task.place)) else ()
        wanted.append((task.place, task.name, sorted((k, v) for k, v in task.args.items() if k not in free)))
    text = repr((kb, parts, wanted, corpus_version(docs), corpus_version(dev)))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _config(part: Any) -> Any:
    return sorted(part.config().items(), key=str), [_config(inner) for inner in getattr(part, "of", ())]
