from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from linnet.corpora import read, write
from linnet.corpora.catalog import read_corpus
from linnet.data import Concept, Document, Mention, Name
from linnet.fit.fitting import Progress
from linnet.fit.store import alone
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline.component import Step
from linnet.recipes.config import load
from linnet.reporter import tell
from tests.tiny_models import tiny_bert

from .conftest import Run

NAMES = (
    ("D000001", "Fever", "feverish"),
    ("D000002", "Cough", "coughing"),
    ("D000003", "Breast cancer", "breast"),
    ("D000004", "Ache", "aches"),
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with a corpus of the known name bc5cdr, in its layout."""
    folder = tmp_path / "data" / "corpora" / "bc5cdr"
    folder.mkdir(parents=True)
    for split in ("Training", "Development"):
        with (folder / f"CDR_{split}Set.PubTator.txt").open("w") as out:
            for number in range(20 if split == "Training" else 60):
                id, _, word = NAMES[number % len(NAMES)]
                pmid = number + (100 if split == "Training" else 200)
                out.write(f"{pmid}|t|A case of {word}.\n{pmid}|a|Nothing else in {pmid}.\n")
                out.write(f"{pmid}\t10\t{10 + len(word)}\t{word}\tDisease\t{id}\n\n")
    return tmp_path / "data"


@pytest.fixture
def small(tmp_path: Path) -> KnowledgeBase:
    return build((Concept(f"MESH:{id}", (Name(name),)) for id, name, _ in NAMES), tmp_path / "small.kb")


def written(tmp_path: Path, kb: KnowledgeBase, more: str = "", corpus: str = "bc5cdr", detector: str = "gold") -> Path:
    path = tmp_path / "recipe.toml"
    parts = "".join(f'[[pipeline]]\nuse = "{name}"\n' for name in (detector, "conjuncts", "ngram", "lexical", "decide"))
    path.write_text(f'corpus = "{corpus}"\nkb = "{kb.path}"\n{parts}{more}')
    return path


@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_a_recipe_becomes_a_folder_that_links(run: Run, tmp_path: Path, data: Path, small: KnowledgeBase) -> None:
    recipe = written(tmp_path, small)
    done = run("train", recipe, "-o", tmp_path / "out", "--data", data, "--metrics", tmp_path / "m.csv")
    assert done.code == 0, done.err
    assert "trained on 20 documents of bc5cdr" in done.err
    rows = list(csv.DictReader((tmp_path / "m.csv").read_text().splitlines()))
    assert "lexical" in [row["part"] for row in rows]
    assert all(float(row["seconds"]) >= 0 and row["documents"] == "20" for row in rows)
    linker = load(tmp_path / "out")
    text = "Ache all over"
    [out] = linker([Document("x", text, mentions=(Mention(0, 4),))])
    assert [mention.concepts for mention in out.mentions or ()] == [("MESH:D000004",)]
    assert "corpus: bc5cdr, split train" in (tmp_path / "out" / "card.md").read_text()
    for more in ((), ("--folds", 2)):
        with alone(tmp_path / "new"):
            refused = run("train", recipe, "-o", tmp_path / "new", "--data", data, *more)
        assert (refused.code, "another process trains into it" in refused.err) == (2, True)
    again = run("train", recipe, "-o", tmp_path / "out", "--data", data)
    assert (again.code, "exists and is not empty" in again.err) == (2, True)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_annotated_files_of_ones_own_become_a_pipeline(run: Run, tmp_path: Path, small: KnowledgeBase) -> None:
    docs = []
    for number in range(80):
        id, _, word = NAMES[number % len(NAMES)]
        told = id if number % 8 else "D000009"  # what no knowledge base knows, so that some answers are wrong
        mention = Mention(10, 10 + len(word), source="gold", types=("Disease",), concepts=(f"MESH:{told}",))
        docs.append(Document(f"n{number}", f"A case of {word}. Nothing else {number}.", mentions=(mention,)))
    write(docs, tmp_path / "annotated.jsonl")
    bert = tiny_bert(tmp_path / "tiny", words=["case", "of", *(word for _, _, word in NAMES)], layers=1)
    corpus, out = tmp_path / "corpus", tmp_path / "out"
    assert run("corpus", "split", tmp_path / "annotated.jsonl", "-o", corpus, "--shares", "train=0.3,dev=0.7").code == 0
    few = ("--set", f"tagger.encoder={bert}", "--set", "train.tagger.lr=5e-3")
    done = run("train", "own", "--corpus", corpus, "--kb", small.path, "-o", out, *few)
    assert done.code == 0, done.err
    assert "trained on 24 documents" in done.err
    assert "tagger: trained in" in (out / "card.md").read_text()
    linked = tmp_path / "linked.jsonl"
    assert run("link", corpus / "dev.jsonl", "--pipeline", out, "-o", linked).code == 0
    [mention] = next(iter(read(linked))).mentions or ()
    assert mention.source == "pred"
    assert mention.calibration == "joint"
    judged = run("evaluate", corpus / "dev.jsonl", linked, "--kb", small.path)
    assert judged.code == 0, judged.err


@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_documents_that_a_pipeline_has_seen_are_told(
    run: Run, tmp_path: Path, data: Path, small: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINNET_DATA", str(data))
    parts = ("ngram", "lexical", "decide")
    recipe = written(tmp_path, small, "".join(f'[[train]]\npart = "{part}"\n' for part in parts))
    assert run("train", recipe, "-o", tmp_path / "out").code == 0
    assert "dev documents, which chose or calibrated decide: 60, version" in (tmp_path / "out/card.md").read_text()
    linked, page, report = (tmp_path / name for name in ("linked.jsonl", "page.html", "report.json"))
    done = run("link", "bc5cdr:dev", "--pipeline", tmp_path / "out", "-o", linked)
    assert "out was chosen or calibrated on 60 of these documents" in done.err
    assert {doc.meta["seen"] for doc in read(linked)} == {"dev"}
    done = run("evaluate", "bc5cdr:dev", linked, "--kb", small.path, "--to", page, "--to", report)
    assert "linked was chosen or calibrated on 60 of these documents: its scores on them are too high" in done.err
    assert "linked was chosen or calibrated on 60 of the documents" in done.out
    assert "linked was chosen or calibrated on 60 of the documents" in page.read_text()
    assert '"dev": 60' in report.read_text()
    other = tmp_path / "other.jsonl"
    assert "of these documents" not in run("link", "A case of ache.", "--pipeline", tmp_path / "out", "-o", other).err


@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_a_share_of_the_training_documents_is_kept_where_there_are_no_dev_documents(
    run: Run, tmp_path: Path, data: Path, small: KnowledgeBase
) -> None:
    recipe = written(tmp_path, small, '[[train]]\npart = "lexical"\n[expect]\n"dev.strict.f1" = 0\n')
    recipe.write_text("dev_share = 0.25\n" + recipe.read_text())
    for command, folder, learned in (
        (("train", recipe, "-o", tmp_path / "out"), "out", 20),  # it has a dev split
        (("reproduce", recipe, "-o", tmp_path / "measured", "--repeats", 0), "measured/recipe/model", 15),
    ):
        done = run(*command, "--data", data)
        assert done.code == 0, done.err
        assert f"training documents: {learned}," in (tmp_path / folder / "card.md").read_text()
    (tmp_path / "own").mkdir()
    write(read_corpus("bc5cdr", split="train", data=data), tmp_path / "own" / "train.jsonl")
    done = run("train", recipe, "--corpus", tmp_path / "own", "-o", tmp_path / "own-out")
    assert "training documents: 15," in (tmp_path / "own-out" / "card.md").read_text()


def test_what_too_few_mentions_leave_uncalibrated_says_so(run: Run, tmp_path: Path, small: KnowledgeBase) -> None:
    mention = Mention(0, 4, source="gold", concepts=("MESH:D000004",))
    docs = [Document(f"n{number}", f"Ache, {number}.", mentions=(mention,)) for number in range(100)]
    (tmp_path / "corpus").mkdir()
    write([*docs[:9], Document("raw", "Cough.")], tmp_path / "corpus/train.jsonl")
    write([*docs[60:], Document("bare", "Ache, ache and ache. " * 9)], tmp_path / "corpus/dev.jsonl")
    more = "".join(f'[[train]]\npart = "{part}"\n' for part in ("lexical", "decide"))
    recipe = written(tmp_path, small, more, corpus=str(tmp_path / "corpus"), detector="dictionary")
    done = run("train", recipe, "-o", tmp_path / "out")
    assert "decide stays uncalibrated: 49 mentions" in done.err
    assert "trained on 9 annotated of 10 documents" in done.err
    card = (tmp_path / "out/card.md").read_text()
    assert "probabilities are not calibrated" in card
    assert "training documents without annotation, not used: 1" in card
    assert "calibrated decide" not in card
    assert "*" in run("link", docs[0].text, "--pipeline", tmp_path / "out").out
    write(docs[:10], tmp_path / "corpus/train.jsonl")
    done = run("train", recipe, "-o", tmp_path / "enough")
    assert "uncalibrated" not in done.err
    assert "*" not in run("link", docs[0].text, "--pipeline", tmp_path / "enough").out


@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_quietly_and_with_changes(run: Run, tmp_path: Path, data: Path, small: KnowledgeBase) -> None:
    more = '[[train]]\npart = "lexical"\n'
    recipe = written(tmp_path, small, more)
    done = run("train", recipe, "-o", tmp_path / "o", "--data", data, "-q", "--set", "ngram.k=3")
    assert (done.code, done.err) == (0, "")
    assert "k = 3" in (tmp_path / "o" / "pipeline.toml").read_text()


def test_lines_of_progress(
    run: Run, tmp_path: Path, data: Path, small: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [
        Step(7, 90, {"nll": 0.5}, epoch=1, seconds_left=400.0),  # no line: the one before is not 10 seconds old
        Step(9, 90, {"nll": 0.25, "size": 2.0}, 0.9, epoch=1, seconds_left=400.0),
        Step(90, 90, {"nll": 0.125}, 0.95, epoch=10, seconds_left=0.0),
        Step(1, score=0.4),
    ]
    monkeypatch.setattr("linnet.cli.train.train_all", lambda *_, **__: (Progress("dense", step) for step in steps))
    done = run("train", written(tmp_path, small), "-o", tmp_path / "o", "--data", data)
    assert done.code == 0, done.err
    assert [line for line in done.err.splitlines() if ": dense: " in line] == [
        "linnet: dense: step 9/90 of epoch 1, nll 0.2500, size 2.0000, score 0.9000, 0 s, 6.7 min left",
        "linnet: dense: step 90/90 of epoch 10, nll 0.1250, score 0.9500, 0 s",
        "linnet: dense: step 1, score 0.4000, 0 s",
    ]


def test_lines_of_what_a_part_does_before_its_first_step(
    run: Run, tmp_path: Path, data: Path, small: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def train_all(*_: object, **__: object) -> Iterator[Progress]:
        for done in (64, 4_096, 5_000):
            tell("texts searched for names", done, 5_000)
        yield Progress("tagger", Step(1, score=0.4))

    monkeypatch.setattr("linnet.cli.train.train_all", train_all)
    command = ("train", written(tmp_path, small), "-o", tmp_path / "o", "--data", data)
    assert "texts searched" not in run(*command).err, "nothing took ten seconds"
    monkeypatch.setattr("linnet.cli.train.EVERY", 0.0)
    lines = run(*command).err.splitlines()
    assert [line.rpartition(", ")[0] for line in lines if line.endswith(" s")] == [
        "linnet: 64 of 5,000 texts searched for names",
        "linnet: 4,096 of 5,000 texts searched for names",
        "linnet: tagger: step 1, score 0.4000",
    ]
    assert run(*command, "-q").err == ""


def test_what_is_refused(run: Run, tmp_path: Path, data: Path, small: KnowledgeBase) -> None:
    def said(recipe: Path) -> str:
        done = run("train", recipe, "-o", tmp_path / "out", "--data", data)
        assert done.code == 2
        assert "Traceback" not in done.err
        return done.err

    assert "corpus: missing" in said(written(tmp_path, small, corpus=""))
    assert "'bc5cd'" in said(written(tmp_path, small, corpus="bc5cd"))
    assert "does not name a part that learns" in said(written(tmp_path, small, '[[train]]\npart = "gold"\n'))
    wrong = [f'[[train]]\npart = "{part}"\nlr = -1\n{field}' for part, field in (("tagger", "outside_weight = -1\n"),)]
    both = said(written(tmp_path, small, "".join(['[[train]]\npart = "ngram"\n', *wrong]), detector="tagger"))
    assert "train[1].outside_weight: expected a number from 0" in both  # before anything is trained
    assert "train[1].lr: expected" in both
    assert "trained" not in both
    nothing = tmp_path / "nothing.toml"
    nothing.write_text(f'corpus = "bc5cdr"\nkb = "{small.path}"\n[[pipeline]]\nuse = "gold"\n')
    assert "no part learns" in said(nothing)


@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_the_knowledge_base_is_built_from_the_same_folder(
    run: Run, tmp_path: Path, data: Path, small: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LINNET_DATA", raising=False)
    (data / "names.tsv").write_text("id\tname\n" + "".join(f"MESH:{id}\t{name}\n" for id, name, _ in NAMES))
    recipe = written(tmp_path, small)
    lines = [line for line in recipe.read_text().splitlines() if not line.startswith("kb = ")]
    built = '[kb]\nname = "built"\nbuild = [{from = "table", path = "names.tsv"}]'
    recipe.write_text("\n".join([lines[0], built, *lines[1:]]))
    done = run("train", recipe, "-o", tmp_path / "out", "--data", data)
    assert done.code == 0, done.err
    assert load(tmp_path / "out").kb is not None
    assert "where is names.tsv?" in run("train", recipe, "-o", tmp_path / "other").err


WITHOUT_TORCH = """
import sys

class NoNeural:  # None in sys.modules, which is shorter, makes SciPy stumble
    def find_spec(self, name, path=None, target=None):
        if name in ("accelerate", "safetensors", "tokenizers", "torch", "transformers"):
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, NoNeural())
from linnet.cli import main
for command in sys.argv[1:]:
    sys.argv = ["linnet", *command.split("|")]
    try:
        main()
    except SystemExit as stop:
        if stop.code:
            raise
