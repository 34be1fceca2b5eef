from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.data import Concept, Name
from linnet.errors import KnowledgeBaseError, LinnetError, LinnetWarning
from linnet.kb import KnowledgeBase
from linnet.kb import build as kb_build
from linnet.kb.build import build
from linnet.kb.file import concept_hash
from linnet.kb.tables import SCHEMA
from tests.growth import LINEAR, growth

FULL = Concept(
    "X:1", (Name("one", "exact", "de", "s"), Name("eins", "broad")), ("A", "B"), "def", ("X:2", "X:3"), ("Y:1", "Y:2")
)
OTHERS = (Concept("X:2", (Name("two"),)), Concept("X:3", (Name("three"),)), Concept("X:9", replaced_by="X:2"))


def named(id: str, *parents: str, origin: str = "") -> Concept:
    return Concept(id, (Name(f"name of {id}"),), parents=parents, origin=origin)


@pytest.mark.slow
def test_time_grows_with_the_retired_ids_not_with_their_square(tmp_path: Path) -> None:
    def work(many: int) -> None:
        old = [Concept(f"O:{i}", replaced_by=f"O:{i + 1}" if i < many - 1 else "X:1") for i in range(many)[::-1]]
        assert build([named("X:1"), *old], tmp_path / "a.kb").row("O:0") == 0

    assert growth(work, 20_000) < LINEAR


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "a.kb")


# --- what comes out --------------------------------------------------------------------------------------------------


def test_nothing_is_lost(tmp_path: Path) -> None:
    kb = build([FULL, *OTHERS], tmp_path / "a.kb", name="mine", sources=[{"vocabulary": "test", "n": 1}])
    assert list(kb.concepts()) == [FULL, *OTHERS]
    assert kb.info["name"] == "mine"
    assert kb.sources == [{"vocabulary": "test", "n": 1}]
    assert leftovers(tmp_path) == []


TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
NAMES = st.builds(Name, TEXTS.filter(str.strip), st.sampled_from(["exact", "related"]), TEXTS, TEXTS)


@st.composite
def concepts(draw: st.DrawFn) -> list[Concept]:
    ids = draw(st.lists(TEXTS, min_size=1, max_size=5, unique=True))
    found = []
    for place, id in enumerate(ids):
        found.append(
            Concept(
                id,
                tuple(draw(st.lists(NAMES, min_size=1, max_size=3))),
                tuple(draw(st.lists(TEXTS, max_size=2))),
                draw(TEXTS | st.just("")),
                tuple(draw(st.lists(st.sampled_from(ids[:place]), max_size=2))) if place else (),
                tuple(draw(st.lists(TEXTS, max_size=2))),
            )
        )
    return found


def shares(kb: KnowledgeBase) -> Iterator[int]:
    """The shares of the concepts in the version of a knowledge base that was never edited: names have rows in order."""
    first = 0
    for row in range(len(kb)):
        concept = kb[row]
        yield concept_hash(row, concept, range(first, first + len(concept.names)))
        first += len(concept.names)


@pytest.mark.slow
@settings(deadline=None)
@given(stream=concepts())
def test_any_concepts_come_back(stream: list[Concept], tmp_path_factory: pytest.TempPathFactory) -> None:
    kb = build(stream, tmp_path_factory.mktemp("any") / "a.kb")
    assert list(kb.concepts()) == stream
    assert kb.version == f"{sum(shares(kb)) % 2**64:016x}"


@pytest.mark.parametrize(
    "change",
    [
        {"id": "X:7"},
        {"names": FULL.names[::-1]},
        {"names": FULL.names[:1]},
        {"names": (replace(FULL.names[0], text="One"), FULL.names[1])},
        {"names": (replace(FULL.names[0], scope="related"), FULL.names[1])},
        {"names": (replace(FULL.names[0], language="en"), FULL.names[1])},
        {"names": (replace(FULL.names[0], source="t"), FULL.names[1])},
        {"types": ("B", "A")},
        {"types": ("A",)},
        {"definition": ""},
        {"parents": ("X:3", "X:2")},
        {"parents": ("X:2",)},
        {"xrefs": ("Y:2", "Y:1")},
        {"xrefs": ()},
    ],
)
def test_versions_follow_every_field(tmp_path: Path, change: dict[str, object]) -> None:
    before = build([FULL, *OTHERS], tmp_path / "a.kb").version
    after = build([replace(FULL, **change), *OTHERS], tmp_path / "a.kb").version  # type: ignore[arg-type]
    assert len(before) == len(after) == 16
    assert before != after


