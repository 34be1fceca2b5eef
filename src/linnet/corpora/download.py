"""Published corpora from the web to the folder of downloaded corpora, where `linnet.corpora.catalog` finds them.

Files are kept as they were served, in ``LINNET_HOME/downloads/corpora/NAME``, and unpacked to
``LINNET_HOME/corpora/NAME``. Corpora do not change, so each file has one checksum: the one its entry knows, else the
one it had when it was first fetched, which ``checksums.json`` in the folder of downloads remembers. A file that is
there with its checksum is not asked for again; one that comes with another is refused.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from linnet.corpora.catalog import CORPORA, corpora_folder, corpus_named
from linnet.corpora.entry import Corpus, Download
from linnet.errors import FormatError, LinnetError, did_you_mean
from linnet.fetch.archive import unpack
from linnet.fetch.file import SHA256, Fetched, Progress, fetch
from linnet.fetch.mirror import downloads_folder, mirror, mirrored, offered
from linnet.fetch.web import LIMITS, Limits, WebError
from linnet.home import writable
from linnet.text.files import replacing

__all__ = ["download_corpus"]

CHECKSUMS = "checksums.json"
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
    folder = writable(corpora_folder() / corpus.name)
    for number, item in enumerate(corpus.downloads):
        url = urls[number] if urls else mirrored(item.url, name=f"{corpus.name}/{item.place or item.kept_as}")
        wanted = sha256[number] if sha256 else ""
        got = _fetched(corpus, item, url, wanted, from_mirror=not urls, progress=progress, limits=limits)
        _installed(item, got, folder)
    return folder


def _fetched(
    corpus: Corpus,
    item: Download,
    url: str,
    wanted: str,
    *,
    from_mirror: bool,
    progress: Callable[[str], Progress] | None,
    limits: Limits,
) -> Fetched:
    """Fetch one file and remember its checksum."""
    place = downloads_folder() / "corpora"
    key = f"{corpus.name}/{item.place or item.kept_as}"
    remembered = _checksums(place / CHECKSUMS).get(key, "")
    expected = wanted or item.sha256 or remembered
    shown = progress(item.kept_as) if progress else None
    try:
        if from_mirror and mirror() and not expected:
            expected = offered(url, limits=limits)
        got = fetch(url, place / key, sha256=expected, progress=shown, limits=limits)
    except WebError as error:
        hand = f"fetch it by hand from {corpus.page}, unpack it, and give its folder with --data"
        raise WebError(f"{error}; or {hand}", missing=error.missing) from error
    except LinnetError as error:
        if expected and "expected" in str(error):
            means = "known" if expected == item.sha256 else "given" if wanted else "its own when first fetched"
            cure = "if the new one is right, give its checksum with --sha256"
            raise LinnetError(f"{error}; that checksum is {means}: {cure}") from error
        raise
    if got.sha256 != remembered:
        _remember(place / CHECKSUMS, key, got.sha256)
    return got


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
    known = {**_checksums(path), key: sha256}
    with replacing(path) as out:
        json.dump(dict(sorted(known.items())), out, indent=1)
        out.write("\n")


def _installed(item: Download, got: Fetched, folder: Path) -> None:
    """Put a file where the catalog looks for it; an archive is unpacked into a folder that tells its checksum."""
    if item.place:
        target = folder / item.place
        writable(target.parent)
        part = target.with_name(f".{target.name}.part")
        shutil.copyfile(got.path, part)
        part.replace(target)
        return
    stem = ARCHIVE.sub("", item.kept_as)
    target = folder / f"{stem}-{got.sha256[:12]}"
    if not target.exists():
        unpack(got.path, target, only=item.only)
    for old in folder.glob(f"{stem}-*"):
        if old != target:
            shutil.rmtree(old, ignore_errors=True)  # of an earlier release: two would be mixed up
