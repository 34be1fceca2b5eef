"""`linnet train` and `linnet tune` with a network of a few weights."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from linnet.corpora import read, write
from linnet.data import Concept, Document, Mention, Name
from linnet.evaluate import Report
from linnet.fit import fitting, unseen
from linnet.fit.plan import tasks
from linnet.fit.tuning import Search, tune
from linnet.kb.build import build
from linnet.recipes.config import load, read_recipe, recipes
from tests.tiny_models import tiny_bert

from .conftest import Run

SAID = (("fever", "heat"), ("cough", "bark"), ("ache", "pain"))


@pytest.fixture
def small(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recipe of a network, with LINNET_DATA set to its corpus."""
    folder = tmp_path / "data" / "corpora" / "bc5cdr"
    folder.mkdir(parents=True)
    for split, base in (("Training", 100), ("Development", 200)):
        with (folder / f"CDR_{split}Set.PubTator.txt").open("w") as out:
            for pmid in range(base, base + 12):
                word, id = SAID[pmid % 3][pmid % 2], f"D00000{pmid % 3}"
                out.write(
                    f"{pmid}|t|A case of {word}.\n{pmid}|a|\n{pmid}\t10\t{10 + len(word)}\t{word}\tDisease\t{id}\n\n"
                )
    kb = build((Concept(f"MESH:D00000{n}", (Name(said[0]),)) for n, said in enumerate(SAID)), tmp_path / "small.kb")
    monkeypatch.setenv("LINNET_DATA", str(tmp_path / "data"))
    encoder = tiny_bert(tmp_path / "tiny", words=[word for said in SAID for word in said], layers=1)
    path = tmp_path / "small.toml"
    path.write_text(
        f'corpus = "bc5cdr"\nkb = "{kb.path}"\n[[pipeline]]\nuse = "gold"\n'
        f'[[pipeline]]\nuse = "dense"\nencoder = "{encoder}"\naliases = false\nk = 3\n[[pipeline]]\nuse = "decide"\n'
        '[[train]]\npart = "dense"\nepochs = 1\nbatch = 4\nbf16 = false\n'
    )
    return path


def weights(folder: Path) -> bytes:
    return (folder / "1-dense" / "model" / "mention" / "model.safetensors").read_bytes()


def test_another_seed_of_the_recipe_is_another_training(run: Run, small: Path, tmp_path: Path) -> None:
    for name, change in (("a", "seed=7"), ("b", "seed=8"), ("c", "train.dense.seed=8")):
        done = run("train", small, "-o", tmp_path / name, "--set", change)
        assert done.code == 0, done.err
    assert weights(tmp_path / "a") != weights(tmp_path / "b") == weights(tmp_path / "c")


def taking(small: Path, by: str, *, name: str = "other", part: str = "dense") -> Path:
    """A recipe that takes what the small one has learned."""
    path = small.with_name(f"{name}.toml")
    head, _, _ = small.read_text().partition("[[train]]")
    text = head.replace("k = 3", 'k = 2\nindex = "hnsw"')
    if part != "dense":
        text = re.sub(r'"dense"\n(?:\w+ = .*\n)*', f'"{part}"\n', text)
    path.write_text(f'trained_by = "{by}"\n{text}')
    return path


@pytest.mark.slow
def test_what_one_recipe_has_learned_another_takes(run: Run, small: Path, tmp_path: Path) -> None:
    other, out = taking(small, str(small)), tmp_path / "out"
    for turn in range(2):
        done = run("reproduce", other, "-o", out, "--repeats", turn, "--seeds", 2)
        assert done.code == 0, done.err
        assert ("training on bc5cdr" in done.err) == (turn == 0)
    assert run("reproduce", small, "-o", out, "--seeds", 2, "--repeats", 0).err.count("training on") == 0
    for seed in ("seed-13", "seed-14"):
        theirs, ours = (list(read(out / name / seed / "predictions.jsonl")) for name in ("small", "other"))
        for one, two in zip(theirs, ours, strict=True):
            [given], [found] = one.mentions or (), two.mentions or ()
            assert given.candidates is not None
            assert found.candidates is not None
            assert found.candidates.scores.tolist() == pytest.approx(given.candidates.scores[:2].tolist(), abs=1e-5)
        assert not (out / "other" / seed / "model").exists()
        assert (out / "small" / seed / "model" / "1-dense" / "names.vectors.hnsw").exists()


