"""What readers do about annotations that cannot be read as they are: stop, leave them out, or mend their offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, TypeAlias, TypeVar

from linnet.corpora.misplaced import find_near
from linnet.data import Span
from linnet.errors import FormatError
from linnet.reporter import warn

__all__ = ["LEFT_OUT", "STOP", "Faults", "Held", "OnError"]

OnError: TypeAlias = Literal["stop", "skip", "repair"]
Given = TypeVar("Given")
Made = TypeVar("Made")

CURE = "mend it, or read the rest with --on-error skip or repair (linnet corpus; in Python on_error='skip')"
SHOWN = 20  # faults that one error names
LEFT_OUT = "left out"


def _warn(error: FormatError, done: str) -> None:
    warn(f"{error}; {done}")


class Faults:
    """What a reader does about annotations that it cannot read, and who is told of each.

    Args:
        on_error: "stop" refuses the file; "skip" leaves the annotation out; "repair" puts one whose offsets miss its
            text where the text stands nearby (`linnet.corpora.misplaced`), and leaves out any other.
        tell: is given each error and what was done, `LEFT_OUT` or ``put at 0-5``; by default each is a warning.
        whole: leave out documents and files too that cannot be read, instead of stopping.

    >>> faults = Faults("repair", print)
    >>> faults.move(FormatError("f.ann", "17-22 is no span", line=1), "Fever again.", "FEVER", [Span(17, 22)])
    f.ann:1: 17-22 is no span put at 0-5
    [Span(start=0, end=5)]
    """

    def __init__(
        self, on_error: OnError = "stop", tell: Callable[[FormatError, str], object] = _warn, *, whole: bool = False
    ) -> None:
        self.on_error, self.tell, self.whole = on_error, tell, whole

    @property
    def stops(self) -> bool:
        """Whether an annotation that cannot be read ends the reading."""
        return self.on_error == "stop" and not self.whole

    def move(self, error: FormatError, text: str, said: str, spans: Sequence[Span]) -> list[Span]:
        """Return where an annotation that says `said` stands near its `spans`; raise `error` if that is not wanted."""
        found = find_near(said, spans, text) if self.on_error == "repair" else None
        if found is None:
            raise error
        self.tell(error, f"put at {';'.join(f'{start}-{end}' for start, end in found)}")
        return found

    def leave_out(self, error: FormatError, *, whole: bool = False) -> None:
        """Tell of an annotation that is left out, or of a `whole` document or file; or raise its error."""
        if self.whole or (self.on_error != "stop" and not whole):
            self.tell(error, LEFT_OUT)
        elif whole:
            raise error
        else:
            raise FormatError(error.path, f"{error.problem}; {CURE}", line=error.line) from error

    def make_each(self, make: Callable[[Given], Made], items: Iterable[Given]) -> Iterator[Made]:
        """Yield what `make` makes of each annotation, but for those that are left out."""
        for item in items:
            try:
                made = make(item)
            except FormatError as error:
                self.leave_out(error)
            else:
                yield made

    def guard_file(self, items: Iterable[Made]) -> Iterator[Made]:
        """Yield the items of one file, up to where it cannot be read."""
        try:
            yield from items
        except FormatError as error:
            self.leave_out(error, whole=True)


class Held(Faults):
    """Stops like `STOP`, but only when asked to, so that one error names all annotations that cannot be read.

    >>> held = Held()
    >>> for line in (7, 3):
    ...     held.leave_out(FormatError("f.csv", "is no row", line=line))
    >>> held.stop()
    Traceback (most recent call last):
    ...
    linnet.errors.FormatError: f.csv:3: is no row
    f.csv:7: is no row
    2 such; mend them, or read the rest with --on-error skip or repair (linnet corpus; in Python on_error='skip')
    """

    def __init__(self) -> None:
        super().__init__()
        self.errors: list[FormatError] = []

    def leave_out(self, error: FormatError, *, whole: bool = False) -> None:
        """Hold the error of an annotation; raise that of a whole document or file."""
        if whole:
            raise error
        self.errors.append(error)

    def stop(self) -> None:
        """Raise what is held, by line, as one error."""
        if not self.errors:
            return
        first, *others = sorted(self.errors, key=lambda error: error.line or 0)
        if not others:
            super().leave_out(first)
        told = "".join(f"\n{error}" for error in others[: SHOWN - 1])
        count = f"{len(self.errors):,} such"
        raise FormatError(
            first.path, f"{first.problem}{told}\n{count}; {CURE.replace('it', 'them', 1)}", line=first.line
        )


STOP = Faults()
