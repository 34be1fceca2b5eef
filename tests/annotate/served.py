"""``linnet serve`` as a process, and requests to it as any client sends them."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from linnet.annotate.api.access import PREFIX
from linnet.data import Concept, Name
from linnet.kb import KnowledgeBase


@contextmanager
def serving(folder: Path | None, *options: str, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    """Run the command; yield the process, its port, and the secret of the link, if it printed one.

    Without a folder none is named; without options it has no worker beside it; without a port the system gives one.
    """
    command = [
        sys.executable,
        "-m",
        "linnet",
        "serve",
        *([] if folder is None else ["--data", str(folder)]),
        "--port",
        str(port),
        *(options or ["--no-worker"]),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert process.stdout is not None
    try:
        first = process.stdout.readline()
        found = re.search(r"#link=(\S+)", first)
        port = int((process.stdout.readline() if found else first).rpartition(":")[2])
        assert ask(port, "GET", "/ping")["linnet"]
        yield process, port, found[1] if found else ""
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def ask(port: int, method: str, path: str, body: Any = None, **headers: str) -> Any:
    """Send a request, and return the answer, None of an empty one, with the cookie if it sets one."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    sent = None if body is None else json.dumps(body)
    connection.request(method, PREFIX + path, sent, {"Content-Type": "application/json", **headers})
    answer = connection.getresponse()
    content = json.loads(answer.read() or "null")
    cookie = (answer.getheader("Set-Cookie") or "").partition(";")[0]
    connection.close()
    return {**content, "cookie": cookie} if cookie else content


def make_hpo(kb: KnowledgeBase, home: Path) -> None:
    """Copy a small knowledge base into a LINNET_HOME as ``hpo``, with the concepts that the recipe of letters names."""
    (home / "kb").mkdir()
    path = Path(shutil.copy(kb.path, home / "kb" / "hpo.kb"))
    with KnowledgeBase.edit(path) as change:
        for id, name in (("HP:0002686", "Prenatal maternal abnormality"), ("HP:0034241", "Prenatal death")):
            change.add(Concept(id, (Name(name),)))
