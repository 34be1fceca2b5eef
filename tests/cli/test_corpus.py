from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import linnet
from linnet.data import Document, Mention
from linnet.kb import KnowledgeBase
from tests.corpora.published_excerpts import put
from tests.web_server import Server, file, serving

from .conftest import Run

PUBTATOR = (
    "1|t|Cold and fits.\n1|a|A cold.\n1\t0\t4\tCold\tDisease\tX:2\n1\t9\t13\tfits\tDisease\t-1\n"
    "1\t17\t21\tcold\tDisease\tX:1|X:2\n\n2|t|Fits.\n2|a|\n2\t0\t4\tFits\tDisease\tX:9\n"
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "all.pubtator"
    path.write_text(PUBTATOR)
    return path


@pytest.mark.parametrize("to", ["nope", "bioc-xml", "medcat"])
def test_convert_refuses_a_format_that_is_not_written(run: Run, source: Path, tmp_path: Path, to: str) -> None:
    done = run("corpus", "convert", source, tmp_path / "x", "--to", to)
    assert (done.code, f"corpus format {to!r}" in done.err) == (2, True)


def test_convert_names_what_is_lost(run: Run, source: Path, tmp_path: Path) -> None:
    done = run("corpus", "convert", source, tmp_path / "all.gsc")
    assert done.code == 0
    for said in ("NIL mentions (1)", "several concepts (1)", "types (4)", "passages (3)"):
        assert said in done.err
    [first, second] = linnet.read(tmp_path / "all.gsc")
    assert [mention.concepts for mention in first.mentions or ()] == [("X:2",), ("X:1",), ("X:2",)]
    assert second.text == "Fits."


CONCEPTS = {
    "concepts": '{"id": "hgnc:5", "names": [{"text": "A1BG"}]}\n'
    '{"id": "ORPHA:558", "names": [{"text": "Marfan"}], "parents": ["hgnc:5"]}\n',
    "obo": "[Term]\nid: hgnc:5\nname: A1BG\n\n[Term]\nid: ORPHA:558\nname: Marfan\nis_a: hgnc:5\n",
    "table": "id\tname\tparents\nhgnc:5\tA1BG\t\nORPHA:558\tMarfan\thgnc:5\n",
}
MENTIONS = {
    "jsonl": '{"id": "1", "text": "A1BG, Marfan", "mentions": [{"start": 0, "end": 4, "source": "gold", "concepts": '
    '["hgnc:5"]}, {"start": 6, "end": 12, "source": "gold", "concepts": ["ORPHA:558"]}]}\n',
    "pubtator": "1|t|A1BG, Marfan\n1|a|\n1\t0\t4\tA1BG\tG\thgnc:5\n1\t6\t12\tMarfan\tD\tORPHA:558\n\n",
}


@pytest.mark.parametrize("vocabulary", CONCEPTS)
@pytest.mark.parametrize("format", MENTIONS)
def test_ids_of_all_files_are_spelled_alike(run: Run, home: Path, tmp_path: Path, vocabulary: str, format: str) -> None:
    (tmp_path / "kb").write_text(CONCEPTS[vocabulary])
    (tmp_path / f"gold.{format}").write_text(MENTIONS[format])
    done = run("kb", "build", tmp_path / "kb", "--from", vocabulary, "-o", "mine")
    assert done.code == 0, done.err
    assert [concept.id for concept in KnowledgeBase.open("mine").concepts()] == ["HGNC:5", "Orphanet:558"]
    assert "nothing found" in run("corpus", "check", tmp_path / f"gold.{format}", "--kb", "mine").out
    assert run("kb", "add", "mine", "--id", "hpo:0000007", "--name", "x", "--parent", "ORPHA:558").code == 0
    kb = KnowledgeBase.open("mine")
    assert kb[kb.row("HP:0000007")].parents == ("Orphanet:558",)
    assert run("kb", "retire", "mine", "hgnc:5", "--successor", "ORPHA:558").code == 0
    assert run("kb", "merge", "mine", "ORPHA:558", "hpo:0000007").code == 0
    assert [concept.id for concept in KnowledgeBase.open("mine").concepts() if not concept.replaced_by] == [
        "Orphanet:558"
    ]


@pytest.mark.parametrize("name", ["all.jsonl", "all.xml", "all.json", "all.pubtator.gz"])
def test_convert_there_and_back(run: Run, source: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "out").mkdir()
    to = ["--to", "pubtator"] if name.endswith(".gz") else []
    assert "cannot hold" not in run("corpus", "convert", source, tmp_path / "out" / name, *to).err
    back = tmp_path / "back.pubtator"
    assert run("corpus", "convert", tmp_path / "out" / name, back).code == 0
    assert list(linnet.read(back)) == list(linnet.read(source))


def test_brat_is_a_folder(run: Run, source: Path, tmp_path: Path) -> None:
    assert run("corpus", "convert", source, tmp_path / "brat", "--to", "brat").code == 0
    assert sorted(path.name for path in (tmp_path / "brat").iterdir()) == ["1.ann", "1.txt", "2.ann", "2.txt"]


def test_stats(run: Run, source: Path, kb: KnowledgeBase) -> None:
    counts = json.loads(run("corpus", "stats", source, "--json", "--kb", kb.path, "--other", source).out)
    want = {"documents": 2, "passages": 3, "mentions": 4, "composite": 1, "nil": 1, "concepts": 3, "covered": 2}
    assert {key: counts[key] for key in want} == want
    assert (counts["covered_concepts"], counts["seen_mentions"], counts["seen_concepts"], counts["zero_shot"]) == (
        2,
        4,
        3,
        0,
    )
    assert counts["types"] == {"Disease": 4}
    out = run("corpus", "stats", source).out
    assert "type Disease" in out
    assert "zero shot" not in out


def test_check(run: Run, source: Path, kb: KnowledgeBase, tmp_path: Path) -> None:
    assert "nothing found" in run("corpus", "check", source).out
    done = run("corpus", "check", source, "--kb", kb.path)
    assert (done.code, "X:9" in done.out) == (1, True)
    wrong = tmp_path / "wrong.pubtator"
    wrong.write_text(PUBTATOR.replace("1\t9\t13", "1\t8\t12"))
    done = run("corpus", "check", wrong)
    assert (done.code, "wrong.pubtator:4" in " ".join(done.out.split())) == (1, True)


def test_check_lists_all_problems_of_all_files(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a long path would be folded in the table
    for name in ("a", "b"):
        wrong = PUBTATOR.replace("1\t9\t13", "1\t8\t12").replace("2\t0\t4\tFits", "2\t0\t4\tRash")
        Path(f"{name}.pubtator").write_text(wrong)
    Path("c.xml").write_text("<collection>")
    done = run("corpus", "check", ".")
    assert done.code == 1
    assert all(f"{name}.pubtator:{line}:" in done.out for name in "ab" for line in (4, 9))
    assert "c.xml:1:" in done.out
    assert "wrong offsets: 2" in done.out
    assert "unreadable: 3" in done.out
    assert "b.pubtator:4" not in run("corpus", "check", ".", "--limit", 1).out


@pytest.mark.parametrize(
    ("on_error", "mentions", "told"),
    [
        ("skip", 2, ["left out: {}:4: the offsets 8-12", "left out: {}:9: the offsets 0-4 say 'Fits'"]),
        ("repair", 3, ["put at 9-13: {}:4: the offsets 8-12", "left out: {}:9: the offsets 0-4 say 'Fits'"]),
    ],
)
def test_what_is_done_about_wrong_offsets(
    run: Run, tmp_path: Path, on_error: str, mentions: int, told: list[str]
) -> None:
    path = tmp_path / "data" / "corpora" / "bc5cdr" / "CDR_DevelopmentSet.PubTator.txt"
    path.parent.mkdir(parents=True)
    path.write_text(PUBTATOR.replace("1\t9\t13", "1\t8\t12").replace("2\t0\t4\tFits", "2\t0\t4\tRash"))
    out, data = tmp_path / "out", ("--data", tmp_path / "data")
    out.mkdir()
    commands: list[tuple[object, ...]] = [
        ("convert", path, out / "dev.jsonl"),
        ("split", path, "-o", out / "split", "--shares", "dev=1"),
        ("prepare", "bc5cdr", "-o", out / "prepared", *data),
        ("stats", "bc5cdr:dev", "--json", *data),
    ]
    for command in commands:
        refused = run("corpus", *command)
        assert refused.code == 2
        assert f"{path}:4: the offsets 8-12" in refused.err
        assert "read the rest with --on-error skip or repair" in refused.err
        done = run("corpus", *command, "--on-error", on_error)
        assert done.code == 0
        assert all(line.format(path) in done.err for line in told)
    assert json.loads(done.out)["mentions"] == mentions
    for name in ("dev.jsonl", "split/dev.jsonl", "prepared/dev.jsonl"):
        assert sum(len(doc.mentions or ()) for doc in linnet.read(out / name)) == mentions


def test_columns_of_a_table_can_be_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("Nr;Befund;Fall\nN1;Fits.;P1\n")
    columns, out = "id=Nr,text=Befund,patient=Fall", tmp_path / "n.jsonl"
    done = run("corpus", "convert", tmp_path / "n.csv", out, "--columns", columns)
    assert done.code == 0, done.err
    assert json.loads(out.read_text()) == {"id": "N1", "text": "Fits.", "meta": {"patient_id": "P1"}}
    for command in (("stats",), ("check",), ("split", "-o", tmp_path / "s", "--shares", "train=1")):
        assert run("corpus", *command, tmp_path / "n.csv", "--columns", columns).code == 0, command


def test_options_of_readers(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Adenocarcinoma")
    (tmp_path / "a.ann").write_text("T1\tSign 0 14\tAdenocarcinoma\n#1\tAnnotatorNotes T1\t8140/3\n")
    command = ("corpus", "convert", tmp_path / "a.ann", tmp_path / "a.gsc", "--option", "note_prefix=ICDO")
    assert "needs --from: name the format" in run(*command).err
    assert run(*command, "--from", "brat").code == 0
    assert (tmp_path / "a.gsc").read_text().splitlines()[-2] == "0\t14\tAdenocarcinoma\tICDO:8140/3"
    refused = run(*command[:-1], "notes_prefix=ICDO", "--from", "brat")
    assert (refused.code, "did you mean 'note_prefix'" in refused.err) == (2, True)
    assert "pubtator has no option 'note_prefix'; it has none" in run(*command, "--from", "pubtator").err
    tokens = tmp_path / "t.conll"
    tokens.write_text("Fever\tB-Sign\tNN\n")
    done = run("corpus", "stats", tokens, "--from", "conll", "--option", "columns=tag=1", "--json")
    assert json.loads(done.out)["mentions"] == 1
    header = tmp_path / "h.csv"
    header.write_text("7,0,5,Fever.\n")
    columns = "header=document,start,end,document_text"
    done = run("corpus", "stats", header, "--from", "csv", "--option", columns, "--json")
    assert json.loads(done.out)["mentions"] == 1


def test_split(run: Run, source: Path, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        assert run("corpus", "split", source, "-o", tmp_path / folder, "--shares", "train=0.5,dev=0.5").code == 0
    for name in ("train.jsonl", "dev.jsonl"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
        assert len(list(linnet.read(tmp_path / "a" / name))) == 1
    assert "expected name=share" in run("corpus", "split", source, "-o", tmp_path, "--shares", "train").err
    assert "train=0.5 add up to 0.5" in run("corpus", "split", source, "-o", tmp_path, "--shares", "train=0.5").err


def test_splits_tell_of_repeated_texts_and_of_nothing(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text("".join(f'{{"id":"{n}","text":"Fever {n % 8}."}}\n' for n in range(10)))
    done = run("corpus", "split", source, "-o", tmp_path / "out", "--shares", "train=0.9,dev=0.01,test=0.09,none=0")
    assert "2 documents have the text of another one: they are in its split" in done.err
    assert (done.code, "10 documents are too few for dev=0.01" in done.err) == (2, True)
    assert not list(tmp_path.glob("out/*.jsonl"))
    assert run("corpus", "split", source, "-o", tmp_path / "out", "--shares", "train=0.9,test=0.1,none=0").code == 0


def test_splits_of_two_runs_do_not_mix(run: Run, source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("corpus", "split", source, "-o", out, "--shares", "dev=0.5,test=0.5").code == 0
    before = {path: path.read_bytes() for path in out.iterdir()}
    for shares, to in (("train=0.5,dev=0.5", "jsonl"), ("train=1", "jsonl"), ("test=1", "pubtator")):
        done = run("corpus", "split", source, "-o", out, "--shares", shares, "--to", to)
        assert (done.code, "already: choose a new folder" in done.err) == (2, True), done.err
    assert {path: path.read_bytes() for path in out.iterdir()} == before


def test_a_split_keeps_what_it_splits(run: Run, source: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    train = source.rename(tmp_path / "mine" / "train.pubtator")
    for place, said in ((train.parent, "holds 'train.pubtator' already"), (train.parent / "new", "is read as input")):
        done = run("corpus", "split", train.parent, "-o", place, "--shares", "train=1", "--to", "pubtator")
        assert (done.code, said in done.err) == (2, True), done.err
    assert train.read_text() == PUBTATOR
    assert run("corpus", "split", train, "-o", train.parent / "new", "--shares", "train=1").code == 0


def test_prepare_keeps_the_corpus(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "corpora" / "bc5cdr"
    folder.mkdir(parents=True)
    path = folder / "CDR_DevelopmentSet.PubTator.txt"
    path.write_text(PUBTATOR)
    (tmp_path / "dev.jsonl").symlink_to(path)
    done = run("corpus", "prepare", "bc5cdr", "--data", tmp_path, "-o", tmp_path)
    assert (done.code, "is read as input (bc5cdr:dev)" in done.err) == (2, True), done.err
    assert path.read_text() == PUBTATOR


def test_prepare(run: Run, tmp_path: Path, kb: KnowledgeBase) -> None:
    folder = tmp_path / "data" / "corpora" / "bc5cdr"
    folder.mkdir(parents=True)
    (folder / "CDR_DevelopmentSet.PubTator.txt").write_text(PUBTATOR)
    arguments = ("corpus", "prepare", "bc5cdr", "--data", tmp_path / "data", "--kb", kb.path)
    done = run(*arguments, "-o", tmp_path / "kept", "--to", "bioc")
    assert "4 mentions, 1 absent from the knowledge base, kept" in done.err
    assert "train: left out" in done.err
    done = run(*arguments, "-o", tmp_path / "dropped", "--absent", "drop")
    assert "dropped" in done.err
    assert sum(len(doc.mentions or ()) for doc in linnet.read(tmp_path / "dropped" / "dev.jsonl")) == 3
    assert run(*arguments[:3], "--data", tmp_path, "-o", tmp_path / "x").code == 2
    assert "needs --kb" in run(*arguments[:5], "-o", tmp_path / "x", "--absent", "drop").err
    assert "did you mean 'bc5cdr'" in run("corpus", "prepare", "bc5cd", "--data", tmp_path, "-o", tmp_path / "x").err


def test_known_corpora_by_name(run: Run, tmp_path: Path) -> None:
    assert "bc5cdr:train, bc5cdr:dev" in run("corpus", "stats", "bc5cdr").err
    assert "did you mean 'dev'" in run("corpus", "stats", "bc5cdr:dve", "--data", tmp_path).err
    fetched = "or fetch it: linnet corpus prepare ncbi_disease --download -o DIR"
    assert fetched in run("corpus", "stats", "ncbi_disease:test", "--data", tmp_path).err


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("ncbi_diseas:dev", "no corpus 'ncbi_diseas' is known; did you mean 'ncbi_disease'?"),
        ("BC5CDR:train,dev", "no corpus 'BC5CDR' is known; did you mean 'bc5cdr'?"),
        ("bc5cd/bioc:dev", "no corpus 'bc5cd' is known; did you mean 'bc5cdr'?"),
        ("ncbi", "ncbi: there is no such file, and no corpus 'ncbi' is known; there are: "),
        ("notes.txt", "notes.txt: there is no such file"),
        ("notes/dev", "notes/dev: there is no such file"),
    ],
)
def test_who_names_no_known_corpus_is_told_the_nearest(run: Run, tmp_path: Path, source: str, said: str) -> None:
    stats = run("corpus", "stats", source, "--data", tmp_path)
    assert (stats.code, said in stats.err) == (2, True), stats.err
    for command in (("convert", source, tmp_path / "x.jsonl"), ("split", source, "-o", tmp_path / "x")):
        assert said in run("corpus", *command, "--data", tmp_path).err


@pytest.mark.data
def test_real_counts(run: Run, data: Path) -> None:
    counts = json.loads(run("corpus", "stats", "bc5cdr:dev", "--data", data, "--other", "bc5cdr:train", "--json").out)
    assert (counts["documents"], counts["mentions"], counts["zero_shot"]) == (500, 9591, 2087)


# --- prepare --download ----------------------------------------------------------------------------------------------


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "HTTP_PROXY", "LINNET_DATA"):
        monkeypatch.delenv(name, raising=False)
    with serving() as made:
        monkeypatch.setenv("LINNET_MIRROR", made.url(""))
        yield made


TMVAR = "1|t|BRAF V600E\n1|a|\n1\t5\t10\tV600E\tProteinMutation\ttmVar:p|SUB|V|600|E;RS#:113488022\n"


def test_a_data_folder_that_is_not_there_is_said_before_anything_is_fetched(
    run: Run, server: Server, tmp_path: Path
) -> None:
    done = run("corpus", "prepare", "tmvar", "-o", tmp_path / "out", "--download", "--data", tmp_path / "nowhere")
    assert f"the data folder {tmp_path / 'nowhere'} does not exist" in done.err
    assert not server.asked


def test_prepare_downloads_when_told_to(run: Run, home: Path, server: Server, tmp_path: Path) -> None:
    server.say("/tmvar/tmVar3Corpus.txt", file(TMVAR.encode()))
    said = "or fetch it: linnet corpus prepare tmvar --download -o DIR"
    assert said in run("corpus", "prepare", "tmvar", "-o", tmp_path).err
    assert not server.asked, "nothing is fetched without --download"
    done = run("corpus", "prepare", "tmvar", "-o", tmp_path / "out", "--download")
    assert done.code == 0, done.err
    assert "tmVar3Corpus.txt: 0.0 of 0.0 MB fetched" in done.err
    [doc] = linnet.read(tmp_path / "out" / "all.jsonl")
    assert [mention.concepts for mention in doc.mentions or ()] == [("DBSNP:rs113488022",)]
    asked = len(server.asked)
    assert run("corpus", "stats", "tmvar:all").code == 0
    assert run("corpus", "prepare", "tmvar", "-o", tmp_path / "again", "-q").code == 0
    assert len(server.asked) == asked
    assert "need --download" in run("corpus", "prepare", "tmvar", "-o", tmp_path, "--sha256", "0" * 64).err
    done = run("corpus", "prepare", "tmvar", "-o", tmp_path, "--download", "--sha256", "0" * 64)
    assert (done.code, "expected 0000" in done.err) == (2, True)


def test_folds_become_folders(run: Run, home: Path, tmp_path: Path) -> None:
    put(tmp_path / "data" / "ask_a_patient", "ask_a_patient")
    done = run("corpus", "prepare", "ask_a_patient", "--data", tmp_path / "data", "-o", tmp_path / "out")
    assert done.code == 0, done.err
    assert len(list((tmp_path / "out").glob("fold-?/*.jsonl"))) == 30
    one = run("corpus", "prepare", "ask_a_patient/fold-2", "--data", tmp_path / "data", "-o", tmp_path / "two")
    assert one.code == 0
    assert sorted(path.name for path in (tmp_path / "two").iterdir()) == ["dev.jsonl", "test.jsonl", "train.jsonl"]
    assert "unknown layout" in run("corpus", "prepare", "ask_a_patient/fold-11", "-o", tmp_path / "x").err
    done = run("corpus", "stats", "ask_a_patient/fold-11:dev")
    assert (done.code, "unknown layout of ask_a_patient 'fold-11', expected one of fold-0" in done.err) == (2, True)


def test_a_corrected_table_becomes_gold(run: Run, recipe: Path, kb: KnowledgeBase, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for name, text in (("a", "Seizures and cleft palate. Short stature?"), ("b", "Nothing.")):
        (notes / f"{name}.txt").write_text(text)
    found, gold = tmp_path / "found.csv", tmp_path / "gold.jsonl"
    assert run("link", "-q", notes, "--pipeline", recipe, "-o", found).code == 0
    assert run("corpus", "convert", found, gold).code == 2
    lines = found.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if "Cleft" not in line]
    added = "a,,,Short,,,,,,,cleft palate" + "," * (lines[0].count(",") - 10)
    found.write_text("\n".join([*kept, added]), encoding="utf-8")
    done = run("corpus", "convert", found, gold, "--texts", notes)
    assert (done.code, f"{found}:4: column right_concept" in done.err, "--kb" in done.err) == (2, True, True)
    found.write_text("\n".join([*kept, added.replace("Short", "palate")]), encoding="utf-8")
    assert run("corpus", "convert", found, gold, "--texts", notes, "--kb", kb.path).code == 0
    docs = list(linnet.read(gold))
    assert [[(doc.surface(m), m.concepts, m.source) for m in doc.mentions or ()] for doc in docs] == [
        [
            ("Seizures", ("HP:0001250",), "gold"),
            ("palate", ("HP:0000175",), "gold"),
            ("Short stature", ("HP:0004322",), "gold"),
        ],
        [],
    ]
    refused = run("corpus", "convert", found, gold, "--texts", notes, "--from", "csv")
    assert (refused.code, "for other files" in refused.err) == (2, True)


def test_what_was_found_stays_so_in_a_sheet_that_nobody_read(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("openpyxl", reason="the extra xlsx is not installed")
    doc = Document("a", "Fits.", mentions=(Mention(0, 4, concepts=("HP:0001250",)),))
    linnet.write([doc], tmp_path / "found.jsonl")
    done = run("corpus", "convert", tmp_path / "found.jsonl", tmp_path / "found.xlsx")
    assert (done.code, "cannot hold" in done.err) == (0, False)
    done = run("corpus", "convert", tmp_path / "found.xlsx", tmp_path / "back.jsonl")
    assert (done.code, "nobody changed anything" in done.err) == (0, True)
    assert list(linnet.read(tmp_path / "back.jsonl")) == [doc]
    done = run("corpus", "convert", tmp_path / "found.xlsx", tmp_path / "x.json", "--to", "fhir")
    assert "AIAST" in (tmp_path / "x.json").read_text()


@pytest.mark.parametrize("name", ["found.jsonl", "found.csv", "found.xlsx"])
def test_annotations_follow_their_terminology(run: Run, tmp_path: Path, name: str) -> None:
    """Of any format; what people annotated is written elsewhere."""
    if name.endswith(".xlsx"):
        pytest.importorskip("openpyxl", reason="the extra xlsx is not installed")
    old = tmp_path / "old.tsv"
    old.write_text("id\tname\treplaced_by\nH:44\tfits\t\nH:47\tcough\t\n")
    new = tmp_path / "new.tsv"
    new.write_text("id\tname\treplaced_by\nH:140\tseizure\t\nH:44\tfits\tH:140\n")
    for table in (old, new):
        assert run("kb", "build", table, "--from", "table", "-o", table.with_suffix(".kb")).code == 0
    note, source, gold = tmp_path / "note.txt", tmp_path / name, tmp_path / "gold.jsonl"
    note.write_text("Fits, cough and fits.")
    assert run("link", note, "--kb", old.with_suffix(".kb"), "--pipeline", "dictionary", "-o", source).code == 0
    before = source.read_bytes()
    texts = ("--texts", note) if name.endswith(".csv") else ()
    done = run("corpus", "convert", source, gold, *texts, "--kb", new.with_suffix(".kb"))
    assert done.code == 0
    assert f"{gold}: retired ids replaced by their successors: 2 (H:44 → H:140: 2)" in done.err
    assert f"warning: {gold}: ids that new.kb lacks, left as they are: 1 (H:47: 1), in note 6-11 'cough'" in done.err
    assert "names" not in done.err
    [doc] = linnet.read(gold)
    assert [mention.concepts for mention in doc.mentions or ()] == [("H:140",), ("H:47",), ("H:140",)]
    assert source.read_bytes() == before


def test_where_to_write_is_said_once(run: Run, source: Path, tmp_path: Path) -> None:
    assert run("corpus", "convert", source, "-o", tmp_path / "all.jsonl").code == 0
    assert [doc.id for doc in linnet.read(tmp_path / "all.jsonl")] == ["1", "2"]
    for places in ([], [tmp_path / "a.jsonl", "-o", tmp_path / "b.jsonl"]):
        done = run("corpus", "convert", source, *places)
        assert (done.code, "say once where to write: linnet corpus convert SOURCE OUTPUT" in done.err) == (2, True)
