"""Sections of clinical letters by their headings: family history, past history, medication, examination, plan.

A heading of the table ``sections.tsv`` opens a section where a line begins with it (behind a bullet or number) and it
stands alone, or before a colon or dash; before a colon also behind a full stop, as in notes without line breaks. A
section ends where the next heading or label stands, one of another person's findings or of the past also at a blank
line behind its text: what such a section holds is judged by it, and a letter goes on with the patient of today, also
in the middle of a line: *FHx: mother has gout. Presents today with rash.* Where a family history begins on the line of
its heading, a sentence on a line of its own that names no relative ends it, too, and what says that there is nothing
ends each of these at once: *FH: nil of note. Seizures since age 2*. Risks that a label in the middle of an
item of a list opens (*2. Nerve block. Risks: infection*) end with the item, and a consent ends with its line.
"""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from linnet.text.sentences import split_sentences
from linnet.text.triggers import are_names, cut, lower, words_of
from linnet.text.wordlists import rows

__all__ = ["Section", "find_sections"]

# Kinds that a blank line ends.
RELATIVES: Final = frozenset({"family", "maternal"})
SHORT: Final = RELATIVES | {"past", "birth", "allergies", "medication", "advice", "consent", "differential"}
# Kinds that a bullet or number ends, where their label stands in the middle of a line.
ITEMS: Final = frozenset({"advice", "differential"})
NAME: Final = r"[^\W\d_](?:[\w/&'’ \t-]{0,45}?\w)?"
BULLET: Final = r"(?:[#*•·–-]|\(?\d{1,2}[.)])[ \t]"
LINE: Final = re.compile(
    rf"[ \t]*(?:{BULLET}*)?({NAME})(?:\.(?=:))?[ \t]*(?:(:)|[-–—](?=\s)|(?=\r?(?:\n|\Z)|[ \t]{{2}}\S))"
)
SHORTHAND: Final = re.compile(r"[ \t]*(PMHx?|PSHx?|FHx|DHx?|HPC|HPI|ROS|O/E|OE|On examination)()(?=[ \t]+[^\W_])")
INNER: Final = re.compile(r".*[.;] ([^.;:]+)()\.?:", re.DOTALL)
ITEM: Final = re.compile(rf"\n(?=[ \t]*{BULLET})")
LONGEST: Final = 48  # characters of a heading
WRAPPED: Final = 60  # characters of a line from which on it may be wrapped
SIGN: Final = re.compile(r"\S")
WORD: Final = re.compile(r"\w+")
BLANK: Final = re.compile(r"\n[ \t\r]*\n")


# How a sentence begins that speaks of the patient of today; after a family history "she" may be the mother.
NOW: Final = (
    r"presents?\b|c/o\b|complain(?:s|ing)\b|denies\b|today\b|now\b|currently\b|on exam(?:ination)?\b|o/e\b"
    r"|aktuell|jetzt\b|heute\b|klagt\b|stellt sich\b|vorstellung\b"
)
SELF: Final = r"(?:(?:the |this )?(?:child|patient|pt|boy|girl|baby)|s?he) (?:him|her)self\b|(?:er|sie) selbst\b"
SOMEONE: Final = (
    rf"{SELF}|\?\w|presented\b|admitted\b|referred\b|(?:the |this |der |die )?(?:patient(?:in)?|pt|pat\.)(?![\w'’])"
)
HE: Final = (
    r"(?:s?he|they|er|sie|(?:the |der |die )?patient(?:in)?|pt|(?:the|this) (?:boy|girl|child|baby)"
    r"|(?:der|dieser) (?:junge|knabe|säugling)|(?:das|dieses) (?:mädchen|kind))"
)
# German tells the past with hat and ist, too: "Sie ist in der 30. Woche geboren"
PERFECT: Final = r" (?:ge(?:boren|habt|wesen|braucht|zeigt)|worden|entwickelt|erlitten|bekommen|benötigt)\b"
IS: Final = (
    r"(?:also |now |still )?(?:has(?! had)|is|presents|denies|reports|looks|feels|remains|klagt|berichtet|leidet|zeigt"
    rf"|(?:hat|ist)(?!(?:[^.;!?\n]|\d\.)*{PERFECT}))\b"
)
TODAY: Final = rf"{NOW}|auffällig (?:ist|sind)\b|{HE}\s{IS}"
TURNS: Final = {
    "family": re.compile(rf"[.;!?\n]\s*(?={NOW}|{SOMEONE})", re.IGNORECASE),
    "past": re.compile(
        rf"[.;!?\n]\s*(?={TODAY})|(?<=:)\s*(?={NOW}|(?:der|die) patient(?:in)?\s(?:klagt|leidet|berichtet)\b)",
        re.IGNORECASE,
    ),
    "": re.compile(rf"[.;!?\n]\s*(?={TODAY})", re.IGNORECASE),
}
STOP: Final = re.compile(r"[.;\n]")
# That there is nothing to tell: behind it a section ends, unless another denial follows.
NONE: Final = (
    r"(?:nil|none|nothing)(?: (?:(?:of|to) (?:note|relevance)|known|relevant|significant|reported|noted))?"
    r"|no(?:t|ne)? (?:known|relevant|significant|notable)(?: (?:family |medical |past )?history)?"
    r"|keine?(?: (?:bekannt|relevanten|angaben?|besonderheiten|auffälligkeiten|vorerkrankungen))*|nihil|leer"
    r"|nichts(?: (?:bekannt(?:es)?|auffälliges|besonderes|relevantes))?|nicht (?:bekannt|erhebbar|eruierbar)|unbekannt"
)
NORMAL: Final = (  # of the patient's own past more may follow
    r"un(?:remarkable|known)|non-?contributory|negative?|neg|normal|n/a|unauffällig|blande"
    r"|ohne (?:besonderheiten|(?:pathologischen )?befund)"
)
NOTHING: Final = re.compile(
    rf"\s*(?:{NONE}|(?P<normal>{NORMAL}))[ \t]*[.;\r\n]\s*(?!(?:no|nil|not|nobody|kein\w*)\b)(?=\w)", re.IGNORECASE
)


