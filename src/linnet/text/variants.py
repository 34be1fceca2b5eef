"""Word variants: which forms of a word may stand for each other inside a name.

Two levels, both functions of one word in its `linnet.text.normalise.basic` form:

* `stem` undoes inflection and spelling: plurals (English, Greek and Latin), British for American;
* `family` undoes derivation on top of it, where medical English is regular (hypotonic for hypotonia, retarded for
  retardation), and joins the words that ``families.tsv`` lists as one family (renal for kidney).

Names are looked up by family and then judged: the closer the level at which two names agree, the higher the score.
"""

from __future__ import annotations

import functools
import re

from linnet.text.tokens import form, words
from linnet.text.wordlists import families, listed

__all__ = [
    "BEARERS",
    "CONJUNCTIONS",
    "GENERAL",
    "ORDINARY",
    "PREFIXES",
    "STOPWORDS",
    "TIES",
    "content_words",
    "family",
    "is_stopword",
    "singular",
    "stem",
]


# What each kind of word is treated like stands at the head of words.tsv.
CONJUNCTIONS = frozenset(("and", "or"))
STOPWORDS = frozenset(listed("stop"))
TIES = frozenset(listed("tie") + listed("cue"))
GENERAL = frozenset(listed("general"))
PREFIXES = frozenset(listed("prefix") + listed("combining"))
BEARERS = frozenset(listed("bearer"))
ORDINARY = TIES | STOPWORDS | CONJUNCTIONS | frozenset(listed("ordinary"))
SINGULAR = frozenset(listed("singular"))
IRREGULAR = {plural: singular for plural, _, singular in (pair.partition("=") for pair in listed("plural"))}

_SPELLING = (
    (re.compile(r"(?<=.)ae(?=.)"), "e"),  # anaemia; a final -ae is a plural
    (re.compile(r"(?<=.)oe(?=[a-z]{2}|a$)|^oe(?=[a-z]{3})"), "e"),  # oedema, diarrhoea; not toe, toes
    (re.compile(r"^ae(?=.{3})"), "e"),  # aetiology
    (re.compile(r"(?<=[a-z]{2})our(?=$|s$|al$|ed$|ing$|less$)"), "or"),  # tumour
    (re.compile(r"is(?=(?:e|es|ed|ing|ation|ations)$)(?<=.{4})"), "iz"),  # generalised
    (re.compile(r"ys(?=(?:e|ed|ing)$)(?<=.{4})"), "yz"),  # paralysed
    (re.compile(r"(?<=[a-z]{2}[bt])re(?=s?$)"), "er"),  # fibre, centre
    (re.compile(r"^sulph"), "sulf"),
    (re.compile(r"leuc(?=[aeo])"), "leuk"),
    (re.compile(r"^grey"), "gray"),
)
_ACRONYMS = re.compile(r"(?=[^A-Z]*[A-Z])[A-Z0-9-]{3,}s")  # more than one
_PLURALS = (
    (re.compile(r"(?<=[a-z]{3})ies$"), "y"),
    (re.compile(r"(?<=s[sh])es$|(?<=[^a]ch)es$|(?<=x)es$|(?<=zz)es$|(?<=[bdglmnprtv]us)es$"), ""),
    (re.compile(r"(?<=[a-z]{3}[oye])ses$"), "sis"),  # stenoses, paralyses, syntheses; not noses, purposes
    (re.compile(r"(?<=[a-z]{3})omata$"), "oma"),
    (re.compile(r"(?<=[a-z]{3})itides$"), "itis"),
    (re.compile(r"(?<=[a-z]{2})ae$"), "a"),
    (re.compile(r"(?<=[a-z]{3})i$"), "us"),
    (re.compile(r"(?<=[a-z]{2})(?<!s)(?<!u)(?<!i)s$"), ""),
)


def singular(word: str) -> str:
    """Return an acronym, as it is written, without the s of its plural, any other word as it is.

    >>> singular("UTIs"), singular("SIDS"), singular("fits")
    ('UTI', 'SIDS', 'fits')
    """
    return word[:-1] if _ACRONYMS.fullmatch(word) else word


