"""Corpora in PubTator, BioC and GSC+, and those that come in forms of their own, with the files they are published as.

Addresses are those their publishers name; nothing here, and no test, has asked them.
"""

from __future__ import annotations

from collections.abc import Mapping

from linnet.corpora.entry import Corpus, Counts, Download, Layout, by_ids, layouts, splits
from linnet.data import FrozenDict

__all__ = ["ABSTRACTS", "OWN"]

PUBLIC_DOMAIN = "a work of the United States Government, in the public domain"
GITHUB = "https://github.com"
FTP = "https://ftp.ncbi.nlm.nih.gov/pub/lu"
NCBI = "https://www.ncbi.nlm.nih.gov"
# as pinned by the loader of nlstruct, which refuses other files
NCBI_DISEASE = {
    "train": "26157233d70aeda0b2ac1dda4fc9369b0717bd888f5afe511d0c1c6a5ad307a0",
    "develop": "61681ad09356619c8f4f3e1738663dd007ad0135720fdc90195120fea944cbe9",
    "test": "b978442f39c739deb6619c70e7b07327d9eb1b71aff64996c02a592435583f46",
}
TITLE = r"\d+\|t\|"  # as PubTator files begin
NOT_STATED = "not stated in the copies that go round: ask its authors"


def _pubtator(pattern: str, *rules: str, **names: str) -> Mapping[str, Layout]:
    return layouts(pubtator=Layout("pubtator", splits(pattern, **names), rules=rules))


def _medmentions(kind: str) -> Mapping[str, Layout]:
    return layouts(pubtator=by_ids("pubtator", f"**/{kind}/data/corpus_pubtator.txt", PMIDS, untested=True))


def _medmentions_files(kind: str) -> tuple[Download, ...]:
    lists = [f"full/data/corpus_pubtator_pmids_{split}.txt" for split in ("trng", "dev", "test")]
    places = {f"{kind}/data/corpus_pubtator.txt.gz": TITLE, **dict.fromkeys(lists, r"\d+\s*$")}
    site = f"{GITHUB}/chanzuckerberg/MedMentions/raw/master"
    return tuple(Download(f"{site}/{place}", place, begins=begins) for place, begins in places.items())


