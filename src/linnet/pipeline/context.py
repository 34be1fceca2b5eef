"""What the text says of each finding: that it is there, is not, may be, is a relative's, may come, or is over.

Triggers around a finding decide, within their reach (`linnet.text.triggers`, `linnet.text.scopes`), then the section of
the letter that it stands in (`linnet.text.sections`), after the ConText algorithm (Harkema et al. 2009, which extends
NegEx, Chapman et al. 2001) with a table of our own. Several may hold; the first of these does: family, hypothetical,
uncertain, negated, historical. So *mother had no seizures* is the family's, and *call if seizures* says nothing yet.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Final, Literal

from linnet.data import ASSERTIONS, DENIED, Assertion, Document, Mention, Passage, Span
from linnet.errors import DataError
from linnet.frozen import changed
from linnet.pipeline.allow import Allow
from linnet.pipeline.component import require
from linnet.pipeline.pipeline import Stage
from linnet.text.plain import plain_document
from linnet.text.proper_names import names_something_else
from linnet.text.scopes import Scope, find_scopes
from linnet.text.sections import Section, find_sections
from linnet.text.triggers import cut, days_of_stay, fold, is_lasting, lower, names_of_relatives, past_years, words_of

__all__ = ["Context"]

FIRST: Final[tuple[Assertion, ...]] = ("family", "hypothetical", "uncertain", "negated", "historical")
# What a section says of the findings in it; "past" is historical unless the finding lasts.
SAYS: Final = {
    "family": "family",
    "past": "past",
    "birth": "historical",
    "maternal": "family",
    "advice": "hypothetical",
    "consent": "hypothetical",
    "differential": "uncertain",
}
IMPLY: Final = frozenset({"past", "done", "need"})
TOLD: Final = frozenset({"negated", "historical"})
LINE: Final = 80  # characters before a reaction in which the allergy stands
MOST: Final = 2000  # characters of a sentence
NEAR: Final = 40  # characters before how somebody feels in which it stands who does
LONGEST: Final = 50  # items of a list that its first line speaks of
ITEM: Final = re.compile(r"(?:[-*•·▪●◦‣–—+o]|\[[ x]?\]|\(?\d{1,2}[.)]|[a-z][.)])\s")
NEITHER: Final = re.compile(r"\s*(?:she|he|they) (?:has|have) (?:neither|none of these)\W*")
MINUS: Final = re.compile(
    r"[ \t]*(?::[ \t]*)?(?:\([-–−](?:ve)?\)|[-–−]ve\b|(?<=[ \t:])[-–−])"  # *Herz-, Nieren- und Leber…* denies nothing
    r"[ \t]*(?:(?P<goes_on>[,;.)])|(?=\r?\n|\Z))"
)
OWN_MINUS: Final = re.compile(r"[-–−]ve\b")  # *Romberg -ve*
SIGNED: Final = re.compile(r"[-+–−](?:ve)?\)?[ \t]*[,;]")  # behind another finding of the line
REACTS: Final = r"allergic to|allergisch auf|reaction to|intoleran(?:t|ce) (?:to|of)"
ALLERGY: Final = re.compile(
    rf"(?:allerg(?:y|ie)|{REACTS})\b(?!\s(?:clinic|review|tests?|testing|service|team|nurse|appointment)\b)"
)
# Outside such a list: *penicillin allergy (rash)*, the first behind a dash, *allergic to nuts: hives*.
REACTED: Final = re.compile(
    rf"{ALLERGY.pattern}[^.,;:()\n]{{0,20}}(?:\([^)\n]*|\s[–—→-]\s(?:(?!\s[–—→-]\s)[^.,;\n])*)\Z"
    rf"|(?:{REACTS})\b[^.,;:()\n]{{0,20}}:\s[^.;\n]*\Z"
)
REACTION: Final = re.compile(r"[(:→–-][^,;.)\n]*\Z")  # in an allergy list: what stands behind the substance


@dataclass(kw_only=True)
class Context(Stage):
    """Sets the assertion of predicted mentions; people's mentions keep theirs.

    Sections become passages of documents that have none.

    Args:
        headings: ``drop`` predicted mentions that are a heading or part of one (*Allergies:*), or of the name of a
            person, place or thing (*Epilepsy Clinic*, *Dr Gout*, *eye drops*), or a relative's worry, or ``keep`` them.
        only: drop predicted mentions that are none of these; () keeps all.

    Raises:
        DataError: there is no such assertion, or no such way with headings.

    >>> from linnet.pipeline.pipeline import Sentences
    >>> doc = Document("1", "No fits.", mentions=(Mention(3, 7),))
    >>> [mention.assertion for mention in (Sentences() >> Context())(doc)[0].mentions]
    ['negated']
    """

    headings: Literal["drop", "keep"] = "drop"
    only: Sequence[Assertion] = ()

    NEEDS = frozenset({"sentences", "mentions"})
    GIVES = frozenset({"assertion"})

    def __post_init__(self) -> None:
        if self.headings not in ("drop", "keep"):
            raise DataError(f"context: headings {self.headings!r} is neither 'drop' nor 'keep'")
        if unknown := [value for value in self.only if value not in ASSERTIONS]:
            raise DataError(f"context: only {unknown[0]!r} is none of {', '.join(ASSERTIONS)}")

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:  # noqa: ARG002
        """Return `docs` with assertions."""
        require(self, docs)
        return [self._document(doc) for doc in docs]

    def _document(self, doc: Document) -> Document:
        if not any(mention.source == "pred" for mention in doc.mentions or ()):
            return doc
        seen, form = plain_document(doc)
        sections = find_sections(seen.text)
        reader = _Reader(seen, sections)
        pairs = zip(doc.mentions or (), seen.mentions or (), strict=True)
        read = (one if one.source != "pred" else self._read(one, as_seen, reader) for one, as_seen in pairs)
        mentions = tuple(one for one in read if one is not None)
        if form:
            sections = [one._replace(start=form.origin(one.start), end=form.origin(one.end)) for one in sections]
        passages = doc.passages or tuple(Passage(one.start, one.end, one.kind) for one in sections)
        return changed(doc, mentions=mentions, passages=passages)

    def _read(self, mention: Mention, seen: Mention, reader: _Reader) -> Mention | None:
        """Return a mention with its assertion, or None if it is dropped; `seen` is the same in the plain text."""
        if self.headings == "drop" and reader.is_heading(seen):
            return None
        kinds = reader.read(seen)
        assertion = next((kind for kind in FIRST if kind in kinds), "affirmed")
        if self.only and assertion not in self.only:
            return None
        # relatives do not have it either: who makes a record of relatives' findings must not take it for one
        meta = {**mention.meta, DENIED: True} if kinds >= {"family", "negated"} else mention.meta
        return changed(mention, assertion=assertion, meta=meta)


class _Reader:
    """Reads one document; each sentence is read once, when its first mention is asked for."""

    def __init__(self, doc: Document, sections: Sequence[Section]) -> None:
        self._doc, self._sections = doc, sections
        self._text = fold(doc.text)
        sentences = _with_answers(doc.sentences or (), self._text)
        self._sentences = [piece for sentence in sentences for piece in _pieces(sentence)]
        self._starts = [sentence.start for sentence in self._sentences]
        self._openings = [section.start for section in sections]
        self._scopes: dict[int, list[Scope]] = {}

    @functools.cached_property
    def _taken(self) -> list[Span]:
        mentions = (mention for mention in self._doc.mentions or () if not self._is_relatives(mention))
        return sorted(span for mention in mentions for span in mention.spans)

    @functools.cached_property
    def _meant(self) -> dict[str, str]:
        """What years that are past and names of relatives stand for in triggers."""
        years = dict.fromkeys(past_years(self._doc.text), "{year}")
        return years | days_of_stay(self._doc.text) | names_of_relatives(self._doc.text)

    def _section(self, at: int) -> Section | None:
        place = bisect.bisect_right(self._openings, at) - 1
        section = self._sections[place] if place >= 0 else None
        return section if section and at < section.end else None

    def is_heading(self, mention: Mention) -> bool:
        """Whether a mention lies in a heading, or in the name of something that is no finding."""
        section = self._section(mention.start)
        inside = section is not None and mention.end <= section.body
        return inside or self._is_relatives(mention) or names_something_else(self._doc.text, *mention.span)

    def _is_relatives(self, mention: Mention) -> bool:
        """Whether a mention is how a relative feels who tells something: *mother is worried about deafness*."""
        if words_of("says").isdisjoint([self._text[mention.start : mention.end]]):
            return False
        before = cut(self._text, max(0, mention.start - NEAR), mention.start)
        while before and before[-1] in words_of("be") | words_of("adverb"):
            before.pop()
        return bool(before) and before[-1] in words_of("relative")

    def read(self, mention: Mention) -> set[str]:
        """Return all that the text says of a mention."""
        place = max(bisect.bisect_right(self._starts, mention.start) - 1, 0)
        surface = lower(self._doc.surface(mention))
        words = surface.split()
        said = {scope.kind: scope for scope in self._scopes_of(place) if _covers(scope, mention)}
        kinds = {*said, self._says(mention, words, said.keys())}
        kinds |= self._implied(mention, kinds, surface)
        if _is_denied(words) or OWN_MINUS.search(surface) or self._has_minus(mention):
            kinds.add("negated")
        if said.keys() >= {"family", "hypothetical"} and self._is_instructed(said["family"], said["hypothetical"]):
            kinds.remove("family")
        if self._is_feared(place, words):
            kinds.add("hypothetical")
        if said.keys() >= {"negated", "uncertain"} and said["negated"].backward:  # the last word counts
            last = max(said["negated"], said["uncertain"], key=lambda scope: (scope.backward, scope.end))
            kinds -= {"negated", "uncertain"} - {last.kind}
        return kinds

    def _implied(self, mention: Mention, kinds: Set[str], surface: str) -> set[str]:
        """Return what follows from what is said of a mention, its name and its section."""
        if kinds.isdisjoint(IMPLY):
            return set()
        section = self._section(mention.start)
        kind = section.kind if section else ""
        over = "past" in kinds and "present" not in kinds and not is_lasting(surface)
        if over or ("done" in kinds and kind != "plan"):
            return {"historical"}
        needed = "need" in kinds and kind in ("plan", "medication")
        return {"hypothetical"} if needed and surface.endswith(tuple(words_of("symptom"))) else set()

    def _is_instructed(self, relative: Scope, coming: Scope) -> bool:
        """Whether relatives are told what to do if the patient has something: *parents to return if he vomits*."""
        told = cut(self._text, relative.start, coming.end if coming.backward else coming.start)
        return not relative.backward and not words_of("instructed").isdisjoint(told)

    def _has_minus(self, mention: Mention) -> bool:
        """Whether a minus stands behind a mention, in a list or alone in its line: *fever -, cough +*, *Rash: -*.

        At the end of any other line it is a dash.
        """
        text = self._doc.text
        minus = MINUS.match(text, mention.end)
        if minus is None or minus["goes_on"]:
            return minus is not None
        before = text[text.rfind("\n", 0, mention.start) + 1 : mention.start]
        in_list = not any(map(str.isalnum, before)) or SIGNED.search(before) is not None
        return in_list and not text[minus.end() :].lstrip()[:1].islower()

    def _is_feared(self, place: int, words: Sequence[str]) -> bool:
        """Whether the words of a mention name a death that nobody has died: *SUDEP discussed*."""
        if words_of("feared").isdisjoint(words):
            return False
        start, end = self._sentences[place] if self._sentences else (0, len(self._text))
        return words_of("dead").isdisjoint(cut(self._text, start, end))

    @functools.cached_property
    def _tells_reactions(self) -> bool:
        return ALLERGY.search(self._text) is not None

    def _says(self, mention: Mention, words: Sequence[str], said: Set[str]) -> str:
        """Return what the section of a mention of `words` says of it; `said` is what the text around it says."""
        section = self._section(mention.start)
        kind = section.kind if section else ""
        if section and kind == "allergies":
            return "historical" if REACTION.search(self._text, section.body, mention.start) else ""
        if self._tells_reactions and REACTED.search(self._text, max(0, mention.start - LINE), mention.start):
            return "past"  # a lasting disease is no reaction
        if kind == "maternal" and not words_of("gravid").isdisjoint(words):
            return "historical"  # of her pregnancy with the patient
        if kind in ("advice", "consent") and not said.isdisjoint(TOLD):
            return ""  # *Side effects: no rash*
        return SAYS.get(kind, "")

    def _scopes_of(self, place: int) -> list[Scope]:
        """Return the scopes in a sentence, and in an item of a list those that reach into it (*No evidence of:*)."""
        if place not in self._scopes:
            span = self._sentences[place] if self._sentences else Span(0, 0)
            scopes = find_scopes(self._text, *span, self._is_taken, self._meant)
            self._scopes[place] = [*self._carried(place), *scopes]
        return self._scopes[place]

    def _carried(self, place: int) -> Iterator[Scope]:
        """Yield what a line that ends with a colon says of the items of the list below it."""
        item = place
        while max(0, place - LONGEST) < item and ITEM.match(self._text, self._sentences[item].start):
            item -= 1
        if item < place and self._text[self._sentences[item].end - 1] == ":":
            for scope in self._scopes_of(item):
                if scope.end == self._sentences[item].end and not scope.backward:
                    yield Scope(scope.kind, *self._sentences[place], False)

    def _is_taken(self, start: int, end: int) -> bool:
        """Whether a stretch of text shares a character with a mention."""
        last = bisect.bisect_left(self._taken, (end, end))
        return any(span.end > start for span in self._taken[max(0, last - 8) : last])


def _is_denied(words: Sequence[str]) -> bool:
    """Whether the words of a finding hold its own denial: *JVP not raised*, *anicteric*."""
    return ("not" in words[1:-1] and words[-1] in words_of("large")) or not words_of("denial").isdisjoint(words[-1:])


def _with_answers(sentences: Sequence[Span], text: str) -> Iterator[Span]:
    """Yield sentences; one that tells what was asked holds the next, too, if that says only that *she has neither*."""
    held = False
    for sentence, following in itertools.zip_longest(sentences, sentences[1:]):
        if not held:
            held = following is not None and _is_answer(sentence, following, text)
            yield Span(sentence.start, following.end) if held else sentence
        else:
            held = False


def _is_answer(sentence: Span, following: Span, text: str) -> bool:
    """Whether a sentence only denies what the one before it tells was asked."""
    return bool(NEITHER.fullmatch(text, *following)) and not words_of("asked").isdisjoint(cut(text, *sentence))


def _pieces(sentence: Span) -> Iterator[Span]:
    """Yield a sentence, cut where it is so long that it must be a text without full stops."""
    for start in range(sentence.start, max(sentence.end, sentence.start + 1), MOST):
        yield Span(start, min(start + MOST, sentence.end))


def _covers(scope: Scope, mention: Mention) -> bool:
    ends = (span.end - 1 if scope.backward else span.start for span in mention.spans)
    return any(scope.start <= at < scope.end for at in ends)
