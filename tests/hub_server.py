"""A Hub on this machine: what of Hugging Face's HTTP interface `huggingface_hub` uses to push and pull."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

TOKEN = "hf_of_the_test"
SMALL = 2000  # bytes; larger files go the way of git LFS


@dataclass
class Repository:
    private: bool
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)  # commit -> files, oldest first
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def head(self) -> str:
        return list(self.commits)[-1]

    def commit(self, files: dict[str, bytes]) -> str:
        told = json.dumps(
            [len(self.commits), sorted((name, hashlib.sha1(data).hexdigest()) for name, data in files.items())]
        )
        sha = hashlib.sha1(told.encode()).hexdigest()
        self.commits[sha] = files
        return sha

    def find(self, revision: str) -> str | None:
        sha = self.head if revision == "main" else self.tags.get(revision, revision)
        return sha if sha in self.commits else None


class Hub(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.repositories: dict[tuple[str, str], Repository] = {}  # (models or datasets, id)
        self.stored: dict[str, bytes] = {}  # of LFS, by SHA-256
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _answer(self, body: object, status: int = 200, **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        if self.command != "HEAD":
            self.wfile.write(data)

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            whole = b""
            while size := int(self.rfile.readline(), 16):
                whole += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return whole
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    @property
    def _known(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def _repository(self, kind: str, id: str) -> Repository | None:
        """Return a repository that the asker may see, or answer that there is none."""
        found = self.server.repositories.get((kind, id))
        if found is None or (found.private and not self._known):
            self._answer({"error": "Repository not found"}, 404 if self._known else 401, X_Error_Code="RepoNotFound")
            return None
        return found

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.server.asked.append(f"{self.command} {path}")
        if match := re.fullmatch(r"/api/(models|datasets)/([^/]+/[^/]+)(?:/revision/(.+))?", path):
            self._info(match[1], match[2], match[3] or "main")
        elif match := re.fullmatch(r"(/datasets)?/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            self._file("datasets" if match[1] else "models", *match.groups()[1:])
        else:
            self._answer({"error": "no such page"}, 404)

    def do_HEAD(self) -> None:
        self.do_GET()

    def _info(self, kind: str, id: str, revision: str) -> None:
        if (found := self._repository(kind, id)) is None:
            return
        if (sha := found.find(revision)) is None:
            self._answer({"error": "Revision not found"}, 404, X_Error_Code="RevisionNotFound")
            return
        siblings = [{"rfilename": name} for name in found.commits[sha]]
        self._answer({"id": id, "sha": sha, "private": found.private, "siblings": siblings, "tags": [], "downloads": 0})

    def _file(self, kind: str, id: str, revision: str, name: str) -> None:
        if (found := self._repository(kind, id)) is None:
            return
        sha = found.find(revision)
        if sha is None or name not in found.commits[sha]:
            self._answer({"error": "Entry not found"}, 404, X_Error_Code="EntryNotFound", X_Repo_Commit=sha or "")
            return
        data = found.commits[sha][name]
        self._answer(data, ETag=f'"{hashlib.sha256(data).hexdigest()}"', X_Repo_Commit=sha)

    def do_POST(self) -> None:
        path = unquote(urlsplit(self.path).path)
        body = self._body()
        self.server.asked.append(f"POST {path}")
        if path == "/api/validate-yaml":
            import yaml  # type: ignore[import-untyped] # comes with the client

            front = json.loads(body)["content"].split("---")[1]
            self._answer({"errors": [], "warnings": [], "read": yaml.safe_load(front)})
        elif not self._known:
            self._answer({"error": "Invalid username or password."}, 401)
        elif path == "/api/repos/create":
            self._create(json.loads(body))
        elif match := re.fullmatch(r"/api/(models|datasets)/([^/]+/[^/]+)/(preupload|commit)/(.+)", path):
            place = ("datasets/" if match[1] == "datasets" else "") + match[2]
            if (found := self._repository(match[1], match[2])) is not None:
                self._preupload(json.loads(body)) if match[3] == "preupload" else self._commit(found, body, place)
        elif path.endswith(".git/info/lfs/objects/batch"):
            objects = [self._place(one) for one in json.loads(body)["objects"]]
            self._answer({"transfer": "basic", "objects": objects})
        else:
            self._answer({"error": "no such page"}, 404)

    def _create(self, wanted: dict[str, Any]) -> None:
        id = f"{wanted.get('organization') or 'me'}/{wanted['name']}"
        key = (f"{wanted.get('type') or 'model'}s", id)
        if key in self.server.repositories:
            self._answer({"error": "You already created this model repo", "url": f"{self.server.url}/{id}"}, 409)
            return
        private = bool(wanted.get("private")) or wanted.get("visibility") == "private"
        made = self.server.repositories[key] = Repository(private)
        made.commit({".gitattributes": b""})
        self._answer({"url": f"{self.server.url}/{id}"})

    def _preupload(self, wanted: dict[str, Any]) -> None:
        modes = {one["path"]: "lfs" if one["size"] > SMALL else "regular" for one in wanted["files"]}
        files = [{"path": path, "uploadMode": mode, "shouldIgnore": False} for path, mode in modes.items()]
        self._answer({"files": files})

    def _place(self, wanted: dict[str, Any]) -> dict[str, Any]:
        href = f"{self.server.url}/lfs/{wanted['oid']}"
        return {**wanted, "authenticated": True, "actions": {"upload": {"href": href}}}

    def do_PUT(self) -> None:
        data = self._body()
        self.server.stored[hashlib.sha256(data).hexdigest()] = data
        self._answer({})

    def _commit(self, found: Repository, body: bytes, place: str) -> None:
        files = dict(found.commits[found.head])
        for line in body.splitlines():
            what, value = (entry := json.loads(line))["key"], entry["value"]
            if what == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif what == "lfsFile":
                files[value["path"]] = self.server.stored[value["oid"]]
            elif what == "deletedFile":
                files.pop(value["path"])
        sha = found.commit(files)
        self._answer({"commitUrl": f"{self.server.url}/{place}/commit/{sha}", "commitOid": sha, "hookOutput": ""})


@contextmanager
def hub() -> Iterator[Hub]:
    with Hub() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