def test_versions_follow_rows_and_successors(tmp_path: Path) -> None:
    one, two, three, retired = named("X:1"), named("X:2"), named("X:3"), Concept("X:9", replaced_by="X:1")
    streams = (
        [one, two, three, retired],
        [two, one, three, retired],
        [one, two, three],
        [one, two, three, replace(retired, replaced_by="X:2")],
        [one, two, three, replace(retired, replaced_by="")],
        [one, two, three, retired, named("X:4")],
    )
    versions = [build(stream, tmp_path / "a.kb").version for stream in streams]
    assert len(set(versions)) == len(streams)


def test_versions_follow_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = build([FULL, *OTHERS], tmp_path / "a.kb")
    monkeypatch.setattr(kb_build, "CHUNK", 1)
    moved = [*(replace(concept, origin="other:1") for concept in (OTHERS[2], FULL)), *OTHERS[:2]]
    after = build(moved, tmp_path / "b.kb", name="other", sources=[{"a": "b"}])
    assert after.version == before.version
    assert before.info["built"] <= after.info["built"]


def test_the_version_is_of_what_the_file_holds(tmp_path: Path) -> None:
    with pytest.warns(LinnetWarning, match="3 parents are not in the source and left out, for example 'A:9'"):
        kb = build([named("X:1", "Z:9", "X:2", "A:9"), named("X:2"), named("X:3", "Z:9")], tmp_path / "a.kb")
    assert kb[0].parents == ("X:2",)
    assert kb[2].parents == ()
    assert kb.version == build(kb.concepts(), tmp_path / "b.kb").version


def test_progress_and_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kb_build, "CHUNK", 2)
    seen: list[int] = []
    kb = build((named(f"X:{i}") for i in range(5)), tmp_path / "a.kb", progress=seen.append)
    assert seen == [2, 4]
    assert [kb.id(row) for row in range(len(kb))] == [f"X:{i}" for i in range(5)]


def test_the_file_may_be_read_as_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        path = build([named("X:1")], tmp_path / "a.kb").path
        assert path.stat().st_mode & 0o777 == 0o640
        path.chmod(0o600)
        build([named("X:1")], path)
        assert path.stat().st_mode & 0o777 == 0o600, "built again it is as private as it was"
    finally:
        os.umask(before)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse file names that are no UTF-8")
def test_names_of_files_may_be_no_utf_8(tmp_path: Path) -> None:
    source = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    kb = build([Concept("X:1", (Name("Fever"),), origin=f"{source}.tsv:2")], f"{source}.kb")
    assert (kb.info["name"], kb.search("fever")[0].id) == ("caf\\udce9", "X:1")
    with pytest.raises(KnowledgeBaseError, match=r"caf\\udce9\.tsv:2: concept id 'X:1' occurs twice"):
        build([named("X:1"), named("X:1", origin=f"{source}.tsv:2")], f"{source}.kb")


def test_relative_paths_and_new_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert build([named("X:1")], "a.kb").info["name"] == "a"
    assert len(build([named("X:1")], "new/folder/b.kb")) == 1


# --- what is refused -------------------------------------------------------------------------------------------------


def refused(stream: list[Concept], folder: Path, message: str) -> None:
    with warnings.catch_warnings(), pytest.raises(KnowledgeBaseError, match=message):
        warnings.simplefilter("ignore", LinnetWarning)
        build(stream, folder / "a.kb")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("chunk", [1, 2, 5000])
def test_duplicates_name_both_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(kb_build, "CHUNK", chunk)
    stream = [named("X:0"), named("X:1", origin="a.tsv:2"), named("X:2"), named("X:1", origin="b.tsv:9")]
    refused(stream, tmp_path, r"^a\.tsv:2 and b\.tsv:9: concept id 'X:1' occurs twice; ids must be unique$")
    refused([named("X:1"), named("X:1")], tmp_path, "^the source: concept id 'X:1' occurs twice")
    retired = [named("X:0"), Concept("X:1", origin="a:1", replaced_by=""), Concept("X:1", origin="a:2", replaced_by="")]
    refused(retired, tmp_path, "^a:1 and a:2: concept id 'X:1' occurs twice")


def test_live_and_retired(tmp_path: Path) -> None:
    stream = [named("X:0"), named("X:1", origin="a:1"), Concept("X:1", replaced_by="X:0")]
    refused(stream, tmp_path, "^a:1: concept 'X:1' is both live and retired$")


