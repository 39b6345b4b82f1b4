"""One training loop for all recipes: a killed run is resumed with the same loss curve, bit by bit on the CPU.

Nothing that is drawn depends on what was drawn before: the order of the examples follows from seed and epoch, dropout
and masks from seed and step. A checkpoint is therefore weights, optimiser and step. The folder of a run has

    log.jsonl     a line for each step (loss, rate), and one for each evaluation
    state/        the last checkpoint: weights and optimiser as safetensors; state.json, with a digest of it all
    best-jga/, …  the models that were best by the keys of `keep`
    last/         the model at the end
"""

from __future__ import annotations

import math
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Generic, Literal, TypeVar, get_args

import msgspec

from troth.core.errors import UserError
from troth.core.options import check_choice, option
from troth.core.progress import bar, note
from troth.core.randomness import generator
from troth.storage import files
from troth.storage.claims import check_equal, working_alone
from troth.systems.checkpoint import FitState, replaced_checkpoint, restore, store, weights_digest

STATE, LOG, LAST = "state", "log.jsonl", "last"
RUN = "a training run"
WINDOW = 50  # batches that are sorted by length together: larger means less padding and less chance
BETAS = (0.9, 0.999)

E = TypeVar("E")
Schedule = Literal["linear", "constant"]
Metrics = dict[str, float]
Key = Callable[[Mapping[str, float]], float]  # how good a model is: the higher, the better
Distances = Callable[[Sequence[Metrics]], Sequence[float]]  # how far each evaluation so far is from the best of all


class Trainable(ABC, Generic[E]):
    """A network that learns from examples of the type `E`."""

    module: Any  # the torch.nn.Module that is trained
    factors: ClassVar[Mapping[str, float]] = {}  # of the rate, for parameters whose names begin so; 1 for all others

    @abstractmethod
    def size(self, example: E) -> int:
        """The tokens of an example: batches hold examples of similar size."""

    @abstractmethod
    def collate(self, examples: Sequence[E], rng: Random) -> Any:
        """A batch. Random choices (masks, prompts) use `rng`, which depends only on seed and step."""

    @abstractmethod
    def loss(self, batch: Any) -> Any:
        """The loss of a batch: a tensor with one number."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Writes weights (safetensors) and all that is needed to open the model again to a folder that exists."""


@dataclass(frozen=True)
class FitSettings:
    """Settings of the training loop. Every field except `save_every` changes the result."""

    seed: int = 0
    epochs: float = option(1.0, "Passes over the data.", "NUMBER")
    steps: int = option(0, "Number of steps, in place of epochs.", "N", least=1, command=None)
    batch: int = option(32, "Examples per step.", "N", least=1)
    rate: float = option(1e-4, "Learning rate (its peak, where the schedule changes it).", "NUMBER")
    warmup: float = 0.06  # share of the steps in which the rate rises
    schedule: Schedule = "linear"  # after the warm-up: linear decay to 0, or constant
    decay: float = 0.01
    clip: float = 1.0  # of the gradient's norm
    bfloat16: bool = option(False, "Compute in bfloat16: much faster on processors that support it, slower on others.")
    evaluate_every: int = option(0, "Steps between evaluations (0 = only at the end).", "N")
    patience: int = option(0, "Stop after N evaluations without improvement (0 = never).", "N")
    save_every: int = option(500, "Steps between checkpoints to resume from.", "N")

    def __post_init__(self) -> None:
        check_choice("schedule", self.schedule, get_args(Schedule))
        for name, kind in (("batch", int), ("save_every", int), ("epochs", float), ("rate", float), ("clip", float)):
            _check_number(name, getattr(self, name), kind, positive=True)
        for name in ("steps", "evaluate_every", "patience"):
            _check_number(name, getattr(self, name), int)
        for name in ("warmup", "decay"):
            _check_number(name, getattr(self, name), float)


def _check_number(name: str, value: Any, kind: type, *, positive: bool = False) -> None:
    fits = isinstance(value, int if kind is int else int | float) and math.isfinite(value)
    if not fits or value < 0 or (positive and value == 0):
        what = "a whole number" if kind is int else "a finite number"
        raise UserError(f"cannot be '{value}'", option=name, hint=f"{what}, {'above 0' if positive else '0 or more'}")


@dataclass(frozen=True)
class Fitting:
    """A model to train, its examples, and the measures during training."""

    model: Trainable[Any]
    examples: Sequence[Any]
    dev: Sequence[Any] = ()  # examples to measure the loss on
    evaluate: Callable[[], Metrics] | None = None  # further measures of the model as it is
    keep: Mapping[str, Key] = field(default_factory=dict)  # folder to key; the first decides when to stop
    report: Callable[[int, Metrics], None] = lambda _step, _metrics: None  # to TensorBoard and others
    describe: Callable[[Path, Metrics], None] = lambda _folder, _metrics: None  # adds to the folder of a kept model
    inputs: Mapping[str, str] = field(default_factory=dict)  # digests of the data; others are not resumed with
    nearest: Mapping[str, Distances] = field(default_factory=dict)  # folder to distances: the least one is kept


