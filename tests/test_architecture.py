"""The rules of the tree, checked on the source itself."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from collections.abc import Callable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import linnet
from linnet.data import Concept, Document, Name
from linnet.detect.dictionary import Dictionary
from linnet.kb.build import build

ROOT = Path(linnet.__file__).parent
# Imports only go to rooms earlier in this list, and never between the rooms of one line.
LINES = (
    "errors strict_json", "frozen", "data", "codec", "home", "checksums", "reporter", "arrays_file",
    "text", "fetch", "kb", "vocabularies", "corpora", "pipeline", "graphs", "nn", "index", "train",
    "detect retrieve rerank", "joint", "evaluate", "recipes", "fit", "scale", "serve", "annotate", "cli", "bench",
)  # fmt: skip
PLACE = {room: place for place, line in enumerate(LINES) for room in line.split()}
DATA_FOLDERS = {"demo"}  # hold files, and import nothing
MODULES = sorted(ROOT.rglob("*.py"))
LONGEST_FILE, LONGEST_MODEL, LONGEST_FUNCTION = 400, 600, 60
MODELS = ("detect", "retrieve", "rerank", "joint")  # a model is read in one file, as far as it can be
MOST_COMPLEX = 15
# Functions with more branches than that, and why they keep them in one place.
COMPLEX = {
    "each line is one rule or exception of the language": (
        "text/sentences.py _judge_short", "text/sentences.py _is_full_stop",
        "text/words.py shape_of", "detect/conjuncts.py readings", "detect/name_agreement.py _alone",
        "evaluate/errors.py _kinds", "detect/part_findings.py _behind", "detect/part_findings.py _before",
    ),
    "a command has one branch for each of its options": (
        "cli/kb_compare.py subset", "cli/kb_build.py build", "cli/kb_edit.py add",
        "cli/inputs.py make_allow", "cli/inputs.py refuse_overwriting", "cli/corpus.py prepare",
        "cli/reproduce.py reproduce", "cli/train.py train", "bench/ablate.py ablation",
        "corpora/corpus_download.py download_corpus",
    ),
    "a record or a table has many optional fields": (
        "vocabularies/mesh_table.py read_mesh_table",
        "corpora/label_studio.py _documents", "corpora/bioc_loose.py _gene", "corpora/extras.py restored",
        "corpora/craft.py _read", "corpora/texoo.py document", "corpora/brat.py _second",
        "kb/file.py check_file", "recipes/changes.py apply_change",
    ),
    "a layout or a type is guessed from many signs": (
        "corpora/sources.py find", "corpora/sources.py locate", "corpora/sources.py _of_releases",
        "corpora/sources.py guess", "corpora/conll_lines.py _layout", "vocabularies/options.py _from_text",
    ),
    "one loop over all mentions or names that a function call per step would slow down": (
        "pipeline/decide.py _fold", "detect/findings.py _groups",
    ),
    "the steps of one training, read from top to bottom": (
        "retrieve/dense_training.py collate", "rerank/lexical.py examples", "rerank/cross_training.py fit",
    ),
}  # fmt: skip
MOST_MODULES = 77  # of ours that linking a text with the dictionary loads
SLOW = ("numpy", "pydantic", "scipy", "sklearn", "torch", "typer", "rich", "lxml")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield every module that is imported anywhere in `tree`, inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names if node.module == "linnet")


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def of_each_module(check: Callable[[Path, ast.Module], None]) -> Callable[[], None]:
    """Return a test that checks all modules: a test for each would take far longer."""

    def test() -> None:
        for path in MODULES:
            try:
                check(path, parsed(path))
            except AssertionError as error:
                raise AssertionError(f"{name_of(path)}: {error}") from error

    test.__doc__ = check.__doc__
    return test


@of_each_module
def test_imports_go_to_earlier_rooms(path: Path, tree: ast.Module) -> None:
    room = room_of(path)
    if room in ("__init__", "__main__"):  # the front doors show what is inside
        return
    rooms = {name.split(".")[1] for name in imported(tree) if name.startswith("linnet.")} - {"__version__"}
    if room in DATA_FOLDERS:
        assert not rooms
        return
    assert room in PLACE, f"{room} has no place in the order of rooms"
    late = {other for other in rooms - {room} if PLACE.get(other, 99) >= PLACE[room]}
    assert not late, f"{room} must not import {late}"


def test_contributing_names_the_rooms_in_their_order() -> None:
    table = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = [name.strip("`/") for row in rows for name in row.split()]
    rooms = {room_of(path) for path in MODULES} - {"__init__", "__main__"} - DATA_FOLDERS
    assert [name for name in named if name in PLACE] == [room for room in PLACE if room in rooms]


def test_the_root_holds_what_everything_needs() -> None:
    assert len([path for path in ROOT.glob("*.py") if not path.name.startswith("__")]) <= 10


def test_no_modules_need_each_other() -> None:
    """In functions and for types alone, too: whoever reads one of a circle must read all of them."""
    paths = {".".join(("linnet", *path.relative_to(ROOT).with_suffix("").parts)): path for path in MODULES}
    paths = {name.removesuffix(".__init__"): path for name, path in paths.items()}
    needs: dict[str, set[str]] = {}
    for name in paths.keys() - {"linnet"}:  # the front door shows what is inside
        nodes = list(ast.walk(ast.parse(paths[name].read_text(encoding="utf-8"))))
        plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        froms = [(node.module or "", a.name) for node in nodes if isinstance(node, ast.ImportFrom) for a in node.names]
        needs[name] = {whole if (whole := f"{of}.{what}") in paths else of for of, what in froms} | plain
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        pytest.fail(" needs ".join(reversed(error.args[1])))


@of_each_module
def test_only_config_names_components_by_string(path: Path, tree: ast.Module) -> None:
    if room_of(path) in ("detect", "retrieve", "rerank", "joint", "recipes", "cli", "bench"):
        return
    strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert not [text for text in strings if text.startswith(("linnet.detect.", "linnet.retrieve."))]


@of_each_module
def test_nothing_prints_evaluates_or_unpickles(path: Path, tree: ast.Module) -> None:
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    forbidden = {"eval", "exec", "torch.load", "os.system", "yaml.load", "np.load", "joblib.load"}
    forbidden |= set() if room_of(path) in ("cli", "bench") else {"print", "input"}
    assert not calls & forbidden
    modules = {name.split(".")[0] for name in imported(tree)}
    assert not modules & {"pickle", "cPickle", "dill", "shelve", "marshal", "joblib", "requests"}


@of_each_module
def test_warnings_go_to_the_reporter(path: Path, tree: ast.Module) -> None:
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert path.name == "reporter.py" or "warnings.warn" not in calls, "use linnet.reporter.warn"


@of_each_module
def test_modules_say_what_they_are_and_what_they_offer(path: Path, tree: ast.Module) -> None:
    assert ast.get_docstring(tree)
    if path.name in ("__main__.py",) or room_of(path) in DATA_FOLDERS:
        return
    offered = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    bare = not any(isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.ImportFrom)) for node in tree.body)
    if bare and path.name == "__init__.py":  # a folder whose modules are imported one by one
        return
    assert len(offered) == 1, "an explicit __all__"
    [names] = offered
    assert len(set(names)) == len(names)
    known = {
        *(node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))),
        *(ast.unparse(t) for node in tree.body if isinstance(node, ast.Assign) for t in node.targets),
        *(ast.unparse(node.target) for node in tree.body if isinstance(node, ast.AnnAssign)),
        *(a.asname or a.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for a in node.names),
    }
    assert set(names) <= known


@of_each_module
def test_everything_offered_is_described(path: Path, tree: ast.Module) -> None:
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            assert ast.get_docstring(node), node.name


@of_each_module
def test_files_and_functions_are_short(path: Path, tree: ast.Module) -> None:
    longest = LONGEST_MODEL if room_of(path) in MODELS else LONGEST_FILE
    assert len(path.read_text(encoding="utf-8").splitlines()) <= longest
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert (node.end_lineno or 0) - node.lineno < LONGEST_FUNCTION, node.name


def complexity_of(function: ast.AST) -> int:
    """Return McCabe's complexity, where comprehensions, assertions and each `and` and `or` count too."""
    branches = (ast.If, ast.IfExp, ast.For, ast.While, ast.ExceptHandler, ast.Assert, ast.match_case)
    nodes = list(ast.walk(function))
    loops = sum(1 + len(node.ifs) for node in nodes if isinstance(node, ast.comprehension))
    choices = sum(len(node.values) - 1 for node in nodes if isinstance(node, ast.BoolOp))
    return 1 + sum(isinstance(node, branches) for node in nodes) + loops + choices