@functools.lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return `word` without inflection and in American spelling; words with digits stay as they are.

    >>> [stem(word) for word in ("kidneys", "anaemia", "tumours", "vertebrae", "nevi", "diagnoses", "toes", "abscess")]
    ['kidney', 'anemia', 'tumor', 'vertebra', 'nevus', 'diagnosis', 'toe', 'abscess']
    """
    if len(word) < 4 or not word.isalpha() or not word.isascii():
        return word
    if word in SINGULAR or word in IRREGULAR:
        return IRREGULAR.get(word, word)
    for pattern, replacement in _SPELLING:
        word = pattern.sub(replacement, word)
    if word in SINGULAR or word in IRREGULAR:
        return IRREGULAR.get(word, word)
    for pattern, replacement in _PLURALS:
        shorter, count = pattern.subn(replacement, word)
        if count:
            return shorter
    return word


# Endings that derive one word from another, longest first where one ends in the other; what they leave is the root.
# The number is how many letters must be left.
_ENDINGS = (
    ("plastic", "plas", 1), ("plasia", "plas", 1), ("eptic", "ept", 3), ("epsy", "ept", 3), ("cular", "cl", 3),
    ("ification", "ifi", 3), ("ified", "ifi", 3), ("ifying", "ifi", 3),
    ("ability", "abl", 3), ("ibility", "ibl", 3), ("able", "abl", 3), ("ible", "ibl", 3),
    ("otic", "ot", 3), ("osis", "ot", 3), ("etic", "et", 3), ("esis", "et", 3), ("ytic", "yt", 3), ("ysis", "yt", 3),
    ("itic", "it", 3), ("itis", "it", 3), ("istic", "", 3), ("atic", "at", 4), ("asis", "at", 4),
    ("mental", "", 4), ("ment", "", 4), ("ency", "en", 3), ("ence", "en", 3), ("ent", "en", 4),
    ("ancy", "an", 3), ("ance", "an", 3), ("ant", "an", 4),
    ("ically", "", 4), ("ical", "", 4), ("icity", "", 4), ("ics", "", 4), ("ic", "", 4), ("ism", "", 3), ("ia", "", 4),
    ("arity", "", 5), ("ity", "", 4), ("ational", "", 4), ("ation", "", 4), ("atory", "", 4), ("ated", "", 4),
    ("ating", "", 4), ("ative", "", 4), ("ate", "", 4), ("ional", "", 4), ("ion", "", 3), ("ive", "", 4),
    ("ened", "", 4), ("ening", "", 4), ("ed", "", 3), ("ing", "", 3), ("ness", "", 4), ("ious", "", 4), ("ous", "", 4),
    ("ially", "", 4), ("ial", "", 4), ("ally", "", 4), ("al", "", 4), ("ary", "", 4), ("ar", "", 5),
    ("um", "", 4), ("us", "", 4), ("on", "", 5), ("y", "", 4), ("a", "", 4), ("e", "", 4),
)  # fmt: skip


def _root(word: str) -> str:
    """Return what regular derivation leaves of a stem."""
    for ending, root, least in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= least:
            return word[: -len(ending)] + root
    return word


# the listed families: root of each word -> first word of its line
_FAMILIES = {_root(stem(word)): members[0] for members in families() for word in members}


@functools.lru_cache(maxsize=1 << 16)
def family(word: str) -> str:
    """Return the name of the family of a word: equal for words that may stand for each other inside a name.

    >>> family("hypotonia") == family("hypotonic"), family("retarded") == family("retardation")
    (True, True)
    >>> family("renal") == family("kidneys"), family("renal") == family("hepatic")
    (True, False)
    """
    base = stem(word)
    root = _root(base) if base.isalpha() and base.isascii() else base
    return _FAMILIES.get(root, root)


def is_stopword(surface: str) -> bool:
    """Say whether a word, as it is written, is a stop word or nothing at all; a single capital A is a letter.

    >>> [is_stopword(word) for word in ("of", "The", "A", "kidney")]
    [True, True, False, False]
    """
    normal = form(surface) if len(surface) <= 64 else surface
    return not normal or (normal in STOPWORDS and surface != "A")


def content_words(name: str) -> list[str]:
    """Return the words of a name that count, stop words left out.

    >>> content_words("Abnormality of the kidney")
    ['Abnormality', 'kidney']
    """
    return [word for word in words(name) if not is_stopword(word)]
