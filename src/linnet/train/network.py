"""The base of components with a network that is trained: where it is kept, read at first use, copied and saved."""

from __future__ import annotations

import copy
import importlib
import logging
import shutil
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

from linnet.data import Document
from linnet.errors import PipelineError
from linnet.kb import KnowledgeBase
from linnet.pipeline import Stage
from linnet.pipeline.component import Component, Step
from linnet.pipeline.learner import made_once

__all__ = ["GRAPHS", "MODEL", "NetworkComponent", "count_parameters", "tell_loss"]

logger = logging.getLogger(__name__)

Network = TypeVar("Network")

MODEL = "model"  # the folder of the network in that of the component
GRAPHS = "graphs"  # the folder in it of what ONNX Runtime runs


class NetworkComponent(Stage, Generic[Network]):
    """A component with a network, which it reads when it is first used. Subclasses say how with three methods.

    `read_network` returns a network, `learn` trains it in place, `write_network` saves it.

    Attributes:
        TRAINING: the module whose ``fit(component, train, dev, *, before, kb, args)`` trains the network; `learn`
            imports it, as a component that only answers needs none of it.
        NAME: what messages call it; the name of the class where none is given.
        folder: of the network, once it was saved; None before.
        trained: it has learned what no folder holds yet.
        backend: what runs the network once it is trained: ``torch``, or ``onnx``, ONNX Runtime, for which saving writes
            graphs beside the network; whoever links with these needs no PyTorch.
        stage: of its training, the one that it went through last.
        begun: the network, or its folder, that the last stage which learned from no document left; later stages begin
            with it.
    """

    NETWORK = True
    FOLDS: ClassVar[int] = 2
    KEPT: ClassVar[frozenset[str]] = frozenset({"network"})
    NAME: ClassVar[str]
    TRAINING: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        cls.NAME = vars(cls).get("NAME", cls.__name__.lower())

    backend: Literal["torch", "onnx"] = "torch"
    folder: Path | None = None
    trained: bool = False
    stage: str = ""
    begun: Any = None

    # --- the network -------------------------------------------------------------------------------------------------

    @abstractmethod
    def read_network(self, folder: Path | None) -> Network:
        """Return the network of a folder, or one that has learned nothing; ready to be used."""

    def learn(
        self,
        train: Sequence[Document],
        dev: Sequence[Document],
        /,
        *,
        before: Component,
        kb: KnowledgeBase,
        args: Mapping[str, Any],
    ) -> Iterator[Step]:
        """Train the network in place; arguments as of `fit`."""
        if not self.TRAINING:
            raise NotImplementedError(f"{type(self).__name__}: name its TRAINING, or write learn")
        training = importlib.import_module(self.TRAINING)
        yield from training.fit(self, train, dev, before=before, kb=kb, args=args)

    def write_network(self, folder: Path) -> None:
        """Save the network into a folder that `read_network` reads."""
        network: Any = self.network
        network.save(folder)

    def learned_values(self) -> dict[str, Any]:
        """Return what is to be known beside the weights: the stage of training."""
        return {"stage": self.stage}

    def restore_values(self, values: Mapping[str, Any]) -> None:
        """Take what `learned_values` gave."""
        self.stage = str(values["stage"])

    @made_once
    def network(self) -> Network:
        """The network, read at first use: what was trained, else what an earlier stage left, else one that is fresh."""
        begin = self.folder or self.begun
        if begin is None or isinstance(begin, Path):
            self.require_libraries()
            return self.read_network(begin)
        # a stage leaves the one before as it is: copies of the component begin with it too
        own: Network = begin if self.learned_names_alone else copy.deepcopy(begin)
        return own

    @property
    def graphs(self) -> Path | None:
        """The folder of what ONNX Runtime runs of the saved network; None where there is none, or PyTorch runs it."""
        graphs = self.folder / GRAPHS if self.folder is not None and self.backend == "onnx" else None
        return graphs if graphs is not None and graphs.is_dir() else None

    def write_graphs(self, folder: Path) -> None:
        """Write what ONNX Runtime runs into a folder, of a network that has it or makes it with ``as_graph``."""
        network: Any = self.network
        network.as_graph().save(folder)

    def require_libraries(self) -> None:
        """Say what to install where a library is missing; PyTorch need not be there for saved graphs.

        Raises:
            MissingExtraError: it is.
        """
        if self.backend == "onnx":
            import linnet.graphs  # noqa: PLC0415 - says so itself
        if self.graphs is not None:
            return
        import linnet.nn  # noqa: PLC0415 - says so itself

        if self.backend == "onnx":
            import linnet.nn.onnx  # noqa: F401, PLC0415 - says so itself

    def require_trained(self) -> None:
        """Refuse to answer before anything was learned.

        Raises:
            PipelineError: nothing was.
        """
        if not self.has_learned:
            raise PipelineError(
                f"{self.NAME} has not been trained: run linnet train, and link with the folder it writes"
            )

    @property
    def has_learned(self) -> bool:
        """Whether it has learned anything."""
        return self.trained or self.folder is not None or self.begun is not None

    @property
    def parameters(self) -> int:
        """The weights of the network."""
        return count_parameters(self.network)

    # --- learning ----------------------------------------------------------------------------------------------------

    def fit(
        self,
        train: Sequence[Document],
        dev: Sequence[Document],
        /,
        *,
        before: Component,
        kb: KnowledgeBase,
        args: Mapping[str, Any],
    ) -> Iterator[Step]:
        """Train the network on `train`; `dev` says when to stop, and calibrates.

        A first stage begins with the pre-trained encoder; a later one, or the only one, with what the last stage that
        learned from no document left, if there was one. Whatever else was learned before is forgotten.

        Raises:
            RecipeError: `args` that neither this training nor the loop knows.
            DataError: nothing to learn from.
        """
        folder, self.folder = self.folder, None  # learning needs more than linking with what is saved there
        try:
            self.require_libraries()
        finally:
            self.folder = folder
        stage = self.stage_of(args)
        if self._learns_without_documents(stage):
            self.begun = None if stage == next(iter(self.STAGES)) else self.begun
        self.folder, self.stage, self.trained = None, stage, False
        self.forget()
        alone = self._learns_without_documents(stage)
        if alone:
            self.begun = self.network  # which is trained in place
        own = {name: value for name, value in args.items() if name != "stage"}
        for step in self.learn(train, dev, before=before, kb=kb, args=own):
            self.trained = not alone
            yield step
        self.trained = not alone

    @property
    def learned_names_alone(self) -> bool:
        """Whether the last stage of training learned from no document."""
        return self._learns_without_documents(self.stage)

    def _learns_without_documents(self, stage: str) -> bool:
        return stage in self.STAGES and not self.STAGES[stage].documents

    def owes_nothing(self, args: Mapping[str, Any]) -> bool:
        """Return whether a stage of training learned from no document, and its result is still there to go on with."""
        return self._learns_without_documents(self.stage_of(args)) and self.begun is not None

    def go_on_from(self, earlier: Self) -> None:
        """Take the network that an earlier stage left."""
        self.begun = self.begun or earlier.begun

    def without(self, documents: Iterable[str]) -> Self | None:  # noqa: ARG002
        """Return the same component: what it knows of documents is in its network alone, which `FOLDS` sees to."""
        return self

    # --- keeping -----------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {**state, "_made": {"network": self.network}} if self.trained and self.folder is None else state

    @property
    def worth_saving(self) -> bool:
        """Whether there is a network to save."""
        return self.has_learned

    def save(self, folder: Path) -> None:
        """Write the component, and its network if it was trained."""
        super().save(folder)
        if not self.worth_saving:
            return
        model = folder / MODEL
        if self.backend == "torch" or self.folder is None:
            self.write_network(model)
        elif not (model.is_dir() and model.samefile(self.folder)):
            shutil.copytree(self.folder, model, dirs_exist_ok=True)  # what ONNX Runtime runs is no network again
        if self.backend == "onnx" and not (model / GRAPHS).is_dir():
            self.write_graphs(model / GRAPHS)

    @classmethod
    def load(cls, folder: Path, *, kb: KnowledgeBase | None = None, partly: bool = False) -> Self:
        """Return the component that `save` wrote."""
        folder = folder.absolute()  # the network is read later on, maybe from another folder
        loaded = super().load(folder, kb=kb, partly=partly)
        if (folder / MODEL).is_dir():
            loaded.folder = folder / MODEL
            if loaded.learned_names_alone:
                loaded.begun = loaded.folder
        return loaded


def count_parameters(network: Any) -> int:
    """Return how many weights a network has, whoever runs it."""
    told = network.parameters
    return told if isinstance(told, int) else sum(weight.numel() for weight in told())


def tell_loss(part: str, measure: str, whole: float, small: float) -> None:
    """Say what a measure on the dev documents is with the network's own numbers, and with those of a byte each."""
    told = f"{measure} on dev {whole:.4f} in float32, {small:.4f} in int8 by ONNX Runtime"
    logger.info("%s: %s: %+.2f points", part, told, 100 * (small - whole))
