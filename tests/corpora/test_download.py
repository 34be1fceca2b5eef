"""Published corpora from a server on this machine: whole, broken off, changed, hostile."""

from __future__ import annotations

import functools
import gzip
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.corpora.published_excerpts import EXCERPTS, zipped
from tests.web_server import Answer, Handler, Server, file, serving, status

from linnet.corpora.catalog import CORPORA, corpora_folder, read_corpus
from linnet.corpora.corpus_download import CHECKSUMS, download_corpus
from linnet.errors import FormatError, LinnetError
from linnet.fetch.mirror import MIRROR, downloads_folder
from linnet.fetch.web import Limits, WebError, check_url
from linnet.vocabularies.published import PUBLISHED

LIMITS = Limits(timeout=5, tries=3, pause=0)
PUBTATOR = "1|t|Cold and fits.\n1|a|A cold.\n1\t0\t4\tCold\tDisease\tD000001\n"
SPLITS = {"train": "Training", "dev": "Development", "test": "Test"}


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "LINNET_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with serving() as made:
        monkeypatch.setenv(MIRROR, made.url(""))
        yield made


@functools.cache  # the hour is in it: another call would make other bytes
def cdr(text: str = PUBTATOR) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for split in SPLITS.values():
            packed.writestr(f"CDR_Data/CDR.Corpus.v010516/CDR_{split}Set.PubTator.txt", text)
        packed.writestr("__MACOSX/CDR_Data/._x", "never unpacked")
    return out.getvalue()


CDR = "/bc5cdr/CDR_Data.zip"


def read(name: str = "bc5cdr", split: str = "dev") -> list[str]:
    return [doc.id for doc in read_corpus(name, split=split)]


# --- the catalog -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CORPORA)
def test_what_the_catalog_says_of_downloads(name: str) -> None:
    corpus = CORPORA[name]
    assert corpus.page == "" or check_url(corpus.page).startswith("https://")
    assert set(corpus.terminologies) <= set(PUBLISHED)
    names = [item.place or item.kept_as for item in corpus.downloads]
    assert len(set(names)) == len(names)
    for item in corpus.downloads:
        assert check_url(item.url).startswith("https://")
        assert item.kept_as
        assert not (item.place and item.only)
    assert not corpus.downloads or corpus.page


# --- the good ways ---------------------------------------------------------------------------------------------------


def test_a_corpus_is_fetched_once_and_found(server: Server) -> None:
    server.say(CDR, file(cdr()))
    told: list[tuple[int, int | None]] = []
    folder = download_corpus(
        "bc5cdr", progress=lambda name: lambda done, total: told.append((done, total)), limits=LIMITS
    )
    assert folder == corpora_folder() / "bc5cdr"
    assert read() == ["1"]
    assert told[-1] == (len(cdr()), len(cdr()))
    assert not list(folder.rglob("._x"))
    asked = len(server.asked)
    download_corpus("bc5cdr", limits=LIMITS)
    assert len(server.asked) == asked, "a file that is there with its checksum is not asked for again"
    [kept] = json.loads((downloads_folder() / "corpora" / CHECKSUMS).read_text()).items()
    assert kept == ("bc5cdr/CDR_Data.zip", hashlib.sha256(cdr()).hexdigest())


def test_a_data_folder_goes_before_what_was_downloaded(server: Server, tmp_path: Path) -> None:
    server.say(CDR, file(cdr()))
    download_corpus("bc5cdr", limits=LIMITS)
    (tmp_path / "data").mkdir()
    assert [doc.id for doc in read_corpus("bc5cdr", split="dev", data=tmp_path / "data")] == ["1"]
    (tmp_path / "data" / "CDR_DevelopmentSet.PubTator.txt").write_text(
        PUBTATOR.replace("1|", "2|").replace("1\t0", "2\t0")
    )
    assert [doc.id for doc in read_corpus("bc5cdr", split="dev", data=tmp_path / "data")] == ["2"]


@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
@pytest.mark.parametrize("name", ["ask_a_patient", "bioid", "craft", "gnormplus", "linnaeus", "nlm_gene"])
def test_archives_of_the_new_corpora(server: Server, tmp_path: Path, name: str) -> None:
    [item] = CORPORA[name].downloads
    server.say(f"/{name}/{item.kept_as}", file(zipped(tmp_path / "a.zip", name)))
    folder = download_corpus(name, limits=LIMITS)
    assert {path.name for path in folder.rglob("*") if path.is_file()} <= {Path(place).name for place in EXCERPTS[name]}
    assert list(read_corpus(name, split=CORPORA[name].splits[-1] if name != "craft" else "train"))


