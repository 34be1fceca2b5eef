"""What a retriever asks for: the text of a mention, with an abbreviation of the document written out."""

from __future__ import annotations

from linnet.data import Document

__all__ = ["query_texts"]


def query_texts(doc: Document) -> list[str]:
    """Return for every mention its surface, or the long form if the document defines the surface as an abbreviation.

    >>> from linnet.data import Abbreviation, Mention, Span
    >>> doc = Document("n", "Atrial septal defect (ASD). The ASD closed.", mentions=(Mention(32, 35),),
    ...                abbreviations=(Abbreviation(Span(22, 25), Span(0, 20)),))
    >>> query_texts(doc)
    ['Atrial septal defect']
    """
    long_forms = {doc.text[slice(*short)]: doc.text[slice(*long)] for short, long in doc.abbreviations or ()}
    surfaces = [doc.surface(mention) for mention in doc.mentions or ()]
    return [long_forms.get(surface, surface) for surface in surfaces]
