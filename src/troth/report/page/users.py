"""CheckDST: does a tracker stay right when the user says the same otherwise? The card and its part of the section."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence

from troth.core.score import Score
from troth.report.page import words
from troth.report.page.differences import Differences, footnote, told
from troth.report.page.model import Block, Card, Cell, Chart, Entry, Example, Examples, Grid, Piece, Source, unrounded
from troth.report.page.sources import Item, details, systems

QUESTION = "Does it stay right when the user says it otherwise?"
SHOWN = 60  # examples on the page
PERTURBATIONS = {
    "NED": "names swapped for unknown ones",
    "PI": "paraphrases",
    "SDI": "hesitations and repetitions",
}


def items(sources: Sequence[Source]) -> list[Item]:
    return [(source, name) for source in sources if source.command == "robust checkdst" for name in systems(source)]


def headline(found: Sequence[Item]) -> list[str]:
    """The metrics that the summary speaks of."""
    worst = _worst(found)
    return ["jga", f"cjga:{worst}"] if worst else []


def perturbations(source: Source) -> list[str]:
    return list(dict.fromkeys(s.metric.removeprefix("cjga:") for s in source.scores if s.metric.startswith("cjga:")))


def card(found: Sequence[Item], beyond: Differences) -> Card | None:
    """The figure is cJGA under the perturbation that is worst for the first system."""
    worst = _worst(found)
    if worst is None:
        return None
    metric = f"cjga:{worst}"
    entries = []
    for source, system in found:
        score = source.score(metric, system)
        if score is None or score.value is None:
            continue
        name = source.called(system)
        mark, better = told(beyond.get((name, metric)))
        entries.append(
            Entry(
                name, score.value, score.low, score.high, score.n, score.signature,
                _sentence(source, system, worst, score), _facts(source, system, worst), mark, better,
            )
        )  # fmt: skip
    return Card(QUESTION, "robustness", words.name(metric), entries, words.about("cjga"))


def _worst(found: Sequence[Item]) -> str | None:
    for source, system in found:
        scores = {name: source.score(f"cjga:{name}", system) for name in perturbations(source)}
        known = {name: score.value for name, score in scores.items() if score is not None and score.value is not None}
        if known:
            return min(known, key=lambda name: known[name])
    return None


def _sentence(source: Source, system: str, worst: str, score: Score) -> str:
    what = f" ({PERTURBATIONS[worst]})" if worst in PERTURBATIONS else ""
    text = f"Of what it gets right with or without {worst}{what}, {words.percent(score.value, 0)}% is right both ways."
    before, after = _before_after(source, system, worst)
    if before is not None and after is not None:
        text += f" JGA goes from {words.percent(before)} to {words.percent(after)}."
    return text


def _before_after(source: Source, system: str, name: str) -> tuple[float | None, float | None]:
    """JGA of the original and of the perturbed set, over all units of each."""
    found = [source.score(metric, system) for metric in ("jga", f"jga:{name}")]
    return tuple(None if score is None else score.value for score in found)  # type: ignore[return-value]


def _facts(source: Source, system: str, worst: str) -> list[str]:
    facts = []
    for name in perturbations(source):
        score = source.score(f"cjga:{name}", system)
        if name != worst and score is not None and score.value is not None:
            facts.append(f"Under {name}, {words.percent(score.value, 0)}% is right both ways.")
    counts = Counter(str(flip.get("right")) for flip in details(source))
    if counts:
        facts.append(
            f"{words.count(counts['before'], 'unit')} right only before, {counts['after']:,} right only after a change."
        )
    nohf = min(
        (s for s in source.scores if s.metric.startswith("nohf") and s.system == system and s.value is not None),
        key=lambda s: s.value or 0.0,
        default=None,
    )
    if nohf is not None and nohf.value is not None and nohf.value < 1.0:
        facts.append(f"At worst {words.percent(1 - nohf.value)}% of the names it predicts were never said.")
    return facts


def blocks(found: Sequence[Item], beyond: Differences) -> list[Block]:
    made: list[Block] = []
    steps = _checkpoints(found)
    made += _over_training(found, steps) if steps else []
    single = len(found) == 1
    moved: list[list[Cell]] = []
    steady: list[list[Cell]] = []
    flips: list[list[Cell]] = []
    for source, system in found:
        name = source.called(system)
        for label in perturbations(source):
            before, after = (source.score(metric, system) for metric in ("jga", f"jga:{label}"))
            row = label if single else f"{label} · {name}"
            moved += [
                [name, row, when, score.value, score.low, score.high, score.n]
                for when, score in (("before", before), ("after", after))
                if score is not None
            ]
            score = source.score(f"cjga:{label}", system)
            if score is not None:
                steady.append([name, label, score.value, score.low, score.high, score.n])
            counts = Counter(str(f.get("right")) for f in details(source) if f.get("perturbation") == label)
            flips += [
                [name, row, "right only before", counts["before"]],
                [name, row, "right only after", counts["after"]],
            ]
    fields = ["system", "perturbation", "set", "jga", "low", "high", "n"]
    made.append(
        Chart(
            "before-after", "dots", "JGA before and after", fields, moved, "jga", "perturbation", "set", "low", "high",
            note="Over all units of each set. A perturbed set may hold fewer dialogues than the original.",
            x_title="JGA", percent=True, join=True, colours={"before": 0, "after": 1},
        )
    )  # fmt: skip
    made.append(
        Chart(
            "cjga", "dots", "cJGA: right both ways", ["system", "perturbation", "cjga", "low", "high", "n"], steady,
            "cjga", "perturbation", "system", "low", "high", x_title="cJGA", percent=True,
            note="Of the units that are right in at least one of the two sets, those that are right in both.",
        )
    )  # fmt: skip
    if any(row[3] for row in flips):
        made.append(
            Chart(
                "flips", "bars", "Flips in both directions", ["system", "perturbation", "direction", "units"], flips,
                "units", "perturbation", "direction", note="Left: right before and wrong after. Right: the other way.",
                x_title="units", zero=True, colours={"right only before": 1, "right only after": 2},
                left="right only before",
            )
        )  # fmt: skip
    made.append(_table(found, beyond))
    for source, system in found:
        made += _flip_examples(source, "" if single else source.called(system))
    return made


def _checkpoints(found: Sequence[Item]) -> list[int]:
    """Steps of training, where several runs of one system have names with rising numbers; else nothing."""
    if len(found) < 2 or len({system for _, system in found}) > 1:
        return []
    numbers = [re.findall(r"\d+", source.name.rpartition("/")[2]) for source, _ in found]
    steps = [int(number[-1]) for number in numbers if number]
    return steps if len(set(steps)) == len(found) else []


def _over_training(found: Sequence[Item], steps: Sequence[int]) -> list[Block]:
    rows: list[list[Cell]] = []
    for (source, system), step in sorted(zip(found, steps, strict=True), key=lambda pair: pair[1]):
        for score in source.scores:
            table_2 = score.metric in ("jga", "coref_jga", "nohf", "nohf:NED") or score.metric.startswith("cjga:")
            if table_2 and score.system == system and score.value is not None:
                rows.append([words.name(score.metric), step, score.value, score.low, score.high])
    return [
        Chart(
            "checkpoints", "lines", "Over training", ["metric", "checkpoint", "value", "low", "high"], rows,
            "checkpoint", "value", "metric", "low", "high", x_title="checkpoint", y_title="percent", percent=True,
            note="Training on may help JGA and hurt the rest; troth robust checkpoints picks one.", wide=True,
        )
    ]  # fmt: skip


def _table(found: Sequence[Item], beyond: Differences) -> Grid:
    """A row a set, as the paper's tables have it; with several systems, a row a set and system."""
    metrics = ("jga", "cjga", "cjga_all", "nohf")
    sets = list(dict.fromkeys(["", *(label for source, _ in found for label in perturbations(source))]))
    single = len(found) == 1
    rows: list[list[str]] = []
    figures: list[list[float | None]] = []
    marks: list[tuple[int, int, bool]] = []
    for label in sets:
        for source, system in found:
            scores = []
            for column, metric in enumerate(metrics, 1 if single else 2):
                named = f"{metric}:{label}" if label else metric
                scores.append(source.score(named, system))
                better = told(beyond.get((source.called(system), named)))[1]
                if better is not None:
                    marks.append((len(rows), column, better))
            rows.append([label or "original", *([] if single else [source.called(system)]), *map(words.figure, scores)])
            figures.append(unrounded(scores))
    columns = ["set", *([] if single else ["system"]), *(words.name(metric) for metric in metrics)]
    note = "Percent, with the half-width of the 95% interval over dialogues."
    coref = [source.score("coref_jga", system) for source, system in found]
    note += "".join(
        f" Coreference JGA: {words.figure(one)}." for one in coref if one is not None and one.value is not None
    )
    note += footnote(found)
    return Grid("checkdst", "Every set", columns, rows, 1 if single else 2, [], marks, note, figures)


