"""Name normalisation, in one place: what counts as "the same name", level by level.

`basic` is the form that knowledge bases store and search: Unicode, case, accents, Greek letters, hyphens and
punctuation; no word is changed and the order is kept. Finer levels build on it, word by word: `linnet.text.variants`
maps a word of this form to the stem and the family under which the dictionary looks it up.

What `basic` does, in this order: apostrophes and invisible characters deleted, compatibility forms (NFKC), case
folding, accents stripped and ligatures opened, every other character that is neither letter nor digit turned into a
blank, Greek letters that stand alone spelled out, and runs of blanks made one.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["INVISIBLE", "basic", "one_line"]

GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta", "η": "eta", "θ": "theta",
    "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "ο": "omicron", "π": "pi",
    "ρ": "rho", "σ": "sigma", "τ": "tau", "υ": "upsilon", "φ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega",
}  # fmt: skip
# Letters without a canonical decomposition; ß is opened by case folding already.
LIGATURES = {"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}

APOSTROPHES = "'\u2018\u2019\u02bc\u00b4`\u2032"
# Soft hyphen, zero-width space and joiners, word joiner, byte order mark: layout, not content.
INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"

_ASCII = {code: (chr(code) if chr(code).isalnum() else " ") for code in range(128)}
_ASCII |= {code: chr(code).lower() for code in range(65, 91)}
_ASCII_TABLE = str.maketrans({chr(code): to for code, to in _ASCII.items()} | {"'": "", "`": ""})
_DELETE = str.maketrans("", "", APOSTROPHES + INVISIBLE)
_OPEN = str.maketrans(LIGATURES)
_MARKS = re.compile("[\u0300-\u036f]+")
# A Greek letter with Greek neighbours belongs to a Greek word, which is left as it is.
_LONE_GREEK = re.compile("(?<![\u0370-\u03ff])[αβγδεζηθικλμνξοπρστυφχψω](?![\u0370-\u03ff])")
_SEPARATORS = re.compile(r"[\W_]+")


def one_line(text: str) -> str:
    r"""Return `text` with single blanks in the place of all blanks and line ends: what copies of a text have in common.

    >>> one_line("Fever.\r\n\r\n  Cough.\n")
    'Fever. Cough.'
    """
    return " ".join(text.split())


def basic(name: str) -> str:
    """Return the form of `name` that is compared and searched; ``""`` when it holds no letter and no digit.

    The result is lower case, single-blanked and stable: ``basic(basic(x)) == basic(x)``.

    >>> basic("β-Thalassaemia, Type 2  (Cooley's)")
    'beta thalassaemia type 2 cooleys'
    >>> basic("Sjögren–Larsson")
    'sjogren larsson'
    >>> basic("+/-")
    ''
    """
    if name.isascii():
        return " ".join(name.translate(_ASCII_TABLE).split())
    # Deleting comes first: NFKC would turn a spacing accent into a blank and a combining mark.
    text = unicodedata.normalize("NFKC", name.translate(_DELETE)).casefold()
    text = _MARKS.sub("", unicodedata.normalize("NFKD", text)).translate(_OPEN)
    text = unicodedata.normalize("NFKC", text).translate(_DELETE).casefold()
    text = _LONE_GREEK.sub(lambda match: f" {GREEK[match[0]]} ", _SEPARATORS.sub(" ", text))
    return " ".join(text.split())
