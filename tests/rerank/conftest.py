"""A knowledge base with what makes linking hard, and documents that say what names mean."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from linnet.data import Concept, Document, Mention, Name
from linnet.kb import KnowledgeBase
from linnet.kb.build import build

CONCEPTS = (
    Concept("MESH:1", (Name("Diabetes Mellitus"), Name("diabetes")), ("Disease",)),
    Concept("MESH:2", (Name("Diabetes Mellitus, Type 1"), Name("IDDM")), ("Disease",), parents=("MESH:1",)),
    Concept("MESH:3", (Name("Diabetes Mellitus, Type 2"), Name("NIDDM")), ("Disease",), parents=("MESH:1",)),
    Concept("MESH:4", (Name("Kidney Diseases"), Name("nephropathy", "narrow")), ("Disease",)),
    Concept("MESH:5", (Name("Kidney Neoplasms"), Name("renal cancer")), ("Disease",), parents=("MESH:4",)),
    Concept("MESH:6", (Name("Breast Neoplasms"), Name("breast cancer")), ("Disease",)),
    Concept("MESH:7", (Name("Ovarian Neoplasms"), Name("ovarian cancer")), ("Disease",)),
    Concept("MESH:8", (Name("Cold Temperature"), Name("cold")), ("Phenomenon",)),
    Concept("OMIM:9", (Name("Common Cold"), Name("cold")), ("Disease",)),
    Concept("MESH:10", (Name("Old diabetes"),), replaced_by="MESH:1"),
    Concept("MESH:12", (Name("+/-"), Name("β-carotene")), ()),
)
SENTENCES = (
    ("sugar sickness", "MESH:1"),
    ("type II diabetes", "MESH:3"),
    ("diabetes type 1", "MESH:2"),
    ("renal disease", "MESH:4"),
    ("cold", "OMIM:9"),
    ("cancer of the breast", "MESH:6"),
    ("kidney tumours", "MESH:5"),
    ("the diabetes", "MESH:1"),
)


def document(number: int, said: Sequence[tuple[str, str]]) -> Document:
    """Return a document of some mentions, a sentence each."""
    text, mentions = "", []
    for surface, id in said:
        mentions.append(Mention(len(text), len(text) + len(surface), source="gold", concepts=(id,), types=("Disease",)))
        text += f"{surface}. "
    return Document(f"d{number}", text, mentions=tuple(mentions))


@pytest.fixture(scope="session")
def mesh(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return build(CONCEPTS, tmp_path_factory.mktemp("mesh") / "mesh.kb")


@pytest.fixture(scope="session")
def corpus() -> list[Document]:
    """Thirty documents of three mentions each."""
    count = len(SENTENCES)
    return [document(n, [SENTENCES[(n + step) % count] for step in (0, 1, 3)]) for n in range(30)]
