"""One training loop for all recipes: a killed run goes on to the same loss curve, bit by bit on the CPU.

Nothing that is drawn depends on what was drawn before: the order of the examples follows from seed and epoch, dropout
and masks from seed and step. A checkpoint is therefore weights, optimiser and step. The folder of a run has

    log.jsonl     a line for each step (loss, rate), and one for each evaluation
    state/        the last checkpoint: weights and optimiser as safetensors, state.json
    best-jga/, …  the models that were best by the keys of `keep`
    last/         the model at the end
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from troth.core.errors import UserError
from troth.core.progress import bar, note
from troth.core.randomness import generator
from troth.storage import files
from troth.systems.trainable import Trainable

STATE, LOG, LAST = "state", "log.jsonl", "last"
WINDOW = 50  # batches that are sorted by length together: larger means less padding and less chance
BETAS = (0.9, 0.999)

Metrics = dict[str, float]
Key = Callable[[Mapping[str, float]], float]  # how good a model is: the higher, the better


@dataclass(frozen=True)
class FitSettings:
    """How a model is trained. Every field moves the result, apart from `save_every`."""

    seed: int = 0
    epochs: float = 1.0
    steps: int = 0  # 0: as many as the epochs take
    batch: int = 32  # examples per step
    rate: float = 1e-4
    warmup: float = 0.06  # share of the steps in which the rate rises
    schedule: Literal["linear", "constant"] = "linear"  # what it does then: falls to 0, or stays
    decay: float = 0.01
    clip: float = 1.0  # of the gradient's norm
    evaluate_every: int = 0  # steps; 0: at the end alone
    patience: int = 0  # evaluations without a better value of the first key before training stops; 0: never
    save_every: int = 500  # steps between checkpoints


@dataclass(frozen=True)
class Fitting:
    """What is trained, on what, and what is measured on the way."""

    model: Trainable[Any]
    examples: Sequence[Any]
    dev: Sequence[Any] = ()  # examples of which the loss is measured
    evaluate: Callable[[], Metrics] | None = None  # further measures of the model as it is
    keep: Mapping[str, Key] = field(default_factory=dict)  # folder to key; the first decides when to stop
    report: Callable[[int, Metrics], None] = lambda _step, _metrics: None  # to TensorBoard and the like
    describe: Callable[[Path, Metrics], None] = lambda _folder, _metrics: None  # adds to the folder of a kept model


class FitState(msgspec.Struct):
    """What a checkpoint holds besides weights and optimiser."""

    step: int = 0
    best: dict[str, float] = {}  # folder to the best value of its key
    stale: int = 0  # evaluations since the first key was best
    done: bool = False


class InterruptedTraining(KeyboardInterrupt):
    """Training was stopped by a signal; its last step is saved."""


def fit(fitting: Fitting, folder: Path, settings: FitSettings) -> FitState:
    """Trains a model, or goes on where the run in this folder was stopped; returns what came of it."""
    run = _Run(fitting, folder, settings)
    with bar("training") as progress, _stopping() as stopped:
        while not run.state.done:
            progress(run.state.step, run.total)
            run.step()
            due = settings.evaluate_every and run.state.step % settings.evaluate_every == 0
            if due or run.state.step >= run.total:
                run.evaluate()
            if run.state.done:
                run.finish()
            elif due or run.state.step % settings.save_every == 0 or stopped.is_set():
                run.save()
            if stopped.is_set():
                raise InterruptedTraining
    return run.state


def is_done(folder: Path) -> bool:
    """Whether a run has come to its end."""
    file = folder / STATE / "state.json"
    return file.is_file() and msgspec.json.decode(file.read_bytes(), type=FitState).done


def plan(sizes: Sequence[int], batch: int, seed: int, epoch: int) -> list[list[int]]:
    """The batches of an epoch: every example once, of similar size together, in an order drawn by seed and epoch."""
    rng = generator(seed, "batches", str(epoch))
    order = list(range(len(sizes)))
    rng.shuffle(order)
    batches = []
    for start in range(0, len(order), batch * WINDOW):
        window = sorted(order[start : start + batch * WINDOW], key=sizes.__getitem__)
        some = [window[i : i + batch] for i in range(0, len(window), batch)]
        rng.shuffle(some)
        batches += some
    return batches


class _Run:
    def __init__(self, fitting: Fitting, folder: Path, settings: FitSettings) -> None:
        import torch

        if not fitting.examples:
            raise UserError("nothing to learn from: no example comes of this data", hint="is it the right data?")
        self.fitting, self.folder, self.settings = fitting, folder, settings
        self.model = fitting.model
        self.sizes = [self.model.size(example) for example in fitting.examples]
        self.per_epoch = math.ceil(len(self.sizes) / settings.batch)
        self.total = settings.steps or max(1, math.ceil(settings.epochs * self.per_epoch))
        groups = self._groups()
        self.trained = [one for group in groups for one in group["params"]]
        torch.manual_seed(settings.seed)
        self.optimizer = torch.optim.AdamW(groups, settings.rate, BETAS, weight_decay=settings.decay, fused=True)
        self.state, self.epoch, self.batches = FitState(), -1, list[list[int]]()
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / STATE).is_dir():
            self.state = restore(self.model.module, self.optimizer, folder / STATE)
        self._cut_log()

    def step(self) -> None:
        import torch

        began, step = time.monotonic(), self.state.step
        epoch, place = divmod(step, self.per_epoch)
        if epoch != self.epoch:
            self.epoch, self.batches = epoch, plan(self.sizes, self.settings.batch, self.settings.seed, epoch)
        rng = generator(self.settings.seed, "step", str(step))
        torch.manual_seed(rng.getrandbits(63))  # of dropout
        batch = self.model.collate([self.fitting.examples[i] for i in self.batches[place]], rng)
        self.model.module.train()
        loss = self.model.loss(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.trained, self.settings.clip)
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate(step) * group["factor"]
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        value = float(loss.detach())
        if not math.isfinite(value):
            raise UserError(f"the loss is {value} at step {step}", file=str(self.folder), hint="try a lower rate")
        self.state.step += 1
        seconds = round(time.monotonic() - began, 4)
        self._log({"step": self.state.step, "loss": value, "rate": self.rate(step), "seconds": seconds})
        self.fitting.report(self.state.step, {"loss": value})

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
        self._log({"step": self.state.step, **metrics})
        if metrics:
            values = ", ".join(f"{name} {value:.3f}" for name, value in metrics.items())
            note(f"step {self.state.step} of {self.total}: {values}")
        self.fitting.report(self.state.step, metrics)
        self.state.stale += 1
        for place, (name, key) in enumerate(self.fitting.keep.items()):
            value = key(metrics)
            if name not in self.state.best or value > self.state.best[name]:
                self.state.best[name] = value
                self._keep(name, metrics)
                self.state.stale = 0 if place == 0 else self.state.stale
        patience = self.settings.patience
        self.state.done = self.state.step >= self.total or bool(patience and self.state.stale >= patience)

    def _dev_loss(self) -> float:
        total = 0.0
        order = sorted(range(len(self.fitting.dev)), key=lambda i: self.model.size(self.fitting.dev[i]))
        for start in range(0, len(order), self.settings.batch):
            some = [self.fitting.dev[i] for i in order[start : start + self.settings.batch]]
            rng = generator(self.settings.seed, "dev", str(start))  # the same masks and prompts every time
            total += float(self.model.loss(self.model.collate(some, rng))) * len(some)
        return total / len(order)

    def _keep(self, name: str, metrics: Metrics) -> None:
        with files.replaced_folder(str(self.folder / name), lambda _: None) as fresh:
            self.model.save(fresh)
            self.fitting.describe(fresh, metrics)

    def save(self) -> None:
        """Writes a checkpoint, whole or not at all."""
        with files.replaced_folder(str(self.folder / STATE), lambda _: None) as fresh:
            store(self.model.module, self.optimizer, self.state, fresh)

    def finish(self) -> None:
        self._keep(LAST, {})
        self.save()

    def _log(self, line: Mapping[str, float]) -> None:
        with files.writing(str(self.folder / LOG)), (self.folder / LOG).open("ab") as log:
            log.write(msgspec.json.encode(line) + b"\n")

    def _cut_log(self) -> None:
        """Leaves out what was logged after the checkpoint: those steps are made again."""
        log = self.folder / LOG
        if log.is_file():
            kept = [line for line in log.read_bytes().splitlines() if _step_of(line) <= self.state.step]
            with files.replaced_file(str(log), lambda _: None) as fresh:
                fresh.write(b"".join(line + b"\n" for line in kept))


def _step_of(line: bytes) -> float:
    try:
        return float(msgspec.json.decode(line)["step"])
    except (msgspec.DecodeError, KeyError, TypeError):  # the last line of a killed run
        return math.inf


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C (or a request to end) sets: the current step is finished and saved."""
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return

    def stop(*_: object) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        stopped.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# -- checkpoints -------------------------------------------------------------------------------------------------------


