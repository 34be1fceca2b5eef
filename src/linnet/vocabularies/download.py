"""Terminologies from the web to sources of a knowledge base.

What is fetched, and from where, says `linnet.vocabularies.published`, where it goes `linnet.fetch.mirror`. Files are
asked for again only if they have changed at the server.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from linnet.errors import LinnetError, did_you_mean
from linnet.fetch.archive import check_archive, unpack
from linnet.fetch.file import Fetched, Progress, alone, fetch
from linnet.fetch.mirror import downloads_folder, file_name, mirror, mirrored, offered
from linnet.fetch.web import LIMITS, Limits, WebError
from linnet.text.files import head, open_bytes
from linnet.vocabularies.build import Source
from linnet.vocabularies.published import PUBLISHED, Publication, PublishedFile

__all__ = ["download"]

HEAD = 1 << 16  # unpacked bytes in which a file must show what it is
CHUNK = 1 << 20


def download(
    name: str,
    *,
    urls: Sequence[str] = (),
    sha256: Sequence[str] = (),
    folder: Path | None = None,
    progress: Callable[[str], Progress] | None = None,
    limits: Limits = LIMITS,
    year: int | None = None,
) -> list[Source]:
    """Fetch a terminology and return its files as sources, ready for `linnet.vocabularies.build.build_from`.

    Args:
        name: which; one of `linnet.vocabularies.published.PUBLISHED`.
        urls: other addresses of its files, one for each, in their order.
        sha256: what the files must have, one for each, in their order.
        folder: where to keep them; `downloads_folder` by default.
        progress: called with each file's name; returns what is told its bytes (`linnet.fetch.file`).
        limits: of time, tries and size.
        year: the edition of MeSH; by default this year's, or last year's while that is missing.

    Raises:
        LinnetError: an unknown name, a wrong number of addresses or checksums, or a file that cannot be fetched; the
            message says how to go on with a file fetched by hand.

    >>> download("snomed")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    linnet.errors.LinnetError: snomed cannot be downloaded: expected one of ctd, doid, hpo, medic, ...
    """
    if name not in PUBLISHED:
        known = f"expected one of {', '.join(PUBLISHED)}"
        raise LinnetError(f"{name} cannot be downloaded: {known}{did_you_mean(name, PUBLISHED)}")
    publication = PUBLISHED[name]
    for what, given in (("--url", urls), ("--sha256", sha256)):
        if given and len(given) != len(publication.files):
            names = ", ".join(file.kept_as for file in publication.files)
            raise LinnetError(f"{name} has {len(publication.files)} files ({names}) but {len(given)} {what}")
    from_mirror = not urls and bool(mirror())
    job = _Download(name, publication, folder or downloads_folder(), from_mirror, progress, limits)
    years = [year] if year else [datetime.now(UTC).year, datetime.now(UTC).year - 1]
    plans = dict.fromkeys(
        tuple(urls) or tuple(mirrored(file.url.format(year=edition), name=file.name) for file in publication.files)
        for edition in years
    )
    *earlier, last = plans
    for plan in earlier:
        try:
            return job.sources(plan, sha256)
        except WebError as error:
            if not error.missing:
                raise
    return job.sources(last, sha256)


@dataclass(frozen=True)
class _Download:
    """The files of one publication on their way."""

    name: str
    publication: Publication
    folder: Path
    mirrored: bool
    progress: Callable[[str], Progress] | None
    limits: Limits

    def sources(self, urls: Sequence[str], sha256: Sequence[str]) -> list[Source]:
        paths = self._paths(urls)
        found: list[Source] = []
        for number, (file, url, path) in enumerate(zip(self.publication.files, urls, paths, strict=True)):
            with self._by_hand(paths):
                wanted = sha256[number] if sha256 else offered(url, limits=self.limits) if self.mirrored else ""
                got = fetch(
                    url,
                    path,
                    sha256=wanted,
                    check=partial(_check, file=file),
                    progress=self.progress(path.name) if self.progress else None,
                    limits=self.limits,
                )
            found.append(self._source(file, got, paths))
        return found

    def _paths(self, urls: Sequence[str]) -> list[Path]:
        """Return where the files go: under the names of their addresses, or their usual ones if those do not do."""
        names = [file.name or file_name(url) for file, url in zip(self.publication.files, urls, strict=True)]
        if not all(names) or len(set(names)) < len(names):
            names = [file.kept_as.replace("{year}", "") for file in self.publication.files]
        return [self.folder / name for name in names]

    def _source(self, file: PublishedFile, got: Fetched, paths: Sequence[Path]) -> Source:
        options = {
            key: paths[int(value[1:])] if isinstance(value, str) and value.startswith("@") else value
            for key, value in file.options.items()
        }
        address = urllib.parse.urlsplit(got.url)._replace(query="", fragment="").geturl()  # what follows ? may be a key
        terms = {"licence": self.publication.licence, "citation": self.publication.citation}
        place = _for_reader(got, file, self.limits)
        return Source(file.vocabulary, place, options, about={"url": address, "fetched": got.at, **terms})

    @contextmanager
    def _by_hand(self, paths: Sequence[Path]) -> Iterator[None]:
        """Add to what went wrong on the web how a person can go on."""
        try:
            yield
        except WebError as error:
            formats = " ".join(dict.fromkeys(f"--from {file.vocabulary}" for file in self.publication.files))
            there = all(path.is_file() for path in paths)
            names = " ".join(str(path) if there else path.name for path in paths)
            command = f"linnet kb build {names} {formats} -o {self.name}"
            means = (
                "the copy fetched earlier still works" if there else f"fetch it by hand from {self.publication.page}"
            )
            raise WebError(f"{error}; {means}: {command}", missing=error.missing) from error


def _for_reader(got: Fetched, file: PublishedFile, limits: Limits) -> Path:
    """Return what the reader gets: the file, or the folder that an archive is unpacked to, once for its content."""
    if not file.unpack:
        return got.path
    folder = got.path.with_name(f"{got.path.name.partition('.')[0]}-{got.sha256[:12]}")
    with alone(folder, limits):
        if not folder.exists():
            unpack(got.path, folder, only=file.unpack)
    return folder


def _check(path: Path, file: PublishedFile) -> None:
    """Refuse a file that does not begin as `file` does, or is damaged: the server would say that it has not changed."""
    begin = head(path, HEAD)
    missing = [mark.decode() for mark in file.marks if mark not in begin]
    if missing:
        shown = begin[:40].decode("utf-8", "replace")
        raise LinnetError(f"is not the expected file: no {missing[0]} near its beginning, which is {shown!r}")
    if file.unpack:
        check_archive(path, only=file.unpack)
        return
    with open_bytes(path) as stream:  # to the end, where gzip keeps its checksum: not every server says the length
        while stream.read(CHUNK):
            pass
