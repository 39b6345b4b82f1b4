"""A sheet for people: sampled pairs of an utterance and an act, to be marked faithful or not (SGSAcc, section 2.2).

Half of the pairs are marked faithful by SGSAcc and half unfaithful, from turns that pass validation, in mixed order.
The metric's verdict is not in the sheet: it is in the key, a file beside it, by the pairs' numbers.

Texts and verdicts come from what a run of `troth nlg` keeps of its dialogues (`troth.storage.explorer`): no file that
it was made from is read again, and no model is asked. The pairs' ids end in a mark of the drawn pairs, so that a sheet
fits no other sheet's key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from troth.core import names
from troth.core.errors import UserError, suggest_name
from troth.core.groups import ALL
from troth.core.randomness import generator
from troth.core.score import Score
from troth.core.version import __version__
from troth.meta.people import sheets
from troth.meta.people.sheets import SGSACC_STUDY
from troth.responses.explorer import collect_responses
from troth.responses.metrics import SGSACC, SGSACC_VALIDATED
from troth.storage import explorer, runs
from troth.text.identifiers import humanize

Of = Literal["validated", "excluded", "all"]

# What the utterance does if it is true to its act.
WORDS = {
    "GOODBYE": "says goodbye",
    "REQ_MORE": "asks whether anything else is needed",
    "NOTIFY_SUCCESS": "tells that the request succeeded",
    "NOTIFY_FAILURE": "tells that the request failed",
}
VERBS = {"INFORM": "tells", "OFFER": "offers", "CONFIRM": "asks to confirm"}


class SheetRow(msgspec.Struct, frozen=True, order=True):
    """A pair of an utterance and an act, as the key has it."""

    dialogue: str
    turn: int
    service: str
    act: str
    slot: str
    values: tuple[str, ...]
    words: str
    previous: str
    utterance: str
    faithful: bool  # by the metric


class SheetKey(msgspec.Struct, frozen=True):
    """The part of a sheet that annotators must not see; the scores are computed from it."""

    troth: str
    source: str
    system: str
    metric: str
    recipe: str  # of the metric
    of: Of
    seed: int
    faithful: int  # how many pairs there are that the metric marks faithful,
    unfaithful: int  # and unfaithful; from these were drawn:
    pairs: dict[str, SheetRow]


def annotate(
    run: names.Path,
    out: names.Path,
    *,
    pairs: int = 400,
    seed: int = 0,
    of: Of = "validated",
    system: str | None = None,
) -> SheetKey:
    """Writes a sheet of some pairs of a run to the new file `out` (.csv), and the key beside it.

    `run`: the folder of a run of `nlg`. `of`: draw from turns that pass validation, that fail it ("excluded"), or all.
    """
    source, sheet = names.path_of(run), names.path_of(out)
    sheets.check_sheet(sheet)
    if pairs < 2:
        raise UserError(f"{pairs} pairs cannot be balanced", hint="take 2 or more; the paper has 400")
    score = _score(runs.load(source), source, system, of)
    drawn = draw(sheet_rows(open_archive(source).dialogues, score.system, of), pairs=pairs, seed=seed)
    if not drawn.rows:
        hint = "was it scored with sgsacc_validated, and gold's utterances?"
        raise UserError("no pair to draw from" if of == "all" else f"no {of} pair to draw from", file=source, hint=hint)
    key = SheetKey(
        __version__, source, score.system, SGSACC.name, score.identity, of, seed, drawn.faithful, drawn.unfaithful,
        drawn.rows,
    )  # fmt: skip
    sheets.write(sheet, SGSACC_STUDY, sheet_cells(key.pairs), key)
    return key


class Drawn(NamedTuple):
    """The drawn pairs by id, and how many there are of either side."""

    rows: dict[str, SheetRow]
    faithful: int
    unfaithful: int


def draw(rows: Iterable[SheetRow], *, pairs: int, seed: int = 0) -> Drawn:
    """Half faithful and half unfaithful, if there are enough of both; neither order nor ids tell which is which."""
    distinct = set(rows)  # a turn may have the same act twice, which is one pair
    sides = [sorted(row for row in distinct if row.faithful == side) for side in (True, False)]
    rng = generator(seed, "sgsacc", "annotate")
    wanted = (pairs - pairs // 2, pairs // 2)
    drawn = [row for side, count in zip(sides, wanted, strict=True) for row in rng.sample(side, min(count, len(side)))]
    rng.shuffle(drawn)
    return Drawn(sheets.number_items(drawn, mark_pairs(drawn)), len(sides[0]), len(sides[1]))


def _score(run: runs.Run, path: str, system: str | None, of: Of) -> Score:
    """SGSAcc's score of the selected system. Its verdicts select the pairs, and its recipe goes into the key."""
    whole = {(score.metric, score.system): score for score in run.scores if score.group == ALL}
    systems = [name for metric, name in whole if metric == SGSACC.name]
    if run.command != "nlg" or not systems:
        raise UserError(f"not a run with {SGSACC.name}", file=path, hint="make one with troth nlg … --out RUN")
    metric = SGSACC if of == "all" else SGSACC_VALIDATED
    score = whole.get((metric.name, select_system(systems, system, path)))
    if score is None:
        raise UserError(f"the run has no {metric.name}", file=path, hint="score that, too, or draw from all turns")
    return score


