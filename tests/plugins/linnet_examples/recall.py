"""A joint component: finds the words that training documents mark, and links them as they do."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from linnet import Allow, Candidates, Document, Joint, KnowledgeBase, Mention, Step


@dataclass(kw_only=True)
class Recall(Joint):
    """Knows how often words were which concept; ``signals["times"]`` of a mention says how often it was any."""

    kb: KnowledgeBase
    find: bool = True
    known: dict[str, dict[str, int]] = field(default_factory=dict, init=False)  # words -> concept -> times

    SIGNALS = ("times",)
    USES_DEV = False

    def detect(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Mention]]:
        words = "|".join(map(re.escape, sorted(self.known, key=len, reverse=True))) or "(?!)"
        spans = [[found.span() for found in re.finditer(rf"(?<!\w)(?:{words})(?!\w)", doc.text)] for doc in docs]
        return [[self._link(Mention(*one), doc, allow) for one in own] for doc, own in zip(docs, spans, strict=True)]

    def retrieve(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Candidates]]:
        return [[self._candidates(mention, doc, allow) for mention in doc.mentions or ()] for doc in docs]

    def _link(self, mention: Mention, doc: Document, allow: Allow | None) -> Mention:
        times = float(sum(self.known[doc.surface(mention)].values()))
        found = self._candidates(mention, doc, allow)
        return Mention(mention.start, mention.end, candidates=found, signals={"times": times})

    def _candidates(self, mention: Mention, doc: Document, allow: Allow | None) -> Candidates:
        counts = {self.kb.row(id): n for id, n in self.known.get(doc.surface(mention), {}).items() if id in self.kb}
        allowed = [row for row in counts if allow is None or allow.mask(self.kb, mention.types).array[row]]
        return Candidates.of({row: counts[row] / sum(counts.values()) for row in allowed}, self.kb.version)

    def fit(self, train: Sequence[Document], dev: Any, /, *, before: Any, kb: Any, args: Any) -> Iterator[Step]:
        marked = [(doc.surface(one), one.concepts[0]) for doc in train for one in doc.mentions or () if one.concepts]
        self.known = {words: Counter(id for other, id in marked if other == words) for words, _ in marked}
        yield Step(1, 1)

    def learned_values(self) -> dict[str, Any]:
        return {"known": self.known}

    def restore_values(self, values: Mapping[str, Any]) -> None:
        self.known = dict(values["known"])
