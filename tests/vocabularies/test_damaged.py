"""Every reader meets a gzip file that was cut off: refused, never taken for a smaller terminology."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.synthetic_files import write_rf2, write_rrf

from linnet.bench.synthetic import synthetic
from linnet.codec import dumps
from linnet.data import Document, Mention
from linnet.errors import FormatError
from linnet.vocabularies import VOCABULARIES, read_vocabulary

SIZE = 400
GENE = "tax_id GeneID Symbol LocusTag Synonyms dbXrefs chromosome map_location description type_of_gene "
GENE += "Symbol_from_nomenclature_authority Full_name_from_nomenclature_authority Nomenclature_status "
GENE += "Other_designations Modification_date Feature_type"


def lines(row: Callable[[int], str], head: str = "", size: int = SIZE) -> str:
    return head + "".join(row(number) + "\n" for number in range(1, size + 1))


def corpus() -> str:
    mention = Mention(0, 4, source="gold", concepts=("HP:0001250",))
    return lines(lambda number: dumps(Document(f"d{number}", f"Fits {number}.", mentions=(mention,))))


def mesh() -> str:
    record = (
        "<DescriptorRecord><DescriptorUI>D{0:06}</DescriptorUI><DescriptorName><String>name {0}</String>"
        "</DescriptorName></DescriptorRecord>"
    )
    return f"<DescriptorRecordSet>{lines(record.format)}</DescriptorRecordSet>"


CTD = "DiseaseName DiseaseID AltDiseaseIDs Definition ParentIDs TreeNumbers ParentTreeNumbers Synonyms SlimMappings"
FILES: dict[str, Callable[[], str]] = {
    "concepts": lambda: lines('{{"id":"X:{0}","names":[{{"text":"name {0}"}}]}}'.format),
    "corpus": corpus,
    "ctd": lambda: lines(
        "name {0}\tMESH:D{0:06}\t\t\t\t\t\t\t".format, "# Fields:\n# " + CTD.replace(" ", "\t") + "\n#\n"
    ),
    "hpo": lambda: lines("[Term]\nid: HP:{0:07}\nname: name {0}\n".format, "format-version: 1.2\n\n"),
    "medic": lambda: lines("D{0:06}||name {0}|other {0}".format),
    "mesh": mesh,
    "mesh-table": lambda: lines("D{0:06}\tname {0}\tother".format, "id\tname\tsynonyms\n"),
    "ncbi-gene": lambda: lines(
        lambda number: "\t".join(["9606", str(number), f"S{number}", *["-"] * 13]),
        "#" + GENE.replace(" ", "\t") + "\n",
    ),
    "obo": lambda: lines("[Term]\nid: X:{0}\nname: name {0}\n".format, "format-version: 1.2\n\n"),
    "texoo": lambda: (
        '{"documents": [\n' + lines('{{"id": "X:{0}", "title": "name {0}", "text": ""}},'.format) + '{"id": "X:0"}]}'
    ),
    "table": lambda: lines("X:{0}\tname {0}".format, "id\tname\n"),
}
FOLDERS = ("ncbi-taxonomy", "rxnorm", "snomed", "umls")


def test_no_reader_is_left_out() -> None:
    assert {*FILES, *FOLDERS} == set(VOCABULARIES)


def cut(path: Path) -> None:
    """Replace a file by its gzip form without the end."""
    packed = gzip.compress(path.read_bytes())
    path.with_name(f"{path.name}.gz").write_bytes(packed[: len(packed) * 2 // 3])
    path.unlink()


@pytest.mark.parametrize("vocabulary", FILES)
@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_a_file(vocabulary: str, tmp_path: Path) -> None:
    path = tmp_path / ("x.jsonl" if vocabulary == "corpus" else "x")
    path.write_text(FILES[vocabulary](), encoding="utf-8")
    assert list(read_vocabulary(vocabulary, path)), "what is cut off below is good"
    cut(path)
    with pytest.raises(FormatError, match="gzip file is truncated"):
        list(read_vocabulary(vocabulary, tmp_path / f"{path.name}.gz"))


def write(vocabulary: str, folder: Path, size: int = SIZE) -> None:
    if vocabulary == "umls":
        write_rrf(synthetic(size), folder)
    elif vocabulary == "snomed":
        write_rf2(synthetic(size), folder)
    elif vocabulary == "rxnorm":
        names = lines("{0}|ENG||||||{0}||||RXNORM|IN|{0}|name {0}||N|4096|".format, size=size)
        (folder / "RXNCONSO.RRF").write_text(names, encoding="utf-8")
        relations = lines("{0}||CUI|RN|1||CUI|form_of|{0}||RXNORM|||||4096|".format, size=size)
        (folder / "RXNREL.RRF").write_text(relations, encoding="utf-8")
    else:
        names = lines("{0}\t|\tname {0}\t|\t\t|\tscientific name\t|".format, size=size)
        (folder / "names.dmp").write_text(names, encoding="utf-8")
        nodes = lines(("{0}\t|\t1\t|\tspecies" + "\t|\t0" * 10 + "\t|").format, size=size)
        (folder / "merged.dmp").write_text(lines("9{0}\t|\t{0}\t|".format, size=size), encoding="utf-8")
        (folder / "delnodes.dmp").write_text(lines("8{0:06}\t|".format, size=size), encoding="utf-8")
        (folder / "nodes.dmp").write_text(nodes, encoding="utf-8")


@pytest.mark.parametrize("vocabulary", FOLDERS)
@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_each_file_of_a_folder(vocabulary: str, tmp_path: Path) -> None:
    write(vocabulary, tmp_path)
    files = [path.relative_to(tmp_path) for path in sorted(tmp_path.rglob("*")) if path.is_file()]
    assert list(read_vocabulary(vocabulary, tmp_path))
    for number, file in enumerate(files):
        folder = tmp_path / str(number)
        folder.mkdir()
        write(vocabulary, folder)
        if (folder / file).stat().st_size < 2000:
            continue
        cut(folder / file)
        with pytest.raises(FormatError, match="gzip file is truncated"):
            list(read_vocabulary(vocabulary, folder))
