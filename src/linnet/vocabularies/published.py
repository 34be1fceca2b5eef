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
    An archive is unpacked, of it what matches the patterns in `unpack`, and the reader gets the folder.
    """

    url: str
    vocabulary: str  # the format that reads it
    marks: tuple[bytes, ...]
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    unpack: tuple[str, ...] = ()
    name: str = ""  # what it is kept as, if not as its address ends

    @property
    def kept_as(self) -> str:
        """The name of the file, with ``{year}`` where the edition stands in it."""
        return self.name or self.url.rpartition("/")[2]


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

MESH_PAGE = "https://www.nlm.nih.gov/databases/download/mesh.html"
NLM_LICENCE = (
    "Courtesy of the U.S. National Library of Medicine, under its terms, "
    "https://www.nlm.nih.gov/databases/download/terms_and_conditions.html: name NLM as the source and the edition used."
)
MESH_CITATION = "Medical Subject Headings. Bethesda (MD): National Library of Medicine (US)."
NCBI_LICENCE = (
    "A work of the U.S. National Library of Medicine, free to use: name NCBI as the source, "
    "https://www.ncbi.nlm.nih.gov/home/about/policies/"
)
NCBI_FTP = "https://ftp.ncbi.nlm.nih.gov"
DMP = ("names.dmp", "nodes.dmp", "merged.dmp", "delnodes.dmp")


def _mesh_of(year: int) -> Publication:
    """Return an edition of MeSH that is no longer the current one, in the place where these are kept."""
    place = f"https://nlmpubs.nlm.nih.gov/projects/mesh/{year}/xmlmesh"
    files = (
        PublishedFile(f"{place}/desc{year}.xml", "mesh", (b"<DescriptorRecord",)),
        PublishedFile(f"{place}/supp{year}.xml", "mesh", (b"<SupplementalRecord",), {"descriptors": "@0"}),
    )
    return Publication(f"Medical Subject Headings of {year}", files, MESH_PAGE, NLM_LICENCE, MESH_CITATION)


def _ontology(id: str, title: str, prefix: str, citation: str) -> Publication:
    """Return an ontology of the OBO Foundry."""
    page = f"https://obofoundry.org/ontology/{id}.html"
    files = (PublishedFile(f"https://purl.obolibrary.org/obo/{id}.obo", "obo", OBO, {"prefix": [prefix]}),)
    return Publication(title, files, page, f"as stated at {page}", citation)


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
    "medic2012": Publication(
        "MEDIC as in May 2012, near to what NCBI Disease was annotated with (Internet Archive)",
        (
            PublishedFile(
                "https://web.archive.org/web/20120510030652id_/http://ctdbase.org/reports/CTD_diseases.tsv.gz",
                "ctd",
                (b"DiseaseID",),
                name="CTD_diseases-2012-05.tsv.gz",
            ),
        ),
        CTD_PAGE,
        CTD_LICENCE,
        CTD_CITATION,
    ),
    "mesh": Publication(
        "Medical Subject Headings: descriptors and supplementary records",
        (
            PublishedFile(f"{NLM}/desc{{year}}.gz", "mesh", (b"<DescriptorRecord",)),
            PublishedFile(f"{NLM}/supp{{year}}.gz", "mesh", (b"<SupplementalRecord",), {"descriptors": "@0"}),
        ),
        MESH_PAGE,
        NLM_LICENCE,
        MESH_CITATION,
    ),
    "mesh2015": _mesh_of(2015),  # of BC5CDR
    "mesh2021": _mesh_of(2021),  # of NLM-Chem
    "mondo": Publication(
        "Mondo Disease Ontology",
        (PublishedFile("https://purl.obolibrary.org/obo/mondo.obo", "obo", OBO, {"prefix": ["MONDO"]}),),
        "https://mondo.monarchinitiative.org/pages/download/",
        "CC BY 4.0, https://creativecommons.org/licenses/by/4.0/",
        "Vasilevsky NA, Matentzoglu NA, Toro S, et al. Mondo: unifying diseases for the world, by the world. "
        "medRxiv 2022. doi:10.1101/2022.04.13.22273750",
    ),
    "ncbi-gene": Publication(
        "NCBI Gene: genes of all species",
        (PublishedFile(f"{NCBI_FTP}/gene/DATA/gene_info.gz", "ncbi-gene", (b"GeneID",)),),
        f"{NCBI_FTP}/gene/",
        NCBI_LICENCE,
        "Brown GR, Hem V, Katz KS, et al. Gene: a gene-centered information resource at NCBI. Nucleic Acids Research "
        "2015;43(D1):D36-D42. doi:10.1093/nar/gku1055",
    ),
    "ncbi-taxonomy": Publication(
        "NCBI Taxonomy",
        (PublishedFile(f"{NCBI_FTP}/pub/taxonomy/taxdump.tar.gz", "ncbi-taxonomy", (b".dmp",), unpack=DMP),),
        f"{NCBI_FTP}/pub/taxonomy/",
        NCBI_LICENCE,
        "Schoch CL, Ciufo S, Domrachev M, et al. NCBI Taxonomy: a comprehensive update on curation, resources and "
        "tools. Database 2020;baaa062. doi:10.1093/database/baaa062",
    ),
    # the ontologies of CRAFT
    "chebi": _ontology(
        "chebi",
        "Chemical Entities of Biological Interest",
        "CHEBI",
        "Hastings J, Owen G, Dekker A, et al. ChEBI in 2016. Nucleic Acids Research 2016;44(D1):D1214-D1219.",
    ),
    "cl": _ontology(
        "cl",
        "Cell Ontology",
        "CL",
        "Diehl AD, Meehan TF, Bradford YM, et al. The Cell Ontology 2016. Journal of Biomedical Semantics 2016;7:44.",
    ),
    "go": _ontology(
        "go",
        "Gene Ontology",
        "GO",
        "The Gene Ontology Consortium. The Gene Ontology knowledgebase in 2023. Genetics 2023;224(1):iyad031.",
    ),
    "mop": _ontology("mop", "Molecular Process Ontology", "MOP", "Molecular Process Ontology, OBO Foundry."),
    "pr": _ontology(
        "pr",
        "Protein Ontology",
        "PR",
        "Natale DA, Arighi CN, Blake JA, et al. Protein Ontology (PRO). Nucleic Acids Research 2017;45(D1):D339-D346.",
    ),
    "so": _ontology(
        "so",
        "Sequence Ontology",
        "SO",
        "Eilbeck K, Lewis SE, Mungall CJ, et al. The Sequence Ontology. Genome Biology 2005;6:R44.",
    ),
    "uberon": _ontology(
        "uberon",
        "Uberon, anatomy of animals",
        "UBERON",
        "Mungall CJ, Torniai C, Gkoutos GV, et al. Uberon, an integrative multi-species anatomy ontology. Genome "
        "Biology 2012;13:R5.",
    ),
}
