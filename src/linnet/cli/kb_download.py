"""What ``linnet kb build --download`` adds: terminologies fetched with their progress shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from linnet.cli.fetching import fetching
from linnet.errors import LinnetError
from linnet.vocabularies.build import Source
from linnet.vocabularies.download import download
from linnet.vocabularies.published import PUBLISHED

__all__ = ["download_sources"]


def download_sources(
    vocabularies: Sequence[str], files: Sequence[Path], *, urls: Sequence[str], sha256: Sequence[str], quiet: bool
) -> list[Source]:
    """Return the sources of ``--from NAME… --download``, fetched where they have changed.

    Raises:
        LinnetError: no name, files beside it, addresses or checksums for several names, or a download that failed.
    """
    if files:
        raise LinnetError(f"--download gets the files itself: leave out {' '.join(map(str, files))}, or --download")
    if not vocabularies:
        raise LinnetError(f"name what to download: --from {', '.join(PUBLISHED)}")
    names = list(dict.fromkeys(vocabularies))
    if len(names) > 1 and (urls or sha256):
        raise LinnetError("--url and --sha256 work with one --from only: build the others from files")
    with fetching(quiet=quiet) as begin:
        return [source for name in names for source in download(name, urls=urls, sha256=sha256, progress=begin)]
