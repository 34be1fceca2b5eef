"""What linked documents depend on beside the documents: versions, components with their keywords, what they learned."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from linnet import __version__
from linnet.frozen import EMPTY
from linnet.pipeline import Component, Pipeline, Stage
from linnet.pipeline.learner import inner_of
from linnet.pipeline.several import Several
from linnet.recipes.config import recipes

__all__ = ["made_of"]

# a trained folder may later get files that can be made again, such as indexes: they change nothing
LEARNED = (".json", ".jsonl", ".npy", ".safetensors", ".toml")


def made_of(linker: Pipeline, options: Mapping[str, object] = EMPTY) -> dict[str, Any]:
    """Return what the documents that a pipeline links depend on, by what people call it; `options` are added.

    Trained folders, and files that keywords name, count by names, sizes and times of change.

    >>> from linnet.detect.gold import Gold
    >>> made_of(Pipeline(Gold()))["pipeline"]
    [{'use': 'linnet.detect.gold:Gold', 'types': False}]
    """
    trained = Path(linker.name) if linker.name and linker.name not in recipes() else None
    many = [made_of(one) for part in linker.parts if isinstance(part, Several) for one in part.of]
    if many:
        options = {"terminologies": many, **options}
    return {
        "version of Linnet": __version__,
        "pipeline": [_describe(part) for part in linker.parts if not isinstance(part, Several)],
        "allowed": None if linker.allow is None else asdict(linker.allow),
        "trained folder": _state(trained) if trained is not None and trained.is_dir() else "",
        "version of the knowledge base": "" if linker.kb is None else linker.kb.version,
        **options,
    }


def _describe(part: Component) -> dict[str, Any]:
    config = part.config() if isinstance(part, Stage) else {}
    described = {"use": f"{type(part).__module__}:{type(part).__qualname__}", **config}
    named = {key: [value] if isinstance(value, str) else value for key, value in described.items()}
    files = {
        key: [_state(Path(value)) for value in values if isinstance(value, str) and _exists(value)]
        for key, values in named.items()
        if isinstance(values, list | tuple)
    }
    files = {key: states for key, states in files.items() if states}
    of = [_describe(inner) for inner in inner_of(part)]
    return {**described, **({"files": files} if files else {}), **({"of": of} if of else {})}


def _exists(value: str) -> bool:
    try:
        return bool(value) and Path(value).exists()
    except (OSError, ValueError):  # too long for a name, or with a NUL
        return False


def _state(path: Path) -> str:
    """Return a hash of names, sizes and times of change of a file, or of what a folder has learned."""
    files = [file for file in sorted(path.rglob("*")) if file.suffix in LEARNED] if path.is_dir() else [path]
    told = [(file.relative_to(path).as_posix(), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.blake2b(json.dumps(told).encode(), digest_size=8).hexdigest()
