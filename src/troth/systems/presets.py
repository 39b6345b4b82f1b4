"""Training settings of the papers by name: `train_tracker(…, preset="checkdst")`. Explicit settings take precedence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from troth.core.registry import Registry


class Preset(NamedTuple):
    """Fields of `FitSettings` as a paper has them."""

    about: str
    fit: Mapping[str, Any]
    few: Mapping[str, Any] = {}  # fields that differ in few-shot training (shots)
    first: Mapping[str, Any] = {}  # fields of the first phase


PRESETS: Registry[Preset] = Registry(
    "preset",
    "troth.presets",
    {
        "checkdst": Preset(
            "CheckDST, sections 3.2, B.2 and C.1: 10 epochs (20 few-shot), batches of 4, 5e-5 (1e-5 few-shot); "
            "the first phase at 1e-5",
            {"epochs": 10, "batch": 4, "rate": 5e-5},
            few={"epochs": 20, "rate": 1e-5},
            first={"epochs": 10, "batch": 64, "rate": 1e-5, "patience": 3},
        ),
        "sgp-dst": Preset(
            "SGD-X, appendix A, SGP-DST: 1 epoch, batches of 32, 2e-5, warm-up 0.1",
            {"epochs": 1, "batch": 32, "rate": 2e-5, "warmup": 0.1},
        ),
        "sgd-baseline": Preset(
            "SGD-X, appendix A, SGD baseline: 5 epochs, batches of 32, 1e-4", {"epochs": 5, "batch": 32, "rate": 1e-4}
        ),
    },
)


def preset_fit(name: str | None, *, few: bool) -> dict[str, Any]:
    """The settings of a preset; empty without a name."""
    if name is None:
        return {}
    preset = PRESETS.load(name)
    return {**preset.fit, **(preset.few if few else {})}


def preset_first(name: str | None) -> dict[str, Any]:
    """The settings of a preset's first phase; empty without a name."""
    return {} if name is None else dict(PRESETS.load(name).first)
