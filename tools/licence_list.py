"""Packages that pip chooses for Linnet, with their licences: kept in ``licences.toml``, written from reports of pip."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LISTED = Path(__file__).with_name("licences.toml")
SECTIONS = {
    "core": ("What Linnet needs", "constraints.txt"),
    "extras": ("What the extras need besides, but for `dev` and `flair`", "constraints.txt"),
    "flair": ("What the extra `flair` needs besides", "constraints-flair.txt"),
}
SPDX = {
    "3-Clause BSD License": "BSD-3-Clause", "Apache": "Apache-2.0", "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0", "Apache License 2.0": "Apache-2.0", "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0", "BSD 3-clause": "BSD-3-Clause", "BSD License": "BSD",
    "ISC License": "ISC", "MIT License": "MIT", "Python Software Foundation License": "PSF-2.0", "UNKNOWN": "",
}  # fmt: skip
OF_TORCH = ("cuda-", "nvidia-", "triton")  # what PyTorch brings on Linux, from PyPI alone; the page tells of it


def licence_of(metadata: Mapping[str, Any]) -> str:
    """Return the licence of a package from its metadata as JSON: the expression, what is stated, or its classifiers.

    >>> licence_of({"license": "Apache 2.0", "classifier": []})
    'Apache-2.0'
    >>> licence_of({"classifier": ["License :: OSI Approved :: MIT License"]})
    'MIT'
    """
    if found := metadata.get("license_expression"):
        return str(found)
    stated = str(metadata.get("license") or "").strip()
    stated = SPDX.get(stated, stated)
    if stated and "\n" not in stated and len(stated) <= 40:
        return stated
    named = [one.rpartition(" :: ")[2] for one in metadata.get("classifier", ()) if one.startswith("License ::")]
    return " or ".join(SPDX.get(one, one) for one in named) or "not stated"


def chosen(report: Mapping[str, Any]) -> dict[str, str]:
    """Return the packages that pip chose, but for Linnet, with their licences, from ``pip install --report``."""
    found = {canonical(one["metadata"]["name"]): licence_of(one["metadata"]) for one in report["install"]}
    return {name: found[name] for name in sorted(found) if name != "linnet" and not name.startswith(OF_TORCH)}


def canonical(name: str) -> str:
    """Return a package's name as registries compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def write_list(reports: Iterable[Mapping[str, Any]]) -> None:
    """Write ``licences.toml`` from reports of pip in the order of `SECTIONS`; each lists what those before lack."""
    lines = ["# Licences of packages as their metadata state them, written by `make licences` from reports of pip."]
    before: set[str] = set()
    for section, report in zip(SECTIONS, reports, strict=True):
        lines += ["", f"[{section}]"]
        lines += [f"{name} = {json.dumps(licence)}" for name, licence in chosen(report).items() if name not in before]
        before |= chosen(report).keys()
    LISTED.write_text("\n".join(lines) + "\n", encoding="utf-8")


def listed() -> dict[str, dict[str, str]]:
    """Return the licences of packages by section and name."""
    return tomllib.loads(LISTED.read_text(encoding="utf-8"))


def pinned(constraints: str) -> dict[str, str]:
    """Return the versions of a file of constraints by name."""
    lines = (ROOT / constraints).read_text(encoding="utf-8").splitlines()
    pairs = (line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    return {canonical(name): version for name, version in pairs}
