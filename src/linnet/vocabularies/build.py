"""From source files to a knowledge base, with their provenance; several sources are joined."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from linnet.data import Concept
from linnet.errors import KnowledgeBaseError, LinnetError
from linnet.frozen import EMPTY
from linnet.kb import KnowledgeBase, kb_path
from linnet.kb.build import build as build_kb
from linnet.reporter import warn
from linnet.text.files import STDIO
from linnet.vocabularies import VOCABULARIES, read_vocabulary, reader_of
from linnet.vocabularies.hpo import hpo_path
from linnet.vocabularies.join import JoinReport, join
from linnet.vocabularies.obo import read_obo_header
from linnet.vocabularies.options import given_value, options_of
from linnet.vocabularies.published import PUBLISHED

__all__ = ["Source", "build", "build_from", "target"]

# people's own lists, whose retired concepts are kept whole; what a release holds of obsolete ones is in the release
OWN = (["table"], ["concepts"])


@dataclass(frozen=True)
class Source:
    """One source of concepts: the vocabulary that reads it, its file (None for ``hpo``), and the reader's options.

    ``about`` is more for the provenance: where the file was fetched, a corpus' licence.
    """

    vocabulary: str
    path: Path | None = None
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    about: Mapping[str, str] = field(default_factory=lambda: EMPTY)

    @classmethod
    def of(cls, table: Mapping[str, object], folder: Path) -> Source:
        """Return the source that a table of a recipe describes: ``from``, ``path``, and the reader's options.

        Args:
            table: what TOML makes of ``{from = "table", path = "kb/mesh.tsv.gz", prefix = "MESH"}``.
            folder: where its relative paths begin.

        Raises:
            LinnetError: no ``from``, an unknown format or option, or a value that it cannot take.

        >>> source = Source.of({"from": "ctd", "path": "ctd.tsv", "slim": True}, Path("kb"))
        >>> source.vocabulary, source.path.as_posix(), source.options["slim"]
        ('ctd', 'kb/ctd.tsv', True)
        """
        name, path = table.get("from"), table.get("path")
        if not isinstance(name, str) or not isinstance(path, str | None):
            raise LinnetError(f'{dict(table)!r:.80}: expected {{from = "a format", path = "a file"}} and options')
        known = options_of(name)
        options = {
            key: given_value(name, known, key, value, folder=folder)
            for key, value in table.items()
            if key not in ("from", "path")
        }
        if path is None:
            return cls(name, None, options)
        place = folder / path
        # a corpus may be one known by name: bc5cdr:train
        return cls(name, Path(path) if name == "corpus" and not place.exists() else place, options)

    def concepts(self) -> Iterator[Concept]:
        """Yield the concepts of the source."""
        return read_vocabulary(self.vocabulary, self.path, **self.options)

    def provenance(self) -> dict[str, str]:
        """Return what a knowledge base keeps of where it came from: vocabulary, file, sha256, options, release, …."""
        path = hpo_path() if self.path is None and self.vocabulary == "hpo" else self.path
        found = {"vocabulary": self.vocabulary}
        if path is not None and path.is_dir():
            found |= {"folder": path.name}
        elif path is not None and path.is_file():
            with path.open("rb") as file:
                found |= {"file": path.name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
        elif path is not None and str(path) != STDIO:
            found |= {"name": str(path)}
        if self.options:
            found |= {"options": " ".join(f"{key}={_shown(value)}" for key, value in self.options.items())}
        if path is not None and self.vocabulary in ("hpo", "obo"):
            found |= {"release": read_obo_header(path).get("data-version", "")}
        if self.vocabulary == "hpo":
            found |= {"citation": PUBLISHED["hpo"].citation, "licence": PUBLISHED["hpo"].licence}
        return found | dict(self.about)


def _shown(value: object) -> str:
    if isinstance(value, Path):
        return value.name  # folders differ between machines
    if isinstance(value, Mapping):
        return ",".join(f"{key}={item}" for key, item in value.items())
    return ",".join(map(str, value)) if isinstance(value, (list, tuple, set, frozenset)) else str(value)


def target(name: str, *, replace: bool, hpo: bool = False) -> Path:
    """Return the file to make under a name or path; `hpo` says that it may take the HPO's name.

    Raises:
        LinnetError: the HPO's name for something else, or a knowledge base with edits is there and not to be replaced.
    """
    if name == "hpo" and not hpo:
        raise LinnetError("the name hpo is the Human Phenotype Ontology's: give your knowledge base another with -o")
    path = kb_path(name)
    if replace or not path.is_file():
        return path
    try:
        edits = KnowledgeBase.open(path).history[1:]
    except KnowledgeBaseError:
        return path  # another file is refused later, and a damaged knowledge base is well replaced
    if edits:
        last = f"{edits[-1]['at']}, {edits[-1]['action']}"
        raise LinnetError(
            f"{path} has been edited since it was built ({len(edits):,} times, last {last}): give another name "
            "with -o, or --replace to lose these edits"
        )
    return path


def build(
    source: Iterable[Concept] | Iterable[str | Path] | str | Path,
    path: str | Path,
    *,
    format: str | None = None,
    name: str = "",
    options: Mapping[str, Any] = EMPTY,
    progress: Callable[[int], None] | None = None,
) -> KnowledgeBase:
    r"""Build a knowledge base and open it.

    Args:
        source: concepts, which are not held in memory; or a file, or several, which are joined.
        path: the file to make, or a name under LINNET_HOME; an existing knowledge base is replaced at the end.
        format: what the files are, one of `linnet.vocabularies.VOCABULARIES`. Those of several formats are joined by
            `build_from`.
        name: what to call it; the file's stem by default.
        options: keywords of the reader of `format`.
        progress: called with the number of concepts read so far.

    Raises:
        LinnetError: files without a format, or an unknown one.
        FormatError: a file that cannot be read.
        KnowledgeBaseError: concepts that cannot be kept, for example two of one id.

    >>> import tempfile
    >>> from linnet.data import Name
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kb = build([Concept("HP:0001250", (Name("Seizure"), Name("Fits")))], f"{folder}/small.kb")
    ...     table = Path(folder, "more.tsv")
    ...     _ = table.write_text("id\tname\n17\tCoughing\n")
    ...     more = build(table, f"{folder}/more.kb", format="table", options={"prefix": "MINE"})
    ...     kb.search("fits")[0].id, more.search("coughing")[0].id
    ('HP:0001250', 'MINE:17')
    """
    items = iter([source] if isinstance(source, (str, Path)) else source)
    if format is not None:
        reader_of(format)
        return build_from(
            [Source(format, Path(str(one)), options) for one in items], kb_path(path), name=name, progress=progress
        )
    first = next(items, None)
    if isinstance(first, (str, Path)):
        raise LinnetError(f"{first}: say what it is with format=, one of {', '.join(VOCABULARIES)}")
    concepts = itertools.chain(() if first is None else (first,), items)
    return build_kb(cast("Iterator[Concept]", concepts), kb_path(path), name=name, progress=progress)


def build_from(
    sources: Sequence[Source],
    path: str | Path,
    *,
    name: str = "",
    by_xref: bool = True,
    report: JoinReport | None = None,
    progress: Callable[[int], None] | None = None,
) -> KnowledgeBase:
    """Build the knowledge base `path` from one or more sources; several are joined (`linnet.vocabularies.join`).

    The concepts of one source pass through. Those of several are first read to a temporary file, and the outcome of
    joining stands last in the sources of the knowledge base.

    Args:
        sources: the one whose ids and preferred names should win first.
        path: the file to make.
        name: what to call it; the file's stem by default.
        by_xref: join by cross-reference too, and not by id alone.
        report: gets the counts of joining; without one, conflicts are told in a LinnetWarning.
        progress: called with the number of concepts read and, of joined ones, written so far.

    Raises:
        FormatError: a source cannot be read.
        KnowledgeBaseError: its concepts cannot be kept, for example an id that one source holds twice.
    """
    # every source is begun before its provenance is taken, so that a missing file is reported by its reader
    begun = [_begun(source.concepts()) for source in sources]
    provenance = [source.provenance() for source in sources]
    if len(begun) < 2:
        whole = [source.vocabulary for source in sources] in OWN
        one = itertools.chain(*begun)
        return build_kb(one, path, name=name, sources=provenance, whole_retired=whole, progress=progress)
    told = JoinReport() if report is None else report
    concepts = _joined(_counted(begun, progress), provenance, told, by_xref=by_xref)

    def written(count: int) -> None:
        if progress:
            progress(sum(told.read) + count)

    made = build_kb(concepts, path, name=name, sources=provenance, progress=written)
    if report is None and told.conflicts():
        warn("; ".join(told.conflicts()))
    return made


def _begun(concepts: Iterator[Concept]) -> Iterator[Concept]:
    return itertools.chain(list(itertools.islice(concepts, 1)), concepts)


def _counted(sources: Iterable[Iterator[Concept]], progress: Callable[[int], None] | None) -> list[Iterator[Concept]]:
    """Return the same streams; `progress` is told how many came out of all of them, every few thousand."""
    count = itertools.count(1)

    def told(concepts: Iterator[Concept]) -> Iterator[Concept]:
        for concept, number in zip(concepts, count, strict=False):
            if progress and number % 5000 == 0:
                progress(number)
            yield concept

    return [told(source) for source in sources]


def _joined(
    sources: Sequence[Iterator[Concept]], provenance: list[dict[str, str]], report: JoinReport, *, by_xref: bool
) -> Iterator[Concept]:
    """Yield the concepts of all sources as one; at the end the provenance gets what joining them did."""
    yield from join(sources, by_xref=by_xref, report=report)
    counts = {
        "vocabulary": "joined",
        "by": "id, retired id, cross-reference" if by_xref else "id, retired id",
        "read": " + ".join(map(str, report.read)),
        "concepts": str(report.concepts),
        "same by id": str(report.by_id),
        "same by retired id": str(report.by_retired),
        "same by cross-reference": str(report.by_xref),
    }
    conflicts = report.conflicts()
    provenance.append(counts | ({"conflicts": "; ".join(conflicts)} if conflicts else {}))
