"""Any text → pieces of a self-contained web page that mean nothing but that text."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

__all__ = ["asset", "escape", "island", "page"]


def escape(text: str) -> str:
    """Return `text` as ASCII HTML, for elements and quoted attributes.

    >>> escape("a <b> & 'c' é")
    'a &lt;b&gt; &amp; &#x27;c&#x27; &#233;'
    """
    # NUL is the one character that HTML has no way to write
    escaped = html.escape(text.replace("\x00", "\ufffd"))
    return escaped.encode("ascii", "xmlcharrefreplace").decode()


def island(value: Any) -> str:
    r"""Return `value` as ASCII JSON that cannot end its script element or start a comment in it.

    >>> island({"text": "</script>"})
    '{"text":"\\u003c/script\\u003e"}'
    """
    line = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return line.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


@cache
def asset(package: str, name: str) -> str:
    """Return the text of a file that comes with a package of Linnet, such as a template, style or script."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def page(body: str, values: Mapping[str, str], *, title: str, style: str, script: str) -> str:
    """Return a whole page whose Content-Security-Policy allows its own style and script, and nothing from elsewhere.

    Args:
        body: a template; every ``{{name}}`` is replaced in one pass: braces inside the values mean nothing.
        values: name -> markup. ``title`` is there already.
        title: any text.
        style: CSS.
        script: JavaScript, run as a module after the body.

    >>> made = page("<b>{{a}} of {{title}}</b>", {"a": "{{b}}"}, title="<i>", style="", script="")
    >>> "<b>{{b}} of &lt;i&gt;</b>" in made, "<title>&lt;i&gt;</title>" in made
    (True, True)
    """
    title = escape(title)
    framed = {
        "title": title, "style": style, "style_hash": _code_hash(style), "script": script,
        "script_hash": _code_hash(script), "body": _fill(body, {"title": title, **values}),
    }  # fmt: skip
    return _fill(asset("linnet.text", "frame.html"), framed)


def _code_hash(code: str) -> str:
    """Return the hash by which a Content-Security-Policy names a script or style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}"


def _fill(template: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], template)