def test_vectors_that_nobody_reads_are_no_part_of_the_index(run: Run, small: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "small.kb.vectors-000000000000"
    foreign.write_bytes(bytes(50_000_000))
    done = run("reproduce", small, "-o", tmp_path / "out", "--repeats", 1)
    assert done.code == 0, done.err
    report = Report.of_json((tmp_path / "out" / "small" / "report.json").read_text())
    assert report.cost is not None
    assert 0 < report.cost.index_bytes < 50_000_000


def test_what_cannot_be_taken(run: Run, small: Path, tmp_path: Path) -> None:
    other = taking(small, str(small))
    assert f"its parts come from '{small}'; train that recipe" in run("train", other, "-o", tmp_path / "a").err
    again = taking(small, str(other), name="again")
    assert f"trained_by: '{other}' is not trained itself" in run("reproduce", again, "-o", tmp_path / "b").err
    both = tmp_path / "both.toml"
    both.write_text(f'trained_by = "{small}"\n{small.read_text()}')
    assert "trained_by: excludes [[train]]" in run("reproduce", both, "-o", tmp_path / "c").err
    missing = taking(small, "no/such", name="missing")
    assert "no such recipe or file" in run("reproduce", missing, "-o", tmp_path / "d").err
    bare = tmp_path / "bare.toml"
    bare.write_text(other.read_text().partition("\n")[2])
    assert (
        "the recipe trains nothing that another" in run("reproduce", taking(small, str(bare)), "-o", tmp_path / "e").err
    )
    done = run("reproduce", taking(small, str(small), part="exact"), "-o", tmp_path / "f", "--repeats", 0)
    assert "no trained part that the pipeline" in done.err


def test_a_deadline_does_not_begin_a_training_anew(small: Path) -> None:
    pipeline = load(small)

    def key(*changes: str) -> str:
        recipe = read_recipe(small, changes=changes)
        return fitting._key(pipeline, tasks(pipeline, recipe.train, source="r", seed=recipe.seed), [], [], [])

    assert key() == key("train.dense.max_minutes=5") == key("train.dense.checkpoint_every=7")
    assert len({key(), key("seed=14"), key("train.dense.lr=1e-3")}) == 3


def test_what_learns_from_dev_documents_needs_no_folds(
    run: Run, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting._CrossFitting, "pipelines", None)
    monkeypatch.setattr(unseen, "FEW", 1)
    small.write_text(small.read_text() + '[[train]]\npart = "decide"\n')
    done = run("train", small, "-o", tmp_path / "a")
    assert done.code == 0, done.err


@pytest.mark.slow
def test_what_the_loop_is_told_can_be_chosen(small: Path) -> None:
    pytest.importorskip("optuna")
    text = small.read_text().replace("epochs = 1", "epochs = 1\npatience = 2\nclip = 0\nlr = 1e-4")
    small.write_text(text + '[tune]\n"train.dense.lr" = [1e-4, 1e30]\n')
    recipe, pipeline = read_recipe(small), load(small)
    assert pipeline.kb is not None
    from linnet.corpora.catalog import read_corpus

    docs, dev = (list(read_corpus("bc5cdr", split=split)) for split in ("train", "dev"))
    search = Search(source=str(small), kb=pipeline.kb, train=docs, dev=dev)
    assert recipe.tune.keys() == {"train.dense.lr"}
    assert search.own() == {"train.dense.lr": "0.0001"}
    trials = list(tune(search, small.parent / "study", trials=6))
    by_lr = {trial.values["train.dense.lr"]: trial for trial in trials}
    assert by_lr[1e-4].score is not None
    assert trials[0].values == {"train.dense.lr": 1e-4}
    if 1e30 in by_lr:
        assert by_lr[1e30].score is None
        assert "Try a lower lr" in by_lr[1e30].problem


def test_a_training_that_diverges_is_a_trial_refused(small: Path) -> None:
    pytest.importorskip("optuna")
    small.write_text(small.read_text().replace("epochs = 1", "epochs = 1\nclip = 0") + '[tune]\n"dense.k" = [2, 3]\n')
    from linnet.corpora.catalog import read_corpus

    kb = load(small).kb
    assert kb is not None
    docs, dev = (list(read_corpus("bc5cdr", split=split)) for split in ("train", "dev"))
    search = Search(source=str(small), kb=kb, train=docs, dev=dev, changes=["train.dense.lr=1e30"])
    [trial] = tune(search, small.parent / "study", trials=1)
    assert trial.score is None
    assert "Try a lower lr" in trial.problem


@pytest.mark.parametrize("key", ["train.ngram.lr", "train.dens.lr"])
def test_what_is_not_trained_cannot_be_chosen(run: Run, small: Path, key: str) -> None:
    small.write_text(small.read_text() + f'[tune]\n"{key}" = [1, 2]\n')
    assert f"tune.{key}: no [[train]] table" in run("tune", small).err


# --- a terminology alone ---------------------------------------------------------------------------------------------


@pytest.fixture
def alone(tmp_path: Path, home: Path) -> list[str]:
    """What trains the recipe ontology_only with a network of a few weights on a knowledge base with definitions."""
    concepts = [
        Concept("X:1", (Name("fever"),), definition="A fever with a cough."),
        Concept("X:2", (Name("cough"),), definition="A cough with a fever."),
    ]
    kb = build(concepts, tmp_path / "x.kb")
    encoder = tiny_bert(tmp_path / "tiny", words=["fever", "cough", "with", "the"], layers=1)
    fast = ("train.tagger.epochs=1", "train.tagger.bf16=false", f"tagger.encoder={encoder}")
    return ["train", "ontology_only", "--kb", str(kb.path), *(word for one in fast for word in ("--set", one))]


def test_a_terminology_and_texts_make_a_pipeline(run: Run, alone: list[str], tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    for number in range(9):
        (tmp_path / "notes" / f"{number}.txt").write_text(f"Visit {number}: the fever, with the cough.")
    out = tmp_path / "out"
    done = run(*alone, "--texts", tmp_path / "notes", "-o", out)
    assert done.code == 0, done.err
    card = (out / "card.md").read_text()
    assert f"texts without annotation: {tmp_path / 'notes'}" in card
    assert "training documents: 9" in card
    assert "not used" not in card
    assert f"trained on 9 documents of {tmp_path / 'notes'}" in done.err
    linked = tmp_path / "linked.csv"
    done = run("link", tmp_path / "notes", "--pipeline", out, "--kb", tmp_path / "x.kb", "-o", linked)
    assert linked.read_text().count('«cough».",X:2,cough,') == 9, done.err
    assert "trained on" not in done.err, "nobody has annotated them"


def test_without_texts_definitions_are_read(run: Run, alone: list[str], tmp_path: Path) -> None:
    done = run(*alone, "-o", tmp_path / "out")
    assert done.code == 0, done.err
    assert "learning from the 2 definitions of" in done.err
    build([Concept("X:1", (Name("fever"),))], tmp_path / "bare.kb")
    done = run(*(word.replace("x.kb", "bare.kb") for word in alone), "-o", tmp_path / "other")
    assert done.code != 0
    assert "has no definitions to learn from: name texts that nobody has annotated: --texts" in done.err


def test_gold_that_is_not_looked_at_is_told(run: Run, alone: list[str], small: Path, tmp_path: Path) -> None:
    done = run(*alone, "--corpus", "bc5cdr", "-o", tmp_path / "out")
    assert done.code == 0, done.err
    assert "learns from names alone, not from what people marked in 12 documents of bc5cdr; own_letters" in done.err
    assert "matches of names teach little" in done.err
    done = run("train", "own", "--kb", tmp_path / "x.kb", "--texts", small, "-o", tmp_path / "other")
    assert "of texts without annotation ontology_only learns" in done.err
    done = run(*alone, "--set", "epochs=1", "-o", tmp_path / "other")
    assert "to change a part, name it: train.tagger.epochs" in done.err


def test_texts_are_no_gold(run: Run, small: Path, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("No case of fever.")
    done = run("train", small, "--texts", tmp_path / "note.txt", "-o", tmp_path / "out")
    assert done.code == 0, done.err
    assert "training documents without annotation, not used: 1" in (tmp_path / "out" / "card.md").read_text()


def test_a_pipeline_taught_by_some_names_is_loaded(run: Run, alone: list[str], tmp_path: Path) -> None:
    done = run(*alone, "--set", 'tagger.names={short_forms=["clinical"]}', "-o", tmp_path / "out")
    assert done.code == 0, done.err
    link = ("link", "A fever.", "--pipeline", tmp_path / "out", "--kb", tmp_path / "x.kb")
    done = run(*link)
    assert done.code == 0, done.err
    done = run(*link, "--set", "tagger.names={}")
    assert "tagger.names: was trained with {'short_forms': ('clinical',)}, not with {}" in done.err


@pytest.mark.slow
def test_texts_that_one_of_several_parts_learns_from_are_used(
    run: Run, alone: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = Path("mixed.toml")
    text = (
        recipes()["ontology_only"].read_text().replace('[[pipeline]]\nuse = "context"', '[[pipeline]]\nuse = "lexical"')
    )
    recipe.write_text(f'{text}[[train]]\npart = "lexical"\n')
    mention = Mention(4, 9, source="gold", concepts=("X:1",))
    Path("corpus").mkdir()
    write((Document(f"n{n}", f"The fever, {n}.", mentions=(mention,)) for n in range(60)), Path("corpus/train.jsonl"))
    Path("note.txt").write_text("The cough with the fever.")
    done = run("train", recipe, *alone[2:], "--corpus", "corpus", "--texts", "note.txt", "-o", "out")
    assert done.code == 0, done.err
    assert "not used" not in Path("out/card.md").read_text()
    assert "trained on 61 documents of corpus, note.txt" in done.err


def test_texts_are_files_and_splits_that_are_not_there_already(
    run: Run, alone: list[str], small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes").mkdir()
    done = run(*alone, "--texts", "nots", "-o", "none")
    assert "--texts nots: there is no such file, folder or split of a corpus; did you mean 'notes'?" in done.err
    Path("notes").rmdir()
    monkeypatch.delenv("LINNET_DATA")
    command = [*alone, "--data", "data", "--texts", "bc5cdr:train", "--texts", "bc5cdr:dev"]
    for more, count in ((), 24), (("--corpus", "bc5cdr"), 12):  # what the splits say is the same
        done = run(*command, *more, "-o", f"out-{count}")
        assert done.code == 0, done.err
        assert f"training documents: {count}" in Path(f"out-{count}/card.md").read_text()
