"""One training between its steps: what `linnet.train.loop.train` runs."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate.utils import broadcast, set_seed  # type: ignore[import-untyped]
from torch import Tensor, nn

from linnet.data import Document
from linnet.errors import LinnetError, TrainingError
from linnet.nn.device import autocast, has_bf16
from linnet.pipeline.component import Step
from linnet.train.args import FREE, Every, TrainArgs, factor
from linnet.train.checkpoint import Checkpoint, copied, optimizer_state, optimizer_tensors, put_weights, weights
from linnet.train.model import Trainable
from linnet.train.processes import accelerator, divided, moved
from linnet.train.randomness import Randomness
from linnet.train.row_adamw import RowAdamW

__all__ = ["Run", "Score"]

logger = logging.getLogger(__name__)

Score = Callable[[Sequence[Document]], float]


class _Losses(nn.Module):
    """The losses as a module's forward, so that what distributes gradients sees all of the network's work."""

    def __init__(self, model: Trainable, *, bf16: bool) -> None:
        super().__init__()
        self.module = model.module
        self._loss, self._bf16 = model.loss, bf16

    def forward(self, batch: Any, device: torch.device) -> dict[str, Tensor]:
        with autocast(device, bf16=self._bf16):
            losses = self._loss(batch)
        return {name: loss.float() if loss.dtype == torch.bfloat16 else loss for name, loss in losses.items()}


@dataclass
class _Place:
    """Where a training is: after `step` steps, `position` of them in epoch `epoch` (0 is the first) of `steps`."""

    step: int = 0
    epoch: int = 0
    position: int = 0
    steps: int = 0
    examples: int = 0
    seconds: float = 0.0

    def done(self) -> float:
        return self.epoch + (self.position / self.steps if self.position else 0.0)

    def advance(self) -> None:
        self.step += 1
        self.position += 1
        if self.position == self.steps:
            self.epoch, self.position = self.epoch + 1, 0


@dataclass
class _Watch:
    """What the dev scores say so far.

    Args:
        min_gain: by what share of the last gain's score a score must exceed it to count as another.
        best: the highest score.
        gained: the score of the last gain.
        waited: evaluations since then.

    >>> watch = _Watch(min_gain=0.1)
    >>> [(watch.see(score), watch.waited) for score in (0.5, 0.52, 0.56, 0.55)]
    [(True, 0), (True, 1), (True, 0), (False, 1)]
    """

    min_gain: float = 0.0
    best: float | None = None
    gained: float | None = None
    waited: int = 0

    def see(self, score: float) -> bool:
        """Note a score, and return whether it is the best so far."""
        least = 0.0 if self.gained is None else self.gained + self.min_gain * abs(self.gained)
        if self.gained is None or (score > self.gained and score >= least):
            self.gained, self.waited = score, 0
        else:
            self.waited += 1
        if self.best is not None and score <= self.best:
            return False
        self.best = score
        return True

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps of it."""
        return dataclasses.asdict(self)


