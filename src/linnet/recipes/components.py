"""The components that recipes can name: the only registry; and the recipes that come with Linnet.

Other packages add theirs through the entry point group ``linnet.components`` (name → ``module:Class``).
"""

from __future__ import annotations

import functools
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING

from linnet.errors import LinnetError
from linnet.reporter import warn

if TYPE_CHECKING:
    from linnet.pipeline import Component

__all__ = ["COMPONENTS", "components", "is_called", "name_of", "plugins", "recipes"]

COMPONENTS = {
    "abbreviations": "linnet.pipeline.pipeline:Abbreviations",
    "bm25": "linnet.retrieve.bm25:Bm25",
    "collective": "linnet.joint.collective:Collective",
    "conjuncts": "linnet.detect.conjuncts:Conjuncts",
    "consistent": "linnet.detect.consistent:Consistent",
    "context": "linnet.pipeline.context:Context",
    "cross_encoder": "linnet.rerank.cross_encoder:CrossEncoder",
    "decide": "linnet.pipeline.decide:Decide",
    "dense": "linnet.retrieve.dense:Dense",
    "dictionary": "linnet.detect.dictionary:Dictionary",
    "earlier": "linnet.retrieve.earlier:Earlier",
    "endpoint": "linnet.rerank.endpoint:Endpoint",
    "exact": "linnet.retrieve.exact:Exact",
    "flair": "linnet.detect.flair:Flair",
    "fuse": "linnet.pipeline.roles:Fuse",
    "generate": "linnet.retrieve.generate:Generate",
    "gold": "linnet.detect.gold:Gold",
    "hf_tagger": "linnet.detect.hf_tagger:HfTagger",
    "hierarchical": "linnet.joint.hierarchical:Hierarchical",
    "lexical": "linnet.rerank.lexical:Lexical",
    "linkable": "linnet.detect.linkable:Linkable",
    "ngram": "linnet.retrieve.ngram:Ngram",
    "sentences": "linnet.pipeline.pipeline:Sentences",
    "spacy": "linnet.detect.spacy:Spacy",
    "tagger": "linnet.detect.tagger:Tagger",
    "types": "linnet.retrieve.types:Types",
    "union": "linnet.pipeline.roles:Union",
}


def components() -> dict[str, str]:
    """Return name → ``module:Class`` of every component, those of other packages included."""
    return {**{name: target for name, (target, _) in _plugins().items()}, **COMPONENTS}


def plugins() -> dict[str, str]:
    """Return name → package, with its version, of the components of other packages."""
    return {name: package for name, (_, package) in _plugins().items()}


def is_called(component: str, name: str) -> bool:
    """Return whether a component is called `name`: by its own name, or by its room (detect, retrieve, …)."""
    return component == name or components().get(component, "").startswith(f"linnet.{name}.")


@functools.cache
def _plugins() -> dict[str, tuple[str, str]]:
    """Return ``module:Class`` and package of the components of other packages; looking for them takes milliseconds."""
    found: dict[str, tuple[str, str]] = {}
    for point in metadata.entry_points(group="linnet.components"):
        package = f"{point.dist.name} {point.dist.version}" if point.dist else point.module
        if point.name in COMPONENTS:
            lost = f"the component {point.name!r} of the package {package} is not used, since Linnet has one so called"
            warn(f"{lost}: rename it in the entry points of the package")
        else:
            found[point.name] = (point.value, package)
    return found


def name_of(part: Component) -> str:
    """Return the name that recipes call a component by."""
    wanted = f"{type(part).__module__}:{type(part).__qualname__}"
    for name, target in components().items():
        if target == wanted:
            return name
    raise LinnetError(f"{wanted} has no name: register it in the entry point group linnet.components")


def _recipe_folder() -> Path:
    shipped = Path(str(resources.files("linnet.recipes"))) / "shipped"
    # recipes are at the top of a checkout, but inside the package in a wheel
    return shipped if shipped.is_dir() else Path(__file__).parents[3] / "recipes"


def recipes() -> dict[str, Path]:
    """Return the recipes that come with Linnet, by name."""
    folder = _recipe_folder()
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in sorted(folder.rglob("*.toml"))}
