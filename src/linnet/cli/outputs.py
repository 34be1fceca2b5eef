"""Outputs of ``linnet link``: a file, a folder, standard output, a table, an HTML page."""

from __future__ import annotations

import itertools
import json
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linnet import __version__
from linnet.cli.common import say_lost, table
from linnet.cli.terminal import say
from linnet.cli.written import remember
from linnet.corpora import FORMATS, check_place, fitting, write_beside, writer_options_of
from linnet.corpora.said import said
from linnet.data import Document
from linnet.errors import LinnetError
from linnet.frozen import EMPTY
from linnet.kb import KnowledgeBase
from linnet.pipeline import Pipeline
from linnet.recipes.linking import NOTICE
from linnet.text.files import STDIO, replacing

if TYPE_CHECKING:
    from linnet.kb.terminologies import Terminologies
    from linnet.scale.resumable import Unfinished

__all__ = ["JOB_MADE_BY", "MADE_BY", "Outputs", "made_by", "maker_of", "names_maker", "note_sources", "writer_options"]

CHANGING = ("gsc", "pubtator")  # formats that change texts and spans; the writer of CoNLL tells what it loses itself
# What a pipeline adds to its answers, which nobody expects there, and what the writer of GSC+ tells itself.
EXPECTED = frozenset(
    {"abbreviations", "candidates", "groups", "mention ids", "mentions not linked", "NIL mentions", "probabilities"}
    | {"passages", "sentences", "signals", "sources other than gold", "terminologies"}
)
WIDTH = 46  # of the table's column for text
MADE_BY = "made_by"  # the option of writers that name the pipeline
JOB_MADE_BY = "made by"  # the same in the manifest of a job


def writer_options(format: str | None, texts: Sequence[str] | None) -> dict[str, Any]:
    """Return the options of a format's writer out of ``KEY=VALUE``."""
    if not texts:
        return {}
    if format is None:
        raise LinnetError(f"--to-option {texts[0]} is for a file: name one with -o, or a format with --to")
    from linnet.vocabularies.options import given_value  # noqa: PLC0415 - few commands have any

    known = writer_options_of(format)
    pairs = [text.partition("=") for text in texts]
    return {key: given_value(f"the writer of {format}", known, key, value) for key, _, value in pairs}


@dataclass(frozen=True)
class Outputs:
    """The outputs of linked documents.

    Args:
        path: a file, or a folder if the format is one; ``-`` is standard output.
        format: one of `linnet.corpora.FORMATS`; without one a table goes to standard output.
        page: a file for a page to read.
        options: what the writer of the format is told.

    Raises:
        LinnetError: a format that is not written, or a place that it cannot be written to.
    """

    path: str
    format: str | None
    page: Path | None = None
    options: Mapping[str, Any] = EMPTY
    lost: Counter[str] = field(default_factory=Counter, init=False)

    def __post_init__(self) -> None:
        if self.format:
            check_place(self.path, self.format)

    @property
    def lasting(self) -> Path | None:
        """What finished documents can be kept beside: a file or a folder; none with standard output or a device."""
        named = [Path(path) for path in (self.path, self.page) if path is not None and str(path) != STDIO]
        return next((path for path in named if path.is_file() or path.is_dir() or not path.exists()), None)

    @property
    def kept_as(self) -> str:
        """The format that finished documents are kept in: that of the output, if it grows and no page needs them."""
        grows = self.format is not None and FORMATS[self.format].grows and not self.options
        return self.format if self.format and grows and self.page is None else "jsonl"

    def write(self, docs: Iterable[Document], linker: Pipeline, *, aside: Path | None = None) -> None:
        """Write documents to all places.

        Args:
            docs: linked by `linker`.
            linker: says what made them.
            aside: what the output is written to, on the same disk, until it is complete.
        """
        if self.page is not None:
            from linnet.scale.resumable import Unfinished  # noqa: PLC0415 - a table on the terminal keeps nothing

            kept = docs if isinstance(docs, Unfinished) else list(docs)  # two outputs from one pass
            self._write_page(kept, linker)
            docs = kept
        if self.format:
            counted, options = self._count_losses(docs), self._told(self.format, linker)
            write_beside(counted, self.path, format=self.format, kb=linker.concepts, aside=aside, options=options)
            remember(self.path)
            self._say_lost()
        else:
            show(docs, linker.concepts)

    def write_kept(self, kept: Unfinished, new: Iterable[Document], linker: Pipeline) -> None:
        """Write to all places what is finished, and what is `new` and kept while it is taken."""
        from linnet.scale.resumable import to_disk  # noqa: PLC0415 - a table on the terminal keeps nothing

        if self.page is None and self.format != kept.format:
            self.write(itertools.chain(kept, new), linker, aside=kept.aside)
        else:
            whole = self.format == kept.format and kept.output == Path(self.path)
            deque(self._count_losses(new) if whole else new, maxlen=0)
            if not whole:
                self.write(kept, linker, aside=kept.aside)
            else:
                if self.page is not None:
                    self._write_page(kept, linker)
                kept.become_output()
                remember(self.path)
                self._say_lost()
        to_disk(*(path for path in (self.path, self.page) if path is not None))

    def _told(self, format: str, linker: Pipeline) -> Mapping[str, Any]:
        """Return what the writer is told: the options, and which pipeline it is where it asks for that."""
        return {MADE_BY: made_by(linker), **self.options} if names_maker(format, self.options) else self.options

    def _count_losses(self, docs: Iterable[Document]) -> Iterator[Document]:
        """Yield documents, and count what the format changes in them or drops."""
        for doc in docs:
            if self.format in CHANGING:
                deque(fitting([doc], self.format, self.lost), maxlen=0)
            yield doc

    def _say_lost(self) -> None:
        say_lost({kind: count for kind, count in self.lost.items() if kind not in EXPECTED}, str(self.format))

    def _write_page(self, docs: Sequence[Document] | Unfinished, linker: Pipeline) -> None:
        from linnet.corpora.html import write_html  # noqa: PLC0415 - a table on the terminal needs none

        title = next(iter(docs)).id if len(docs) == 1 else f"{len(docs)} documents"
        made_by = f"Pipeline: {linker.name} ({linker!r}), Linnet {__version__}"
        with replacing(self.page or STDIO) as page:
            write_html(docs, page, kb=linker.concepts, title=title, notice=[made_by])
        remember(self.page)  # at once: if the other output fails, the next run may replace this one


