"""TeXoo JSON as a terminology, as TrainX keeps it: a document for each concept, its text the definition.

``title`` holds the names as a row of CSV, the preferred one first (``"Fever, unspecified",Pyrexia``); ``type`` is its
type. Ids without a prefix get the one that their form tells (``C0015967`` is UMLS), or that an option says.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from linnet.data import Concept, Name
from linnet.errors import FormatError
from linnet.kb.curies import curie, known_form
from linnet.text.files import shown
from linnet.text.json_files import Node, dumps, nodes

__all__ = ["read_texoo", "write_texoo"]


def read_texoo(path: str | Path, *, prefix: str = "") -> Iterator[Concept]:
    """Yield the concepts of a TeXoo data set, plain or gzip.

    Args:
        path: the file.
        prefix: what ids without a prefix get: ``MESH`` makes ``MESH:D003920`` of ``D003920``.

    Raises:
        FormatError: no JSON (with the line), no documents, an id that is missing or comes twice, a title that is no
            row of CSV: with the path of the member and what was expected.
    """
    seen: set[str] = set()
    for node in nodes(path):
        for item in node.member("documents").items():
            concept = _concept(item, prefix)
            if concept.id in seen:
                raise item.fault(f"the id {concept.id} stands further up already; give each concept one document")
            seen.add(concept.id)
            yield concept
    if not seen:
        raise FormatError(shown(path), "holds no documents, and so no concepts")


def _concept(item: Node, prefix: str) -> Concept:
    given = item.name("id").strip()
    if not given:
        raise item.member("id").expected("an id")
    id = curie(f"{prefix}:{given}" if prefix and ":" not in given else known_form(given))
    type = item.text("type", "").strip()
    return Concept(
        id,
        names=tuple(Name(name) for name in _names(item)),
        types=(type,) if type else (),
        definition=" ".join(item.text("text", "").split()),
        origin=f"{item.file}:{item.line}",
    )


def _names(item: Node) -> list[str]:
    title = item.text("title", "")
    try:
        rows = list(csv.reader(io.StringIO(title), strict=True, skipinitialspace=True))
    except csv.Error as error:
        problem = f"expected names as a row of CSV, found {title[:80]!r}: {error}"
        raise item.member("title").fault(problem) from error
    names = (" ".join(cell.split()) for row in rows for cell in row)
    return list(dict.fromkeys(name for name in names if name))


def write_texoo(concepts: Iterable[Concept], out: TextIO) -> int:
    r"""Write live concepts as a TeXoo data set and return how many; first types, names and definitions are kept.

    >>> out = io.StringIO()
    >>> write_texoo([Concept("UMLS:C0015967", (Name("Fever, unspecified"), Name("Pyrexia")), definition="Heat.")], out)
    1
    >>> '"title":"\\"Fever, unspecified\\",Pyrexia"' in out.getvalue()
    True
    """
    out.write('{"name":"linnet","language":"en","documents":[')
    count = 0
    for concept in concepts:
        if concept.replaced_by is None:
            out.write((",\n" if count else "\n") + dumps(_document(concept), f"concept {concept.id}"))
            count += 1
    out.write('\n],"queries":[]}\n')
    return count


def _document(concept: Concept) -> dict[str, Any]:
    row = io.StringIO()
    csv.writer(row, lineterminator="").writerow([name.text for name in concept.names])
    prefix, _, local = concept.id.partition(":")
    bare = local if prefix and known_form(local) == concept.id else concept.id
    return {
        "class": "Document",
        "begin": 0,
        "length": len(concept.definition.encode("utf-16-le", "surrogatepass")) // 2,
        "text": concept.definition,
        "id": bare,
        "title": row.getvalue(),
        "language": "en",
        "type": concept.types[0] if concept.types else None,
        "annotations": [],
    }
