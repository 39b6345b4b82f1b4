"""CheckDST: does a tracker stay right when the user says the same in other words? The card and its blocks."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from troth.core.score import Score
from troth.report.page import words
from troth.report.page.cards import NOTE, CardQuestion, GridHead, Line, card, examples_per_system, grid
from troth.report.page.contests import Contest
from troth.report.page.model import MANY, Block, Card, Cell, Chart, Example, Examples, Grid, Piece
from troth.report.sources import SHOWN, ScoredSystem
from troth.robustness.checkdst import Flip

QUESTION = CardQuestion("Does it stay right when the user says it in other words?", "robustness")
PERTURBATIONS = {"NED": "names swapped for unknown ones", "PI": "paraphrases", "SDI": "hesitations and repetitions"}
COLUMNS = ("jga", "cjga", "cjga_all", "nohf")  # of the table
TRAINING = ("jga", "coref_jga", "nohf")  # drawn over checkpoints, as in the paper's table 2, with cJGA and `nohf:NED`


def headline(systems: Sequence[ScoredSystem]) -> list[str]:
    """The metrics of the summary: JGA, and cJGA under the worst perturbation for the first system."""
    for system in systems:
        known = {
            metric.name: score.value
            for metric in system.derived_metrics("cjga")
            if (score := system.known_score(metric.name))
        }
        if known:
            return ["jga", min(known, key=lambda name: known[name] or 0.0)]
    return []


def make_card(contest: Contest) -> Card | None:
    """The main metric of the contest is cJGA."""
    return card(QUESTION, contest, lambda _: contest.headline[0], _sentence, _facts) if contest.headline else None


def _sentence(system: ScoredSystem, score: Score) -> str:
    label = system.metric(score.metric).variant
    what = f" ({PERTURBATIONS[label]})" if label in PERTURBATIONS else ""
    text = f"Of what it gets right with or without {label}{what}, {words.percent(score.value, 0)}% is right both ways."
    before, after = system.known_score("jga"), system.known_score(f"jga:{label}")
    if before is not None and after is not None:
        units = _describe_units([before, after])
        if before.n == after.n:
            text += f" JGA over {units} goes from {words.percent(before.value)} to {words.percent(after.value)}."
        else:  # a fall or rise may come from the units that have no twin
            text += f" JGA over {units} is {words.percent(before.value)} (n = {before.n:,}) on the original set"
            text += f" and {words.percent(after.value)} (n = {after.n:,}) on the other."
    return text


def _describe_units(scores: Sequence[Score]) -> str:
    """The units of JGA. In state tracking a unit can be partly right; in CheckDST it cannot."""
    soft = any(score.recipe.get("match", "").startswith("fuzzy") for score in scores)
    return words.unit_noun(*scores) + (" that are right or wrong" if soft else "")


def _facts(system: ScoredSystem, shown: Score) -> Iterator[str]:
    for metric in system.derived_metrics("cjga"):
        value = system.value(metric.name)
        if metric.name != shown.metric and value is not None:
            yield f"Under {metric.variant}, {words.percent(value, 0)}% is right both ways."
    if flips := _count_flips(system):
        before, after = words.count(flips["before"], "unit"), f"{flips['after']:,}"
        yield f"{before} right only before, {after} right only after a change."
    names = ["nohf", *(metric.name for metric in system.derived_metrics("nohf"))]
    least = min((value for name in names if (value := system.value(name)) is not None), default=1.0)
    if least < 1.0:
        yield f"At worst {words.percent(1 - least)}% of the names it predicts were never said."


def _count_flips(system: ScoredSystem, label: str | None = None) -> Counter[str]:
    """How many units are right only "before" and only "after" a change."""
    return Counter(flip.right for flip in system.findings(Flip) if label in (None, flip.perturbation))


def blocks(contest: Contest, index: int) -> list[Block]:
    """What the section shows; `place`: of the contest in it. Of several systems, a small chart per perturbation."""
    systems = contest.systems
    by = ("perturbation", "") if len(systems) == 1 else ("system", "perturbation")  # rows, and small charts
    moved: list[list[Cell]] = []
    steady: list[list[Cell]] = []
    flips: list[list[Cell]] = []
    scores = [score for system in systems if (score := system.known_score("jga"))]
    units = words.unit_noun(*scores)
    for system in systems:
        for metric in system.derived_metrics("cjga"):
            label = metric.variant
            moved += (
                [system.name, label, when, score.value, score.low, score.high, score.n]
                for when, name in (("before", "jga"), ("after", f"jga:{label}"))
                if (score := system.score(name))
            )
            score = system.scores[metric.name, "all"]
            steady.append([system.name, label, score.value, score.low, score.high, score.n])
            counts = _count_flips(system, label)
            flips += ([system.name, label, f"right only {when}", counts[when]] for when in ("before", "after"))
    return [
        *_checkpoint_charts(systems),
        Chart(
            "before-after", "dots", "JGA before and after",
            ["system", "perturbation", "set", "jga", "low", "high", "n"], moved, "jga", by[0], "set",
            "low", "high", x_title=f"JGA over {_describe_units(scores)}", percent=True, join=True,
            note=f"Over all {units} of each set. A perturbed set may hold fewer dialogues than the original.",
            colours={"before": 0, "after": 1}, panel=by[1], wide=bool(by[1]),
        ),
        Chart(
            "cjga", "dots", "cJGA: right both ways", ["system", "perturbation", "cjga", "low", "high", "n"], steady,
            "cjga", by[0], "system", "low", "high", x_title="cJGA", percent=True, panel=by[1], wide=bool(by[1]),
            note=f"Of the {units} that are right in at least one of the two sets, those that are right in both.",
        ),
        Chart(
            "flips", "bars", "Flips in both directions", ["system", "perturbation", "direction", "units"],
            flips if any(row[3] for row in flips) else [], "units", by[0], "direction", x_title="units",
            note="Left: right before and wrong after. Right: the other way.", zero=True, panel=by[1],
            colours={"right only before": 1, "right only after": 2}, left="right only before", wide=bool(by[1]),
        ),
        _table(contest, index),
        *_flip_examples(systems),
    ]  # fmt: skip


def _checkpoint_charts(systems: Sequence[ScoredSystem]) -> list[Block]:
    """Curves over checkpoints, if several runs of one system have names that end in different numbers."""
    numbers = [re.findall(r"\d+", system.source.name.rpartition("/")[2])[-1:] for system in systems]
    steps = [int(number) for system in numbers for number in system]
    if len(systems) < 2 or len({system.system for system in systems}) > 1 or len(set(steps)) != len(systems):
        return []
    rows: list[list[Cell]] = []
    for step, system in sorted(zip(steps, systems, strict=True), key=lambda pair: pair[0]):
        names = [*TRAINING, "nohf:NED", *(metric.name for metric in system.derived_metrics("cjga"))]
        rows += (
            [system.metric(s.metric).title, step, s.value, s.low, s.high] for s in map(system.known_score, names) if s
        )
    return [
        Chart(
            "checkpoints", "lines", "Over training", ["metric", "checkpoint", "value", "low", "high"], rows,
            "checkpoint", "value", "metric", "low", "high", x_title="checkpoint", y_title="percent", percent=True,
            note="Further training may help JGA and hurt the rest; troth robust checkpoints picks one.", wide=True,
        )
    ]  # fmt: skip


def _table(contest: Contest, index: int) -> Grid:
    """One row per set, as in the paper's tables; for several systems per set and system, for many per system."""
    systems = contest.systems
    single = len(systems) == 1
    sets = dict.fromkeys(["", *(metric.variant for system in systems for metric in system.derived_metrics("cjga"))])
    if len(systems) > MANY:
        return _wide_table(contest, index, [f"{name}:{label}" for label in sets if label for name in COLUMNS])
    lines = [
        Line(
            [label or "original", *([] if single else [system.name])],
            [(system, f"{name}:{label}" if label else name, "all") for name in COLUMNS],
        )
        for label in sets
        for system in systems
    ]
    titles = [_title(systems[0], name) for name in COLUMNS]
    coref = {system.name: words.figure(score) for system in systems if (score := system.known_score("coref_jga"))}
    figures = [figure if single else f"{figure} ({name})" for name, figure in coref.items()]
    note = f"{NOTE} {_note_units(systems)}" + (f" Coreference JGA: {words.join_words(figures)}." if figures else "")
    columns = ["set", *([] if single else ["system"]), *titles]
    return grid(GridHead("checkdst", "Every set", columns, note), lines, contest, index)


