"""Tools for language models by the Model Context Protocol: link a text, search, look up a concept, walk the hierarchy.

All of them read only. What goes in and out is bounded, so that neither a long note nor a broad query floods a model.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar

from pydantic import BaseModel, Field

from linnet import __version__
from linnet.corpora.said import said
from linnet.errors import LinnetError, MissingExtraError
from linnet.kb import KnowledgeBase
from linnet.kb.file import state_of
from linnet.kb.paths import path_between, path_up
from linnet.pipeline import Pipeline
from linnet.retrieve import similar

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

__all__ = ["ConceptFound", "Found", "HitFound", "Linked", "MentionFound", "Step", "Way", "make_server", "serve"]

LONGEST_TEXT = 50_000  # characters of one text
LONGEST_QUERY = 500
MOST_HITS = 50
MOST_MENTIONS = 500
MOST_LISTED = 50  # names, parents, children and cross-references of a concept

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

Text = Annotated[str, Field(description="The text, as it is.", max_length=LONGEST_TEXT)]
Query = Annotated[str, Field(description="A name, its beginning, words of it, or an id.", max_length=LONGEST_QUERY)]
Id = Annotated[str, Field(description="The id of a concept, such as HP:0001250.", max_length=LONGEST_QUERY)]
Limit = Annotated[int, Field(description="How many at most.", ge=1, le=MOST_HITS)]
Ids = Annotated[list[str], Field(description="Only these concepts and what is below them.", max_length=MOST_LISTED)]
Types = Annotated[list[str], Field(description="Only concepts of one of these types.", max_length=MOST_LISTED)]


class Step(BaseModel):
    """A concept by id and preferred name."""

    id: str
    name: str


class MentionFound(BaseModel):
    """A mention, as offsets in code points, and the concepts that it was linked to: none where nothing fits.

    ``probability`` is how often such answers are right if ``calibrated``; else it only ranks them. ``assertion`` says
    whether the text affirms it, negates it, speaks of a relative, or says "family (denied)" that no
    relative has it …; empty if nobody looked. ``parts`` are the stretches of a mention that lies in several, such as
    *breast cancer* in *breast and ovarian cancer*: its ``text`` is theirs.
    """

    start: int
    end: int
    text: str
    parts: list[tuple[int, int]] = []
    concepts: list[Step]
    probability: float | None = None
    calibrated: bool = False
    assertion: str = ""


class Linked(BaseModel):
    """What was found in a text; ``left_out`` counts mentions beyond the limit."""

    terminology: str
    mentions: list[MentionFound]
    left_out: int = 0


class HitFound(Step):
    """A concept, the name of it that matched, and by what."""

    matched: str
    by: str


class Found(BaseModel):
    """Concepts for a query, best first."""

    hits: list[HitFound]


class ConceptFound(Step):
    """A concept; of long lists the first entries, with ``children_count`` the number of all children."""

    names: list[str]
    types: list[str]
    definition: str
    parents: list[Step]
    children: list[Step]
    children_count: int
    xrefs: list[str]


class Way(BaseModel):
    """A way through the hierarchy; ``top`` is the highest concept on it. Empty if two concepts have none in common."""

    steps: list[Step]
    top: Step | None = None


class _Tools:
    """What the tools do; one text is linked at a time."""

    def __init__(self, pipeline: Pipeline, kb: KnowledgeBase) -> None:
        self.pipeline, self.kb, self.lock = pipeline, kb, threading.Lock()
        self._state = state_of(kb.path)

    def follow_edits(self) -> None:
        """Open the knowledge base again if it was edited: one that is open answers nothing any more.

        Raises:
            KnowledgeBaseError: it is gone, or another one.
        """
        with self.lock:
            if (state := state_of(self.kb.path)) != self._state:
                edited = KnowledgeBase.open(self.kb.path)
                self.pipeline, self.kb, self._state = self.pipeline.rebound(edited), edited, state

    def link(self, text: Text) -> Linked:
        """Find the mentions of concepts in a text and link each to the terminology."""
        with self.lock:
            [doc] = self.pipeline(text)
        found = [
            MentionFound(
                start=mention.start,
                end=mention.end,
                text=doc.surface(mention),
                parts=[(start, end) for start, end in mention.parts],
                concepts=[Step(id=id, name=self.kb[id].name) for id in mention.concepts or ()],
                probability=mention.probability,
                calibrated=bool(mention.calibration),
                assertion=said(mention),
            )
            for mention in (doc.mentions or ())[:MOST_MENTIONS]
        ]
        return Linked(terminology=self.kb.info["name"], mentions=found, left_out=len(doc.mentions or ()) - len(found))

    def search(self, query: Query, types: Types = [], under: Ids = [], limit: Limit = 10) -> Found:  # noqa: B006 - read
        """Search concepts of the terminology by name, beginning of a name, words, or id; else similar names."""
        hits = similar.search(self.kb, query, types=types, under=under, limit=limit)
        return Found(hits=[HitFound(id=hit.id, name=hit.name, matched=hit.matched, by=hit.tier) for hit in hits])

    def concept(self, id: Id) -> ConceptFound:
        """Return one concept: names, definition, types, parents, children, identifiers in other terminologies."""
        concept, row = self.kb[id], self.kb.row(id)
        children = self.kb.children(row).tolist()
        return ConceptFound(
            id=concept.id,
            name=concept.name,
            names=[name.text for name in concept.names[:MOST_LISTED]],
            types=list(concept.types),
            definition=concept.definition,
            parents=self._steps(self.kb.parents(row).tolist()[:MOST_LISTED]),
            children=self._steps(children[:MOST_LISTED]),
            children_count=len(children),
            xrefs=list(concept.xrefs[:MOST_LISTED]),
        )

    def path(self, id: Id, to: Annotated[str, Field(max_length=LONGEST_QUERY)] = "") -> Way:
        """Return the shortest way up from a concept to a root, or, with `to`, over a common ancestor to another one."""
        start = self.kb[id].id
        way = path_up(self.kb, self.kb.row(start))
        if to:
            way_between = path_between(self.kb, self.kb.row(start), self.kb.row(self.kb[to].id))
            if way_between is None:
                return Way(steps=[])
            way = way_between
        steps = self._steps(way.rows)
        return Way(steps=steps, top=steps[way.top])

    def _steps(self, rows: Iterable[int]) -> list[Step]:
        concepts = (self.kb[row] for row in rows)
        return [Step(id=concept.id, name=concept.name) for concept in concepts]


def make_server(pipeline: Pipeline) -> MCPServer[Any]:
    """Return a server of the tools ``link``, ``search``, ``concept`` and ``path`` over a pipeline and its terminology.

    Raises:
        MissingExtraError: the extra ``mcp`` is not installed.
        LinnetError: the pipeline links to no knowledge base, or needs mentions that a text does not have.
    """
    try:
        from mcp.server.mcpserver import MCPServer  # noqa: PLC0415 - an extra, and slow to import
        from mcp_types import ToolAnnotations  # noqa: PLC0415 - as above
    except ImportError as error:
        raise MissingExtraError("mcp", extra="mcp", wanted_by="linnet mcp") from error
    if pipeline.kb is None:
        raise LinnetError("linnet mcp: the pipeline links to no knowledge base")
    if "mentions" in pipeline.needs:
        raise LinnetError(f"linnet mcp: {pipeline!r} only links given mentions; take a pipeline that finds them")
    info = pipeline.kb.info
    server: MCPServer[Any] = MCPServer(
        "linnet",
        version=__version__,
        instructions=(
            f"Links biomedical text to {info['name']} ({info['concepts']} concepts). What it marks is not what a "
            "patient has: see the assertion of each mention. Probabilities that are not calibrated only rank answers."
        ),
        log_level="WARNING",
    )
    tools = _Tools(pipeline, pipeline.kb)
    reads = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    for tool in (tools.link, tools.search, tools.concept, tools.path):
        server.add_tool(_told(tool, tools.follow_edits), annotations=reads, structured_output=True)
    return server


def _told(tool: Callable[Given, Answer], prepare: Callable[[], None]) -> Callable[Given, Answer]:
    """Return a tool whose errors reach the model, which can mend them: other exceptions stay on the server.

    Each time it is called, `prepare` is called before it.
    """
    from mcp.server.mcpserver.exceptions import ToolError  # noqa: PLC0415 - of the extra

    @functools.wraps(tool)
    def call(*args: Given.args, **keywords: Given.kwargs) -> Answer:
        try:
            prepare()
            return tool(*args, **keywords)
        except LinnetError as error:
            raise ToolError(str(error)) from error

    return call


def serve(pipeline: Pipeline) -> None:
    """Answer on standard input and output until the input ends."""
    make_server(pipeline).run("stdio")