def store(module: Any, optimizer: Any, state: FitState, folder: Path) -> None:
    """Writes weights, optimiser and state to a folder."""
    from safetensors.torch import save_file

    save_file(weights(module), folder / "weights.safetensors")
    moments = {
        f"{number}.{name}": value.contiguous()
        for number, mine in optimizer.state_dict()["state"].items()
        for name, value in mine.items()
    }
    save_file(moments, folder / "optimizer.safetensors")
    (folder / "state.json").write_bytes(msgspec.json.encode(state))


def restore(module: Any, optimizer: Any, folder: Path) -> FitState:
    """Reads back what `store` has written."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        load_weights(module, folder / "weights.safetensors")
        moments: dict[int, dict[str, Any]] = {}
        for key, value in load_file(folder / "optimizer.safetensors").items():
            number, _, name = key.partition(".")
            moments.setdefault(int(number), {})[name] = value
        groups = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": moments, "param_groups": groups})
        return msgspec.json.decode((folder / "state.json").read_bytes(), type=FitState)
    except (OSError, SafetensorError, ValueError, RuntimeError, msgspec.DecodeError) as error:
        what = f"the checkpoint cannot be read: {str(error).splitlines()[0]}"
        raise UserError(what, file=str(folder), hint="delete this folder to train from the beginning") from error


def weights(module: Any) -> dict[str, Any]:
    """The weights of a module for safetensors: of tied ones, the first."""
    seen: set[tuple[int, int]] = set()
    tensors = {}
    for name, value in module.state_dict().items():
        place = (value.data_ptr(), value.numel())
        if place not in seen or value.numel() == 0:
            tensors[name] = value.detach().contiguous()
        seen.add(place)
    return tensors


def load_weights(module: Any, file: Path) -> None:
    """Fills a module with weights that `weights` gave."""
    from safetensors.torch import load_file

    tensors = load_file(file)
    report = module.load_state_dict(tensors, strict=False)
    missing = set(report.missing_keys) & weights(module).keys()
    if missing or report.unexpected_keys:
        names = sorted(missing or report.unexpected_keys)[:3]
        raise UserError(f"its weights are of another model: {', '.join(names)}", file=str(file))