def _wide_table(contest: Contest, index: int, perturbed: Sequence[str]) -> Grid:
    """A row per system, with a column for each metric of the original set and of the perturbed ones."""
    systems = contest.systems
    owners = {name: system for system in reversed(systems) for name in system.overall}
    shown = [name for name in (*COLUMNS, "coref_jga", *perturbed) if name in owners]
    lines = [Line([system.name], [(system, name, "all") for name in shown]) for system in systems]
    columns = ["system", *(owners[name].metric(name).title for name in shown)]
    note = f"{NOTE} {_note_units(systems)}"
    return grid(GridHead("checkdst", "Every set", columns, note), lines, contest, index)


def _note_units(systems: Sequence[ScoredSystem]) -> str:
    scores = [score for system in systems if (score := system.known_score("jga"))]
    return f"JGA and cJGA are over {_describe_units(scores)}."


def _title(system: ScoredSystem, name: str) -> str:
    """A metric's title without the set: a run has `cjga:NED`, and no `cjga`."""
    for metric in () if system.score(name) else system.derived_metrics(name):
        return words.base_title(metric.title, metric.variant)
    return system.metric(name).title


def _flip_examples(systems: Sequence[ScoredSystem]) -> list[Block]:
    """Single flips, first those that begin a run of flips; for several systems some of each."""
    items: list[Example] = []
    for system in systems:
        flips = sort_causes_first(system.findings(Flip))
        for flip, inherited in flips[: examples_per_system(SHOWN, systems)]:
            facts = ["right before, wrong after" if flip.right == "before" else "wrong before, right after"]
            facts += ["as in the turn before"] if inherited else []
            facts += ["said as before: its state rests on an earlier turn"] if flip.text == flip.twin else []
            items.append(
                Example(
                    flip.perturbation if len(systems) == 1 else f"{system.name}: {flip.perturbation}",
                    f"{flip.dialogue}, turn {flip.turn}", mark_changes(flip.text, flip.twin), facts, flip.dialogue,
                    str(flip.turn), flip.perturbation, system.name,
                    flip.perturbation if len(systems) == 1 else system.name,
                )
            )  # fmt: skip
    note = "Words that only the original has are struck, words that only the twin has are underlined."
    note += " Flips that only carry on that of the turn before come last."
    total = sum(len(system.findings(Flip)) for system in systems)
    return [Examples("Flipped units", items, note, total)] if items else []


