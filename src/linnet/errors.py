"""Every error Linnet raises on purpose, in one tree.

::

    LinnetError                    what a user can cause and mend; the command line prints it and exits with 2
    ├── DataError                  a record that contradicts itself (offsets outside the text, wrong lengths)
    ├── FormatError                a file that is not what it should be: path, line, what was expected
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
from collections.abc import Iterable, Sequence

__all__ = [
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
    "did_you_mean",
]


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

    >>> str(MissingExtraError("torch", extra="neural", wanted_by="the dense retriever"))
    "the dense retriever needs torch, which is not installed: pip install 'linnet[neural]'"
    """

    def __init__(self, module: str, *, extra: str, wanted_by: str, note: str = "") -> None:
        self.module, self.extra = module, extra
        super().__init__(f"{wanted_by} needs {module}, which is not installed: pip install 'linnet[{extra}]'{note}")


def did_you_mean(value: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the known name nearest to `value`, or ``""``.

    >>> did_you_mean("dictionray", ["dictionary", "ngram"])
    "; did you mean 'dictionary'?"
    """
    near = difflib.get_close_matches(value, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""
