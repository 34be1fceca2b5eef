"""The fuzzer itself: seeds that readers take, every registered reader among them, and a short run of each."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from tools.fuzz import __main__ as fuzz
from tools.fuzz import growth, run
from tools.fuzz.mutations import mutated
from tools.fuzz.seeds import Target, targets
from tools.fuzz.watch import consumed

from linnet.corpora import FORMATS
from linnet.corpora.catalog import CORPORA, READERS
from linnet.errors import LinnetError
from linnet.vocabularies import VOCABULARIES

ALL = targets()
OUTER = ("no JSON", "not JSON", "no well-formed XML", "not UTF-8", "NUL byte", "gzip", "UTF-16", "UTF-32", "is empty")


def test_no_reader_is_left_out() -> None:
    names = {target.name for target in ALL}
    assert names >= {name for name, format in FORMATS.items() if format.read}
    assert names >= {f"kb/{name}" for name in VOCABULARIES}
    corpora = [name.split("/") for name in names if name.startswith("corpus/")]
    assert {CORPORA[corpus].layouts[layout].format for _, corpus, layout in corpora} == set(READERS)
    assert len(names) == len(ALL)


@pytest.mark.parametrize("target", ALL, ids=lambda target: target.name)
@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_seeds_are_good_and_a_few_mutations_harmless(target: Target, tmp_path: Path) -> None:
    for number, seed in enumerate(target.seeds):
        folder = tmp_path / str(number) / "in"
        run.put(seed, folder)
        assert consumed(target.read(folder, random.Random(0)))
    for number in range(10):
        rng = random.Random(number)
        folder = tmp_path / f"m{number}" / "in"
        run.put(mutated(target.seeds[-1], rng), folder)
        try:
            consumed(target.read(folder, rng))
        except LinnetError as error:
            assert run.kind(error)


def test_mutations_follow_from_their_number() -> None:
    for seed in ({"x": b"1\t2\tFits\n" * 10}, {"x": b'{"a": [1, {"b": "c"}]}'}, {"x": b'<a b="c"><d>e</d></a>'}):
        made = [mutated(seed, random.Random(f"13:x:{number}")) for number in range(50)]
        assert made == [mutated(seed, random.Random(f"13:x:{number}")) for number in range(50)]
        assert sum(one != seed for one in made) > 40


@pytest.mark.parametrize("name", ["jsonl", "bioc", "bigbio", "jats", "pubmed", "medcat", "kb/mesh", "kb/texoo"])
@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_most_mutations_get_behind_the_parser(name: str, tmp_path: Path) -> None:
    target = next(target for target in ALL if target.name == name)
    outside = 0
    for number in range(100):
        rng = random.Random(number)
        run.put(mutated(target.seeds[0], rng), tmp_path)
        try:
            list(target.read(tmp_path, rng))
        except LinnetError as error:
            outside += any(problem in str(error) for problem in OUTER)
    assert outside < 50


def wrong(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be one reader, which does what `body` says."""
    names: dict[str, Any] = {"kept": []}
    exec(f"import os\nfrom linnet.data import Document\ndef read(folder, rng):\n    {body}\n    yield 0", names)
    read: Callable[[Path, random.Random], Iterable[object]] = names["read"]
    monkeypatch.setattr(fuzz, "targets", lambda: [Target("bad", [{"x": b"1\n2\n"}], read)])


BAD = "if (folder / 'x').read_bytes() == b'1\\n2\\n': return (yield 0)\n    "  # what follows meets no good file


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "said"),
    [
        (f"{BAD}raise KeyError('x')", "KeyError: "),
        (f"{BAD}while True: pass", "Hang: took more than"),
        (f"{BAD}bytearray(300 << 20)", "takes more than 200 MB above what its seed takes"),
        (f"{BAD}yield Document('1', 'a', meta={{'n': 10 ** 5_000}})", "UnfaithfulError: a document cannot be written"),
        (f"{BAD}os._exit(3)", "the process dies with exit status 3"),
    ],
)
def test_faults_are_found_and_kept(
    tmp_path: Path, body: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong(body, monkeypatch)
    if "Hang" in said:  # no other may take long for what is a slow machine's fault
        monkeypatch.setattr(run, "CPU", 0.2)
    assert fuzz.main(["--mutations", "3", "--larger", "0", "--keep", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert said in out
    assert "FAULTS" in out
    assert "1 readers, 1 seeds, no real files" in out
    assert list(tmp_path.rglob("x"))


@pytest.mark.slow
def test_memory_that_stays_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong("kept.append(b'x' * (3 << 20)); yield 1", monkeypatch)
    assert fuzz.main(["--mutations", "100", "--larger", "0", "--keep", str(tmp_path)]) == 1
    assert "MB of memory stay behind" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(("power", "good"), [(1, True), (2, False)])
def test_time_beyond_proportion_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, power: int, good: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    body = f"end = time.process_time() + (len((folder / 'x').read_bytes()) / 15_000) ** {power} / 150\n"
    wrong(f"import time\n    {body}    while time.process_time() < end: pass", monkeypatch)
    monkeypatch.setattr(growth, "SMALL", 15_000)
    monkeypatch.setattr(growth, "FLOOR", 0.05)
    assert fuzz.main(["--mutations", "0", "--larger", "1", "--keep", str(tmp_path)]) == 1 - good
    assert ("4 times the content takes 1" in capsys.readouterr().out) != good


@pytest.mark.parametrize("name", ["jsonl", "bioc", "pubtator", "brat", "kb/obo", "kb/umls", "kb/texoo"])
@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_larger_files_are_good_and_as_large_as_said(name: str, tmp_path: Path) -> None:
    target = next(target for target in ALL if target.name == name)
    assert target.larger
    for one in (False, True):
        for size in (30_000, 60_000):
            files = target.larger(size, one)
            assert 0.6 * size < sum(map(len, files.values())) < 1.4 * size
        run.put(files, tmp_path / str(one))
        assert list(target.read(tmp_path / str(one), random.Random(0)))


def test_pieces_are_repeated_in_their_place() -> None:
    for data in (
        b"a\t1\nb\t2\n",
        b'{"a": [{"id": 1}, "xy"]}',
        b"<a><b>1 c</b><d/></a>",
        b'{"a": 1}\n{"a": "b"}\n',
    ):
        for number in range(20):
            found = growth.piece(data, random.Random(number))
            assert found
            assert 900 < len(found.sized(1_000)) < 1_100
    page = growth.Repeated(b"<", b"1 a 01 1,", b">", b"", True)
    assert page.sized(20) == b"<1 a 01 1,2 a 01 2,>"
