"""Try whether the tests notice when the core is broken: ``python tests/mutants.py [NUMBER…]``.

Each mutant is one small change of one file of a copy of the sources; the tests named with it are run on that copy and
must fail. Exit status 1 and a line ``survived`` for every change that no test noticed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Mutant(NamedTuple):
    """One change: in `file` the only occurrence of `old` becomes `new`; `tests` must notice."""

    file: str
    old: str
    new: str
    tests: str


MUTANTS = (
    Mutant("errors.py", "if count != 1 else", "if count == 1 else", "tests/test_errors.py"),
    Mutant(
        "errors.py",
        "return _format_error, (self.path, self.problem, self.line)",
        "return FormatError, (self.path, self.problem)",
        "tests/test_errors.py",
    ),
    Mutant(
        "data.py",
        "np.lexsort((self.rows, -self.scores))",
        "np.argsort(-self.scores)[::1] if len(self) > 3 else np.lexsort((-self.rows, -self.scores))",
        "tests/test_data.py",
    ),
    Mutant(
        "data.py", "if not 0 <= self.start < self.end:", "if not 0 <= self.start <= self.end:", "tests/test_data.py"
    ),
    Mutant("data.py", "(m.start, -m.end, m.parts, m.id)", "(m.start, m.end, m.parts, m.id)", "tests/test_data.py"),
    Mutant("data.py", "any(a[1] > b[0] for", "any(a[1] >= b[0] for", "tests/test_data.py"),
    Mutant("codec.py", "if mention.end > len(doc.text):", "if mention.end >= len(doc.text):", "tests/test_codec.py"),
    Mutant("codec.py", 'return "" if text == UNCALIBRATED else text', "return text", "tests/test_codec.py"),
    Mutant("kb.py", "WHERE id = ? AND NOT retired", "WHERE id = ?", "tests/test_kb.py"),
    Mutant("kb_file.py", "    if size < expected and", "    if size < expected - 1 and", "tests/test_kb.py"),
    Mutant(
        "kb.py",
        "if not retired[0] or retired[0] in seen:",
        "if not retired[0] and retired[0] in seen:",
        "tests/test_kb.py",
    ),
    Mutant(
        "kb.py",
        "return Mask(self.array & other.array, self.kb)",
        "return Mask(self.array | other.array, self.kb)",
        "tests/test_kb.py",
    ),
    Mutant("kb_build.py", "HAVING count(*) > 1 ORDER BY", "HAVING count(*) >= 1 ORDER BY", "tests/test_kb_build.py"),
    Mutant(
        "kb_build.py",
        "            made.replace(path)",
        "            path.write_bytes(made.read_bytes())",
        "tests/test_kb_build.py",
    ),
    Mutant(
        "kb_build.py",
        "component[edges[:, 0]] == component[edges[:, 1]]",
        "component[edges[:, 0]] < component[edges[:, 1]]",
        "tests/test_kb_build.py",
    ),
    Mutant(
        "kb_file.py", "            row,\n            concept.id,", "            concept.id,", "tests/test_kb_build.py"
    ),
    Mutant("kb_build.py", '"ORDER BY s.rowid"', '"ORDER BY c.row"', "tests/test_kb_build.py"),
    Mutant("kb_edit.py", "into = [row for row in new if row != child]", "into = new", "tests/test_kb_edit.py"),
    Mutant("kb_edit.py", "into = over if rows.circle(child, target) else", "into =", "tests/test_kb_edit.py"),
    Mutant("kb_rows.py", "same.sort(reverse=True)", "same.sort()", "tests/test_kb_edit.py"),
    Mutant("kb.py", "!= self._local.moves", "== -1", "tests/test_kb_edit.py"),
    Mutant("kb_search.py", '"badness, scope, position > 0,', '"badness, position > 0,', "tests/test_kb_search.py"),
    Mutant("kb_search.py", "if len(hits) >= limit:", "if len(hits) > limit:", "tests/test_kb_search.py"),
    Mutant("roles.py", "(m.id, m.spans) if m.id else None", "m.spans", "tests/test_pipeline.py"),
    Mutant(
        "roles.py",
        "return mask & functools.reduce(Mask.__or__, special)",
        "return mask & functools.reduce(Mask.__and__, special)",
        "tests/retrieve/test_exact.py",
    ),
    Mutant("roles.py", 'if mention.source != "pred"]', 'if mention.source == "gold"]', "tests/test_pipeline.py"),
    Mutant("roles.py", "        if mention.spans not in taken:", "        if mention.spans:", "tests/test_pipeline.py"),
    Mutant("fusion.py", "np.arange(1, len(some) + 1))", "np.arange(len(some)))", "tests/test_fusion.py"),
    Mutant("pipeline.py", "needed |= part.needs - have", "needed |= part.needs", "tests/test_pipeline.py"),
    Mutant(
        "decide.py",
        "nil = row < 0 or probability < self.threshold",
        "nil = row < 0 or probability <= self.threshold",
        "tests/test_decide.py",
    ),
    Mutant("decide.py", "nil = row < 0 or probability", "nil = row <= 0 or probability", "tests/test_decide.py"),
    Mutant(
        "decide.py",
        "probability=1.0 - probability if nil and row >= 0",
        "probability=1.0 - probability if nil or row >= 0",
        "tests/test_decide.py",
    ),
    Mutant(
        "decide.py", '"given-span" if given else "joint"', '"joint" if given else "given-span"', "tests/test_decide.py"
    ),
    Mutant("decide.py", "score > best[row][0]", "score < best[row][0]", "tests/test_decide.py"),
    Mutant("evaluate/pairing.py", "id if row is None else kb.id(row)", "id", "tests/evaluate/test_linked.py"),
    Mutant("evaluate/places.py", "& (code < target))", "& (code > target))", "tests/evaluate/test_linked.py"),
    Mutant("evaluate/linking.py", "found & (rank <= k)", "found & (rank < k)", "tests/evaluate/test_linking.py"),
    Mutant(
        "evaluate/uncertainty.py",
        "tail = bdtr(min(only_one, only_other)",
        "tail = bdtr(max(only_one, only_other)",
        "tests/evaluate/test_uncertainty.py",
    ),
    Mutant(
        "evaluate/calibration.py",
        "np.arange(bins + 1) * len(probability) // bins",
        "np.arange(bins) * len(probability) // bins",
        "tests/evaluate/test_calibration.py",
    ),
    Mutant("evaluate/measures.py", "2 * first * second", "first * second", "tests/evaluate/test_measures.py"),
    Mutant(
        "retrieve/ngram_index.py",
        "if names is None else names[mask.array[self.concepts[names]]]",
        "if names is None else names",
        "tests/retrieve/test_ngram_index.py",
    ),
    Mutant(
        "config.py",
        'if recipe.kb_version not in ("", opened.version):',
        'if recipe.kb_version == "":',
        "tests/test_config.py",
    ),
)


def caught(mutant: Mutant, source: Path) -> bool:
    """Return whether the tests fail with the change made in the copy `source`."""
    path = source / "linnet" / mutant.file
    before = path.read_text(encoding="utf-8")
    if before.count(mutant.old) != 1:
        raise SystemExit(f"{mutant.file}: {mutant.old!r} stands there {before.count(mutant.old)} times, not once")
    path.write_text(before.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        return not passes([mutant.tests], source)
    finally:
        path.write_text(before, encoding="utf-8")


def passes(tests: list[str], source: Path) -> bool:
    """Return whether `tests` pass with the copy `source`."""
    # an editable installation is found behind PYTHONPATH, so the copy is what the tests import
    search = os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": search}, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"pytest could not run:\n{done.stdout}{done.stderr}")
    return done.returncode == 0


def main(numbers: list[str]) -> int:
    """Try all mutants, or those of the given numbers."""
    survived = 0
    with tempfile.TemporaryDirectory() as folder:
        for part in ("src", "recipes"):
            shutil.copytree(ROOT / part, Path(folder) / part, ignore=shutil.ignore_patterns("__pycache__"))
        source = Path(folder) / "src"
        if not passes(sorted({mutant.tests for mutant in MUTANTS}), source):
            raise SystemExit("the tests fail without any change: mend that first")
        for number, mutant in enumerate(MUTANTS):
            if numbers and str(number) not in numbers:
                continue
            fate = "caught" if caught(mutant, source) else "SURVIVED"
            survived += fate == "SURVIVED"
            sys.stdout.write(f"{number:3} {fate:9}{mutant.file:20} {mutant.old.strip()[:70]!r}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{survived} survived\n")
    return 1 if survived else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
