"""A fine-tuned model beside its base, in a quarter more memory: the base, and what training changed in eight bits.

Prefixes belong to the base, a fine-tuned generator has weights of its own: together they would need two sets. Here the
second is the difference of the two, rounded to 255 steps row by row. Rows of a batch that are the fine-tuned model's
get the product with the difference added to that with the base, so that both are decoded in one go, and the base is
read from memory once for both. What is rounded is the difference alone, which is small. Norms and biases are exact.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import torch
from transformers.pytorch_utils import Conv1D

from troth.core.errors import UserError
from troth.models.llama import Rounded

KINDS = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}  # as safetensors calls them
ROWS = 4096  # rows that are rounded at a time

_ROWS: ContextVar[slice | None] = ContextVar("tuned rows", default=None)


@contextmanager
def tune_rows(rows: slice | None) -> Iterator[None]:
    """Context in which these rows of every batch are computed by the fine-tuned model."""
    token = _ROWS.set(rows)
    try:
        yield
    finally:
        _ROWS.reset(token)


class WeightDifference:
    """Hooks on the modules of a base model that add what training changed, in the rows that ask for it."""

    def __init__(self, base: Any, folder: Path) -> None:
        owners = {id(own): (module, name) for module in base.modules() for name, own in module._parameters.items()
                  if own is not None}  # fmt: skip
        names = dict(base.named_parameters(remove_duplicate=False))
        self.numbers = 0  # bytes that the difference takes
        # All of it in one piece: small ones between what is used for a moment only would keep that memory from others.
        room = torch.empty(sum(weight.numel() for weight in base.parameters() if weight.dim() == 2), dtype=torch.int8)
        matrices: dict[int, _Matrix] = {}
        vectors: dict[int, dict[str, Any]] = {}
        for name, value in _tensors(folder):
            own = names[name]
            module, short = owners[id(own)]
            if own.dim() == 2:
                turned = isinstance(module, Conv1D)
                change = value.sub_(own.data)
                mine, room = room[: own.numel()], room[own.numel() :]
                matrices[id(own)] = _Matrix(change.t() if turned else change, mine)
                self.numbers += change.numel()
            else:
                vectors.setdefault(id(module), {})[short] = value
                self.numbers += 4 * value.numel()
        self.hooks = [
            module.register_forward_hook(hook)
            for module in base.modules()
            if (hook := _hook(module, matrices, vectors.get(id(module), {}))) is not None
        ]

    @staticmethod
    def fits(model: Any) -> bool:
        """Whether a model is made of modules that can be taken apart so: decoders are."""
        kinds = (torch.nn.Linear, torch.nn.Embedding, Conv1D)
        flat = all(
            isinstance(module, kinds) or own.dim() == 1
            for module in model.modules()
            for own in module._parameters.values()
            if own is not None
        )
        return flat and not model.config.is_encoder_decoder


class _Matrix(Rounded):
    """A difference in eight bits, to multiply by and to look rows up in; it is written to `room`."""

    def __init__(self, change: Any, room: Any) -> None:
        self.width = len(change)
        self.scale = change.abs().amax(dim=1).div_(127).clamp_(min=torch.finfo(change.dtype).tiny)
        whole = room.view(change.shape)
        for start in range(0, len(change), ROWS):
            part = slice(start, start + ROWS)
            whole[part] = (change[part] / self.scale[part, None]).round_().to(torch.int8)
        self.turned = whole.t()

    def rows(self, ids: Any) -> Any:
        return self.turned.t()[ids].float() * self.scale[ids][..., None]


def _hook(module: Any, matrices: dict[int, _Matrix], vectors: dict[str, Any]) -> Any:
    weight = module._parameters.get("weight")
    matrix = None if weight is None else matrices.get(id(weight))
    if matrix is None and not vectors:
        return None
    bias = vectors.get("bias")
    change = None if bias is None or matrix is None else bias - module.bias.data

    def product(_module: Any, inputs: Any, out: Any) -> Any:
        rows = _ROWS.get()
        if rows is None or matrix is None:
            return out
        own = out[rows].view(-1, matrix.width)
        matrix.add(own, inputs[0][rows].flatten(0, -2))
        if change is not None:
            own += change
        return out

    def lookup(_module: Any, inputs: Any, out: Any) -> Any:
        rows = _ROWS.get()
        if rows is not None and matrix is not None:
            out[rows] += matrix.rows(inputs[0][rows])
        return out

    def rerun_norm(own: Any, inputs: Any, out: Any) -> Any:
        """A norm: the same module with the other vectors."""
        rows = _ROWS.get()
        if rows is None:
            return out
        before = {name: own._parameters[name].data for name in vectors}
        try:
            for name, value in vectors.items():
                own._parameters[name].data = value
            out[rows] = own.forward(inputs[0][rows])
        finally:
            for name, value in before.items():
                own._parameters[name].data = value
        return out

    return rerun_norm if matrix is None else lookup if isinstance(module, torch.nn.Embedding) else product


def _tensors(folder: Path) -> Iterator[tuple[str, Any]]:
    """The weights of a folder one at a time, so that never more than one of them is in memory."""
    for path in sorted(folder.glob("*.safetensors")):
        with path.open("rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
            start = file.tell()
            for name, entry in header.items():
                if name == "__metadata__":
                    continue
                begin, end = entry["data_offsets"]
                file.seek(start + begin)
                kind = KINDS.get(entry["dtype"])
                if kind is None:
                    what = f"weights of the type {entry['dtype']} are not read"
                    raise UserError(what, file=str(path), hint="types that are: " + ", ".join(KINDS))
                yield name, torch.frombuffer(bytearray(file.read(end - begin)), dtype=kind).view(entry["shape"]).float()
