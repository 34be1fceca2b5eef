"""The detector of gold spans: linking alone, with mentions given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linnet.data import Document, Mention
from linnet.errors import LeakError
from linnet.pipeline import Allow, Detector

__all__ = ["Gold"]


@dataclass(kw_only=True)
class Gold(Detector):
    """Passes the spans of documents on as mentions (`Document.spans_only`); refuses to see an answer.

    Args:
        types: let the mentions' types through. That is another, easier protocol and is reported in a row of its own.

    Raises:
        LeakError: a mention has concepts, candidates or alternatives (or types, unless asked for).
    """

    types: bool = False

    @property
    def needs(self) -> frozenset[str]:
        """Mentions, and their types if it lets them through."""
        return frozenset({"mentions", "types"} if self.types else {"mentions"})

    def detect(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Mention]]:  # noqa: ARG002
        """Return the given mentions."""
        return [[self._checked(doc, mention) for mention in doc.mentions or ()] for doc in docs]

    def _checked(self, doc: Document, mention: Mention) -> Mention:
        leaks = [
            name
            for name, leaked in (
                ("concepts", mention.concepts is not None),
                ("candidates", mention.candidates is not None),
                ("alternatives", bool(mention.alternatives)),
                ("types", bool(mention.types) and not self.types),
            )
            if leaked
        ]
        if leaks:
            where = f"document {doc.id!r}, mention {mention.start}-{mention.end}"
            raise LeakError(f"{where}: gold {', '.join(leaks)} must not be seen; give doc.spans_only() to the pipeline")
        return mention
