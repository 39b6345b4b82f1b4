"""Generators: training beside transformers' Trainer, and an ensemble in one go beside two runs one after the other.

The fine-tuned model is the embedded one with a little noise on all weights, the prefixes are drawn: neither changes how
long a step takes. All answers have the same number of tokens, since no end is found in them.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import timing, trackers
from troth import demo
from troth.models.hub import embedded
from troth.responses import corpus
from troth.systems.generators.encodings import ResponseTurn, encoded, response_turns
from troth.systems.generators.model import (
    LM,
    GeneratorCard,
    GeneratorModel,
    ResponseGenerator,
    describe,
    example,
    fingerprint,
    open_generator,
)
from troth.systems.generators.respond import decoded
from troth.systems.text import TextNetwork

TURNS, ANSWER, BEAMS = 8, 24, 4
LOAD = """
import sys
from troth.systems.generators.respond import RespondSettings, opened
systems = opened(dict(zip("abc", sys.argv[1:])), RespondSettings())
assert len({id(one.network) for one in systems.values()}) == 1
import gc; gc.collect()
sys.stdout.write(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1])
"""


def generators(folder: Path) -> tuple[Path, Path, Path]:
    """A fine-tuned generator, prefixes of its base, and prefixes of its own, on disk."""
    import torch

    base = TextNetwork(embedded(LM).folder(), length=256, answer=ANSWER)
    mark = fingerprint(base.module)
    ft, pt, own = (folder / name for name in ("ft", "pt", "ft-pt"))
    for place in (ft, pt, own):
        place.mkdir()
    GeneratorModel(base, "pt").save(pt)
    describe(pt, GeneratorCard("pt", base=mark, answer=ANSWER), {})
    tuned = TextNetwork(embedded(LM).folder(), length=256, answer=ANSWER)
    torch.manual_seed(0)
    for one in tuned.module.parameters():
        one.data += 1e-3 * torch.randn_like(one)
    tuned.save(ft)
    describe(ft, GeneratorCard("ft", base=mark, answer=ANSWER), {})
    GeneratorModel(tuned, "pt").save(own)
    describe(own, GeneratorCard("pt", model=str(ft), base=fingerprint(tuned.module), answer=ANSWER), {})
    return ft, pt, own


def seconds(systems: dict[str, ResponseGenerator], turns: Sequence[ResponseTurn], read: corpus.ActCorpus) -> float:
    """The best of three runs."""
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        decoded(systems, turns, read.schema, BEAMS)
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    read = corpus.read(demo.path("gold"))
    turns = response_turns(read)[:TURNS]
    network = TextNetwork(embedded(LM).folder(), length=256, answer=64)
    every = response_turns(read)[: trackers.STEPS * trackers.BATCH]
    examples = [example(network, encoded(turn, read.schema, "template", {}), turn.system.gold) for turn in every]
    model = GeneratorModel(network, "ft")
    mine = trackers.ours(model, examples)
    theirs = trackers.trainer(GeneratorModel(TextNetwork(embedded(LM).folder(), length=256, answer=64), "ft"), examples)
    with tempfile.TemporaryDirectory() as folder:
        ft, pt, own = generators(Path(folder))
        rows = [
            ("training, examples per second", f"{mine:.2f}"),
            ("transformers' Trainer, examples per second", f"{theirs:.2f}"),
            ("ratio (at least 1)", f"{mine / theirs:.2f}"),
        ]
        for name, tuned in (("prefixes of the base", pt), ("prefixes of the fine-tuned model", own)):
            alone = sum(seconds({"one": open_generator(path)}, turns[:count], read) for path in (ft, tuned)
                        for count in (1, TURNS))  # fmt: skip
            first = open_generator(tuned) if tuned == pt else open_generator(ft)
            second = open_generator(ft if tuned == pt else tuned, beside=[first])
            both = {"a": first, "b": second}
            together = sum(seconds(both, turns[:count], read) for count in (1, TURNS))
            rows += [
                (f"{name}: two runs one after the other", f"{alone:.2f} s"),
                (f"{name}: in one go", f"{together:.2f} s"),
                ("ratio", f"{alone / together:.2f}"),
            ]
        sizes = {tuple(path.name for path in paths): timing.python(LOAD, *map(str, paths), repeat=1)
                 for paths in ((ft,), (ft, own), (ft, pt))}  # fmt: skip
        rows += [
            (f"memory of {' with '.join(names)}", f"{int(one.out) / 1024:.0f} MB, peak {one.peak_mb:.0f} MB")
            for names, one in sizes.items()
        ]
    timing.show(f"Generators: {LM}, {BEAMS} beams, {ANSWER} tokens, 1 and {TURNS} turns", rows)