def test_retired_concepts_are_kept_whole_as_tombstones(tmp_path: Path) -> None:
    old = replace(FULL, id="X:0", parents=("X:2",), replaced_by="X:1")
    bare, child = Concept("X:9", (Name("nine"),), replaced_by=""), named("X:7", "X:3")
    concepts = [old, replace(FULL, parents=()), *OTHERS[:2], child, bare]
    kb = build(concepts, tmp_path / "a.kb", whole_retired=True)
    assert list(kb.concepts()) == concepts
    assert [kb.search(text)[0].id for text in ("eins", "X:0")] == ["X:1", "X:1"]
    assert [hit.id for hit in kb.search("eins")] == ["X:1"]
    assert [kb.info[key] for key in ("concepts", "names", "retired")] == ["4", "5", "2"]
    assert {name.concept for name in kb.names()} == {1, 2, 3, 4}
    assert not kb.mask(under=["X:2"]).array[0]
    with KnowledgeBase.edit(kb.path) as change:
        change.add(replace(old, replaced_by=None, parents=()))
    assert {hit.id for hit in KnowledgeBase.open(kb.path).search("eins")} == {"X:0", "X:1"}


def test_a_retired_parent_is_left_out_and_a_circle_through_tombstones_refused(tmp_path: Path) -> None:
    old = [replace(FULL, id=id, parents=(), replaced_by=to) for id, to in (("O:1", "O:2"), ("O:2", "O:1"))]
    with pytest.raises(KnowledgeBaseError, match="'O:1' is replaced in a circle"):
        build([named("X:0"), *old], tmp_path / "a.kb", whole_retired=True)
    with pytest.raises(KnowledgeBaseError, match="the source is empty"):
        build([replace(old[0], replaced_by="")], tmp_path / "a.kb", whole_retired=True)
    with pytest.warns(LinnetWarning, match="1 parent is not in the source and left out, for example 'O:1'"):
        kb = build([named("X:0", "O:1"), replace(old[0], replaced_by="")], tmp_path / "a.kb", whole_retired=True)
    with KnowledgeBase.edit(kb.path) as change:  # the version is that of what the file holds
        change.add(Concept("X:0", definition="zero"))
    again = list(KnowledgeBase.open(kb.path).concepts())
    assert build(again, tmp_path / "b.kb", whole_retired=True).version == KnowledgeBase.open(kb.path).version


def test_dangling_successors(tmp_path: Path) -> None:
    stream = [named("X:0"), Concept("X:1", replaced_by="X:7", origin="a:3")]
    refused(stream, tmp_path, "^a:3: retired concept 'X:1' is replaced by 'X:7', which is not in the source$")
    refused([named("X:0"), Concept("X:1", replaced_by="X:7")], tmp_path, "^retired concept 'X:1' is replaced by")
    lines = [Concept(f"R:{at}", replaced_by=f"Y:{at}", origin=f"a:{at}") for at in range(1, 23)]
    start = "^a:1: retired concept 'R:1' is replaced by 'Y:1'; a:2: retired concept 'R:2' is replaced by 'Y:2'; .*"
    refused([named("X:0"), *lines], tmp_path, start + "a:20: .* and 2 more, which are not in the source$")


@pytest.mark.parametrize(
    "pairs", [[("A", "A")], [("A", "B"), ("B", "A")], [("T", "A"), ("A", "B"), ("B", "C"), ("C", "A")]]
)
def test_circular_successors(tmp_path: Path, pairs: list[tuple[str, str]]) -> None:
    stream = [named("X:0"), Concept("S", replaced_by="X:0"), Concept("U", replaced_by="S")]
    stream += [Concept(id, replaced_by=to, origin=f"f:{id}") for id, to in pairs]
    refused(stream, tmp_path, f"^f:{pairs[0][0]}: retired concept '{pairs[0][0]}' is replaced in a circle$")


def test_chains_of_successors_that_end_are_kept(tmp_path: Path) -> None:
    chain = [Concept(f"R:{i}", replaced_by=f"R:{i + 1}") for i in range(50)] + [Concept("R:50", replaced_by="")]
    live = [Concept("L:0", replaced_by="L:1"), Concept("L:1", replaced_by="X:0")]
    kb = build([named("X:0"), *chain, *live], tmp_path / "a.kb")
    assert "R:0" not in kb
    assert kb.row("L:0") == 0