@of_each_module
def test_functions_are_simple(path: Path, tree: ast.Module) -> None:
    """A function that has become simple leaves the list of exceptions."""
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    found = {f"{name_of(path)} {node.name}" for node in functions if complexity_of(node) > MOST_COMPLEX}
    allowed = {name for names in COMPLEX.values() for name in names}
    assert found == {name for name in allowed if name.startswith(f"{name_of(path)} ")}


@of_each_module
def test_gold_is_hidden_in_one_place(path: Path, tree: ast.Module) -> None:
    hides = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} & {"bare", "spans_only"}
    assert not hides or path.name in ("data.py", "component.py"), "ask component.blind what a component may see"


def test_there_are_modules_to_look_at() -> None:
    assert len(MODULES) > 30
    assert {room_of(path) for path in MODULES} >= {
        "errors",
        "frozen",
        "data",
        "kb",
        "pipeline",
        "detect",
        "recipes",
        "cli",
    }


def loaded_by(code: str) -> set[str]:
    script = f"import sys\n{code}\nsys.stdout.write(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    return set(done.stdout.rpartition("\n")[2].split())


def test_importing_linnet_costs_next_to_nothing() -> None:
    assert not loaded_by("import linnet") & set(SLOW)
    assert not loaded_by("import linnet; dir(linnet); linnet.__version__") & set(SLOW)


