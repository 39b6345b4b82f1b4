"""How responses are generated: decoding, and how a context is put to a model. Loads nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from troth.core.errors import UserError

Mode = Literal["greedy", "beam", "sample", "beam-sample"]
MODES: tuple[Mode, ...] = ("greedy", "beam", "sample", "beam-sample")
Style = Literal["plain", "chat"]  # PMI-Faith's own words, or the model's template for conversations
STYLES: tuple[Style, ...] = ("plain", "chat")

HOTTEST = 10


@dataclass(frozen=True)
class Setting:
    """How to decode; `alpha` 0 with `top_p` 1 is plain decoding."""

    mode: Mode = "greedy"
    alpha: float = 0.25  # weight of faithfulness
    top_p: float = 0.6  # tokens are chosen among the likeliest that sum to this
    beams: int = 4
    temperature: float = 1.0
    max_tokens: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuses numbers out of range, and NaN, which is in none."""
        if not 0 <= self.alpha <= 1:
            raise UserError(f"alpha is {self.alpha}", hint="it is from 0 to 1")
        if not 0 < self.top_p <= 1:
            raise UserError(f"top_p is {self.top_p}", hint="it is above 0, and at most 1")
        if not 0 < self.temperature <= HOTTEST:
            raise UserError(f"temperature is {self.temperature}", hint=f"it is above 0, and at most {HOTTEST}")

    @property
    def plain(self) -> Setting:
        """A setting with the same responses: greedy decoding without PMI takes the likeliest token, whatever p is."""
        return replace(self, top_p=1.0) if self.mode == "greedy" and self.alpha == 0 else self

    @property
    def recipe(self) -> dict[str, Any]:
        """The rules that apply in this mode."""
        drawn = "sample" in self.mode
        return {
            "decode": self.mode,
            "alpha": f"{self.alpha:g}",
            "p": f"{self.top_p:g}",
            "beams": self.beams if "beam" in self.mode else None,
            "temperature": f"{self.temperature:g}" if drawn else None,
            "seed": self.seed if drawn else None,
            "max": self.max_tokens,
        }