@pytest.mark.parametrize(
    ("concept", "message"),
    [
        (Concept("X:1", origin="f:1"), "^f:1: concept 'X:1' has no name; every live concept needs one"),
        (Concept("X:1", (Name(""), Name(" \t"))), "^concept 'X:1' has no name"),
        (Concept("", (Name("a"),), origin="f:2"), "^f:2: a concept without an id"),
        (Concept("X:1", (Name("a\ud800b"),)), r"^'a\\ud800b' contains a lone surrogate"),
    ],
)
def test_concepts_that_cannot_be_kept(tmp_path: Path, concept: Concept, message: str) -> None:
    refused([named("X:0"), concept], tmp_path, message)


@pytest.mark.parametrize("stream", [[], [Concept("X:1", replaced_by="")]])
def test_a_stream_without_live_concepts(tmp_path: Path, stream: list[Concept]) -> None:
    refused(stream, tmp_path, "no concepts to build a knowledge base from")


# --- cycles ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ({"X:1": ["X:1"]}, "^f:X:1: cyclic parents: X:1 -> X:1$"),
        ({"X:1": ["X:2"], "X:2": ["X:1"]}, "cyclic parents: X:[12] -> X:[12] -> X:[12]$"),
        ({"X:0": ["X:1"], "X:1": ["X:2"], "X:2": ["X:3"], "X:3": ["X:1"]}, "cyclic parents: (X:[123] -> ){3}X:[123]$"),
        ({f"X:{i}": [f"X:{(i + 1) % 30}"] for i in range(30)}, r"(X:\d+ -> ){10}… \(20 more\) -> X:\d+$"),
    ],
)
def test_cycles_are_named(tmp_path: Path, edges: dict[str, list[str]], message: str) -> None:
    refused([named(id, *parents, origin=f"f:{id}") for id, parents in edges.items()], tmp_path, message)


def test_a_cycle_beside_much_else(tmp_path: Path) -> None:
    tree = [named(f"T:{i}", *([f"T:{i // 2}"] if i > 1 else [])) for i in range(1, 3000)]
    chain = [named(f"C:{i}", f"C:{i + 1}", "T:2") for i in range(3000)]
    cycle = [named("A", "B", "T:9"), named("B", "A"), named("D", "B")]
    refused([*tree, *cycle, *chain, named("C:3000")], tmp_path, "cyclic parents: (A -> B -> A|B -> A -> B)$")
    assert len(build([*tree, *chain, named("C:3000")], tmp_path / "a.kb")) == 6000


def has_cycle(edges: set[tuple[int, int]]) -> bool:
    """The obvious way: follow every edge from every node and see whether one comes back."""
    for start in {child for child, _ in edges}:
        seen: set[int] = set()
        now = {parent for child, parent in edges if child == start}
        while now:
            seen |= now
            now = {parent for child, parent in edges if child in now} - seen
        if start in seen:
            return True
    return False


