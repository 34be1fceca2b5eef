"""Abbreviations that a text defines, after Schwartz & Hearst 2003.

Source: "A simple algorithm for identifying abbreviation definitions in biomedical text", Pacific Symposium on
Biocomputing 2003, 451–462. A bracket holds a short form of 2 to 10 characters (n) and at most two words, and the long
form is looked for in the min(n + 5, 2n) words before it; or the bracket holds the long form and the word before it is
the short one. Both are read from right to left: each letter and digit of the short form must occur in the long form in
order, and its first character must begin a word.

What differs here, each for a kind of text met in abstracts and notes:

* brackets may be square and may nest; a bracket inside a word, as in ``Ca(2+)``, is part of the word;
* of ``(SF; other)``, ``(SF, also SF2)``, ``(hereafter SF)``, ``("SF")`` the short forms are tried one by one;
* a plural ``s`` may be missing from the long form ("single nucleotide polymorphism (SNPs)");
* Greek letters equal their Latin initials ("interferon gamma (IFN-γ)");
* a bracket that the long form cuts in two is taken into it whole ("N-(4-hydroxyphenyl)retinamide (4-HPR)");
* the long form does not begin with "the", "of" and the like where a better word precedes, nor with "anti-" or "non-"
  where the short form leaves that out, nor with an isotope ("[3H]saxitoxin (STX)"), and it does not reach over a colon
  or semicolon;
* letters of the short form that occur inside a word give way to initials: "multiple myeloma (MM)" is not "myeloma";
* where the words before it give all initials, a last word is left out ("Sprague-Dawley rats (SD)"), and so is a
  bracket with a number in it;
* Roman numerals, ordinary lower-case words and references to figures are no short forms.

All look-ups are bounded, so time is linear in the text.

>>> from linnet.text.sentences import split_sentences
>>> text = "She has an atrial septal defect (ASD). The ASD is large."
>>> [(text[s.start : s.end], text[l.start : l.end]) for s, l in find_abbreviations(text, split_sentences(text))]
[('ASD', 'atrial septal defect')]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from linnet.data import Abbreviation, Span
from linnet.text.tokens import HYPHENS

__all__ = ["find_abbreviations", "without_short_forms"]

SHORTEST, LONGEST = 2, 10  # characters of a short form
REACH: Final = 240  # characters of a long form at most, also of what a bracket may hold
PIECES_MOST: Final = 3  # short forms tried in one bracket

BRACKET: Final = re.compile(r"[()\[\]]")
WORD: Final = re.compile(r"\S+")
LETTER: Final = re.compile(r"[^\W\d_]")
BRACKETS: Final = ("(", "[")
PARTNER: Final = {")": "(", "]": "["}
# One short form: a word or two, of letters, digits and the signs that stand inside names.
SIGN: Final = r"(?:[\w/.'’+&*‐‑–-]|(?<=\d),(?=\d))"  # "5,7-DHT" has a comma
SHORT: Final = re.compile(rf"[^\W_]{SIGN}*(?: [^\W_]{SIGN}*)?(?<=[\w.'’+*])")
SEPARATOR: Final = re.compile(r"\s*(?:[;:=]|,(?=\s)|\s(?:or|and)\s)\s*")
LEAD: Final = re.compile(
    r"(?:(?:[Hh]ere(?:in)?after|here|also|further|now|or|i\.e\.|e\.g\.|called|termed|named|known|denoted|designated|"
    r"referred|abbreviated?|[Aa]bbreviation|abbr\.?|subsequently|as|to|by|the|an?|acronym|formerly|short|for),?\s+)+"
)
QUOTES: Final = "\"'“”‘’«»` \t\n\r"
TRAILING: Final = QUOTES + ".,–:"
LOWER_ROMAN: Final = re.compile(r"[ivx]+")
GREEK: Final = str.maketrans("αβγδεζηθικλμνξπρστυφχψωµ", "abgdezetiklmnxprstupcpom")
_ORDINARY = "figure figures table tables group groups phase panel day days week weeks see inc inc. vs vs. w/v v/v w/w"
_JOINING = "the of and a an with for to by or at is was are were as from in on it"
NOT_SHORT: Final = frozenset([*_ORDINARY.split(), "ie", "eg", "i.e.", "e.g."])
NOT_FIRST: Final = frozenset(_JOINING.split())
SPELLED: Final = re.compile(r"[Aa]lpha|[Bb]eta|[Gg]amma|[Dd]elta|[Kk]appa")
PREFIXES: Final = ("anti-", "non-", "post-", "pre-")
ISOTOPE: Final = re.compile(r"\[[^][\s]*\d[^][\s]*\]-?")
HYPHENS_ALIKE: Final = str.maketrans(dict.fromkeys(HYPHENS, "-"))


def find_abbreviations(text: str, sentences: Sequence[Span]) -> tuple[Abbreviation, ...]:
    """Return the abbreviations that `text` defines, in order of their short forms.

    The short form is as the bracket has it, plural ``s`` included. A short form that is defined twice occurs twice.

    Args:
        text: Any string.
        sentences: Its sentences, as `split_sentences` gives them; a definition never reaches over their borders.

    Returns:
        Pairs of spans of `text`; each alphanumeric character of the short form (but for a plural ``s`` and Greek
        letters, see above) occurs in the long form, in order.

    >>> text = "CNVs (copy number variants)"
    >>> find_abbreviations(text, [Span(0, len(text))])
    (Abbreviation(short=Span(start=0, end=4), long=Span(start=6, end=26)),)
    """
    if "(" not in text and "[" not in text:
        return ()
    found: dict[Abbreviation, None] = {}
    for opening, closing, floor in _brackets(text, sentences):
        for pair in _definitions(text, opening, closing, floor):
            found[pair] = None
    return tuple(sorted(found))


def without_short_forms(name: str) -> str:
    """Return a name without the brackets in which it abbreviates itself.

    >>> without_short_forms("Thyrotropin releasing hormone (TRH) low in blood"), without_short_forms("Cough (dry)")
    ('Thyrotropin releasing hormone low in blood', 'Cough (dry)')
    """
    if "(" not in name and "[" not in name:
        return name
    for short, long in reversed(find_abbreviations(name, [Span(0, len(name))])):
        before, after = name[: short.start], name[short.end :]
        if long.end <= short.start and before[-1:] in BRACKETS and PARTNER.get(after[:1]) == before[-1:]:
            name = f"{before[:-1].rstrip()} {after[1:].lstrip()}".rstrip()
    return name


def _brackets(text: str, sentences: Sequence[Span]) -> Iterator[tuple[int, int, int]]:
    """Yield, of each pair of brackets inside one sentence, both positions and where the text before it begins."""
    remaining = iter(sentences)
    start = end = 0
    opened: list[int] = []
    for match in BRACKET.finditer(text):
        at = match.start()
        while at >= end:
            sentence = next(remaining, None)
            if sentence is None:
                return
            start, end = sentence
            opened = []
        sign = text[at]
        if sign in "([":
            opened.append(at)
        elif opened and text[opened[-1]] == PARTNER[sign]:
            opening = opened.pop()
            if opening >= start and at - opening <= REACH:
                yield opening, at, opened[-1] + 1 if opened else start


def _definitions(text: str, opening: int, closing: int, floor: int) -> Iterator[Abbreviation]:
    """Yield what the bracket from `opening` to `closing` defines; text before `floor` takes no part."""
    if text[closing + 1 : closing + 2].isalnum():
        return  # inside a word: "(S)-ketamine" has a hyphen and stays, "[3H]thymidine" and "Ca(2)ATP" do not
    if not LETTER.search(text, opening, closing):
        return  # many brackets hold but a number
    nothing = True
    for start, end in _pieces(text, opening + 1, closing):
        if _is_short(text[start:end]):
            long = _long_before(text, floor, opening, text[start:end])
            if long:
                nothing = False
                yield Abbreviation(Span(start, end), long)
    if nothing and opening > floor:
        start, end = _strip(text, max(floor, opening - LONGEST - 6), opening)
        words = text[start:end].split()
        short = words[-1].lstrip("([{/") if words else ""
        if _is_short(short) and _is_marked(short):
            long = _long_inside(text, opening + 1, closing, short)
            if long:
                yield Abbreviation(Span(end - len(short), end), long)


def _strip(text: str, start: int, end: int) -> Span:
    """Return `start` and `end` without quotes, blanks and punctuation at the borders."""
    piece = text[start:end]
    left = piece.lstrip(QUOTES)
    right = left.rstrip(TRAILING)
    if "." in right and left.startswith(".", len(right)):  # the last full stop of "i.v." is part of it
        right += "."
    return Span(end - len(left), end - len(left) + len(right))


def _pieces(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the first pieces of the inside of a bracket, without "also" and "hereafter" in front and quotes around."""
    for _ in range(PIECES_MOST):
        separator = SEPARATOR.search(text, start, end)
        stop = separator.start() if separator else end
        lead = LEAD.match(text, start, stop)
        span = _strip(text, lead.end() if lead else start, stop)
        if span.start < span.end:
            yield span
        if not separator:
            return
        start = separator.end()


