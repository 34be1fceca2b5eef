from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import linnet
from linnet.data import Document, Mention
from linnet.kb import KnowledgeBase

from .conftest import Run

NOTE = "Short stature and seizures; no cleft palate.\n"


def lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def ids(out: str) -> set[str]:
    return {id for doc in lines(out) for mention in doc["mentions"] for id in mention["concepts"]}  # type: ignore[attr-defined]


def test_what_relatives_do_not_have_is_shown_as_that(run: Run, recipe: Path) -> None:
    done = run("link", "No family history of seizures.", "--pipeline", recipe, "--only", "family")
    assert "family (denied)" in done.out
    done = run("link", "Mother has seizures.", "--pipeline", recipe, "--only", "family")
    assert ("family" in done.out, "denied" in done.out) == (True, False)


def test_a_text_becomes_a_table(run: Run, recipe: Path) -> None:
    done = run("link", NOTE, "--pipeline", recipe)
    assert done.code == 0
    for said in (
        "short stature",
        "HP:0004322",
        "Short stature",
        "1.00*",
        "cleft palate",
        "not interpreted",
        "uncalib",
    ):
        assert said.lower() in done.out.lower()


def test_json_lines_say_probability_and_calibration(run: Run, recipe: Path) -> None:
    done = run("link", NOTE, "--pipeline", recipe, "--to", "jsonl")
    assert ids(done.out) == {"HP:0004322", "HP:0001250", "HP:0000175"}
    for mention in lines(done.out)[0]["mentions"]:  # type: ignore[attr-defined]
        assert 0 < mention["probability"] <= 1
        assert mention["calibration"] == "uncalibrated"


@pytest.mark.slow
def test_the_human_phenotype_ontology_is_built_at_first_use(run: Run, home: Path) -> None:
    text = "Patient with short stature, hypertelorism and recurrent seizures; no cleft palate."
    done = run("link", "-q", text, "--to", "jsonl")
    assert ids(done.out) == {"HP:0004322", "HP:0000316", "HP:0001250", "HP:0000175"}
    surfaces = [mention["text"] for mention in lines(done.out)[0]["mentions"]]  # type: ignore[attr-defined]
    assert surfaces[-1] == "cleft palate"
    assert (home / "kb" / "hpo.kb").is_file()


def test_short_forms_of_the_user(run: Run, recipe: Path, tmp_path: Path) -> None:
    path = tmp_path / "ours.tsv"
    path.write_text("QX\tseizures\nZZ\tno such thing\n", encoding="utf-8")
    done = run("link", "QX and ZZ.", "--pipeline", recipe, "--abbreviations", path, "--to", "jsonl")
    assert ids(done.out) == {"HP:0001250"}
    assert "ours.tsv: the terminology knows no meaning of 1 of 2 short forms: ZZ" in done.err
    path.write_text("QX\t0001250\n", encoding="utf-8")
    done = run("link", "QX.", "--pipeline", recipe, "--abbreviations", path)
    assert "short forms: QX; did you mean 'HP:0001250'?" in done.err
    path.write_text("QX\n", encoding="utf-8")
    done = run("link", "QX.", "--pipeline", recipe, "--abbreviations", path)
    assert (done.code, f"{path}:1: 'QX' has no meaning" in done.err) == (2, True)


