"""The fuzzer itself: seeds that readers take, every registered reader among them, and a short run of each."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from linnet.corpora import FORMATS
from linnet.errors import LinnetError
from linnet.vocabularies import VOCABULARIES
from tests import fuzz
from tests.fuzz_mutations import mutated
from tests.fuzz_seeds import Target, targets

ALL = targets()


def test_no_reader_is_left_out() -> None:
    names = {target.name for target in ALL}
    assert names >= {name for name, format in FORMATS.items() if format.read}
    assert names >= {f"kb/{name}" for name in VOCABULARIES}
    assert len(names) == len(ALL)


@pytest.mark.parametrize("target", ALL, ids=lambda target: target.name)
@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_seeds_are_good_and_a_few_mutations_harmless(target: Target, tmp_path: Path) -> None:
    for number, seed in enumerate(target.seeds):
        folder = tmp_path / str(number) / "in"
        fuzz._put(seed, folder)
        assert list(target.read(folder, random.Random(0)))
    for number in range(10):
        rng = random.Random(number)
        folder = tmp_path / f"m{number}" / "in"
        fuzz._put(mutated(target.seeds[-1], rng), folder)
        try:
            list(target.read(folder, rng))
        except LinnetError as error:
            assert fuzz.kind(error)


def test_mutations_follow_from_their_number() -> None:
    seed = {"x": b"1\t2\tFits\n" * 10}
    made = [mutated(seed, random.Random(f"13:x:{number}")) for number in range(50)]
    assert made == [mutated(seed, random.Random(f"13:x:{number}")) for number in range(50)]
    assert sum(one != seed for one in made) > 40


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise KeyError('x')", "KeyError at"),
        ("while True: pass", "Hang at"),
        ("kept.append(bytearray(1 << 20)); yield 1", "MB of memory stay behind"),
    ],
)
def test_faults_are_found_and_kept(
    tmp_path: Path, body: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, object] = {"kept": []}
    exec(f"def read(folder, rng):\n    {body}\n    yield 0", names)
    monkeypatch.setattr(fuzz, "CPU", 0.2)
    monkeypatch.setattr(fuzz, "targets", lambda: [Target("bad", [{"x": b"1"}], names["read"])])  # type: ignore[arg-type]
    mutations = "100" if "kept" in body else "2"
    assert fuzz.main(["--mutations", mutations, "--keep", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert said in out
    assert "FAULTS" in out
    assert "kept" in body or list(tmp_path.rglob("x"))