def select_system(systems: Sequence[str], system: str | None, path: str) -> str:
    """The system of a run that is asked for, or the only one."""
    if system is None and len(systems) > 1:
        raise UserError("the run holds several systems", file=path, hint="choose one: " + ", ".join(systems))
    if system is not None and system not in systems:
        raise UserError(
            f"no system is called '{system}'", file=path, hint=suggest_name(system, systems) or ", ".join(systems)
        )
    return system or systems[0]


def open_archive(path: str) -> explorer.Archive:
    """Dialogues or responses stored with a run."""
    folder = Path(path) if Path(path).is_dir() else Path(path).parent
    file = folder / explorer.NAME
    if not file.is_file():
        raise UserError(f"no {explorer.NAME} in it, which has the texts", file=path, hint="make the run again")
    return explorer.read(file)


def sheet_rows(dialogues: Iterable[explorer.DialogueView], system: str, of: Of) -> list[SheetRow]:
    """Acts with a verdict, from a system's turns that pass validation, that fail it, or from all."""
    rows = []
    for response in collect_responses(dialogues).get(system, ()):
        answer = response.answer
        valid = not any(act.excluded for act in answer.acts)
        if (answer.text or "").strip() and (of == "all" or valid == (of == "validated")):
            rows += [
                SheetRow(
                    response.dialogue, answer.index, act.service, act.act, act.slot, act.values,
                    describe_act(act.act, act.slot, act.values), response.previous, answer.text or "", act.entailed,
                )
                for act in answer.acts
                if act.entailed is not None
            ]  # fmt: skip
    return rows


def mark_pairs(pairs: Iterable[SheetRow]) -> str:
    """A short hash of the questions in their order, without the metric's verdicts."""
    return sheets.hash_items([msgspec.structs.replace(row, faithful=False) for row in pairs])


def describe_act(act: str, slot: str, values: Sequence[str]) -> str:
    """The act in words, for people who do not know dialogue acts."""
    if act in WORDS:
        return WORDS[act]
    name, text = humanize(slot), ", ".join(values)
    if act == "REQUEST":
        return f"asks for: {name}" + (f" (such as {text})" if values else "")
    if act == "INFORM_COUNT":
        return f"tells how many results there are: {text}"
    if act == "OFFER_INTENT":
        return "offers to do: " + ", ".join(humanize(value).lower() for value in values)
    text = {"true": "yes", "false": "no"}.get(text.lower(), text)
    verb = VERBS.get(act, humanize(act.lower()))
    return f"{verb}: {name}" + (f" = {text}" if text else "") if name else verb


def sheet_cells(pairs: Mapping[str, SheetRow]) -> dict[str, tuple[str, ...]]:
    """Columns of the sheet for each pair."""
    return {id: (row.previous, row.utterance, row.service, row.words) for id, row in pairs.items()}