def test_files_folders_globs_and_standard_input(
    run: Run, recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.txt").write_text("Seizures.")
    (notes / "b.txt").write_text("Cleft palate.")
    for source in (notes, notes / "*.txt"):
        done = run("link", "-q", source, "--pipeline", recipe, "--to", "jsonl")
        assert [doc["id"] for doc in lines(done.out)] == ["a", "b"]
        assert ids(done.out) == {"HP:0001250", "HP:0000175"}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Seizures.")))
    done = run("link", "-q", "-", "--from", "text", "--pipeline", recipe, "--to", "jsonl")
    assert ids(done.out) == {"HP:0001250"}


def test_what_cannot_be_read_is_named(run: Run, recipe: Path, tmp_path: Path) -> None:
    (tmp_path / "binary.txt").write_bytes(b"MZ\x00\x01\x02")
    (tmp_path / "latin.txt").write_bytes("Sj\u00f6gren".encode("latin-1"))
    for argument, said in (
        (tmp_path / "binary.txt", "binary.txt"),
        (tmp_path / "latin.txt", "not UTF-8"),
        ("notes/none.txt", "none.txt"),
        (tmp_path / "*.nothing", "nothing"),
        ("  ", "empty text"),
    ):
        done = run("link", argument, "--pipeline", recipe)
        assert done.code == 2, argument
        assert said in done.err
        assert "Traceback" not in done.err
        assert done.err.startswith("linnet: error: ")


def test_all_files_that_cannot_be_read_are_named(run: Run, recipe: Path, tmp_path: Path) -> None:
    for name, data in (("a", b"Seizures."), ("b", b"Sj\xf6gren"), ("c", b"Seizures."), ("d", b"\xff\xfeF\0")):
        (tmp_path / f"{name}.txt").write_bytes(data)
    done = run("link", tmp_path / "*.txt", "--pipeline", recipe)
    assert done.code == 2
    first, second, third = done.err.splitlines()
    assert ("b.txt:1: not UTF-8" in first, "1 file behind it" in second, "d.txt: is UTF-16" in third) == (
        True,
        True,
        True,
    )


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".jsonl.gz"])
def test_output_to_a_file(run: Run, recipe: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"out{suffix}"
    done = run("link", "-q", NOTE, "--pipeline", recipe, "-o", out)
    assert (done.code, done.out) == (0, "")
    if suffix == ".csv":
        assert "HP:0001250,Seizure" in out.read_text()
    else:
        assert [doc.text for doc in linnet.read(out)] == [NOTE]


@pytest.mark.parametrize(("suffix", "breaks"), [("pubtator", 1), ("gsc", 2), ("jsonl", 0), ("csv", 0)])
def test_what_a_format_changes_is_told(run: Run, recipe: Path, tmp_path: Path, suffix: str, breaks: int) -> None:
    given = tmp_path / "in.jsonl"
    user = '{"start":0,"end":19,"parts":[[0,5],[14,19]],"source":"user"}'
    given.write_text(f'{{"id":"1","text":"Short and long stature.\\nSeizures.\\nFever","mentions":[{user}]}}\n')
    told = f"{suffix} cannot hold, and was not given: discontinuous mentions (2), line breaks ({breaks})"
    for more in ((), ("--html", tmp_path / "page.html")):
        done = run("link", given, "--pipeline", recipe, "-o", tmp_path / f"out.{suffix}", *more)
        assert done.code == 0, done.err
        assert (told in done.err, "cannot hold" in done.err) == (bool(breaks), bool(breaks))


def test_a_document_without_text_is_left_out_of_gsc(run: Run, recipe: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.txt").write_text("Seizures.")
    (tmp_path / "notes/b.txt").write_text(" ")
    out = tmp_path / "out.gsc"
    done = run("link", tmp_path / "notes", "--pipeline", recipe, "-o", out)
    assert (done.code, "1 documents without text were not written: GSC+ cannot hold them: 'b'" in done.err) == (0, True)
    assert [doc.id for doc in linnet.read(out)] == ["a"]


def test_only_what_the_patient_has(run: Run, recipe: Path) -> None:
    done = run("link", NOTE, "--pipeline", recipe, "--only", "affirmed", "--to", "jsonl")
    assert ids(done.out) == {"HP:0004322", "HP:0001250"}
    done = run("link", NOTE, "--pipeline", recipe, "--only", "negated,family")
    assert "negated" in done.out
    assert "interpreted" not in done.out
    done = run("link", NOTE, "--pipeline", recipe, "--only", "denied")
    assert (done.code, "--only denied: there is no such assertion; expected affirmed" in done.err) == (2, True)
    assert run("link", NOTE, "--pipeline", recipe, "--only", ",").code == 2


def test_only_in_a_sheet(run: Run, recipe: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert run("link", NOTE, "--pipeline", recipe, "--only", "negated", "-o", out).code == 0
    [row] = out.read_text().splitlines()[1:]
    assert ",cleft palate," in row
    assert ",negated," in row


def test_a_page_beside_the_table(run: Run, recipe: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = run("link", "-q", NOTE, "--pipeline", recipe, "--html", page)
    assert "Short stature" in done.out
    text = page.read_text()
    assert "Cleft palate" in text
    assert "Everything named is marked" in text


def test_unknown_formats_and_places_are_refused_and_leave_nothing(run: Run, recipe: Path, tmp_path: Path) -> None:
    for place in (tmp_path / "out.docx", tmp_path / "no" / "folder" / "out.jsonl"):
        done = run("link", NOTE, "--pipeline", recipe, "-o", place)
        assert done.code == 2
        assert str(place) in done.err
    assert not list(tmp_path.glob("*out*"))
    assert run("link", NOTE, "--pipeline", recipe, "--to", "jsnol").code == 2


def test_wrong_recipes_and_knowledge_bases_are_named(run: Run, recipe: Path, home: Path) -> None:
    done = run("link", NOTE, "--pipeline", recipe, "--set", "dictionary.overlap=all", "--set", "decide.threshold=x")
    assert done.code == 2
    assert "did you mean 'overlaps'" in done.err
    assert "threshold" in done.err
    assert run("link", NOTE, "--pipeline", "hpoo").err.count("did you mean 'hpo'") == 1
    done = run("link", NOTE, "--pipeline", recipe, "--kb", "mesh")
    assert done.code == 2
    assert "linnet kb build --from mesh --download" in done.err


def test_the_same_id_twice_is_refused(run: Run, recipe: Path, tmp_path: Path) -> None:
    path = tmp_path / "twice.jsonl"
    path.write_text('{"id":"a","text":"x"}\n{"id":"a","text":"y"}\n')
    done = run("link", "-q", path, "--pipeline", recipe, "-o", tmp_path / "out.jsonl")
    assert done.code == 2
    assert "'a' occurs twice" in done.err
    assert "is a file named twice" in done.err
    table = tmp_path / "notes.csv"
    table.write_text("id,text\nP1,x\nP1,y\n")
    done = run("link", "-q", table, "--from", "table", "--pipeline", recipe, "-o", tmp_path / "out.jsonl")
    assert done.code == 2
    assert "name a column that tells them apart: --columns id=NR,patient=ID" in done.err
    assert not (tmp_path / "out.jsonl").exists()


GOLD = (
    '{"id":"g","text":"seizure seizure","mentions":[{"start":0,"end":7,"source":"gold","concepts":["X:9"]},'
    '{"start":8,"end":15,"source":"user","concepts":["X:1"]}]}\n'
)


def test_gold_is_hidden_unless_asked_for(run: Run, recipe: Path, tmp_path: Path) -> None:
    path = tmp_path / "gold.jsonl"
    path.write_text(GOLD)
    done = run("link", path, "--pipeline", recipe, "--to", "jsonl")
    assert ids(done.out) == {"HP:0001250", "X:1"}, "gold hidden, the user's answer kept"
    assert "1 gold mentions of the input were hidden" in done.err
    done = run("link", "-q", path, "--pipeline", recipe, "--to", "jsonl", "--keep-gold")
    assert ids(done.out) == {"X:9", "X:1"}


def test_given_spans_are_linked_without_their_answers(run: Run, tmp_path: Path, kb: KnowledgeBase) -> None:
    recipe = tmp_path / "given.toml"
    parts = "".join(f'[[pipeline]]\nuse = "{name}"\n' for name in ("gold", "exact", "decide"))
    recipe.write_text(f'kb = "{kb.path}"\n{parts}')
    path = tmp_path / "gold.jsonl"
    path.write_text(GOLD)
    done = run("link", "-q", path, "--pipeline", recipe, "--to", "jsonl")
    assert [mention["concepts"] for mention in lines(done.out)[0]["mentions"]] == [["HP:0001250"]] * 2  # type: ignore[attr-defined]


@pytest.mark.filterwarnings("ignore:decide was calibrated on:linnet.errors.LinnetWarning")
def test_what_links_given_mentions_links_those_of_a_detector(
    run: Run, tmp_path: Path, recipe: Path, kb: KnowledgeBase
) -> None:
    given = tmp_path / "given.toml"
    parts = "".join(f'[[pipeline]]\nuse = "{name}"\n' for name in ("gold", "conjuncts", "ngram", "decide"))
    given.write_text(f'kb = "{kb.path}"\n{parts}')
    assert "mentions" in run("link", NOTE, "--pipeline", given).err
    done = run("link", "-q", NOTE, "--pipeline", given, "--detect", "dictionary", "--to", "jsonl")
    assert ids(done.out) == {"HP:0004322", "HP:0001250", "HP:0000175"}
    for name, message in (
        ("dictionry", "did you mean 'dictionary'?"),
        ("ngram", "this component finds no mentions"),
        ("conjuncts", "this component finds no mentions"),
        ("union", "this component needs arguments"),
    ):
        assert message in run("link", NOTE, "--pipeline", given, "--detect", name).err
    texts = (("Seizures", "HP:0001250"), ("Short stature", "HP:0000175"))
    gold = [
        Document(id, text, mentions=(Mention(0, len(text), source="gold", concepts=(id,)),)) for text, id in texts * 25
    ]
    fitted = linnet.calibrate(linnet.load(given), gold)
    linnet.save(fitted, tmp_path / "fitted")
    done = run("link", NOTE, "--pipeline", tmp_path / "fitted", "--detect", "dictionary", "--to", "jsonl")
    assert "for detected mentions they count as uncalibrated" in done.err
    assert {m["calibration"] for m in lines(done.out)[0]["mentions"]} == {"uncalibrated"}  # type: ignore[attr-defined]
    done = run("link", NOTE, "--pipeline", recipe, "--detect", "dictionary")
    assert (done.code, "finds mentions itself" in done.err) == (2, True)
    headless = tmp_path / "headless.toml"
    headless.write_text(given.read_text().replace('[[pipeline]]\nuse = "gold"\n', ""))
    done = run("link", "-q", NOTE, "--pipeline", headless, "--detect", "dictionary", "--to", "jsonl")
    assert ids(done.out) == {"HP:0004322", "HP:0001250", "HP:0000175"}


def test_recipes_that_nobody_has_trained_are_warned_of(run: Run, recipe: Path) -> None:
    recipe.write_text(recipe.read_text() + '[[train]]\npart = "decide"\n')
    done = run("link", NOTE, "--pipeline", recipe)
    assert f"{recipe} is untrained (decide): run linnet train {recipe} -o DIR" in done.err


def test_what_was_written_is_counted(run: Run, recipe: Path, tmp_path: Path) -> None:
    done = run("link", NOTE, "--pipeline", recipe, "-o", tmp_path / "out.csv")
    assert f"{tmp_path / 'out.csv'}: 1 documents with 3 mentions" in done.err


def test_splits_of_corpora_are_linked(run: Run, recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "corpora" / "ncbi_disease"
    folder.mkdir(parents=True)
    lines_ = "1|t|Seizures.\n1|a|Nothing else.\n1\t0\t8\tSeizures\tDisease\tD012640\n\n"
    (folder / "NCBIdevelopset_corpus.txt").write_text(lines_)
    monkeypatch.setenv("LINNET_DATA", str(tmp_path))
    done = run("link", "ncbi_disease:dev", "--pipeline", recipe, "--to", "jsonl")
    assert ids(done.out) == {"HP:0001250"}
    assert "1 gold mentions of the input were hidden" in done.err
    for text, problem in (
        ("ncbi_diseas:dev", "did you mean 'ncbi_disease'?"),
        ("ncbi_disease:dv", "unknown split of ncbi_disease 'dv'"),
        ("ncbi_disease/bio:dev", "unknown layout of ncbi_disease 'bio'"),
    ):
        done = run("link", text, "--pipeline", recipe)
        assert (done.code, problem in done.err) == (2, True)
    done = run("link", "-q", "finding:seizures", "--pipeline", recipe, "--to", "jsonl")
    assert ids(done.out) == {"HP:0001250"}, "a text of one word is a text"


# --- as a process ----------------------------------------------------------------------------------------------------


# undoes what a shell does to jobs in its background, which ignore Ctrl-C and hand that on
LISTENING = (
    "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "runpy.run_module('linnet', run_name='__main__', alter_sys=True)"
)


def linnet_process(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", LISTENING, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_cold_start_imports_nothing_heavy(recipe: Path) -> None:
    code = (
        "import sys; sys.argv = ['linnet', 'link', '-q', 'Seizures.', '--to', 'jsonl', '--pipeline', sys.argv[1]]\n"
        "from linnet.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'sklearn', 'torch', 'pandas', 'pyhpo', 'scipy', 'networkx'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, recipe], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
def test_ctrl_c_says_what_is_left(recipe: Path, tmp_path: Path) -> None:
    source = tmp_path / "many.jsonl"
    source.write_text("".join(f'{{"id":"{i}","text":"{"Seizures and cleft palate. " * 200}"}}\n' for i in range(4000)))
    out = tmp_path / "out.jsonl"
    out.write_text("old\n")
    process = linnet_process("link", source, "--pipeline", recipe, "-o", out, "--overwrite")
    deadline = time.monotonic() + 30
    progress = tmp_path / "out.jsonl.unfinished" / "progress"
    while not (progress.exists() and progress.read_text().count("\n") > 1) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "documents are finished: run the same command to resume" in err
    assert "interrupted" in err
    assert "Traceback" not in err
    assert out.read_text() == "old\n"
    files = [source.name, out.name, f"{out.name}.unfinished", recipe.name]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(files)


@pytest.mark.slow
def test_a_closed_pipe_ends_quietly(recipe: Path, tmp_path: Path) -> None:
    source = tmp_path / "many.jsonl"
    source.write_text("".join(f'{{"id":"{i}","text":"{"Seizures. " * 500}"}}\n' for i in range(500)))
    process = linnet_process("link", source, "--pipeline", recipe, "--to", "jsonl")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=30) == 1
    assert "Traceback" not in err


def test_sockets_are_blocked_in_the_tests() -> None:
    code = "import socket\ntry: socket.create_connection(('192.0.2.1', 80), 1)\nexcept OSError as e: print(e)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert "blocked in tests" in done.stdout


def test_what_may_be_linked_to_is_chosen(run: Run, recipe: Path, tmp_path: Path) -> None:
    def found(*options: object) -> set[str]:
        done = run("link", NOTE, "--pipeline", recipe, "--to", "jsonl", *options)
        assert done.code == 0, done.err
        return ids(done.out)

    everything = found()
    assert everything == {"HP:0004322", "HP:0001250", "HP:0000175"}
    assert found("--types", "Neurology") == found("--type", "Neurology,Disease") == {"HP:0001250"}
    assert found("--types", "Neurology", "--types", "Phenotype") == everything
    assert found("--types", "Neurology", "--ids", "HP:0004322") == set()
    assert found("--under", "HP:0004322,HP:0000175") == {"HP:0004322", "HP:0000175"}
    assert found("--under", "HP:0000118", "--ids", "HP:0000175") == {"HP:0000175"}
    (tmp_path / "ids.tsv").write_text("# some\nHP:0001250\tSeizure\n")
    assert found("--ids", tmp_path / "ids.tsv", "--ids", "HP:0004322") == {"HP:0001250", "HP:0004322"}
    (tmp_path / "none.txt").write_text("\n")
    for options, said in (
        (("--types", "Neurolgy"), "--types: small.kb has no semantic type 'Neurolgy'; did you mean 'Neurology'?"),
        (("--ids", "0001250"), "--ids: small.kb has no concept '0001250'; did you mean 'HP:0001250'?"),
        (("--under", "Z:1"), "--under: small.kb has no concept 'Z:1'"),
        (("--ids", tmp_path / "none.txt"), "--ids selects no concept"),
        (("--ids", "elsewhere.txt"), "there is no such file of ids"),
    ):
        done = run("link", NOTE, "--pipeline", recipe, *options)
        assert done.code == 2
        assert said in " ".join(done.err.split())
