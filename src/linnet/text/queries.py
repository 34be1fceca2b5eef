"""What a mention asks for: its text, with an abbreviation of the document written out."""

from __future__ import annotations

from linnet.data import Document
from linnet.text.short_forms import ShortForms

__all__ = ["query_texts"]


def query_texts(doc: Document) -> list[str]:
    """Return for every mention its surface, or the long form if the document defines the surface as an abbreviation.

    Which definition holds, and what counts as the same short form, says `linnet.text.short_forms`.

    >>> from linnet.data import Abbreviation, Mention, Span
    >>> doc = Document("n", "Atrial septal defect (ASD). The ASD closed.", mentions=(Mention(32, 35),),
    ...                abbreviations=(Abbreviation(Span(22, 25), Span(0, 20)),))
    >>> query_texts(doc)
    ['Atrial septal defect']
    """
    mentions = doc.mentions or ()
    forms = ShortForms.of(doc)
    if not forms:
        return [doc.surface(mention) for mention in mentions]
    borders = [sentence.start for sentence in doc.sentences or ()]
    texts = []
    for mention in mentions:
        whole = not mention.parts
        long = forms.meaning(doc.text, mention.start, mention.end, borders=borders) if whole else None
        texts.append(doc.surface(mention) if long is None else long)
    return texts
