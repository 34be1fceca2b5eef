"""Any text → pieces of a self-contained web page that mean nothing but that text."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["code_hash", "escape", "fill", "island"]


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


def code_hash(code: str) -> str:
    """Return the hash by which a Content-Security-Policy names a script or style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}"


def fill(template: str, values: Mapping[str, str]) -> str:
    """Return `template` with every ``{{name}}`` replaced, in one pass: braces inside the values mean nothing.

    >>> fill("<b>{{a}}</b>", {"a": "{{a}}"})
    '<b>{{a}}</b>'
    """
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], template)
