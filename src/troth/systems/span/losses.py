"""Losses of the span network."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from troth.systems.span.decode import INTENT, OFFERED, OFFERS, REQUESTED, VALUE
from troth.systems.span.examples import IGNORED, Status
from troth.systems.span.layout import Kind
from troth.systems.span.network import Outputs


def losses(outputs: Outputs, target: dict[str, Tensor]) -> dict[str, Tensor]:
    """One loss for each question, summed over all that it is asked of."""
    scores, status = outputs.scores, target["status"]
    made = {
        "status": functional.cross_entropy(
            scores[..., : len(Status)].flatten(0, 1), status.flatten(), ignore_index=IGNORED, reduction="sum"
        )
    }
    for name, column in (("offers", OFFERS), ("requested", REQUESTED)):
        asked = target[name] >= 0
        made[name] = functional.binary_cross_entropy_with_logits(
            scores[..., column][asked], target[name][asked].float(), reduction="sum"
        )
    for name, first in (("user", 0), ("system", 2)):
        for end in (0, 1):
            places = outputs.places[first + end]
            made[f"{name}_{end}"] = functional.cross_entropy(
                places.flatten(0, 1), target[name][..., end].flatten(), ignore_index=IGNORED, reduction="sum"
            )
    for name, column in (("value", VALUE), ("offered", OFFERED)):
        made[name] = _choice(scores[..., column], target["slot_of"], target[name])
    made["intent"] = _intent(scores[..., INTENT], target)
    chosen = target["carried"].amax(-1) > 0
    held, scored = target["carried"][chosen], outputs.carried[chosen]
    possible = scored.masked_fill(held < 0, -1e4)
    made["carried"] = (possible.logsumexp(-1) - scored.masked_fill(held < 1, -1e4).logsumexp(-1)).sum()
    return made


def _choice(scores: Tensor, slot_of: Tensor, right: Tensor) -> Tensor:
    """Cross entropy over the possible values of each slot that has a right one."""
    row, slot = torch.nonzero(right >= 0, as_tuple=True)
    if not len(row):
        return scores.sum() * 0
    mine = scores[row].masked_fill(slot_of[row] != slot[:, None], -1e4)
    return functional.cross_entropy(mine, right[row, slot], reduction="sum")


def _intent(scores: Tensor, target: dict[str, Tensor]) -> Tensor:
    """Cross entropy over the intents of a service; its own query stands for none."""
    possible = target["kinds"] == Kind.INTENT
    possible[:, 0] = True
    return functional.cross_entropy(
        scores.masked_fill(~possible, -1e4), target["intent"], ignore_index=IGNORED, reduction="sum"
    )