def _is_short(short: str) -> bool:
    """Whether `short` is written like a short form."""
    if not SHORTEST <= len(short) <= LONGEST or not SHORT.fullmatch(short):
        return False
    word = short.split(" ", 1)[0].lower()
    if word in NOT_SHORT or (word.isdigit() and word != short) or (short[0].isdigit() and len(short) == SHORTEST):
        return False  # also "9 PeIN" (a number of them) and "2a" (the name of a compound)
    return any(sign.isalpha() for sign in short)


def _is_marked(short: str) -> bool:
    """Whether capitals or digits set `short` apart from an ordinary word: ASD, tPA, Hb, IL-2, but not "Group"."""
    return (
        short[1:] != short[1:].lower()
        or any(sign.isdigit() for sign in short)
        or (len(short) == 2 and short[0].isupper())
    )


def _fold(text: str) -> str:
    """Return `text` in lower case, with Latin letters for Greek ones, and of the same length."""
    folded = text.lower()
    if len(folded) != len(text):
        folded = "".join(sign.lower() if len(sign.lower()) == 1 else sign for sign in text)
    return folded if folded.isascii() else folded.translate(GREEK)


def _keys(short: str) -> list[str]:
    return [sign for sign in _fold(short) if sign.isalnum()]


def _most_words(short: str) -> int:
    """Return how many words the long form of `short` may have (Schwartz & Hearst 2003)."""
    return min(len(short) + 5, 2 * len(short))