class Section(NamedTuple):
    """A section: its kind, where its heading begins and ends, and where the section ends."""

    kind: str
    start: int
    body: int
    end: int


def find_sections(text: str) -> list[Section]:
    r"""Return the sections of a text in order; what stands before the first heading is in none.

    >>> text = "HISTORY\nFits.\n\nFHx: mum has gout.\nPlan: EEG."
    >>> [(one.kind, text[one.start : one.body], text[one.body : one.end]) for one in find_sections(text)]
    [('present', 'HISTORY', '\nFits.\n\n'), ('family', 'FHx:', ' mum has gout.\n'), ('plan', 'Plan:', ' EEG.')]
    """
    kinds = _kinds()
    labels = sorted(_labels(text), key=lambda match: match.start(1))
    found = [(match, kinds[heading]) for match in labels if (heading := _plain(match[1])) in kinds]
    ends = [label.start(1) for label in labels if label[2]]  # where a label with a colon stands
    sections = []
    for place, (match, kind) in enumerate(found):
        end = found[place + 1][0].start(1) if place + 1 < len(found) else len(text)
        if kind in SHORT:
            at = bisect.bisect_left(ends, match.end())
            end = _end(text, match, kind, min([end, *ends[at : at + 1]]))
        sections.append(Section(kind, match.start(1), match.end(), end))
    return sections


def _end(text: str, label: re.Match[str], kind: str, end: int) -> int:
    """Return where a section ends of which the next heading or label, or the end of the text, stands at `end`."""
    body = label.end()
    first = SIGN.search(text, body, end)
    blank = BLANK.search(text, first.end(), end) if first else None
    end = blank.end() if blank else end
    nothing = NOTHING.match(text, body, end)
    if nothing and (kind in RELATIVES or not nothing["normal"]):
        return nothing.end()
    end = _end_of_relatives(text, label.start(1), body, end) if kind in RELATIVES else end
    end = _turn(text, body, end, kind)
    end = _end_of_item(text, label, end) if kind in ITEMS else end
    return _end_of_line(text, body, end) if kind == "consent" else end


def _turn(text: str, body: int, end: int, kind: str) -> int:
    """Return where a sentence begins that speaks of the patient of today, or the end where none does."""
    for match in TURNS.get("family" if kind in RELATIVES else kind, TURNS[""]).finditer(text, body, end):
        stop = STOP.search(text, match.end(), end)
        sentence = text[match.end() : stop.start() if stop else end]
        if kind not in RELATIVES or not _names_relative(sentence):
            return match.end()
    return end


def _end_of_relatives(text: str, heading: int, body: int, end: int) -> int:
    """Return where a family history that begins on the line of its heading ends: before a sentence of no relative.

    Behind a line without a full stop that is a line that says more than a name; in a list of relatives' diseases
    without the relatives nobody can tell.
    """
    line, begins = text.find("\n", body, end), body
    borders = {heading + start for start, _ in split_sentences(text[heading:end])} if line >= 0 else set()
    while line >= 0 and (above := text[begins:line].rstrip()):
        following = text.find("\n", line + 1, end)
        below = text[line + 1 : following if following >= 0 else end]
        stopped = above.endswith(".")
        if not (stopped or _is_new(above, below, line + 1 + len(below) - len(below.lstrip()) in borders)):
            break
        if not _names_relative(below) and (stopped or (_names_relative(above) and not _is_list(below))):
            return line + 1
        begins, line = line + 1, following
    return end


def _is_new(above: str, below: str, border: bool) -> bool:
    return border and len(above) < WRAPPED and above[-1] != "," and not below.lstrip()[:1].islower()


def _names_relative(line: str) -> bool:
    return not words_of("relative").isdisjoint(WORD.findall(line.lower()))


def _is_list(line: str) -> bool:
    return are_names(cut(lower(line), 0, len(line)))


def _end_of_line(text: str, body: int, end: int) -> int:
    """Return where the first line of a section ends that holds anything."""
    first = SIGN.search(text, body, end)
    line = text.find("\n", first.start(), end) if first else -1
    return line if line >= 0 else end


def _end_of_item(text: str, label: re.Match[str], end: int) -> int:
    """Return where the item of a list ends in the middle of which a label stands, or the end."""
    opens = LINE.match(text, text.rfind("\n", 0, label.start(1)) + 1)
    item = None if opens and opens.start(1) == label.start(1) else ITEM.search(text, label.end(), end)
    return item.end() if item else end


def _plain(heading: str) -> str:
    return " ".join(heading.lower().replace("&", " and ").split())


def _labels(text: str) -> Iterator[re.Match[str]]:
    """Yield what may be a heading: the beginnings of lines, and of sentences with a colon behind them."""
    at = 0
    while 0 <= at < len(text):
        if match := SHORTHAND.match(text, at) or LINE.match(text, at):
            yield match
        at = text.find("\n", at) + 1 or -1
    colon = text.find(":")
    while colon >= 0:
        if match := INNER.fullmatch(text, max(0, colon - LONGEST), colon + 1):
            yield match
        colon = text.find(":", colon + 1)


@functools.cache
def _kinds() -> dict[str, str]:
    """Return the kind of each heading."""
    listed = rows("linnet.text", "sections.tsv")
    return {heading.strip(): kind for kind, headings in listed for heading in headings.split("|")}
