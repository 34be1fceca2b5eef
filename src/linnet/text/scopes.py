"""How far the triggers of a sentence reach: from each to the next clause, turn or trigger of its kind (ConText).

`find_scopes` returns stretches of text and what is said of the findings in them. What ends them is in the table of
triggers where words do it (*but*, *because of*), and here where signs do: semicolons, dashes, the brackets around a
trigger, and commas as far as its reach says.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from linnet.text.speakers import without_speakers
from linnet.text.triggers import Found, Trigger, are_names, cut, find_triggers, places, states, words_of

__all__ = ["Scope", "find_scopes"]

Taken: TypeAlias = Callable[[int, int], bool]
NAMES: Final[Mapping[str, str]] = {}
BRACKET: Final = 5  # words within which a bracket opens
FARTHEST: Final = 60  # words that a trigger reaches over
POLAR: Final = frozenset({"negated", "uncertain", "hypothetical"})  # of which one that follows ends the one before
OR: Final = frozenset({"or", "nor", "oder", "noch"})
AND: Final = OR | {"and", "und", "&", "/"}
NEAR: Final = frozenset({":", "-", ",", "("})  # signs that may stand between a finding and what is said behind it
REFUTES: Final = frozenset({":", "-", ";", "but", "aber"})  # behind which a doubt is taken back
REMARK: Final = frozenset({",", "-", ":"})  # signs before which a remark without a finding may stand
OPENS: Final = frozenset({";", ":", "-", "(", ","})
ANYWHERE: Final = frozenset({"forward", "backward", "either"})
FORWARD: Final = frozenset({"forward", "opening", "condition"})
PAIR: Final = frozenset({"both", "beide", "beides"})
AT_WHOM: Final = frozenset({"bei", "beim"})
AGAIN: Final = frozenset({"presenting", "presents", "presented", "developed", "who"})  # of the child, not its mother
ARROWS: Final = frozenset("↑↓")
# Sets of words that say, at the border of an item of a list, that it is no more what the list was said to be.
OWN: Final = {"uncertain": ("known",), "historical": ("known", "chronic")}
LISTED: Final = Trigger("past", "backward", "list")  # of all items of a list


class Scope(NamedTuple):
    """A stretch of text in which findings are what `kind` says; `backward`: the trigger stands behind it."""

    kind: str
    start: int
    end: int
    backward: bool


def find_scopes(text: str, start: int, end: int, is_taken: Taken, meant: Mapping[str, str] = NAMES) -> list[Scope]:
    """Return the scopes of the triggers in a sentence.

    Args:
        text: in small letters.
        start: of the sentence.
        end: of the sentence.
        is_taken: whether a stretch of text belongs to a finding, whose words are no triggers.
        meant: what some words stand for (`find_triggers`).

    >>> text = "no rash, fever or cough but wheeze; measles excluded"
    >>> scopes = find_scopes(text, 0, len(text), lambda start, end: False)
    >>> [(scope.kind, text[scope.start : scope.end]) for scope in scopes]
    [('negated', ' rash, fever or cough '), ('negated', ' measles ')]
    """
    words = cut(text, start, end)
    found = [one for one in find_triggers(words, meant) if one.trigger.kind != "pseudo"]
    if all(one.trigger.kind == "stop" for one in found):
        return []
    where = places(text, start, end)
    taken = {at for one in found for at in range(one.first, one.last) if is_taken(*where[at])}
    if taken:  # without these words a shorter trigger may be there
        masked = ["" if at in taken else word for at, word in enumerate(words)]
        found = [one for one in find_triggers(masked, meant) if one.trigger.kind != "pseudo"]
        found = [one for one in found if not is_taken(where[one.first][0], where[one.last - 1][1])]
    return _Reaches(words, where, list(without_speakers(found, words, meant, text, where)), is_taken).all()


def _begins(found: Iterable[Found], reach: str) -> set[int]:
    """Return where triggers of a reach begin."""
    return {one.first for one in found if one.trigger.reach == reach}


class _Reaches:
    """The reaches of the triggers of one sentence."""

    def __init__(
        self, words: Sequence[str], where: Sequence[tuple[int, int]], found: Sequence[Found], is_taken: Taken
    ) -> None:
        self._words, self._where, self._found, self._is_taken = words, where, found, is_taken
        stops = [one for one in found if one.trigger.kind == "stop"]
        self._stops = {one.first for one in stops}
        self._turns = _begins(stops, "sentence")
        self._walls = self._turns | _begins(stops, "list")
        self._verbs = {at for at in self._stops if words[at] in AND}
        self._polar = {one.first: one.last for one in found if one.trigger.kind in POLAR and self._holds(one)}
        self._ends = set(self._polar.values())
        denials = [one for one in found if one.trigger.kind == "negated" and one.trigger.direction != "backward"]
        self._denials = {one.first for one in denials}

    def all(self) -> list[Scope]:
        """Return the scopes of all triggers."""
        return [scope for one in self._found if one.trigger.kind != "stop" for scope in self._scopes(one)]

    def _scopes(self, one: Found) -> list[Scope]:
        direction, reach = one.trigger.direction, one.trigger.reach
        if not self._holds(one):
            return []
        if self._is_refuted(one):
            one = one._replace(trigger=one.trigger._replace(kind="negated"))
        if direction == "around":
            return [self._backward(one), self._forward(one)]
        if direction == "contrast":
            return self._contrast(one)
        if direction in ("either", "answer"):
            if self._is_label(one):
                one, direction = one._replace(trigger=one.trigger._replace(reach="list")), "forward"
            else:
                direction = "forward" if self._is_followed(one.last) else "backward"
        if direction == "backward" and one.trigger.kind == "family" and one.first == 0 and self._words[0] in AT_WHOM:
            direction = "forward"  # *Bei der Mutter Gicht, beim Kind Ataxie*
        if direction in FORWARD:
            return self._over_list(one) if reach == "list" else [self._forward(one)]
        return list(self._backwards(one))

    def _holds(self, one: Found) -> bool:
        """Whether a trigger stands where one of its direction says something."""
        direction = one.trigger.direction
        if direction in ANYWHERE and one.trigger.kind != "done":
            return True
        if direction in ("opening", "condition"):
            opens = one.first == 0 or self._words[one.first - 1] in OPENS
            return opens and (direction == "opening" or self._is_condition(one.last))
        if direction == "closing":
            return one.last == len(self._words)
        if direction == "around" or one.trigger.kind == "done":
            return words_of("future").isdisjoint(self._words)
        if direction == "answer":
            return not words_of("asked").isdisjoint(self._words) or self._is_followed(one.last)
        return True

    def _is_label(self, one: Found) -> bool:
        """Whether a trigger is the label of a list: *Neg: cough, rash*."""
        opens = one.first == 0 or self._words[one.first - 1] in OPENS - {"("}
        return opens and self._words[one.last : one.last + 1] == [":"] and self._is_followed(one.last + 1)

    def _contrast(self, one: Found) -> list[Scope]:
        """Return the scope of what was, where it is otherwise now: *was constipated on codeine, now regular*."""
        for at in range(one.first - 1, -1, -1):
            if self._words[at] in words_of("was"):
                return [Scope(one.trigger.kind, self._where[at][1], self._where[one.first][0], True)]
            if self._words[at] == ";" or at in self._stops:
                break
        return []

    def _over_list(self, one: Found) -> list[Scope]:
        """Return the scope of a trigger; one that is repeated tells of its own item, and of others what does not last.

        *Z. n. Apoplex, Z. n. Leistenhernie, Hypertonie*.
        """
        scope = self._forward(one)
        said = self._words[one.first : one.last]
        again = any(other.first != one.first and self._words[other.first : other.last] == said for other in self._found)
        commas = (self._where[at][0] for at in range(one.last, len(self._words)) if self._words[at] == ",")
        comma = next(commas, scope.end)
        if scope.kind != "historical" or not again or comma >= scope.end:
            return [scope]
        return [scope._replace(end=comma), scope._replace(kind="past", start=comma)]

    def _backwards(self, one: Found) -> Iterator[Scope]:
        """Yield the scopes of a trigger that stands behind what it speaks of."""
        kind, reach = one.trigger.kind, one.trigger.reach
        if kind == "historical" and reach == "list":
            yield self._backward(one._replace(trigger=one.trigger._replace(reach="phrase")))
            one = one._replace(trigger=LISTED)
        yield self._backward(one)
        first = one.first + (self._words[one.first] in (":", "-"))
        sign = self._words[first - 1] if first else ""
        over = kind in ("historical", "past") and not words_of("over").isdisjoint(self._words[one.first : one.last])
        if sign in (":", "-") and (over or (kind == "negated" and self._is_bare(first - 1))):
            yield self._backward(one._replace(trigger=LISTED._replace(kind="past" if over else kind)))
        if sign in REMARK and over:
            yield from self._before_remarks(first - 1)

    def _is_refuted(self, one: Found) -> bool:
        """Whether a doubt is taken back behind it: *VSD queried at 20 weeks: septum intact*."""
        if one.trigger.kind != "uncertain" or words_of("queried").isdisjoint(self._words[one.first : one.last]):
            return False
        signs = (at for at in range(one.last, len(self._words)) if self._words[at] in REFUTES)
        rest = self._words[next(signs, len(self._words)) :]
        return not words_of("refuted").isdisjoint(rest) and words_of("pending").isdisjoint(rest)

    def _is_bare(self, sign: int) -> bool:
        """Whether a list of names alone stands before a sign: *weight loss, fevers, sweats: nil*."""
        opens = max((at + 1 for at in range(sign) if self._words[at] in OPENS - {","}), default=0)
        barred = any(opens <= at < sign for at in (*self._stops, *self._polar))
        return not barred and are_names(self._words[opens:sign])

    def _before_remarks(self, sign: int) -> Iterator[Scope]:
        """Yield the scope of what is over where only remarks stand between: *AKI, peak creatinine 300, resolved*."""
        depth, held, end = 0, False, sign
        for at in range(sign - 1, -2, -1):
            word = self._words[at] if at >= 0 else ","
            depth += (word == ")") - (word == "(")
            if depth < 0 or word == ";" or word in ARROWS or at in self._stops:
                return
            if depth == 0 and word in REMARK:
                if held and not any(at < denial < end for denial in self._denials):
                    yield Scope("past", self._where[at + 1][0], self._where[end - 1][1], True)
                    return
                held, end = False, at
            elif depth == 0 and word != "(":
                held = held or self._is_taken(*self._where[at])

    def _is_condition(self, last: int) -> bool:
        """Whether what follows says what is then to be done or feared: *bei X melden*, *bei X Wiedervorstellung*."""
        words = frozenset(self._words[last:])
        closing = next((word for word in reversed(self._words[last:]) if word[0].isalnum()), "")
        told = not words_of("then").isdisjoint(words) or closing in words_of("again")
        return told and words_of("happened").isdisjoint(words)

    def _is_followed(self, last: int) -> bool:
        """Whether a word stands behind a trigger that may begin a finding."""
        word = self._words[last] if last < len(self._words) else ";"
        return word[0].isalpha() and word not in words_of("preposition") and word not in words_of("clause")

    def _forward(self, one: Found) -> Scope:
        first = one.last
        if one.trigger.reach == "bracket":
            opens = self._words[first : first + BRACKET]
            first = first + opens.index("(") + 1 if "(" in opens else len(self._words)
        at = self._reach(first, one.trigger)
        start = self._where[first - 1][1]
        end = self._where[at][0] if at < len(self._where) else self._where[-1][1]
        return Scope(one.trigger.kind, start, end, False)

    def _reach(self, first: int, trigger: Trigger) -> int:
        """Return the token that ends what a trigger says of what follows."""
        if trigger.reach == "next":
            return self._next(first)
        depth = 0
        for at in range(first, min(first + FARTHEST, len(self._words))):
            word = self._words[at]
            depth += (word == "(") - (word == ")")
            if at in self._turns or word == ";" or depth < 0 or (word in AT_WHOM and trigger.direction == "backward"):
                return at
            if trigger.reach == "clause" and (at in self._verbs or (at in self._walls and word in AGAIN)):
                return at
            if trigger.reach not in ("sentence", "clause") and self._closes(at, first, trigger):
                return at
        return min(first + FARTHEST, len(self._words))

    def _closes(self, at: int, first: int, trigger: Trigger) -> bool:
        """Whether the token at `at` ends what a trigger says over a phrase or list, which begins at `first`."""
        word = self._words[at]
        if at in self._stops or (at in self._polar and trigger.kind in POLAR):
            return True
        if word == ",":
            return self._ends_list(at, first, trigger)
        if word == "-":
            return at > first
        if word == ":":  # behind what is suspected stands why: *suspected Marfan: tall stature*
            labelled = self._words[at - 1] in words_of("labelled")
            return trigger.kind == "uncertain" and at > first and not labelled
        if word == "(":
            return trigger.kind == "uncertain" and at > first and self._is_remark(at)
        return trigger.direction == "around" and word in words_of("today")

    def _next(self, first: int) -> int:
        """Return the end of what follows at once, behind words like *really* and *any*."""
        at = first
        while at < len(self._words) and self._words[at] in words_of("adverb"):
            at += 1
        return min(at + 1, len(self._words))

    def _is_remark(self, opens: int) -> bool:
        """Whether a bracket holds a remark and no other name: several words."""
        return ")" not in self._words[opens + 1 : opens + 4]

    def _ends_list(self, comma: int, first: int, trigger: Trigger) -> bool:
        """Whether a comma ends what a trigger says: a clause of its own follows, or no list where one is needed."""
        after = range(comma + 1, min(comma + FARTHEST, len(self._words)))
        rest = next((at for at in after if at in self._stops or at in self._polar or self._words[at] in ";-"), None)
        words = self._words[comma + 1 : after.stop if rest is None else rest] or [""]
        if words[1:2] == [":"]:  # the next part of the body: *no oedema, chest: wheeze*
            return True
        if OR.isdisjoint(words) and (trigger.reach == "phrase" or words[0] in words_of("positive")):
            return True
        if trigger.reach == "phrase":
            return False
        item = words[: words.index(",")] if "," in words else words
        own = self._is_own(item, trigger, joined=not OR.isdisjoint(words), rest=rest)
        return own or self._is_described(words, first, comma) or self._is_known(words, first, comma)

    def _is_known(self, words: Sequence[str], first: int, comma: int) -> bool:
        """Whether what stands behind a comma is known: *no rash, known gout*, *keine Allergien, Gicht bekannt*.

        A longer list shares its last word, and *Es sind keine Allergien, Gicht bekannt* knows of neither.
        """
        item = words[: words.index(",")] if "," in words else words
        if not OR.isdisjoint(words) or words_of("known").isdisjoint((*item[:1], *item[-1:])):
            return False
        if item[0] in words_of("known"):
            return True
        listed = "," in self._words[first:comma] or not AND.isdisjoint(item)
        opens = max((at for at in range(first) if self._words[at] in OPENS), default=0)
        return not listed and words_of("be").isdisjoint(self._words[opens:first])

    def _is_described(self, words: Sequence[str], first: int, comma: int) -> bool:
        """Whether `words` behind a comma say what is there: *no fever, dry cough*, *no rash, eczema of the left arm*.

        A longer list goes on, and so does what somebody denies: *denies fever, dry cough*.
        """
        placed = not words_of("spot").isdisjoint(words[1:]) and words_of("spot").isdisjoint(self._words[first:comma])
        if not (placed or words[0] in words_of("quality")) or self._words[first - 1] not in words_of("no"):
            return False
        return "," not in (*words, *self._words[first:comma]) and AND.isdisjoint(words)

    def _is_own(self, item: Sequence[str], trigger: Trigger, *, joined: bool, rest: int | None) -> bool:
        """Whether an item of a list says something of its own; a denial is repeated at `rest` if each item has one."""
        if trigger.kind == "negated" and not joined and (rest in self._denials or states(item)):
            return True
        if any(not words_of(name).isdisjoint((*item[:1], *item[-1:])) for name in OWN.get(trigger.kind, ())):
            return True
        return not words_of("clause").isdisjoint(item)

    def _backward(self, one: Found) -> Scope:
        at, listed = one.first, one.trigger.reach == "list"
        alone = self._is_followed(one.last) and one.last == one.first + 1
        near = NEAR - {","} if alone or one.trigger.reach == "next" else NEAR
        while at and (self._words[at - 1] in near or (listed and at == one.first and self._words[at - 1] == ";")):
            at -= 1
        if listed and "(" in self._words[at : one.first]:  # a bracket tells of what it stands behind
            one = one._replace(trigger=one.trigger._replace(reach="phrase"))
        end = self._where[at][0]
        if one.trigger.reach == "next":
            at = max(at - 1, 0)
        else:
            at = self._pair(at) if self._words[one.first] in PAIR else self._reach_back(at, one)
        start = self._where[at - 1][1] if at else self._where[0][0]
        return Scope(one.trigger.kind, start, max(start, end), True)

    def _pair(self, at: int) -> int:
        """Return the first token of the last two items of a list: *cough, fever and rash, both gone*."""
        joined = False
        while at:
            word = self._words[at - 1]
            if word in ";:-(" or at - 1 in self._stops or (word == "," and joined):
                break
            joined = joined or word in AND or word == ","
            at -= 1
        return at

    def _reach_back(self, at: int, one: Found) -> int:
        """Return the first token that a trigger behind it speaks of; what brackets hold is passed over."""
        depth, arrows = 0, self._arrows(at, one)
        while max(0, one.first - FARTHEST) < at:
            word = self._words[at - 1]
            if word == "(" and depth:
                depth -= 1
            elif not depth and at - 1 not in arrows and self._bars(at - 1, one):
                break
            depth += word == ")"
            at -= 1
        return at

    def _arrows(self, at: int, one: Found) -> range:
        """Return the arrows of the result that a trigger speaks of: right before it, or before its comma.

        What has another value behind it belongs to another result: *Hb 98↓ Na 138, now normal*.
        """
        last = first = next((place for place in range(at, 0, -1) if self._words[place - 1] in ARROWS), 0)
        while first and self._words[first - 1] in ARROWS:
            first -= 1
        between = itertools.pairwise(self._words[last:at])
        valued = any(number.isdigit() and not self._ties(word) for word, number in between)
        apart = at < one.first or self._words[at] == ","
        return range(first, last) if last == at or (apart and not valued) else range(0)

    @staticmethod
    def _ties(word: str) -> bool:
        """Whether a number behind a word belongs to another number or is a time: *5.9*, *90/60*, *for 3 days*."""
        return not word[0].isalpha() or word in words_of("preposition")

    def _bars(self, at: int, one: Found) -> bool:
        """Whether the token at `at` ends what a trigger behind it says of what stands before it."""
        word = self._words[at]
        if at in self._turns or word == ";":
            return True
        if one.trigger.reach == "sentence":
            return False
        is_cause = word in words_of("cause") and one.trigger.kind == "historical"
        polar = at + 1 in self._ends and one.trigger.kind in POLAR
        if polar or (at in self._walls and not is_cause) or word in ":-(↑↓":
            return True
        if word != ",":
            return False
        between = self._words[at : one.first - 1]
        if one.trigger.reach == "list" and one.trigger.direction != "either":  # a clause of its own
            return self._words[at + 1] in AND and not words_of("clause").isdisjoint(between)
        return AND.isdisjoint(between) or not words_of("clause").isdisjoint(between)
