"""Print what the recipe `hpo` does on the annotated letters (``tests/letters``), as docs/benchmarks.md has it.

Run from the root of the project: ``python tools/measure_letters.py``.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.letters.letters import read_assertions, read_further, read_letters

import linnet
from linnet.data import ASSERTIONS, Document
from linnet.evaluate import Options
from linnet.evaluate.evaluation import evaluate


def write(line: str) -> None:
    """Write a line."""
    sys.stdout.write(f"{line}\n")


def show_findings(name: str, gold: Sequence[Document], pipeline: linnet.Pipeline) -> None:
    """Print precision and recall of all findings and of those of the patient, of documents with concepts."""
    report = evaluate(gold, pipeline([doc.bare() for doc in gold]), kb=pipeline.kb, options=Options(samples=0))
    document, patient = (
        " / ".join(f"{report[f'{measure}.{part}'].value:.3f}" for part in ("precision", "recall"))
        for measure in ("document", "patient")
    )
    write(f"{name}: {len(gold)} letters, findings {document}, of the patient {patient}")


def show_assertions(name: str, gold: Sequence[Document]) -> None:
    """Print how many assertions of given mentions are right, and precision and recall of each."""
    pairs = Counter(read_assertions(gold))
    right = sum(count for (theirs, ours), count in pairs.items() if theirs == ours)
    write(f"{name}: {right / pairs.total():.3f} of {pairs.total():,} assertions of given mentions are right")
    for one in ASSERTIONS:
        said = sum(count for (_, ours), count in pairs.items() if ours == one)
        meant = sum(count for (theirs, _), count in pairs.items() if theirs == one)
        write(f"  {one}: {pairs[one, one] / max(said, 1):.3f} / {pairs[one, one] / max(meant, 1):.3f} of {meant}")


def main() -> None:
    """Print the figures of both halves and of the further letters."""
    pipeline = linnet.load("hpo")
    letters = {
        "develop": read_letters("develop"),
        "set aside": read_letters("set_aside"),
        "further, read": read_further("read"),
        "further, scored": read_further("scored"),
    }
    for name, gold in letters.items():
        with_concepts = [doc for doc in gold if all(mention.concepts is not None for mention in doc.mentions or ())]
        for language in ("en", "de"):
            some = [doc for doc in with_concepts if doc.meta["language"] == language]
            if some:
                show_findings(f"{name}, {language}", some, pipeline)
        show_findings(name, with_concepts, pipeline)
        show_assertions(name, gold)


if __name__ == "__main__":
    main()
