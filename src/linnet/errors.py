"""Every error Linnet raises on purpose, in one tree.

::

    LinnetError                    what a user can cause and mend; the command line prints it and exits with 2
    ├── DataError                  a record that contradicts itself (offsets outside the text, wrong lengths)
    ├── FormatError                a file that is not what it should be: path, line, what was expected
    │   └── UnreachableError       a database or store that does not answer as it should
    ├── KnowledgeBaseError         a knowledge base that is missing, damaged or of another version
    │   └── UnknownConceptError    an id or row the knowledge base does not hold
    ├── PipelineError              components that do not fit together, or documents that do not fit them
    │   └── LeakError              gold answers where a component must not see them
    ├── RecipeError                wrong fields of a recipe, all of them at once
    ├── TrainingError              a training that diverges: a loss, gradient or score that is no number
    ├── MismatchError              gold and prediction that do not belong together
    └── MissingExtraError          an optional dependency that is not installed

A message names the thing, the value and the way out. Anything else that escapes is a bug in Linnet.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, SupportsIndex

__all__ = [
    "NO_FILE",
    "DataError",
    "FormatError",
    "KnowledgeBaseError",
    "LeakError",
    "LinnetError",
    "LinnetWarning",
    "MismatchError",
    "MissingExtraError",
    "PipelineError",
    "RecipeError",
    "TrainingError",
    "UnknownConceptError",
    "UnreachableError",
    "did_you_mean",
    "how_to_install",
    "no_string",
    "wrong_field",
]

NO_FILE = "there is no such file"  # the command line adds the name that may be meant; a server tells no names
WORDS = {  # of pydantic's, and the same as messages here say it
    "Input should be ": "expected ",
    "greater than or equal to": "a number from",
    "less than or equal to": "a number up to",
    "greater than": "a number above",
    "less than": "a number below",
    "a valid integer": "a whole number",
    "a valid number": "a number",
    "a valid boolean": "true or false",
    "a valid string": "a text",
    "a valid dictionary": "a table",
    "a valid ": "a ",
}


class LinnetError(Exception):
    """Root of the tree: something the user can understand and mend."""


class LinnetWarning(UserWarning):
    """Something odd in the input that was handled by a stated rule."""


class DataError(LinnetError):
    """A record that contradicts itself."""


class FormatError(LinnetError):
    """A file that is not what it should be.

    >>> str(FormatError("notes.tsv", "has 2 columns, expected 3", line=7))
    'notes.tsv:7: has 2 columns, expected 3'
    """

    def __init__(self, path: object, problem: str, *, line: int | None = None) -> None:
        self.path, self.problem, self.line = str(path), problem, line
        super().__init__(path, problem, line)

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{where}: {self.problem}"

    def __reduce__(self) -> tuple[object, ...]:
        return _format_error, (self.path, self.problem, self.line)


def _format_error(path: str, problem: str, line: int | None) -> FormatError:
    return FormatError(path, problem, line=line)


class UnreachableError(FormatError):
    """A database or store that does not answer as it should: another time it may."""


class KnowledgeBaseError(LinnetError):
    """A knowledge base that is missing, damaged, of another version, or cannot be built."""


class UnknownConceptError(KnowledgeBaseError):
    """An id or row that the knowledge base does not hold, or that was retired without a successor."""


class PipelineError(LinnetError):
    """Components that do not fit together, or documents that lack what a component needs."""


class LeakError(PipelineError):
    """Gold answers reached a component that must not see them."""


class RecipeError(LinnetError):
    """A recipe with wrong fields; the message lists all of them.

    >>> print(RecipeError("r.toml", ["pipeline[0].kk: unknown field; did you mean 'k'?"]))
    r.toml: 1 problem
      pipeline[0].kk: unknown field; did you mean 'k'?
    """

    def __init__(self, path: object, problems: Sequence[str]) -> None:
        self.path, self.problems = str(path), tuple(problems)
        super().__init__(path, problems)

    def __str__(self) -> str:
        count = len(self.problems)
        head = f"{self.path}: {count} problem{'s' if count != 1 else ''}"
        return "\n  ".join([head, *self.problems])


class TrainingError(LinnetError):
    """A training that cannot go on: a loss, a gradient or a score that is no finite number."""


class MismatchError(LinnetError):
    """Gold and predicted documents that do not belong together."""


class MissingExtraError(LinnetError):
    """An optional dependency that is not installed.

    >>> str(MissingExtraError("torch", extra="neural", wanted_by="the dense retriever")).partition(": ")[0]
    'the dense retriever needs torch, which is not installed'
    """

    def __init__(self, module: str, *, extra: str, wanted_by: str, note: str = "") -> None:
        self.module, self.extra = module, extra
        super().__init__(f"{wanted_by} needs {module}, which is not installed: {how_to_install(extra)}{note}")


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra: into a clone by its folder, as another project has the name at PyPI.

    Where Linnet was installed otherwise, pip takes the one that is there, and adds what the extra needs.
    """
    clone = Path(__file__).parents[2]
    if (clone / "pyproject.toml").is_file():
        return f"pip install -e {shlex.quote(f'{clone}[{extra}]')}"
    return f"pip install {shlex.quote(f'linnet[{extra}]')}"


def did_you_mean(value: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the known name nearest to `value`, or ``""``.

    >>> did_you_mean("dictionray", ["dictionary", "ngram"]), did_you_mean("HPO", ["hpo"])
    ("; did you mean 'dictionary'?", "; did you mean 'hpo'?")
    """
    names = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(value.casefold(), names, n=1, cutoff=0.6)
    return f"; did you mean {names[near[0]]!r}?" if near else ""


def no_string(**values: object) -> str:
    """Return what is wrong with the first value that is no string.

    >>> no_string(id=17, text="Fits.")
    'id: expected a string, found 17; str(17)'
    """
    name, value = next((name, value) for name, value in values.items() if not isinstance(value, str))
    cure = f"; str({value})" if isinstance(value, SupportsIndex) else ""  # as tables number their rows
    return f"{name}: expected a string, found {value!r}{cure}"


def wrong_field(found: Mapping[str, Any], known: Iterable[str], where: str) -> str:
    """Return what is wrong with one field, as pydantic has found it.

    Args:
        found: one of the ``errors()`` of its ValidationError.
        known: the fields that there are.
        where: what the message calls the field.

    >>> wrong_field({"type": "greater_than", "msg": "Input should be greater than 0", "input": -1}, [], "lr")
    'lr: expected a number above 0, found -1'
    """
    if found["type"] == "extra_forbidden":
        names = list(known)
        hint = did_you_mean(where.rpartition(".")[2], names) or f"; it has: {', '.join(names)}"
        return f"{where}: unknown field{hint}"
    if found["type"] == "missing":
        return f"{where}: missing"
    said = re.sub(", (unable to|got a) .*", "", found["msg"])
    for theirs, ours in WORDS.items():
        said = said.replace(theirs, ours)
    return f"{where}: {said}, found {found['input']!r}"
