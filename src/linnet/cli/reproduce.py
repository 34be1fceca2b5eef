"""``linnet reproduce``: run recipes from scratch and compare with the scores they promise."""

from __future__ import annotations

import logging
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from linnet.cli.common import Corpora, Quiet, Verbose, check_docs, listen, table
from linnet.cli.inputs import refuse_overwriting
from linnet.cli.terminal import say
from linnet.corpora.catalog import CORPORA, corpus_named
from linnet.errors import LinnetError
from linnet.evaluate.report import Report
from linnet.evaluate.rows import END_TO_END, put_rows
from linnet.fit.experiment import Experiment
from linnet.kb import KnowledgeBase
from linnet.recipes.config import open_kb, read_recipe, recipes
from linnet.recipes.recipe import Recipe
from linnet.text.files import read_text, replacing

__all__ = ["reproduce"]

logger = logging.getLogger(__name__)

IN_FOLDS = tuple(name for name, corpus in CORPORA.items() if corpus.folds)
LINKING = ("in-kb.accuracy@1", "in-kb.recall@20")  # of recipes that promise nothing
OUTPUT = Path("reproduced")
MEANING = "expected is the least that the recipe promises ([expect]); OK: found is no less, however much more it is"
CLOSE = 1e-9  # a score that misses its mark by less is a matter of rounding in the last place


class _Verdict(NamedTuple):
    """One metric, promised or not, and its measured mean and standard deviation over folds and seeds."""

    recipe: str
    figure: str
    expected: float | None
    found: float
    spread: float | None

    @property
    def passed(self) -> bool:
        return self.expected is None or self.found >= self.expected - CLOSE