BIORED = {"train": "Train", "dev": "Dev", "test": "Test"}
CDR = {"train": "Training", "dev": "Development", "test": "Test"}
PMIDS = splits("**/corpus_pubtator_pmids_{}.txt", train="trng", dev="dev", test="test")
MEDMENTIONS = "Mohan & Li, MedMentions: a large biomedical corpus annotated with UMLS concepts, AKBC 2019"
ABSTRACTS = (
    Corpus(
        "bc5cdr",
        "bc5cdr",
        "PubMed abstracts with chemicals and diseases (MeSH) and the relations between them; composite mentions",
        PUBLIC_DOMAIN,
        "Li et al., BioCreative V CDR task corpus: a resource for chemical disease relation extraction, Database 2016",
        layouts(
            pubtator=Layout("pubtator", splits("**/CDR_{}Set.PubTator.txt", **CDR)),
            bioc=Layout("bioc_xml", splits("**/CDR_{}Set.BioC.xml", **CDR), rules=("fold-composites",)),
        ),
        FrozenDict(train=Counts(500, 9_385), dev=Counts(500, 9_591)),
        page="https://biocreative.bioinformatics.udel.edu/tasks/biocreative-v/track-3-cdr/",
        downloads=(Download(f"{FTP}/BC5CDR/CDR_Data.zip", only=("*.PubTator.txt", "*.BioC.xml")),),
        terminologies=("mesh2015", "mesh"),
    ),
    Corpus(
        "ncbi_disease",
        "ncbi_disease",
        "PubMed abstracts with diseases (MEDIC: MeSH or OMIM); | and + both join ids that all hold, meta says which",
        PUBLIC_DOMAIN,
        "Doğan, Leaman & Lu, NCBI disease corpus: a resource for disease name recognition and concept normalization, "
        "Journal of Biomedical Informatics 2014",
        _pubtator(
            "**/NCBI{}set_corpus.txt", "repair-offsets", "drop-copies", train="train", dev="develop", test="test"
        ),
        FrozenDict(train=Counts(592, 5_134), dev=Counts(100, 787)),
        page=f"{NCBI}/CBBresearch/Dogan/DISEASE/",
        downloads=tuple(
            Download(f"{NCBI}/CBBresearch/Dogan/DISEASE/NCBI{split}set_corpus.zip", sha256=sum)
            for split, sum in NCBI_DISEASE.items()
        ),
        terminologies=("medic2012", "medic"),
    ),
    Corpus(
        "biored",
        "biored",
        "PubMed abstracts with genes, diseases, chemicals, variants, species and cell lines, and relations",
        NOT_STATED,
        "Luo et al., BioRED: a rich biomedical relation extraction dataset, Briefings in Bioinformatics 2022",
        layouts(
            pubtator=Layout("pubtator", splits("**/BioRED_{}.PubTator", **BIORED)),
            archive=Layout("pubtator", splits("**/{}.PubTator", **BIORED)),
        ),
        FrozenDict(train=Counts(400, 13_351), dev=Counts(100, 3_533), test=Counts(100, 3_535)),
        page="https://github.com/ncbi/BioRED",
        downloads=(Download(f"{FTP}/BioRED/BIORED.zip", only=("*.PubTator",)),),
    ),
    Corpus(
        "nlm_chem",
        "nlm_chem",
        "Full texts from PubMed Central with chemicals (MeSH); the dev split in PubTator is half of the test articles",
        "published by the NCBI for everyone's use",
        "Islamaj et al., NLM-Chem, a new resource for chemical entity recognition in PubMed full text literature, "
        "Scientific Data 2021",
        layouts(
            pubtator=Layout("pubtator", splits("**/NLMChem_{}.PubTator", train="Train", dev="dev_half", test="Test")),
            bioc=Layout(
                "bioc_xml",
                splits("**/BC7T2-NLMChem-corpus-{}.BioC.xml", train="train", dev="dev", test="test"),
                untested=True,
            ),
        ),
        FrozenDict(dev=Counts(25, 7_027)),
        page=f"{FTP}/BC7-NLM-Chem-track/",
        downloads=(
            Download(f"{FTP}/BC7-NLM-Chem-track/BC7T2-NLMChem-corpus_v2.BioC.xml.gz", only=("*NLMChem-corpus-*.xml",)),
        ),
        terminologies=("mesh2021", "mesh"),
    ),
    Corpus(
        "medmentions",
        "medmentions",
        "PubMed abstracts with concepts of the whole UMLS; types are semantic types (T047)",
        "CC0",
        MEDMENTIONS,
        _medmentions("full"),
        page=f"{GITHUB}/chanzuckerberg/MedMentions",
        downloads=_medmentions_files("full"),
    ),
    Corpus(
        "medmentions_st21pv",
        "medmentions",
        "MedMentions with the 21 semantic types and 18 sources chosen for information retrieval",
        "CC0",
        MEDMENTIONS,
        _medmentions("st21pv"),
        page=f"{GITHUB}/chanzuckerberg/MedMentions",
        downloads=_medmentions_files("st21pv"),
    ),
    Corpus(
        "medmentions_st21pv_derived",
        "medmentions_st21pv_derived",
        "MedMentions ST21pv tokenised, abbreviations expanded, sentences without mentions left out, types unknown: "
        "for training; scores on it do not compare with published ones",
        "CC0",
        MEDMENTIONS,
        _pubtator("**/{}_corpus_pubtator.txt", train="train", dev="dev"),
        FrozenDict(train=Counts(2_135, 98_644), dev=Counts(500, 23_355)),
    ),
    Corpus(
        "gsc_plus",
        "gsc_plus",
        "PubMed abstracts with phenotypes (Human Phenotype Ontology of 2016); nested mentions",
        "MIT (the copy)",
        "Groza et al., Automatic concept recognition using the Human Phenotype Ontology reference and test suite "
        "corpora, Database 2015; Lobo et al., Identifying human phenotype terms by combining machine learning and "
        "validation rules, BioMed Research International 2017",
        FrozenDict(gsc=Layout("gsc", splits("**/GSCplus_{}_gold.tsv", dev="dev", test="test"))),
        FrozenDict(dev=Counts(22, 173)),
        page=f"{GITHUB}/lasigeBioTM/IHP",
        terminologies=("hpo",),
    ),
    Corpus(
        "species",
        "other",
        "PubMed abstracts with species and higher taxa (NCBI Taxonomy)",
        NOT_STATED,
        "Pafilis et al., The SPECIES and ORGANISMS resources for fast and accurate identification of taxonomic names "
        "in text, PLoS ONE 2013",
        _pubtator("**/SPECIES_{}.PubTator", train="Train", test="Test"),
        FrozenDict(train=Counts(639, 3_053)),
        page=f"{NCBI}/research/bionlp/",
        terminologies=("ncbi-taxonomy",),
    ),
)


