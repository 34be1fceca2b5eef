"""The Containerfile: read, and its steps done in a folder instead of an image.

Where no container engine is, this shows that the steps of the first stage succeed, that the second starts as it says,
and that its health check agrees. It does not show that the base image has what the steps need.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from tools.packages.places import ROOT, PackageError, run, without_network

FOLDERS = ("/opt/linnet", "/var/lib/linnet", "/build")  # of the image, that stand in a folder here
PORT = "8421"
KEY = "a-key-for-the-test"


@dataclass
class Stage:
    """One stage: its base and its instructions, in order.

    Args:
        base: the image it begins with.
        name: what other stages call it.
        steps: instruction and what follows, such as ``("RUN", "python -m venv /opt/linnet")``.
    """

    base: str
    name: str = ""
    steps: list[tuple[str, str]] = field(default_factory=list)

    def told(self, instruction: str) -> list[str]:
        """Return what follows an instruction, each time that it stands here."""
        return [rest for name, rest in self.steps if name == instruction]

    def variables(self) -> dict[str, str]:
        """Return what ``ENV`` sets."""
        return dict(re.findall(r"(\w+)=(\S+)", " ".join(self.told("ENV"))))


def read(text: str) -> list[Stage]:
    r"""Return the stages of a Containerfile.

    >>> [stage] = read("FROM a:1 AS b\n# a word\nRUN one \\\n    && two\nUSER 5:5\n")
    >>> stage.base, stage.name, stage.told("RUN")
    ('a:1', 'b', ['one && two'])
    """
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    stages: list[Stage] = []
    for line in re.sub(r"\s*\\\n\s*", " ", lines).splitlines():
        instruction, _, rest = line.strip().partition(" ")
        if instruction == "FROM":
            base, _, name = rest.partition(" AS ")
            stages.append(Stage(base, name))
        elif instruction:
            stages[-1].steps.append((instruction, rest.strip()))
    return stages


def copied(stage: Stage) -> list[tuple[list[str], str]]:
    """Return what a stage copies from the working tree: names, and where to."""
    found = [rest.split() for rest in stage.told("COPY") if not rest.startswith("--from")]
    return [(words[:-1], words[-1]) for words in found]


def rehearse(python: Path, folder: Path) -> str:
    """Do what the Containerfile says, in a folder: build, start as another user, ask for its health, link a text.

    Args:
        python: stands in for that of the base image.
        folder: an empty one, that everybody may enter.

    Raises:
        PackageError: a step fails, or the server does not answer.
    """
    first, last = read((ROOT / "Containerfile").read_text(encoding="utf-8"))
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(python)
    for place in FOLDERS:
        (folder / place.strip("/")).mkdir(parents=True)
    work = folder / "build"
    for names, place in copied(first):
        for name in names:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, work / place if (ROOT / name).is_dir() else work)
    path = {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    settings = {name: here(value, folder) for name, value in first.variables().items()}
    for step in first.told("RUN"):
        run(["sh", "-ec", here(step, folder)], work, {**os.environ, **path, **settings})
    return serve(last, folder)


def here(told: str, folder: Path) -> str:
    """Return a text of the image with its folders in a folder here."""
    return re.sub("|".join(FOLDERS), lambda found: f"{folder}{found[0]}", told)


def serve(stage: Stage, folder: Path) -> str:
    """Start what the image starts, as its user where this one may, until its health check agrees; link a text."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    [entry], [command], [health] = (stage.told(name) for name in ("ENTRYPOINT", "CMD", "HEALTHCHECK"))
    words = [*json.loads(entry), *json.loads(command), "--port", port]
    asked = json.loads(health[health.index("[") :].replace(PORT, port))
    binaries = folder / "opt" / "linnet" / "bin"
    user = user_of(stage, binaries / "python")
    variables = without_network(folder)[1]
    variables.update({name: here(value, folder) for name, value in stage.variables().items()})
    variables["LINNET_API_KEYS"] = KEY
    with (folder / "log").open("wb") as log:
        running = subprocess.Popen(
            [binaries / words[0], *words[1:]], cwd=folder, env=variables, stdout=log, stderr=log, user=user,
            extra_groups=None if user is None else [],
        )  # fmt: skip
    try:
        until = time.monotonic() + 120
        while subprocess.run([binaries / asked[0], *asked[1:]], capture_output=True, check=False).returncode:
            if running.poll() is not None or time.monotonic() > until:
                raise PackageError(f"the container does not start:\n{(folder / 'log').read_text(encoding='utf-8')}")
            time.sleep(0.2)
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/link", b'{"text": "Short stature."}', {"Authorization": f"Bearer {KEY}"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            if b"HP:0004322" not in answer.read():
                raise PackageError("the container does not find short stature")
    finally:
        running.terminate()
        running.wait()
    served = "served" if user is None else f"served as user {user}"
    return f"Containerfile: its steps done without an engine, {served}, healthy, linked"


def user_of(stage: Stage, python: Path) -> int | None:
    """Return the user of a stage, None if this one cannot become another or that one may not run this Python."""
    if os.geteuid() != 0:
        return None
    user = int(stage.told("USER")[-1].partition(":")[0])
    try:
        done = subprocess.run(
            [python, "-c", ""], user=user, group=user, extra_groups=[], capture_output=True, check=False
        )
    except PermissionError:
        return None
    return None if done.returncode else user
