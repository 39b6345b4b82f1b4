"""Weights between those of two stages: the first one's, moved by a share of the way towards the second one's.

    python -m training.nli.mix --first DIR --second DIR --share 0.4 --out DIR

The second stage learns documents and forgets dialogues. Between both lies a model that does most of the first stage's
work as well as the first, and better than it what the second was trained for.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from training.nli.train import model_of


def mixed(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor], share: float) -> dict[str, torch.Tensor]:
    """(1 − share) of the first weights and share of the second; both have the same names."""
    return {name: (1 - share) * weights + share * second[name] if weights.is_floating_point() else weights
            for name, weights in first.items()}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=Path, required=True, help="the folder that the second stage began with")
    parser.add_argument("--second", type=Path, required=True, help="the folder that it ended with")
    parser.add_argument("--share", type=float, required=True, help="0: the first, 1: the second")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    tokenizer, model = model_of(options.first)
    model.load_state_dict(mixed(model.state_dict(), model_of(options.second)[1].state_dict(), options.share))
    model.save_pretrained(options.out)
    tokenizer.save_pretrained(options.out)


if __name__ == "__main__":
    main()
