"""The model card of a release: what it is made of, figures by corpus, known failures, licences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from linnet import __version__
from linnet.corpora.catalog import CORPORA
from linnet.kb import KnowledgeBase
from linnet.vocabularies.published import PUBLISHED

MEASURES = {
    "strict.precision": "strict precision",
    "strict.recall": "recall",
    "strict.f1": "F1",
    "document.f1": "document F1",
}
KINDS = {
    "bc5cdr": "PubMed abstracts, drugs and the diseases that they cause",
    "ncbi_disease": "PubMed abstracts, mostly of inherited diseases; diseases alone",
    "gsc_plus": "PubMed abstracts, rare diseases and their phenotypes",
}
TERMS = {"mesh-table": "mesh", "ctd": "ctd", "hpo": "hpo"}  # how a source was read -> whose it is
PAGE = """\
# {name}

Diseases, chemicals and phenotypes in English biomedical text, each linked to its terminology, side by side. No neural
network; runs on one core, without a network.

{made_of}

## Figures

{figures}

End to end, from the text alone: mentions with their span and concept (strict), and the concepts of each document.
The figures are those of the same recipe trained on the train splits. What ships has learned from the dev splits too,
so it cannot be measured there; its probabilities, and the threshold below which it gives no answer, are learned from
what parts that have not seen a document say of it. Rules were made with errors on these dev splits in sight: expect
less elsewhere, and measure on your own documents.

## Known failures

* Names that neither the terminology nor a training text has; general words that also name something rare; short forms
  that the text does not define.
* It has learned the language of abstracts. Letters, social media, full articles and other languages were not measured.
* A phenotype is often a disease too: *seizures* is a mention of each terminology. `--pipeline {name}/{first}` takes
  one of them.
* Genes, species, procedures and body parts are not linked.
* Assertions (negated, a relative's, …) come from rules for clinical English, and were not measured on these corpora.
* Probabilities marked with `*` are not calibrated: they rank.
* Not for decisions about a patient without a person.

## What it learned from

{corpora}

It keeps words of these texts: names that people marked, and counts.

## Terminologies

{terms}

The pipelines hold names of them, too. Where terms say so, ask before commercial use and before you pass them on.
"""


class Row(NamedTuple):
    """The figures of a pipeline on the dev documents of a corpus, and what it had learned from."""

    pipeline: str
    corpus: str
    learned: str
    figures: Mapping[str, float]


def card(
    name: str, made_of: Mapping[str, str], rows: Sequence[Row], corpora: Sequence[str], kbs: Sequence[KnowledgeBase]
) -> str:
    """Return the card of a release; `made_of` says of each pipeline, by name, how it was made."""
    made = [
        f"* made by Linnet {__version__}: `make release-models`",
        *(f"* `{one}`: {made_of[one]}" for one in made_of),
    ]
    head = ("pipeline", "corpus (dev)", "kind of text", "learned from", *MEASURES.values())
    table = [head, ("---",) * len(head)]
    for row in rows:
        told = (row.pipeline, row.corpus, KINDS.get(row.corpus, "others"), row.learned)
        table.append((*told, *(f"{row.figures[one]:.3f}" for one in MEASURES)))
    known = (CORPORA[one] for one in corpora if one in CORPORA)
    return PAGE.format(
        name=name,
        first=next(iter(made_of)),
        made_of="\n".join(made),
        figures="\n".join(f"| {' | '.join(cells)} |" for cells in table),
        corpora="\n".join(f"* {one.name}: {one.licence}. {one.citation}" for one in known) or "* documents of others",
        terms="\n".join(line for kb in kbs for line in _terms(kb)),
    )


def _terms(kb: KnowledgeBase) -> Iterator[str]:
    """Yield what a knowledge base is made of, each source with its licence."""
    yield f"* {kb.info['name']}, version {kb.version}, {kb.info['concepts']} concepts:"
    for source in kb.sources:
        kind = str(source.get("vocabulary", ""))
        if kind == "joined":  # how the others were
            continue
        known = PUBLISHED.get(TERMS.get(kind, ""))
        told = " ".join(str(source[key]) for key in ("file", "release") if key in source)
        licence = source.get("licence") or (known.licence if known else "no licence is recorded, look it up")
        yield f"    * {known.title if known else kind} ({told}): {licence}"
