"""``linnet kb build``: from the files of terminologies to a knowledge base."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace as with_changes
from pathlib import Path
from typing import Annotated, Any

import typer

from linnet.cli.common import Quiet, Verbose, counter, file_size, listen
from linnet.cli.kb_download import download_sources
from linnet.cli.terminal import say
from linnet.corpora.catalog import corpus_named
from linnet.corpora.vocabulary import known_corpus
from linnet.detect.name_search import Search
from linnet.detect.name_table import NameTable
from linnet.errors import LinnetError, did_you_mean
from linnet.frozen import EMPTY
from linnet.kb import KnowledgeBase
from linnet.kb.tables import shared_names, short_names
from linnet.text.known_forms import clinical
from linnet.vocabularies import UNTESTED, VOCABULARIES, reader_of
from linnet.vocabularies.build import Source, build_from, target
from linnet.vocabularies.join import JoinReport
from linnet.vocabularies.options import given_value, options_of
from linnet.vocabularies.published import PUBLISHED

__all__ = ["FromOption", "ReaderOption", "ReplaceOption", "build", "finish", "read_sources"]

SHOWN = 5  # names, and ids of a name

FilesArgument = Annotated[
    list[Path] | None, typer.Argument(help="Source files or folders; a corpus also by name; none for hpo.")
]
FromOption = Annotated[
    list[str] | None,
    typer.Option(
        "--from",
        help=f"Format of the files: {', '.join(VOCABULARIES)}; one for all or one per file. "
        f"Untested on published files: {', '.join(f'{name} ({what})' for name, what in UNTESTED.items())}.",
    ),
]
ReaderOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        help="Reader option, such as subset=st21pv; for one format or only the second file: ctd:slim=true, "
        "2:prefix=MESH; repeatable.",
    ),
]
ColumnOption = Annotated[
    list[str] | None, typer.Option("--column", help="Header of a table column: synonyms=Synonyms; repeatable.")
]
DownloadOption = Annotated[
    bool, typer.Option("--download", help=f"Download what --from names: {', '.join(PUBLISHED)}.")
]
UrlOption = Annotated[list[str] | None, typer.Option("--url", help="With --download: another address; one per file.")]
ShaOption = Annotated[
    list[str] | None, typer.Option("--sha256", help="With --download: the expected checksum; one per file.")
]
ReplaceOption = Annotated[
    bool, typer.Option("--replace", help="Replace the knowledge base even if it was edited; its edits are lost.")
]
XrefOption = Annotated[
    bool, typer.Option("--xref/--no-xref", help="Join several files by cross-reference and id, or by id alone.")
]


def build(
    files: FilesArgument = None,
    vocabulary: FromOption = None,
    output: Annotated[str | None, typer.Option("--output", "-o", help="File, or a name under LINNET_HOME.")] = None,
    options: ReaderOption = None,
    separator: Annotated[str, typer.Option(help="Separator of values in one table cell.")] = "|",
    prefix: Annotated[str, typer.Option(help="Prefix for table ids that have none, such as MESH.")] = "",
    columns: ColumnOption = None,
    download: DownloadOption = False,
    urls: UrlOption = None,
    sha256: ShaOption = None,
    xref: XrefOption = True,
    replace: ReplaceOption = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Build a knowledge base from files of one or several terminologies, or fetch a free one with --download.

    A table has the columns id, name, and any of synonyms, types, definition, parents, xrefs, replaced_by (- for no
    successor), retired, language, scope; several values in a cell are separated by |. Several files are joined by id
    and cross-reference; of concepts that several hold, the first file's id and preferred name stay.
    """
    listen(quiet=quiet, verbose=verbose)
    if (urls or sha256) and not download:
        raise LinnetError("--url and --sha256 need --download")
    of_tables = _table_options(prefix, separator, columns or [])
    if download:
        fetched = download_sources(vocabulary or [], files or [], urls=urls or [], sha256=sha256 or [], quiet=quiet)
        sources = _with_options(fetched, of_tables, options or [])
    else:
        sources = read_sources(files or [], vocabulary or [], options=options or [], of_tables=of_tables)
    named = vocabulary[0] if vocabulary and len(set(vocabulary)) == 1 and (download or sources[0].path is None) else ""
    name = output or named
    if not name:
        raise LinnetError("name the output: -o NAME (under LINNET_HOME) or -o FILE.kb")
    path = target(name, replace=replace, hpo=all(source.vocabulary in ("hpo", "obo") for source in sources))
    started, report = time.perf_counter(), JoinReport()
    with counter("concepts", quiet=quiet) as count:
        kb = build_from(sources, path, by_xref=xref, report=report, progress=count)
    if report.read and not quiet:
        say(str(report))
    finish(kb, started, quiet=quiet)


def finish(kb: KnowledgeBase, started: float, *, quiet: bool) -> None:
    """Make the table of names, so that the first text to be linked need not wait for it, and say what was made."""
    NameTable.of(kb)
    if not quiet:
        took = time.perf_counter() - started
        say(
            f"{kb.path}: {int(kb.info['concepts']):,} concepts, {int(kb.info['names']):,} names, "
            f"{int(kb.info['retired']):,} retired ids, {file_size(kb.path)}, version {kb.version}, {took:.1f} s"
        )
        shared, count = shared_names(kb.file, SHOWN)
        if shared:
            have = "name belongs" if count == 1 else "names belong"
            more = "; …" if count > SHOWN else ""
            say(f"  {count:,} {have} to several concepts: {'; '.join(_told(kb, name) for name in shared)}{more}")
        if short := _not_found(NameTable.of(kb), short_names(kb.file)):
            named = ", ".join([*short[:SHOWN], *(["…"] if len(short) > SHOWN else [])])
            say(
                f"  names written like short forms ({named}): {len(short):,}, found only where the text defines them, "
                "others like them where the words around speak for them; --abbreviations lists those that are always "
                "meant (docs/terminologies.md)"
            )


