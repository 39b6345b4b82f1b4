"""State tracking: the whole command beside NeMo's port of the SGD evaluator and beside merely parsing the files."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

from benchmarks import timing
from benchmarks.corpus import CACHE, copies, sgd_dev

WHEEL = "nemo_toolkit==1.20.0"
MODULES = ("nemo/collections/nlp/data/dialogue/sgd/evaluate.py", "nemo/collections/nlp/metrics/sgd_metrics.py")

PEER = """
import glob, json, sys
sys.path.insert(0, sys.argv[1])
from nemo.collections.nlp.data.dialogue.sgd import evaluate
gold, pred = sys.argv[2:]
schemas = {service["service_name"]: service for service in json.load(open(gold + "/schema.json"))}
metrics, _ = evaluate.get_metrics(
    evaluate.get_dataset_as_dict(sorted(glob.glob(gold + "/dialogues_*.json"))),
    evaluate.get_dataset_as_dict(sorted(glob.glob(pred + "/dialogues_*.json"))),
    schemas, set(), False, True,
)
print(json.dumps(metrics["#ALL_SERVICES"]))
"""

PARSE = """
import glob, sys, time
import orjson
files = sorted(glob.glob(sys.argv[1] + "/*.json")) + sorted(glob.glob(sys.argv[2] + "/*.json"))
start = time.perf_counter()
for file in files:
    with open(file, "rb") as data:
        orjson.loads(data.read())
print(time.perf_counter() - start)
"""

BOOTSTRAP = """
import time
import numpy as np
from troth import stats
rng = np.random.default_rng(0)
den = rng.integers(5, 20, (4201, 16)).astype(float)
num = np.floor(den * rng.random((4201, 16)))
start = time.perf_counter()
stats.bootstrap(num, den, resamples=10_000)
print(time.perf_counter() - start)
"""


def peer() -> Path:
    """NeMo's two files from its wheel, with the packages around them and its logger stubbed."""
    home = CACHE / "nemo"
    if not (home / MODULES[1]).is_file():
        download = CACHE / "wheels"
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(download), WHEEL], check=True
        )
        with zipfile.ZipFile(next(download.glob("nemo_toolkit-1.20.0*.whl"))) as wheel:
            for name in MODULES:
                for folder in list(Path(name).parents)[:-1]:
                    (home / folder).mkdir(parents=True, exist_ok=True)
                    (home / folder / "__init__.py").touch()
                (home / name).write_bytes(wheel.read(name))
        (home / "nemo/utils").mkdir(exist_ok=True)
        (home / "nemo/utils/__init__.py").write_text("import logging\n")
    return home


def main() -> None:
    gold, pred, name = sgd_dev()
    ours = timing.troth("dst", gold, pred, "--json")
    nemo = timing.python(PEER, str(peer()), gold, pred, repeat=2)
    parse = min(float(timing.python(PARSE, gold, pred, repeat=1).out) for _ in range(5))
    size = sum(file.stat().st_size for folder in (gold, pred) for file in Path(folder).glob("*.json")) / 1e6
    same = timing.troth("dst", gold, pred, "--profile", "nemo", "--metrics", "jga,aga", "--json", repeat=1)
    ported = json.loads(nemo.out)
    for score, key in zip(json.loads(same.out), ("joint_goal_accuracy", "average_goal_accuracy"), strict=True):
        if round(100 * score["value"], 2) != ported[key]:  # it rounds before it returns
            raise SystemExit(f"profile nemo gives {score['metric']} {score['value']}, NeMo itself {ported[key]}")
    timing.show(
        f"state tracking on {name} ({size:.0f} MB): all metrics, intervals, signatures",
        [
            ("troth dst, whole command", f"{ours.seconds:.2f} s, peak {ours.peak_mb:.0f} MB"),
            ("NeMo 1.20's evaluator, same files", f"{nemo.seconds:.2f} s, peak {nemo.peak_mb:.0f} MB"),
            ("NeMo / troth (at least 10 wanted)", f"{nemo.seconds / ours.seconds:.1f} ×"),
            ("orjson, only parsing the same files", f"{parse:.2f} s"),
            ("troth / orjson (at most 2 wanted)", f"{ours.seconds / parse:.2f} ×"),
            ("profile nemo against NeMo's own JGA", f"{ported['joint_goal_accuracy']}, equal as printed"),
        ],
    )
    both = timing.troth("robust", "checkdst", f"{gold},{pred}", f"TWIN={gold},{pred}", "--json", repeat=3)
    timing.show(
        "consistency (CheckDST) on the set and a twin of it",
        [
            ("troth robust checkdst, whole command", f"{both.seconds:.2f} s"),
            ("against scoring both sets (at most 1 wanted)", f"{both.seconds / (2 * ours.seconds):.2f} ×"),
        ],
    )
    rows = []
    for times in (1, 4, 16):
        took = timing.troth("dst", *copies(f"x{times}", 4 * times, 250), "--json", repeat=3)
        rows.append((f"{times} × 1,000 dialogues", f"{took.seconds:.2f} s, peak {took.peak_mb:.0f} MB"))
    timing.show("cost and memory as the corpus grows, files of one size", rows)
    seconds = min(float(timing.python(BOOTSTRAP, repeat=1).out) for _ in range(3))
    timing.show("statistics", [("10,000 resamples of 4,201 dialogues, 16 metrics", f"{seconds:.2f} s")])
    helped = timing.troth("--help")
    timing.show("start", [("troth --help (below 0.3 wanted)", f"{helped.seconds:.2f} s")])
