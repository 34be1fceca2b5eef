"""Words of other languages than English: which forms of a word may stand for each other inside a name.

Each language has light rules for number, case and gender, in the spirit of Savoy 2006 ("Light stemming approaches for
the French, Portuguese, German and Hungarian languages", SAC 2006), written for names of findings; derivation and
compounds are not undone. ``languages.tsv`` lists the words of each language that have a rule of their own.

* German: plurals and cases with their umlauts (Krampfanfälle, Frakturen, des Abszesses), endings of adjectives, ae for
  ä and ss for ß, the spellings of Greek and Latin words (Carcinom, Karzinom), and hyphens of compounds.
* French: plurals (-s, -x, -aux), feminines (-e, -euse, -ive), accents left out, l' and d' taken off.
* Spanish: plurals (-s, -es, -ces), gender of adjectives, accents left out; ñ stays a letter of its own (año, ano).
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from linnet.errors import DataError, did_you_mean
from linnet.text import tokens, variants
from linnet.text.normalise import APOSTROPHES
from linnet.text.plain import plain
from linnet.text.wordlists import listed, rows

__all__ = ["ENGLISH", "LANGUAGES", "Language", "english_lead", "is_german", "language_of"]

SHORT = 4  # letters; shorter words have no endings
LONGEST = 64  # characters of a word; longer runs are sequences or noise
SOFT = "\u00ad"  # soft hyphen: is inside a word, and nothing in its normal form

GERMAN_LEAST: Final = 3  # different words of those below that make a text German
GERMAN_HINTS: Final = (
    " und ",
    "kein",
    "Kein",
    " eine",
    "Z. n.",
    "Z.n.",
    "V. a.",
    "V.a.",
    "bds.",
)  # one of which a German text has
GERMAN: Final = re.compile(
    r"\b(?:und|der|die|das|des|dem|den|mit|bei|bds|[Kk]ein|[Kk]eine[nr]?|nicht|eine?[rmns]?|ist|sind|wird|werden"
    r"|wurde|zur|zum|von|vom|seit|ohne|links|rechts|beidseits|wegen|nach|unter|auf|aus|wir|sie|sich|im"
    r"|Z\. ?n|V\. ?a|geb|bekannt|Anamnese|Befund)\b"
)
ENGLISH_WORD: Final = re.compile(
    r"\b(?:the|of|and|with|from|to|for|on|at|by|or|no|not|this|that|which|who|he|she|his|has|had|have|is|are|were|known)\b",
    re.IGNORECASE,
)
BRIEF: Final = 300  # characters; of a text of so many an umlaut, a German name or one of these words is enough
CLEAR: Final = re.compile(r"\b(?:[Kk]ein(?:e[mnrs]?)?|nicht|bekannte?[mnrs]?|seit|beidseits|wegen|Verdacht)\b")
UMLAUT: Final = re.compile("[äöüß]")
SMALL: Final = re.compile(r"(?<!\w)[a-zäöüß]{4,}")
ADJECTIVE: Final = re.compile(r"\b([a-zß]{3,}(?:es|(?:lich|isch)e[mnr]?)) [A-Z][a-z]")  # before its noun
GERMAN_END: Final = re.compile(r"\w{3}(?:lich|isch|ung|heit|keit)(?:e[mnrs]?)?\Z")
NAME: Final = re.compile(r"\b[A-ZÄÖÜ][a-zäöüß]{5,}\b")
_Rules = tuple[tuple[re.Pattern[str], str], ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Language:
    """What the dictionary asks of a language.

    ``code`` is the tag of its names, "" = every name is of it; ``form`` maps a word to its normal form, and ``stem``
    and ``family`` map a word of that form to what other forms of it have in common; ``adjectives`` are endings of
    words that describe the next one; ``nouns`` says whether nouns begin with a capital; ``elision`` and ``compound``
    find articles and compounds in a text.
    """

    code: str
    form: Callable[[str], str] = tokens.form
    stem: Callable[[str], str] = variants.stem
    family: Callable[[str], str] = variants.family
    stopwords: frozenset[str] = variants.STOPWORDS
    conjunctions: frozenset[str] = variants.CONJUNCTIONS
    ties: frozenset[str] = variants.TIES
    general: frozenset[str] = variants.GENERAL
    ordinary: frozenset[str] = variants.ORDINARY
    adjectives: tuple[str, ...] = ("al", "ar", "ic", "ous", "ary")
    nouns: bool = False
    elision: re.Pattern[str] | None = None
    compound: re.Pattern[str] | None = None

    @property
    def english(self) -> bool:
        """Whether the rules are those of English."""
        return self.stem is variants.stem

    def has(self, tag: str) -> bool:
        """Say whether names with this tag are of the language: its own, a region's (de-AT), or none.

        >>> [LANGUAGES["de"].has(tag) for tag in ("de", "de-AT", "", "en")]
        [True, True, True, False]
        """
        return not (self.code and tag) or re.split("[-_]", tag.lower())[0] == self.code

    def is_stopword(self, surface: str) -> bool:
        """Say whether a word, as it is written, is a stop word or nothing at all; a single capital A is a letter.

        >>> LANGUAGES["de"].is_stopword("Der"), LANGUAGES["de"].is_stopword("Niere")
        (True, False)
        """
        if self.english:
            return variants.is_stopword(surface)
        normal = self.form(surface) if len(surface) <= LONGEST else surface
        return not normal or (normal in self.stopwords and not (len(surface) == 1 and surface.isupper()))

    def words(self, text: str) -> list[str]:
        """Return the words of a name.

        >>> LANGUAGES["fr"].words("Fracture de l'humérus")
        ['Fracture', 'de', 'l', 'humérus']
        """
        return tokens.words(self.without_elision(text))

    def content_words(self, name: str) -> list[str]:
        """Return the words of a name that count, stop words left out."""
        return [word for word in self.words(name) if not self.is_stopword(word)]

    def without_elision(self, text: str) -> str:
        """Return a text with blanks for the apostrophes that tie an article to a word; its length stays."""
        return self.elision.sub(lambda found: found[1].lower() + " ", text) if self.elision else text

    def joined(self, text: str, known: Callable[[str], bool] = lambda _: True) -> str:
        """Return a text in which compounds with hyphens that are `known` as one word are one; its length stays.

        >>> LANGUAGES["de"].form(LANGUAGES["de"].joined("Vorhof-Flimmern"))
        'vorhofflimmern'
        """
        if self.compound is None or "-" not in text:
            return text

        def join(found: re.Match[str]) -> str:
            one = found[0].replace("-", SOFT)
            return one if known(one) else found[0]

        return self.compound.sub(join, text)


def is_german(text: str) -> bool:
    """Return whether a text is German, by its commonest words, or a few words may be, by their letters and names.

    >>> is_german("Kein Fieber, keine Atemnot, Husten seit Tagen."), is_german("He died in the Mit und Die Inn.")
    (True, False)
    >>> is_german("Vorhofflimmern, Kleinwuchs."), is_german("Atrial fibrillation, short stature.")
    (True, False)
    >>> is_german("Keine Allergien, ADHS bekannt."), is_german("No allergies, ADHD known.")
    (True, False)
    >>> is_german("langes flaches Philtrum"), is_german("spots, multiple Injuries")
    (True, False)
    """
    text = plain(text)
    if any(hint in text for hint in GERMAN_HINTS) and len(set(GERMAN.findall(text))) >= GERMAN_LEAST:
        return True
    return len(text) <= BRIEF and (
        UMLAUT.search(text) is not None
        or CLEAR.search(text) is not None
        or not _german_nouns().isdisjoint(NAME.findall(text))
        or any(map(is_german_word, ADJECTIVE.findall(text)))
    )


def english_lead(text: str) -> int:
    """Return how many more common words of English than of German a text holds.

    A name of a place, a ward or a person does not make a sentence German.

    >>> [english_lead(text) for text in ("Seen by Dr. Müller on ward Süd.", "Kein Fieber seit Tagen.", "Seizures.")]
    [2, -2, 0]
    """
    return len(ENGLISH_WORD.findall(text)) - len(GERMAN.findall(text))


@functools.cache
def _german_nouns() -> frozenset[str]:
    """Return the nouns in German names of findings, without those that English shares."""
    table = [line for line in rows("linnet.text", "german_names.tsv") if len(line) == 2]  # no false friends
    english = {word.lower() for _, names in table for word in names.replace("|", " ").split()}
    nouns = {noun for names, _ in table for noun in NAME.findall(names)}
    return frozenset(noun for noun in nouns if noun.lower() not in english)


def is_german_word(word: str) -> bool:
    """Say whether a word is German: it ends as such words do, or is an adjective in German names of findings.

    >>> is_german_word("flaches"), is_german_word("Entwicklung"), is_german_word("flashes"), is_german_word("Lichen")
    (True, True, False, False)
    """
    folded = word.lower()
    german = LANGUAGES["de"]
    return GERMAN_END.search(folded) is not None or german.stem(german.form(folded)) in _german_adjectives()


@functools.cache
def _german_adjectives() -> frozenset[str]:
    """Return the stems of the words that German names of findings write with a small letter."""
    german, names = LANGUAGES["de"], (name for name, *_ in rows("linnet.text", "german_names.tsv"))
    words = {word for name in names for word in SMALL.findall(name)}
    return frozenset(german.stem(german.form(word)) for word in words)


def language_of(code: str) -> Language:
    """Return the language of a tag.

    Raises:
        DataError: there are no rules for it.
    """
    if code not in LANGUAGES:
        choices = ", ".join(filter(None, LANGUAGES))
        raise DataError(f"language is {code!r}, expected {choices} or nothing{did_you_mean(code, LANGUAGES)}")
    return LANGUAGES[code]


# --- the rules -------------------------------------------------------------------------------------------------------

_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
_NTILDE = str.maketrans({"ñ": "ny", "Ñ": "Ny"})

# Greek and Latin words are written with c or with k and z, and with ph or f, and umlauts may be spelled out.
_GERMAN_SPELLING: _Rules = (
    (re.compile(r"c(?=e|i|y|ae|oe)"), "z"),  # Carcinom is below, Cyste here
    (re.compile(r"(?<!s)c(?![hk])"), "k"),
    (re.compile(r"ph"), "f"),
    (re.compile(r"ae"), "a"),
    (re.compile(r"oe"), "o"),
    (re.compile(r"(?<![aeq])ue"), "u"),
)
# The look-behinds say how many letters must be left.
_GERMAN: _Rules = (
    (re.compile(r"itid(?:en)?$"), "itis"),
    (re.compile(r"nisse[ns]?$"), "nis"),  # Ereignisse
    (re.compile(r"(?<=[a-z]{3}m)ata$"), ""),  # Traumata
    (re.compile(r"(?<=[a-z]{3}m)a$"), ""),  # Trauma, Traumen
    (re.compile(r"(?<=[a-z]{4})(?:ern|er|um)$"), ""),
    (re.compile(r"(?<=[a-z]{3})(?:em|en|es|e|us)$"), ""),
    (re.compile(r"(?<=[a-z]{2}[lr])n$"), ""),
    (re.compile(r"(?<=[a-z]{2}[bdfghklmnrtz])s$"), ""),
)
_FRENCH: _Rules = (
    (re.compile(r"(?<=[a-z]{2}[^e])aux$"), "al"),
    (re.compile(r"(?<=[a-z]{2}eu)(?:x|ses?)$"), ""),  # veineux, veineuse
    (re.compile(r"(?<=[a-z](?:eau|.ou))x$"), ""),
    (re.compile(r"(?<=[a-z]{2})ives?$"), "if"),
    (re.compile(r"(?<=[a-z]{3})([lnt])\1es?$"), r"\1"),  # artérielle
    (re.compile(r"(?<=[a-z]{3})(?<!s)s$"), ""),
    (re.compile(r"(?<=[a-z]{4})ee?$"), ""),  # foie stays apart from fois
)
_SPANISH: _Rules = (
    (re.compile(r"(?<=[a-z]{2})ces$"), "z"),
    (re.compile(r"(?<=[a-z]{4})(?:[oa]s?|es?)$"), ""),
    (re.compile(r"(?<=[a-z]{2}[lnrdz])es$"), ""),
    (re.compile(r"(?<=[a-z]{2}[aeiou])s$"), ""),
)


def _inflected(rules: _Rules, irregular: dict[str, str], *, steps: int) -> Callable[[str], str]:
    """Return what undoes inflection: the rules, each in turn, at most `steps` times."""

    def stem(word: str) -> str:
        word = irregular.get(word, word)
        if len(word) < SHORT or not (word.isalpha() and word.isascii()):
            return word
        for _ in range(steps):
            before = word
            for rule, to in rules:
                word = rule.sub(to, word)
            if word == before:
                break
        return word

    return functools.lru_cache(maxsize=1 << 16)(stem)


def _spelled(letters: dict[int, str], rules: _Rules) -> Callable[[str], str]:
    """Return what brings a word into normal form: some letters spelled out, then the usual form, then `rules`."""

    def form(word: str) -> str:
        normal = tokens.form(word if word.isascii() else unicodedata.normalize("NFC", word).translate(letters))
        for pattern, replacement in rules:
            normal = pattern.sub(replacement, normal)
        return normal

    return functools.lru_cache(maxsize=1 << 16)(form)


def _language(
    code: str,
    rules: _Rules,
    *,
    steps: int = 1,
    nouns: bool = False,
    letters: dict[int, str] | None = None,
    spelling: _Rules = (),
    elision: str = "",
    compound: str = "",
) -> Language:
    form = _spelled(letters or {}, spelling)
    words = {
        kind: [form(word) for word in listed(f"{code} {kind}", "languages.tsv")]
        for kind in ("stop", "and", "tie", "general", "ordinary")
    }
    pairs = [pair.partition("=") for pair in listed(f"{code} plural", "languages.tsv")]
    stem = _inflected(rules, {form(plural): form(singular) for plural, _, singular in pairs}, steps=steps)
    return Language(
        code=code,
        form=form,
        stem=stem,
        family=stem,
        stopwords=frozenset(words["stop"]),
        conjunctions=frozenset(words["and"]),
        ties=frozenset(words["tie"]),
        general=frozenset(map(stem, words["general"])),
        ordinary=frozenset(map(stem, [*words["stop"], *words["and"], *words["tie"], *words["ordinary"]])),
        adjectives=(),
        nouns=nouns,
        elision=re.compile(elision, re.IGNORECASE) if elision else None,
        compound=re.compile(compound) if compound else None,
    )


ENGLISH = Language(code="")
LANGUAGES = {
    "": ENGLISH,
    "en": Language(code="en"),
    "de": _language(
        "de",
        _GERMAN,
        steps=3,
        nouns=True,
        letters=_UMLAUTS,
        spelling=_GERMAN_SPELLING,
        compound=r"[^\W\d_]{2,}(?:-[^\W\d_]{3,})+",
    ),
    "fr": _language("fr", _FRENCH, elision=rf"\b(l|d|qu|n|s|c|j|m)[{APOSTROPHES}](?=\w)"),
    "es": _language("es", _SPANISH, letters=_NTILDE),
}
