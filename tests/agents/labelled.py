"""Labelled conversations: false claims, details without support and arguments without a source, and how many are found.

`tests/golden/agents/labelled.jsonl` has conversations of 20 domains in English, German and Spanish, written for this
project. A line has messages (`["call", tool, arguments]` is followed by `["result", text]`) and findings: kind,
message, text, and the character at which it begins (of a value: the argument). Lines with an odd number (1, 3, …) are
for development. Those with an even number were labelled before the finders were written, and looked at once, when they
were finished.

    python -m tests.agents.labelled            # precision and recall of both halves
    python -m tests.agents.labelled errors     # what is missed or wrong in the development half
    python -m tests.agents.labelled judge http://localhost:8000/v1#MODEL --limit 20 --votes 1

The last one holds a chat model against the claims of the untouched half, or of its first conversations. `--dry-run`
only counts the requests.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from troth.agents.analysis import AnalysisRules, analyse
from troth.agents.corpus import ReadTrials, join
from troth.agents.judge import MAX_TOKENS, AgentJudge, open_chat_model
from troth.agents.rules import find_rule
from troth.core.errors import UserError
from troth.core.trajectories import Call, Message, Tool, Trajectory
from troth.grounding.judge import VOTES

FILE = Path(__file__).parents[1] / "golden/agents/labelled.jsonl"
FINDERS = {"claim": "claims", "number": "numbers", "time": "times", "name": "names", "value": "values"}
DETAILS = ("number", "time", "name")


class Label(NamedTuple):
    """A finding, found or expected: where it is, and the text or value."""

    conversation: str
    message: int
    kind: str
    text: str
    at: int | str  # first character in the message; of a value: the argument
    end: int = 0


class Counts(NamedTuple):
    right: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float:
        return self.right / max(self.right + self.wrong, 1)

    @property
    def recall(self) -> float:
        return self.right / max(self.right + self.missed, 1)


def read_half(development: bool) -> list[dict[str, Any]]:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines[0 if development else 1 :: 2]]


def trajectory(record: dict[str, Any]) -> Trajectory:
    messages: list[Message] = []
    for number, (role, *rest) in enumerate(record["messages"]):
        if role == "call":
            messages.append(Message("assistant", calls=(Call(rest[0], rest[1], f"c{number}"),)))
        elif role == "result":
            messages.append(Message("tool", rest[0], call_id=f"c{number - 1}"))
        else:
            messages.append(Message(role, rest[0]))
    return Trajectory(record["id"], tuple(messages), tools=tuple(map(Tool, record["tools"])))


def expected(records: Sequence[dict[str, Any]]) -> Iterator[Label]:
    for record in records:
        for kind, message, text, at in record["findings"]:
            yield Label(record["id"], message, kind, text, at, at + len(text) if isinstance(at, int) else 0)


def found(records: Sequence[dict[str, Any]]) -> Iterator[Label]:
    corpus = join({"x": ReadTrials([trajectory(record) for record in records], "chat", "labelled")})
    analysis = analyse(corpus, corpus.systems[0], AnalysisRules(find_rule("exact"), "match"))
    for trial in analysis.trials:
        for claim in trial.claims:
            if not claim.supported:
                yield Label(trial.trial.id, claim.message, "claim", claim.text, claim.start, claim.end)
        for detail in trial.details:
            if not detail.supported:
                yield Label(trial.trial.id, detail.message, detail.kind, detail.text, detail.start, detail.end)
        for call in trial.calls:
            for lacking in call.unsourced:
                yield Label(trial.trial.id, call.numbered.message, "value", lacking.value, lacking.argument)


def agree(one: Label, other: Label) -> bool:
    if one[:3] != other[:3]:
        return False
    if isinstance(one.at, str) or isinstance(other.at, str):
        return one.at == other.at
    return one.at < other.end and other.at < one.end


def judged(records: Sequence[dict[str, Any]], judge: AgentJudge) -> Iterator[Label]:
    """The sentences that a judge calls false claims."""
    for record, verdict in zip(records, judge.judge([trajectory(record) for record in records], "claims"), strict=True):
        for one in verdict.claims.found if verdict.claims is not None else ():
            assert one.item is not None
            yield Label(record["id"], one.item.message, "claim", one.item.text, one.item.start or 0, one.item.end or 0)


def measure_judge(judge: AgentJudge, conversations: int | None = None) -> Counts:
    """Claims that a judge finds in the untouched half, compared with its labels.

    A sentence may hold two false claims: both are found with it.
    """
    records = read_half(development=False)[:conversations]
    gold = [label for label in expected(records) if label.kind == "claim"]
    return compare_labels(gold, list(judged(records, judge)))[0]["claims"]


def compare(development: bool) -> tuple[dict[str, Counts], list[str]]:
    """Counts by finder, and a line for each error."""
    records = read_half(development)
    return compare_labels(list(expected(records)), list(found(records)))


def compare_labels(gold: Sequence[Label], alarms: Sequence[Label]) -> tuple[dict[str, Counts], list[str]]:
    errors: list[str] = []
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for label in gold:
        is_hit = any(agree(label, alarm) for alarm in alarms)
        counts[label.kind][0 if is_hit else 2] += 1
        if not is_hit:
            errors.append(f"missed  {label.conversation}: {label.kind} {label.text!r}")
    for alarm in alarms:
        if not any(agree(alarm, label) for label in gold):
            counts[alarm.kind][1] += 1
            errors.append(f"wrong   {alarm.conversation}: {alarm.kind} {alarm.text!r}")
    table = {FINDERS[kind]: Counts(*counts[kind]) for kind in FINDERS}
    table["details"] = Counts(*(sum(counts[kind][place] for kind in DETAILS) for place in range(3)))
    return table, sorted(errors)


class Unasked:
    """Counts the requests that a model would get."""

    name = "unasked"

    def __init__(self) -> None:
        self.lengths: list[int] = []

    def generate(self, prompts: Sequence[str], **_options: Any) -> list[str]:
        self.lengths += map(len, prompts)
        return ["NONE"] * len(prompts)


def compare_judge(arguments: Sequence[str]) -> None:
    """Prints precision and recall of a judge's claims, beside those of the rules on the same conversations."""
    parser = argparse.ArgumentParser(prog="python -m tests.agents.labelled judge")
    parser.add_argument("model", help="a chat model, by the names that troth's backends have")
    parser.add_argument("--limit", type=int, help="only the first N conversations")
    parser.add_argument("--votes", type=int, default=VOTES, help="answers per conversation")
    parser.add_argument("--dry-run", action="store_true", help="count the requests and ask nothing")
    options = parser.parse_args(arguments)
    if options.dry_run:
        unasked: Any = Unasked()
        measure_judge(AgentJudge(unasked, votes=options.votes), options.limit)
        tokens = sum(unasked.lengths) // 4
        print(f"{len(unasked.lengths)} requests, about {tokens} tokens to read, at most {MAX_TOKENS} written for each")
        return
    judge = AgentJudge(open_chat_model(options.model), votes=options.votes)
    records = read_half(development=False)[: options.limit]
    counts = {"judge": measure_judge(judge, options.limit)}
    counts["rules"] = compare_labels(list(expected(records)), list(found(records)))[0]["claims"]
    for name, own in counts.items():
        figures = f"precision {own.precision:.2f}  recall {own.recall:.2f}"
        print(f"{name:6} claims  {figures}  right {own.right}, wrong {own.wrong}, missed {own.missed}")
    print(*judge.remarks, sep="\n")


def main() -> None:
    if sys.argv[1:2] == ["judge"]:
        try:
            compare_judge(sys.argv[2:])
        except UserError as error:
            print(f"labelled: {error}", file=sys.stderr)
            sys.exit(2)
        return
    if "errors" in sys.argv[1:]:
        print(*compare(development=True)[1], sep="\n")
        return
    for name, development in (("development", True), ("untouched", False)):
        for finder, counts in compare(development)[0].items():
            figures = f"precision {counts.precision:.2f}  recall {counts.recall:.2f}"
            print(f"{name:12} {finder:8} {figures}  right {counts.right}, wrong {counts.wrong}, missed {counts.missed}")


if __name__ == "__main__":
    main()
