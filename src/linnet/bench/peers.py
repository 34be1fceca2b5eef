"""``linnet bench peers``: other finders of names beside Linnet's dictionary: same names, same texts."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from linnet.bench.steps import fresh
from linnet.cli.common import AsJson, Corpora, Docs, Quiet, Verbose, check_docs, listen, progress, table
from linnet.cli.terminal import say
from linnet.errors import LinnetError, did_you_mean, how_to_install
from linnet.evaluate.rows import NOTHING, PageTable
from linnet.recipes.config import read_recipe

__all__ = ["MEASURES", "NGRAM", "PEERS", "RECIPE", "SIMILAR", "TABLE", "WINDOW", "Peer", "peers"]

RECIPE = "gsc_plus/dictionary"
SIMILAR = 0.7  # this and the next two are the defaults of QuickUMLS
NGRAM = 3  # characters
WINDOW = 5  # words
TABLE = PageTable(
    by="linnet bench peers",
    columns=(
        "finder", "version", "used with", "document P", "document R", "document F1", "exact span + concept F1",
        "index s", "index MiB", "abstracts/s", "speed to linnet",
    ),
    texts=3,
    key=1,
)  # fmt: skip
MEASURES = ("document.precision", "document.recall", "document.f1", "strict.f1")


class Peer(NamedTuple):
    """A finder: the package that it comes in ("" = this one), the module to look for, and how it is used."""

    package: str
    module: str
    settings: str


PEERS = {
    "linnet": Peer("", "linnet", f"the recipe {RECIPE}"),
    "ahocorasick": Peer(
        "pyahocorasick", "ahocorasick", "lower-cased automaton, matches of whole words, the longest from the left"
    ),
    "flashtext": Peer("flashtext-i18n", "flashtext", "the fork with a wheel; case ignored"),
    "gilda": Peer("gilda-slim", "gilda", "gilda.ner with a grounder of these names, without its models; best match"),
    "simstring": Peer(
        "simstring-fast", "simstring",
        f"as QuickUMLS uses it: Jaccard of character {NGRAM}-grams ≥ {SIMILAR}, spans of at most {WINDOW} words with "
        "no stop word at either end, the most similar first",
    ),
}  # fmt: skip


def peers(
    finders: Annotated[
        list[str] | None, typer.Argument(metavar="[PEER]...", help="Only these, beside linnet: gilda, simstring ...")
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.1, help="Processor seconds a finder has for its turns; a slow one reads fewer texts.")
    ] = 60.0,
    data: Corpora = None,
    docs: Docs = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Find the names of the HPO of 2016 with Linnet's dictionary and with other packages, each in a fresh process.

    Accuracy is that on GSC+'s development abstracts, speed that on PubMed's (both need LINNET_DATA) a second of one
    core's processor time; the last column compares both relative to a fixed job in the same process. Peers that are
    not installed (extra peers) are left out.
    """
    listen(quiet=quiet, verbose=verbose)
    check_docs(docs)
    for name in finders or ():
        if name not in PEERS:
            raise LinnetError(f"{name!r} is no known peer{did_you_mean(name, PEERS) or '; known: ' + ', '.join(PEERS)}")
    kb = read_recipe(RECIPE).open_kb(data=data)
    path = str(kb.path) if kb is not None else ""
    chosen = [name for name in PEERS if name == "linnet" or not finders or name in finders]
    rows: list[Mapping[str, Any]] = []
    for name in progress(chosen, what="finders", total=len(chosen), quiet=quiet):
        peer = PEERS[name]
        if importlib.util.find_spec(peer.module) is None:
            say(f"{name}: not installed: {how_to_install('peers')}", error=True)
            continue
        place = None if data is None else str(data)
        try:
            found = fresh(name, module="linnet.bench.peers_steps", kb=path, data=place, seconds=seconds)
        except LinnetError as error:
            say(f"{name}: {error}", error=True)
            continue
        rows.append({"peer": name, "package": peer.package, "settings": peer.settings, **found})
    _tell(rows, docs, as_json=as_json)


def _tell(rows: Sequence[Mapping[str, Any]], docs: Path | None, *, as_json: bool) -> None:
    ours = next((row["per reference"] for row in rows if row["peer"] == "linnet"), None)
    cells = [_cells(row, ours) for row in rows]
    if docs is not None:
        TABLE.write(docs, cells)
    if as_json:
        for row in rows:
            print(json.dumps(row))
        return
    table("", TABLE.columns, cells, right=range(TABLE.texts, len(TABLE.columns)))


def _cells(row: Mapping[str, Any], ours: float | None) -> list[str]:
    accuracy = [f"{row[name]:.3f}" for name in MEASURES]
    grown = NOTHING if row["index MiB"] is None else f"{row['index MiB']:.0f}"
    ratio = NOTHING if ours is None else f"{row['per reference'] / ours:.3g}"
    package = f"{row['package']} {row['version']}".strip()
    return [
        row["peer"], package, row["settings"], *accuracy, f"{row['index s']:.1f}", grown,
        f"{row['abstracts/s']:,.0f}" if row["abstracts/s"] >= 10 else f"{row['abstracts/s']:.2g}", ratio,
    ]  # fmt: skip
