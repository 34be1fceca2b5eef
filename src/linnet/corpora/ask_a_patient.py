r"""AskAPatient: phrases of patients with the concept they mean, one a line, in ten folds.

::

    22253000   pain   aching all over        SNOMED CT or AMT, name of the concept, phrase, with tabs between

Files are Latin-1. A phrase is a document of its own, with one mention that is all of it; its id tells file and line,
so that the documents of all folds can be put together. The name of the concept stays in the meta of the mention. Ids
that are no numbers are the Australian Medicines Terminology's own, and get the prefix AMT.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from linnet.corpora.separated import rows
from linnet.data import Document, Mention
from linnet.errors import FormatError
from linnet.text.files import shown

__all__ = ["read"]


def read(path: str | Path) -> Iterator[Document]:
    """Yield a document for each line of a file.

    Raises:
        FormatError: a line of another form, with its number.
    """
    stem = Path(path).name.removesuffix(".gz").removesuffix(".txt")
    for line, cells in rows(path, columns=3, encoding="latin-1"):
        id, name, text = (cell.strip() for cell in cells[:3])
        if len(cells) != 3 or not (id and text):
            problem = "expected an id, the name of a concept and a phrase, with tabs between"
            raise FormatError(shown(path), f"{problem}; found {cells}", line=line)
        concept = f"SNOMEDCT:{id}" if id.isascii() and id.isdecimal() else f"AMT:{id}"
        mention = Mention(0, len(text), source="gold", concepts=(concept,), meta={"name": name})
        yield Document(f"{stem}:{line}", text, mentions=(mention,))