@pytest.mark.parametrize(("name", "archive"), [("s800", "/s800/S800-1.0.tar.gz"), ("tmvar", "")])
@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_single_files_go_to_their_places(server: Server, name: str, archive: str) -> None:
    files = EXCERPTS[name]
    if archive:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:gz") as packed:
            for place, content in files.items():
                entry = tarfile.TarInfo(f"./{place}")
                entry.size = len(content.encode())
                packed.addfile(entry, io.BytesIO(content.encode()))
        server.say(archive, file(out.getvalue()))
    for item in CORPORA[name].downloads:
        if item.place:
            server.say(f"/{name}/{item.place}", file(files[item.place].encode() or b"3\n"))
    download_corpus(name, limits=LIMITS)
    assert list(read_corpus(name, split="all"))


def test_medmentions_of_both_kinds(server: Server) -> None:
    for name, kind in (("medmentions", "full"), ("medmentions_st21pv", "st21pv")):
        server.say(f"/{name}/{kind}/data/corpus_pubtator.txt.gz", file(PUBTATOR.encode()))
        for split in ("trng", "dev", "test"):
            server.say(f"/{name}/full/data/corpus_pubtator_pmids_{split}.txt", file(b"1\n"))
        download_corpus(name, limits=LIMITS)
        assert read(name, "test") == ["1"]


# --- bad servers -----------------------------------------------------------------------------------------------------


def test_what_breaks_off_goes_on(server: Server) -> None:
    body = cdr()
    server.say(CDR, file(body, cut=40), file(body, cut=40), file(body))
    download_corpus("bc5cdr", limits=LIMITS)
    assert server.heads("Range")[-2:] == ["bytes=40-", "bytes=80-"]
    assert read() == ["1"]


def test_what_breaks_off_is_kept_for_the_next_call(server: Server) -> None:
    body = cdr()
    server.say(CDR, file(body, cut=30))
    with pytest.raises(WebError, match=r"gave up after 3 tries; 90 bytes are kept.*fetch it by hand from https://bio"):
        download_corpus("bc5cdr", limits=LIMITS)
    assert not list(corpora_folder().glob("bc5cdr/*"))
    server.say(CDR, file(body))
    download_corpus("bc5cdr", limits=LIMITS)
    assert server.heads("Range")[-1] == "bytes=90-"
    assert read() == ["1"]


def wrong_length(body: bytes, length: int) -> Answer:
    def answer(handler: Handler) -> None:
        handler.begin(200, length, ETag='"one"')
        handler.wfile.write(body)

    return answer


def test_a_length_that_is_too_great(server: Server) -> None:
    server.say(CDR, wrong_length(cdr(), len(cdr()) + 10))
    with pytest.raises(WebError, match="gave up after 3 tries"):
        download_corpus("bc5cdr", limits=LIMITS)