def _align(folded: str, lowest: int, keys: Sequence[str]) -> int:
    """Return where the long form of `keys` begins if it ends with `folded` and begins at `lowest` or later, or -1."""
    at = len(folded)
    for key in keys[:0:-1]:
        at = folded.rfind(key, lowest, at)
        if at < 0:
            return -1
    second_best = -1
    while (at := folded.rfind(keys[0], lowest, at)) >= 0:
        if at and folded[at - 1].isalnum():
            continue
        if folded[at : at + 5].split(None, 1)[0] not in NOT_FIRST:
            return at
        second_best = max(second_best, at)
    return second_best if len(keys) > 2 else -1


def _long_before(text: str, floor: int, end: int, short: str) -> Span | None:
    """Return the long form of `short` that ends where the bracket opens, or None."""
    start = max(floor, end - REACH)
    start = max(start, text.rfind("; ", start, end) + 1, text.rfind(": ", start, end) + 1)
    window, keys = text[start:end].rstrip(TRAILING), _keys(short)
    remark = window.rfind(" (") if window.endswith(")") else -1
    if remark > 0 and any(sign.isdigit() for sign in window[remark:]):  # "nitroprusside (5 mg) (NP)"
        window = window[:remark]
    before = window.rsplit(None, _most_words(short))
    lowest = len(before[0]) if len(before) > _most_words(short) else 0
    folded = _fold(window)
    at = _align(folded, lowest, keys)
    if at < 0 and len(keys) > 2:
        keys = _keys(_simpler(short))
        at = _align(folded, lowest, keys)
    if at < 0:
        return None
    at = _by_initials(window, lowest, _word_start(window, at), keys)
    if window[at:].count(")") > window[at:].count("("):
        at = _word_start(window, max(window.rfind("(", lowest, at), 0))
    rest = window[folded.rfind(keys[-1]) :].split(None, 2)
    if len(rest) > 2:
        return None  # two words or more behind the last letter
    if len(rest) == 2 and _initials(shorter := window[at : -len(rest[1])].rstrip()) == keys:
        window = window[:at] + shorter
    return Span(start + at, start + len(window)) if _fits(short, window[at:], keys) else None


