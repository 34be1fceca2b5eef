from __future__ import annotations

import gzip
import hashlib
import io
import string
import tarfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.vocabularies.test_rxnorm import RXNCONSO, RXNREL
from tests.web_server import Server, file, serving, status

from linnet.errors import LinnetError
from linnet.fetch.mirror import MIRROR, downloads_folder
from linnet.fetch.web import Limits, WebError, check_url
from linnet.kb import KnowledgeBase
from linnet.vocabularies import VOCABULARIES
from linnet.vocabularies.build import build_from
from linnet.vocabularies.download import download
from linnet.vocabularies.published import PUBLISHED

HERE = Path(__file__).parent
LIMITS = Limits(timeout=5, tries=2, pause=0)
OBO = b"""format-version: 1.2
data-version: releases/2026-11-01

[Term]
id: DOID:4
name: disease

[Term]
id: DOID:7
name: disease of anatomical entity
is_a: DOID:4

[Term]
id: CHEBI:1
name: a stub
"""
FIELDS = "# Fields:\n# {0}Name\t{0}ID\tDefinition\tAlt{0}IDs\tParentIDs\tSynonyms\n#\n"
DISEASES = gzip.compress((FIELDS.format("Disease") + "Fever\tMESH:D005334\t\t\t\tPyrexia\n").encode())
CHEMICALS = gzip.compress((FIELDS.format("Chemical") + "Aspirin\tMESH:D001241\t\t\t\tASA\n").encode())
DESCRIPTORS = gzip.compress((HERE / "mesh" / "fever.xml").read_bytes())
SUPPLEMENT = gzip.compress(
    b"""<?xml version="1.0"?><SupplementalRecordSet LanguageCode="eng"><SupplementalRecord SCRClass="3">
<SupplementalRecordUI>C000001</SupplementalRecordUI><SupplementalRecordName><String>Odd fever</String>
</SupplementalRecordName><HeadingMappedToList><HeadingMappedTo><DescriptorReferredTo>
<DescriptorUI>*D000101</DescriptorUI><DescriptorName><String>Fever</String></DescriptorName></DescriptorReferredTo>
</HeadingMappedTo></HeadingMappedToList><ConceptList><Concept PreferredConceptYN="Y"><ConceptUI>M1</ConceptUI>
<ConceptName><String>Odd fever</String></ConceptName><TermList><Term ConceptPreferredTermYN="Y"><TermUI>T1</TermUI>
<String>Odd fever</String></Term></TermList></Concept></ConceptList></SupplementalRecord></SupplementalRecordSet>"""
)
CAPTCHA = b"<!DOCTYPE html><html><title>Please prove that you are a person</title></html>"


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    """A mirror on this machine, and an empty home."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))
    with serving() as server:
        monkeypatch.setenv(MIRROR, server.url("/mirror/"))
        yield server


# --- the table -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_table_is_complete(name: str) -> None:
    about = PUBLISHED[name]
    assert about.title
    assert about.licence
    assert about.citation
    assert check_url(about.page).startswith("https://")
    assert about.files
    for item in about.files:
        fields = {field for _, field, _, _ in string.Formatter().parse(item.url) if field}
        assert fields <= {"year"}
        assert check_url(item.url.format(year=2026)).startswith("https://")
        assert item.vocabulary in VOCABULARIES
        assert item.marks


def test_names_are_those_people_know() -> None:
    diseases = {"ctd", "doid", "hpo", "medic", "medic2012", "mesh", "mesh2015", "mesh2021", "mondo"}
    others = {"chebi", "cl", "go", "mop", "ncbi-gene", "ncbi-taxonomy", "pr", "rxnorm", "so", "uberon"}
    assert set(PUBLISHED) == diseases | others


# --- downloads -------------------------------------------------------------------------------------------------------


def test_a_terminology_becomes_a_knowledge_base(mirror: Server, tmp_path: Path) -> None:
    mirror.say("/mirror/doid.obo", file(OBO))
    told: dict[str, list[tuple[int, int | None]]] = {}

    def begin(name: str) -> object:
        told[name] = []
        return lambda done, total: told[name].append((done, total))

    sources = download("doid", progress=begin, limits=LIMITS)  # type: ignore[arg-type]
    kb = build_from(sources, tmp_path / "doid.kb")
    assert [kb.id(row) for row in range(len(kb))] == ["DOID:4", "DOID:7"], "stubs of other ontologies stay out"
    [source] = kb.sources
    assert source["url"] == mirror.url("/mirror/doid.obo")
    assert source["sha256"] == hashlib.sha256(OBO).hexdigest()
    assert source["release"] == "releases/2026-11-01"
    assert datetime.fromisoformat(source["fetched"]).tzinfo == UTC
    assert "CC0" in source["licence"]
    assert "Baron" in source["citation"]
    assert told == {"doid.obo": [(len(OBO), len(OBO))]}
    assert sources[0].path == downloads_folder() / "doid.obo"
    assert download("doid", limits=LIMITS) == sources, "unchanged: neither fetched nor dated again"


def test_ctd_is_two_files_and_medic_one(mirror: Server, tmp_path: Path) -> None:
    mirror.say("/mirror/CTD_diseases.tsv.gz", file(DISEASES))
    mirror.say("/mirror/CTD_chemicals.tsv.gz", file(CHEMICALS))
    kb = build_from(download("ctd", limits=LIMITS), tmp_path / "ctd.kb")
    assert {kb.id(row) for row in range(len(kb))} == {"MESH:D005334", "MESH:D001241"}
    medic = build_from(download("medic", limits=LIMITS), tmp_path / "medic.kb")
    assert len(medic) == 1
    assert (downloads_folder() / "CTD_diseases.tsv.gz").read_bytes() == DISEASES


DUMPS = {
    "citations.dmp": "never unpacked",
    "names.dmp": "1\t|\troot\t|\t\t|\tscientific name\t|\n9606\t|\tHomo sapiens\t|\t\t|\tscientific name\t|\n",
    "nodes.dmp": "".join(f"{id}\t|\t1\t|\tspecies" + "\t|\t0" * 10 + "\t|\n" for id in (1, 9606)),
    "merged.dmp": "8\t|\t9606\t|\n",
    "delnodes.dmp": "7\t|\n",
}


def taxdump() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as packed:
        for name, content in DUMPS.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            packed.addfile(entry, io.BytesIO(content.encode()))
    return out.getvalue()


def test_taxonomy_is_unpacked_for_its_reader(mirror: Server, tmp_path: Path) -> None:
    mirror.say("/mirror/taxdump.tar.gz", file(taxdump()))
    for _ in range(2):
        [source] = download("ncbi-taxonomy", limits=LIMITS)
    assert source.path is not None
    assert sorted(path.name for path in source.path.iterdir()) == sorted(set(DUMPS) - {"citations.dmp"})
    kb = build_from([source], tmp_path / "taxa.kb")
    assert kb[kb.row("NCBITaxon:9606")].name == "Homo sapiens"


def test_the_drugs_of_rxnorm_by_one_command(mirror: Server, tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("Readme_Full_Prescribe_11022026.txt", "RxNorm 11/02/2026 Current Prescribable Content\n" * 9)
        for name, text in (("RXNCONSO", RXNCONSO), ("RXNREL", RXNREL), ("RXNSAT", "never unpacked\n")):
            packed.writestr(f"rrf/{name}.RRF", text)
    mirror.say("/mirror/RxNorm_full_prescribe_current.zip", file(out.getvalue()))
    [source] = download("rxnorm", limits=LIMITS)
    assert source.path is not None
    unpacked = {path.name for path in source.path.rglob("*") if path.is_file()}
    assert unpacked == {"RXNCONSO.RRF", "RXNREL.RRF"}
    kb = build_from([source], tmp_path / "rxnorm.kb")
    assert kb["RXNORM:104376"].parents == ("RXNORM:29046",)
    assert "No licence needed" in kb.sources[0]["licence"]


def test_a_damaged_archive_is_not_kept(mirror: Server) -> None:
    mirror.say("/mirror/taxdump.tar.gz", file(gzip.compress(gzip.decompress(taxdump())[:2_000])))
    with pytest.raises(WebError, match=r"a damaged one.*; it was set aside as .*taxdump\.tar\.gz\.rejected"):
        download("ncbi-taxonomy", limits=LIMITS)
    mirror.say("/mirror/taxdump.tar.gz", file(taxdump()))  # with the same ETag: it was damaged on the way
    assert download("ncbi-taxonomy", limits=LIMITS)


def test_several_at_once_unpack_once(mirror: Server) -> None:
    mirror.say("/mirror/taxdump.tar.gz", file(taxdump()))
    with ThreadPoolExecutor(4) as pool:
        sources = list(pool.map(lambda _: download("ncbi-taxonomy", limits=LIMITS), range(4)))
    assert len({source.path for [source] in sources}) == 1


def test_old_editions_are_kept_under_names_of_their_own(mirror: Server, tmp_path: Path) -> None:
    mirror.say("/mirror/CTD_diseases-2012-05.tsv.gz", file(DISEASES))
    [source] = download("medic2012", limits=LIMITS)
    assert source.path == downloads_folder() / "CTD_diseases-2012-05.tsv.gz"
    mirror.say("/mirror/desc2015.xml", file(gzip.decompress(DESCRIPTORS)))
    mirror.say("/mirror/supp2015.xml", file(gzip.decompress(SUPPLEMENT)))
    assert len(build_from(download("mesh2015", limits=LIMITS), tmp_path / "mesh2015.kb")) > 1


def test_mesh_of_last_year_while_this_years_is_missing(mirror: Server, tmp_path: Path) -> None:
    now = datetime.now(UTC).year
    mirror.say(f"/mirror/desc{now}.gz", file(DESCRIPTORS))  # published, but not the other yet
    mirror.say(f"/mirror/desc{now - 1}.gz", file(DESCRIPTORS))
    mirror.say(f"/mirror/supp{now - 1}.gz", file(SUPPLEMENT))
    sources = download("mesh", limits=LIMITS)
    assert [source.path.name for source in sources if source.path] == [f"desc{now - 1}.gz", f"supp{now - 1}.gz"]
    assert sources[1].options == {"descriptors": sources[0].path}
    kb = build_from(sources, tmp_path / "mesh.kb")
    assert kb[kb.row("MESH:C000001")].parents == ("MESH:D000101",)
    with pytest.raises(
        WebError, match=r"supp\d+\.gz: there is no such file .* fetch it by hand from https://www\.nlm"
    ) as caught:
        download("mesh", limits=LIMITS, year=now)
    assert caught.value.missing
    assert f"linnet kb build desc{now}.gz supp{now}.gz --from mesh -o mesh" in str(caught.value)


def test_mesh_of_last_year_is_no_way_out_of_other_faults(mirror: Server) -> None:
    now = datetime.now(UTC).year
    mirror.say(f"/mirror/desc{now}.gz", status(403))
    with pytest.raises(WebError, match="does not give it to a program"):
        download("mesh", limits=LIMITS)
    assert {path.removesuffix(".sha256") for path, _ in mirror.asked} == {f"/mirror/desc{now}.gz"}


def test_other_addresses(mirror: Server, tmp_path: Path) -> None:
    first = mirror.say("/a/vocabulary?key=secret", file(DISEASES))
    second = mirror.say("/b/vocabulary", file(CHEMICALS))
    sources = download("ctd", urls=[first, second], limits=LIMITS)
    assert [source.path.name for source in sources if source.path] == ["CTD_diseases.tsv.gz", "CTD_chemicals.tsv.gz"]
    assert sources[0].provenance()["url"] == mirror.url("/a/vocabulary")
    [named] = download("doid", urls=[mirror.say("/x/doid-2025.obo", file(OBO))], limits=LIMITS)
    assert named.path == downloads_folder() / "doid-2025.obo"
    for odd in ("/x/..", "/x/.hidden", "/x/%2e%2e%2fdoid", "/x/"):
        [usual] = download("doid", urls=[mirror.say(odd, file(OBO))], limits=LIMITS)
        assert usual.path == downloads_folder() / "doid.obo"
    asked = [path for path, _ in mirror.asked]
    assert not [path for path in asked if path.endswith(".sha256")], "only a mirror is asked for checksums"


def test_checksums_of_a_mirror(mirror: Server) -> None:
    mirror.say("/mirror/doid.obo", file(OBO))
    right = hashlib.sha256(OBO).hexdigest().encode()
    mirror.say("/mirror/doid.obo.sha256", status(200, right + b"  doid.obo\n"))
    download("doid", limits=LIMITS)
    mirror.say("/mirror/doid.obo.sha256", status(200, b"0" * 64 + b"\n"))
    with pytest.raises(LinnetError, match=f"expected {'0' * 64}"):
        download("doid", limits=LIMITS)
    mirror.say("/mirror/doid.obo.sha256", status(200, b"<html>"))
    with pytest.raises(LinnetError, match="holds no sha256, but '<html>'"):
        download("doid", limits=LIMITS)
    mirror.say("/mirror/doid.obo.sha256", status(403))
    with pytest.raises(WebError, match="does not give it to a program"):
        download("doid", limits=LIMITS)


def test_checksums_of_the_user(mirror: Server) -> None:
    mirror.say("/mirror/doid.obo", file(OBO))
    download("doid", sha256=[hashlib.sha256(OBO).hexdigest()], limits=LIMITS)
    with pytest.raises(LinnetError, match="has the sha256"):
        download("doid", sha256=["1" * 64], limits=LIMITS)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (status(200, CAPTCHA, Content_Type="text/html"), "a web page instead of the file"),
        (status(403, CAPTCHA), "does not give it to a program"),
        (status(200, gzip.compress(CAPTCHA)), "is not the expected file: no # Fields: near its beginning"),
        (status(200, CHEMICALS), "no DiseaseID near its beginning"),
        (status(200, DISEASES[:-9]), "the gzip file is truncated"),
        (status(200, DISEASES[:-8] + b"\0" * 8), "the gzip file is damaged"),
        (status(200, b""), "no # Fields:"),
    ],
    ids=["captcha", "refused", "packed page", "other file", "truncated", "damaged", "empty"],
)
def test_what_is_no_vocabulary_is_explained(mirror: Server, answer: object, said: str) -> None:
    mirror.say("/mirror/CTD_diseases.tsv.gz", answer)  # type: ignore[arg-type]
    with pytest.raises(WebError, match=said) as caught:
        download("medic", limits=LIMITS)
    assert "fetch it by hand from https://ctdbase.org/downloads/" in str(caught.value)
    assert "linnet kb build CTD_diseases.tsv.gz --from ctd -o medic" in str(caught.value)
    assert not (downloads_folder() / "CTD_diseases.tsv.gz").exists()


def test_without_a_network_the_copy_is_named(mirror: Server) -> None:
    mirror.say("/mirror/doid.obo", file(OBO), status(503))
    [source] = download("doid", limits=LIMITS)
    with pytest.raises(WebError, match="the copy fetched earlier still works: linnet kb build") as caught:
        download("doid", limits=LIMITS)
    assert f"{source.path} --from obo -o doid" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("dóid", {}, "cannot be downloaded: expected one of ctd"),
        ("doids", {}, "did you mean 'doid'"),
        ("umls", {}, "cannot be downloaded"),
        ("ctd", {"urls": ["https://example.org/a"]}, r"ctd has 2 files \(CTD_diseases.tsv.gz, CTD_chemicals.tsv.gz\)"),
        ("mesh", {"sha256": ["0" * 64]}, "mesh has 2 files .* but 1 --sha256"),
        ("doid", {"urls": ["file:///etc/passwd"]}, "is no web address"),
        ("doid", {"sha256": ["md5"]}, "expected 64 hexadecimal digits"),
    ],
)
def test_wrong_arguments(mirror: Server, name: str, options: dict[str, list[str]], said: str) -> None:
    with pytest.raises(LinnetError, match=said):
        download(name, **options)  # type: ignore[arg-type]
    assert not mirror.asked


def test_a_mirror_that_is_no_address(mirror: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MIRROR, "/srv/mirror")
    with pytest.raises(LinnetError, match=r"'/srv/mirror/doid.obo' is no web address"):
        download("doid")


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_real_files_are_what_they_are_taken_for(data: Path, mirror: Server, tmp_path: Path) -> None:
    served = {"hpo": ("hp.obo", "hp_2017-03.obo.gz"), "medic": ("CTD_diseases.tsv.gz", "CTD_diseases_2017-06.tsv.gz")}
    counts = {"hpo": 11_673, "medic": 11_865}
    for name, (there, here) in served.items():
        mirror.say(f"/mirror/{there}", file((data / "kb" / here).read_bytes()))
        kb = build_from(download(name, limits=LIMITS), tmp_path / f"{name}.kb")
        assert len(kb) == counts[name]
        assert KnowledgeBase.open(kb.path).sources[0]["licence"] == PUBLISHED[name].licence
