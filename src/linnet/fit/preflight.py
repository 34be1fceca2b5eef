"""Pre-flight checks of training data: some parts learn last, and should not fail after hours of training."""

from __future__ import annotations

import itertools
import logging
from collections import Counter
from collections.abc import Sequence

from linnet.data import Document
from linnet.errors import LinnetError, RecipeError
from linnet.fit.plan import Task, from_dev, learner_at, must_have_dev, needs_documents, needs_gold
from linnet.kb import KnowledgeBase
from linnet.pipeline import Pipeline
from linnet.pipeline.confidence import FEW
from linnet.recipes.knowledge_bases import name_of_kb
from linnet.text.normalise import one_line

__all__ = ["check_teachable", "shared"]

logger = logging.getLogger(__name__)

KNOWN = 0.5  # share of linked mentions whose concepts the knowledge base holds; with fewer it may be the wrong one
SAMPLE = 1000  # concepts whose ids tell how ids begin
SHOWN = 3  # ids that a message names


def check_teachable(
    pipeline: Pipeline, todo: Sequence[Task], docs: Sequence[Document], dev: Sequence[Document]
) -> None:
    """Refuse documents that some part of a pipeline cannot learn from; parts may learn from the knowledge base alone.

    Args:
        pipeline: whose parts are to be trained.
        todo: which of them.
        docs: the training documents.
        dev: the documents that parts such as ``decide`` learn from.

    Raises:
        LinnetError: no documents, a duplicate id, no mention, no dev documents where a part learns from them,
            not one concept that the knowledge base holds, or one whose path no trained folder can hold.
        RecipeError: a file that a part learns from is missing.
        MissingExtraError: a library that a part needs is not installed.
    """
    for task in todo:
        learner_at(pipeline, task.place).require_libraries()
        _require_files(pipeline, task)
    if pipeline.kb is not None:
        _require_name(pipeline.kb)
    if not needs_documents(pipeline, todo):
        return
    _check_ids(docs)
    if not needs_gold(pipeline, todo):
        return
    if both := shared(docs, dev):
        told = f"{both:,} of the {len(dev):,} dev documents have the text of a training document"
        logger.warning("%s: what is chosen or calibrated on them is too sure; corpus split keeps copies together", told)
    links = any("candidates" in part.gives or "concepts" in part.gives for part in pipeline.parts)
    _require_dev(pipeline, todo, dev)
    kb = pipeline.kb if links else None
    _check_mentions(docs, "training", kb)
    if _learns_from_dev(pipeline, todo, dev):
        _check_mentions(dev, "dev", kb)


def _check_mentions(docs: Sequence[Document], split: str, kb: KnowledgeBase | None) -> None:
    if not any(doc.mentions for doc in docs):
        raise LinnetError(f"none of the {len(docs):,} {split} documents has a mention to learn from")
    if kb is not None:
        _check_concepts(kb, docs, split)


def _require_dev(pipeline: Pipeline, todo: Sequence[Task], dev: Sequence[Document]) -> None:
    if not dev and (late := must_have_dev(pipeline, todo)):
        raise LinnetError(
            f"{late[0]} learns from the dev documents, but there are none: give the corpus a dev split "
            "(linnet corpus split makes one, if its share of the documents is not too small), or train without it"
        )


def _learns_from_dev(pipeline: Pipeline, todo: Sequence[Task], dev: Sequence[Document]) -> bool:
    """Return whether a part learns from dev documents; of few it takes what there is, and training documents."""
    if must_have_dev(pipeline, todo):
        return True
    return bool(from_dev(pipeline, todo)) and sum(len(doc.mentions or ()) for doc in dev) >= FEW


def _require_files(pipeline: Pipeline, task: Task) -> None:
    try:
        learner_at(pipeline, task.place).require_files()
    except RecipeError as error:
        where = ".of".join(f"[{index}]" for index in task.place)
        problems = [f"pipeline{where}.{problem}" for problem in error.problems]
        raise RecipeError(pipeline.name or task.name, problems) from error


def _require_name(kb: KnowledgeBase) -> None:
    """Refuse a knowledge base whose name no recipe can hold: TOML is UTF-8."""
    try:
        name_of_kb(kb).encode()
    except UnicodeEncodeError as error:
        raise LinnetError(f"{kb.path}: a trained folder cannot name it, for its path is no UTF-8: rename it") from error


def shared(docs: Sequence[Document], dev: Sequence[Document]) -> int:
    """Return how many dev documents have the text of a training document, whatever its blanks and line ends."""
    texts = {one_line(doc.text) for doc in docs}
    return sum(one_line(doc.text) in texts for doc in dev)


def _check_ids(docs: Sequence[Document]) -> None:
    if not docs:
        raise LinnetError("no documents to train on")
    seen: set[str] = set()
    for doc in docs:
        if doc.id in seen:
            raise LinnetError(f"document id {doc.id!r} occurs twice in the training documents; ids must be unique")
        seen.add(doc.id)


def _check_concepts(kb: KnowledgeBase, docs: Sequence[Document], split: str) -> None:
    """Refuse documents of other concepts than the knowledge base's, and warn of those with many others."""
    linked = [mention.concepts for doc in docs for mention in doc.mentions or () if mention.concepts]
    known = {id: id in kb for id in set(itertools.chain.from_iterable(linked))}
    right = sum(all(map(known.__getitem__, concepts)) for concepts in linked)
    if not linked:
        raise LinnetError(f"no mention of the {split} documents has a concept, so no part can learn linking")
    if right >= KNOWN * len(linked):
        return
    others = Counter(id for id in itertools.chain.from_iterable(linked) if not known[id])
    named = ", ".join(id for id, _ in others.most_common(SHOWN))
    problem = (
        f"{right:,} of {len(linked):,} linked mentions of the {split} documents have concepts that the knowledge base "
        f"{kb.path} holds; it lacks {named}, {_its_ids(kb)}"
    )
    if not right:
        raise LinnetError(f"{problem}; are the documents annotated with another one?")
    logger.warning("%s", problem)


def _its_ids(kb: KnowledgeBase) -> str:
    """Say what ids a knowledge base has: how they begin, or some of them where they have no prefix."""
    ids = [kb.id(row) for row in range(min(len(kb), SAMPLE))]
    prefixes = sorted({id.partition(":")[0] for id in ids if ":" in id})
    if not prefixes:
        return f"its ids are such as {', '.join(ids[:SHOWN])}"
    shown = ", ".join(f'"{one}"' for one in prefixes[:SHOWN])
    more = ", ..." if len(prefixes) > SHOWN else ""
    return f"its ids begin with {shown}{more}"
