"""Cross-references of a knowledge base as SSSOM, the Simple Standard for Sharing Ontological Mappings (version 1.0).

A file ``.sssom.tsv`` begins with metadata as YAML in comments, of which ``curie_map`` says what the prefixes stand for;
a table with a row for each cross-reference of a live concept follows. It is written in the standard's canonical form
(https://mapping-commons.github.io/sssom/spec-formats-tsv/): equal knowledge bases give equal files. The predicate is
``oboInOwl:hasDbXref``, since a cross-reference does not claim that the two are the same, and the justification
``semapv:UnspecifiedMatching``, since sources do not say how they found it.

``license`` is the address that the provenance gives, where all sources give the same one. ``subject_source_version`` is
the release of the only source, if nothing has been edited since. Prefixes whose addresses Linnet does not know get the
ones that SSSOM's own tool gives them.
"""

from __future__ import annotations

import json
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from linnet.data import Concept
from linnet.errors import KnowledgeBaseError
from linnet.kb import KnowledgeBase
from linnet.kb.curies import ADDRESSES
from linnet.reporter import warn
from linnet.text.files import replacing
from linnet.vocabularies.stored import concepts_by_id

__all__ = ["is_sssom", "write_sssom"]

PREDICATE, JUSTIFICATION = "oboInOwl:hasDbXref", "semapv:UnspecifiedMatching"
COLUMNS = ("subject_id", "subject_label", "predicate_id", "object_id", "mapping_justification")
# a prefix, and an id without the characters that no address may have
CURIE = re.compile(r"[A-Za-z_][\w.-]*:(?!//)[^\s<>\"{}|\\^`]+")
# what SSSOM's own tool writes for sets without an address, prefixes without one, and no licence
SET = "https://w3id.org/sssom/mappings/"
UNKNOWN_PREFIX = "http://w3id.org/sssom/unknown_prefix/"
NO_LICENCE = "https://w3id.org/sssom/license/unspecified"
BUILT_IN = frozenset(("owl", "rdf", "rdfs", "semapv", "skos", "sssom"))  # prefixes that no file declares
NO_SOURCES = ("joined", "subset")  # entries of the provenance that say what was done with the sources
ADDRESS = re.compile(r"https?://[^\s,;]+")
PLAIN = re.compile(r"[A-Za-z](?:[\w./#=%+?&~()@,;!*'$-]|:(?=\S)| (?=\w))*")  # texts that YAML takes as they are
YAML_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))
SHOWN = 5  # prefixes that a warning names


def is_sssom(path: str | Path) -> bool:
    """Return whether a file is SSSOM, by its name.

    >>> is_sssom("hp.sssom.tsv"), is_sssom("hp.sssom.tsv.gz"), is_sssom("sssom.tsv")
    (True, True, False)
    """
    return Path(path).name.removesuffix(".gz").endswith(".sssom.tsv")


def write_sssom(kb: KnowledgeBase, path: str | Path, *, progress: Callable[[int], None] | None = None) -> int:
    """Write the cross-references of a knowledge base to the file `path` and return how many.

    What is no CURIE is left out, and told with the prefixes whose addresses are not known.

    Args:
        kb: the knowledge base.
        path: the file, plain or ``.gz``.
        progress: called with the number of concepts done.

    Raises:
        FormatError: a place that cannot be written to.
        KnowledgeBaseError: there is no cross-reference that can be written; or the file is damaged, or was replaced
            since it was opened.
    """
    prefixes = _survey(kb)
    count = 0
    with replacing(path) as out:
        out.writelines(f"#{line}\n" for line in _metadata(kb, prefixes))
        out.write("\t".join(COLUMNS) + "\n")
        for number, concept in enumerate(concepts_by_id(kb), 1):
            for xref in _objects(concept):
                cells = (concept.id, _cell(concept.name), PREDICATE, xref, JUSTIFICATION)
                out.write("\t".join(cells) + "\n")
                count += 1
            if progress is not None:
                progress(number)
    return count


