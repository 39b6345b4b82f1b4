"""How responses are generated: decoding, and how a context is put to a model. Loads nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from troth.core.errors import UserError
from troth.core.options import option, seed_option

Mode = Literal["greedy", "beam", "sample", "beam-sample"]
MODES: tuple[Mode, ...] = ("greedy", "beam", "sample", "beam-sample")
Style = Literal["plain", "chat"]  # PMI-Faith's own words, or the model's template for conversations
STYLES: tuple[Style, ...] = ("plain", "chat")

HOTTEST = 10


@dataclass(frozen=True)
class Setting:
    """How to decode; `alpha` 0 with `top_p` 1 is plain decoding."""

    mode: Mode = option("greedy", "How tokens are chosen.", flag="--decode", choices=MODES)
    alpha: float = option(
        0.25, "Weight of faithfulness; 0 with a top-p of 1 is plain decoding.", "NUMBER", least=0, most=1
    )
    top_p: float = option(
        0.6, "Choose among the likeliest tokens whose probabilities add up to this.", "NUMBER",
        least=0, above=True, most=1,
    )  # fmt: skip
    beams: int = option(4, "Number of beams of a beam search.", "N", least=2, most=64)
    temperature: float = option(1.0, "Temperature of sampling.", "T", least=0, above=True, most=HOTTEST)
    max_tokens: int = option(64, "Most tokens of a response.", "N", least=1, most=4096)
    seed: int = seed_option("Random seed of sampling.")

    def __post_init__(self) -> None:
        """Refuses numbers out of range, and NaN, which is in none."""
        if not 0 <= self.alpha <= 1:
            raise UserError(f"cannot be {self.alpha}", option="alpha", hint="it is from 0 to 1")
        if not 0 < self.top_p <= 1:
            raise UserError(f"cannot be {self.top_p}", option="top_p", hint="it is above 0, and at most 1")
        if not 0 < self.temperature <= HOTTEST:
            hint = f"it is above 0, and at most {HOTTEST}"
            raise UserError(f"cannot be {self.temperature}", option="temperature", hint=hint)

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
