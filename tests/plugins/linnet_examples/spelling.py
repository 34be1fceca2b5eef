"""A generative retriever: spells names letter by letter along a tree of all names, as a decoder does token by token."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from linnet import Allow, Candidates, Document, KnowledgeBase, NetworkComponent, Retriever, Step, made_once


@dataclass(kw_only=True)
class Spelling(NetworkComponent[Counter[str]], Retriever):
    """Its network is a table of pairs of letters; `beams` beginnings of names are kept at each letter."""

    kb: KnowledgeBase
    beams: int = 20

    @made_once
    def tree(self) -> dict[str, dict[str, int]]:
        tree: dict[str, dict[str, int]] = {"": {}}  # beginning of a name -> letters that follow, with the last concept
        for name in self.kb.names():
            for place, letter in enumerate(text := f"{name.text.lower()}\n"):
                tree.setdefault(text[:place], {})[letter] = name.concept
        return tree

    def retrieve(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Candidates]]:
        return [[self._spell(doc.surface(one).lower(), one.types, allow) for one in doc.mentions or ()] for doc in docs]

    def _spell(self, text: str, types: tuple[str, ...], allow: Allow | None) -> Candidates:
        beams, found, mask = {"": 0.0}, dict[int, float](), allow.mask(self.kb, types).array if allow else None
        while beams:
            ends = {self.tree[one]["\n"]: score / len(text) for one, score in beams.items() if "\n" in self.tree[one]}
            found |= {row: max(score, found.get(row, 0.0)) for row, score in ends.items() if mask is None or mask[row]}
            more = [(one + letter, beams[one]) for one in beams for letter in self.tree[one] if letter != "\n"]
            scored = [(score + (one == text[: len(one)]) + self.network[one[-2:]], one) for one, score in more]
            beams = {one: score for score, one in sorted(scored, reverse=True)[: self.beams]}
        return Candidates.of(found, self.kb.version)

    def read_network(self, folder: Path | None) -> Counter[str]:
        return Counter(json.loads((folder / "pairs.json").read_text()) if folder else {})

    def write_network(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "pairs.json").write_text(json.dumps(self.network))

    def learn(self, train: Sequence[Document], dev: object, /, **_: object) -> Iterator[Step]:
        texts = [doc.surface(one).lower() for doc in train for one in doc.mentions or ()]
        self.network.update({text[place : place + 2]: 0.01 for text in texts for place in range(len(text) - 1)})
        yield Step(1, 1)