PLACED = ("place-annotations",)
# the lists of splits that others use
S800_LISTS = "https://raw.githubusercontent.com/spyysalo/s800/f5425e7498930757c8577828eabc41cf88d80348/split"
S800_IDS = splits("**/split/{}.txt", train="train", dev="devel", test="test")
CRAFT_IDS = splits("**/articles/ids/craft-ids-{}.txt", train="train", dev="dev", test="test")
CRAFT_ONTOLOGIES = ("chebi", "cl", "go", "mondo", "mop", "ncbi-taxonomy", "pr", "so", "uberon")
FILES_OF_CRAFT = ("*/articles/txt/*.txt", "*/articles/ids/*.txt", "*/concept-annotation/*/knowtator*/*.xml")
COMETA = ("stratified_general", "stratified_specific", "zeroshot_general", "zeroshot_specific")
FOLDS = tuple(f"fold-{number}" for number in range(10))


def _cometa(kind: str) -> Layout:
    reading = kind.rpartition("_")[2]
    return Layout(
        f"cometa_{reading}", splits(f"**/splits/{kind}/{{}}.csv", train="train", dev="dev", test="test"), untested=True
    )


def _fold(name: str) -> Layout:
    files = splits(f"**/AskAPatient.{name}.{{}}.txt", train="train", dev="validation", test="test")
    return Layout("ask_a_patient", files, untested=True)


