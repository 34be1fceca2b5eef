"""What a recipe holds: one experiment, as fields that are checked before anything is made of them.

Components and their keywords are checked where names become classes, in `linnet.recipes.keywords`.

A ``[tune]`` table says what values a keyword of the pipeline may take, to choose the best from. A key is
``"part.keyword"``, in quotes, where the part is called as for ``--set``: by what it uses or by its role. The value is a
list of choices, or a range::

    [tune]
    "ngram.k" = [8, 64]
    "ngram.ngram_range" = [[2, 3], [2, 4], [3, 5]]
    "ngram.prior" = {low = 0.01, high = 10.0, log = true}
    "ngram.char_count" = {low = 8, high = 24, step = 4}
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from linnet.errors import LinnetError, RecipeError, wrong_field
from linnet.kb import KnowledgeBase
from linnet.pipeline.allow import Allow
from linnet.recipes.knowledge_bases import KbSources, build_kb, open_kb

__all__ = [
    "AllowTable",
    "Choices",
    "Parameter",
    "Range",
    "Recipe",
    "allow_lines",
    "check_value",
    "is_address",
    "messages",
    "nested_tables",
    "probes",
    "toml_value",
]

LISTS = ("sequence_str", "list_type", "tuple_type")  # what pydantic calls it that a list was expected
Floor = Annotated[float, Field(allow_inf_nan=False)]
LARGEST = float(1 << 53)  # beyond it floats skip whole numbers
Number = Annotated[int | float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]


def is_address(source: object) -> bool:
    """Return whether something is the address of a server, and no recipe or folder.

    >>> is_address("http://localhost:8421"), is_address("bc5cdr/tagger")
    (True, False)
    """
    return isinstance(source, str) and source.lower().startswith(("http://", "https://"))


# --- what is tuned ---------------------------------------------------------------------------------------------------


class Range(BaseModel):
    """All numbers from ``low`` to ``high``, both included; whole ones if all of its numbers are whole.

    Args:
        low: the smallest.
        high: the largest.
        log: numbers of each order of magnitude are equally likely.
        step: distance between two numbers; not together with ``log``.

    >>> Range(low=8, high=24, step=8).whole, Range(low=0.01, high=10, log=True).whole
    (True, False)
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    low: Number
    high: Number
    log: bool = False
    step: Number | None = None

    @property
    def whole(self) -> bool:
        """Whether only whole numbers are meant."""
        return all(isinstance(number, int) for number in (self.low, self.high, self.step or 0))

    @model_validator(mode="after")
    def _checked(self) -> Self:
        if self.low >= self.high:
            raise ValueError(f"low {self.low} must be less than high {self.high}")
        if self.step is not None and not 0 < self.step <= self.high - self.low:
            raise ValueError(f"step {self.step} must be positive and no more than high - low")
        if self.log and self.low <= 0:
            raise ValueError(f"log needs a low above 0, not {self.low}")
        if self.log and self.step is not None:
            raise ValueError("log and step exclude each other: leave one out")
        return self


def _plain(values: list[Any]) -> list[Any]:
    """Return choices, none twice and all of them values that a recipe can write."""
    seen = [json.dumps(value, default=_refuse) for value in values]
    if len(set(seen)) < len(seen):
        twice = next(text for text in seen if seen.count(text) > 1)
        raise ValueError(f"{twice} occurs twice")
    return values


def _refuse(value: object) -> str:
    raise ValueError(f"{value!s} is not a number, text, boolean or list of these")


Choices: TypeAlias = Annotated[list[Any], Field(min_length=1), AfterValidator(_plain)]
# tagged, so that messages speak of the form that was meant alone
Parameter: TypeAlias = Annotated[
    Annotated[Choices, Tag("choices")] | Annotated[Range, Tag("range")],
    Discriminator(lambda value: "range" if isinstance(value, (dict, Range)) else "choices"),
]


def probes(value: Any) -> Iterator[Any]:
    """Yield values that a keyword must take if it is to be tuned over `value`, which may be wrong otherwise.

    >>> list(probes([8, 64])), list(probes({"low": 8, "high": 64}))
    ([8, 64], [8, 64])
    >>> list(probes({"low": 0.5, "high": 1}))  # the third stands for all that lie in between
    [0.5, 1, 0.6839397205857212]
    """
    if isinstance(value, list):
        yield from value
    elif isinstance(value, dict):
        numbers = {key: item for key, item in value.items() if key in ("low", "high", "step") and _is_number(item)}
        yield from (numbers[key] for key in ("low", "high") if key in numbers)
        if {"low", "high"} <= numbers.keys() and any(isinstance(item, float) for item in numbers.values()):
            yield numbers["low"] + (numbers["high"] - numbers["low"]) / math.e


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= LARGEST