class InterruptedTraining(KeyboardInterrupt):
    """Training was stopped by a signal; the last complete step is saved."""


def fit(fitting: Fitting, folder: Path, settings: FitSettings) -> FitState:
    """Trains a model, or resumes the run in this folder; returns its final state."""
    with files.writing(str(folder)):
        folder.mkdir(parents=True, exist_ok=True)
    with _handle_signals() as signals, working_alone(folder):
        run = _Run(fitting, folder, settings, signals)
        try:
            with bar("training") as progress:
                while not run.state.done:
                    progress(run.state.step, run.total)
                    if run.is_due():
                        run.evaluate()
                    else:
                        run.step()
        except InterruptedTraining:
            run.save()
            raise
    return run.state


def plan(sizes: Sequence[int], batch: int, seed: int, epoch: int) -> list[list[int]]:
    """The batches of an epoch: every example once, of similar size together, in an order drawn by seed and epoch."""
    rng = generator(seed, "batches", str(epoch))
    order = list(range(len(sizes)))
    rng.shuffle(order)
    batches = []
    for start in range(0, len(order), batch * WINDOW):
        window = sorted(order[start : start + batch * WINDOW], key=sizes.__getitem__)
        own = [window[i : i + batch] for i in range(0, len(window), batch)]
        rng.shuffle(own)
        batches += own
    return batches


class _Run:
    def __init__(self, fitting: Fitting, folder: Path, settings: FitSettings, signals: _Signals) -> None:
        import torch

        if not fitting.examples:
            raise UserError("this data gives no training examples", hint="is it the right data?")
        self.fitting, self.folder, self.settings, self.signals = fitting, folder, settings, signals
        self.model = fitting.model
        self.sizes = [self.model.size(example) for example in fitting.examples]
        self.per_epoch = math.ceil(len(self.sizes) / settings.batch)
        self.total = settings.steps or max(1, math.ceil(settings.epochs * self.per_epoch))
        groups = self._groups()
        self.trained = [one for group in groups for one in group["params"]]
        torch.manual_seed(settings.seed)
        self.optimizer = torch.optim.AdamW(groups, settings.rate, BETAS, weight_decay=settings.decay, fused=True)
        inputs = {**fitting.inputs, "base model": weights_digest(self.model.module)}
        self.state, self.epoch, self.batches = FitState(inputs=inputs), -1, list[list[int]]()
        self.points: list[Metrics] = []  # the measures of each evaluation
        files.recover(folder / STATE)
        if (folder / STATE).is_dir():
            self.state = restore(self.model.module, self.optimizer, folder / STATE)
            if self.state.inputs:  # an earlier version did not record them
                check_equal(folder, RUN, self.state.inputs, inputs)
        self._cut_log()
        signals.begin()

    def is_due(self) -> bool:
        """Whether the next thing to do is an evaluation."""
        step, every = self.state.step, self.settings.evaluate_every
        due = step >= self.total or bool(step and every and step % every == 0)
        return due and self.state.evaluated < step

    def step(self) -> None:
        import torch

        began, step = time.monotonic(), self.state.step
        epoch, index = divmod(step, self.per_epoch)
        if epoch != self.epoch:
            self.epoch, self.batches = epoch, plan(self.sizes, self.settings.batch, self.settings.seed, epoch)
        rng = generator(self.settings.seed, "step", str(step))
        torch.manual_seed(rng.getrandbits(63))  # of dropout
        batch = self.model.collate([self.fitting.examples[i] for i in self.batches[index]], rng)
        self.model.module.train()
        with torch.autocast("cpu", torch.bfloat16, enabled=self.settings.bfloat16):
            loss = self.model.loss(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.trained, self.settings.clip)
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate(step) * group["factor"]
        value = float(loss.detach())
        if not math.isfinite(value):
            raise UserError(f"the loss is {value} at step {step}", file=str(self.folder), hint="try a lower rate")
        with self.signals.hold():  # weights, step and log belong together
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            self.state.step += 1
            seconds = round(time.monotonic() - began, 4)
            self._log({"step": self.state.step, "loss": value, "rate": self.rate(step), "seconds": seconds})
            self.fitting.report(self.state.step, {"loss": value})
            if self.state.step % self.settings.save_every == 0:
                self.save()

    def _groups(self) -> list[dict[str, Any]]:
        """The parameters that are trained, by the factor of their rate."""
        groups: dict[float, list[Any]] = {}
        for name, one in self.model.module.named_parameters():
            if one.requires_grad:
                factor = next((mine for prefix, mine in self.model.factors.items() if name.startswith(prefix)), 1.0)
                groups.setdefault(factor, []).append(one)
        return [{"params": mine, "factor": factor} for factor, mine in groups.items()]

    def rate(self, step: int) -> float:
        """Rises to the full rate, then falls in a line to 0, or stays."""
        warm = max(1, round(self.settings.warmup * self.total))
        rising, falling = (step + 1) / warm, (self.total - step) / max(1, self.total - warm)
        if self.settings.schedule == "constant":
            falling = 1.0
        return self.settings.rate * min(1.0, rising, falling)

    def evaluate(self) -> None:
        """Measures the model, keeps it where it is the best so far, and decides whether to stop."""
        import torch

        self.model.module.eval()
        metrics: Metrics = {}
        with torch.no_grad():
            if self.fitting.dev:
                metrics["dev_loss"] = self._dev_loss()
            if self.fitting.evaluate is not None:
                metrics |= self.fitting.evaluate()
        with self.signals.hold():
            self._judge(metrics)

    def _judge(self, metrics: Metrics) -> None:
        self._log({"step": self.state.step, **metrics})
        if metrics:
            values = ", ".join(f"{name} {value:.3f}" for name, value in metrics.items())
            note(f"step {self.state.step} of {self.total}: {values}")
        self.fitting.report(self.state.step, metrics)
        self.state.stale += 1
        for number, (name, key) in enumerate(self.fitting.keep.items()):
            value = key(metrics)
            if name not in self.state.best or value > self.state.best[name]:
                self.state.best[name] = value
                self._keep(name, metrics)
                self.state.stale = 0 if number == 0 else self.state.stale
        self.points.append(metrics)
        for name, distances in self.fitting.nearest.items():
            nearest, self.state.best[name] = _find_nearest(self.points, distances)
            if nearest == len(self.points) - 1:
                self._keep(name, metrics)
        patience = self.settings.patience
        self.state.done = self.state.step >= self.total or bool(patience and self.state.stale >= patience)
        self.state.evaluated = self.state.step
        if self.state.done:
            self._keep(LAST, metrics)
        self.save()

    def _dev_loss(self) -> float:
        total = 0.0
        order = sorted(range(len(self.fitting.dev)), key=lambda i: self.model.size(self.fitting.dev[i]))
        for start in range(0, len(order), self.settings.batch):
            batch = [self.fitting.dev[i] for i in order[start : start + self.settings.batch]]
            rng = generator(self.settings.seed, "dev", str(start))  # the same masks and prompts every time
            total += float(self.model.loss(self.model.collate(batch, rng))) * len(batch)
        return total / len(order)

    def _keep(self, name: str, metrics: Metrics) -> None:
        with replaced_checkpoint(self.folder / name) as fresh:
            self.model.save(fresh)
            self.fitting.describe(fresh, metrics)

    def save(self) -> None:
        with replaced_checkpoint(self.folder / STATE) as fresh:
            store(self.model.module, self.optimizer, self.state, fresh)

    def _log(self, line: Mapping[str, float]) -> None:
        with files.writing(str(self.folder / LOG)), (self.folder / LOG).open("ab") as log:
            log.write(msgspec.json.encode(line) + b"\n")

    def _cut_log(self) -> None:
        """Leaves out what was logged after the checkpoint: those steps are made again. Reads the evaluations before."""
        log = self.folder / LOG
        if log.is_file():
            kept = [line for line in log.read_bytes().splitlines() if _is_before(line, self.state)]
            with files.replaced_file(str(log), lambda _: None) as fresh:
                fresh.write(b"".join(line + b"\n" for line in kept))
            entries = [msgspec.json.decode(line, type=Metrics) for line in kept]
            self.points = [entry for entry in entries if "rate" not in entry]


