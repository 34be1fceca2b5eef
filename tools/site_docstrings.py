"""Examples of docstrings as blocks of code on the site's page of the Python interface: an extension of Griffe."""

from __future__ import annotations

from typing import Any

from griffe import Extension


class Examples(Extension):  # type: ignore[misc] # Griffe is in the site's environment alone
    """Fences each paragraph that begins with a prompt: without, what it prints is read as Markdown."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring is not None:
            parts = obj.docstring.value.split("\n\n")
            obj.docstring.value = "\n\n".join(
                f"```pycon\n{part}\n```" if part.startswith(">>>") else part for part in parts
            )