def _flip_examples(source: Source, name: str) -> list[Block]:
    items = []
    for flip in details(source)[:SHOWN]:
        label, text, twin = (str(flip.get(key, "")) for key in ("perturbation", "text", "twin"))
        where = f"{flip.get('dialogue')}, turn {flip.get('turn')}"
        facts = ["right before, wrong after" if flip.get("right") == "before" else "wrong before, right after"]
        facts += ["said as before: its state rests on an earlier turn"] if text == twin else []
        items.append(
            Example(
                label, where, changed(text, twin), facts, str(flip.get("dialogue", "")), str(flip.get("turn", "")),
                label, source.called(source.scores[0].system), label,
            )
        )  # fmt: skip
    title = "Flipped units" + (f" of {name}" if name else "")
    note = "Words that only the original has are struck, words that only the twin has are underlined."
    return [Examples(title, items, note, len(source.details))] if items else []


def changed(text: str, twin: str) -> list[Piece]:
    """Two texts as one, with the words that differ marked. Space before a full stop is no difference."""
    ours, theirs = (re.findall(r"\w+|[^\w\s]", side) for side in (text, twin))
    whole = (_spaced(ours, text), _spaced(theirs, twin))
    pieces = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if kind == "equal":
            pieces.append(Piece("".join(whole[0][a:b])))
            continue
        pieces += [Piece("".join(whole[0][a:b]), "-")] if b > a else []
        pieces += [Piece("".join(whole[1][c:d]), "+")] if d > c else []
    return pieces


def _spaced(words: Sequence[str], text: str) -> list[str]:
    """Each word with the space that follows it in the text."""
    made, at = [], 0
    for word in words:
        at = text.index(word, at) + len(word)
        made.append(word + (" " if text[at : at + 1].isspace() else ""))
    return made
