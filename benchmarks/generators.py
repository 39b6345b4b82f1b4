"""Generators: training beside transformers' Trainer, and an ensemble in one go beside two runs one after the other.

The two runs are ours, and those of transformers' `generate`, which reads a prompt once for each beam. Its run with
prefixes has our attention, since transformers has none with such prefixes.

The fine-tuned model is the embedded one with a little noise on all weights, the prefixes are drawn: neither changes how
long a step takes. All answers have the same number of tokens, since no end is found in them. What is compared is taken
in turn, round by round, over the same networks in memory.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import timing, trackers
from troth import demo
from troth.core.records import Schema
from troth.models.batches import padded_tensors
from troth.models.hub import embedded_files
from troth.responses import corpus
from troth.systems.generators.card import LM, GeneratorCard, describe
from troth.systems.generators.encodings import ResponseTurn, encode_acts, example, response_turns
from troth.systems.generators.model import GeneratorModel, ResponseGenerator, fingerprint, open_generator
from troth.systems.generators.prefix import add_prefixes
from troth.systems.generators.respond import decode_systems
from troth.systems.text import TextNetwork

TURNS, ANSWER, BEAMS, ROUNDS = 4, 12, 4, 3
LOAD = """
import sys
from troth.systems.generators.respond import RespondSettings, open_generators
systems = open_generators(dict(zip("abc", sys.argv[1:])), RespondSettings())
assert len({id(one.network) for one in systems.values()}) == 1
import gc; gc.collect()
sys.stdout.write(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1])
"""


def generators(folder: Path) -> tuple[Path, Path, Path]:
    """A fine-tuned generator, prefixes of its base, and prefixes of its own, on disk."""
    import torch

    base = TextNetwork(embedded_files(LM).folder(), length=256, answer=ANSWER)
    mark = fingerprint(base.module)
    ft, pt, own = (folder / name for name in ("ft", "pt", "ft-pt"))
    for place in (ft, pt, own):
        place.mkdir()
    GeneratorModel(base, "pt").save(pt)
    describe(pt, GeneratorCard("pt", base=mark, answer=ANSWER), {})
    tuned = TextNetwork(embedded_files(LM).folder(), length=256, answer=ANSWER)
    torch.manual_seed(0)
    for one in tuned.module.parameters():
        one.data += 1e-3 * torch.randn_like(one)
    tuned.save(ft)
    describe(ft, GeneratorCard("ft", base=mark, answer=ANSWER), {})
    GeneratorModel(tuned, "pt").save(own)
    describe(own, GeneratorCard("pt", model=str(ft), base=fingerprint(tuned.module), answer=ANSWER), {})
    return ft, pt, own


def seconds(systems: dict[str, ResponseGenerator], turns: Sequence[ResponseTurn], schema: Schema) -> float:
    start = time.perf_counter()
    decode_systems(systems, turns, schema, BEAMS)
    return time.perf_counter() - start


def plain_seconds(system: ResponseGenerator, turns: Sequence[ResponseTurn], schema: Schema) -> float:
    """The same lists by transformers' `generate`, all turns in one batch."""
    import torch
    from transformers import GenerationConfig

    network = system.network
    config = GenerationConfig(
        max_new_tokens=ANSWER, min_new_tokens=ANSWER, do_sample=False, num_beams=BEAMS, num_return_sequences=BEAMS,
        pad_token_id=network.padding, eos_token_id=network.end,
    )  # fmt: skip
    layers, pairs = system.prefixes or ((), None)
    start = time.perf_counter()
    ids, mask = padded_tensors([list(one) for one in system.sources(turns, schema)], network.padding, left=True)
    with torch.inference_mode(), add_prefixes(layers, pairs):
        network.module.generate(input_ids=ids, attention_mask=mask, generation_config=config)
    return time.perf_counter() - start


def ensembles(folders: tuple[Path, Path, Path], turns: Sequence[ResponseTurn], schema: Schema) -> list[tuple[str, str]]:
    """Both ways to decode two generators over one set of weights, beside two runs one after the other."""
    ft, pt, own = folders
    fine = open_generator(ft)
    prefixes_of_fine = open_generator(own, beside=[fine])
    stock = open_generator(ft)  # with transformers' own attention
    prefixes = open_generator(pt)
    difference = open_generator(ft, beside=[prefixes])
    pairs = {
        "prefixes of the fine-tuned model": (prefixes_of_fine, {"a": fine, "b": prefixes_of_fine}),
        "prefixes of the base": (prefixes, {"a": prefixes, "b": difference}),
    }
    rows = []
    for name, (other, both) in pairs.items():
        for count in (1, len(turns)):
            some = turns[:count]

            def one_after_the_other(_: int, some: Any = some, other: ResponseGenerator = other) -> float:
                return seconds({"a": fine}, some, schema) + seconds({"a": other}, some, schema)

            def in_one_go(_: int, some: Any = some, both: dict[str, ResponseGenerator] = both) -> float:
                return seconds(both, some, schema)

            def by_transformers(_: int, some: Any = some, other: ResponseGenerator = other) -> float:
                return plain_seconds(stock, some, schema) + plain_seconds(other, some, schema)

            theirs, alone, together = timing.interleaved(by_transformers, one_after_the_other, in_one_go, rounds=ROUNDS)
            what = f"{name}, {count} turn{'s' * (count > 1)}"
            rows += [
                (f"{what}: two runs", f"{median(alone):.2f} s"),
                (f"{what}: in one go", f"{median(together):.2f} s"),
                ("ratio (aim: 1.5)", f"{timing.ratio(alone, together):.2f}"),
                (f"{what}: two runs of transformers", f"{median(theirs):.2f} s"),
                ("ratio (aim: 1.5)", f"{timing.ratio(theirs, together):.2f}"),
            ]
    return rows


def main() -> None:
    read = corpus.read(demo.path("gold"))
    turns = response_turns(read)
    mine, theirs = (TextNetwork(embedded_files(LM).folder(), length=128, answer=48) for _ in range(2))
    examples = [example(mine, encode_acts(turn, read.schema, "template", {}), turn.system.gold) for turn in turns]
    rows = trackers.training(GeneratorModel(mine, "ft"), GeneratorModel(theirs, "ft"), examples)
    del mine, theirs
    with tempfile.TemporaryDirectory() as folder:
        ft, pt, own = generators(Path(folder))
        rows += ensembles((ft, pt, own), turns[:TURNS], read.schema)
        sizes = {tuple(path.name for path in paths): timing.python(LOAD, *map(str, paths), repeat=1)
                 for paths in ((ft,), (ft, own), (ft, pt))}  # fmt: skip
        rows += [(f"memory of {' with '.join(names)}", f"{int(one.out) / 1024:.0f} MB") for names, one in sizes.items()]
    timing.show(f"Generators: {LM}, {BEAMS} beams, {ANSWER} tokens, 1 and {TURNS} turns, {ROUNDS} rounds", rows)


if __name__ == "__main__":
    main()
