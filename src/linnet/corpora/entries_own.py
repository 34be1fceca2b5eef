"""Corpora that come in forms of their own, with the files they are published as.

Addresses are those their publishers name; nothing here, and no test, has asked them.
"""

from __future__ import annotations

from linnet.corpora.entries import FTP, GITHUB, NCBI, NOT_STATED, TITLE
from linnet.corpora.entry import Corpus, Counts, Download, Layout, by_ids, layouts, splits
from linnet.data import FrozenDict

__all__ = ["OWN"]

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
