"""Damage to XML that stays well-formed: elements, attributes and texts are changed and the tree is written again."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import cast

from lxml import etree

from tools.fuzz import bytewise
from tools.fuzz.trees import text_changed

ENCODINGS = ("utf-16", "iso-8859-1", "us-ascii")
NAMES = ("x", "p", "text", "id", "annotation", "document", "title", "sec", "{urn:x}p", "{urn:x}document")
DEEPEST = 1_000  # libxml2 reads 255 levels: what is deeper is refused, and has to be in good order

Elements = list["etree._Element"]
Change = Callable[[Elements, random.Random], None]


def xml_changed(data: bytes, rng: random.Random) -> bytes | None:
    """Return an XML file of which the tree is another; None if it is not well-formed."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, strip_cdata=False, huge_tree=True)
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError:
        return None
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        elements = [element for element in root.iter() if isinstance(element.tag, str)]
        try:
            rng.choice(CHANGES)(elements, rng)
        except ValueError:  # characters that no XML can hold: damage to bytes spells them
            continue
    encoding = rng.choice(ENCODINGS) if rng.random() < 0.05 else "utf-8"
    declared = encoding != "utf-8" or rng.random() < 0.8
    return cast("bytes", etree.tostring(root.getroottree(), encoding=encoding, xml_declaration=declared))


def _one(elements: Elements, rng: random.Random) -> etree._Element:
    """Return any element, the root only when it is all there is."""
    return rng.choice(elements[1:] or elements)


def _text(elements: Elements, rng: random.Random) -> None:
    """A text is another."""
    element = rng.choice([one for one in elements if one.text and one.text.strip()] or elements)
    element.text = text_changed(element.text or "", rng)


def _tail(elements: Elements, rng: random.Random) -> None:
    """Text stands behind an element, or another."""
    element = _one(elements, rng)
    element.tail = text_changed(element.tail or "x", rng)


def _swap(elements: Elements, rng: random.Random) -> None:
    """Two texts in each other's place."""
    first, second = rng.choice(elements), rng.choice(elements)
    first.text, second.text = second.text, first.text


def _drop(elements: Elements, rng: random.Random) -> None:
    element = _one(elements, rng)
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)


def _empty(elements: Elements, rng: random.Random) -> None:
    """Nothing is left in an element."""
    element = _one(elements, rng)
    tail = element.tail
    element.clear()
    element.tail = tail


def _twice(elements: Elements, rng: random.Random) -> None:
    element = _one(elements, rng)
    for _ in range(rng.choice((1, 1, 2, 50))):
        if element.getparent() is not None:
            element.addnext(copy.deepcopy(element))


def _move(elements: Elements, rng: random.Random) -> None:
    """An element stands elsewhere, or a copy of it."""
    element, place = _one(elements, rng), rng.choice(elements)
    place.insert(rng.randrange(len(place) + 1), copy.deepcopy(element))
    if rng.randrange(2) and element.getparent() is not None:
        _drop([element], rng)


def _rename(elements: Elements, rng: random.Random) -> None:
    element = rng.choice(elements)
    element.tag = rng.choice((rng.choice(elements).tag, rng.choice(NAMES), str(element.tag).upper()))


def _space(elements: Elements, rng: random.Random) -> None:
    """Elements are in a namespace: one, or all."""
    for element in rng.choice((elements, [rng.choice(elements)])):
        element.tag = f"{{urn:x}}{etree.QName(element).localname}"


def _attribute(elements: Elements, rng: random.Random) -> None:
    """An attribute is another, is missing, or is one too many."""
    element = rng.choice([one for one in elements if one.attrib] or elements)
    names = [str(name) for name in element.attrib]
    if not names:
        element.set("id", text_changed("1", rng))
        return
    name = rng.choice(names)
    how = rng.randrange(4)
    if how == 0:
        del element.attrib[name]
    elif how == 1:
        element.set(rng.choice((rng.choice(NAMES), name.upper())), element.get(name) or "")
    else:
        element.set(name, text_changed(element.get(name) or "", rng))


def _between(elements: Elements, rng: random.Random) -> None:
    """A comment, an instruction, CDATA or an element stands in the middle of a text."""
    element = rng.choice([one for one in elements if one.text and one.text.strip()] or elements)
    text = element.text or ""
    place = rng.randrange(len(text) + 1)
    if rng.randrange(4) == 0:
        element.text = etree.CDATA(text)
        return
    what = rng.choice((etree.Comment(" c "), etree.ProcessingInstruction("pi", "x"), etree.Element(rng.choice(NAMES))))
    element.text, what.tail = text[:place], text[place:]
    element.insert(0, what)


def _nest(elements: Elements, rng: random.Random) -> None:
    """An element stands deep in others of its own name, or of another."""
    element = _one(elements, rng)
    parent = element.getparent()
    if parent is None:
        return
    tag = rng.choice((element.tag, rng.choice(elements).tag, rng.choice(NAMES)))
    outer = inner = etree.Element(tag)
    for _ in range(bytewise.deep(rng, DEEPEST) - 1):
        inner = etree.SubElement(inner, tag)
    parent.replace(element, outer)
    inner.append(element)


CHANGES: tuple[Change, ...] = (
    _text, _text, _text, _text, _tail, _swap, _drop, _drop, _empty, _twice, _move, _rename, _space, _attribute,
    _attribute, _between, _nest,
)  # fmt: skip