@settings(deadline=None)
@given(edges=st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=12))
def test_cycles_are_found_as_the_obvious_way_finds_them(
    edges: set[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    stream = [named(f"X:{i}", *(f"X:{to}" for child, to in sorted(edges) if child == i)) for i in range(8)]
    path = tmp_path_factory.mktemp("cycles") / "a.kb"
    if has_cycle(edges):
        with pytest.raises(KnowledgeBaseError, match="cyclic parents: ") as raised:
            build(stream, path)
        walk = [int(id[2:]) for id in str(raised.value).rpartition("parents: ")[2].split(" -> ")]
        assert walk[0] == walk[-1]
        assert set(itertools.pairwise(walk)) <= edges
        assert len(set(walk)) == len(walk) - 1
    else:
        assert len(build(stream, path)) == 8


# --- nothing half-written --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), ValueError("reader"), OSError(28, "No space left"), MemoryError()]
)
def test_an_end_midway_leaves_the_old_file(tmp_path: Path, error: BaseException) -> None:
    def stream() -> Iterator[Concept]:
        yield from (named(f"X:{i}") for i in range(100))
        raise error

    path = tmp_path / "a.kb"
    with pytest.raises(type(error)):
        build(stream(), path)
    assert list(tmp_path.iterdir()) == []
    old = build([named("X:1")], path).version
    content = path.read_bytes()
    with pytest.raises(type(error)):
        build(stream(), path)
    assert path.read_bytes() == content
    assert leftovers(tmp_path) == []
    assert KnowledgeBase.open(path).version == old


def test_who_reads_the_old_file_keeps_it(tmp_path: Path) -> None:
    path = build([named("X:1")], tmp_path / "a.kb").path
    with path.open("rb") as file:
        content = file.read()
        build([named("X:2")], path)
        file.seek(0)
        assert file.read() == content != path.read_bytes()


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build([named("X:1")], tmp_path / "a.kb")
    monkeypatch.setattr(kb_build, "SCHEMA", SCHEMA + "PRAGMA max_page_count = 40;")
    with pytest.raises(KnowledgeBaseError, match=r"a\.kb: cannot be written: database or disk is full"):
        build((named(f"X:{i}" * 20) for i in range(20000)), tmp_path / "a.kb")
    assert leftovers(tmp_path) == []
    assert len(KnowledgeBase.open(tmp_path / "a.kb")) == 1


def test_folders_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(LinnetError, match=r"cannot make the folder .*file"):
        build([named("X:1")], tmp_path / "file" / "a.kb")
    with pytest.raises(KnowledgeBaseError, match="cannot be written: File name too long"):
        build([named("X:1")], tmp_path / ("a" * 250))
    (tmp_path / "folder.kb").mkdir()
    with pytest.raises(LinnetError, match=r"folder\.kb: is a folder, expected the name of a file"):
        build([named("X:1")], tmp_path / "folder.kb")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder.kb"]


def test_a_link_stays_and_leads_to_what_was_built(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "a.kb").symlink_to(tmp_path / "disk" / "a.kb")
    for count in (1, 2):
        build([named(f"X:{number}") for number in range(count)], tmp_path / "a.kb")
        assert (tmp_path / "a.kb").is_symlink()
        assert len(KnowledgeBase.open(tmp_path / "disk" / "a.kb")) == count


def test_what_must_stay_is_not_replaced(tmp_path: Path) -> None:
    build([named("X:1")], tmp_path / "a.kb")
    (tmp_path / "a.kb").chmod(0o444)
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to(tmp_path / "fifo")
    for name, said in (("a.kb", "is read-only"), ("fifo", "is a pipe or a device"), ("link", "is a pipe or a device")):
        with pytest.raises(LinnetError, match=f"{name}:? {said}"):
            build([named("X:1"), named("X:2")], tmp_path / name)
    assert len(KnowledgeBase.open(tmp_path / "a.kb")) == 1
    assert (tmp_path / "fifo").is_fifo()
    assert (tmp_path / "link").is_symlink()


def test_parts_of_dead_builds_are_removed(tmp_path: Path) -> None:
    for name, age in ((".a.kb.abcdefgh", 100_000), (".a.kb.12345678", 1000), (".b.kb.abcdefgh", 100_000)):
        (tmp_path / f"{name}.part").write_bytes(b"half")
        os.utime(tmp_path / f"{name}.part", (time.time() - age,) * 2)
    build([named("X:1")], tmp_path / "a.kb")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".a.kb.12345678.part", ".b.kb.abcdefgh.part", "a.kb"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_folders(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(LinnetError, match="is read-only; set LINNET_HOME"):
        build([named("X:1")], tmp_path / "a.kb")


BUILDER = """
import sys
from linnet.data import Concept, Name
from linnet.kb.build import build
sys.stdout.write(build((Concept(f"A:{i}", (Name(f"n{i}"),)) for i in range(2000)), sys.argv[1]).version)
"""


def test_two_builders_of_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a.kb"
    command = [sys.executable, "-c", BUILDER, str(path)]
    builders = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    versions = [builder.communicate(timeout=60)[0].decode() for builder in builders]
    assert [builder.returncode for builder in builders] == [0, 0]
    kb = KnowledgeBase.open(path)
    assert versions == [kb.version, kb.version]
    assert len(kb) == 2000
    assert leftovers(tmp_path) == []


def test_hashes_depend_on_the_row_and_survive_any_text() -> None:
    assert concept_hash(0, FULL) != concept_hash(1, FULL)
    assert concept_hash(0, Concept("\ud800")) < 2**64


def test_parents_keep_the_order_of_their_source(tmp_path: Path) -> None:
    concepts = [Concept(id, (Name(id),)) for id in ("A", "B", "C")]
    last = Concept("D", (Name("D"),), parents=("C", "A", "B"))
    kb = build([*concepts, last], tmp_path / "order.kb")
    assert kb[kb.row("D")].parents == ("C", "A", "B")
