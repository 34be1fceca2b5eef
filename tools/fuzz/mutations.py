"""Damage to files, as it happens and as malice makes it, by a random generator alone.

What has a structure is damaged within it as often as byte by byte: a parser refuses nearly all of the latter, and what
lies behind it would never be met.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from tools.fuzz import bytewise
from tools.fuzz.packed import unpacked_changed
from tools.fuzz.trees import island_changed, json_changed
from tools.fuzz.xml_trees import xml_changed

STRUCTURED = 0.6  # share of the damage to JSON and XML that stays within the structure
INSIDE = 0.85  # share of the damage to what is packed that is done inside: sums find all other


def mutated(files: Mapping[str, bytes], rng: random.Random) -> dict[str, bytes]:
    """Return files of which one is damaged, or is missing."""
    changed = dict(files)
    name = rng.choice(sorted(changed))
    if len(changed) > 1 and rng.random() < 0.02:
        del changed[name]
        return changed
    changed[name] = damaged(changed[name], rng)
    return changed


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Return damaged content of a file, within the structure that it begins like or byte by byte."""
    made = _within(data, rng)
    return bytewise.changed(data, rng) if made is None else made


def _within(data: bytes, rng: random.Random) -> bytes | None:
    first = data[:200].lstrip()[:1]
    if first in (b"{", b"[") and rng.random() < STRUCTURED:
        return json_changed(data, rng)
    if first == b"<" and rng.random() < STRUCTURED:
        return island_changed(data, rng) or xml_changed(data, rng)
    if first not in (b"{", b"[", b"<") and rng.random() < INSIDE:
        return unpacked_changed(data, rng, damaged)
    return None
