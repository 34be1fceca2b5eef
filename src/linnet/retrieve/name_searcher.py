"""The base of components that compare the vectors of mentions with those of names: made, kept, searched, saved."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt

from linnet.data import Candidates, Document, Mention
from linnet.index.flat import Flat, Found
from linnet.index.name_vectors import NameVectorsFile, SearchedNames
from linnet.kb import KbName, KnowledgeBase, Mask
from linnet.pipeline.aliases import Aliases
from linnet.pipeline.learner import made_once
from linnet.reporter import warn
from linnet.text.templates import Templates
from linnet.train.network import NetworkComponent

__all__ = ["ALIASES", "VECTORS", "NameSearcher", "with_margins"]

Floats = npt.NDArray[np.float32]
Network = TypeVar("Network")

NO_NAME = -1  # the name row of an alias
ALIASES = "aliases.jsonl"
VECTORS = "names.vectors"  # in a trained folder


class NameSearcher(NetworkComponent[Network]):
    """A component whose network has an encoder of names, ``network.entity``, pooled by ``network.name_pool``.

    Networks give the vectors of texts with ``encode_names``. It searches those of all names of its knowledge base, and
    of the training aliases that it learned.

    Attributes:
        kb: the knowledge base.
        name_pooling, names, definitions, markers, name_tokens: how names become vectors.
        aliases: surfaces of training mentions are names too; they have the name row -1.
        index: how names are searched.
        learned: the aliases.
    """

    kb: KnowledgeBase
    name_pooling: Literal["cls", "mean", "span"]
    names: Literal["all", "preferred"]
    definitions: bool = False
    markers: bool = False
    name_tokens: int
    aliases: bool
    index: Literal["auto", "flat", "hnsw", "ivf"]
    learned: Aliases

    KEPT = frozenset({"network"})

    @property
    def templates(self) -> Templates:
        """How texts become tokens, a `linnet.text.templates.Templates`."""
        return Templates(tokens=self.name_tokens, name_tokens=self.name_tokens, markers=self.markers)

    # --- vectors -----------------------------------------------------------------------------------------------------

    @made_once
    def names_index(self) -> SearchedNames:
        """The vectors of all names, opened or made at first use.

        Those of a trained folder stand in it, others beside the knowledge base; they are made where neither holds them
        for these weights, options and version.
        """
        trained = [self.folder.with_name(VECTORS)] if self.folder is not None else []
        return self.names_file.searched(self.index, *trained)

    @property
    def names_file(self) -> NameVectorsFile:
        """The file of the vectors of all names beside the knowledge base, by the network as it is."""
        network: Any = self.network
        entity = network.entity
        key = {
            "encoder": entity.fingerprint(), "pooling": self.name_pooling, "names": self.names,
            "definitions": self.definitions, "markers": self.markers, "name_tokens": self.name_tokens,
        }  # fmt: skip

        def encode(names: Sequence[KbName]) -> tuple[Floats, int]:
            descriptions = [self.kb[name.concept].definition for name in names] if self.definitions else None
            return self.encode_cut_names([name.text for name in names], descriptions)

        preferred = self.names == "preferred"
        return NameVectorsFile(self.kb, key, encode, size=entity.size, tokens=self.name_tokens, preferred=preferred)

    @made_once
    def alias_vectors(self) -> Floats:
        """The vectors of all aliases, also of those that are left out."""
        return self.encode_names([text for text, _ in self.learned.keys])

    @made_once
    def alias_index(self) -> Flat:
        """The aliases that are not left out, as names."""
        used = np.flatnonzero(self.learned.totals > 0)
        return Flat(self.alias_vectors[used], np.array([row for _, row in self.learned.keys], np.int32)[used])

    def encode_names(self, names: Sequence[str], descriptions: Sequence[str] | None = None) -> Floats:
        """Return the vectors of names, float32 (names, d) of length 1."""
        vectors, cut = self.encode_cut_names(names, descriptions)
        self.warn_of_cut(cut, "names", self.name_tokens)
        return vectors

    def encode_cut_names(self, names: Sequence[str], descriptions: Sequence[str] | None = None) -> tuple[Floats, int]:
        """Return the vectors of names, and how many names are longer than the window; for many that are told once."""
        module: Any = self.network
        texts, cut = self.templates.names(names, module.entity, descriptions)
        return module.encode_names(texts), cut

    @staticmethod
    def warn_of_cut(count: int, what: str, tokens: int) -> None:
        """Say how many texts were too long to be compared in full."""
        if count:
            warn(f"{count:,} {what} are longer than {tokens} word pieces: only their ends were compared")

    # --- looking up --------------------------------------------------------------------------------------------------

    def search(self, vectors: Floats, k: int, masks: Sequence[Mask | None] | None = None) -> list[Candidates]:
        """Return the nearest concepts of vectors of mentions (mentions, d), by names and by aliases.

        Nothing is near a vector of zeros, that of a mention without word pieces: it has no candidates.
        """
        names = self.names_index.search(vectors, k, masks)
        version = self.kb.version
        if self.aliases and len(self.learned):
            by_alias = self.alias_index.search(vectors, k, masks)
            found = [_merged(ours, theirs, k, version) for ours, theirs in zip(names, by_alias, strict=True)]
        else:
            found = [Candidates(one.rows, one.scores, names=one.names, kb=version) for one in names]
        nothing = Candidates.none(version)
        return [one if vector.any() else nothing for one, vector in zip(found, vectors, strict=True)]

    # --- learning and keeping ----------------------------------------------------------------------------------------

    def show(self, vectors: SearchedNames) -> None:
        """Take these vectors for those of all names; those of aliases are made again."""
        self.hide()
        self.names_index = vectors

    def hide(self) -> None:
        """Forget the vectors of names and aliases, which are made again where they are needed."""
        self.forget("names_index", "alias_vectors", "alias_index")

    def with_network(self, other: Self) -> Self:
        """Return the same component with what another one's training made of the network."""
        made = copy.copy(self)
        made.folder, made.trained = other.folder, other.trained
        made.share(other, "network", "names_index")
        return made

    def without(self, documents: Iterable[str]) -> Self:
        """Return the same component without the aliases that these documents (ids) gave it: for cross-fitting.

        Its network has seen them all the same; `with_network` puts another in its place.
        """
        fewer = copy.copy(self)
        fewer.learned = self.learned.without(documents)
        fewer.share(self, "network", "names_index", *(["alias_vectors"] if len(self.learned) else []))
        return fewer

    def rebound(self, kb: KnowledgeBase) -> Self:
        """Return the same component on the edited knowledge base `kb`, with what it learned."""
        made = super().rebound(kb)
        made.learned = self.learned.rebound(kb)
        if [text for text, _ in made.learned.keys] == [text for text, _ in self.learned.keys]:
            made.made.update({name: value for name, value in self.made.items() if name == "alias_vectors"})
        return made

    @property
    def worth_saving(self) -> bool:
        """Whether there is a network to save: the pre-trained one too, if it was used."""
        return self.has_learned or "network" in self.made

    def save(self, folder: Path) -> None:
        """Write the component; if it was trained the network, the vectors of all names, and the aliases.

        After a stage that learned from names alone they are written only if they were made, as another may follow.
        """
        super().save(folder)
        if self.worth_saving and ("names_index" in self.made or not self.learned_names_alone):
            self._shown().save(folder / VECTORS)
        if len(self.learned):
            self.learned.save(folder / ALIASES, self.kb)

    @made_once
    def by_graph(self) -> Self:
        """The same component as ONNX Runtime runs it, with the vectors of all names."""
        ready = copy.copy(self)
        network: Any = self.network
        ready.network = network.as_graph()
        ready.show(ready.names_file.in_memory())
        return ready

    def write_graphs(self, folder: Path) -> None:
        """Write what ONNX Runtime runs into a folder."""
        network: Any = self.network
        (network if network.is_graph else self.by_graph.network).save(folder)

    def _shown(self) -> SearchedNames:
        """Return the vectors of all names by what runs the network when it is loaded."""
        network: Any = self.network
        return self.by_graph.names_index if self.backend == "onnx" and not network.is_graph else self.names_index

    @property
    def index_files(self) -> list[Path]:
        """The files beside the knowledge base that the names are searched in."""
        return self.names_file.files

    @classmethod
    def load(cls, folder: Path, *, kb: KnowledgeBase | None = None, partly: bool = False) -> Self:
        """Return the component that `save` wrote; with `partly` without aliases of concepts that `kb` lacks."""
        loaded = super().load(folder, kb=kb, partly=partly)
        if (folder / ALIASES).exists():
            loaded.learned = Aliases.load(folder / ALIASES, loaded.kb, partly=partly)
        return loaded


def _merged(names: Found, aliases: Found, k: int, version: str) -> Candidates:
    """Return the best concepts of those found by names and those found by aliases, a name before an equal alias."""
    rows = np.concatenate([names.rows, aliases.rows])
    scores = np.concatenate([names.scores, aliases.scores])
    which = np.concatenate([names.names, np.full(len(aliases.rows), NO_NAME, np.int32)])
    order = np.lexsort((rows, -scores))  # stable: of a concept's two entries with one score the name comes first
    _, firsts = np.unique(rows[order], return_index=True)
    kept = order[np.sort(firsts)][:k]
    return Candidates(rows[kept], scores[kept], names=which[kept], kb=version)


def with_margins(doc: Document) -> Document:
    """Return a document whose mentions have the first score less the second as ``signals["margin"]``."""
    return replace(doc, mentions=tuple(_with_margin(mention) for mention in doc.mentions or ()))


def _with_margin(mention: Mention) -> Mention:
    scores = mention.candidates.scores if mention.candidates is not None else np.empty(0, np.float32)
    if len(scores) < 2:
        return mention
    return replace(mention, signals={**mention.signals, "margin": float(scores[0] - scores[1])})
