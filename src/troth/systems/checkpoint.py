"""Checkpoints of a training: weights and optimiser as safetensors, the progress, and a digest of everything."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec

from troth.core.decode import reading
from troth.core.errors import UserError
from troth.storage import files

WEIGHTS, OPTIMIZER, STATE_FILE = "weights.safetensors", "optimizer.safetensors", "state.json"


class FitState(msgspec.Struct):
    """State of a training besides weights and optimiser."""

    step: Annotated[int, msgspec.Meta(ge=0)] = 0
    evaluated: int = 0  # the step of the last evaluation
    best: dict[str, float] = {}  # folder to the best value of its key
    stale: int = 0  # evaluations since the first key was best
    done: bool = False
    inputs: dict[str, str] = {}  # digests of the data and of the weights that the training began with
    seal: str = ""  # a digest of all this and of the files of the checkpoint


@contextmanager
def replaced_checkpoint(folder: Path) -> Iterator[Path]:
    """A new folder that replaces the previous checkpoint as a whole; errors of safetensors become UserErrors."""
    from safetensors import SafetensorError

    try:
        with files.replaced_folder(str(folder), lambda _: None) as fresh:
            yield fresh
    except SafetensorError as error:
        raise UserError(f"cannot be written: {error}", file=str(folder), hint=files.NO_ROOM) from error


def store(module: Any, optimizer: Any, state: FitState, folder: Path) -> None:
    from safetensors.torch import save_file

    save_file(weights(module), folder / WEIGHTS)
    moments = {
        f"{number}.{name}": value.contiguous()
        for number, mine in optimizer.state_dict()["state"].items()
        for name, value in mine.items()
    }
    save_file(moments, folder / OPTIMIZER)
    state.seal = _seal(state, folder)
    (folder / STATE_FILE).write_bytes(msgspec.json.encode(state))


def restore(module: Any, optimizer: Any, folder: Path) -> FitState:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    state = _read_state(folder)
    load_weights(module, folder / WEIGHTS)
    with _reading(folder, SafetensorError, RuntimeError):
        moments: dict[int, dict[str, Any]] = {}
        for key, value in load_file(folder / OPTIMIZER).items():
            number, _, name = key.partition(".")
            moments.setdefault(int(number), {})[name] = value
        groups = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": moments, "param_groups": groups})
    return state


def _read_state(folder: Path) -> FitState:
    """The state of a checkpoint, if all files of it are as they were written."""
    with _reading(folder):
        state = msgspec.json.decode((folder / STATE_FILE).read_bytes(), type=FitState)
        if state.seal and state.seal != _seal(state, folder):
            raise ValueError("it is not what was written: its SHA-256 differs")
    if not state.seal:  # of an earlier version, which wrote checkpoints after evaluations only
        state.evaluated = state.step
    return state


def _seal(state: FitState, folder: Path) -> str:
    content = msgspec.to_builtins(msgspec.structs.replace(state, seal=""))
    if not state.inputs:  # of an earlier version, which did not record them
        del content["inputs"]
    parts = [*(files.sha256(folder / name) for name in (WEIGHTS, OPTIMIZER)), content]
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()


def _reading(folder: Path, *also: type[Exception]) -> AbstractContextManager[None]:
    hint = "delete this folder to train from the beginning"
    return reading(folder, "the checkpoint cannot be read", hint=hint, also=(ValueError, *also))


def weights(module: Any) -> dict[str, Any]:
    """The weights of a module for safetensors: of tied ones, the first."""
    seen: set[tuple[int, int]] = set()
    tensors = {}
    for name, value in module.state_dict().items():
        memory = (value.data_ptr(), value.numel())
        if memory not in seen or value.numel() == 0:
            tensors[name] = value.detach().contiguous()
        seen.add(memory)
    return tensors


def weights_digest(module: Any) -> str:
    """A digest of names and values of all weights."""
    import torch

    whole = hashlib.sha256()
    for name, value in weights(module).items():
        whole.update(f"{name} {tuple(value.shape)} {value.dtype} ".encode())
        whole.update(value.flatten().view(torch.uint8).cpu().numpy())
    return whole.hexdigest()


def load_weights(module: Any, file: Path) -> None:
    """Fills a module with weights that `weights` gave."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        report = module.load_state_dict(load_file(file), strict=False)
    except (OSError, SafetensorError, RuntimeError) as error:
        lines = [line.strip() for line in str(error).splitlines()]
        raise UserError(
            f"cannot be read as the weights of this model: {lines[1 % len(lines)]}", file=str(file)
        ) from error
    missing = set(report.missing_keys) & weights(module).keys()
    if missing or report.unexpected_keys:
        names = sorted(missing or report.unexpected_keys)[:3]
        raise UserError(f"its weights are of another model: {', '.join(names)}", file=str(file))
    for name, value in module.named_parameters():
        if not value.isfinite().all():
            raise UserError(f"its weights are damaged: '{name}' is not finite", file=str(file))
