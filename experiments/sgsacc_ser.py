"""SGSAcc against SER: do they agree where both apply, how many turns does each judge, and where do they part?

    python -m experiments.sgsacc_ser

Claims of the paper (section 2.2): on the turns that SER can judge, SGSAcc's verdict on the same slots is the same for
99.7 % of turns; coverage rises from 66 % of the turns to 97 % with validation.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import troth
from experiments.common import arguments, publish, table
from troth.core.parts import Parts
from troth.core.randomness import generator
from troth.core.score import Estimate
from troth.stats.estimates import Resampling, estimates
from troth.storage.explorer import AnswerView

SHOWN = 8  # examples of each kind of disagreement

Fraction = tuple[float, float]


class Judged(NamedTuple):
    dialogue: str
    answer: AnswerView


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--turns", type=int, default=0, help="some of the responses, drawn; 0: all")
    options = parser.parse_args()
    gold, said = options.shared / "data/sgd/dev", options.shared / "data/sgd_responses/dev.jsonl"
    work = options.work / "sgsacc_ser"
    work.mkdir(parents=True, exist_ok=True)
    if options.turns:
        lines = said.read_text().splitlines()
        said = work / f"{options.turns}.jsonl"
        said.write_text("\n".join(generator(0, "turns", "").sample(lines, min(options.turns, len(lines)))) + "\n")
    run = work / "run"
    shutil.rmtree(run, ignore_errors=True)
    result = troth.nlg(gold, said, metrics="ser,sgsacc", missing="skip", out=run)
    judged = [Judged(view.id, answer) for view in result.explorer().dialogues for track in view.tracks
              for answer in track.answers]  # fmt: skip
    troth.report(run, out=work / "page.html")
    publish(options.work, "sgsacc_ser", "\n".join([_figures(judged), *_examples(judged)]))


def _figures(judged: list[Judged]) -> str:
    rows = {
        "coverage: turns that SER judges": lambda one: (float(_sought(one)), 1.0),
        "coverage: turns that SGSAcc judges": lambda one: (float(_entailment(one)), 1.0),
        "coverage: turns that SGSAcc judges, validated": lambda one: (float(_entailment(one) and _valid(one)), 1.0),
        "agreement on non-categorical slots": lambda one: _agreement(one, lambda _: True),
        "agreement on non-categorical slots, validated turns": lambda one: _agreement(one, _valid),
        "wrong by SER, right by SGSAcc": lambda one: _split(one, ser=False),
        "right by SER, wrong by SGSAcc": lambda one: _split(one, ser=True),
    }
    found = _estimated(judged, rows.values())
    return table(["", "share of turns", "turns"], [[name, _cell(one), str(one.n)] for name, one in zip(
        rows, found, strict=True)])  # fmt: skip


def _estimated(judged: list[Judged], ratios: Iterable[Callable[[Judged], Fraction]]) -> list[Estimate]:
    keys = [(one.dialogue, one.answer.index, "") for one in judged]
    every = [Parts.from_fractions([ratio(one) for one in judged], keys) for ratio in ratios]
    return estimates(every, sorted({one.dialogue for one in judged}), Resampling())


def _cell(one: Estimate) -> str:
    if one.value is None or one.low is None or one.high is None:
        return "–"
    return f"{100 * one.value:.1f} ({100 * one.low:.1f} … {100 * one.high:.1f})"


def _sought(one: Judged) -> bool:
    return any(act.sought for act in one.answer.acts)


def _entailment(one: Judged) -> bool:
    return any(act.entailed is not None for act in one.answer.acts)


def _valid(one: Judged) -> bool:
    return all(act.excluded is None for act in one.answer.acts)


def _verdicts(one: Judged) -> tuple[bool, bool]:
    """What SER says of a turn, and what SGSAcc says of the same acts."""
    mine = [act for act in one.answer.acts if act.sought]
    return not any(act.missed for act in mine), all(act.entailed is not False for act in mine)


def _agreement(one: Judged, counts: Callable[[Judged], bool]) -> Fraction:
    ser, sgsacc = _verdicts(one)
    applies = _sought(one) and counts(one)
    return float(applies and ser == sgsacc), float(applies)


def _split(one: Judged, *, ser: bool) -> Fraction:
    applies = _sought(one)
    return float(applies and _verdicts(one) == (ser, not ser)), float(applies)


def _examples(judged: list[Judged]) -> Iterator[str]:
    for ser, title in ((False, "Wrong by SER, right by SGSAcc"), (True, "Right by SER, wrong by SGSAcc")):
        apart = [one for one in judged if _sought(one) and _verdicts(one) == (ser, not ser)]
        generator(0, "examples", title).shuffle(apart)
        yield f"\n{title}: {len(apart)} turns\n"
        yield from (f"- {one.dialogue}, turn {one.answer.index}: “{one.answer.text}” ({_why(one)})"
                    for one in apart[:SHOWN])  # fmt: skip


def _why(one: Judged) -> str:
    acts = [act for act in one.answer.acts if act.sought and (act.missed or act.entailed is False)]
    return "; ".join(f"{act.slot} = {', '.join(act.values)}, asked “{act.reference}”" for act in acts)


if __name__ == "__main__":
    main()
