"""Published corpora from the web to the folder of downloaded corpora, where `linnet.corpora.catalog` finds them.

Files are kept as they were served, in ``LINNET_HOME/downloads/corpora/NAME``, and unpacked to
``LINNET_HOME/corpora/NAME``, by one process at a time. Corpora do not change, so each file has one checksum: the one
its entry knows, else the one it had when it was first fetched and in its place, which ``checksums.json`` in the folder
of downloads remembers. A file that is there with its checksum is not asked for again; one that comes with another, or
is not of the form that its entry says, is set aside.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from linnet.corpora.catalog import CORPORA, Corpus, Download, corpora_folder, corpus_named
from linnet.errors import FormatError, LinnetError, did_you_mean
from linnet.fetch.archive import check_archive, unpack
from linnet.fetch.file import SHA256, Fetched, Progress, alone, fetch, on_disk
from linnet.fetch.mirror import downloads_folder, mirror, mirrored, offered
from linnet.fetch.web import LIMITS, Limits, WebError
from linnet.home import permit, writable
from linnet.text.files import head, open_bytes, replacing

__all__ = ["download_corpus"]

CHECKSUMS = "checksums.json"
OWN = "its own when first fetched"
HEAD = 1 << 12  # unpacked bytes in which a text must show what it is
CHUNK = 1 << 20
ARCHIVE = re.compile(r"\.(?:zip|tar|tgz|(?:tar\.)?(?:gz|bz2|xz))+$", re.IGNORECASE)


def download_corpus(
    name: str,
    *,
    urls: Sequence[str] = (),
    sha256: Sequence[str] = (),
    progress: Callable[[str], Progress] | None = None,
    limits: Limits = LIMITS,
) -> Path:
    """Fetch and unpack a corpus, what is not there already, and return its folder.

    Args:
        name: one of `linnet.corpora.catalog.CORPORA`.
        urls: other addresses of its files, one for each, in their order.
        sha256: what the files must have, one for each, in their order; remembered instead of what was.
        progress: called with each file's name; returns what is told its bytes (`linnet.fetch.file`).
        limits: of time, tries and size.

    Raises:
        LinnetError: an unknown corpus or one that is not given to everybody, a wrong number of addresses or checksums,
            or a file that cannot be fetched or is not what it was; the message says how to go on by hand.

    >>> download_corpus("cometa")
    Traceback (most recent call last):
        ...
    linnet.errors.LinnetError: cometa cannot be downloaded (given by its authors on request, for research): get it \
from https://github.com/cambridgeltl/cometa and give its folder with --data
    """
    corpus = corpus_named(name)
    if corpus is None:
        raise LinnetError(f"unknown corpus {name!r}, expected one of {', '.join(CORPORA)}{did_you_mean(name, CORPORA)}")
    if not corpus.downloads:
        hand = f"get it from {corpus.page} and give its folder with --data" if corpus.page else "ask its authors"
        raise LinnetError(f"{corpus.name} cannot be downloaded ({corpus.licence}): {hand}")
    for what, given in (("--url", urls), ("--sha256", sha256)):
        if given and len(given) != len(corpus.downloads):
            names = ", ".join(item.kept_as for item in corpus.downloads)
            raise LinnetError(f"{corpus.name} has {len(corpus.downloads)} files ({names}) but {len(given)} {what}")
    folder, kept = writable(corpora_folder() / corpus.name), writable(downloads_folder() / "corpora")
    with alone(kept / corpus.name, limits):
        for number, item in enumerate(corpus.downloads):
            key = f"{corpus.name}/{item.place or item.kept_as}"
            remembered = _checksums(kept / CHECKSUMS).get(key, "")
            known = {"given": sha256[number] if sha256 else "", "known": item.sha256, OWN: remembered}
            url = urls[number] if urls else mirrored(item.url, name=key)
            with _by_hand(corpus):
                if not urls and mirror() and not any(known.values()):
                    known["the mirror's"] = offered(url, limits=limits)
                got = _fetched(item, url, kept / key, known, progress(item.kept_as) if progress else None, limits)
            _install(item, got, folder)
            if got.sha256 != remembered:  # only now: what cannot be put into its place is not what is wanted again
                _remember(kept / CHECKSUMS, key, got.sha256)
    return folder


@contextmanager
def _by_hand(corpus: Corpus) -> Iterator[None]:
    """Add to what went wrong on the web how a person can go on."""
    try:
        yield
    except WebError as error:
        hand = f"fetch it by hand from {corpus.page}, unpack it, and give its folder with --data"
        raise WebError(f"{error}; or {hand}", missing=error.missing) from error


def _fetched(
    item: Download, url: str, path: Path, known: Mapping[str, str], progress: Progress | None, limits: Limits
) -> Fetched:
    """Fetch a file, which must have the first checksum that is `known`, by whose it is."""
    whose, expected = next(((whose, sum) for whose, sum in known.items() if sum), ("", ""))
    try:
        check = partial(_check, item=item)
        return fetch(url, path, sha256=expected, check=check, progress=progress, limits=limits)
    except WebError:
        raise
    except LinnetError as error:
        if expected and "expected" in str(error):
            cure = "if the new one is right, give its checksum with --sha256"
            raise LinnetError(f"{error}; that checksum is {whose}: {cure}") from error
        raise


def _check(path: Path, item: Download) -> None:
    """Refuse an archive that cannot be unpacked, and a text that begins otherwise than its entry says or is damaged."""
    if not item.place:
        check_archive(path, only=item.only)
        return
    first = next((line for line in head(path, HEAD).decode("utf-8", "replace").splitlines() if line.strip()), "")
    if not re.match(item.begins, first.lstrip("\ufeff")):
        raise LinnetError(f"is not the expected file: it begins with {first[:40]!r}")
    with open_bytes(path) as stream:  # to the end, where gzip keeps its checksum: not every server says the length
        while stream.read(CHUNK):
            pass


def _checksums(path: Path) -> Mapping[str, str]:
    """Return the checksums that were remembered, by corpus and file.

    Raises:
        FormatError: the file is not what this module writes: what it remembered is not to be forgotten silently.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise FormatError(path, f"cannot be read ({error}): delete it to take files as they come") from error
    if not isinstance(found, dict) or not all(SHA256.fullmatch(str(value)) for value in found.values()):
        raise FormatError(path, "holds other things than checksums: delete it to take files as they come")
    return found


def _remember(path: Path, key: str, sha256: str) -> None:
    with alone(path, LIMITS):  # other corpora are being fetched, perhaps
        known = {**_checksums(path), key: sha256}
        with replacing(path) as out:
            json.dump(dict(sorted(known.items())), out, indent=1)
            out.write("\n")


def _install(item: Download, got: Fetched, folder: Path) -> None:
    """Put a file where the catalog looks for it; an archive is unpacked into a folder that tells its checksum."""
    if item.place:
        target = folder / item.place
        writable(target.parent)
        part = target.with_name(f".{target.name}.part")
        with on_disk(target):
            shutil.copyfile(got.path, part)
            permit(part, target)
            part.replace(target)
        return
    stem = ARCHIVE.sub("", item.kept_as)
    target = folder / f"{stem}-{got.sha256[:12]}"
    if not target.exists():
        unpack(got.path, target, only=item.only)
    for old in folder.glob(f"{stem}-*"):  # of an earlier release: two would be mixed up
        if old != target:
            with suppress(OSError):
                old.rename(old.with_name(f".{old.name}.{secrets.token_hex(4)}.part"))  # it is never seen half removed
    for left in folder.glob(f".{stem}-*"):  # of processes that died, too: this one is alone
        shutil.rmtree(left, ignore_errors=True)
