"""How responses are generated: decoding, and how a context is put to a model. Loads nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Mode = Literal["greedy", "beam", "sample", "beam-sample"]
MODES: tuple[Mode, ...] = ("greedy", "beam", "sample", "beam-sample")
Style = Literal["plain", "chat"]  # PMI-Faith's own words, or the model's template for conversations
STYLES: tuple[Style, ...] = ("plain", "chat")


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