def test_a_length_that_is_too_small(server: Server) -> None:
    server.say(CDR, wrong_length(cdr(), len(cdr()) // 2))
    with pytest.raises(WebError, match=r"CDR_Data\.zip: (is no archive|.* damaged).*; it was set aside as .*by hand"):
        download_corpus("bc5cdr", limits=LIMITS)
    assert not list(corpora_folder().glob("bc5cdr/*"))


@pytest.mark.parametrize("code", [403, 404, 500, 503])
def test_errors_say_how_to_go_on(server: Server, code: int) -> None:
    server.say(CDR, status(code))
    with pytest.raises(WebError, match="fetch it by hand from https://biocreative"):
        download_corpus("bc5cdr", limits=LIMITS)


def test_redirects_are_followed_and_pages_are_not_taken(server: Server) -> None:
    server.say(CDR, status(302, Location="/elsewhere.zip"))
    server.say("/elsewhere.zip", file(cdr()))
    download_corpus("bc5cdr", limits=LIMITS)
    assert read() == ["1"]
    server.say("/tmvar/tmVar3Corpus.txt", status(302, Location="/login"))
    server.say("/login", status(200, b"<!DOCTYPE html><html>Log in</html>"))
    with pytest.raises(WebError, match="answered with a web page"):
        download_corpus("tmvar", limits=LIMITS)
    server.say("/tmvar/tmVar3Corpus.txt", status(302, Location="/tmvar/tmVar3Corpus.txt"))
    with pytest.raises(WebError, match="redirects in a circle"):
        download_corpus("tmvar", limits=LIMITS)


# --- checksums -------------------------------------------------------------------------------------------------------


def test_a_file_that_changed_is_refused_until_it_is_accepted(server: Server) -> None:
    server.say(CDR, file(cdr()))
    download_corpus("bc5cdr", limits=LIMITS)
    kept = downloads_folder() / "corpora" / "bc5cdr" / "CDR_Data.zip"
    kept.write_bytes(b"damaged on disk")
    changed = cdr(PUBTATOR.replace("1|", "7|").replace("1\t0", "7\t0"))
    new = hashlib.sha256(changed).hexdigest()
    server.say(CDR, file(changed, etag='"two"'))
    with pytest.raises(LinnetError, match=rf"has the sha256 {new}, expected .* its own when first fetched: .*--sha256"):
        download_corpus("bc5cdr", limits=LIMITS)
    assert read() == ["1"], "what was unpacked before stays"
    download_corpus("bc5cdr", sha256=[new], limits=LIMITS)
    assert read() == ["7"]
    assert len(list(corpora_folder().glob("bc5cdr/*"))) == 1, "two releases are never mixed"
    download_corpus("bc5cdr", limits=LIMITS)
    assert read() == ["7"]


def test_checksums_that_are_known_and_those_a_mirror_offers(server: Server) -> None:
    server.say("/ncbi_disease/NCBItrainset_corpus.zip", file(cdr()))
    with pytest.raises(LinnetError, match=r"expected 26157233d70a.* that checksum is known"):
        download_corpus("ncbi_disease", limits=LIMITS)
    server.say(CDR, file(cdr()))
    server.say(f"{CDR}.sha256", status(200, b"0" * 64 + b"  CDR_Data.zip\n"))
    with pytest.raises(LinnetError, match=r"expected 0000.* that checksum is the mirror's: if the new one"):
        download_corpus("bc5cdr", limits=LIMITS)


@pytest.mark.parametrize("content", ["[]", "{", '{"a": "b"}', "\x00"])
def test_a_memory_of_checksums_that_is_damaged(server: Server, content: str) -> None:
    place = downloads_folder() / "corpora" / CHECKSUMS
    place.parent.mkdir(parents=True)
    place.write_text(content)
    with pytest.raises(FormatError, match=r"checksums\.json.*delete it"):
        download_corpus("bc5cdr", limits=LIMITS)
    assert not server.asked


@pytest.mark.parametrize(
    ("name", "portal", "good"),
    [
        ("bc5cdr", b"<?xml version='1.0'?><Error>log in at the portal</Error>", cdr()),
        ("bc5cdr", cdr()[:-30], cdr()),
        ("tmvar", b"<?xml version='1.0'?><Error>log in at the portal</Error>", b"\n" + PUBTATOR.encode()),
        ("tmvar", b"version https://git-lfs.github.com/spec/v1\n", b"\xef\xbb\xbf" + PUBTATOR.encode()),
        ("tmvar", gzip.compress(PUBTATOR.encode())[:-1], gzip.compress(PUBTATOR.encode())),
    ],
    ids=["page for an archive", "half an archive", "page for a text", "a pointer", "half a text"],
)
def test_what_comes_instead_of_a_file_is_not_remembered(server: Server, name: str, portal: bytes, good: bytes) -> None:
    [item] = CORPORA[name].downloads
    place = f"/{name}/{item.place or item.kept_as}"
    server.say(place, file(portal, etag='"portal"'))
    with pytest.raises(WebError, match=r"(no archive|damaged|not the expected file|truncated).*; it was set aside as "):
        download_corpus(name, limits=LIMITS)
    assert not (downloads_folder() / "corpora" / CHECKSUMS).exists()
    assert not list(corpora_folder().glob(f"{name}/*"))
    server.say(place, file(good))
    download_corpus(name, limits=LIMITS)
    assert read(name, CORPORA[name].splits[0]) == ["1"]


@pytest.mark.parametrize("page", [b"Log in first\n", b"{}", b"Unauthorized"])
def test_lists_of_ids_are_lists_of_ids(server: Server, page: bytes) -> None:
    server.say("/medmentions/full/data/corpus_pubtator.txt.gz", file(PUBTATOR.encode()))
    server.say("/medmentions/full/data/corpus_pubtator_pmids_trng.txt", file(page))
    with pytest.raises(WebError, match=r"pmids_trng\.txt: is not the expected file: it begins with '"):
        download_corpus("medmentions", limits=LIMITS)


def test_a_file_that_does_not_get_to_its_place_is_not_remembered(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise FormatError("CDR_Data", "cannot be unpacked: No space left on device")

    server.say(CDR, file(cdr()))
    with monkeypatch.context() as patch:
        patch.setattr("linnet.corpora.corpus_download.unpack", full)
        with pytest.raises(FormatError, match="No space left"):
            download_corpus("bc5cdr", limits=LIMITS)
    assert not (downloads_folder() / "corpora" / CHECKSUMS).exists()
    download_corpus("bc5cdr", limits=LIMITS)
    assert server.heads("If-None-Match")[-1] == '"one"', "the file itself is kept"
    assert read() == ["1"]


# --- processes that die, and several at once -------------------------------------------------------------------------


def test_a_corpus_that_was_being_unpacked_is_not_read(server: Server) -> None:
    half = corpora_folder() / "bc5cdr" / ".CDR_Data-0123456789ab.01234567.part" / "CDR_DevelopmentSet.PubTator.txt"
    half.parent.mkdir(parents=True)
    half.write_text(PUBTATOR.replace("1|", "9|").replace("1\t0", "9\t0"))
    with pytest.raises(FormatError, match="the dev split of bc5cdr is not there"):
        read()
    server.say(CDR, file(cdr()))
    download_corpus("bc5cdr", limits=LIMITS)
    assert read() == ["1"]
    assert not half.parent.exists(), "nobody else is unpacking"


def test_several_at_once_fetch_and_unpack_once(server: Server) -> None:
    server.say(CDR, file(cdr()))
    with ThreadPoolExecutor(4) as pool:
        folders = list(pool.map(lambda _: download_corpus("bc5cdr", limits=LIMITS), range(4)))
    assert len(set(folders)) == 1
    assert [path for path, _ in server.asked] == [f"{CDR}.sha256", CDR]
    assert len(list(folders[0].iterdir())) == 1


def test_no_checksum_is_forgotten_where_several_are_remembered(server: Server) -> None:
    names = ("bc5cdr", "tmvar", "biored")
    biored = io.BytesIO()
    with zipfile.ZipFile(biored, "w") as packed:
        packed.writestr("BioRED/Dev.PubTator", PUBTATOR)
    for place, body in (("CDR_Data.zip", cdr()), ("tmVar3Corpus.txt", PUBTATOR.encode()), ("BIORED.zip", biored)):
        for name in names:
            server.say(f"/{name}/{place}", file(body if isinstance(body, bytes) else body.getvalue()))
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda name: download_corpus(name, limits=LIMITS), names))
    assert len(json.loads((downloads_folder() / "corpora" / CHECKSUMS).read_text())) == 3


# --- hostile archives, and what is asked wrongly ---------------------------------------------------------------------


def test_an_archive_that_leads_out(server: Server, tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr("../../../evil.PubTator.txt", "x")
    server.say(CDR, file(out.getvalue()))
    with pytest.raises(WebError, match="refused as unsafe"):
        download_corpus("bc5cdr", limits=LIMITS)
    assert not list(tmp_path.rglob("evil*"))
    assert not list(corpora_folder().glob("bc5cdr/*"))


def test_what_cannot_be_downloaded() -> None:
    with pytest.raises(LinnetError, match=r"unknown corpus 'bc5cd', expected one of .*; did you mean 'bc5cdr'"):
        download_corpus("bc5cd")
    with pytest.raises(LinnetError, match=r"gsc_plus cannot be downloaded .*: get it from https://github\.com/lasige"):
        download_corpus("gsc_plus")
    with pytest.raises(LinnetError, match=r"medmentions_st21pv_derived cannot be downloaded .*: ask its authors"):
        download_corpus("medmentions_st21pv_derived")
    with pytest.raises(LinnetError, match=r"bc5cdr has 1 files \(CDR_Data\.zip\) but 2 --url"):
        download_corpus("bc5cdr", urls=["https://a.org/1", "https://a.org/2"])
    with pytest.raises(LinnetError, match=r"NCBItrainset_corpus\.zip.* but 1 --sha256"):
        download_corpus("ncbi_disease", sha256=["0" * 64])
