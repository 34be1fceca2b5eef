"""What a recipe holds: one experiment, as fields that are checked before anything is made of them.

Components and their keywords are checked where names become classes, in `linnet.config`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from linnet.errors import did_you_mean
from linnet.kb import KnowledgeBase
from linnet.kb_open import KbSources, build_kb, open_kb

__all__ = ["Recipe", "messages"]

Floor = Annotated[float, Field(allow_inf_nan=False)]


class Recipe(BaseModel):
    """One experiment: corpus, knowledge base (trained folders name its version), pipeline, and the scores to reach.

    ``kb`` is a name, a file, or the sources it is built from; ``train`` says which parts learn, ``train_corpus`` from
    which corpus' train split where it is not the recipe's own; a figure in ``expect`` is named after its split:
    ``dev.in-kb.accuracy@1``.

    >>> Recipe(pipeline=[{"use": "gold"}], expect={"test.strict.f1": 0.9}).splits
    ('test',)
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    description: str = ""
    corpus: str = ""
    kb: str | KbSources = ""
    kb_version: str = ""
    seed: int = 13
    pipeline: list[dict[str, Any]] = Field(min_length=1)
    train: list[dict[str, Any]] = Field(default_factory=list)
    train_corpus: str = ""
    expect: dict[str, Floor] = Field(default_factory=dict)

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits of the corpus that `expect` names, dev without any."""
        return tuple(dict.fromkeys(key.partition(".")[0] for key in self.expect)) or ("dev",)

    @property
    def learns_from(self) -> str:
        """The corpus whose train split the parts learn from."""
        return self.train_corpus or self.corpus

    @property
    def kb_name(self) -> str:
        """What the knowledge base is called."""
        return self.kb.name or "built by the recipe" if isinstance(self.kb, KbSources) else self.kb

    def open_kb(self, *, data: str | Path | None = None) -> KnowledgeBase | None:
        """Return the knowledge base, built first if the recipe says of what; None if it names none."""
        if isinstance(self.kb, KbSources):
            return build_kb(self.kb, data=data)
        return open_kb(self.kb) if self.kb else None

    def problems(self) -> list[str]:
        """Return what is wrong beyond the types of fields."""
        unsplit = [key for key in self.expect if "." not in key]
        found = [f"expect.{key}: begin with a split, such as dev.{key}" for key in unsplit]
        return found + (self.kb.problems() if isinstance(self.kb, KbSources) else [])


def messages(error: ValidationError) -> list[str]:
    """Return a line for each wrong field of a recipe: where, what, and what was found."""
    known = list(Recipe.model_fields)
    lines = []
    for item in error.errors():
        place, value = [str(step) for step in item["loc"]], item["input"]
        if place[0] == "kb" and len(place) > 1:
            if (place[1] == "str") == isinstance(value, dict) and len(place) == 2:
                continue  # the other form of the field, which was not meant
            del place[1]
        key = ".".join(place)
        if item["type"] == "extra_forbidden":
            fields = known if len(place) == 1 else list(KbSources.model_fields)
            hint = did_you_mean(place[-1], fields) or f"; it has: {', '.join(fields)}"
            lines.append(f"{key}: unknown field{hint}")
        elif item["type"] == "missing":
            lines.append(f"{key}: missing")
        else:
            lines.append(f"{key}: {item['msg']}, found {value!r}")
    return lines