def reproduce(
    sources: Annotated[list[str], typer.Argument(metavar="RECIPE", help="Names or files of recipes.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for predictions and reports.")] = OUTPUT,
    out: Annotated[Path | None, typer.Option("--out", hidden=True)] = None,  # what -o was called
    data: Corpora = None,
    kb: Annotated[str | None, typer.Option(help="Knowledge base instead of the recipe's.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds; reports mean and deviation.")] = 1,
    folds: Annotated[bool, typer.Option(help="Run on each fold of the corpus; reports mean and deviation.")] = False,
    repeats: Annotated[int, typer.Option(min=0, help="Warm runs to measure speed; 0 = do not measure cost.")] = 3,
    docs: Annotated[
        Path | None, typer.Option(help="Markdown file: writes a row for each recipe into its generated table.")
    ] = None,
    detailed: Annotated[
        bool, typer.Option(help="Write a second table too: MAP, recall@10, partial matches, time to link and to train.")
    ] = False,
    fresh: Annotated[bool, typer.Option(help="Repeat everything, even finished work.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Run recipes from scratch, write predictions and reports, and compare with the scores they promise."""
    listen(quiet=quiet, verbose=verbose)
    out = out or output
    known = [(_name(source), read_recipe(source), source) for source in sources]
    if twice := [name for name, _, _ in known if sum(name == other for other, _, _ in known) > 1]:
        raise LinnetError(f"the recipe {twice[0]} is named twice: name it once")
    check_docs(docs)
    refuse_overwriting((source for source in sources if source not in recipes()), [docs])
    base = None if kb is None else open_kb(kb)
    verdicts: list[_Verdict] = []
    reports: list[Report] = []
    taught: set[Path] = set()  # folders in which something was done just now
    for name, recipe, source in known:
        for split in recipe.splits:
            teacher = _place(out, recipe.trained_by, split) if recipe.trained_by else None
            run = Experiment(
                source=source, split=split, folder=_place(out, source, split), teacher=teacher, data=data,
                repeats=repeats, fresh=fresh, fresh_teacher=fresh and teacher not in taught,
            )  # fmt: skip
            taught |= {run.folder} | ({teacher} if teacher else set())
            found = _run_all(_folds(run, recipe, folds=folds), recipe.seed, seeds, base)
            reports.append(found[0])
            verdicts += _compare(name, recipe, split, found)
            # after each, so that what was found is not lost when a later recipe fails
            _write_rows(reports, out / "rows.md" if docs is None else docs, detailed=detailed)
            if not quiet:
                about = found[0].about
                told = f"{about.system} on {about.corpus}: {found[0].documents:,} documents"
                say(f"{told}; predictions and reports in {run.folder}")
    _show(verdicts)
    if not all(verdict.passed for verdict in verdicts):
        raise typer.Exit(1)


def _name(source: str) -> str:
    return source if source in recipes() else Path(source).stem


def _place(out: Path, source: str, split: str) -> Path:
    """Return the folder of a recipe on a split, which has one of its own where the recipe names others."""
    folder = out / _name(source)
    return folder if read_recipe(source).splits == (split,) else folder / split


def _folds(run: Experiment, recipe: Recipe, *, folds: bool) -> list[Experiment]:
    """Return the experiment, or one for each fold of its corpus, with a folder of its own."""
    if not folds:
        return [run]
    corpus = corpus_named(recipe.corpus.partition("/")[0])
    if corpus is None or not corpus.folds:
        raise LinnetError(
            f"--folds: the corpus {recipe.corpus!r} has no folds; corpora with folds: {', '.join(IN_FOLDS)}"
        )
    return [
        replace(run, folder=run.folder / fold, teacher=run.teacher and run.teacher / fold, fold=fold, done=[])
        for fold in corpus.folds
    ]


def _run_all(runs: Sequence[Experiment], first: int, seeds: int, kb: KnowledgeBase | None) -> list[Report]:
    """Return the report of each fold and seed; with several seeds, each has a folder of its own."""
    if seeds == 1:
        return [run.run(kb) for run in runs]
    numbers = range(first, first + seeds)
    return [_with_seed(run, number).run(kb) for run in runs for number in numbers]


def _with_seed(run: Experiment, seed: int) -> Experiment:
    own = f"seed-{seed}"
    return replace(run, folder=run.folder / own, teacher=run.teacher and run.teacher / own, seed=seed, done=[])


def _compare(name: str, recipe: Recipe, split: str, reports: Sequence[Report]) -> list[_Verdict]:
    """Return the metrics that the recipe promises on a split, or the headlines if it promises none."""
    promised = {figure: floor for figure, floor in recipe.expect.items() if figure.partition(".")[0] == split}
    headlines = LINKING if reports[0].given else (*LINKING, *END_TO_END)
    wanted: Mapping[str, float | None] = promised or {
        f"{split}.{figure}": None for figure in headlines if figure in reports[0].measures
    }
    verdicts = []
    for figure, expected in wanted.items():
        values = [report[figure].value for report in reports]
        spread = statistics.stdev(values) if len(values) > 1 else None
        verdicts.append(_Verdict(name, figure, expected, statistics.fmean(values), spread))
    return verdicts


def _write_rows(reports: Sequence[Report], path: Path, *, detailed: bool) -> None:
    text = put_rows(read_text(path) if path.exists() else "", reports, detailed=detailed)
    with replacing(path) as stream:
        stream.write(text)


def _show(verdicts: Sequence[_Verdict]) -> None:
    rows = [
        (
            one.recipe,
            one.figure,
            "–" if one.expected is None else f"{one.expected:.4f}",
            f"{one.found:.4f}" + ("" if one.spread is None else f" ± {one.spread:.4f}"),
            "–" if one.expected is None else f"{one.found - one.expected:+.4f}",
            "–" if one.expected is None else "OK" if one.passed else "FAIL",
        )
        for one in verdicts
    ]
    table("", ("recipe", "metric", "expected", "found", "difference", ""), rows, right=(2, 3, 4))
    if any(one.expected is not None for one in verdicts):
        print(MEANING)
