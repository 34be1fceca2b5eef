"""An encoder as one file: its graph, and in the graph's properties its tokenizer and what is to be known of it.

ids, mask (texts, tokens)                                  -> hidden (texts, tokens, d)
ids, mask, and what is added to the embeddings of tokens   -> hidden (texts, tokens, d)
"""

from __future__ import annotations

import functools
import json
import os
import platform
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.errors import FormatError
from linnet.reporter import warn
from linnet.text.token_batches import CPU_TOKENS
from linnet.text.word_pieces import Special, WordPieces

__all__ = [
    "FACTS", "TOKENIZER", "GraphEncoder", "adds_bytes", "open_session", "read_encoders", "save_encoders",
    "thread_count",
]  # fmt: skip

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

FACTS = "linnet"  # the properties of the graph
TOKENIZER = "tokenizer"
MENTION, ENTITY = "mention.onnx", "entity.onnx"
VNNI = ("avx512_vnni", "avx_vnni", "amx_int8")  # processors that add products of bytes without overflow
PROCESSOR = Path("/proc/cpuinfo")


class GraphEncoder(WordPieces):
    """An encoder that ONNX Runtime runs.

    Args:
        path: the file, as `linnet.nn.onnx` writes it.

    Attributes:
        parameters: how many weights it has.
        budget: how many tokens a batch should have at most, padding included.

    Raises:
        FormatError: it is no such file.
    """

    budget = CPU_TOKENS

    def __init__(self, path: Path) -> None:
        self.path = path
        self._session = open_session(path)
        told = self._session.get_modelmeta().custom_metadata_map
        try:
            facts = json.loads(told[FACTS])
            self._special = Special(*facts["special"])
            self.size, self.window, self.parameters = (int(facts[key]) for key in ("size", "window", "parameters"))
            self._weights, self._rules = str(facts["weights"]), str(told[TOKENIZER])
            exact = bool(facts["narrow"]) or not facts["small"]
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(path, f"is no encoder that Linnet wrote ({error}); train the pipeline again") from error
        if not (exact or adds_bytes()):
            warn(f"{path}: made on a processor that adds bytes exactly, which this one does not: answers may be worse")

    @functools.cached_property
    def backend(self) -> Any:
        """The tokenizer, a ``tokenizers.Tokenizer``."""
        from tokenizers import Tokenizer  # noqa: PLC0415 - takes a moment to import

        try:
            return Tokenizer.from_str(self._rules)
        except Exception as error:  # a panic of another language is one
            raise FormatError(self.path, f"holds no tokenizer ({error}); train the pipeline again") from error

    @property
    def special(self) -> Special:
        """The ids of special tokens."""
        return self._special

    def __call__(self, ids: Ints, mask: Ints, known: Floats | None = None) -> Floats:
        """Return the last hidden states, float32 (texts, tokens, d).

        Args:
            ids: token ids, int64 (texts, tokens).
            mask: 1 for tokens, 0 for padding, int64 (texts, tokens).
            known: what is added to the embeddings of tokens, float32 (texts, tokens, d), for graphs that take it.
        """
        given = {"ids": ids, "mask": mask, **({} if known is None else {"known": known})}
        found: Floats = self._session.run(None, given)[0]
        return found

    def fingerprint(self) -> str:
        """Return a hash that tells these vectors from those of the network that PyTorch runs."""
        return self._weights

    def save(self, path: Path) -> None:
        """Write a copy.

        Raises:
            OSError: it cannot be written.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.path, path)


def read_encoders(folder: Path) -> tuple[GraphEncoder, GraphEncoder]:
    """Return the encoders of mentions and of entities that `save_encoders` wrote.

    Raises:
        FormatError: there are none.
    """
    mention = GraphEncoder(folder / MENTION)
    return mention, GraphEncoder(folder / ENTITY) if (folder / ENTITY).is_file() else mention


def save_encoders(mention: GraphEncoder, entity: GraphEncoder, folder: Path) -> None:
    """Write the encoders of mentions and of entities, once if they are the same object.

    Raises:
        OSError: they cannot be written.
    """
    mention.save(folder / MENTION)
    if entity is not mention:
        entity.save(folder / ENTITY)


def open_session(path: Path) -> Any:
    """Return what runs the graph of a file.

    Raises:
        FormatError: there is none.
    """
    import onnxruntime  # type: ignore[import-untyped] # noqa: PLC0415 - takes a moment to import

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = thread_count()
    options.log_severity_level = 3  # errors alone: warnings are of the graph's making
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # of many kinds
        problem = f"cannot be opened ({error}); delete it to have it made again, or copy or train the pipeline again"
        raise FormatError(path, problem) from error


def thread_count(told: Mapping[str, str] = os.environ) -> int:
    """Return how many threads a graph may use: as ``OMP_NUM_THREADS`` says, else one for each processor of ours.

    >>> thread_count({"OMP_NUM_THREADS": "3"})
    3
    """
    wanted = told.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if wanted.isdigit() and int(wanted):
        return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def adds_bytes() -> bool:
    """Return whether the processor adds products of bytes exactly; others of its kind cut sums off at 16 bits."""
    if platform.machine().casefold() not in ("x86_64", "amd64", "i686"):
        return True
    try:
        told = PROCESSOR.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return any(kind in told for kind in VNNI)