def names_maker(format: str, options: Mapping[str, Any]) -> bool:
    """Return whether a format names the pipeline that found the mentions, and the options of its writer do not."""
    # asked first: it refuses what is no format
    return MADE_BY in writer_options_of(format) and FORMATS[format].read is None and MADE_BY not in options


def maker_of(source: str) -> str:
    """Return what made the shards of a job, its folder or one of them, as its manifest says; else nothing."""
    path = Path(source)
    folder = path.parent if path.name.startswith("shard-") else path
    try:
        return str(json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["made of"][JOB_MADE_BY])
    except (OSError, ValueError, RecursionError, KeyError, TypeError):  # there is none, or it is another's
        return ""


def note_sources(docs: Iterable[Document], sources: set[str]) -> Iterator[Document]:
    """Yield documents, and put into `sources` who made their mentions: ``gold``, ``user``, ``pred``."""
    for doc in docs:
        sources.update(mention.source for mention in doc.mentions or ())
        yield doc


def made_by(linker: Pipeline) -> str:
    """Return the pipeline's name, and name and release of the knowledge bases that it links to."""
    kb, name = linker.concepts, Path(linker.name).name  # of a file or folder, no more
    if kb is None:
        return name
    return ", ".join([name, *map(_release, [kb] if isinstance(kb, KnowledgeBase) else kb.kbs.values())])


def _release(kb: KnowledgeBase) -> str:
    releases = [release for source in json.loads(kb.info["sources"]) if (release := source.get("release"))]
    return " ".join([kb.info["name"], kb.info["version"], *releases])


# --- the table -------------------------------------------------------------------------------------------------------


def show(docs: Iterable[Document], kb: KnowledgeBase | Terminologies | None) -> None:
    """Print the linked mentions of each document as a table.

    It has a column for several terminologies, one for names if there is a knowledge base (that of a server need not be
    here), and one for assertions where anything has been said of them.
    """
    starred = blunt = False
    several = not isinstance(kb, KnowledgeBase)
    for doc in docs:
        told = any(mention.assertion for mention in doc.mentions or ())
        sides = several and any(mention.terminology for mention in doc.mentions or ())
        named = kb is not None
        shown = {"text": True, "terminology": sides, "assertion": told, "concept": True, "name": named}
        columns = [*(name for name, wanted in shown.items() if wanted), "probability"]
        rows = [[row[name] for name in columns] for row in _rows(doc, kb)]
        if not rows:
            say(f"{doc.id}: no concepts found")
            continue
        table(doc.id, columns, rows, right=(len(columns) - 1,))
        starred |= any(row[-1].endswith("*") for row in rows)
        blunt |= not told
    if blunt:
        print(NOTICE)
    if starred:
        print("Probabilities marked * are uncalibrated: they rank answers but are not frequencies.")


def _rows(doc: Document, kb: KnowledgeBase | Terminologies | None) -> Iterator[dict[str, str]]:
    for mention in doc.mentions or ():
        surface = " ".join(doc.surface(mention).split())
        surface = surface if len(surface) <= WIDTH else f"{surface[: WIDTH - 1]}…"
        probability = "" if mention.probability is None else f"{mention.probability:.2f}"
        mark = "" if mention.calibration or mention.probability is None else "*"
        none = "(not linked)" if mention.concepts is None else "NIL"
        for id in mention.concepts or (none,):
            yield {
                "text": surface,
                "terminology": mention.terminology,
                "assertion": said(mention),
                "concept": id,
                "name": kb[kb.row(id)].name if kb is not None and id in kb else "",
                "probability": probability + mark,
            }