def _objects(concept: Concept) -> list[str]:
    """Return the cross-references that can be written, sorted."""
    return sorted({xref for xref in concept.xrefs if CURIE.fullmatch(xref)}) if CURIE.fullmatch(concept.id) else []


def _survey(kb: KnowledgeBase) -> list[str]:
    """Return the prefixes that a file needs, sorted, and tell what it will lack."""
    used: Counter[str] = Counter()
    left_out: list[str] = []
    for concept in concepts_by_id(kb):
        objects = _objects(concept)
        used.update(map(_prefix, objects))
        if objects:
            used[_prefix(concept.id)] += 1
        if odd := set(concept.xrefs).difference(objects):
            left_out += sorted(odd) if CURIE.fullmatch(concept.id) else [concept.id] * len(odd)
    if left_out:
        warn(f"cross-references left out, as SSSOM holds CURIEs alone: {len(left_out):,}, such as {left_out[0]!r}")
    if not used:
        raise KnowledgeBaseError(f"{kb.path.name} has no cross-references that SSSOM can hold")
    needed = {*used, _prefix(PREDICATE)} - BUILT_IN
    if unknown := Counter({prefix: used[prefix] for prefix in sorted(needed - ADDRESSES.keys())}):
        few = ", ".join(f"{prefix} ({count:,})" for prefix, count in unknown.most_common(SHOWN))
        more = ", …" if len(unknown) > SHOWN else ""
        warn(f"prefixes whose addresses are not known: {few}{more}; curie_map has them below {UNKNOWN_PREFIX}")
    return sorted(needed)


def _prefix(curie: str) -> str:
    return curie.partition(":")[0]


def _cell(text: str) -> str:
    """Return a text as a cell of SSSOM, which is quoted only where it must be."""
    text = " ".join(text.split())
    quoted = text.replace('"', '""')
    return text if text == quoted else f'"{quoted}"'


# --- metadata --------------------------------------------------------------------------------------------------------


def _metadata(kb: KnowledgeBase, prefixes: Iterable[str]) -> Iterator[str]:
    """Yield the lines of the metadata, in the standard's order."""
    yield "curie_map:"
    for prefix in prefixes:
        yield f"  {_yaml(prefix)}: {_yaml(ADDRESSES.get(prefix, f'{UNKNOWN_PREFIX}{prefix}/'))}"
    name, sources = kb.info["name"], [source for source in kb.sources if source.get("vocabulary") not in NO_SOURCES]
    yield f"mapping_set_id: {SET}{uuid.uuid5(uuid.NAMESPACE_URL, f'linnet:{name}:{kb.version}')}"
    yield f"mapping_set_version: {_yaml(kb.version)}"
    yield f"mapping_set_title: {_yaml(f'Cross-references of {name}')}"
    yield f"license: {_yaml(_licence(sources))}"
    if version := _version(kb, sources):
        yield f"subject_source_version: {_yaml(version)}"


def _licence(sources: Iterable[dict[str, Any]]) -> str:
    """Return the address of the licence of all sources, as far as it is one."""
    told = [ADDRESS.search(str(source.get("licence", ""))) for source in sources]
    addresses = {found[0].rstrip(".:)") if found else NO_LICENCE for found in told}
    return addresses.pop() if len(addresses) == 1 else NO_LICENCE


def _version(kb: KnowledgeBase, sources: list[dict[str, Any]]) -> str:
    """Return the release of the only source, "" if there are several, it names none, or people have edited it."""
    return str(sources[0].get("release", "")) if len(sources) == len(kb.history) == 1 else ""


def _yaml(text: str) -> str:
    """Return a text as YAML, quoted only where it must be.

    >>> _yaml("hp/releases/2025-01-16"), _yaml("2025"), _yaml("no")
    ('hp/releases/2025-01-16', '"2025"', '"no"')
    """
    plain = PLAIN.fullmatch(text) and text.lower() not in YAML_WORDS
    return text if plain else json.dumps(text, ensure_ascii=False)