def test_linking_needs_no_learning_library() -> None:
    assert not loaded_by("import linnet.recipes.config, linnet.pipeline.decide, linnet.kb.build, linnet.corpora") & {
        "sklearn",
        "torch",
    }


def test_linking_a_text_loads_little(tmp_path: Path) -> None:
    kb = build([Concept("HP:0004322", (Name("Short stature"),))], tmp_path / "small.kb")
    Dictionary(kb=kb).detect([Document.of("Fits.")])  # makes the table of names
    code = f"""
from linnet.cli.main import app
app(["link", "Short stature and seizures.", "--kb", {str(kb.path)!r}], standalone_mode=False)
"""
    ours = {name for name in loaded_by(code) if name.partition(".")[0] == "linnet"}
    assert "linnet.detect.dictionary" in ours
    assert len(ours) <= MOST_MODULES, sorted(ours)


def test_everything_public_can_be_had() -> None:
    for name in linnet.__all__:
        assert getattr(linnet, name) is not None
    assert set(dir(linnet)) == {*linnet.__all__, "__version__"}
    with pytest.raises(AttributeError, match="no attribute 'Linker'"):
        _ = linnet.Linker


# Where components are handled: what they can do is declared (`Learner`), never guessed from their attributes.
OF_PARTS = {"pipeline", "train", "detect", "retrieve", "rerank", "joint", "recipes", "fit", "scale", "cli", "bench"}
# What is asked so is no component: networks of other libraries, errors of the system, modules that are imported,
# data frames.
OTHERS = {"batch", "encoder.backbone", "encoder.backbone.config", "model", "nlp.get_pipe(name)", "os", "several"}


@of_each_module
def test_components_are_not_guessed_at(path: Path, tree: ast.Module) -> None:
    if room_of(path) not in OF_PARTS:
        return
    for node in ast.walk(tree):
        assert not (isinstance(node, ast.Attribute) and node.attr == "__dict__"), "use made_once"
        if isinstance(node, ast.Call):
            function, args = ast.unparse(node.func), [ast.unparse(one) for one in node.args]
            assert function not in ("signature", "inspect.signature"), ast.unparse(node)
            guesses = function == "hasattr" or (function == "getattr" and len(args) > 2)
            assert not guesses or args[0] in OTHERS, ast.unparse(node)
