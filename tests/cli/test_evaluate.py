from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from linnet.kb import KnowledgeBase

from .conftest import Run

GOLD = "7\nSeizures and fever.\n0\t8\tSeizures\tHP:0001250\n13\t18\tfever\tHP:0001945\n"


def test_figures(run: Run, tmp_path: Path) -> None:
    gold, predicted = tmp_path / "gold.tsv", tmp_path / "predicted.jsonl"
    gold.write_text(GOLD)
    mention = '{"start":0,"end":8,"concepts":["HP:0001250"]}'
    predicted.write_text(f'{{"id":"7","text":"Seizures and fever.","mentions":[{mention}]}}\n')
    done = run("evaluate", gold, predicted, "--json")
    assert json.loads(done.out)["mention"] == {
        "precision": 1.0, "recall": 0.5, "f1": 2 / 3, "right": 1, "predicted": 1, "gold": 2,
    }  # fmt: skip
    out = run("evaluate", gold, predicted).out
    assert "0.667" in out
    assert "1 document," in out


def test_what_does_not_belong_together_is_refused(run: Run, tmp_path: Path) -> None:
    gold, other = tmp_path / "gold.tsv", tmp_path / "other.tsv"
    gold.write_text(GOLD)
    other.write_text(GOLD.replace("7\n", "8\n", 1))
    assert "not among" in run("evaluate", gold, other, "--as-predicted").err
    done = run("evaluate", gold, gold)
    assert (done.code, "gold mentions" in done.err) == (2, True)


def pair(tmp_path: Path, *names: str) -> list[Path]:
    """Write gold and a prediction for each name; the first finds one mention of two, others none."""
    gold = tmp_path / "gold.tsv"
    gold.write_text(GOLD)
    paths = []
    for place, name in enumerate(names):
        mention = '{"start":0,"end":8,"concepts":["HP:0001250"],"probability":0.9}' if place == 0 else ""
        path = tmp_path / f"{name}.jsonl"
        path.write_text(f'{{"id":"7","text":"Seizures and fever.","mentions":[{mention}]}}\n')
        paths.append(path)
    return [gold, *paths]


def test_a_csv_of_mentions_is_about_the_texts_of_gold(run: Run, tmp_path: Path) -> None:
    gold, first, _ = pair(tmp_path, "a", "b")
    whole = json.loads(run("evaluate", gold, first, "--json").out)
    for options in ([], ["--to-option", "texts=true"]):
        assert run("corpus", "convert", first, tmp_path / "a.csv", *options).code == 0
        assert json.loads(run("evaluate", gold, tmp_path / "a.csv", "--json").out)["mention"] == whole["mention"]
    (tmp_path / "other.csv").write_text("document,start,end,concepts\n8,0,8,X:1\n")
    assert "'8'" in run("evaluate", gold, tmp_path / "other.csv").err


def test_predictions_in_the_place_of_gold_are_told(run: Run, tmp_path: Path) -> None:
    gold, first, _ = pair(tmp_path, "a", "b")
    assert "the gold comes first" in run("evaluate", first, first).err
    assert "the gold comes first" not in run("evaluate", gold, first).err


def test_what_a_pipeline_found_among_gold_is_none(run: Run, tmp_path: Path) -> None:
    gold, first, _ = pair(tmp_path, "a", "b")
    assert run("corpus", "convert", gold, tmp_path / "mixed.jsonl").code == 0
    doc = json.loads((tmp_path / "mixed.jsonl").read_text())
    doc["mentions"].append({"start": 9, "end": 12, "concepts": ["X:1"], "source": "pred"})
    (tmp_path / "mixed.jsonl").write_text(json.dumps(doc) + "\n")
    done = run("evaluate", tmp_path / "mixed.jsonl", first, "--train", tmp_path / "mixed.jsonl", "--json")
    assert json.loads(done.out)["mention"]["gold"] == 2
    assert done.err.count("mixed.jsonl: mentions that a pipeline found, and nobody marked, are left out: 1") == 2


