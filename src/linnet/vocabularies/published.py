"""Terminologies that anybody may fetch: addresses, readers, licences and what to cite.

The addresses are those their publishers name; nothing here, and no test, has asked them. Where one has moved, give the
new address (`linnet.vocabularies.download.download`), or fetch the file by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from linnet.frozen import EMPTY
from linnet.vocabularies.hpo import HPO_CITATION, HPO_LICENCE

__all__ = ["PUBLISHED", "Publication", "PublishedFile"]


@dataclass(frozen=True)
class PublishedFile:
    """One file of a terminology.

    ``{year}`` in the address is the year of the edition. `marks` stand near the beginning of the unpacked
    file, all of them. An option's value that begins with ``@`` is the path of the publication's file of that number.
    """

    url: str
    vocabulary: str  # the format that reads it
    marks: tuple[bytes, ...]
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True)
class Publication:
    """A terminology: its files, the page where a person finds them, its licence, what to cite."""

    title: str
    files: tuple[PublishedFile, ...]
    page: str
    licence: str
    citation: str


OBO = (b"format-version:",)
FIELDS = b"# Fields:"
NLM = "https://nlmpubs.nlm.nih.gov/projects/mesh/MESH_FILES/xmlmesh"
CTD = "https://ctdbase.org/reports"
CTD_PAGE = "https://ctdbase.org/downloads/"
CTD_LICENCE = (
    "Comparative Toxicogenomics Database, NC State University: free for research under its own terms, "
    "https://ctdbase.org/about/legal.jsp: cite CTD, name the date of the data, ask before commercial use."
)
CTD_CITATION = (
    "Davis AP, Wiegers TC, Sciaky D, et al. Comparative Toxicogenomics Database's 20th anniversary: update 2025. "
    "Nucleic Acids Research 2025;53(D1):D1328-D1334. doi:10.1093/nar/gkae883"
)
CTD_DISEASES = PublishedFile(f"{CTD}/CTD_diseases.tsv.gz", "ctd", (FIELDS, b"DiseaseID"))
CTD_CHEMICALS = PublishedFile(f"{CTD}/CTD_chemicals.tsv.gz", "ctd", (FIELDS, b"ChemicalID"))

PUBLISHED: dict[str, Publication] = {
    "ctd": Publication(
        "CTD's diseases (MEDIC) and chemicals", (CTD_DISEASES, CTD_CHEMICALS), CTD_PAGE, CTD_LICENCE, CTD_CITATION
    ),
    "doid": Publication(
        "Human Disease Ontology",
        (PublishedFile("https://purl.obolibrary.org/obo/doid.obo", "obo", OBO, {"prefix": ["DOID"]}),),
        "https://disease-ontology.org/downloads/",
        "CC0 1.0, https://creativecommons.org/publicdomain/zero/1.0/",
        "Baron JA, Johnson CS-B, Schor MA, et al. The DO-KB Knowledgebase: a 20-year journey developing the disease "
        "open science ecosystem. Nucleic Acids Research 2024;52(D1):D1305-D1314. doi:10.1093/nar/gkad1051",
    ),
    "hpo": Publication(
        "Human Phenotype Ontology",
        (PublishedFile("https://purl.obolibrary.org/obo/hp.obo", "hpo", OBO),),
        "https://hpo.jax.org/data/ontology",
        HPO_LICENCE,
        HPO_CITATION,
    ),
    "medic": Publication(
        "MEDIC, CTD's disease vocabulary (MeSH and OMIM)", (CTD_DISEASES,), CTD_PAGE, CTD_LICENCE, CTD_CITATION
    ),
    "mesh": Publication(
        "Medical Subject Headings: descriptors and supplementary records",
        (
            PublishedFile(f"{NLM}/desc{{year}}.gz", "mesh", (b"<DescriptorRecord",)),
            PublishedFile(f"{NLM}/supp{{year}}.gz", "mesh", (b"<SupplementalRecord",), {"descriptors": "@0"}),
        ),
        "https://www.nlm.nih.gov/databases/download/mesh.html",
        "Courtesy of the U.S. National Library of Medicine, under its terms, "
        "https://www.nlm.nih.gov/databases/download/terms_and_conditions.html: name NLM as the source and the edition "
        "used.",
        "Medical Subject Headings. Bethesda (MD): National Library of Medicine (US).",
    ),
    "mondo": Publication(
        "Mondo Disease Ontology",
        (PublishedFile("https://purl.obolibrary.org/obo/mondo.obo", "obo", OBO, {"prefix": ["MONDO"]}),),
        "https://mondo.monarchinitiative.org/pages/download/",
        "CC BY 4.0, https://creativecommons.org/licenses/by/4.0/",
        "Vasilevsky NA, Matentzoglu NA, Toro S, et al. Mondo: unifying diseases for the world, by the world. "
        "medRxiv 2022. doi:10.1101/2022.04.13.22273750",
    ),
}
