"""Ask the workbench what its description allows and what not: ``python -m tools.fuzz_api`` (``make fuzz-api``).

Schemathesis, which lives in an environment of its own, reads the OpenAPI description of a server that is started here,
with a project in it, and sends it requests as an administrator. No answer may be a mistake of the server's (5xx), of a
status or type that the description does not name, or of another shape than it says. Exit status 1 otherwise.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from linnet.annotate.acts import Command
from linnet.annotate.assignments import assign
from linnet.annotate.commands import apply
from linnet.annotate.runs import add_predictions, end_run, start_run
from linnet.annotate.store import open_store
from linnet.bench.serve_site import add_members, add_place, serving
from linnet.data import Concept, Document, Mention, Name
from linnet.home import kb_path
from linnet.kb.build import build

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
TEXT = "Seizures 🧠 and fits. Short stature."
CONCEPTS = (
    Concept("X:1", (Name("Seizure"), Name("Fits")), ("Phenotype",)),
    Concept("X:2", (Name("Short stature"),), ("Phenotype",), parents=("X:1",)),
)
HOOKS = """
import schemathesis

@schemathesis.serializer("application/x-ndjson")
def write(context, value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
"""
GONE = 4711  # a number that nothing has
PLACES = """
[parameters]
"path.project" = [1, 2, {gone}]
"path.document" = [1, 2, {gone}]
"path.assignment" = [1, 2, {gone}]
"path.job" = [1, {gone}]
"path.kb" = ["x", "{version}", "none"]
"path.version" = ["{version}", "none"]
"path.concept" = ["X:1", "X:2", "X:9"]
"path.format" = ["jsonl", "pubtator", "bioc", "brat", "none"]
"""
LEFT_OUT = (
    "GET /api/v1/projects/{project}/stream",  # never ends
    "DELETE /api/v1/tokens/{token}",  # the one that all is asked with
    "PATCH /api/v1/me",
)


def make_site(folder: Path) -> tuple[str, str]:
    """Put a project and one to be spoilt into a folder, and return a token and the version of the knowledge base."""
    path = kb_path("x")
    path.parent.mkdir(parents=True, exist_ok=True)
    kb = build(CONCEPTS, path)
    version = kb.version
    kb.close()
    members = add_members(folder, 3, "member")
    docs = [Document("note-1", TEXT), Document("note-2", TEXT, mentions=(Mention(0, 8, source="gold"),))]
    for name in ("kept", "other"):
        place = add_place(folder, name, members, "x", docs)
    store = open_store(folder)
    with store.write() as db:
        run = start_run(db, 1)
        add_predictions(
            db, run, 1, Document("d", TEXT, mentions=(Mention(15, 19, concepts=("X:1",), probability=0.5),))
        )
        end_run(db, run)
        streams = [assign(db, id, place.admin.user) for id in (1, 2)]
    create = Command.model_validate({"id": "c-1", "op": "create", "parts": [[0, 8]], "concepts": ["X:1"]})
    apply(store, streams[0], place.admin.user, [create], 0)
    store.close()
    return members[0].token, version


def main(arguments: Sequence[str]) -> int:
    """Start a server, have it fuzzed, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--with", dest="program", default="schemathesis", help="the program of Schemathesis")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=13, help="another seed is other requests")
    parser.add_argument("--phases", default="examples,coverage,fuzzing")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="linnet-fuzz-api-") as folder:
        os.environ["LINNET_HOME"] = str(Path(folder, "home"))
        token, version = make_site(Path(folder, "site"))
        config = Path(folder, "schemathesis.toml")
        config.write_text(PLACES.format(gone=GONE, version=version))
        with serving(Path(folder, "site"), "--no-worker") as (port, _):
            command = [options.program, "--config-file", str(config), "run"]
            command += [f"http://127.0.0.1:{port}/api/v1/openapi.json", "-H", f"Authorization: Bearer {token}"]
            command += ["-c", CHECKS, "--max-time", str(options.seconds), "--seed", str(options.seed)]
            command += ["--phases", options.phases, "--warnings", "off", "--continue-on-failure"]
            for left_out in LEFT_OUT:
                command += ["--exclude-name", left_out]
            Path(folder, "linnet_hooks.py").write_text(HOOKS)
            env = {**os.environ, "SCHEMATHESIS_HOOKS": "linnet_hooks", "PYTHONPATH": folder}
            return subprocess.run(command, check=False, env=env).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
