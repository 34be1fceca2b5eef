"""Corpora in forms of their own, read from excerpts in their layout: texts, spans, concepts, and what is refused."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.corpora.published_excerpts import EXCERPTS, put

from linnet.corpora.catalog import CORPORA, read_corpus
from linnet.corpora.craft import read as read_craft
from linnet.corpora.vocabulary import documents
from linnet.data import Document, Span
from linnet.errors import FormatError, LinnetError, LinnetWarning


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))


@pytest.fixture
def corpus(tmp_path: Path) -> Callable[[str], list[Document]]:
    """Read a corpus with its split, such as ``craft:train``, from its excerpt."""

    def read(name: str) -> list[Document]:
        folder = tmp_path / "data" / "corpora" / CORPORA[name.partition(":")[0].partition("/")[0]].folder
        put(folder, name.partition(":")[0].partition("/")[0])
        return list(documents(name, data=tmp_path / "data"))

    return read


Read = Callable[[str], list[Document]]


def told(doc: Document) -> list[tuple[str, tuple[str, ...] | None]]:
    """Text and concepts of each mention."""
    return [
        ("…".join(doc.text[start:end] for start, end in mention.spans), mention.concepts)
        for mention in doc.mentions or ()
    ]


def test_craft_has_discontinuous_mentions_of_several_ontologies(corpus: Read) -> None:
    [doc] = corpus("craft:train")
    assert doc.id == "11319941"
    assert told(doc) == [
        ("Lens fiber cells", ("CL:0011004",)),
        ("Lens", ("UBERON:0000965",)),
        ("Neurons", ("CL:0000540",)),
        ("epithelial cells…lens", ("CL:0002224",)),
    ]
    mentions = doc.mentions or ()
    assert [mention.types for mention in mentions] == [("CL",), ("UBERON",), ("CL",), ("CL",)]
    assert mentions[0].id == "CL_Instance_1"
    with pytest.raises(FormatError, match="test split of craft is not there"):
        corpus("craft:test")


@pytest.mark.parametrize(
    ("start", "end", "found"),
    [
        (0, 4, Span(0, 4)),
        (318, 322, Span(317, 321)),
        (318, 323, Span(317, 321)),  # one too far
        (372, 376, Span(317, 321)),  # fifty past the end
        (999, 1003, None),
        (11, 15, Span(0, 4)),  # within the pair
    ],
)
def test_craft_offsets_in_utf_16(tmp_path: Path, start: int, end: int, found: Span | None) -> None:
    text = f"cell line 𝒳 and {'x' * 300} cell"
    folder = tmp_path / "concept-annotation" / "CL" / "CL" / "knowtator-2"
    folder.mkdir(parents=True)
    (tmp_path / "articles" / "txt").mkdir(parents=True)
    (tmp_path / "articles" / "txt" / "1.txt").write_text(text, encoding="utf-8")
    annotation = f'<annotation id="a"><class id="CL:1"/><span start="{start}" end="{end}">cell</span></annotation>'
    xml = f"<knowtator-project><document>{annotation}</document></knowtator-project>"
    (folder / "1.txt.knowtator.xml").write_text(xml)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinnetWarning)
        [doc] = read_craft(tmp_path / "concept-annotation")
    assert [mention.span for mention in doc.mentions or ()] == ([found] if found else [])


def test_parts_of_craft_without_text_are_none_and_lost_mentions_have_their_file(corpus: Read, tmp_path: Path) -> None:
    corpus("craft:dev")
    [folder] = (tmp_path / "data").rglob("MONDO_without_genotype_annotations")
    [path] = folder.rglob("*.xml")
    whole = path.read_text()
    path.write_text(whole.replace("</span>", '</span><span end="28" id="9" start="28"></span>', 1))
    [doc] = documents("craft:dev", data=tmp_path / "data")
    assert told(doc) == [("agenesis of…corpus callosum", ("MONDO:0009022",))]
    path.write_text(whole.replace("agenesis of", "atresia of"))
    where = r"MONDO/MONDO_without_genotype_annotations/knowtator-2/12546709\.xml"
    with pytest.warns(LinnetWarning, match=rf"left out \(1\): line \d of {where}: 'atresia of'"):
        assert told(*documents("craft:dev", data=tmp_path / "data")) == []


def test_craft_with_the_classes_its_authors_added(corpus: Read) -> None:
    with pytest.warns(LinnetWarning, match=r"concept-annotation: folders of which nothing was read.* \(1\): UBERON$"):
        [doc] = corpus("craft/extended:train")
    assert told(doc) == [("fiber", ("CL_EXT:fiber",))]


def test_craft_has_diseases_in_files_called_otherwise(corpus: Read, tmp_path: Path) -> None:
    [doc] = corpus("craft:dev")
    assert doc.id == "12546709"
    assert told(doc) == [("agenesis of…corpus callosum", ("MONDO:0009022",))]
    assert [mention.types for mention in doc.mentions or ()] == [("MONDO",)]
    [folder] = (tmp_path / "data").rglob("concept-annotation")
    for path in (folder / "UBERON").rglob("*.xml"):
        path.rename(path.with_name("7.txt.knowtator.xml"))
    (folder / "NEW" / "NEW" / "brat").mkdir(parents=True)
    with pytest.warns(LinnetWarning, match=r"nothing was read.* \(2\): NEW; UBERON$"):
        [doc] = documents("craft/extended:dev", data=tmp_path / "data")
    assert told(doc)[1:] == [("TTD", ("MONDO:0018053",))], "named in a genotype"


def test_cometa_finds_its_terms(corpus: Read) -> None:
    with pytest.warns(LinnetWarning, match=r"without context \(1\): line 4 'migraine'"):
        docs = corpus("cometa:train")
    assert [doc.id for doc in docs] == ["1", "2", "3"]
    assert [told(doc) for doc in docs] == [
        [("Tummy  ache", ("SNOMEDCT:21522001",))],
        [("ache", ("SNOMEDCT:22253000",))],
        [("migraine", ("SNOMEDCT:37796009",))],
    ]
    assert docs[1].mentions is not None
    assert docs[1].mentions[0].start == docs[1].text.rindex("ache"), "as a word, not within one"
    assert docs[0].mentions is not None
    assert docs[0].mentions[0].meta == {"name": "Abdominal pain"}
    [doc] = corpus("cometa/zeroshot_specific:test")
    assert told(doc) == [("ache", ("SNOMEDCT:83644001",))]


def test_ask_a_patient_has_ten_folds(corpus: Read, tmp_path: Path) -> None:
    docs = corpus("ask_a_patient/fold-3:dev")
    assert [doc.id for doc in docs] == [f"AskAPatient.fold-3.validation:{line}" for line in (1, 2, 3)]
    assert told(docs[0]) == [("aching é all over 3", ("SNOMEDCT:22253000",))]
    assert told(docs[2]) == [("weird", ("AMT:CONCEPT_LESS",))]
    ids = [
        doc.id
        for fold in CORPORA["ask_a_patient"].folds
        for doc in documents(f"ask_a_patient/{fold}:test", data=tmp_path / "data")
    ]
    assert len(set(ids)) == len(ids) == 30


@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_gnormplus_keeps_taxa_and_leaves_out_what_is_not_there(corpus: Read) -> None:
    [doc] = corpus("gnormplus:train")
    assert told(doc) == [
        ("p53", ("NCBIGene:7157",)),
        ("kinases", ("NCBIGene:5594", "NCBIGene:5595")),
        ("SH2 domains", None),
    ]
    assert [mention.meta for mention in doc.mentions or ()] == [{"taxa": ("NCBITaxon:9606",)}, {}, {}]
    assert [(p.kind, doc.text[p.start : p.end]) for p in doc.passages] == [
        ("title", "Human p53 and kinases."),
        ("abstract", "SH2 domains bind."),
    ]
    assert len(corpus("gnormplus:train,nlmiat")) == 2


def test_gnormplus_says_what_it_moved(corpus: Read) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        corpus("gnormplus:test")
    said = [str(one.message) for one in seen]
    assert ["put where their text is (1)" in line for line in said] == [True, False]
    assert "left out (1)" in said[1]


def test_nlm_gene_in_bioc(corpus: Read) -> None:
    [doc] = corpus("nlm_gene:test")
    assert told(doc) == [
        ("TP53", ("NCBIGene:7157",)),
        ("receptors", ("NCBIGene:12458", "NCBIGene:12772", "NCBIGene:12775")),
        ("receptors", ()),
        ("receptors", ()),
    ]
    assert [mention.meta for mention in doc.mentions or ()][2:] == [{"ids": "-111"}, {}]


def test_linnaeus_and_its_ambiguous_mentions(corpus: Read) -> None:
    with pytest.warns(LinnetWarning, match=r"put where their text is \(1\): line 4 'men'"):
        docs = corpus("linnaeus:all")
    assert [doc.id for doc in docs] == ["pmcA102792", "pmcA200000"]
    assert told(docs[0]) == [
        ("Yeast", ("NCBITaxon:4932",)),
        ("mice", ("NCBITaxon:10090",)),
        ("men", ("NCBITaxon:9606",)),
    ]
    assert (docs[0].mentions or ())[1].alternatives == (("NCBITaxon:10116",),)
    assert docs[1].mentions == ()


def test_s800_by_pmid_with_the_splits_of_others(corpus: Read) -> None:
    [doc] = corpus("s800:train")
    assert doc.id == "12345678"
    assert told(doc) == [("Yeast", ("NCBITaxon:4932",)), ("men", ("NCBITaxon:9606",))], "ends are the last character"
    assert doc.meta["category"] == "mycology"
    assert [passage.kind for passage in doc.passages] == ["title", "abstract"]
    [doc] = corpus("s800:dev")
    assert (doc.id, doc.mentions) == ("2", ())
    assert [doc.id for doc in corpus("s800:all")] == ["12345678", "2"]


@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_bioid_from_its_table(corpus: Read) -> None:
    first, second = corpus("bioid:train")
    assert (first.id, second.id, second.mentions) == ("100:Figure_1-A", "100:Figure_1-B", ())
    assert told(first) == [
        ("p53", ("NCBIGene:7157",)),
        ("HeLa", ("Cellosaurus:CVCL_0030",)),
        ("GFP", ()),
        ("lysosomes", ("GO:0005764",)),
        ("liver", ("UBERON:0002107", "UniProt:P05201")),
    ]
    assert [mention.types for mention in first.mentions or ()] == [
        ("gene",),
        ("cell",),
        ("protein",),
        ("subcellular",),
        ("tissue",),
    ]


@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_names_of_columns_in_another_case(tmp_path: Path, corpus: Read) -> None:
    [path] = put(tmp_path / CORPORA["cometa"].folder, "cometa").rglob("stratified_general/train.csv")
    head, rows = path.read_text().split("\n", 1)
    path.write_text(f"{head.lower()}\n{rows}")
    assert list(map(told, read_corpus("cometa", split="train", data=tmp_path))) == list(
        map(told, corpus("cometa:train"))
    )


@pytest.mark.filterwarnings("ignore:.*put where their text is:linnet.errors.LinnetWarning")
def test_bioid_counts_rows_without_caption(tmp_path: Path) -> None:
    put(tmp_path / CORPORA["bioid"].folder, "bioid")
    [path] = tmp_path.rglob("annotations.csv")
    path.write_text(path.read_text().replace("100,Figure_1-A,3", "100,Figure_9-Z,3"))
    with pytest.warns(LinnetWarning, match=r"no caption in caption_bioc, left out \(1\): line 4 100 Figure_9-Z"):
        first, _ = read_corpus("bioid", split="train", data=tmp_path)
    assert len(first.mentions or ()) == 4


@pytest.mark.parametrize("key", ["NCBI Gene", "NCBI GENE", "NCBIGene", "identifier", "NCBI Gene identifier"])
@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_gnormplus_knows_the_names_of_its_ids(tmp_path: Path, key: str) -> None:
    [path] = put(tmp_path / CORPORA["gnormplus"].folder, "gnormplus").rglob("BC2GNtrain.BioC.xml")
    content = path.read_text()
    path.write_text(content.replace('<infon key="Gene">7157', f'<infon key="n">x</infon><infon key="{key}">7157'))
    [doc] = read_corpus("gnormplus", split="train", data=tmp_path)
    first = (doc.mentions or ())[0]
    assert (first.concepts, first.meta["infons"]) == (("NCBIGene:7157",), {"n": "x"})
    path.write_text(content.replace('<infon key="Gene">7157', '<infon key="NCBI Homologene">7157'))
    [doc] = read_corpus("gnormplus", split="train", data=tmp_path)
    first = (doc.mentions or ())[0]
    assert (first.concepts, first.meta) == (None, {"infons": {"NCBI Homologene": "7157(Tax:9606)"}})


@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_tmvar_links_to_dbsnp(corpus: Read) -> None:
    [doc] = corpus("tmvar:all")
    assert told(doc) == [
        ("BRAF", ("NCBIGene:673",)),
        ("V600E", ("DBSNP:rs113488022",)),
        ("rs11169748", ("DBSNP:rs11169748",)),
        ("c.35delG", ()),
        ("R1K", ()),
    ]
    variants = [mention.meta.get("variant") for mention in doc.mentions or ()]
    assert variants[1] == {
        "tmVar": "p|SUB|V|600|E",
        "HGVS": "p.V600E",
        "VariantGroup": "2",
        "CorrespondingGene": "673",
        "CA#": "123643",
    }
    assert variants[3] == {
        "tmVar": "c|DEL|35|G",
        "HGVS": "c.35delG",
        "VariantGroup": "0",
        "CorrespondingGene": "2706,1",
    }
    assert variants[4] == {"tmVar": "p|SUB|R|1|K"}


# --- what is refused -------------------------------------------------------------------------------------------------

BAD = [
    ("linnaeus:all", "tags.tsv", "species:ncbi:4932", "species:4932", "expected ids such as species:ncbi:4932"),
    ("linnaeus:all", "tags.tsv", "pmcA102792\t0", "../../etc/passwd\t0", "there is no text txt/../../etc/passwd.txt"),
    ("linnaeus:all", "tags.tsv", "\t0\t5", "\t-1\t5", "expected a number that is not negative as an offset"),
    ("linnaeus:all", "tags.tsv", "\t0\t5\tYeast\t", "", "has 2 columns, expected 5"),
    ("s800:all", "S800.tsv", "sacch001:12345678", "../x:1", "expected NAME:PMID"),
    ("s800:all", "S800.tsv", "4932", "yeast", "expected the number of a taxon"),
    ("s800:all", "S800.tsv", "sacch001:", "missing:", "missing.txt: there is no such file"),
    ("s800:all", "pubmedid.tsv", "sacch001", "a/b", "expected a name and a PMID"),
    ("s800:train", "train.txt", "12345678", "9", "1 documents of the split are not in it, such as 9"),
    (
        "cometa:train",
        "general/train.csv",
        "21522001",
        "nan",
        "expected an ID, a term and a number as General",
    ),
    ("cometa:train", "general/train.csv", "\tExample", "", "there is no column 'Example'"),
    ("cometa:train", "general/train.csv", '"Headaches', '"Head"aches', "is not valid CSV"),
    ("cometa:train", "general/train.csv", "3\tmigraine", "migraine", "has 6 columns, its header 7"),
    ("ask_a_patient/fold-0:train", "fold-0.train.txt", "\tpain\t", "\t", "has 2 columns, expected 3"),
    (
        "ask_a_patient/fold-0:train",
        "fold-0.train.txt",
        "\tpain\t",
        "\tpain\t\t",
        "expected an id, the name of a",
    ),
    ("bioid:train", "annotations.csv", ",0,3,3,3,", ",x,3,3,3,", "expected a number that is not negative"),
    ("bioid:train", "annotations.csv", ",100,", ",7,", "none of its 5 rows belongs to a caption"),
    ("bioid:train", "annotations.csv", ",obj,", ",object,", "there is no column 'obj'"),
    ("gnormplus:train", "BC2GNtrain.BioC.xml", 'offset="6"', 'offset="six"', "expected a number that is not negative"),
    ("gnormplus:train", "BC2GNtrain.BioC.xml", "</collection>", "", "no well-formed XML"),
    ("gnormplus:train", "BC2GNtrain.BioC.xml", "<id>10064105</id>", "", "this document has no id"),
    ("nlm_gene:train", "Pmidlist.Train.txt", "24886643", "../../24886643", "expected a PMID"),
    ("nlm_gene:train", "Pmidlist.Train.txt", "24886643", "7", "7.BioC.XML: there is no such file"),
    ("craft:train", "CL/CL/knowtator/11319941", 'start="0"', 'start="zero"', "expected a number that is not negative"),
    ("craft:train", "CL/CL/knowtator/11319941", "annotations", "notations", "is no Knowtator XML"),
    ("tmvar:all", "tmVar3Corpus.txt", "1\t0\t4", "2\t0\t4", "expected an annotation of '1'"),
]


@pytest.mark.parametrize(("name", "file", "old", "new", "problem"), BAD)
@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_what_is_refused(tmp_path: Path, name: str, file: str, old: str, new: str, problem: str) -> None:
    corpus, _, split = name.partition(":")
    known = corpus.partition("/")[0]
    folder = put(tmp_path / CORPORA[known].folder, known)
    [path] = [path for path in folder.rglob("*") if file in path.as_posix() and path.is_file()]
    content = path.read_text(encoding="latin-1")
    assert old in content
    path.write_text(content.replace(old, new), encoding="latin-1", newline="\n")
    with pytest.raises(FormatError) as caught:
        list(read_corpus(corpus, split=split, data=tmp_path))
    assert problem in str(caught.value)


def test_every_new_layout_has_an_excerpt() -> None:
    own = {name for name, corpus in CORPORA.items() if {one.format for one in corpus.layouts.values()} - KNOWN}
    assert own == set(EXCERPTS)


KNOWN = {"pubtator", "bioc_xml", "gsc"}


def test_the_first_layout_that_is_there_is_taken(tmp_path: Path) -> None:
    put(tmp_path / "other", "nlm_gene")
    assert [doc.id for doc in read_corpus("nlm_gene", split="train", data=tmp_path)] == ["24886643"]
    (tmp_path / "other" / "NLMgene_Train.PubTator").write_text("1|t|One\n")
    assert [doc.id for doc in read_corpus("nlm_gene", split="train", data=tmp_path)] == ["1"]
    assert [doc.id for doc in read_corpus("nlm_gene/bioc", split="train", data=tmp_path)] == ["24886643"]
    with pytest.raises(LinnetError, match="unknown layout of nlm_gene 'x', expected one of pubtator, bioc"):
        read_corpus("nlm_gene/x", split="train", data=tmp_path)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("linnaeus:all", "manual-corpus-species-1.0/txt"),
        ("bioid:train", "BioIDtraining_2/caption_bioc"),
        ("craft:train", "CRAFT-5.0.2/articles/txt"),
        ("craft:train", "CRAFT-5.0.2/concept-annotation/UBERON/UBERON/knowtator-2"),
        ("s800:all", "abstracts"),
        ("nlm_gene/bioc:train", "Corpus/FINAL"),
        ("gnormplus:train", "GNormPlusCorpus"),
        ("cometa:train", "cometa/splits/stratified_general"),
        ("ask_a_patient/fold-0:train", "datasets/AskAPatient"),
        ("tmvar:all", "."),
    ],
)
@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_what_macs_leave_beside_files_is_passed_over(corpus: Read, tmp_path: Path, name: str, place: str) -> None:
    docs = corpus(name)
    known = name.partition(":")[0].partition("/")[0]
    folder = tmp_path / "data" / "corpora" / CORPORA[known].folder / place
    for path in [path for path in folder.iterdir() if path.is_file()]:
        path.with_name(f"._{path.name}").write_bytes(b"\0\5\x16\7\0\2\0\0Mac OS X\xb0")
    assert corpus(name) == docs


def test_placing_looks_nearby() -> None:
    from linnet.corpora.misplaced import Places

    places = Places("f")
    text = "Mice and men, and mice."
    assert places.span(text, 18, 22, "mice") == Span(18, 22)
    assert places.span(text, 17, 21, "mice") == Span(18, 22)
    assert places.span(text, 500, 504, "mice") is None
    assert places.span(text, 0, 4, " ") is None
    assert places.span(text, -3, 2, "Mice") == Span(0, 4)


def test_placing_counts_the_characters_of_the_text() -> None:
    from linnet.corpora.misplaced import Places, nearby

    places = Places("f")
    assert places.span("İİİ yeast here. Mice.", 14, 18, "MICE") == Span(16, 20), "İ is two characters in lower case"
    assert nearby("i\u0307", 0, "İ") is None, "nothing lies outside the text"
    assert nearby("aa", 7, "aaa, aaa") == Span(6, 8), "places may overlap"
    assert nearby("AAAAA", 9, "aaaaaa, aaaaaa") == Span(9, 14)
    assert nearby("Mice", 10**30, "Mice") is None
    assert nearby("mice", -(10**30), "Mice") == Span(0, 4)
    assert nearby("C++ (CELLS)", 3, "The c++ (cells).") == Span(4, 15)
