"""``make release-models``: build the pipelines that are released, into ``dist/models``; needs LINNET_DATA."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from linnet.errors import LinnetError
from tools.release_models.build import Release

DATA = "LINNET_DATA"
OUTPUT = Path("dist") / "models"


def main(arguments: Sequence[str]) -> int:
    """Build the release; 2 if it cannot be built, with why."""
    parser = argparse.ArgumentParser(prog="release-models", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, default=OUTPUT, help=f"default: {OUTPUT}")
    parser.add_argument("--without-kb", action="store_true", help="leave the knowledge bases out of the archive")
    options = parser.parse_args(arguments)
    logging.basicConfig(format="%(message)s", level=logging.INFO, stream=sys.stderr)
    if not Path(os.environ.get(DATA) or "/nowhere").is_dir():
        parser.error(f"set {DATA} to the folder of corpora and terminologies; docs/corpora.md says what lies there")
    try:
        archive = Release(options.output).build(with_kb=not options.without_kb)
    except LinnetError as error:
        parser.error(str(error))
    print(f"{archive} ({archive.stat().st_size / 1e6:.1f} MB); install it: linnet pull {archive}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
