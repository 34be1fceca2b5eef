"""``make sbom``: what an installed Linnet consists of, as CycloneDX: without extras, and with all that go together.

Each list is of an environment that is made from the wheel in ``dist/`` and the versions of constraints.txt, and has
names, versions and licences of what was installed, and who needs whom. Needs `make dist` before it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tools.packages.contents import pyproject
from tools.packages.places import ROOT, PackageError, make_environment, pip_into, run

APART = ("dev", "flair")  # tools of development; what needs another version of transformers than the others


def main() -> int:
    """Write both lists into ``dist/``."""
    wheels = sorted((ROOT / "dist").glob("linnet-*.whl"))
    if len(wheels) != 1:
        sys.stderr.write("dist/ holds no wheel, or several: run make dist\n")
        return 1
    extras = [name for name in pyproject(ROOT)["project"]["optional-dependencies"] if name not in APART]
    try:
        for kind, wanted in (("core", ""), ("extras", f"[{','.join(extras)}]")):
            sys.stdout.write(f"{describe(wheels[0], kind, wanted)}\n")
    except PackageError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def describe(wheel: Path, kind: str, wanted: str) -> str:
    """Install the wheel with extras and write the list of what is there; return a line for the report."""
    output = wheel.with_name(f"{wheel.name.removesuffix('-py3-none-any.whl')}.{kind}.cdx.json")
    with tempfile.TemporaryDirectory() as made:
        python = make_environment(Path(sys.executable), Path(made) / "environment")
        pip_into(python, "--constraint", ROOT / "constraints.txt", f"{wheel}{wanted}")
        run(
            [
                Path(sys.executable).parent / "cyclonedx-py", "environment", "--output-reproducible", "--validate",
                "--pyproject", ROOT / "pyproject.toml", "--mc-type", "application", "--output-file", output, python,
            ],
            ROOT,
        )  # fmt: skip
    told = json.loads(output.read_text(encoding="utf-8"))
    told["metadata"]["component"]["version"] = wheel.name.split("-")[1]  # which pyproject.toml leaves to the code
    output.write_text(json.dumps(told, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    components = told["components"]
    without = sorted(one["name"] for one in components if not one.get("licenses"))
    rest = f"; without a licence in their metadata: {', '.join(without)}" if without else ""
    return f"{output.relative_to(ROOT)}: {len(components)} components{rest}"


if __name__ == "__main__":
    sys.exit(main())