def _by_initials(window: str, lowest: int, at: int, keys: Sequence[str]) -> int:
    """Return where a longer long form begins whose initials are `keys`, or `at` if there is none or no need of one.

    From right to left the second "m" of "multiple myeloma (MM)" is that inside "myeloma", and nothing of "multiple" is
    left to be asked for.
    """
    initials = _initials(window[at:])
    for word in reversed(list(WORD.finditer(window, lowest, at))):
        if len(initials) >= len(keys):
            break
        initials = _initials(window[word.start() :])
        if initials == keys:
            return word.start()
    return at


def _simpler(short: str) -> str:
    """Return `short` without the plural "s" and with "a" for "alpha": SNPs, TNF-alpha."""
    if short[-1] == "s" and short[-2].isupper():
        short = short[:-1]
    return SPELLED.sub(lambda match: match[0][0], short)


def _long_inside(text: str, start: int, end: int, short: str) -> Span | None:
    """Return the long form of `short` that the bracket before `end` holds, or None."""
    long = next(_pieces(text, start, end), None)
    if long is None:
        return None
    inside, keys = text[long.start : long.end], _keys(short)
    folded = _fold(inside)
    last_word = folded.rsplit(None, 1)[-1]
    if folded[0] != keys[0] or keys[-1] not in last_word or folded.startswith(_fold(short)):
        return None
    if _align(folded, 0, keys) < 0:
        return None
    return long if _fits(short, inside, keys) else None


def _word_start(window: str, at: int) -> int:
    """Return where the word that holds `at` begins, hyphenated parts included, slashes, "anti-" and "[3H]" not."""
    start = at
    while start and not window[start - 1].isspace() and window[start - 1] != "/":
        start -= 1
    word = window[start:at]
    if word.lower().translate(HYPHENS_ALIKE) in PREFIXES or ISOTOPE.fullmatch(word):
        return at
    return start + len(word) - len(word.lstrip("([{\"'“‘«"))


def _fits(short: str, long: str, keys: Sequence[str]) -> bool:
    """Whether a long form that was found is one: longer, not too many words, without the short form, balanced."""
    words = long.split()
    if len(long) <= len(short) or len(words) > _most_words(short) or not _is_balanced(long):
        return False
    if short in long and re.search(rf"(?<!\w){re.escape(short)}(?!\w)", long):
        return False
    if set(short) == {"I"} or (len(words) > 1 and (LOWER_ROMAN.fullmatch(short) or "." in short[:-1])):
        return False  # "(iv)" counts the fourth and "i.v." is an ordinary word, but "intravenous (iv)" is meant
    return _is_marked(short) or len(keys) < 4 or _initials(long) == list(keys)


def _is_balanced(long: str) -> bool:
    """Whether each bracket is closed and none stands in front on its own, unlike that of "(S)-ketamine"."""
    if long.count("(") != long.count(")") or long.count("[") != long.count("]"):
        return False
    return long[0] not in "([" or ")-" in long or "]-" in long


def _initials(long: str) -> list[str]:
    """Return the first letters of the words of `long` and their hyphenated parts, but for "of" and the like."""
    return [word[0] for word in re.split(r"[\s/-]+", _fold(long)) if word and word not in NOT_FIRST]
