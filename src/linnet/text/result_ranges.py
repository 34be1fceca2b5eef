"""Results beside the range that a text gives for them: "CK 820 U/l (30-200)", "OFC 48 cm (<3rd centile)".

Only what the text itself says is read: no table here knows what is normal.
"""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple

__all__ = ["CENTILES", "Result", "read_result"]

CENTILES: Final = ("low-centile", "high-centile")  # qualities
_B: Final = r"[ \t]{0,4}"
_NUMBER: Final = r"\d{1,9}(?:[.,]\d{3}){0,2}(?:[.,]\d{1,9})?"
_UNIT: Final = (
    rf"(?:{_B}(?:[^\s()\[\],;]{{0,8}}[/%^][^\s()\[\],;]{{0,8}}"
    r"|[munpkµμ]?g|mcg|[mdf]?l|[mnpkµμ]?(?:mol|IU|U|IE)|secs?|s|[cm]?m|kPa|mmHg)(?!\w))?"
)
_SAID: Final = rf"\+{{0,2}}(?:{_B}(?:[:=]|(?:level|levels|is|was|of|at|today)\b)){{0,3}}{_B}"
_VALUE: Final = rf"(?P<sign>[<>])?{_B}(?P<value>{_NUMBER}){_UNIT}"
_NAME: Final = r"ref|reference|normal|norm|range|interval|nr|rr|n|referenz|referenzbereich|normbereich|normwert"
_LABEL: Final = rf"(?:(?:{_NAME})\b[.:]?{_B}){{0,3}}"
_BETWEEN: Final = rf"(?!(?:19|20)\d\d\b)(?P<low>{_NUMBER}){_B}(?:[-\u2013]|to\b|bis\b){_B}(?P<high>{_NUMBER})"
_LIMIT: Final = rf"(?:<=?|≤|up to|bis){_B}(?P<most>{_NUMBER})|(?:>=?|≥){_B}(?P<least>{_NUMBER})"
_RESULT: Final = re.compile(
    rf"{_SAID}{_VALUE}{_B}[(\[]{_B}{_LABEL}(?:{_BETWEEN}|{_LIMIT}){_UNIT}{_B}[)\]]", re.IGNORECASE
)
_BELOW, _ABOVE = r"<|≤|below|under|less than|unter", r">|≥|above|over|greater than|über"
_END: Final = rf"(?={_B}(?:[.,;:)\]\r\n]|\Z|(?:and|but|for|und)\b))"
# "3rd centile", "P3"; behind "below" and "above" an ordinal is enough.
_CENTILE: Final = re.compile(
    rf"{_SAID}(?:{_VALUE})?{_B}[,(\[]?{_B}(?:"
    rf"(?:(?P<below>{_BELOW})|(?P<above>{_ABOVE})|on|at)?{_B}(?:the |der )?"
    rf"(?<!\d)(?P<p>P\.?[ \t]?)?(?P<centile>{_NUMBER})(?:(?P<ordinal>st|nd|rd|th)|\.)?"
    rf"(?:{_B}(?P<named>(?:per)?(?:centile|zentile|%ile))|{_END})"
    rf"|(?P<deviation>[-+\u2013\u2212][ \t]?{_NUMBER}){_B}SDS?\b)",
    re.IGNORECASE,
)
_THOUSANDS: Final = re.compile(r"[1-9]\d{0,2}(?:[.,]\d{3})+")
LOWEST, HIGHEST, DEVIATION = 3.0, 97.0, 2.0  # centiles, and standard deviations, beyond which something is abnormal


class Result(NamedTuple):
    """What the range says of a value ("up", "down" or "normal"; "low-centile", "high-centile"), and where that ends."""

    quality: str
    end: int


def read_result(text: str, at: int) -> Result | None:
    """Return what a text says at `at`, behind the name of a test, if that is a value with its range.

    >>> read_result("CK 820 U/l (ref < 200)", 2), read_result("K 4,1 (3,5-5,1)", 1), read_result("K 4.1 (24-11)", 1)
    (Result(quality='up', end=6), Result(quality='normal', end=5), None)
    >>> read_result("OFC 48 cm (<3rd centile)", 3), read_result("OFC 48 cm (50th centile)", 3)
    (Result(quality='low-centile', end=6), None)
    >>> read_result("KU 46 cm (<P3)", 2), read_result("OFC below 0.4th.", 3), read_result("OFC at 2nd.", 3)
    (Result(quality='low-centile', end=5), Result(quality='low-centile', end=3), None)
    """
    found = _RESULT.match(text, at)
    if found is not None:
        quality = _beside(found)
        return Result(quality, found.end("value")) if quality else None
    found = _CENTILE.match(text, at)
    quality = _centile(found) if found else ""
    return Result(quality, found.end("value") if found["value"] else at) if found and quality else None


def _beside(found: re.Match[str]) -> str:
    """Return what a value is beside its range; nothing where the two cannot be compared."""
    low, high = found["low"] or found["least"], found["high"] or found["most"]
    whole = (low or high).isdigit()
    least, most = _read(low, whole=whole) if low else 0.0, _read(high, whole=whole) if high else math.inf
    lowest, highest = _possible(_read(found["value"], whole=whole), found["sign"])
    if least >= most:
        return ""
    if lowest > most:
        return "up"
    if highest < least:
        return "down"
    return "normal" if least <= lowest <= highest <= most else ""


def _possible(value: float, sign: str | None) -> tuple[float, float]:
    """Return the lowest and the highest that a result may be: that behind < or > lies beyond its value."""
    lowest = 0.0 if sign == "<" else math.nextafter(value, math.inf) if sign else value
    return lowest, math.inf if sign == ">" else math.nextafter(value, 0.0) if sign else value


def _centile(found: re.Match[str]) -> str:
    """Return what is said of a measure by a centile or a standard deviation."""
    if found["deviation"]:
        far = _read(found["deviation"][1:].strip()) >= DEVIATION
        return CENTILES[found["deviation"][0] == "+"] if far else ""
    if not _is_centile(found):
        return ""
    centile = _read(found["centile"])
    if centile < LOWEST or (centile == LOWEST and found["below"]):
        return "" if found["above"] else CENTILES[0]
    if centile > HIGHEST or (centile == HIGHEST and found["above"]):
        return "" if found["below"] else CENTILES[1]
    return ""


def _is_centile(found: re.Match[str]) -> bool:
    """Say whether a number is that of a centile: it is said, or an ordinal stands behind "below" or "above"."""
    return bool(found["named"] or found["p"] or (found["ordinal"] and (found["below"] or found["above"])))


def _read(number: str, *, whole: bool = False) -> float:
    """Return a number with a decimal point or comma; beside a range of whole numbers, they may set off thousands.

    >>> _read("1,94"), _read("1,200", whole=True), _read("1.200"), _read("1,200.5")
    (1.94, 1200.0, 1.2, 1200.5)
    """
    if whole and _THOUSANDS.fullmatch(number):
        return float(number.replace(",", "").replace(".", ""))
    before, _, after = number.replace(",", ".").rpartition(".")
    return float(f"{before.replace('.', '')}.{after}" if before else after)