# --- the recipe ------------------------------------------------------------------------------------------------------


class AllowTable(BaseModel):
    """Conditions on the concepts that may be answered, all of which hold (`linnet.pipeline.allow.Allow`)."""

    model_config = ConfigDict(extra="forbid", strict=True)

    types: list[str] | None = None
    ids: list[str] | None = None
    under: list[str] | None = None
    also: list[AllowTable] = Field(default_factory=list)

    @classmethod
    def of(cls, allow: Allow) -> Self:
        """Return conditions as a recipe writes them.

        Raises:
            LinnetError: there are conditions by type of mention, which a recipe gives to the component ``types``.
        """
        if allow.by_type:
            raise LinnetError("a recipe's [allow] cannot depend on the mention type: wrap the retriever in types")
        given = {name: list(ids) for name in ("types", "ids", "under") if (ids := getattr(allow, name)) is not None}
        also = {"also": [cls.of(other) for other in allow.also]} if allow.also else {}
        return cls.model_validate({**given, **also})

    def conditions(self) -> Allow:
        """Return the conditions."""
        lists = {name: tuple(ids) for name in ("types", "ids", "under") if (ids := getattr(self, name)) is not None}
        return Allow(**lists, also=tuple(other.conditions() for other in self.also))


class Recipe(BaseModel):
    """One experiment: corpus, knowledge base (trained folders name its version), pipeline, and the scores to reach.

    ``kb`` is a name, a file, or the sources it is built from; ``train`` says which parts learn, ``train_corpus`` from
    which corpus' train split where it is not the recipe's own, ``train_texts`` of which corpora the training texts are
    read as well, without what people marked; ``dev_share`` what share of the training documents is kept to choose on
    where there are no dev documents, or these are measured; ``trained_by`` names another recipe whose trained parts
    are taken instead; ``tune`` is what ``linnet tune`` chooses from (`Parameter`), ``chosen_on`` the split it chose
    on; ``allow`` restricts the answers; ``packages`` says which other packages a trained folder's components are of; a
    metric in ``expect`` is named after its split: ``dev.in-kb.accuracy@1``.

    >>> Recipe(pipeline=[{"use": "gold"}], expect={"test.strict.f1": 0.9}).splits
    ('test',)
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    description: str = ""
    corpus: str = ""
    kb: str | KbSources = ""
    kb_version: str = ""
    allow: AllowTable = Field(default_factory=AllowTable)
    seed: int = 13
    pipeline: list[dict[str, Any]] = Field(min_length=1)
    train: list[dict[str, Any]] = Field(default_factory=list)
    train_corpus: str = ""
    train_texts: list[str] = Field(default_factory=list)
    dev_share: float = Field(default=0.0, ge=0.0, le=0.5)
    trained_by: str = ""
    tune: dict[str, Parameter] = Field(default_factory=dict)
    chosen_on: str = ""
    packages: dict[str, str] = Field(default_factory=dict)
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

    def make_allow(self, kb: KnowledgeBase, source: str | Path) -> Allow:
        """Return the conditions on what may be answered.

        Raises:
            RecipeError: they name types or concepts that the knowledge base lacks; `source` is the recipe.
        """
        allow = self.allow.conditions()
        if problems := [f"allow.{problem}" for problem in allow.problems(kb)]:
            raise RecipeError(source, problems)
        return allow

    def problems(self) -> list[str]:
        """Return what is wrong beyond the types of fields."""
        unsplit = [key for key in self.expect if "." not in key]
        found = [f"expect.{key}: begin with a split, such as dev.{key}" for key in unsplit]
        if self.trained_by and self.train:
            found.append("trained_by: excludes [[train]]; remove one of them")
        return found + (self.kb.problems() if isinstance(self.kb, KbSources) else [])

    def to_toml(self) -> str:
        """Return the recipe as a file's text, without ``tune``.

        >>> print(Recipe(seed=7, pipeline=[{"use": "gold"}, {"use": "exact", "k": 8}]).to_toml())
        seed = 7
        <BLANKLINE>
        [[pipeline]]
        use = "gold"
        <BLANKLINE>
        [[pipeline]]
        use = "exact"
        k = 8
        <BLANKLINE>
        """
        values = self.model_dump(exclude={"tune"}, exclude_unset=True)
        flat = {key: value for key, value in values.items() if not _is_tables(value) and not isinstance(value, dict)}
        blocks = ["".join(_lines(flat))] if flat else []
        for key, value in values.items():
            if isinstance(value, dict):
                blocks.append("".join([f"[{key}]\n", *_lines(value)]))
            elif _is_tables(value):
                blocks += [block for table in value for block in _blocks(key, table)]
        return "\n".join(blocks)


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _blocks(name: str, table: dict[str, Any]) -> Iterator[str]:
    """Yield a table of an array, then those of the arrays within it, such as the parts of a fusion."""
    inner = {key: value for key, value in table.items() if _is_tables(value)}
    own = {key: value for key, value in table.items() if key not in inner}
    yield "".join([f"[[{name}]]\n", *_lines(own)])
    for key, tables in inner.items():
        for other in tables:
            yield from _blocks(f"{name}.{_key(key)}", other)


def _lines(table: dict[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        if _is_tables(value):
            yield f"{_key(key)} = [\n{''.join(f'  {toml_value(item)},{chr(10)}' for item in value)}]\n"
        else:
            yield f"{_key(key)} = {toml_value(value)}\n"


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("-", "_").isidentifier()
    return name if bare else toml_value(name)


def allow_lines(allow: Allow | None) -> str:
    r"""Return conditions as a line of a recipe; none need none.

    >>> allow_lines(Allow(types="Disease", also=(Allow(under="MESH:1"),)))
    'allow = {types = ["Disease"], also = [{under = ["MESH:1"]}]}\n'
    """
    return f"allow = {toml_value(AllowTable.of(allow).model_dump(exclude_unset=True))}\n" if allow else ""


def toml_value(value: Any) -> str:
    """Return a value as TOML writes it; dates and anything unknown become text.

    >>> toml_value([1, 0.5, True, "a", {"k": 8}])
    '[1, 0.5, true, "a", {k = 8}]'
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_key(key)} = {toml_value(item)}' for key, item in value.items())}}}"
    # TOML's basic strings know JSON's escapes, but for halves of characters, and want one more
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