def test_ids_that_the_knowledge_base_lacks_are_told(run: Run, tmp_path: Path, kb: KnowledgeBase) -> None:
    gold, first, _ = pair(tmp_path, "a", "b")
    first.write_text(first.read_text().replace("HP:0001250", "0001250"))
    told = "a: 1 predicted concept is not in the knowledge base, such as '0001250'"
    assert told in run("evaluate", gold, first, "--kb", kb.path).err
    assert told not in run("evaluate", gold, first).err


def test_every_output(run: Run, tmp_path: Path) -> None:
    files = pair(tmp_path, "a", "b")
    outputs = [tmp_path / f"out.{suffix}" for suffix in ("json", "csv", "md", "html")]
    done = run("evaluate", *files, "--samples", 50, *(part for path in outputs for part in ("-o", path)))
    assert done.code == 0, done.err
    assert "protocol all" in done.out
    assert "a − b" in done.out
    assert [system["about"]["system"] for system in json.loads(outputs[0].read_text())["systems"]] == ["a", "b"]
    assert outputs[1].read_text().startswith("system,kind,name")
    assert outputs[2].read_text().startswith("# a · b")
    assert outputs[3].read_text().startswith("<!DOCTYPE html>")
    shown = run("evaluate", *files, "--samples", 50, "--json", "--name", "x", "--name", "y").out
    assert json.loads(shown)["comparisons"][0]["a"] == "x"


def test_protocol_rule_and_knowledge_base(run: Run, tmp_path: Path, kb: KnowledgeBase) -> None:
    files = pair(tmp_path, "a")
    options = ("--kb", kb.path, "--train", files[0], "--protocol", "all", "--rule", "any-of", "--json")
    found = json.loads(run("evaluate", *files, *options).out)
    assert (found["about"]["protocol"], found["about"]["rule"]) == ("all", "any-of")
    assert found["about"]["kb_version"] == kb.version
    # the knowledge base does not hold fever
    assert (found["mentions"]["all"], found["mentions"]["in-kb"]) == (2, 1)
    assert found["slices"]["seen-mention"]["below"] == 2.0


