"""Terminologies that anybody may fetch: addresses, readers, licences and what to cite, as ``published.toml`` has them.

The addresses are those their publishers name; nothing here, and no test, has asked them. Where one has moved, give the
new address (`linnet.vocabularies.download.download`), or fetch the file by hand.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from linnet.frozen import EMPTY

__all__ = ["PUBLISHED", "Publication", "PublishedFile"]


@dataclass(frozen=True)
class PublishedFile:
    """One file of a terminology.

    ``{year}`` in the address is the year of the edition. `marks` stand near the beginning of the unpacked
    file, all of them. An option's value that begins with ``@`` is the path of the publication's file of that number.
    An archive is unpacked, of it what matches the patterns in `unpack`, and the reader gets the folder.
    """

    url: str
    vocabulary: str  # the format that reads it
    marks: tuple[bytes, ...]
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    unpack: tuple[str, ...] = ()
    name: str = ""  # what it is kept as, if not as its address ends

    @property
    def kept_as(self) -> str:
        """The name of the file, with ``{year}`` where the edition stands in it."""
        return self.name or self.url.rpartition("/")[2]


@dataclass(frozen=True)
class Publication:
    """A terminology: its files, the page where a person finds them, its licence, what to cite."""

    title: str
    files: tuple[PublishedFile, ...]
    page: str
    licence: str
    citation: str


def _file(marks: list[str], unpack: Sequence[str] = (), **more: Any) -> PublishedFile:
    return PublishedFile(marks=tuple(mark.encode() for mark in marks), unpack=tuple(unpack), **more)


def _publication(id: str, about: Mapping[str, Any]) -> Publication:
    page = about.get("page", f"https://obofoundry.org/ontology/{id}.html")
    texts = {"page": page, "licence": f"as stated at {page}"} | {key: about[key] for key in about if key != "files"}
    ontology = {
        "url": f"https://purl.obolibrary.org/obo/{id}.obo",
        "vocabulary": "obo",
        "marks": ["format-version:"],
        "options": {"prefix": [id.upper()]},
    }
    files = tuple(_file(**file) for file in about.get("files", [ontology]))
    return Publication(files=files, **{key: " ".join(text.split()) for key, text in texts.items()})


def _read() -> dict[str, Publication]:
    told = tomllib.loads(resources.files("linnet.vocabularies").joinpath("published.toml").read_text("utf-8"))
    publishers = told.pop("publishers")
    return {id: _publication(id, publishers.get(about.pop("publisher", ""), {}) | about) for id, about in told.items()}


PUBLISHED = _read()