def _not_found(table: NameTable, short: Sequence[str]) -> list[str]:
    """Return the short forms for which Linnet's own table has no meaning that is a name, too."""
    search = Search(table)
    return [text for text in short if not any(search.write_out(one.names, text) for one in clinical().get(text, ()))]


def _told(kb: KnowledgeBase, name: str) -> str:
    """Return a name that several concepts have, with their ids."""
    found = list(kb.find(name))
    ids = list(dict.fromkeys(kb.id(one.concept) for one in found))
    more = ", …" if len(ids) > SHOWN else ""
    return f"{found[0].text!r} to {', '.join(ids[:SHOWN])}{more}"


# --- what the files are ----------------------------------------------------------------------------------------------


def _formats(files: Sequence[Path], vocabularies: Sequence[str]) -> list[tuple[str, Path | None]]:
    """Return format and file of every source."""
    if not vocabularies:
        raise LinnetError(
            f"name the format of the files: --from table for one of your own, or {', '.join(VOCABULARIES)}"
        )
    for name in vocabularies:
        reader_of(name)
    if not files:
        return _without_files(vocabularies)
    if len(vocabularies) not in (1, len(files)):
        raise LinnetError(f"{len(files)} files but {len(vocabularies)} --from: give one for all files or one per file")
    names = list(vocabularies) * len(files) if len(vocabularies) == 1 else vocabularies
    return list(zip(names, files, strict=True))


def _without_files(vocabularies: Sequence[str]) -> list[tuple[str, Path | None]]:
    if list(vocabularies) != ["hpo"]:
        way = "; --download fetches them" if set(vocabularies) <= set(PUBLISHED) else ""
        raise LinnetError(f"--from {' --from '.join(vocabularies)} needs files{way}; only hpo comes with the package")
    return [("hpo", None)]


def _about(name: str, path: Path | None) -> dict[str, str]:
    """Return what the provenance should say beyond the file: the terms and citation of a known corpus."""
    corpus = corpus_named(known_corpus(path)) if name == "corpus" and path is not None else None
    return {} if corpus is None else {"citation": corpus.citation, "licence": corpus.licence}


# --- options of their readers ----------------------------------------------------------------------------------------


def _table_options(prefix: str, separator: str, columns: Sequence[str]) -> dict[str, object]:
    given: dict[str, object] = {"prefix": prefix} if prefix else {}
    if separator != "|":
        given["separator"] = separator
    if columns:
        given["columns"] = _columns(columns)
    return given


def _columns(texts: Sequence[str]) -> dict[str, str]:
    """Return our columns -> a table's, out of ``OURS=THEIRS``."""
    found: dict[str, str] = {}
    for text in texts:
        ours, theirs = _pair("--column", text, "OURS=THEIRS, for example synonyms=Synonyms")
        if ours in found:
            several = f"--column {ours}: two columns are given, {found[ours]!r} and {theirs!r}, and one is read"
            raise LinnetError(f"{several}: join them in the table (several values in a cell: --separator)")
        found[ours] = theirs
    return found


def read_sources(
    files: Sequence[Path],
    vocabularies: Sequence[str],
    *,
    options: Sequence[str],
    of_tables: Mapping[str, object] = EMPTY,
) -> Sequence[Source]:
    """Return the sources that ``--from`` and ``--option`` make of files; `of_tables` are options of tables alone."""
    sources = [Source(name, path, about=_about(name, path)) for name, path in _formats(files, vocabularies)]
    return _with_options(sources, of_tables, options)


def _with_options(sources: Sequence[Source], of_tables: Mapping[str, object], texts: Sequence[str]) -> Sequence[Source]:
    """Return sources with the options that the command line gives their readers."""
    chosen = _options([(source.vocabulary, source.path) for source in sources], texts)
    return [
        with_changes(source, options={**source.options, **(of_tables if source.vocabulary == "table" else {}), **own})
        for source, own in zip(sources, chosen, strict=True)
    ]


def _options(formats: Sequence[tuple[str, Path | None]], texts: Sequence[str]) -> Sequence[Mapping[str, Any]]:
    """Return the options of every source out of ``KEY=VALUE``, ``FORMAT:KEY=VALUE`` and ``NUMBER:KEY=VALUE``."""
    found: list[dict[str, Any]] = [{} for _ in formats]
    for text in texts:
        key, value = _pair("--option", text, "KEY=VALUE, for example subset=st21pv")
        which, _, option = key.rpartition(":")
        meant = [at for at, (name, _path) in enumerate(formats) if which in ("", name, str(at + 1))]
        if not meant:
            there = ", ".join(dict.fromkeys(name for name, _path in formats))
            raise LinnetError(
                f"--option {text}: there is no source {which!r}; there are {there}, numbers 1 to {len(formats)}"
            )
        takers = [at for at in meant if option in options_of(formats[at][0])]
        if not takers:
            raise LinnetError(f"--option {text}: {_unknown(option, dict.fromkeys(formats[at][0] for at in meant))}")
        for at in takers:
            found[at][option] = given_value(formats[at][0], options_of(formats[at][0]), option, value)
    return found


def _unknown(option: str, names: Mapping[str, None]) -> str:
    known = {name: list(options_of(name)) for name in names}
    there = "; ".join(f"{name} has {', '.join(options) or 'none'}" for name, options in known.items())
    near = did_you_mean(option, [item for options in known.values() for item in options])
    return f"no such option; {there}{near}"


def _pair(option: str, text: str, expected: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise LinnetError(f"{option} {text}: expected {expected}")
    return key.strip(), value
