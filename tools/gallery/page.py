"""The gallery's first half: a paragraph, what is meant in it, and what each pipeline makes of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

from tools.gallery.links import Found, Linked, Run

__all__ = ["Gallery"]

NONE = "–"

INTRODUCTION = """\
# Gallery

One paragraph, written for this page, read by pipelines of several [families of models](families/index.md); and below
[figures of the papers beside ours](#figures-of-the-papers-beside-ours).

The pipelines learned from the training documents of the NCBI Disease corpus, and link to diseases alone (MEDIC of
2012, {concepts:,} concepts): the three drugs of the paragraph should stay unmarked. **Networks had short trainings**, a
few steps on a share of one busy core, to show how the families differ. They do not show how good each is: the
[benchmarks](benchmarks.md#recipes) do, with the full trainings, whose commands stand below. One paragraph proves
nothing.

A probability with an asterisk is not calibrated: it orders the answers of one pipeline, and cannot be compared with
another's. Without an asterisk it was fitted on the corpus' development documents, and says how often such answers are
right there.
"""
RULES = """\
*The text says*: what the rules of [`context`](linking.md#negation-negated-uncertain-a-relatives) read, whatever the
family. *Seen in training*: whether the concept occurs in the training documents. Numbers that are missing here are
those of other spans, which pipelines marked in error.
"""
REMADE = """\
To make this page again, train into one folder, link and write: `python tools/generate_gallery.py FOLDER`. What is not
there is left out and named.
"""


class Gallery:
    """The page, made of a plan and of what was found.

    Args:
        plan: of plan.toml.
        linked: what each pipeline found.
    """

    def __init__(self, plan: Mapping[str, Any], linked: Linked) -> None:
        self.plan, self.linked = plan, linked
        self.runs = {run.title: run for run in linked.runs}

    @cached_property
    def rows(self) -> list[Found]:
        """What is meant, and what else is marked by some pipeline, in reading order; each stretch of text once."""
        found = {one.spans: one for run in self.linked.runs for one in run.found}
        meant = {one.spans: one for one in self.linked.meant}
        return [*sorted((found | meant).values(), key=lambda one: one.spans)]

    def text(self) -> str:
        """Return the section: introduction, tables, and a paragraph for each pipeline."""
        shown = [one for one in self.plan["pipeline"] if one["title"] in self.runs]
        finds = [one for one in shown if not one.get("given")]
        given = [one for one in shown if one.get("given")]
        lines = [INTRODUCTION.format(concepts=self.linked.concepts)]
        if missing := [one for one in self.plan["pipeline"] if one["title"] not in self.runs]:
            names = ", ".join(f"{one['title'].lower()} (`{one['recipe']}`)" for one in missing)
            lines.append(f"Left out, as their training was not done: {names}.\n")
        lines += ["## What is meant\n", self.meant()]
        lines += ["## Found and linked from the text alone\n", self.table(finds)]
        lines += ["## Linked, the mentions given\n", self.table(given)] if given else []
        return "\n".join([*lines, "## Pipeline by pipeline\n", *map(self.pipeline, shown), REMADE])

    def meant(self) -> str:
        """Return the paragraph with what is meant, and the table of it."""
        numbers = {one.spans: number for number, one in enumerate(self.rows, 1)}
        rows = []
        for one in self.linked.meant:
            seen = "yes" if one.seen else "**no**"
            rows.append((str(numbers[one.spans]), self.surface(one), _concepts(one), one.assertion, seen))
        head = ("", "mention", "concept", "the text says", "seen in training")
        return f"{self.marked(self.linked.meant)}\n\n{_table(head, rows)}\n{RULES}"

    def table(self, pipelines: Sequence[Mapping[str, Any]]) -> str:
        """Return mentions × pipelines: each concept with its probability; ✓ where it is the one that is meant."""
        meant = {one.spans: one for one in self.linked.meant}
        runs = [self.runs[one["title"]] for one in pipelines]
        places = {one.spans for run in runs for one in run.found} | set(meant)
        rows = []
        for number, row in enumerate(self.rows, 1):
            if row.spans in places:
                cells = (_cell(run, row, meant.get(row.spans)) for run in runs)
                rows.append((str(number), self.surface(row), *cells))
        right = [sum(_is_right(run, one) for one in self.linked.meant) for run in runs]
        rows.append(("", f"right of {len(meant)}", *map(str, right)))
        heads = (f"[{one['title']}]({one['page']})" for one in pipelines)
        return _table(("", "mention", *heads), rows)

    def pipeline(self, one: Mapping[str, Any]) -> str:
        """Return what one pipeline marks, and how it was trained."""
        run = self.runs[one["title"]]
        lines = [f"### {one['title']}\n", *([] if one.get("given") else [self.marked(run.found) + "\n"])]
        if "folder" not in one:
            return "\n".join([*lines, f"Recipe `{one['recipe']}`: nothing to train.\n"])
        parts = ", ".join(f"`{part}` {_minutes(seconds)}" for part, seconds in run.trained.items())
        lines.append(f"Trained in {_minutes(sum(run.trained.values()))} ({parts}){_commands(one)}")
        return "\n".join(lines)

    def marked(self, found: Sequence[Found]) -> str:
        """Return the paragraph with marks, each followed by the number of its row."""
        text = self.linked.text
        ends: dict[int, list[str]] = {}
        for number, row in enumerate(self.rows, 1):
            if any(one.spans == row.spans for one in found):
                ends.setdefault(row.spans[-1][1], []).append(str(number))
        spans = [span for one in found for span in one.spans]
        made = []
        for start, end in pairwise(sorted({0, len(text), *chain.from_iterable(spans)})):
            piece = text[start:end]
            made.append(f"<mark>{piece}</mark>" if any(first <= start < last for first, last in spans) else piece)
            made.append(f"<sup>{', '.join(ends[end])}</sup>" if end in ends else "")
        return "> " + "".join(made)

    def surface(self, one: Found) -> str:
        """Return the text of a mention; parts of one are separated by an ellipsis."""
        return " … ".join(self.linked.text[start:end] for start, end in one.spans)


def _cell(run: Run, row: Found, meant: Found | None) -> str:
    found = next((one for one in run.found if one.spans == row.spans), None)
    if found is None:
        return NONE
    probability = "" if found.probability is None else f" {found.probability:.2f}{'' if found.calibrated else '*'}"
    return f"{_concepts(found) or 'none'}{probability}{' ✓' if meant and _is_right(run, meant) else ''}"


def _is_right(run: Run, meant: Found) -> bool:
    return any(one.spans == meant.spans and set(one.concepts) == set(meant.concepts) for one in run.found)


def _concepts(one: Found) -> str:
    return " + ".join(f"{name} (`{id}`)" for id, name in zip(one.concepts, one.names, strict=True))


def _commands(one: Mapping[str, Any]) -> str:
    """Return the rest of a sentence, and the command that trained a pipeline; and the one that trains it in full."""
    rest = "".join(f" {option}" for option in one.get("options", ()))
    changes = "".join(f" --set {change}" for change in one.get("changes", ()))
    place = f"-o FOLDER/{one['folder']}"
    done = f"linnet train {one['recipe']}{rest}{changes} {place}"
    full = f"linnet train {one.get('full', one['recipe'])}{rest} {place}"
    commands = "\n".join(dict.fromkeys([*one.get("before", ()), done, full]))
    return f"{', in full' if done == full else '; the last command trains it in full'}:\n\n```\n{commands}\n```\n"


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.1f} min"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *rows))