TABLES: dict[str, type[BaseModel]] = {"tune": Range, "allow": AllowTable}


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
        if place[0] == "tune" and len(place) > 2:
            del place[2]  # the form that was meant
        fields = known if len(place) == 1 else list(TABLES.get(place[0], KbSources).model_fields)
        lines.append(_message(item, fields, ".".join(place)))
    return lines


def check_value(known: TypeAdapter[Any], value: Any, where: str) -> list[str]:
    """Return what is wrong with the value of a keyword.

    Nothing is turned into what was wanted: text is no number, 1 is not true. What TOML cannot write, tuples and paths,
    is a list or a text there, as in JSON.

    >>> print(*check_value(TypeAdapter(list[str]), "Disease,Chemical", "types"))
    types: expected a list such as ["Disease", "Chemical"], found 'Disease,Chemical'
    >>> print(*check_value(TypeAdapter(int), "32", "ngram.k"))
    ngram.k: expected a whole number, found '32'
    """
    try:
        known.validate_python(value)
        # names of files that are no UTF-8 are no JSON: their type alone is looked at
        known.validate_json(json.dumps(value, default=str, ensure_ascii=False).encode("utf-8", "replace"), strict=True)
    except ValidationError as error:
        first, *others = error.errors()
        words = [one["ctx"]["expected"] for one in others if one["type"] == "literal_error"]
        if words:  # a number or 'f1'
            first["msg"] = " or ".join([first["msg"].partition(",")[0], *words])
        return [_message(first, (), where)]
    return []


def _message(item: Mapping[str, Any], known: Sequence[str], where: str) -> str:
    if item["type"] in LISTS and isinstance(item["input"], str):
        said = f"expected a list such as {toml_value([text.strip() for text in item['input'].split(',')])}"
        item = {**item, "msg": said}
    return wrong_field(item, known, where)


def nested_tables(tables: Any) -> Iterator[dict[str, Any]]:
    """Yield all tables of a pipeline, those of fused parts included, whatever else a wrong recipe holds there."""
    for part in tables if isinstance(tables, list) else ():
        if isinstance(part, dict):
            yield part
            yield from nested_tables(part.get("of"))
