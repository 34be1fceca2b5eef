"""Makes pages of the repository's Markdown: hooks of MkDocs for the documentation site (``make site``).

The Markdown is written for readers of the repository. Links to files outside docs become the path as text; the guide to
contributing and the changelog become pages; folders get an index. A page that would load anything from elsewhere fails.
"""

from __future__ import annotations

import ast
import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ICON = ROOT / "src" / "linnet" / "annotate" / "web" / "icon.svg"
FROM_ROOT = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
# Of folders, where it is not index.md within: a section of the navigation would take that for its own page.
INDEXES = {"decisions": "decisions.md"}
FENCED = re.compile(r"(^ *```.*?^ *```[^\n]*$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
CODE_IN_TABLE = re.compile(r"`[^`\n]*\\\|[^`\n]*`")
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?\s(?:src|srcset|data)=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|<link\b(?![^>]*rel=["']?canonical)[^>]*?\shref=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|(?:url\(\s*["']?|@import\s*["'])((?:https?:)?//[^"')\s]+)"""
)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are no files of docs."""
    from mkdocs.structure.files import File

    made = {name: (ROOT / source).read_text(encoding="utf-8") for source, name in FROM_ROOT.items()}
    made["decisions.md"] = index_of_decisions()
    made["reference/index.md"] = index_of_reference()
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    files.append(File.generated(config, "images/icon.svg", abs_src_path=str(ICON)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Return the Markdown of a page as the site needs it."""
    name = page.file.src_uri
    if name == "reference/python.md":
        return api(markdown)
    sources = {made: source for source, made in FROM_ROOT.items()}
    return for_the_site(markdown, sources.get(name, f"docs/{name}"), name)


def on_post_build(config: Any) -> None:
    """Raise if a page or a style sheet would load something from elsewhere.

    Raises:
        PluginError: it names the pages and the addresses.
    """
    from mkdocs.exceptions import PluginError

    if told := [f"{path.name} loads {address}" for path, address in loaded_from_elsewhere(Path(config["site_dir"]))]:
        raise PluginError("the site must work without a network: " + "; ".join(told))


def for_the_site(markdown: str, source: str, name: str) -> str:
    r"""Return the Markdown of a file of the repository as that of a page.

    Args:
        markdown: its text.
        source: its path in the repository.
        name: its path among the pages.

    >>> for_the_site("See [the command](../src/linnet/cli/link.py), [a page](linking.md#letters).", "docs/a.md", "a.md")
    'See the command (`src/linnet/cli/link.py`), [a page](linking.md#letters).'
    >>> for_the_site("[How](docs/linking.md) and [why](docs/decisions)", "CONTRIBUTING.md", "contributing.md")
    '[How](linking.md) and [why](decisions.md)'
    >>> print(for_the_site(r"| `a\|b` | c |", "docs/a.md", "a.md"))
    | `a|b` | c |
    """
    parts = FENCED.split(markdown)
    parts[::2] = [_linked(_unescaped(part), source, name) for part in parts[::2]]
    return "".join(parts)


def _unescaped(text: str) -> str:
    """Return the text with bars as they are in the code of its tables: this Markdown shows the backslash there."""
    return CODE_IN_TABLE.sub(lambda found: found[0].replace("\\|", "|"), text)


def _linked(text: str, source: str, name: str) -> str:
    def written(found: re.Match[str]) -> str:
        label, target = found.groups()
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        path, mark, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if (page := _page(path)) is None:
            return f"`{path}`" if path.endswith(label.strip("`")) else f"{label} (`{path}`)"
        return f"[{label}]({posixpath.relpath(page, posixpath.dirname(name) or '.')}{mark}{anchor})"

    return LINK.sub(written, text)


def _page(path: str) -> str | None:
    """Return the page, or other file of docs, for a path of the repository."""
    if path == "README.md":
        return "index.md"
    if path in FROM_ROOT:
        return FROM_ROOT[path]
    if not path.startswith("docs/"):
        return None
    within = path.removeprefix("docs/")
    return INDEXES.get(within, f"{within}/index.md") if (DOCS / within).is_dir() else within


def index_of_decisions() -> str:
    """Return the page that lists the decisions by their titles."""
    lines = ["# Decisions", "", "Why Linnet does what a newcomer would do otherwise, half a page each.", ""]
    for path in sorted((DOCS / "decisions").glob("*.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
        lines.append(f"* [{title}](decisions/{path.name})")
    return "\n".join(lines) + "\n"


def index_of_reference() -> str:
    """Return the page that lists the generated pages with their headings."""
    lines = ["# Reference", "", "Written from the code.", ""]
    for path in sorted((DOCS / "reference").glob("*.md")):
        headings = re.findall(r"^## (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        lines.append(f"* [{path.stem.capitalize()}]({path.name}): {len(headings)} entries")
    return "\n".join(lines) + "\n"


def api(described: str) -> str:
    """Return the page of what `import linnet` offers, for mkdocstrings, which adds the code itself.

    Args:
        described: the generated page: its headings say which names, and which of their methods.

    >>> print(api("## `linnet.load`"))
    # Python
    <BLANKLINE>
    What `import linnet` gives. Everything else lives in the modules.
    <BLANKLINE>
    ## `linnet.load`
    <BLANKLINE>
    ::: linnet.recipes.config.load
        options:
          heading_level: 3
          members: []
          show_root_heading: false
          show_root_toc_entry: false
    <BLANKLINE>
    """
    modules = offered()
    lines = ["# Python", "", "What `import linnet` gives. Everything else lives in the modules.", ""]
    for name in re.findall(r"^## `linnet\.(\w+)`", described, re.MULTILINE):
        members = re.findall(rf"^### `{name}\.(\w+)`", described, re.MULTILINE)
        lines += [f"## `linnet.{name}`", "", f"::: {modules[name]}.{name}", "    options:", "      heading_level: 3"]
        lines += [
            f"      members: [{', '.join(members)}]",
            "      show_root_heading: false",
            "      show_root_toc_entry: false",
            "",
        ]
    return "\n".join(lines)


def offered() -> dict[str, str]:
    """Return the module of each name that the package offers, without importing it.

    >>> offered()["load"]
    'linnet.recipes.config'
    """
    tree = ast.parse((ROOT / "src" / "linnet" / "__init__.py").read_text(encoding="utf-8"))
    imports = (node for block in tree.body if isinstance(block, ast.If) for node in block.body)
    return {name.name: node.module or "" for node in imports if isinstance(node, ast.ImportFrom) for name in node.names}


def loaded_from_elsewhere(site: Path) -> list[tuple[Path, str]]:
    """Return the files of a built site that would load something from another server, with its address.

    Links that a reader may follow are no such thing.
    """
    return [
        (path, next(address for address in found if address))
        for path in sorted(site.rglob("*"))
        if path.suffix in {".html", ".css", ".svg"}
        for found in LOADED.findall(path.read_text(encoding="utf-8"))
    ]
