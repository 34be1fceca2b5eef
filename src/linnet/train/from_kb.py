"""Mentions made of a knowledge base alone: names and definitions poured into sentences (GenBioEL: Yuan et al. 2022).

An example says one name of a concept in a context that the knowledge base knows to be true of it, and asks for another
name: its definition, if there is one, else a further synonym. With two names the context is the mention again, with one
all three are the same (their section 2.2 and appendix E.2; the sentences are this project's own). Each name of each
concept is asked for once a pass, so that an epoch is as long as the knowledge base; nothing is written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.data import Document
from linnet.kb import KnowledgeBase
from linnet.text.contexts import InContext

__all__ = ["BY_DEFINITION", "BY_SYNONYM", "FromKb", "KbExample", "definitions"]

BY_DEFINITION = (
    "{name} is defined as {context}",
    "{context} describes {name}",
    "{name}: {context}",
    "{name} means {context}",
    "{context} This is called {name}",
    "by {name} one understands {context}",
)
BY_SYNONYM = (
    "{name} is also called {context}",
    "{context}, also known as {name},",
    "{name} is the same as {context}",
    "{context} is another word for {name}",
    "{name} ({context})",
    "one says {name} or {context}",
)
NAME = "{name}"

Ints = npt.NDArray[np.int64]


class KbExample(NamedTuple):
    """A mention in its context, and the name that is asked for, both of the concept in row `concept`."""

    mention: InContext
    target: str
    concept: int


class FromKb:
    """The examples of a knowledge base; `drawn` numbers those of an epoch, `example` makes one when it is needed.

    Args:
        kb: the knowledge base; retired concepts are left out.
        definitions: share of the examples of concepts with a definition whose context it is; that of the others is a
            synonym.
        by_definition: sentences with ``{name}`` and ``{context}``, one of which is drawn.
        by_synonym: the same for synonyms.

    >>> import linnet, tempfile
    >>> from linnet.data import Concept, Name
    >>> from linnet.kb.build import build
    >>> names = Name("fever"), Name("pyrexia"), Name("hyperthermia")
    >>> path = tempfile.mkdtemp() + "/one.kb"
    >>> _ = build([Concept("X:1", names)], path)
    >>> made = FromKb(linnet.KnowledgeBase.open(path))
    >>> made.example(made.drawn(np.random.default_rng(1))[2])
    KbExample(mention=InContext(left='one says ', text='fever', right=' or pyrexia'), target='hyperthermia', concept=0)
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        *,
        definitions: float = 1.0,
        by_definition: Sequence[str] = BY_DEFINITION,
        by_synonym: Sequence[str] = BY_SYNONYM,
    ) -> None:
        self.kb, self.definitions = kb, definitions
        self.by_definition, self.by_synonym = by_definition, by_synonym
        self.names: list[str] = []
        rows = []
        for name in kb.names():
            self.names.append(name.text)
            rows.append(name.concept)
        self.rows: Ints = np.array(rows, np.int64)  # concepts, (names,)
        self._order = np.argsort(self.rows, kind="stable")
        self._starts = np.searchsorted(self.rows[self._order], np.arange(len(kb) + 1))

    def __len__(self) -> int:
        return len(self.names)

    def drawn(self, rng: np.random.Generator) -> Ints:
        """Return the examples of an epoch, int64 (names, 2): the place of the name asked for, and a seed."""
        return np.stack([np.arange(len(self)), rng.integers(1 << 62, size=len(self))], axis=1)

    def example(self, drawn: Ints) -> KbExample:
        """Return the example of a row of `drawn`: the same for the same row."""
        place = int(drawn[0])
        rng = np.random.default_rng(int(drawn[1]))
        concept = int(self.rows[place])
        own = self._order[self._starts[concept] : self._starts[concept + 1]]
        others = [self.names[other] for other in rng.permutation(own[own != place]).tolist()]
        mention, further = ([*others, self.names[place]])[0], others[1:2]
        definition = self.kb[concept].definition if self.definitions else ""
        if definition and rng.random() < self.definitions:
            templates, context = self.by_definition, definition
        else:
            templates, context = self.by_synonym, (further or [mention])[0]
        template = templates[int(rng.integers(len(templates)))]
        left, right = (side.replace("{context}", context) for side in template.split(NAME))
        return KbExample(InContext(left, mention, right), self.names[place], concept)


def definitions(kb: KnowledgeBase) -> Iterator[Document]:
    """Yield the definition of each live concept that has one as a document, named after the concept.

    >>> import linnet, tempfile
    >>> from linnet.kb.build import build
    >>> fever = linnet.Concept("X:1", (linnet.Name("Fever"),), definition="A body that is too warm.")
    >>> [doc] = definitions(build([fever], tempfile.mkdtemp() + "/one.kb"))
    >>> doc.id, doc.text
    ('X:1', 'A body that is too warm.')
    """
    for row, definition in kb.definitions():
        yield Document(kb.id(row), definition)
