"""The tools for language models, asked by the official client over a real process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.data import Concept, Name
from linnet.errors import LinnetError
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Pipeline
from linnet.pipeline.decide import Decide
from linnet.recipes.config import load
from linnet.retrieve.exact import Exact

pytest.importorskip("mcp", reason="the extra mcp is not installed")

import anyio
from mcp import Client, StdioServerParameters

from linnet.serve.mcp_server import make_server


@pytest.fixture
def recipe(tmp_path: Path, kb: KnowledgeBase) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(f'kb = "{kb.path}"\n[[pipeline]]\nuse = "dictionary"\n[[pipeline]]\nuse = "decide"\n')
    return path


def talk(recipe: Path, conversation: Callable[[Client], Awaitable[None]]) -> None:
    """Start ``linnet mcp`` and talk to it."""
    environment = {name: os.environ[name] for name in ("LINNET_HOME", "PYTHONPATH")}
    arguments = ["-m", "linnet", "mcp", "--pipeline", str(recipe)]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=environment)

    async def meet() -> None:
        async with Client(server) as client:
            await conversation(client)

    anyio.run(meet)


@pytest.mark.slow
def test_a_client_finds_links_and_looks_up(recipe: Path) -> None:
    async def conversation(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == ["link", "search", "concept", "path"]
        for tool in tools.values():
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint
            assert tool.annotations.open_world_hint is False
            assert tool.description
            assert tool.output_schema is not None
        assert tools["link"].input_schema["properties"]["text"]["maxLength"] == 50_000

        async def ask(tool: str, **arguments: Any) -> Any:
            answer = await client.call_tool(tool, arguments)
            assert not answer.is_error, answer.content
            return answer.structured_content

        linked = await ask("link", text="Short stature and recurrent seizures 😀.")
        assert [(one["start"], one["end"], one["text"]) for one in linked["mentions"]] == [
            (0, 13, "Short stature"), (28, 36, "seizures"),
        ]  # fmt: skip
        assert linked["mentions"][1]["concepts"] == [{"id": "HP:0001250", "name": "Seizure"}]
        assert linked["mentions"][1]["calibrated"] is False
        hits = (await ask("search", query="seizure", limit=1))["hits"]
        assert [hit["id"] for hit in hits] == ["HP:0001250"]
        [near] = (await ask("search", query="siezure", limit=1))["hits"]
        assert (near["id"], near["by"]) == ("HP:0001250", "similar name")
        found = await ask("concept", id="HP:0009999")
        assert (found["id"], found["children_count"]) == ("HP:0001250", 1)
        assert found["parents"] == [{"id": "HP:0000118", "name": "Phenotypic abnormality"}]
        up = await ask("path", id="HP:0002069")
        assert [step["id"] for step in up["steps"]] == ["HP:0002069", "HP:0001250", "HP:0000118"]
        across = await ask("path", id="HP:0002069", to="HP:0000175")
        assert across["top"]["id"] == "HP:0000118"
        assert across["steps"][-1]["name"] == "Cleft palate"
        assert (await ask("path", id="X:1", to="X:2"))["steps"] == []

        async def fail(tool: str, **arguments: Any) -> str:
            answer = await client.call_tool(tool, arguments)
            assert answer.is_error
            return str(answer.content[0])

        assert "no concept 'HP:1'" in await fail("concept", id="HP:1")
        assert "Sing" in await fail("search", query="fever", types=["Sing"])
        assert "50000" in await fail("link", text="x" * 50_001)
        assert "50" in await fail("search", query="fever", limit=51)

    talk(recipe, conversation)


def test_tools_follow_edits(tmp_path: Path) -> None:
    from linnet.recipes.config import load

    kb = build([Concept("HP:0001250", (Name("Seizure"),))], tmp_path / "own.kb")

    async def conversation() -> None:
        async with Client(make_server(load("dictionary", kb=str(kb.path)))) as client:

            async def found(text: str) -> list[str]:
                answer = await client.call_tool("link", {"text": text})
                assert isinstance(answer.structured_content, dict), answer.content
                return [one["text"] for one in answer.structured_content["mentions"]]

            assert await found("Zorbing.") == []
            with KnowledgeBase.edit(kb.path) as edit:
                edit.add(Concept("HP:9000001", (Name("Zorbing"),)))
            assert await found("Zorbing.") == ["Zorbing"]
            answer = await client.call_tool("concept", {"id": "HP:9000001"})
            assert not answer.is_error, answer.content

    anyio.run(conversation)


def test_long_answers_are_cut(kb: KnowledgeBase, recipe: Path) -> None:
    async def conversation() -> None:
        async with Client(make_server(load(recipe))) as client:
            answer = await client.call_tool("link", {"text": "seizures. " * 600})
            assert isinstance(answer.structured_content, dict)
            assert len(answer.structured_content["mentions"]) == 500
            assert answer.structured_content["left_out"] == 100

    anyio.run(conversation)


def test_a_mention_in_several_parts_says_where_they_are(tmp_path: Path) -> None:
    names = (Concept("D:1", (Name("breast cancer"),)), Concept("D:2", (Name("ovarian cancer"),)))
    link = load("dictionary", kb=build(names, tmp_path / "cancers.kb"))

    async def conversation() -> None:
        async with Client(make_server(link)) as client:
            answer = await client.call_tool("link", {"text": "Breast and ovarian cancer."})
            assert isinstance(answer.structured_content, dict)
            found = {one["text"]: one for one in answer.structured_content["mentions"]}
            assert (found["Breast cancer"]["start"], found["Breast cancer"]["end"]) == (0, 25)
            assert found["Breast cancer"]["parts"] == [[0, 6], [19, 25]]
            assert found["ovarian cancer"]["parts"] == []

    anyio.run(conversation)


def test_a_pipeline_that_needs_mentions_is_refused(kb: KnowledgeBase) -> None:
    with pytest.raises(LinnetError, match="only links given mentions"):
        make_server(Exact(kb=kb) >> Decide(kb=kb))
    with pytest.raises(LinnetError, match="no knowledge base"):
        make_server(Pipeline())


@pytest.mark.slow
def test_the_example_of_the_page_runs(recipe: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
    [example] = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    arguments = ["-m", "linnet", "mcp", "--pipeline", str(recipe)]
    started = f"command={sys.executable!r}, args={arguments!r}"
    example = example.replace('command="linnet", args=["mcp", "--kb", "hpo"]', started)
    assert started in example
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith("Short stature [{'id': 'HP:0004322'")
