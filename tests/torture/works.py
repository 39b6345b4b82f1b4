"""Commands that write something, with what they need: they are killed, and given no room or no permission to write."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.agents import server
from tests.torture import sandbox
from tests.torture.subjects import DATA

COPIES = 12  # of the bundled dialogues, so that there is something to interrupt
DOCUMENTS = str(DATA / "documents" / "careful.jsonl")
CALLS = "calls.log"  # beside the folder of the works: what models and assistants were asked
PARALLEL = 4  # conversations of an assistant at a time

TRAIN = ("train", "tracker", "corpus", "trained", "--recipe", "trippy", "--model", "bert", "--dev", "corpus",
         "--dev-limit", "1", "--steps", "9", "--batch", "4", "--save-every", "2", "--evaluate-every", "4")  # fmt: skip
SPEAK = ("train", "response", "corpus", "spoken", "--model", "llama", "--dev", "corpus", "--dev-limit", "2", "--length",
         "96", "--answer", "8", "--steps", "6", "--batch", "2", "--save-every", "2", "--evaluate-every", "3", "--nli",
         "fake", "--no-cache")  # fmt: skip
AGENT = ("agent", "run", "assistant:answer", "tasks.json", "--tools", "tools.json", "--users", "disfluency", "--out")
ASSISTANT = """
import hashlib, json, os
from tests.agents.server import policy
from tests.torture.works import noted

def answer(messages, tools):
    noted(json.dumps([messages, tools]))
    return policy(messages, tools)
"""


class Work(NamedTuple):
    """A command and what it writes."""

    arguments: tuple[str, ...]
    target: str = ""  # the file or folder that it writes; "" for what it prints
    goes_on: bool = False  # the same command goes on with what a killed one has done
    heavy: bool = False  # it needs the libraries of models

    @property
    def says(self) -> bool:
        """Whether an interrupt says which command goes on; what the cache has needs no word."""
        return self.goes_on and "--cache" not in self.arguments


WORKS = {
    "dst": Work(("dst", "gold", "pred", "--out", "new", "--force", "--workers", "2"), "new"),
    "train": Work(tuple(part.replace("trained", "new") for part in TRAIN), "new", goes_on=True, heavy=True),
    "train response": Work(tuple(part.replace("spoken", "new") for part in (*SPEAK, "--method", "pt")), "new",
                           goes_on=True, heavy=True),
    "agent run": Work((*AGENT, "new", "--parallel", str(PARALLEL)), "new", goes_on=True),
    "ground": Work(("ground", DOCUMENTS, "--metrics", "pmi_faith,nli", "--lm", "llama", "--cache", "cache.sqlite",
                    "--resamples", "10", "--out", "new", "--force"), "new", goes_on=True, heavy=True),
    "perturb": Work(("perturb", "dialogue", "gold", "new", "--with", "disfluency,entities", "--workers", "2"), "new"),
    "track": Work(("track", "trained", "corpus", "--sets", "orig,SDI", "--out", "new"), "new", goes_on=True,
                  heavy=True),
    "checkdst": Work(("robust", "checkdst", "gold,pred", "PI=gold,pred", "--out", "new", "--force", "--workers", "2"),
                     "new"),
    "stress": Work(("stress", "ground", DOCUMENTS, "--metrics", "coverage", "--resamples", "10", "--corrupted", "new"),
                   "new"),
    "report": Work(("report", "run", "--out", "new.html"), "new.html"),
}  # fmt: skip


def lay(place: Path) -> None:
    """Writes what the light works read: the bundled dialogues several times over, a run of them, tasks."""
    for name, source in (("gold", "gold"), ("pred", "sturdy")):
        (place / name).mkdir(parents=True)
        whole = json.loads((DATA / source / "dialogues_001.json").read_bytes())
        for copy in range(COPIES):
            own = [one | {"dialogue_id": f"{copy}-{one['dialogue_id']}"} for one in whole]
            (place / name / f"dialogues_{copy + 1:03}.json").write_text(json.dumps(own))
    (place / "gold" / "schema.json").write_bytes((DATA / "gold" / "schema.json").read_bytes())
    done(place, "dst", "gold", "pred", "--out", "run")
    lay_tasks(place)


def lay_tasks(place: Path) -> None:
    """Recorded conversations, their tools, and an assistant to replay them to."""
    (place / "assistant.py").write_text(ASSISTANT)
    (place / "tasks.json").write_text(json.dumps(server.tasks(12)))
    (place / "tools.json").write_text(json.dumps(server.TOOLS))


def lay_models(place: Path) -> None:
    """Tiny models with weights drawn at random, a corpus of a few dialogues, and a tracker trained on it."""
    (place / "corpus").mkdir()
    few = json.loads((DATA / "gold" / "dialogues_001.json").read_bytes())[:3]
    (place / "corpus" / "dialogues_001.json").write_text(json.dumps(few))
    (place / "corpus" / "schema.json").write_bytes((DATA / "gold" / "schema.json").read_bytes())

    def build() -> None:
        from tests.systems.build import model

        for family in ("bert", "llama"):
            model(place / family, family)

    made = sandbox.forked(build, place)
    if made.code:
        raise RuntimeError(made.err)
    done(place, *TRAIN)


def done(place: Path, *arguments: str) -> None:
    """Runs a command that must succeed."""
    outcome = sandbox.call(arguments, place)
    if outcome.code != 0:
        raise RuntimeError(f"troth {' '.join(arguments)}: {outcome.err}")


def noted(question: str) -> None:
    """Remembers that a model or an assistant was asked something."""
    with open(Path.cwd().parent / CALLS, "ab") as log:
        log.write(hashlib.sha256(question.encode()).hexdigest().encode() + b"\n")


def noting(arguments: tuple[str, ...]) -> Callable[[], None]:
    """A command whose language model is asked as usual, and every question of it noted."""

    def work() -> None:
        if "--lm" in arguments:
            from troth.models.hf import HfLm

            ask = HfLm.logprobs

            def asked(self: HfLm, requests: Any) -> Any:
                for one in requests:
                    noted(repr(one))
                return ask(self, requests)

            HfLm.logprobs = asked  # type: ignore[method-assign]
        sandbox.command(arguments)

    return work


def digest(place: Path, target: str) -> str:
    """A digest of what a work wrote, without times of day and durations."""
    whole = place / target
    files = sorted(path for path in whole.rglob("*") if path.is_file()) if whole.is_dir() else [whole]
    total = hashlib.sha256()
    for path in files:
        if path.name in ("journal.jsonl", "run.json") and "result" in (path.parent.name, *os.listdir(path.parent)):
            continue  # of live runs: answers in the order of arrival, and how many were asked for now
        data = re.sub(rb'"seconds":\s?[0-9.e-]+', b"", path.read_bytes())
        total.update(str(path.relative_to(whole)).encode() + b"\0" + data)
    return total.hexdigest()


def cleared(place: Path) -> None:
    """Removes what works have written."""
    for name in ("new", "new.html", *(path.name for path in place.glob("cache.sqlite*"))):
        sandbox.removed(place / name)
    sandbox.removed(place.parent / CALLS)