OWN = (
    Corpus(
        "nlm_gene",
        "other",
        "PubMed abstracts with genes of many species (NCBI Gene); ids joined by , or ;, cells and domains without",
        NOT_STATED,
        "Islamaj et al., NLM-Gene, a richly annotated gold standard dataset for gene entities that addresses ambiguity "
        "and multi-species gene recognition, Journal of Biomedical Informatics 2021",
        layouts(
            pubtator=Layout(
                "pubtator",
                splits("**/NLM[Gg]ene_{}.PubTator", train="Train", test="Test"),
                rules=("repair-offsets",),
            ),
            bioc=Layout(
                "nlm_gene", splits("**/Pmidlist.{}.txt", train="Train", test="Test"), rules=PLACED, untested=True
            ),
        ),
        FrozenDict(train=Counts(450, 13_797)),
        page="https://zenodo.org/records/5089049",
        downloads=(
            Download(
                "https://zenodo.org/records/5089049/files/NLM-Gene-Corpus.zip",
                only=("*Corpus/Pmidlist.*.txt", "*Corpus/FINAL/*.XML"),
            ),
        ),
        terminologies=("ncbi-gene",),
    ),
    Corpus(
        "gnormplus",
        "gnormplus",
        "PubMed abstracts with genes, gene families and protein domains (NCBI Gene); nlmiat is the part of the "
        "Citation GIA test collection that its authors trained on too",
        NOT_STATED,
        "Wei, Kao & Lu, GNormPlus: an integrative approach for tagging genes, gene families, and protein domains, "
        "BioMed Research International 2015",
        layouts(
            bioc=Layout(
                "gnormplus",
                splits("**/{}.BioC.xml", train="BC2GNtrain", test="BC2GNtest", nlmiat="NLMIAT"),
                rules=PLACED,
                untested=True,
            )
        ),
        page=f"{NCBI}/research/bionlp/Tools/gnormplus/",
        downloads=(
            Download(
                f"{NCBI}/CBBresearch/Lu/Demo/tmTools/download/GNormPlus/GNormPlusCorpus.zip", only=("*.BioC.xml",)
            ),
        ),
        terminologies=("ncbi-gene",),
    ),
    Corpus(
        "linnaeus",
        "other",
        "Full texts from PubMed Central with species (NCBI Taxonomy); all is the corpus as its authors give it",
        "CC BY (the authors' files)",
        "Gerner, Nenadic & Bergman, LINNAEUS: a species name identification system for biomedical literature, "
        "BMC Bioinformatics 2010",
        layouts(
            pubtator=Layout("pubtator", splits("**/Linnaeus_{}.PubTator", train="Train", test="Test")),
            tags=Layout("linnaeus", FrozenDict(all="**/tags.tsv"), rules=PLACED),
        ),
        FrozenDict(train=Counts(80, 2_321)),
        page="https://linnaeus.sourceforge.net/",
        downloads=(
            Download(
                "https://sourceforge.net/projects/linnaeus/files/Corpora/manual-corpus-species-1.0.tar.gz/download",
                only=("*/tags.tsv", "*/txt/*.txt"),
                name="manual-corpus-species-1.0.tar.gz",
            ),
        ),
        terminologies=("ncbi-taxonomy",),
    ),
    Corpus(
        "s800",
        "s800",
        "PubMed abstracts of eight fields with species and higher taxa (NCBI Taxonomy), as its authors give them; the "
        "splits are those of later work",
        "texts under MEDLINE's terms",
        "Pafilis et al., The SPECIES and ORGANISMS resources for fast and accurate identification of taxonomic names "
        "in text, PLoS ONE 2013",
        layouts(
            tags=by_ids("s800", "**/S800.tsv", S800_IDS, *PLACED, untested=True),
            all=Layout("s800", FrozenDict(all="**/S800.tsv"), rules=PLACED, untested=True),
        ),
        page="https://species.jensenlab.org/",
        downloads=(
            Download(
                "https://species.jensenlab.org/files/S800-1.0.tar.gz",
                only=("*S800.tsv", "*pubmedid.tsv", "*abstracts/*.txt"),
            ),
            *(
                Download(f"{S800_LISTS}/{name}.txt", f"split/{name}.txt", begins=r"[\w:.-]*\d[\w:.-]*\s*$")
                for name in ("train", "devel", "test")
            ),
        ),
        terminologies=("ncbi-taxonomy",),
    ),
    Corpus(
        "bioid",
        "bioid",
        "Captions of figures with genes, proteins, chemicals, cells, tissues, organisms and cell components, in the "
        "ids of twelve databases",
        NOT_STATED,
        "Arighi et al., Bio-ID track overview, BioCreative VI Workshop 2017",
        layouts(captions=Layout("bioid", FrozenDict(train="**/annotations.csv"), rules=PLACED, untested=True)),
        page="https://biocreative.bioinformatics.udel.edu/tasks/biocreative-vi/track-1/",
        downloads=(
            Download(
                "https://biocreative.bioinformatics.udel.edu/media/store/files/2017/BioIDtraining_2.tar.gz",
                only=("*/annotations.csv", "*/caption_bioc/*.xml"),
            ),
        ),
    ),
    Corpus(
        "tmvar",
        "tmvar",
        "PubMed abstracts with variants (dbSNP), their genes, species and cell lines; tmVar 3, which has no splits",
        "published by the NCBI for everyone's use",
        "Wei et al., tmVar 3.0: an improved variant concept recognition and normalization tool, Bioinformatics 2022",
        layouts(
            pubtator=Layout("tmvar", FrozenDict(all="**/tmVar3Corpus.txt"), rules=("repair-offsets",), untested=True)
        ),
        page=f"{GITHUB}/ncbi/tmVar3",
        downloads=(Download(f"{FTP}/tmVar3/tmVar3Corpus.txt", "tmVar3Corpus.txt", begins=TITLE),),
    ),
    Corpus(
        "craft",
        "craft",
        "Full texts from PubMed Central with the concepts of eleven ontologies; nested and discontinuous mentions; "
        "the layout extended has the classes that its authors added to the ontologies, and diseases in names of "
        "genotypes, too",
        "CC BY 3.0",
        "Bada et al., Concept annotation in the CRAFT corpus, BMC Bioinformatics 2012",
        layouts(
            knowtator=by_ids("craft", "**/concept-annotation", CRAFT_IDS, *PLACED),
            extended=by_ids("craft_extended", "**/concept-annotation", CRAFT_IDS, *PLACED),
        ),
        page=f"{GITHUB}/UCDenver-ccp/CRAFT",
        downloads=(
            Download(
                f"{GITHUB}/UCDenver-ccp/CRAFT/archive/refs/tags/v5.0.2.zip", only=FILES_OF_CRAFT, name="CRAFT-5.0.2.zip"
            ),
        ),
        terminologies=CRAFT_ONTOLOGIES,
    ),
    Corpus(
        "cometa",
        "cometa",
        "Terms of laypeople in posts of Reddit (SNOMED CT); layouts: stratified or zero-shot splits, general or "
        "specific concepts",
        "given by its authors on request, for research",
        "Basaldella et al., COMETA: a corpus for medical entity linking in the social media, EMNLP 2020",
        layouts(**{kind: _cometa(kind) for kind in COMETA}),
        page=f"{GITHUB}/cambridgeltl/cometa",
    ),
    Corpus(
        "ask_a_patient",
        "ask_a_patient",
        "Phrases of patients about medicines (SNOMED CT and AMT), without context, in ten folds: "
        "ask_a_patient/fold-0:train",
        "CC BY 4.0",
        "Limsopatham & Collier, Normalising medical concepts in social media texts by learning semantic "
        "representation, ACL 2016",
        layouts(**{fold: _fold(fold) for fold in FOLDS}),
        page="https://zenodo.org/records/55013",
        downloads=(
            Download(
                "https://zenodo.org/records/55013/files/datasets.zip",
                only=("*AskAPatient/AskAPatient.fold-*.txt",),
                name="AskAPatient-datasets.zip",
            ),
        ),
        folds=FOLDS,
    ),
)
