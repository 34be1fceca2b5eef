"""The page of a repository at the Hugging Face Hub: front matter in YAML, figures, how to use it, its own card."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from linnet.errors import FormatError
from linnet.fetch.archive import members
from linnet.fit.curve import CURVE, SCORE, SECONDS, read_curve
from linnet.home import read_json
from linnet.kb import KnowledgeBase
from linnet.recipes.bundle import PIPELINE

__all__ = ["bundle_card", "kb_card", "pipeline_card"]

TAGS = ("linnet", "entity-linking", "biomedical")


def pipeline_card(folder: Path, files: Mapping[str, Path], *, id: str, licence: str = "") -> str:
    """Return the README of a trained folder.

    Args:
        folder: the trained folder, whose ``card.md`` stands at the end.
        files: what is pushed of it, by name.
        id: OWNER/NAME.
        licence: as the Hub calls it, ``apache-2.0`` say; "" says nothing.
    """
    encoders = sorted({name for path in files.values() if path.name == "config.json" for name in _encoder(path)})
    front: dict[str, Any] = {"library_name": "linnet", "pipeline_tag": "token-classification", "tags": list(TAGS)}
    front |= {"license": licence} if licence else {}
    front |= {"base_model": encoders} if encoders else {}
    parts = sorted({name.split("/")[0] for name in files if "/" in name}, key=lambda name: int(name.split("-")[0]))
    size = sum(path.stat().st_size for path in files.values())
    rows = [("parts", ", ".join(name.partition("-")[2] for name in parts)), ("files", f"{size / 1e6:,.1f} MB")]
    rows += [("weights", f"{weights:,}")] if (weights := sum(map(_weights, files.values()))) else []
    rows += _figures(folder / CURVE)
    pictures = [f"![{name}]({name})" for name in files if name.endswith(".svg")]
    use = f'```python\nimport linnet\n\nlink = linnet.load("hf:{id}")\n[doc] = link("Short stature and seizures.")\n```'
    card = (folder / "card.md").read_text(encoding="utf-8")
    return "\n\n".join([_front(front), f"# {id}", _table(rows), *pictures, use, _lowered(card)]).rstrip() + "\n"


def kb_card(kb: KnowledgeBase, *, id: str, licence: str = "") -> str:
    """Return the README of a knowledge base; the arguments are those of `pipeline_card`."""
    front: dict[str, Any] = {"tags": [*TAGS, "terminology"], **({"license": licence} if licence else {})}
    rows = [(key, kb.info[key]) for key in ("name", "version", "built", "concepts", "names", "retired")]
    about = [_table(sorted((key, str(value)) for key, value in source.items())) for source in kb.sources]
    use = f"```\nlinnet pull {id}\nlinnet kb info {kb.path.stem}\n```"
    return "\n\n".join([_front(front), f"# {id}", _table(rows), "## Sources", *about, "## Use", use]) + "\n"


def bundle_card(archive: Path, *, id: str, licence: str = "") -> str:
    """Return the README of a bundle, whose card stands at the end; the arguments are those of `pipeline_card`."""
    front: dict[str, Any] = {"library_name": "linnet", "pipeline_tag": "token-classification", "tags": list(TAGS)}
    front |= {"license": licence} if licence else {}
    [card] = [content.read().decode() for _, content in members(archive, only=(f"{PIPELINE}card.md",))]
    rows = [("files", f"{archive.stat().st_size / 1e6:,.1f} MB packed")]
    use = f'```\nlinnet pull {id}\nlinnet link "Short stature and seizures." --pipeline hf:{id}\n```'
    return "\n\n".join([_front(front), f"# {id}", _table(rows), use, _lowered(card)]).rstrip() + "\n"


def _front(values: Mapping[str, Any]) -> str:
    """Return the front matter: every JSON value is one in YAML."""
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
    return "\n".join(["---", *lines, "---"])


def _table(rows: Sequence[tuple[str, str]]) -> str:
    cells = (" | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in row) for row in rows)
    return "\n".join(["| | |", "|---|---|", *(f"| {row} |" for row in cells)])


def _lowered(card: str) -> str:
    """Return a card whose title is a section."""
    return card.replace("# ", "## ", 1) if card.startswith("# ") else card


def _figures(path: Path) -> list[tuple[str, str]]:
    """Return the best dev score and the time of each part that was trained."""
    try:
        rows = read_curve(path)
    except FormatError:
        return []
    best: dict[str, float] = {}
    seconds: dict[str, float] = {}
    for row in rows:
        if row.metric == SCORE:
            best[row.part] = max(row.value, best.get(row.part, row.value))
        elif row.metric == SECONDS:
            seconds[row.part] = row.value
    return [
        *((f"best dev score of {part} while it was trained", f"{score:.4f}") for part, score in best.items()),
        *((f"training of {part}", f"{spent:,.0f} s") for part, spent in seconds.items()),
    ]


def _encoder(config: Path) -> list[str]:
    """Return the encoder that a component was made from, if that is a name at the Hub."""
    try:
        name = read_json(config).get("encoder")
    except FormatError:
        return []
    known = isinstance(name, str) and name.count("/") == 1 and not Path(name).exists()
    return [str(name).partition("@")[0]] if known and not str(name).startswith((".", "/", "~")) else []


def _weights(path: Path) -> int:
    """Return how many numbers a file of weights holds."""
    if path.suffix != ".safetensors":
        return 0
    from safetensors import safe_open  # noqa: PLC0415 - of the extra neural, which such files come from

    with safe_open(path, framework="numpy") as file:
        shapes = [file.get_slice(name).get_shape() for name in file.keys()]  # noqa: SIM118 - it is no mapping
    return sum(_product(shape) for shape in shapes)


def _product(shape: Sequence[int]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total
