"""Processor time of metrics for a million turns, conversations or responses, on one thread, from bundled data.

`OMP_NUM_THREADS=1 python -m benchmarks.costs`: processor time hardly depends on what else the machine does. Commands
without models run over few and over many copies of the data; the difference is what a copy takes. Metrics of grounded
responses with models are computed once for each response.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import troth
from benchmarks import timing
from troth import demo
from troth.demo.run import TWINS, WRITTEN, write_twins, write_wordings
from troth.grounding.metrics import Models, grade, make_graders
from troth.models.backends import uncached_lm, uncached_nli
from troth.readers import grounded

METRICS = "u_f1,coverage,nli,faith,pmi_faith"
FEW, MANY = 4, 84  # copies


class Copies:
    """The demo's files, so many times, in a folder."""

    def __init__(self, folder: Path, times: int) -> None:
        self.folder, self.times = folder, times
        self.sets = {name: self.dialogues(place) for name, place in write_twins(WRITTEN, folder / "plain").items()}
        self.variants = write_wordings(WRITTEN, folder / "reworded")
        self.gold, self.hasty = self.dialogues(Path(demo.path("gold"))), self.dialogues(Path(demo.path("hasty")))
        first = json.loads((self.gold / "dialogues_001.json").read_text())
        self.user_turns = sum(turn["speaker"] == "USER" for one in first for turn in one["turns"])

    def dialogues(self, place: Path) -> Path:
        out = self.folder / "many" / place.name
        shutil.copytree(place, out)
        for path in out.glob("dialogues_*.json"):
            whole = json.loads(path.read_text())
            every = [one | {"dialogue_id": f"{one['dialogue_id']}-{n}"} for n in range(self.times) for one in whole]
            path.write_text(json.dumps(every))
        return out

    def lines(self, name: str, *keys: str) -> Path:
        """A bundled file of JSON Lines; ids in these keys get a number."""
        out = self.folder / name.replace("/", "-")
        rows = [json.loads(line) for line in Path(demo.path(name)).read_text().splitlines()]
        with out.open("w") as file:
            for number in range(self.times):
                file.writelines(json.dumps(row | {key: f"{row[key]}-{number}" for key in keys}) + "\n" for row in rows)
        return out

    def runs(self) -> dict[str, tuple[Callable[[], Any], int]]:
        """What is timed, and how many turns, responses or conversations it scores."""
        terse, agents = self.lines("responses/terse.jsonl", "dialogue"), self.lines("agents/hasty.jsonl", "id", "task")
        responses = sum(1 for _ in terse.open())
        twin = {
            name: (str(self.sets[name]), str(self.lines(f"twins/hasty-{name}.jsonl", "dialogue"))) for name in TWINS
        }
        worded = {name: str(self.lines(f"wordings/hasty-{name}.jsonl", "dialogue")) for name in self.variants}
        gold, hasty = str(self.gold), str(self.hasty)
        tools = demo.path("agents/tools.json")
        return {
            "troth dst, a turn of the user": (
                lambda: troth.dst(gold, hasty, workers=1, resamples=100), self.user_turns),
            "troth robust checkdst, a turn of the user with its three twins": (
                lambda: troth.checkdst((gold, hasty), twin, slots=WRITTEN.names, resamples=100), self.user_turns),
            "troth robust sgdx, a turn of the user under three schemas": (
                lambda: troth.sgdx(gold, worded, schemas=self.folder / "reworded", resamples=100), self.user_turns),
            "ser, a response": (lambda: troth.nlg(gold, terse, metrics="ser", resamples=100), responses),
            "bleu, a response": (lambda: troth.nlg(gold, terse, metrics="bleu", resamples=100), responses),
            "troth agent score, a conversation": (
                lambda: troth.agent(agents, tools=tools, resamples=100), sum(1 for _ in agents.open())),
        }  # fmt: skip


def commands() -> list[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as few, tempfile.TemporaryDirectory() as many:
        both = [Copies(Path(folder), times).runs() for folder, times in ((few, FEW), (many, MANY))]
        return [(name, _figure(_seconds(both[1][name]) - _seconds(one), both[1][name][1] - one[1]))
                for name, one in both[0].items()]  # fmt: skip


def _seconds(run: tuple[Callable[[], Any], int]) -> float:
    run[0]()  # what is loaded at first use is not what a turn costs
    begin = time.process_time()
    run[0]()
    return time.process_time() - begin


def _figure(seconds: float, count: int) -> str:
    each = seconds / count
    million = each * 1e6
    long = f"{million / 3600:.2f} core-hours" if million > 3600 else f"{million:.0f} core-seconds"
    return f"{1000 * each:.3f} ms, a million {long}"


def responses() -> list[tuple[str, str]]:
    items = [one for _, found in grounded.batches(demo.path("documents/careful.jsonl")) for one in found]
    opened = Models(nli=uncached_nli("embedded"), lm=uncached_lm("embedded"), cache=None)
    rows = []
    for grader in make_graders(METRICS, opened):
        grade(grader, items[:1])  # loads its models
        begin = time.process_time()
        grade(grader, items[1:])
        rows.append((f"{grader.metric.name}, a response", _figure(time.process_time() - begin, len(items) - 1)))
    return rows


def main() -> None:
    timing.show("processor time, one thread", commands() + responses())


if __name__ == "__main__":
    main()