"""


@pytest.mark.slow
def test_files_of_ones_own_become_a_pipeline_without_torch(run: Run, tmp_path: Path, small: KnowledgeBase) -> None:
    docs = []
    for number in range(60):
        id, name, word = NAMES[number % len(NAMES)]
        text = f"A case of {word}. Canker, no ache. {name}. {number}"
        told = id if number % 10 else "D000001"  # so that some answers are wrong
        answers = ((10, 10 + len(word), told), (12 + len(word), 18 + len(word), "D000004"))
        mentions = tuple(Mention(a, b, source="gold", concepts=(f"MESH:{concept}",)) for a, b, concept in answers)
        docs.append(Document(f"n{number}", text, mentions=mentions))
    write(docs, tmp_path / "annotated.jsonl")
    corpus, out, note, linked = (tmp_path / name for name in ("corpus", "out", "note.txt", "linked.jsonl"))
    assert run("corpus", "split", tmp_path / "annotated.jsonl", "-o", corpus, "--shares", "train=0.6,dev=0.4").code == 0
    note.write_text("The canker, and an ache.")
    train = f"train|own_lexical|--corpus|{corpus}|--kb|{small.path}|-o|{out}"
    code = [sys.executable, "-c", WITHOUT_TORCH, train, f"link|{note}|--pipeline|{out}|-o|{linked}"]
    done = subprocess.run(code, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [found] = read(linked)
    # canker is no name of the knowledge base, and nobody marked the ache
    [mention] = found.mentions or ()
    assert (found.surface(mention), mention.concepts, mention.calibration) == ("canker", ("MESH:D000004",), "joint")
