"""Retrieval by generation: the network writes the name of a concept and cannot write anything else (Yuan et al. 2022).

    encoder  ``[BOS] left [MS] mention [ME] right [EOS]``
    decoder  ``mention is`` name ``[EOS]``

The decoder is given the prompt and writes a name under a prefix tree of all names (`linnet.nn.trie`), by beam search
(`linnet.nn.beam`). A concept's score is that of its best name: the geometric mean of the probabilities of the tokens.
The network is trained on the knowledge base alone, on the mentions of documents, or on these after that
(`linnet.retrieve.generate_training`).

Nothing here imports torch before a network is needed, so that recipes can be checked where it is not installed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, NonNegativeFloat

from linnet.data import Candidates
from linnet.errors import RecipeError
from linnet.frozen import FrozenDict
from linnet.kb import KnowledgeBase, Mask
from linnet.pipeline.learner import TrainingStage, made_once
from linnet.reporter import warn
from linnet.retrieve.queries import ContextRetriever
from linnet.text.contexts import InContext
from linnet.train.args import PartArgs
from linnet.train.network import NetworkComponent

if TYPE_CHECKING:
    from linnet.nn.beam import Written
    from linnet.nn.seq2seq import Seq2Seq
    from linnet.nn.trie import Trie, TrieFile
    from linnet.text.token_batches import TokenText

__all__ = ["FINETUNE", "PRETRAIN", "Generate", "GenerateArgs", "PretrainArgs", "plain_name"]

PRETRAIN: Literal["pretrain"] = "pretrain"  # the stages
FINETUNE: Literal["finetune"] = "finetune"
PACKAGED = "minilm"
MENTION = "{mention}"
FEWEST_TOKENS = 8
TREES = 8  # of conditions that are kept
_SYMBOLS = re.compile(r"[^\w\s]+")


def _plain_context(text: str) -> str:
    """Return a part of a context in lower case and without symbols, with the blanks at its ends."""
    return _SYMBOLS.sub(" ", text.lower())


def plain_name(text: str) -> str:
    """Return a name in lower case and without symbols, as published; one of symbols alone is left as it is.

    >>> plain_name("1,4-Dioxane"), plain_name("+")
    ('1 4 dioxane', '+')
    """
    return " ".join(_SYMBOLS.sub(" ", text.lower()).split()) or text


# --- what its training is told ----------------------------------------------------------------------------------------


class StageArgs(PartArgs):
    """What both stages have in common.

    Args:
        stage: its name.
        label_smoothing: share of the right token's probability that is divided among all others.
        judged: mentions of dev that the dev score is taken of, spread evenly; 0 = all.
    """

    SOURCE: ClassVar[str] = "generate"

    stage: Literal["pretrain", "finetune"] = FINETUNE
    label_smoothing: float = Field(default=0.1, ge=0, lt=1)
    judged: int = Field(default=500, ge=0)


class PretrainArgs(StageArgs):
    """What training on the knowledge base alone is told beside `linnet.train.args.TrainArgs`.

    Args:
        definitions: share of the examples of concepts with a definition that say it; the others say a synonym.
    """

    definitions: float = Field(default=1.0, ge=0, le=1)


class GenerateArgs(StageArgs):
    """What training on the mentions of documents is told beside `linnet.train.args.TrainArgs`.

    Args:
        target: which name of the right concept is written: the most ``similar`` to the mention by TF-IDF of its
            three-letter strings as published, a ``random`` one, the ``preferred`` or the ``shortest`` one.
        preference: weight of a second loss, by which the right name is to be more probable than the wrong names that
            the beams find, mined anew each epoch (as ANGEL does, Kim et al. 2025, with the loss of Meng et al. 2024).
        sharpness: of this loss.
    """

    target: Literal["similar", "random", "preferred", "shortest"] = "similar"
    preference: NonNegativeFloat = 0.0
    sharpness: float = Field(default=2.0, gt=0)


# --- the component ----------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Generate(NetworkComponent["Seq2Seq"], ContextRetriever):
    """Candidates are the concepts whose names the network writes for the mention.

    Args:
        kb: the knowledge base.
        k: how many candidates at most; never more than beams.
        encoder: ``minilm``, a pair of encoder and decoder that both begin with the packaged encoder; a folder, or the
            name of a Hugging Face model on this machine: an encoder with a decoder, or an encoder to make a pair of.
        beams: beginnings of names that are followed at a time.
        prompt: what the decoder reads before it writes, in which ``{mention}`` is the mention; may be empty.
        tokens: word pieces of a mention with its context; the context is centred on the mention. Of a mention that is
            longer, beginning and end are read, and a warning says of how many.
        context: mentions are read with the text around them; else alone.
        long_forms: abbreviations that the document defines are written out.
        plain: names, mentions and contexts are read and written in lower case and without symbols, as published.
        shared: a name of several concepts gives ``all`` of them, or the one with the ``fewest`` names, as published.
        length_penalty: power of a name's length by which its log probability is divided to compare beams.
        batch: mentions that are written for at once.

    Scores are between 0 and 1, the geometric mean of the probabilities of a name's tokens with the length penalty 1.
    """

    kb: KnowledgeBase
    k: int = 5
    encoder: str = PACKAGED
    beams: int = 5
    prompt: str = "{mention} is"
    tokens: int = 64
    context: bool = True
    long_forms: bool = True
    plain: bool = False
    shared: Literal["all", "fewest"] = "all"
    length_penalty: float = 1.0
    batch: int = 32

    TRAINING = "linnet.retrieve.generate_training"
    STAGES = FrozenDict({PRETRAIN: TrainingStage(PretrainArgs, documents=False), FINETUNE: TrainingStage(GenerateArgs)})
    LEARNED = frozenset({"encoder", "prompt", "context", "plain"})

    def __post_init__(self) -> None:
        lowest = {"k": 1, "beams": 1, "tokens": FEWEST_TOKENS, "batch": 1}
        problems = [
            f"{name}: {getattr(self, name)} must be at least {least}"
            for name, least in lowest.items()
            if getattr(self, name) < least
        ]
        if self.length_penalty < 0:
            problems.append(f"length_penalty: {self.length_penalty} must be at least 0")
        if problems:
            raise RecipeError("generate", problems)

    # --- the network -------------------------------------------------------------------------------------------------

    def read_network(self, folder: Path | None) -> Seq2Seq:
        """Return the network of a folder, else the pre-trained one."""
        from linnet.nn.checkpoints import checkpoint  # noqa: PLC0415 - imports torch
        from linnet.nn.device import choose_device  # noqa: PLC0415 - imports torch
        from linnet.nn.seq2seq import Seq2Seq  # noqa: PLC0415 - imports torch
        from linnet.nn.text_network import has_decoder, read_config  # noqa: PLC0415 - imports torch
        from linnet.text.templates import MARKERS  # noqa: PLC0415 - imports torch

        if folder is not None:
            network = Seq2Seq.load(folder)
        else:
            whole = has_decoder(read_config(checkpoint(self.encoder), "an encoder, or one with a decoder"))
            make = Seq2Seq.load if whole else Seq2Seq.pair
            network = make(self.encoder, markers=MARKERS[:2])
        if self.tokens > network.window:
            problem = f"tokens: {self.tokens} must be at most {network.window}, which is what {self.encoder!r} reads"
            raise RecipeError("generate", [problem])
        [rest] = network.pieces([self.prompt.replace(MENTION, "")])
        if self.tokens // 2 + len(rest) + FEWEST_TOKENS > network.window:
            problem = f"prompt: {len(rest)} word pieces beside those of a mention leave no room for a name"
            raise RecipeError("generate", [f"{problem} in {network.window}, which is what {self.encoder!r} reads"])
        return network.to(choose_device()).eval()

    @property
    def worth_saving(self) -> bool:
        """Whether there is a network to save: the pre-trained one too, if it was used."""
        return self.has_learned or "network" in self.made

    # --- texts -------------------------------------------------------------------------------------------------------

    @property
    def lead(self) -> str:
        """What stands between the prompt and a name."""
        return " " if self.prompt else ""

    def form(self, name: str) -> str:
        """Return a name as it is written, behind the prompt."""
        return self.lead + (plain_name(name) if self.plain else name)

    def prompts(self, mentions: Sequence[InContext]) -> list[list[int]]:
        """Return the word pieces of the prompts of mentions, those of a long mention cut to half of the tokens."""
        texts = [plain_name(one.text) if self.plain else one.text for one in mentions]
        before, mention, after = self.prompt.partition(MENTION)
        if not mention:
            return [self.network.pieces([self.prompt])[0]] * len(texts)
        pieces = self.network.pieces([before + text for text in texts])
        [rest] = self.network.pieces([after])
        return [[*own[: self.tokens // 2], *rest] for own in pieces]

    def inputs(self, mentions: Sequence[InContext]) -> tuple[list[Any], int]:
        """Return the tokens that the encoder reads, and how many mentions are longer than the window."""
        from linnet.text.templates import Templates  # noqa: PLC0415 - imports torch

        if self.plain:
            mentions = [
                InContext(_plain_context(one.left), plain_name(one.text), _plain_context(one.right)) for one in mentions
            ]
        return Templates(tokens=self.tokens).mentions(mentions, self.network)

    # --- names -------------------------------------------------------------------------------------------------------

    @made_once
    def tree(self) -> Trie:
        """The prefix tree of all names, opened or built at first use; it stands beside the knowledge base."""
        return self._tree_file.current()

    def tree_of(self, mask: Mask | None) -> Trie:
        """Return the tree of the names of allowed concepts (None = all); the last few are kept."""
        if mask is None:
            return self.tree
        key = np.packbits(mask.array).tobytes()
        tree = self._trees_of_masks.pop(key, None) or self.tree.allowing(mask)
        self._trees_of_masks[key] = tree  # the last
        if len(self._trees_of_masks) > TREES:
            del self._trees_of_masks[next(iter(self._trees_of_masks))]
        return tree

    @made_once
    def _trees_of_masks(self) -> dict[bytes, Trie]:
        return {}

    @property
    def _tree_file(self) -> TrieFile:
        from linnet.nn.trie import TrieFile  # noqa: PLC0415 - not needed to check a recipe

        network = self.network
        key = f"{network.tokenizer_fingerprint()} {self.plain} {self.lead!r}"
        return TrieFile(
            self.kb, network.pieces, form=self.form, end=network.end, fingerprint=key,
            vocabulary=len(network.tokenizer),
        )  # fmt: skip

    @property
    def index_files(self) -> list[Path]:
        """The files beside the knowledge base that the names are written from."""
        return self._tree_file.files

    @made_once
    def name_counts(self) -> npt.NDArray[np.int64]:
        """How many names each concept has, int64 (concepts,)."""
        return np.bincount([name.concept for name in self.kb.names()], minlength=len(self.kb))

    # --- looking up --------------------------------------------------------------------------------------------------

    def find(self, mentions: Sequence[InContext], masks: Sequence[Mask | None]) -> list[Candidates]:
        """Return the concepts whose names are written for mentions, each among the rows of its mask (None = all)."""
        trees = {id(mask): self.tree_of(mask) for mask in {id(mask): mask for mask in masks}.values()}
        texts, cut = self.inputs(mentions)
        if cut:
            warn(f"{cut:,} mentions are longer than {self.tokens} word pieces: only their ends were read")
        prompts = self.prompts(mentions)
        by_length = defaultdict(list)  # of prompts, where those of a batch must be of one
        for place, prompt in enumerate(prompts):
            by_length[0 if self.network.packed else len(prompt)].append(place)
        found = [Candidates(np.empty(0, np.int32), np.empty(0, np.float32), kb=self.kb.version)] * len(mentions)
        for _, places in sorted(by_length.items(), reverse=True):
            places.sort(key=lambda place: (len(prompts[place]), len(texts[place].ids)))  # little padding
            for start in range(0, len(places), self.batch):
                some = places[start : start + self.batch]
                batch = [texts[place] for place in some], [prompts[place] for place in some]
                lists = self.write(*batch, [trees[id(masks[place])] for place in some])
                for place, written in zip(some, lists, strict=True):
                    found[place] = self._candidates(written, trees[id(masks[place])])
        return found

    def write(
        self, texts: Sequence[TokenText], prompts: Sequence[Sequence[int]], trees: Sequence[Trie]
    ) -> list[list[Written]]:
        """Return what the network writes for texts behind prompts, under the tree of each."""
        import torch  # noqa: PLC0415 - not needed to check a recipe

        from linnet.nn.beam import search_beams  # noqa: PLC0415 - as above
        from linnet.nn.texts import padded  # noqa: PLC0415 - as above

        network = self.network
        device = next(network.parameters()).device
        with torch.inference_mode():
            ids, mask, _ = padded(texts, padding=network.tokenizer.pad_token_id, device=device)
            shown = [[network.start, *prompt] for prompt in prompts]
            return search_beams(
                network, trees, network.encode(ids, mask), mask, shown,
                beams=self.beams, length_penalty=self.length_penalty,
            )  # fmt: skip

    def _candidates(self, written: Sequence[Written], tree: Trie) -> Candidates:
        """Return the concepts of names, by their best ones; those of one name, and other ties, by row."""
        best: dict[int, tuple[float, int]] = {}
        for one in written:
            rows, concepts = tree.named(one.state)
            if self.shared == "fewest" and len(rows):
                kept = np.argmin(self.name_counts[concepts])
                rows, concepts = rows[kept : kept + 1], concepts[kept : kept + 1]
            for row, concept in zip(rows.tolist(), concepts.tolist(), strict=True):
                best.setdefault(concept, (one.score, row))
        scores = np.exp(np.array([score for score, _ in best.values()], np.float32))
        names = np.array([row for _, row in best.values()], np.int32)
        found = Candidates(np.array(list(best), np.int32), scores, names=names, kb=self.kb.version)
        return found.sorted().top(self.k)
