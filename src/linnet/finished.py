"""Parts of a pipeline that are trained already: kept beside the output folder until all of them are.

Of several processes that train together (``torchrun``, ``accelerate launch``) the first one writes, the others read.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from linnet.home import read_json, writable
from linnet.text.files import replacing

__all__ = ["Finished", "first_process"]

NAME = "finished.json"


def first_process() -> bool:
    """Return whether this is the first, or the only one, of the processes that train together."""
    return os.environ.get("RANK", "0") in ("", "0")


class Finished:
    """The finished parts of one training.

    Args:
        folder: what they are kept in; the parts of another training that lie there are removed.
        key: a hash of all that the training depends on.

    `seconds` holds how long each finished part took. Other folders within are left to parts that are not finished yet.
    """

    def __init__(self, folder: Path, *, key: str) -> None:
        self.folder, self.key = folder, key
        self.seconds: dict[str, float] = {}
        path = (writable(folder) if first_process() else folder) / NAME
        found = read_json(path) if path.is_file() else {}
        if found.get("key") == key and isinstance(found.get("parts"), dict):
            self.seconds = {str(name): float(seconds) for name, seconds in found["parts"].items()}
        elif first_process():
            for other in folder.iterdir():
                shutil.rmtree(other) if other.is_dir() else other.unlink()
            self._write()  # so that checkpoints of the first part are found to be of this training

    def keep(self, name: str, save: Callable[[Path], object], *, seconds: float) -> None:
        """Save the part called `name` in its folder, and note that it is finished."""
        self.seconds[name] = seconds
        if first_process():
            save(self.folder / name)
            self._write()

    def remove(self) -> None:
        """Remove all of them: they are part of the pipeline's folder now."""
        shutil.rmtree(self.folder)

    def _write(self) -> None:
        with replacing(self.folder / NAME) as stream:  # other processes may be reading it
            json.dump({"key": self.key, "parts": self.seconds}, stream)
