"""How far our disfluencies are from real ones: those that people wrote into questions (Disfl-QA, Gupta et al. 2021).

    python -m experiments.disfluency --disfl-qa bigbench/benchmark_tasks/disfl_qa/task.json

The file is in the package `bigbench` 1.0.0 on PyPI, and is for evaluation only. It has the disfluent questions alone;
the fluent one is the question of SQuAD 2.0 about the same paragraph whose words are nearly all (0.8) in the disfluent
one, in their order. Ours are user turns of SGD dev with the default settings.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import troth
from experiments.common import arguments, publish, table
from troth import readers

ALIKE = 0.8  # of the fluent question's words, at least, are in the disfluent one in the same order
BEGINNING = 80  # letters by which two copies of a paragraph are recognised
TAKES_BACK = {"no", "sorry", "rather", "actually", "instead", "mean", "meant", "wait", "oops", "scratch", "make"}
FILLERS = {"uh", "um", "er", "hmm", "well", "like", "know", "so", "okay"}


class Change(NamedTuple):
    """A fluent text's number of words, and the runs of words that the disfluent one adds."""

    words: int
    runs: list[list[str]]


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--disfl-qa", type=Path, required=True, help="task.json of Disfl-QA")
    parser.add_argument("--dialogues", type=int, default=300, help="dialogues of SGD dev")
    options = parser.parse_args()
    real = list(filter(None, map(compare, *zip(*questions(options.disfl_qa, options.shared), strict=True))))
    ours = list(filter(None, map(compare, *zip(*turns(options.shared, options.work, options.dialogues), strict=True))))
    changed = [one for one in ours if one.runs]
    rows = [describe("Disfl-QA", real), describe("ours, turns that change", changed)]
    head = ["", "texts", "words added per word", "places", "words at a place", "takes something back", "fillers alone"]
    publish(options.work, "disfluency", table(head, rows))


def questions(file: Path, shared: Path) -> Iterator[tuple[str, str]]:
    """Fluent and disfluent questions."""
    fluent: defaultdict[str, list[str]] = defaultdict(list)
    squad = json.loads((shared / "data/prefinetune/squad_dev_v2.0.json").read_text(encoding="utf-8"))
    for article in squad["data"]:
        for paragraph in article["paragraphs"]:
            fluent[_beginning(paragraph["context"])] += [one["question"] for one in paragraph["qas"]]
    for example in json.loads(file.read_text(encoding="utf-8"))["examples"]:
        question, _, context = example["input"].partition("context:")
        if candidates := fluent.get(_beginning(context)):
            said = split(question)
            shares = [_shared(split(text), said) for text in candidates]
            yield candidates[shares.index(max(shares))], question


def turns(shared: Path, work: Path, count: int) -> Iterator[tuple[str, str]]:
    """User turns of SGD dev and their disfluent twins."""
    dev, out = shared / "data/sgd/dev", work / "disfluency"
    if not out.exists():
        out.parent.mkdir(parents=True, exist_ok=True)
        troth.perturb(dev, out, with_="disfluency", seed=8)
    twins = {dialogue.id: dialogue for dialogue in readers.gold(str(out))}
    for dialogue in list(readers.gold(str(dev)))[:count]:
        for before, after in zip(dialogue.turns, twins[dialogue.id].turns, strict=True):
            if before.speaker == "USER":
                yield before.text, after.text


def compare(fluent: str, disfluent: str) -> Change | None:
    """What the disfluent text adds; None if it is not about the same words."""
    before, after = split(fluent), split(disfluent)
    if not before or _shared(before, after) < ALIKE:
        return None
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    runs = [after[first:last] for kind, _, _, first, last in matcher.get_opcodes() if kind != "equal" and last > first]
    return Change(len(before), runs)


def describe(name: str, changes: Sequence[Change]) -> list[str]:
    added = [sum(map(len, one.runs)) / one.words for one in changes]
    words = [{word for run in one.runs for word in run} for one in changes]
    back = fmean(bool(own & TAKES_BACK) for own in words)
    fillers = fmean(bool(own) and own <= FILLERS | {"you", "i"} for own in words)
    lengths = [len(run) for one in changes for run in one.runs]
    return [name, str(len(changes)), f"{fmean(added):.2f}", f"{fmean(len(one.runs) for one in changes):.2f}",
            f"{fmean(lengths):.1f}", f"{100 * back:.0f} %", f"{100 * fillers:.0f} %"]  # fmt: skip


def split(text: str) -> list[str]:
    """The words of a text in lower case; `world ' s` is one word, as in `world's`."""
    return re.findall(r"[a-z0-9']+", re.sub(r"\s*['’]\s*(?=[a-z])", "'", text.lower()))


def _beginning(text: str) -> str:
    return "".join(split(text)).replace("'", "")[:BEGINNING]


def _shared(before: Sequence[str], after: Sequence[str]) -> float:
    """The share of the first text's words that the second has in the same order."""
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    return sum(block.size for block in matcher.get_matching_blocks()) / max(1, len(before))


if __name__ == "__main__":
    main()
