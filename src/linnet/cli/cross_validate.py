"""``linnet train --folds``: a recipe's figures on all documents of a corpus, each linked by who has not seen it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from linnet.cli.evaluate import show
from linnet.cli.inputs import refuse_overwriting
from linnet.corpora import read, write
from linnet.corpora.catalog import corpus_named
from linnet.corpora.splits import dev_documents, has_split, own_documents, split_documents
from linnet.data import Document
from linnet.errors import LinnetError
from linnet.evaluate import About, evaluate
from linnet.evaluate.files import write_reports
from linnet.fit.cross_validation import PREDICTIONS, CrossValidation
from linnet.fit.store import first_process
from linnet.home import expanded
from linnet.kb import KnowledgeBase

__all__ = ["cross_validate"]

logger = logging.getLogger(__name__)


def cross_validate(
    recipe: str,
    kb: KnowledgeBase,
    corpus: str,
    data: Path | None,
    folds: int,
    output: Path,
    changes: Sequence[str],
    *,
    texts: Callable[[Sequence[Document]], list[Document]],
    follow: Callable[..., None],
    quiet: bool,
) -> None:
    """Cross-validate a recipe, write predictions and reports into `output`, and show the report.

    `texts` returns the documents without annotation that all folds learn from beside the given ones.

    Raises:
        LinnetError: too few documents, or a folder that holds something else.
    """
    if not first_process():
        raise LinnetError("--folds: cross-validation runs in one process; start it without torchrun or accelerate")
    refuse_overwriting([corpus], [output])
    docs, dev = _documents(corpus, data)
    taught = [doc for doc in docs if doc.mentions is not None]
    if left := len(docs) - len(taught):
        logger.info("documents without annotation, not used: %s", f"{left:,}")
    whole = CrossValidation(
        source=recipe, kb=kb, docs=taught, dev=dev, folds=folds, folder=output, changes=changes, texts=texts(docs)
    )
    follow(whole.run(), documents=len(taught))
    write(taught, output / "gold.jsonl")  # for linnet evaluate, which wants the documents that were linked
    about = About(system=Path(recipe).stem, corpus=f"{Path(corpus).name}, {folds} folds")
    report = evaluate(taught, list(read(output / PREDICTIONS, kb=kb)), kb=kb, about=about)
    write_reports([report], [output / f"report.{suffix}" for suffix in ("json", "md", "html")])
    if not quiet:
        show([report])
    logger.info("%s: predictions of %s documents, reports", output, f"{len(taught):,}")


def _documents(corpus: str, data: Path | None) -> tuple[list[Document], list[Document]]:
    """Return the documents to divide, all of a file or folder or those of a train split, and the dev documents."""
    place = expanded(corpus)
    if not corpus_named(corpus) and (place.is_file() or (place.is_dir() and not has_split(corpus, "train"))):
        return list(own_documents(place)), []
    return list(split_documents(corpus, split="train", data=data)), list(dev_documents(corpus, data=data))
