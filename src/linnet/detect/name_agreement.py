"""How well words of a text agree with a name, as a score between 0 and 1: the rules of the dictionary.

Word by word, the score falls with every step away from the name as it is written: another case, another spelling, an
inflection, a derivation or a word of the same family. Over all words it is the mean. Words in another order agree only
where a preposition explains it ("kidney abnormality", "abnormality of the kidney") or the name itself is turned round
("Carcinoma, Basal Cell").

A name of one word has nothing else to speak for it. It must agree by more than family, but for adjectives of findings
(hypotonic for hypotonia) where nothing follows that they could describe but a person or an animal; and

* a name without a letter, of a single character, or of a general or ordinary word is never found;
* a name of up to three characters, or one that is written like an acronym, must agree in case;
* an acronym of up to three characters is found only where the document defines it, or if a name is its plural (UTIs).
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from linnet.text.languages import ENGLISH, Language
from linnet.text.tokens import Gap, gap_kind, tokenize
from linnet.text.variants import singular

__all__ = ["PLAIN", "SCOPES", "How", "Shape", "agree", "agree_word", "repeats", "shape"]

CASE, SPELLING, INFLECTION, DERIVATION = 0.99, 0.97, 0.94, 0.8
REORDERED, INSERTED, STATED = 0.97, 0.8, 0.85
SCOPES = (1.0, 0.9, 0.9, 0.9)  # exact, broad, narrow, related
SHORT = 3
FINDING = ("a", "s", "sm", "y")  # endings of findings that have an adjective in -ic
ACRONYM = 6  # characters; longer words with capitals inside are names or headings


class How(NamedTuple):
    """How the words of a match stand in the text.

    ``linked``: a preposition stands between them, so that they may have another order than the name's;
    ``goes_on``: whether their phrase goes on behind them (0 no, 1 with somebody who has findings, 2 with anything
    else), so that the last of them may be the adjective of something else ("hyperplasia of the mandibular condyles");
    ``inserted``: a word between them was left out; ``punctuation``: how many gaps between them hold punctuation;
    ``stated``: something ends behind them, so that the last of them may say what the first is like ("ears small");
    ``meant``: they are the long form of an abbreviation, so that an acronym among names is no accident.
    """

    linked: bool = False
    goes_on: int = 0
    inserted: bool = False
    punctuation: int = 0
    stated: bool = False
    meant: bool = False


PLAIN = How()


class Shape(NamedTuple):
    """A name taken apart.

    ``words`` are its content words, ``turned`` the same with what follows a comma put in front (empty without one),
    ``punctuation`` how many gaps between its words hold punctuation, ``linked`` whether it has stop words.
    """

    words: tuple[str, ...]
    turned: tuple[str, ...]
    punctuation: int
    linked: bool


def shape(name: str, language: Language = ENGLISH) -> Shape:
    """Take a name apart.

    >>> shape("Carcinoma, Basal Cell").turned
    ('Basal', 'Cell', 'Carcinoma')
    """
    words = language.content_words(name)
    parts = name.split(", ")
    turned = [word for part in reversed(parts) for word in language.content_words(part)] if len(parts) > 1 else []
    tokens = tokenize(language.without_elision(name))
    punctuation = sum(gap_kind(gap) > Gap.JOIN for gap in tokens.gaps[1:-1])
    return Shape(tuple(words), tuple(turned), punctuation, len(words) < len(tokens.surfaces))


def agree(text: tuple[str, ...], name: Shape, how: How = PLAIN, language: Language = ENGLISH) -> float:
    """Return how well content words of a text, in the order of the text, agree with a name; 0 where a rule forbids it.

    Where there is punctuation between the words, the name must hold as much and agree to the letter. Where a word was
    left out, nothing but inflection may differ besides, and the name must not end in a general word ("heart disease"
    is not "heart muscle disease").

    >>> agree(("renal", "anomalies"), shape("Anomaly of the kidney")) > 0
    True
    >>> agree(("kidneys", "short"), shape("Short kidney"))
    0.0
    """
    if len(text) != len(name.words):
        return 0.0
    if len(text) == 1:
        return _alone(text[0], name.words[0], how, language)
    if how.inserted:
        return _around(text, name, how, language)
    score = max(_in_order(text, name.words, language), _in_order(text, name.turned, language))
    if how.punctuation:
        score = score or _in_any_order(text, name.words, language) * REORDERED  # combinations: a/b is b/a
        return score if name.punctuation == how.punctuation and score >= SPELLING * REORDERED else 0.0
    score = score or _in_other_order(text, name, how, language)
    endings = language.adjectives
    if how.goes_on and text[-1].endswith(endings) and (how.linked or not name.words[-1].endswith(endings)):
        return 0.0
    return score


def repeats(text: tuple[str, ...], name: Shape, how: How = PLAIN) -> bool:
    """Return whether words of a text are those of a name as it is written, whatever rule `agree` has against it.

    >>> repeats(("CT",), shape("CT")), repeats(("Tumors",), shape("tumors")), repeats(("Ct",), shape("ct"))
    (True, True, False)
    """
    same = len(text) == len(name.words) and not how.inserted and how.punctuation == name.punctuation
    return same and all(
        word == other or (len(other) > SHORT and agree_word(word, other) == 1)
        for word, other in zip(text, name.words, strict=True)
    )


def _around(text: tuple[str, ...], name: Shape, how: How, language: Language) -> float:
    """Return the score of words between which one was left out."""
    words = name.turned or name.words
    if (
        how.punctuation
        or (how.linked and not name.linked)
        or language.stem(language.form(words[-1])) in language.general
    ):
        return 0.0
    return _in_order(text, words, language, least=INFLECTION) * INSERTED


def _in_order(text: tuple[str, ...], name: tuple[str, ...], language: Language, *, least: float = DERIVATION) -> float:
    if not name:
        return 0.0
    scores = [agree_word(word, other, language) for word, other in zip(text, name, strict=True)]
    return sum(scores) / len(scores) if min(scores) >= least else 0.0


def _in_other_order(text: tuple[str, ...], name: Shape, how: How, language: Language) -> float:
    score = _in_any_order(text, name.words, language) * REORDERED if how.linked or name.linked else 0.0
    return _turned_round(text, name.words, language) * STATED if how.stated and not score else score


def _turned_round(text: tuple[str, ...], name: tuple[str, ...], language: Language) -> float:
    """Return the score of words of which the first part stands at the end of the name ("septum deviated")."""
    if not language.ties.isdisjoint(map(language.form, text)):
        return 0.0
    turns = [_in_order((*text[at:], *text[:at]), name, language, least=INFLECTION) for at in range(1, len(text))]
    return max(turns)


def _in_any_order(text: tuple[str, ...], name: tuple[str, ...], language: Language) -> float:
    if not language.ties.isdisjoint(map(language.form, text)):
        return 0.0  # "born with a tooth" is not "with a tooth borne"
    left, total = list(name), 0.0
    for word in text:
        best = max(left, key=lambda other: agree_word(word, other, language))
        score = agree_word(word, best, language)
        if not score:
            return 0.0
        left.remove(best)
        total += score
    return total / len(text)


def _alone(word: str, name: str, how: How, language: Language) -> float:
    """Return the score of a name of one word."""
    score = agree_word(word, name, language)
    root = language.stem(language.form(word))
    if len(word) < 2 or word.isdigit() or root in language.general or root in language.ordinary:
        return 0.0
    if language.nouns and score <= INFLECTION and word.islower() and name[0].isupper():
        return 0.0  # German "leben" and "mag" are no forms of Leber and Magen
    if score <= DERIVATION and (how.goes_on > 1 or not _adjective(word, name)):
        return 0.0
    if how.meant and word == name:
        return score
    of_plural = name == word + "s"
    if len(word) <= SHORT and not word[1:].islower() and not of_plural:
        return 0.0
    cased = len(name) <= SHORT or _acronym(name) or _acronym(word)
    return 0.0 if cased and score < 1 and word != name + "s" and not of_plural else score


def _acronym(word: str) -> bool:
    return len(word) <= ACRONYM and any(letter.isupper() for letter in word[1:])


def _adjective(word: str, name: str) -> bool:
    """Say whether `word` is the adjective of the finding `name`, as hypotonic is of hypotonia."""
    word, name = word.casefold(), name.casefold()
    of_finding = word.endswith("ic") and name.endswith(FINDING)  # "diabetic" is none of the drug Diabetal
    return len(word) > 6 and (of_finding or (word.endswith("ive") and name.endswith("ion")))


@functools.lru_cache(maxsize=1 << 16)
def agree_word(word: str, name: str, language: Language = ENGLISH) -> float:
    """Return how well a word of a text agrees with a word of a name; 0 if they are not even of one family.

    >>> [agree_word(word, "Kidney") for word in ("kidney", "KIDNEY", "kidneys", "renal", "liver")]
    [1.0, 0.99, 0.94, 0.8, 0.0]
    """
    if word == name or (word[1:] == name[1:] and word[1:].islower() and word[0].lower() == name[0].lower()):
        return 1.0  # a capital at the beginning is the sentence's or the terminology's habit
    if word.casefold() == name.casefold():
        return CASE
    if singular(word) == singular(name):
        return INFLECTION
    first, second = language.form(word), language.form(name)
    if first == second:
        return SPELLING
    first_parts, second_parts = first.split(), second.split()
    if list(map(language.stem, first_parts)) == list(map(language.stem, second_parts)):
        return INFLECTION
    return DERIVATION if list(map(language.family, first_parts)) == list(map(language.family, second_parts)) else 0.0