def sort_causes_first(flips: Sequence[Flip]) -> list[tuple[Flip, bool]]:
    """Flips that begin a run of flips, then those that continue the flip of the turn before, marked as such."""
    keys = {(flip.dialogue, flip.service, flip.perturbation, flip.right, flip.turn) for flip in flips}
    pairs = [
        (flip, (flip.dialogue, flip.service, flip.perturbation, flip.right, (flip.turn or 0) - 1) in keys)
        for flip in flips
    ]
    return sorted(pairs, key=lambda pair: pair[1])


def mark_changes(text: str, twin: str) -> list[Piece]:
    """Two texts as one, with the words that differ marked. Space before a full stop is ignored."""
    ours, theirs = (re.findall(r"\w+|[^\w\s]", side) for side in (text, twin))
    whole = (_split_with_spaces(ours, text), _split_with_spaces(theirs, twin))
    pieces = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if kind == "equal":
            pieces.append(Piece("".join(whole[0][a:b])))
            continue
        pieces += [Piece("".join(whole[0][a:b]), "-")] if b > a else []
        pieces += [Piece("".join(whole[1][c:d]), "+")] if d > c else []
    return pieces


def _split_with_spaces(tokens: Sequence[str], text: str) -> list[str]:
    """Each word with the space that follows it in the text."""
    words, at = [], 0
    for token in tokens:
        at = text.index(token, at) + len(token)
        words.append(token + (" " if text[at : at + 1].isspace() else ""))
    return words