def test_the_knowledge_base_of_the_predictions_is_found(
    run: Run, tmp_path: Path, kb: KnowledgeBase, home: Path
) -> None:
    def written(name: str, *versions: str) -> Path:
        mentions = [
            {
                "start": 0,
                "end": 8,
                "concepts": ["HP:0009999"],
                "candidates": {"kb": version, "ids": ["HP:0009999"], "scores": [1]},
            }
            for version in versions
        ]
        (tmp_path / name).write_text(json.dumps({"id": "7", "text": "Seizures and fever.", "mentions": mentions}))
        return tmp_path / name

    def measures(*arguments: object) -> tuple[Any, str]:
        done = run("evaluate", gold, *arguments, "--samples", 0, "--json")
        assert done.code == 0, done.err
        return json.loads(done.out), done.err

    gold, ours = tmp_path / "gold.tsv", written("ours.jsonl", kb.version)
    gold.write_text(GOLD)
    lost, err = measures(ours)
    assert f"the predictions name version {kb.version}, looked for in {home / 'kb'}; give --kb" in err
    (home / "kb").mkdir(parents=True)
    path = Path(shutil.copy(kb.path, home / "kb" / "mine.kb"))
    found, err = measures(ours)
    assert str(path) in err
    assert found == measures(ours, "--kb", "mine")[0] != lost
    assert found["measures"]["in-kb.accuracy@1"]["value"] == 1.0  # of a retired id's successor
    with KnowledgeBase.edit(path) as edit:
        edit.retire("X:2")
    assert measures(ours)[0]["measures"] == found["measures"]  # it was of that version before
    for name, versions in (("none.jsonl", ()), ("two.jsonl", (kb.version, "another"))):
        other, err = measures(written(name, *versions))
        assert (other["about"]["kb"], other["about"]["protocol"]) == ("", "all")
        assert "no knowledge base: the predictions name" in err
        assert "every concept counts as known, other ids" in run("evaluate", gold, tmp_path / name).out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--protocol", "inkb"), "unknown protocol 'inkb', expected one of all, in-kb, in-kb-genbioel; did you mean"),
        (("--rule", "both"), "unknown rule 'both', expected all-of or any-of"),
        (("-o", "out.pdf"), "-o out.pdf: expected a name that ends in one of .json, .csv, .md, .html"),
        (("--to", "GOLD.json", "--to", "GOLD.json"), "would be written twice"),
        (("--name", "x", "--name", "y"), "1 files of predictions but 2 --name"),
    ],
)
def test_wrong_options(run: Run, tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    done = run("evaluate", *pair(tmp_path, "a"), *options)
    assert done.code == 2
    assert message in done.err


def test_two_systems_of_one_name(run: Run, tmp_path: Path) -> None:
    gold, a, b = pair(tmp_path, "a", "b")
    assert "two systems are called 'x'" in run("evaluate", gold, a, b, "--name", "x", "--name", "x").err
    (tmp_path / "other").mkdir()
    moved = b.rename(tmp_path / "other" / "a.jsonl")
    out = run("evaluate", gold, a, moved, "--json", "--samples", 0).out
    assert [system["about"]["system"] for system in json.loads(out)["systems"]] == [str(a), str(moved)]


def test_outputs_do_not_overwrite_inputs(run: Run, tmp_path: Path) -> None:
    gold, a = pair(tmp_path, "a")
    gold = gold.rename(tmp_path / "gold.json")
    assert "is read as input" in run("evaluate", gold, a, "--from", "gsc", "--to", gold).err


def test_reports_do_not_overwrite_what_is_learned_from(run: Run, tmp_path: Path) -> None:
    gold, a = pair(tmp_path, "a")
    train = tmp_path / "train.json"
    train.write_text("{}")
    assert "is read as input" in run("evaluate", gold, a, "--train", train, "--to", train).err
    assert train.read_text() == "{}"


def test_predictions_in_a_format_that_does_not_say_so(run: Run, tmp_path: Path) -> None:
    gold, _ = pair(tmp_path, "a")
    ours = tmp_path / "ours.tsv"
    ours.write_text(GOLD)
    assert "if a system made them, use --as-predicted" in run("evaluate", gold, ours).err
    done = run("evaluate", gold, ours, "--as-predicted", "--json")
    assert json.loads(done.out)["measures"]["strict.f1"]["value"] == 1.0


def test_gold_without_annotations_is_refused(run: Run, tmp_path: Path) -> None:
    _, a = pair(tmp_path, "a")
    text = tmp_path / "text.txt"
    text.write_text("Seizures and fever.")
    done = run("evaluate", text, a)
    assert (done.code, "holds no annotations to compare with" in done.err) == (2, True)


def test_gold_documents_without_annotations_are_told(run: Run, tmp_path: Path) -> None:
    gold, predicted = tmp_path / "gold", tmp_path / "predicted.jsonl"
    gold.mkdir()
    for name in ("a", "b"):
        (gold / f"{name}.txt").write_text("Fever.")
    (gold / "a.ann").write_text("T1\tD 0 5\tFever\n")
    mention = '{"start":0,"end":5,"concepts":["HP:0001945"]}'
    predicted.write_text("".join(f'{{"id":"{id}","text":"Fever.","mentions":[{mention}]}}\n' for id in "ab"))
    done = run("evaluate", gold, predicted)
    assert "nobody annotated 1 of 2 documents" in done.err
    assert "1 of the documents have no annotation" in " ".join(done.out.split())
    assert run("corpus", "check", gold).out.count("not annotated") == 2  # in the table, and counted
    assert "unannotated" in run("corpus", "stats", gold).out


def test_synthetic_bench(run: Run) -> None:
    done = run("bench", "evaluate", "--documents", 3, "--mentions", 20, "--candidates", 4, "--concepts", 10)
    assert done.code == 0, done.err
    assert "20 × 4" in done.out
