"""Relatives who only tell or show something of the patient: *Mum: "he snores"*, *Dad filmed him: loud snoring*.

`without_speakers` drops the triggers that such a relative is. Who has something is spoken of by the pronoun of the own
sex (*Mum: she has migraine*), or before the colon (*Mum has migraine: he worries*).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from linnet.text.triggers import Found, cut, words_of

__all__ = ["without_speakers"]

AND: Final = frozenset({"and", "or", "und", "oder", "&", "/"})
OPENS: Final = frozenset({";", ":", "-", "(", ","})
SOMEONE: Final = r"(?P<he>he|his|er|seine?[rnms]?)\b|(?P<she>she|her|sie|ihre?[rnms]?)\b|(?P<they>they)\b"
# Behind a relative.
SPEECH: Final = re.compile(
    r"(?P<before>[^.;:,\n]{0,24}?)"
    rf"(?:(?P<him>\b(?:him|her|this)\s*:)|:\s*(?P<quoted>[\"“„«‘'])?(?:{SOMEONE})?)"
)
REPORTED: Final = re.compile(
    r"\s*[\"“„«](?:s?he|his|her|they|er|sie)\b"
    r"|\s+(?:hat|haben|habe)\b[^.;:,\n]{0,60}\b(?:beobachtet|bemerkt|festgestellt|angegeben|berichtet|geschildert|gesehen)\b"
)
HAVE: Final = frozenset({"has", "had", "have", "with", "hat", "hatte", "haben", "hatten", "mit"})


def without_speakers(
    found: Sequence[Found], words: Sequence[str], meant: Mapping[str, str], text: str, where: Sequence[tuple[int, int]]
) -> Iterator[Found]:
    """Yield triggers without the relatives who only tell of the patient."""
    words = [meant.get(word, word) for word in words]
    for one in found:
        if one.trigger.kind != "family" or not _speaks(words, one, text, where[one.last - 1][1], where[-1][1]):
            yield one


def _speaks(words: Sequence[str], one: Found, text: str, at: int, end: int) -> bool:
    """Whether the relative of a trigger that ends at `at` tells of the patient: *Mum: he snores*.

    *Mum: she has migraine* tells of mum, and so does *Mum has migraine: he worries*.
    """
    speech = SPEECH.match(text, at, end)
    if not speech:
        return REPORTED.match(text, at, end) is not None
    between = cut(speech["before"], 0, len(speech["before"]))
    pronoun = speech["he"] or speech["she"] or speech["they"]
    if not words_of("says").isdisjoint(between):
        return bool(speech["him"] or speech["quoted"] or pronoun)
    if pronoun is None or not HAVE.isdisjoint(between):
        return False
    return bool(speech["quoted"]) or not _others(speech).isdisjoint(_speakers(words, one, between))


def _others(speech: re.Match[str]) -> frozenset[str]:
    """Return relatives of the other sex than that of whom is spoken; they are of neither."""
    if speech["they"]:
        return frozenset()
    return words_of("woman" if speech["he"] else "man")


def _speakers(words: Sequence[str], one: Found, between: Sequence[str]) -> Sequence[str]:
    """Return the relatives who speak: the last named, *father's sister*, or all who are joined, *mum and dad*."""
    opens = next((place + 1 for place in range(one.first - 1, -1, -1) if words[place] in OPENS), 0)
    named = [*words[opens : one.last], *between]
    relatives = [word for word in named if word in words_of("relative")]
    return relatives[-1:] if AND.isdisjoint(named) else relatives