class Run:
    """One training: all that lives between its steps."""

    def __init__(
        self,
        model: Trainable,
        docs: Sequence[Document],
        dev: Sequence[Document],
        *,
        score: Score | None,
        args: TrainArgs,
        folder: Path | None,
        key: str,
    ) -> None:
        if score is None and args.patience is not None:  # as in cross-fitting, or where dev documents are measured
            logger.warning("there are no dev documents to score by, so patience = %s stops nothing", args.patience)
            args = args.model_copy(update={"patience": None})
        self.model, self.docs, self.dev, self.score, self.args, self.folder = model, docs, dev, score, args, folder
        self.accelerator = accelerator()
        self.device = self.accelerator.device
        set_seed(args.seed, device_specific=True)
        bf16 = has_bf16(self.device) if args.bf16 is None else args.bf16
        told = {name: value for name, value in args if name not in FREE}
        self.told = {**told, "bf16": bf16, "key": key}
        model.module.to(self.device)
        groups = model.groups(args)  # before gradients are distributed: it may freeze parameters
        self.losses = self.accelerator.prepare(_Losses(model, bf16=bf16))
        fused = self.device.type in ("cpu", "cuda")  # several times faster, where there is such an AdamW
        self.optimizer = RowAdamW(groups, lr=args.lr, weight_decay=args.weight_decay, fused=fused)
        self.rates = [group["lr"] for group in self.optimizer.param_groups]
        self.clipped = [p for group in self.optimizer.param_groups if not group.get("rows") for p in group["params"]]
        self.place, self.watch = _Place(), _Watch(min_gain=args.min_gain)
        self.best: dict[str, Tensor] = {}  # the best weights, once there is a score
        self.beginning: dict[str, Tensor] = {}  # those at the start of the epoch, of a model that mines
        self.mines = folder is not None and bool(getattr(model, "mines", False))
        self.names: list[str] = []  # of the losses
        self.saved = (0, 0.0)  # step and seconds of the last checkpoint
        self.late = self.out_of_time = False  # by the first process' clock: a checkpoint is due; the time is over
        self._resume()
        self.began, self.first = time.monotonic() - self.place.seconds, (self.place.step, self.place.seconds)

    # --- steps -------------------------------------------------------------------------------------------------------

    def steps(self) -> Iterator[Step]:
        """Yield all steps that are left, then put the best weights in place."""
        while not self._ending():
            examples = self._draw()
            batch = self.args.batch
            order = np.random.default_rng([self.args.seed, self.place.epoch, 1]).permutation(len(examples))
            for start in range(self.place.position * batch, len(order), batch):
                yield self._step([examples[number] for number in order[start : start + batch]])
                if self._ending():
                    break
        logger.info("training ended after step %s: %s", f"{self.place.step:,}", self._ending())
        self._save()
        self._settle()

    def stop(self) -> None:
        """Keep what there is; on several processes, which may not all be stopped, the last checkpoint stays."""
        if self.accelerator.num_processes == 1:
            self._save()
        self._settle()

    def _ending(self) -> str:
        """Return why there are no more steps, "" if there are."""
        args, place = self.args, self.place
        if self.out_of_time:
            return f"max_minutes = {args.max_minutes} are over"
        if args.patience is not None and self.watch.waited >= args.patience:
            return f"no gain in {args.patience} evaluations"
        if place.epoch >= args.epochs:
            return "all epochs are done"
        if args.max_steps is not None and place.step >= args.max_steps:
            return f"max_steps = {args.max_steps} are done"
        return ""

    def _draw(self) -> Sequence[Any]:
        """Return the examples of the current epoch, whatever was drawn from the global generators before."""
        place, seed = self.place, self.args.seed
        now = weights(self.model.module) if self.mines else {}
        if place.position == 0:
            self.beginning = copied(now)
        elif self.mines:
            now = copied(now)
            put_weights(self.model.module, self.beginning, source=self.folder)
        with self._aside():
            set_seed(int(np.random.default_rng([seed, place.epoch, 2]).integers(1 << 32)))
            rng = np.random.default_rng([seed, place.epoch])
            examples = self.model.examples(self.docs, epoch=place.epoch, rng=rng)
        if self.mines and place.position:
            put_weights(self.model.module, now, source=self.folder)
        if not len(examples):
            raise LinnetError(
                f"epoch {place.epoch + 1}: no examples to train on in {len(self.docs):,} documents; "
                "they may have no mentions, or none with a concept that the knowledge base holds"
            )
        if place.position and len(examples) != place.examples:
            raise LinnetError(
                f"{self.folder}: epoch {place.epoch + 1} had {place.examples:,} examples when it was interrupted and "
                f"has {len(examples):,} now; give another folder to train from the start"
            )
        place.examples, place.steps = len(examples), math.ceil(len(examples) / self.args.batch)
        return examples

    def _step(self, examples: Sequence[Any]) -> Step:
        place, args = self.place, self.args
        epoch, done, total = place.epoch, place.done(), self._total()
        share = factor(place.step, total, args)
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            group["lr"] = rate * share
        losses = self._optimize(examples)
        place.advance()
        score = None
        if self.score is not None and (self._due(args.evaluation, place.step - 1, done) or self._ending()):
            score = self._evaluate(self.score)
        if args.checkpoint is not None and self._due(args.checkpoint, place.step - 1, done):
            self._save()
        return Step(place.step, total, losses, score, epoch + 1, self._left(total), args.lr * share)

    def _total(self) -> int:
        """Return how many steps there will be if all epochs have as many examples as this one."""
        place = self.place
        total = place.step - place.position + (self.args.epochs - place.epoch) * place.steps
        return total if self.args.max_steps is None else min(total, self.args.max_steps)

    def _left(self, total: int) -> float | None:
        """Return the seconds that are left at the pace since this process began."""
        if self._ending():
            return 0.0
        seconds = self._seconds()
        left = (seconds - self.first[1]) / (self.place.step - self.first[0]) * (total - self.place.step)
        return left if self.args.max_minutes is None else min(left, max(0.0, self.args.max_minutes * 60 - seconds))

    def _seconds(self) -> float:
        return time.monotonic() - self.began

    def _due(self, every: Every, step: int, done: float) -> bool:
        """Return whether an event is due that was not after `step` steps and `done` epochs."""
        if every.unit == "minutes":
            return self.late
        before, now = (step, self.place.step) if every.unit == "steps" else (done, self.place.done())
        return math.floor(now / every.number + 1e-9) > math.floor(before / every.number + 1e-9)

    # --- one step ----------------------------------------------------------------------------------------------------

    def _optimize(self, examples: Sequence[Any]) -> dict[str, float]:
        """Make one step with the gradient of all examples, and return their mean losses."""
        processes = self.accelerator.num_processes
        parts = divided(
            examples, parts=self.args.accumulate, processes=processes, process=self.accelerator.process_index
        )
        sums: Tensor | None = None
        for number, (part, weight) in enumerate(parts, 1):
            last = number == len(parts)  # gradients of all processes are brought together once
            with contextlib.nullcontext() if last else self.accelerator.no_sync(self.losses):
                losses = self.losses(moved(self.model.collate(part), self.device), self.device)
                self._check_names(losses)
                values = torch.stack([losses[name] for name in self.names])
                self.accelerator.backward(values.sum() * (weight * processes))  # which are averaged then
            found = values.detach() * weight
            sums = found if sums is None else sums + found
        mean = self._together(sums)
        if wrong := [name for name, value in mean.items() if not math.isfinite(value)]:
            self._refuse(f"the loss {wrong[0]!r} is {mean[wrong[0]]}")
        if self.args.clip:
            norm = float(self.accelerator.clip_grad_norm_(self.clipped, self.args.clip))
            if not math.isfinite(norm):
                self._refuse(f"the norm of the gradient is {norm}")
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return mean

    def _check_names(self, losses: Mapping[str, Tensor]) -> None:
        self.names = self.names or list(losses)
        if not losses or set(losses) != set(self.names):
            known, found = ", ".join(self.names) or "nothing", ", ".join(losses) or "nothing"
            raise LinnetError(
                f"step {self.place.step + 1}: a model must give the same losses in each step: "
                f"{known} before, {found} now"
            )

    def _together(self, sums: Any) -> dict[str, float]:
        """Return the sum over all processes, and note what the first one's clock says."""
        seconds, every, limit = self._seconds(), self.args.checkpoint, self.args.max_minutes
        late = every is not None and every.unit == "minutes" and seconds - self.saved[1] >= every.number * 60
        over = limit is not None and seconds >= limit * 60
        clock = [float(late), float(over)] if self.accelerator.is_main_process else [0.0, 0.0]
        told: Any = self.accelerator.reduce(torch.cat([sums, sums.new_tensor(clock)]), reduction="sum")
        *values, late_now, over_now = told.tolist()
        self.late, self.out_of_time = late_now > 0, over_now > 0
        return dict(zip(self.names, values, strict=True))

    def _refuse(self, what: str) -> None:
        bf16 = ", bf16 = false" if self.told["bf16"] else ""
        raise TrainingError(
            f"step {self.place.step + 1}: {what}; the weights are those before it. Try a lower lr than "
            f"{self.args.lr:g}, a longer warm-up, a lower clip than {self.args.clip:g}{bf16}"
        )

    # --- evaluation --------------------------------------------------------------------------------------------------

    def _evaluate(self, score: Score) -> float:
        with self._aside():
            value = float(score(self.dev))
        if self.accelerator.num_processes > 1:  # so that all of them stop together, and keep the same weights
            value = float(broadcast(torch.tensor([value], dtype=torch.float64, device=self.device))[0])
        if not math.isfinite(value):
            raise TrainingError(f"step {self.place.step}: the dev score is {value}; a score must be a finite number")
        if self.watch.see(value) and self.args.keep_best:
            self.best = copied(weights(self.model.module))
        return value

    @contextlib.contextmanager
    def _aside(self) -> Iterator[None]:
        """Run the network for something else than a step: it and the random states are as before afterwards."""
        states = Randomness.now(self.device)
        self.losses.eval()
        try:
            with torch.no_grad():
                yield
        finally:
            self.losses.train()
            states.restore()

    def _settle(self) -> None:
        """Leave the network with the best weights, ready to be used."""
        self.optimizer.zero_grad(set_to_none=True)
        self.losses.eval()
        if self.best:
            put_weights(self.model.module, self.best, source="the best weights")

    # --- checkpoints -------------------------------------------------------------------------------------------------

    def _save(self) -> None:
        step = self.place.step
        if self.folder is None or self.saved[0] == step:
            return
        self.place.seconds = self._seconds()
        self.saved = (step, self.place.seconds)
        packed = torch.from_numpy(Randomness.now(self.device).packed())[None].to(self.device)
        random: Any = self.accelerator.gather(packed)  # (processes, bytes)
        if not self.accelerator.is_main_process:
            return
        state = {
            "told": self.told,
            "place": dataclasses.asdict(self.place),
            "watch": self.watch.state(),
            "device": self.device.type,
            "processes": self.accelerator.num_processes,
        }
        tensors = {
            "weights": weights(self.model.module),
            "optimizer": optimizer_tensors(self.optimizer),
            "random": {"states": random.cpu()},
        }
        more = {"best": self.best, "beginning": self.beginning}
        Checkpoint(state, {**tensors, **{name: found for name, found in more.items() if found}}).write(self.folder)

    def _resume(self) -> None:
        """Go on from the newest whole checkpoint, if there is one."""
        self.losses.train()
        if self.folder is None:
            return
        found, problems = Checkpoint.newest(self.folder)
        for problem in problems:
            logger.warning("%s is damaged: the training goes on from the checkpoint before it", problem.path)
        if found is None:
            return
        self._check_same(found.state["told"])
        put_weights(self.model.module, found.tensors["weights"], source=self.folder)
        self.optimizer.load_state_dict(optimizer_state(self.optimizer, found.tensors["optimizer"]))
        self.place, self.watch = _Place(**found.state["place"]), _Watch(**found.state["watch"])
        self.best = dict(found.tensors.get("best", {}))
        self.beginning = dict(found.tensors.get("beginning", {}))
        self.saved = (self.place.step, self.place.seconds)
        self.out_of_time = self.args.max_minutes is not None and self.place.seconds >= self.args.max_minutes * 60
        states = found.tensors["random"]["states"]
        if (found.state["device"], found.state["processes"]) == (self.device.type, self.accelerator.num_processes):
            Randomness.unpacked(states[self.accelerator.process_index].numpy()).restore()
        else:
            logger.info("%s: other processors than before: dropout will differ from an unbroken training", self.folder)
        logger.info("%s: goes on after step %s", self.folder, f"{self.place.step:,}")

    def _check_same(self, told: Mapping[str, Any]) -> None:
        names = [name for name in self.told.keys() | told.keys() if told.get(name) != self.told.get(name)]
        if names:
            shown = "; ".join(f"{name} was {told.get(name)!r}, is {self.told.get(name)!r}" for name in sorted(names))
            raise LinnetError(
                f"{self.folder} holds a checkpoint of another training ({shown}): give another folder, or remove it"
            )
