"""A pipeline that runs on a linking server (``linnet serve --link``): ``linnet.load("http://host:8421")``.

It is called as one that runs here, and gives the same documents. Candidates have ids instead of rows, as in a file,
unless the knowledge base is here too (``kb=``).
"""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from linnet.codec import from_json, to_json
from linnet.data import Document, Mention
from linnet.errors import PipelineError
from linnet.kb import KnowledgeBase
from linnet.pipeline.allow import Allow
from linnet.pipeline.component import Texts, batches
from linnet.pipeline.learner import made_once
from linnet.pipeline.pipeline import Pipeline, Stage
from linnet.pipeline.remote_http import RemoteError, Service

__all__ = ["KEY", "Remote", "RemotePipeline", "load_remote"]

KEY = "LINNET_API_KEY"
FIRST = 15.0  # seconds that a server may take to begin: one that was never there is not waited for as one that was


def load_remote(address: str, *, kb: KnowledgeBase | None = None, api_key: str | None = None) -> RemotePipeline:
    """Return a pipeline of a server.

    Args:
        address: of the server; behind ``#`` the name of one of its pipelines, the first one without.
        kb: the knowledge base of that pipeline, if it is here too.
        api_key: of this client; None takes the environment variable LINNET_API_KEY.

    Raises:
        RemoteError: it does not answer, wants a key, or has no such pipeline.
    """
    url, _, name = address.partition("#")
    key = os.environ.get(KEY, "") if api_key is None else api_key
    return RemotePipeline(Remote(url.rstrip("/"), urllib.parse.unquote(name), key, kb), name=address)


@dataclass
class Remote(Stage):
    """Links on a server.

    Args:
        url: of the server.
        pipeline: a name that it lists, "" for the first one.
        api_key: of this client; written into no file.
        kb: the knowledge base of the pipeline, if it is here: candidates have its rows then.
        timeout: seconds without a byte of an answer.
        patience: seconds for a request with all its tries.
        batch: documents of one request.
    """

    url: str
    pipeline: str = ""
    api_key: str = field(default="", repr=False)
    kb: KnowledgeBase | None = field(default=None, repr=False)
    timeout: float = 90.0
    patience: float = 180.0
    batch: int = 64

    @made_once
    def service(self) -> Service:
        """What asks the server."""
        return Service(self.url, self.api_key, timeout=self.timeout, patience=self.patience)

    @made_once
    def described(self) -> dict[str, Any]:
        """What the server says of the pipeline."""
        told = self.service.ask("GET", "/pipelines", patience=FIRST)
        found = told.get("pipelines") if isinstance(told, dict) else None
        if found is None:
            raise RemoteError(f"{self.url} lists no pipelines: is it a linking server?")
        names = [one["name"] for one in found]
        if not found or self.pipeline not in ("", *names):
            raise RemoteError(f"{self.url} has no pipeline {self.pipeline!r}; it has: {', '.join(names) or 'none'}")
        made: dict[str, Any] = next(one for one in found if self.pipeline in ("", one["name"]))
        return made

    @made_once
    def known(self) -> dict[str, str]:
        """Preferred names of concepts that answers had, by id."""
        return {}

    @property
    def needs(self) -> frozenset[str]:
        """What documents must have."""
        return frozenset(self.described["needs"])

    @property
    def gives(self) -> frozenset[str]:
        """What documents have afterwards."""
        return frozenset(self.described["gives"])

    def config(self) -> dict[str, Any]:
        """Return the keywords that make this component again, but for the key, which is a secret."""
        return {name: value for name, value in super().config().items() if name != "api_key"}

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:
        """Return the documents as the server links them.

        Raises:
            RemoteError: it refuses them, or does not answer.
        """
        conditions = {} if allow is None else {"allow": _conditions(allow)}
        named = {"pipeline": self.described["name"], **conditions}
        made: list[Document] = []
        for some in batches(docs, self.batch):
            answer = self.service.ask("POST", "/link", {"documents": [to_json(doc, self.kb) for doc in some], **named})
            self.known.update(answer["names"])
            made += [from_json(value, self.kb) for value in answer["documents"]]
        return made

    def name_of(self, id: str) -> str:
        """Return the preferred name of a concept, its id if the server does not know it."""
        if id not in self.known:
            query = urllib.parse.urlencode({"pipeline": self.described["name"]})
            try:
                answer = self.service.ask("GET", f"/concepts/{urllib.parse.quote(id, safe='')}?{query}")
                self.known[id] = answer["name"]
            except RemoteError as error:
                if error.status != 404:
                    raise
                self.known[id] = id
        return self.known[id]


def _conditions(allow: Allow) -> dict[str, list[str]]:
    """Return conditions as a server takes them.

    Raises:
        PipelineError: conditions for mentions of a type, or several at once.
    """
    if allow.by_type or allow.also:
        raise PipelineError("a server takes types, ids and under, once each: link with other conditions here")
    values = {"types": allow.types, "ids": allow.ids, "under": allow.under}
    return {name: list(value) for name, value in values.items() if value is not None}


class RemotePipeline(Pipeline):
    """A pipeline of a server, in the place of one that runs here; ``link(docs)`` is another name of calling it."""

    def __init__(self, remote: Remote, *, name: str = "") -> None:
        super().__init__(remote, name=name or remote.url, kb=remote.kb)
        self._remote = remote

    def link(self, docs: Texts, /, *, allow: Allow | None = None) -> list[Document]:
        """Return documents or texts, one or several, as documents that the server has linked."""
        return self(docs, allow=allow)

    def names(self, mention: Mention) -> tuple[str, ...]:
        """Return the preferred name of each concept of a mention, the id of one that the server does not know."""
        return tuple(self._remote.name_of(id) for id in mention.concepts or ())

    def close(self) -> None:
        """Close the connection of this thread; the next call opens one."""
        self._remote.service.close()
