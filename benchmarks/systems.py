"""Ten systems on MultiWOZ test: one command beside mwzeval's procedure in its plainest form, with fuzzywuzzy.

The systems are noisy copies of published predictions (`../shared`), or of gold where these are not at hand.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

from benchmarks import timing
from benchmarks.corpus import CACHE
from troth import readers

SYSTEMS = 10
NOISE = 0.02  # share of values that another system gets wrong
SHARED = Path(os.environ.get("TROTH_SHARED", "../shared"))
GOLD = SHARED / "data/multiwoz/test.json.zip"
PUBLISHED = [SHARED / "data/mwzeval/pptod.json", SHARED / "data/mwzeval/soloist.json"]

# The procedure of the public script in its plainest form, without its reading of a database: gold is read for each
# system, both states are normalised, and every slot of every turn is compared with fuzzywuzzy's partial ratio. Of
# troth it has the normaliser alone, without its memory of values; the public script remembers none either.
PEER = """
import json, re, sys, zipfile
from fuzzywuzzy import fuzz
from troth.text.mwzeval import mwzeval_slot, mwzeval_value
from troth.text.normalize import multiwoz_slot
value = mwzeval_value.__wrapped__
NOTHING = {"", "none", "not mentioned", "dontcare", "dont care", "do n't care", "don't care"}
def golds(path):
    archive = zipfile.ZipFile(path)
    dialogues = json.loads(archive.read(archive.namelist()[0]))
    return {key.lower().removesuffix(".json"): one["log"][1::2] for key, one in dialogues.items()}
def truth(metadata):
    state = {}
    for domain, parts in metadata.items():
        for part in ("semi", "book"):
            for slot, raw in parts[part].items():
                if slot == "booked" or raw in NOTHING:
                    continue
                text = re.split("[|<>]", raw)[0].strip()
                if text not in NOTHING:
                    state.setdefault(domain, {})[slot] = text
    return normal(state)
def normal(state):
    normalized = {}
    for domain, slots in state.items():
        for slot, text in slots.items():
            name = mwzeval_slot(multiwoz_slot(domain.lower(), slot))
            normalized[domain.lower(), name] = value(name, text)
    return normalized
for path in sys.argv[2:]:
    gold = golds(sys.argv[1])
    joint = turns = right = active = predicted = 0
    for key, answers in json.load(open(path)).items():
        for turn, answer in zip(gold[key.lower().removesuffix(".json")], answers):
            mine, theirs = truth(turn["metadata"]), normal(answer["state"])
            same = [k for k in mine if k in theirs and fuzz.partial_ratio(mine[k], theirs[k]) > 95]
            joint += len(same) == len(mine) == len(theirs)
            turns, right, active, predicted = turns + 1, right + len(same), active + len(mine), predicted + len(theirs)
    print(json.dumps([joint / turns, right / predicted, right / active]))
"""


def noisy(source: Path, out: Path, seed: int) -> None:
    """A copy of predictions in which some values are replaced by others of the same slot."""
    chance = random.Random(seed)
    dialogues = json.loads(source.read_text())
    values: dict[str, list[str]] = {}
    slots = [s for turns in dialogues.values() for turn in turns for s in turn["state"].values()]
    for slot in slots:
        for name, value in slot.items():
            values.setdefault(name, []).append(value)
    for slot in slots:
        for name in slot:
            if chance.random() < NOISE:
                slot[name] = chance.choice(values[name])
    out.write_text(json.dumps(dialogues))


def systems() -> list[str]:
    folder = CACHE / "systems"
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"system{number}.json" for number in range(SYSTEMS)]
    for number, file in enumerate(files):
        if not file.is_file():
            noisy(PUBLISHED[number % len(PUBLISHED)], file, number)
    return [str(file) for file in files]


def main() -> None:
    if not GOLD.is_file():
        timing.show("ten systems on MultiWOZ test", [("left out", f"{GOLD} is not here")])
        return
    preds = systems()
    metrics = "jga,slot_precision,slot_recall"
    ours = timing.troth("dst", str(GOLD), *preds, "--metrics", metrics, "--workers", "1", "--json", repeat=3)
    every = timing.troth("dst", str(GOLD), *preds, "--workers", "1", "--json", repeat=2)
    peer = timing.python(PEER, str(GOLD), *preds, repeat=2)
    scores = [score["value"] for score in json.loads(ours.out)]
    plain = [value for line in peer.out.splitlines() for value in json.loads(line)]
    if max(abs(a - b) for a, b in zip(scores, plain, strict=True)) > 1e-9:
        raise SystemExit("troth and the plain procedure disagree")
    size = sum(1 for one in readers.gold(str(GOLD)) for _ in one.user_turns())
    timing.show(
        f"ten systems on MultiWOZ test ({size:,} user turns each): profile mwzeval, processor time",
        [
            ("troth dst, JGA, slot precision and recall", f"{ours.cpu:.2f} s, peak {ours.peak_mb:.0f} MB"),
            ("troth dst, all metrics with intervals", f"{every.cpu:.2f} s, peak {every.peak_mb:.0f} MB"),
            ("the plain procedure, same three figures", f"{peer.cpu:.2f} s"),
            ("plain / troth (at least 3 wanted)", f"{peer.cpu / ours.cpu:.1f} ×"),
        ],
    )
