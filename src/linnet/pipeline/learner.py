"""What a component declares of its learning: all that training, pipelines and servers ask of it, with safe defaults.

A component that says nothing learns nothing; one that only learns (`Fits`) is trained again for each fold of
cross-fitting; a network must say how often it may be (`Learner.FOLDS`), or nothing can learn behind it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, Protocol, Self, TypeAlias, TypeVar, overload

from linnet.errors import KnowledgeBaseError, PipelineError, RecipeError
from linnet.frozen import EMPTY
from linnet.kb import KnowledgeBase
from linnet.pipeline.component import Component, Fits

__all__ = ["HANDED_IN", "Learner", "TrainingArgs", "TrainingStage", "inner_of", "learner_of", "made_once"]

Made = TypeVar("Made")
Split: TypeAlias = Literal["train", "dev"]

HANDED_IN = ("kb", "of")  # keywords that no recipe holds: the knowledge base, and parts that have tables of their own


class made_once(Generic[Made]):  # noqa: N801 - reads as functools.cached_property does
    """A property that is made at first use and kept until it is forgotten; neither copied nor pickled.

    >>> class Part(Learner):
    ...     @made_once
    ...     def index(self) -> list[str]:
    ...         return ["made"]
    >>> part = Part()
    >>> part.index is part.index, part.made, copy.copy(part).made
    (True, {'index': ['made']}, {})
    """

    def __init__(self, make: Callable[[Any], Made]) -> None:
        self.make, self.__doc__ = make, make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, part: None, owner: type, /) -> Self: ...

    @overload
    def __get__(self, part: Learner, owner: type, /) -> Made: ...

    def __get__(self, part: Learner | None, owner: type, /) -> Self | Made:
        if part is None:
            return self
        if self.name not in part.made:
            part.made[self.name] = self.make(part)
        made: Made = part.made[self.name]
        return made

    def __set__(self, part: Learner, value: Made, /) -> None:
        part.made[self.name] = value


class TrainingArgs(Protocol):
    """The arguments of a training: a class that divides a ``[[train]]`` table into its own and those of the loop."""

    @classmethod
    def table_fields(cls) -> Sequence[str]:
        """Return the fields of the table."""
        ...

    @classmethod
    def split(cls, values: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return both; wrong fields are a RecipeError that names all of them."""
        ...


@dataclass(frozen=True)
class TrainingStage:
    """A stage of training, which a ``[[train]]`` table names: ``stage = "align"``.

    Args:
        args: what its table may hold.
        documents: it learns from documents; else from the knowledge base alone, and cross-fitting need not repeat it.
    """

    args: type[TrainingArgs]
    documents: bool = True


