"""Corpora known by name: found where they were published, their counts, and their flaws by the stated rules."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path
from typing import Any

import pytest

from linnet.corpora import FORMATS, gsc, pubtator
from linnet.corpora.catalog import CORPORA, RULES, corpus_files, read_corpus
from linnet.corpora.faults import Faults
from linnet.data import Document
from linnet.errors import FormatError, LinnetError, LinnetWarning
from linnet.vocabularies import UNTESTED, VOCABULARIES

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"

TWO = "1|t|One\n1|a|Two\n\n2|t|Three\n2|a|Four\n\n"


def put(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    return path


def ids(docs: object) -> list[str]:
    return [doc.id for doc in docs]  # type: ignore[attr-defined]


def test_readers_untested_on_published_files_say_so_where_they_are_chosen() -> None:
    assert CORPORA["s800"].untested == ("s800",)
    assert CORPORA["nlm_chem"].untested == ("nlm_chem/bioc",)
    assert CORPORA["bc5cdr"].untested == ()
    assert [name for name, format in FORMATS.items() if format.untested] == ["bigbio"]
    commands = (REFERENCE / "commands.md").read_text(encoding="utf-8")
    formats = (REFERENCE / "formats.md").read_text(encoding="utf-8")
    told = [name for corpus in CORPORA.values() for name in corpus.untested]
    assert f"Untested on published files: {', '.join(told)}." in commands
    assert all(name in formats for name in told)
    for name, what in UNTESTED.items():
        assert name in VOCABULARIES
        assert f"{name} ({what})" in commands
        assert f"Untested on published files: {what}." in (REFERENCE / "vocabularies.md").read_text(encoding="utf-8")


def test_entries_are_complete() -> None:
    for name, corpus in CORPORA.items():
        assert corpus.name == name
        assert corpus.about
        assert corpus.licence
        assert corpus.citation
        assert set(corpus.counts) <= set(corpus.splits)
        for layout in corpus.layouts.values():
            assert set(layout.rules) <= set(RULES)
            assert not layout.ids or set(layout.ids) == set(layout.splits)


@pytest.mark.parametrize(
    "name",
    [
        "CDR_TrainingSet.PubTator.txt",
        "bc5cdr/CDR_TrainingSet.PubTator.txt.gz",
        "corpora/bc5cdr/CDR_TrainingSet.PubTator.txt",
        "corpora/bc5cdr/CDR_Data/CDR.Corpus.v010516/CDR_TrainingSet.PubTator.txt.gz",
    ],
)
def test_files_are_found_where_they_may_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    put(tmp_path, name, TWO)
    assert ids(read_corpus("bc5cdr", split="train", data=tmp_path)) == ["1", "2"]
    monkeypatch.setenv("LINNET_DATA", str(tmp_path))
    assert ids(read_corpus("bc5cdr", split="train", layout="pubtator")) == ["1", "2"]


def test_the_nearer_file_goes_first(tmp_path: Path) -> None:
    put(tmp_path, "corpora/biored/old/BioRED_Dev.PubTator", "9|t|Old\n")
    put(tmp_path, "corpora/biored/BioRED_Dev.PubTator", TWO)
    assert ids(read_corpus("biored", split="dev", data=tmp_path)) == ["1", "2"]


@pytest.mark.parametrize("name", ["BioRED_Test.PubTator", "Test.PubTator", "BioRED/Test.PubTator"])
def test_files_of_other_corpora_in_the_same_folder_are_not_read(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "corpora" / "biored"
    put(folder, "BC5CDR_Test.PubTator", "9|t|Another corpus\n")
    with pytest.raises(FormatError, match="the test split of biored is not there"):
        read_corpus("biored", split="test", data=tmp_path)
    put(folder, name, TWO)
    with pytest.warns(LinnetWarning, match="2 documents with 0 mentions were read, the corpus has 100 with 3,535: is"):
        assert ids(read_corpus("biored", split="test", data=tmp_path)) == ["1", "2"]


def test_what_has_the_counts_of_its_corpus_is_not_warned_of(tmp_path: Path) -> None:
    blocks = (f"{number}\nA\n" + "0\t1\tA\tHP:0000118\n" * (8 if number < 22 else 5) for number in range(1, 23))
    put(tmp_path, "GSCplus_dev_gold.tsv", "\n".join(blocks))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert len(list(read_corpus("gsc_plus", split="dev", data=tmp_path))) == 22
    assert not told


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("bc5cdrr", {"split": "train"}, "unknown corpus 'bc5cdrr', expected one of ask_a_patient, .*mean 'bc5cdr'"),
        ("bc5cdr", {"split": "tran"}, "unknown split of bc5cdr 'tran', expected one of train, dev, test; .*'train'"),
        ("bc5cdr", {"split": "dev", "layout": "bio"}, "unknown layout of bc5cdr 'bio', expected one of pubtator, bioc"),
        ("bc5cdr", {"split": "dev", "data": "/no/such"}, "the data folder /no/such does not exist"),
        ("bc5cdr", {"split": "dev"}, "say where the corpora are: .*LINNET_DATA"),
    ],
)
def test_what_is_asked_wrongly(
    monkeypatch: pytest.MonkeyPatch, name: str, options: dict[str, Any], message: str
) -> None:
    monkeypatch.delenv("LINNET_DATA", raising=False)
    with pytest.raises(LinnetError, match=message):
        read_corpus(name, **options)


def test_a_missing_file_is_named_with_its_place(tmp_path: Path) -> None:
    for folder, where in ((tmp_path, "here, or below a folder bc5cdr"), (tmp_path / "bc5cdr", "or one below it")):
        folder.mkdir(exist_ok=True)
        with pytest.raises(FormatError, match=rf"bc5cdr is not there; .*{where};") as caught:
            read_corpus("bc5cdr", split="test", data=tmp_path)
        assert "; or fetch it: linnet corpus prepare bc5cdr --download -o DIR" in str(caught.value)
        assert Path(caught.value.path) == folder / "CDR_TestSet.PubTator.txt"


def test_splits_by_lists_of_ids(tmp_path: Path) -> None:
    folder = tmp_path / "corpora" / "medmentions"
    put(folder, "full/data/corpus_pubtator.txt.gz", TWO)
    put(folder, "st21pv/data/corpus_pubtator.txt.gz", "1|t|ST21pv\n")
    put(folder, "full/data/corpus_pubtator_pmids_trng.txt", "2\n\n")
    put(folder, "full/data/corpus_pubtator_pmids_dev.txt", "1\r\n")
    assert ids(read_corpus("medmentions", split="train", data=tmp_path)) == ["2"]
    assert ids(read_corpus("medmentions", split="dev", data=tmp_path)) == ["1"]
    assert [doc.text for doc in read_corpus("medmentions_st21pv", split="dev", data=tmp_path)] == ["ST21pv"]
    with pytest.raises(
        FormatError, match=r"corpus_pubtator_pmids_test\.txt: the test split of medmentions is not there"
    ):
        read_corpus("medmentions", split="test", data=tmp_path)
    with pytest.raises(FormatError, match="1 documents of the split are not in it, such as 2"):
        list(read_corpus("medmentions_st21pv", split="train", data=tmp_path))


def test_copies_are_dropped_and_told(tmp_path: Path) -> None:
    put(tmp_path, "NCBItrainset_corpus.txt", TWO + TWO)
    with pytest.warns(LinnetWarning, match=r"the copy dropped \(2\): 1, 2"):
        assert ids(read_corpus("ncbi_disease", split="train", data=tmp_path)) == ["1", "2"]
    put(tmp_path, "NCBItrainset_corpus.txt", TWO + TWO.replace("Four", "Five"))
    with pytest.raises(FormatError, match="document '2' stands twice with different texts"):
        list(read_corpus("ncbi_disease", split="train", data=tmp_path))


def test_offsets_are_repaired_where_the_entry_says_so(tmp_path: Path) -> None:
    wrong = "1|t|One\n1|a|Two\n1\t3\t6\tTwo\tDisease\tD000001\n"
    put(tmp_path, "NCBIdevelopset_corpus.txt", wrong)
    with pytest.warns(LinnetWarning, match="stand elsewhere"):
        assert ids(read_corpus("ncbi_disease", split="dev", data=tmp_path)) == ["1"]
    put(tmp_path, "CDR_TrainingSet.PubTator.txt", wrong)
    with pytest.raises(FormatError, match=r"CDR_TrainingSet\.PubTator\.txt:3"):
        list(read_corpus("bc5cdr", split="train", data=tmp_path))


# --- the real files --------------------------------------------------------------------------------------------------


@pytest.mark.data
@pytest.mark.parametrize(("name", "split"), [(name, split) for name in CORPORA for split in CORPORA[name].counts])
def test_counts(data: Path, name: str, split: str) -> None:
    documents, mentions = CORPORA[name].counts[split]
    try:
        corpus_files(name, split=split, data=data)
    except FormatError as error:
        pytest.skip(str(error))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinnetWarning)
        docs = list(read_corpus(name, split=split, data=data))
    assert len(docs) == documents
    assert sum(len(doc.mentions or ()) for doc in docs) == mentions


@pytest.mark.data
def test_ncbi_disease_is_as_its_rules_say(data: Path) -> None:
    path = data / "corpora" / "ncbi_disease" / "NCBItrainset_corpus.txt.gz"
    with pytest.warns(LinnetWarning, match=r"gz:3249: .*; put at"):
        published = list(pubtator.read(path, faults=Faults("repair")))
    assert (len(published), sum(len(doc.mentions or ()) for doc in published)) == (593, 5_145)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        docs = list(read_corpus("ncbi_disease", split="train", data=data))
    assert [str(one.message).rpartition("): ")[2] for one in told][1:] == ["8528200"]
    assert "(1): line 3249" in str(told[0].message)
    assert len({doc.id for doc in docs}) == len(docs) == 592
    separators = [m.meta.get("separator", "|") for doc in docs for m in doc.mentions or () if len(m.concepts or ()) > 1]
    assert (separators.count("|"), separators.count("+"), len(separators)) == (93, 22, 115)
    with pytest.raises(FormatError, match=r"gz:3249: the offsets 711-761"):
        list(pubtator.read(path))


@pytest.mark.data
def test_nlm_chem_has_its_passages(data: Path) -> None:
    docs = list(read_corpus("nlm_chem", split="dev", data=data))
    assert sum(len(doc.passages) for doc in docs) == 1_759
    assert len({doc.id for doc in docs}) == 25


@pytest.mark.slow
@pytest.mark.data
def test_every_id_of_the_linked_corpora_is_a_curie(data: Path) -> None:
    expected = {"bc5cdr": {"MESH"}, "ncbi_disease": {"MESH", "OMIM"}, "nlm_chem": {"MESH"}, "species": {"NCBITaxon"}}
    expected |= {"nlm_gene": {"NCBIGene"}, "linnaeus": {"NCBITaxon"}, "medmentions_st21pv_derived": {"UMLS"}}
    for name, prefixes in expected.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LinnetWarning)
            docs = [doc for split in CORPORA[name].counts for doc in read_corpus(name, split=split, data=data)]
        found = {c.partition(":")[0] for doc in docs for m in doc.mentions or () for c in m.concepts or ()}
        assert found == prefixes, name


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", [name for name in CORPORA if CORPORA[name].counts])
def test_written_and_read_again_they_are_the_same(data: Path, tmp_path: Path, name: str) -> None:
    corpus = CORPORA[name]
    module = gsc if "gsc" in corpus.layouts else pubtator
    split = next(iter(corpus.counts))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinnetWarning)
        docs: list[Document] = list(read_corpus(name, split=split, data=data))
    path = tmp_path / "again.txt"
    with path.open("w", encoding="utf-8", newline="\n") as out:
        module.write(docs, out)
    assert list(module.read(path)) == docs


@pytest.mark.data
def test_bc5cdr_writes_its_own_bytes(data: Path, tmp_path: Path) -> None:
    source = data / "corpora" / "bc5cdr" / "CDR_DevelopmentSet.PubTator.txt.gz"
    path = tmp_path / "again.txt"
    with path.open("w", encoding="utf-8", newline="\n") as out:
        pubtator.write(pubtator.read(source), out)
    assert path.read_bytes() == gzip.decompress(source.read_bytes())


@pytest.mark.data
@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
@pytest.mark.parametrize("split", ["train", "dev"])
def test_both_layouts_of_bc5cdr_give_equal_documents(data: Path, split: str) -> None:
    bioc = list(read_corpus("bc5cdr", split=split, data=data, layout="bioc"))
    assert bioc == list(read_corpus("bc5cdr", split=split, data=data, layout="pubtator"))
    assert len(bioc) == 500
