"""How far the triggers of a sentence reach: from each to the next clause, turn or trigger of its kind (ConText).

`find_scopes` returns stretches of text and what is said of the findings in them. What ends them is in the table of
triggers where words do it (*but*, *because of*), and here where signs do: semicolons, dashes, the brackets around a
trigger, and commas as far as its reach says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from linnet.text.triggers import Found, Trigger, cut, find_triggers, places, words_of

__all__ = ["Scope", "find_scopes"]

Taken: TypeAlias = Callable[[int, int], bool]
FARTHEST: Final = 60  # words that a trigger reaches over
POLAR: Final = frozenset({"negated", "uncertain", "hypothetical"})  # of which one that follows ends the one before
OR: Final = frozenset({"or", "nor", "oder", "noch"})
AND: Final = OR | {"and", "und", "&", "/"}
NEAR: Final = frozenset({":", "-", ",", "("})  # signs that may stand between a finding and what is said behind it
OPENS: Final = frozenset({";", ":", "-", "(", ","})


class Scope(NamedTuple):
    """A stretch of text in which findings are what `kind` says; `backward`: the trigger stands behind it."""

    kind: str
    start: int
    end: int
    backward: bool


def find_scopes(text: str, start: int, end: int, is_taken: Taken, past: frozenset[str] = frozenset()) -> list[Scope]:
    """Return the scopes of the triggers in a sentence.

    Args:
        text: in small letters.
        start: of the sentence.
        end: of the sentence.
        is_taken: whether a stretch of text belongs to a finding, whose words are no triggers.
        past: years that are past (`linnet.text.triggers.past_years`).

    >>> text = "no rash, fever or cough but wheeze; measles excluded"
    >>> scopes = find_scopes(text, 0, len(text), lambda start, end: False)
    >>> [(scope.kind, text[scope.start : scope.end]) for scope in scopes]
    [('negated', ' rash, fever or cough '), ('negated', ' measles ')]
    """
    words = cut(text, start, end)
    found = [one for one in find_triggers(words, past) if one.trigger.kind != "pseudo"]
    if all(one.trigger.kind == "stop" for one in found):
        return []
    where = places(text, start, end)
    free = [one for one in found if not is_taken(where[one.first][0], where[one.last - 1][1])]
    return _Reaches(words, where, free).all()


class _Reaches:
    """The reaches of the triggers of one sentence."""

    def __init__(self, words: Sequence[str], where: Sequence[tuple[int, int]], found: Sequence[Found]) -> None:
        self._words, self._where, self._found = words, where, found
        stops = [one for one in found if one.trigger.kind == "stop"]
        self._stops = {one.first for one in stops}
        self._turns = {one.first for one in stops if one.trigger.reach == "sentence"}
        self._polar = {one.first: one.last for one in found if one.trigger.kind in POLAR}
        self._ends = set(self._polar.values())

    def all(self) -> list[Scope]:
        """Return the scopes of all triggers."""
        return [scope for one in self._found if one.trigger.kind != "stop" for scope in self._scopes(one)]

    def _scopes(self, one: Found) -> list[Scope]:
        direction = one.trigger.direction
        if direction == "opening":
            opens = one.first == 0 or self._words[one.first - 1] in OPENS
            return [self._forward(one)] if opens else []
        if direction == "either":
            direction = "forward" if self._is_followed(one.last) else "backward"
        return [self._forward(one) if direction == "forward" else self._backward(one)]

    def _is_followed(self, last: int) -> bool:
        """Whether a word stands behind a trigger that may begin a finding."""
        word = self._words[last] if last < len(self._words) else ";"
        return word[0].isalpha() and word not in words_of("preposition") and word not in words_of("clause")

    def _forward(self, one: Found) -> Scope:
        at = self._reach(one.last, one.trigger)
        start = self._where[one.last - 1][1]
        end = self._where[at][0] if at < len(self._where) else self._where[-1][1]
        return Scope(one.trigger.kind, start, end, False)

    def _reach(self, first: int, trigger: Trigger) -> int:
        """Return the token that ends what a trigger says of what follows."""
        depth = 0
        for at in range(first, min(first + FARTHEST, len(self._words))):
            word = self._words[at]
            if at in self._turns or word == ";":
                return at
            if trigger.reach == "sentence":
                continue
            depth += (word == "(") - (word == ")")
            turns = at in self._polar and trigger.kind in POLAR
            if (
                depth < 0
                or turns
                or at in self._stops
                or (word == "-" and at > first)
                or (word == "," and self._ends_list(at, trigger))
            ):
                return at
        return min(first + FARTHEST, len(self._words))

    def _ends_list(self, comma: int, trigger: Trigger) -> bool:
        """Whether a comma ends what a trigger says: a clause of its own follows, or no list where one is needed."""
        after = range(comma + 1, min(comma + FARTHEST, len(self._words)))
        rest = next((at for at in after if at in self._stops or at in self._polar or self._words[at] in ";-"), None)
        words = self._words[comma + 1 : after.stop if rest is None else rest] or [""]
        if OR.isdisjoint(words) and (trigger.reach == "phrase" or words[0] in words_of("positive")):
            return True
        if trigger.reach == "phrase":
            return False
        item = words[: words.index(",")] if "," in words else words
        return not words_of("clause").isdisjoint(item)

    def _backward(self, one: Found) -> Scope:
        at = one.first
        near = NEAR - {","} if self._is_followed(one.last) else NEAR
        while at and self._words[at - 1] in near:
            at -= 1
        end = self._where[at][0]
        while max(0, one.first - FARTHEST) < at and not self._bars(at - 1, one):
            at -= 1
        start = self._where[at - 1][1] if at else self._where[0][0]
        return Scope(one.trigger.kind, start, max(start, end), True)

    def _bars(self, at: int, one: Found) -> bool:
        """Whether the token at `at` ends what a trigger behind it says of what stands before it."""
        word = self._words[at]
        if at in self._turns or word == ";":
            return True
        if one.trigger.reach == "sentence":
            return False
        if at in self._stops or word in ":-(" or (at + 1 in self._ends and one.trigger.kind in POLAR):
            return True
        if word != "," or not (one.trigger.reach == "phrase" or one.trigger.direction == "either"):
            return False
        between = self._words[at : one.first - 1]
        return AND.isdisjoint(between) or not words_of("clause").isdisjoint(between)