class Learner:
    """What is known of every component of Linnet's own, whether it learns or not.

    Attributes:
        LEARNED: keywords that cannot be changed once it is trained.
        LEARNS_FROM: ``dev`` if it learns from documents that nothing before it was trained on.
        USES_DEV: `fit` chooses or calibrates on the dev documents.
        NETWORK: the gradient loop trains it: it keeps checkpoints in the folder ``args["checkpoints"]``, and takes the
            recipe's seed.
        FOLDS: how often it is trained again, each time without such a share of the documents, to answer for documents
            that it has not seen; 0 = once for each fold, what only parts may do that learn fast.
        STAGES: the stages of its training by name; a table that names none is of the last.
        ARGS: what the ``[[train]]`` table of a part without stages may hold.
        TABLES: keywords that are tables of keywords of another component, with its name.
        KEPT: names of `made_once` properties that do not depend on the knowledge base.
        CHAIN: its inner components stand one behind the other, as those of a pipeline do; else side by side.
    """

    LEARNED: ClassVar[frozenset[str]] = frozenset()
    LEARNS_FROM: ClassVar[Split] = "train"
    USES_DEV: ClassVar[bool] = True
    NETWORK: ClassVar[bool] = False
    FOLDS: ClassVar[int] = 0
    STAGES: ClassVar[Mapping[str, TrainingStage]] = EMPTY
    ARGS: ClassVar[type[TrainingArgs] | None] = None
    TABLES: ClassVar[Mapping[str, str]] = EMPTY
    KEPT: ClassVar[frozenset[str]] = frozenset()
    CHAIN: ClassVar[bool] = False

    # --- what it is --------------------------------------------------------------------------------------------------

    def __post_init__(self) -> None:
        """Refuse keywords that do not fit each other, or what was learned."""

    @property
    def keywords(self) -> dict[str, Any]:
        """The keywords of its constructor, as they are now."""
        made: Any = self
        return {item.name: getattr(self, item.name) for item in fields(made) if item.init} if is_dataclass(made) else {}

    @property
    def inner(self) -> Sequence[Component]:
        """The components that it is made of, in its field ``of``."""
        of: Sequence[Component] = self.keywords.get("of", ())
        return of

    def with_inner(self, parts: Sequence[Component]) -> Self:
        """Return the same component, made of other ones."""
        made: Any = copy.copy(self)
        if parts:
            made.of = list(parts)
        return made  # type: ignore[no-any-return]

    @property
    def linked_kb(self) -> KnowledgeBase | None:
        """The knowledge base of its field ``kb``."""
        kb: KnowledgeBase | None = self.keywords.get("kb")
        return kb

    def rebound(self, kb: KnowledgeBase) -> Self:
        """Return the same component on its knowledge base as edits have made it; this one stays as it is.

        Networks are shared, what was made of names is made again at its next use, and what was learned of a retired
        concept is of its successor, as if it were loaded. One that is on no knowledge base is returned itself.
        Components that keep rows of concepts outside of `made_once` properties say here what becomes of these.

        Raises:
            KnowledgeBaseError: `kb` is another one, or without a concept that something was learned of.
        """
        self.require_edited(kb)
        if self.linked_kb is None and not self.inner:
            return self
        made: Any = self.with_inner([part.rebound(kb) if isinstance(part, Learner) else part for part in self.inner])
        if self.linked_kb is not None:
            made.kb = kb
        made.__post_init__()
        made.made.update({name: value for name, value in self.made.items() if name in self.KEPT})
        return made  # type: ignore[no-any-return]

    def require_edited(self, kb: KnowledgeBase) -> None:
        """Refuse a knowledge base that is not the one it is on, nor that one with edits.

        Raises:
            KnowledgeBaseError: as it says.
        """
        own = self.linked_kb
        if own is not None and not kb.comes_from(own.version):
            raise KnowledgeBaseError(
                f"{kb.path} (version {kb.version}) is not the knowledge base of {type(self).__name__.lower()} "
                f"(version {own.version}) with edits: load the pipeline with it"
            )

    @property
    def parameters(self) -> int:
        """How many numbers it has learned, those of its network and of inner components included."""
        return sum(part.parameters for part in self.inner if isinstance(part, Learner))

    @property
    def index_files(self) -> list[Path]:
        """The files beside the knowledge base that it reads, those of inner components included."""
        return [path for part in self.inner if isinstance(part, Learner) for path in part.index_files]

    # --- what it made ------------------------------------------------------------------------------------------------

    _made: dict[str, Any]

    @property
    def made(self) -> dict[str, Any]:
        """What its `made_once` properties hold, by name."""
        try:
            return self._made
        except AttributeError:
            self._made = {}
            return self._made

    def forget(self, *names: str) -> None:
        """Drop what these properties hold, or all of them; it is made again where it is asked for."""
        for name in names or tuple(self.made):
            self.made.pop(name, None)

    def share(self, other: Self, *names: str) -> None:
        """Take what properties of another one hold, which makes it first; it costs nothing to have it twice."""
        for name in names:
            self.made[name] = getattr(other, name)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_made"}

    # --- what it learned ---------------------------------------------------------------------------------------------

    def learned_values(self) -> dict[str, Any]:
        """Return what it learned as values for JSON, for a file in its folder; nothing where there is none to write."""
        return {}

    def restore_values(self, values: Mapping[str, Any]) -> None:
        """Take what `learned_values` gave.

        Raises:
            AttributeError, KeyError, OverflowError, TypeError, ValueError: values that it cannot have given.
        """

    # --- learning ----------------------------------------------------------------------------------------------------

    @property
    def learns(self) -> bool:
        """Whether its keywords leave it anything to learn from documents."""
        return isinstance(self, Fits)

    @property
    def used_dev(self) -> bool:
        """Whether it has chosen or calibrated on the dev documents, once it is trained."""
        return self.USES_DEV

    @classmethod
    def stage_of(cls, args: Mapping[str, Any]) -> str:
        """Return the name of the stage that a ``[[train]]`` table is of, "" for a component without stages.

        Raises:
            RecipeError: it has no such stage.
        """
        stage = args.get("stage", ["", *cls.STAGES][-1])
        if "stage" in args and stage not in cls.STAGES:
            found = f"expected one of {', '.join(cls.STAGES)}, found {stage!r}" if cls.STAGES else "unknown field"
            raise RecipeError(cls.__name__.lower(), [f"stage: {found}"])
        return str(stage)

    @classmethod
    def needs_documents(cls, args: Mapping[str, Any]) -> bool:
        """Return whether a training with these arguments learns from documents; else from the knowledge base alone."""
        stage = cls.stage_of(args)
        return stage not in cls.STAGES or cls.STAGES[stage].documents

    @classmethod
    def needs_gold(cls, args: Mapping[str, Any]) -> bool:
        """Return whether a training with these arguments learns from what people marked in documents."""
        return cls.needs_documents(args)

    @classmethod
    def training_fields(cls) -> dict[str, str]:
        """Return the fields of its ``[[train]]`` table, each with the stage to name there; "" for none.

        Of a network that does not declare its arguments, nothing is known.
        """
        found = dict.fromkeys(cls.ARGS.table_fields() if cls.ARGS is not None else (), "")
        for stage, told in cls.STAGES.items():  # the last one goes without its name
            found |= dict.fromkeys(told.args.table_fields(), "" if stage == [*cls.STAGES][-1] else stage)
        return found

    @classmethod
    def check(cls, args: Mapping[str, Any]) -> None:
        """Refuse wrong arguments of `fit` before anything is trained.

        Raises:
            RecipeError: all that is wrong with them.
        """
        if cls.STAGES:
            cls.STAGES[cls.stage_of(args)].args.split({key: value for key, value in args.items() if key != "stage"})
        elif cls.ARGS is not None:
            cls.ARGS.split(args)
        elif args and not cls.NETWORK:
            own = "it is trained without any; its keywords stand in its [[pipeline]] table"
            raise RecipeError(cls.__name__.lower(), [f"{key}: unknown field: {own}" for key in args])

    def require_libraries(self) -> None:
        """Say what to install where a library that it needs is missing: asked before anything is trained.

        Raises:
            MissingExtraError: one is.
        """

    def require_files(self) -> None:
        """Refuse files that its keywords name, and that it cannot learn from: asked before anything is trained.

        Raises:
            RecipeError: one is missing.
            FormatError: one is damaged.
        """

    def owes_nothing(self, args: Mapping[str, Any]) -> bool:  # noqa: ARG002
        """Return whether a training with these arguments learned from no document, and its result is still there.

        Cross-fitting asks for it: such a stage is not trained again without some of the documents.
        """
        return False

    def go_on_from(self, earlier: Self) -> None:
        """Take from what this was before its last stage of training what a folder of that stage does not hold."""

    def without(self, documents: Iterable[str]) -> Self | None:  # noqa: ARG002
        """Return the same component without what it learned from these documents (ids): for cross-fitting.

        None, the default, says that it has to be trained again on the others.
        """
        return None

    def with_network(self, other: Self) -> Self:
        """Return the same component with what another one's training made of the network: for cross-fitting."""
        return other

    def with_options_of(self, other: Self) -> Self:
        """Return what this one has learned, with the keywords of another one.

        Raises:
            LinnetError: they do not fit what was learned.
        """
        made = copy.copy(self)
        for name, value in other.keywords.items():
            setattr(made, name, value)
        made.__post_init__()
        return made


def learner_of(part: Component) -> Learner:
    """Return a component that learns.

    Raises:
        PipelineError: it is of another making than Linnet's roles, and so does not say how it learns.
    """
    if not isinstance(part, Learner):
        raise PipelineError(f"{type(part).__name__} does not say how it learns: derive it from a role of linnet")
    return part


def inner_of(part: Component) -> Sequence[Component]:
    """Return the components that a component is made of, none of one that does not say."""
    return part.inner if isinstance(part, Learner) else ()
