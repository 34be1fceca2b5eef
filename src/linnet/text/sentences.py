"""Sentence boundaries of clinical notes and PubMed abstracts, by rules.

Two steps. First the *lines*: a blank line ends a sentence, and so does a line break that somebody put there on purpose
(a list, a heading), but not one that a word processor put there because the next word did not fit. Then the *full
stops* inside what is left: one regular expression proposes them, and a small table of abbreviations, the word before
and the word after decide. All look-ups are bounded, so time is linear in the text, whatever the text is.

>>> text = "Seen by Dr. Smith, 3.5 mg p.o. q.d. No fits, e.g. of E. coli. p53 was normal."
>>> [text[start:end] for start, end in split_sentences(text)]
['Seen by Dr. Smith, 3.5 mg p.o. q.d.', 'No fits, e.g. of E. coli.', 'p53 was normal.']
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from linnet.data import Span
from linnet.text.wordlists import listed

__all__ = ["split_sentences"]

# Full stops of scripts that do not need a blank after them or never use the sign for anything else.
WIDE: Final = "。！？｡।॥۔؟։።។။"
CLOSING: Final = r"\"'”’»)\]}」』）】"
WHOLE: Final = frozenset({"nil"})  # "Rash nil. fits x1": shorter than other words that end a sentence for sure
AFTER_WORD: Final = ".)]}%°+*\"'”’″′>»–-"  # what a word may end with in front of its full stop
OPENING: Final = "([{\"'“‘«「（<"

# The group is what still belongs to the sentence: closing quotes, or citation numbers set in superscript once
# ("shown.3,4 The"). Without a blank a stop counts only between a word and a capitalised one ("normal.The").
CANDIDATE: Final = re.compile(
    rf"[.!?…{WIDE}]"
    rf"((?<=[{WIDE}])(?![{WIDE}])[{CLOSING}]{{0,3}}+"
    rf"|[{CLOSING}]{{0,3}}+(?=\s)"
    r"|(?<=[a-z]{3}.)(?:\d{1,3}(?:[,–-]\d{1,3}){0,8}+|\[\d[\d,– -]{0,20}+\])(?=\s{1,3}[A-Z])"
    r"|(?<=[a-z]{3}.)(?=[A-Z][a-z ]))"
    r"\s*+"
)
NEXT_WORD: Final = re.compile(r"[^\w\s]{0,4}+(\w[\w-]{0,24}+)?")
UNIT: Final = re.compile(r"(?:[kmµμnp]?(?:g|l|m|s|h|d|mol)|min|day)\(?[-−]\d")  # "mg. kg-1. min(-1)"
FIGURE: Final = re.compile(r"[A-Z]|[A-Z]{1,2}\d\w*")
DAMAGED: Final = re.compile(r"\d{1,3}(?! [(\[]| ?[^\W\d])")  # the decimals in "0. 048)", not the "7" in "7 patients"
DOTTED: Final = re.compile(r"(?:[^\W\d_]{1,2}\.){1,4}[^\W\d_]{1,2}")
LIST_NUMBER: Final = re.compile(r"\(?(?:\d{1,2}|[A-Za-z]|[ivx]{1,4})[.)]\s")
LABEL: Final = re.compile(r"[A-Z][\w /-]{1,30}+:\s")
BULLET: Final = re.compile(r"(?:[-*+•·▪●◦‣–—►✓o]|\[[ xX]?\])\s")

# What each kind of word is stands at the head of sentences.tsv.
LISTS = "sentences.tsv"
ABBREVIATIONS: Final = {word: kind for kind in ("never", "number", "seldom") for word in listed(kind, LISTS)}
LONGEST: Final = max(map(len, ABBREVIATIONS))
DEGREE, SHOUTED, STARTERS, LETTERED, JOINING, SPACED = (
    frozenset(listed(kind, LISTS)) for kind in ("degree", "shouted", "starter", "lettered", "joining", "spaced")
)
ARTICLES, ORDERED, CLIPPED = (frozenset(listed(kind, LISTS)) for kind in ("article", "ordered", "clipped"))

WRAP_LEAST, WRAP_SURE, WRAP_MOST = 40, 60, 140  # characters; nobody wraps narrower or wider than the first and last
REACH: Final = 32  # characters looked at before a full stop


def split_sentences(text: str) -> tuple[Span, ...]:
    r"""Return the sentences of `text`: trimmed, in order, and together holding every character that is not blank.

    A single line break is a boundary where the next word would still have fitted on the line (lists, headings,
    ``key: value`` lines) and before bullets, and is none inside wrapped prose, which is also what begins with a
    capital and goes on in lower case up to a full stop; a blank line always is one.

    Args:
        text: Any string; offsets in the result are code points into it.

    Returns:
        Half-open spans that do not overlap; ``()`` for a blank text.

    >>> split_sentences(" Hypotonia.  Seizures? ")
    (Span(start=1, end=11), Span(start=13, end=22))
    >>> [text[a:b] for text in ["Plan:\n- MRI\n- EEG"] for a, b in split_sentences(text)]
    ['Plan:', '- MRI', '- EEG']
    """
    sentences: list[Span] = []
    for start, end in _stretches(text):
        first = start
        for match in CANDIDATE.finditer(text, start, end):
            resume = match.end()
            if resume < end and _is_boundary(text, first, match.start(), resume):
                sentences.append(Span(first, match.end(1)))
                first = resume
        sentences.append(Span(first, end))
    return tuple(sentences)


def _stretches(text: str) -> Iterator[tuple[int, int]]:
    """Yield the trimmed stretches of `text` that no line break ends: at least one character each."""
    lines = text.splitlines(keepends=True)
    offset, block = 0, list[tuple[int, str]]()  # (offset, content) of lines without a blank line between them
    for line in lines:
        content = line.strip()
        if content:
            block.append((offset + len(line) - len(line.lstrip()), content))
        elif block:
            yield from _paragraphs(block)
            block = []
        offset += len(line)
    if block:
        yield from _paragraphs(block)


def _paragraphs(block: Sequence[tuple[int, str]]) -> Iterator[tuple[int, int]]:
    """Yield start and end of the runs of lines in `block` that only wrapping has broken."""
    start, line = block[0]
    end = start + len(line)
    lengths = [len(content) for _, content in block if len(content) <= WRAP_MOST]
    width = max(WRAP_LEAST, max(lengths, default=0))
    # Four lines or more of nearly one length are wrapped prose even where the margin is narrow.
    even = len(lengths) > 3 and sum(length > 0.75 * width for length in lengths) >= 0.75 * len(block)
    least = WRAP_LEAST if even else WRAP_SURE
    full = [False, *(_is_full(line, following, width) for (_, line), (_, following) in pairwise(block)), False]
    prose = _prose(block)
    capital = line[0].isupper()
    for number, (offset, content) in enumerate(block[1:]):
        # a full line between short ones is only the longest of a list
        sure = least if even or full[number] or full[number + 2] else WRAP_MOST + 1
        if not (
            (capital and prose[number] and not _is_item(line))
            or _is_wrap(line, content, width, sure, full=full[number + 1])
        ):
            yield start, end
            start, capital = offset, content[0].isupper()
        line, end = content, offset + len(content)
    yield start, end


def _prose(block: Sequence[tuple[int, str]]) -> list[bool]:
    """Return for each line whether lower-case lines follow it up to one with a full stop: a sentence, not a list."""
    prose, stopped = [False] * len(block), False
    for number in range(len(block) - 1, 0, -1):
        line = block[number][1]
        stopped = stopped or line[-1] in ".!?" or ". " in line
        stopped = prose[number - 1] = stopped and line[0].islower()
    return prose


def _is_item(line: str) -> bool:
    """Whether a line is a heading or an item of a list, or ends with punctuation of its own."""
    return line[-1] in ".!?:;" or line.isupper() or any(sign.match(line) for sign in (BULLET, LABEL, LIST_NUMBER))


def _is_full(line: str, following: str, width: int) -> bool:
    """Whether the first word of the line that follows did not fit into `width`."""
    return width < len(line) + 1 + len(_first_word(following, width)) and len(line) <= WRAP_MOST


def _first_word(line: str, width: int) -> str:
    return line[: width + 1].split(None, 1)[0]


def _is_wrap(line: str, following: str, width: int, sure: int, *, full: bool) -> bool:
    """Whether the break between two lines is there only because the next word did not fit into `width`.

    `full` says that it did not. From the length `sure` on this is believed of a line that a capital follows, too.
    """
    if BULLET.match(following) or LABEL.match(following):
        return False
    word = _first_word(following, width)
    if LIST_NUMBER.match(following) and (not full or LIST_NUMBER.match(line)):
        return False
    if line[-1] in ",-‐–/(" and line[-2:-1].strip():
        return True
    if line[-REACH:].rsplit(None, 1)[-1].lower() in JOINING or word in JOINING:
        return True
    if not following[0].isupper() and WRAP_SURE <= len(line) <= WRAP_MOST:
        return len(line) > 0.75 * width  # wrapped by hand, and not exactly
    return full and (line[-1] in ".!?:;" or not following[0].isupper() or len(line) >= sure)


def _is_boundary(text: str, first: int, stop: int, resume: int) -> bool:
    """Whether the sentence that begins at `first` ends with the stop at `stop`; the next word is at `resume`."""
    sign = text[stop]
    if sign in WIDE or text[resume] == ".":  # ". . ." is one pause
        return sign in WIDE
    found = NEXT_WORD.match(text, resume)
    word = (found and found[1]) or ""
    wide = text[stop + 1 : resume].startswith("  ")  # who sets sentences so far apart may begin them without a capital
    begins = wide or not word[:1].islower() or _is_symbol(word)
    if sign == ".":
        return _is_full_stop(text, first, stop, resume, word=word, begins=begins)
    # "? seizures" is a clinician's question mark: it stands before what is in question.
    return begins and stop > first and not (text[stop - 1].isspace() or text[stop - 1] == "(")


def _is_full_stop(text: str, first: int, stop: int, resume: int, *, word: str, begins: bool) -> bool:
    """Decide for the sign ``.``; `begins` says that `word`, which follows, is written like the start of a sentence."""
    words = text[max(first, stop - REACH) : stop].rsplit(None, 2)
    token = words[-1].lstrip(OPENING) if words else ""
    if not token or not (token[-1].isalnum() or token[-1] in AFTER_WORD):
        return False
    if token[-1] == ".":  # an ellipsis; one with blanks in it never ends a sentence
        return begins and len(token) > 1
    at_start = stop - len(token) - 1 <= first
    if len(token) <= LONGEST or "." in token:
        if token[-2:].lstrip("=<>≤≥-–").isdigit() and not token[:-2].isdigit() and DAMAGED.match(text, resume):
            return False
        starter = word in STARTERS and (len(word) > 1 or text[resume + 1 : resume + 2] != ".")  # "J. A. Smith"
        previous = words[-2] if len(words) > 1 and not at_start else ""
        pair = "" if token.isupper() else f"{token}.{word}".lower()  # "No hepatitis B. Bed rest helped."
        if not SPACED.isdisjoint([(previous + token).lower(), pair]):
            return False  # "Z. n. Struma", "b. Bed. bei Schmerzen", "lt. Ehefrau"
        verdict = _judge_short(token, word, previous, at_start=at_start, starter=starter)
        if verdict is not None:
            return verdict and begins
    return begins or (
        _is_whole(token, least=3 if text[first].islower() else 4)
        and text[stop + 1].isspace()
        and not UNIT.match(text, resume)
    )


def _is_symbol(word: str) -> bool:
    """Whether a word that begins in lower case is the symbol of a gene or the like: p53, mTOR, miR-21, α-synuclein."""
    mixed = any(sign.isupper() or sign.isdigit() for sign in word[1:])
    return "α" <= word[:1] <= "ω" or (mixed and not UNIT.match(word))


def _is_whole(token: str, *, least: int) -> bool:
    """Whether `token` is surely no abbreviation, so that its full stop counts even in notes typed without capitals.

    A word of `least` letters is: fewer are needed in a sentence that itself begins without a capital.
    """
    if token.isalpha():
        return len(token) > 6 or (len(token) >= least and token.islower()) or token in WHOLE
    return token[-1] in ")]%" or (len(token) > 2 and token[-1].isdigit())


def _judge_short(token: str, word: str, previous: str, *, at_start: bool, starter: bool) -> bool | None:
    """Judge the full stop between a short or dotted `token` and `word`; None when the token is an ordinary word.

    `previous` is the word before the token; `at_start` says that the token opens the sentence, `starter` that `word`
    is one that likes to open one.
    """
    acronym = token.isupper() and token.isalpha() and (token not in SHOUTED or previous.lower() in DEGREE)
    kind = "" if acronym else ABBREVIATIONS.get(token.lower())
    if kind:
        number = word[:1].isdigit() or FIGURE.fullmatch(word) is not None
        return (kind == "seldom" and starter) or (kind == "number" and not number)
    if len(token) == 1 and token.isalpha():
        if at_start or (token.islower() and word[:1].isdigit()):
            return False  # an item of an enumeration, somebody's initial, "p. 12"
        ends = token.islower() and token not in CLIPPED
        return ends or starter or previous.lower() in LETTERED or previous[-1:].isdigit()
    if len(token) < 3 and token.isdigit():
        return not (at_start or previous[-1:] in {":", ";"} or _is_ordinal(word, previous, starter=starter))
    if DOTTED.fullmatch(token):  # "q.d. The", "q.d. Aspirin", but "i.v. MRI contrast"
        return starter or (token.islower() and word[:1].isalpha() and not word[1:].isupper())
    return None


def _is_ordinal(word: str, previous: str, *, starter: bool) -> bool:
    """Whether a number between two words is a German ordinal, whose full stop ends nothing: *am 12. Juni*."""
    return word in ORDERED or (previous.lstrip(OPENING).lower() in ARTICLES and not starter)