def _find_nearest(points: Sequence[Metrics], distances: Distances) -> tuple[int, float]:
    """The best evaluation, whose model is kept, and its distance: a new one replaces it if it is nearer.

    Distances of earlier evaluations change with each further one, so the choices are made again from the first on.
    """
    kept = 0
    for count in range(1, len(points) + 1):
        far = distances(points[:count])
        if far[count - 1] < far[kept]:
            kept = count - 1
    return kept, far[kept]


def _is_before(line: bytes, state: FitState) -> bool:
    """Whether a line of the log is of a step, or of an evaluation, that the checkpoint includes."""
    try:
        entry = msgspec.json.decode(line, type=dict[str, float])
        return entry["step"] <= (state.step if "rate" in entry else state.evaluated)
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError):  # the last line of a killed run
        return False


class _Signals:
    """Ctrl-C, or a request to end, stops at once; in a block that is `held`, when the block is done."""

    def __init__(self) -> None:
        self.begun = self.holding = self.stopped = False

    def receive(self, *_: object) -> None:
        again, self.stopped = self.stopped, True
        if not self.begun or again:  # nothing to save yet; or somebody does not want to wait
            raise KeyboardInterrupt
        if not self.holding:
            raise InterruptedTraining

    def begin(self) -> None:
        """From now on there is something to save."""
        self.begun = True

    @contextmanager
    def hold(self) -> Iterator[None]:
        self.holding = True
        try:
            yield
        finally:
            self.holding = False
        if self.stopped:
            raise InterruptedTraining


@contextmanager
def _handle_signals() -> Iterator[_Signals]:
    """Signals to end, as `_Signals` handles them; in the main thread only, where they arrive."""
    signals = _Signals()
    if threading.current_thread() is not threading.main_thread():
        yield signals
        return
    before = {number: signal.signal(number, signals.receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
