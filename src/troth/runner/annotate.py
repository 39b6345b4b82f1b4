"""A sheet for people: sampled pairs of an utterance and an act, to be marked faithful or not (sgsacc.txt, section 2.2).

Half of the pairs are marked faithful by SGSAcc and half unfaithful, from turns that pass validation, in mixed order.
The metric's verdict is not in the sheet: it is in the key, a file beside it, by the pairs' numbers.

Verdicts come from a run of `troth nlg`: its details have the acts that are not entailed, its rows the turns that pass
validation. Texts come from the files that the run names. No model is asked.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from troth import __version__, readers
from troth.errors import UserError, near
from troth.readers import responses
from troth.records import Score, Speaker
from troth.runner import store
from troth.runner.files import new_file, refuse
from troth.runner.nlg import _labels
from troth.scorers import references, sgsacc

Of = Literal["validated", "excluded", "all"]
Turn = tuple[str, int]  # dialogue, index into its turns

COLUMNS = ("id", "previous turn", "utterance", "service", "act", "faithful")
ANSWER = "faithful"
METRIC, VALIDATED = "sgsacc", "sgsacc_validated"
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that spreadsheets would run

# What the utterance does if it is true to its act.
WORDS = {
    "GOODBYE": "says goodbye",
    "REQ_MORE": "asks whether anything else is needed",
    "NOTIFY_SUCCESS": "tells that the request succeeded",
    "NOTIFY_FAILURE": "tells that the request failed",
}
VERBS = {"INFORM": "tells", "OFFER": "offers", "CONFIRM": "asks to confirm"}


class Judged(msgspec.Struct, frozen=True):
    """One act of one response with the metric's verdict."""

    system: str
    dialogue: str
    turn: int
    service: str
    act: str
    slot: str
    values: tuple[str, ...]
    response: str
    previous: str
    entailed: bool
    valid: bool  # the turn passes validation


class Asked(msgspec.Struct, frozen=True):
    """A row of a sheet, as the key has it."""

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


class Key(msgspec.Struct, frozen=True):
    """What the annotators must not see, and what the figures need."""

    troth: str
    source: str
    system: str
    metric: str
    recipe: str  # of the metric
    of: Of
    seed: int
    faithful: int  # so many pairs there are that the metric marks so,
    unfaithful: int  # of which these many were drawn:
    pairs: dict[str, Asked]


def annotate(
    run: str, out: str, *, pairs: int = 400, seed: int = 0, of: Of = "validated", system: str | None = None
) -> Key:
    """Write a sheet of some pairs of a run to the new file `out` (.csv), and the key beside it. `of`: whose pairs."""
    if not out.endswith(".csv"):
        raise UserError("a sheet's name ends in .csv", file=out, hint="for example sheet.csv")
    for name in (out, key_file(out)):
        refuse(name)
    if pairs < 2:
        raise UserError(f"{pairs} pairs cannot be balanced", hint="take 2 or more; the paper has 400")
    found = store.load(run)
    score = _score(found, run, system)
    key = sample(judged(run, found, score.system), source=run, recipe=score.recipe, pairs=pairs, seed=seed, of=of)
    with new_file(out) as sheet, new_file(key_file(out)) as beside:  # the key appears first: no sheet without one
        beside.write(msgspec.json.format(msgspec.json.encode(key), indent=1) + b"\n")
        sheet.write(_sheet(key.pairs))
    return key


def key_file(sheet: str) -> str:
    return sheet.removesuffix(".csv") + ".key.json"


def sample(
    judged: Sequence[Judged], *, source: str, recipe: str, pairs: int, seed: int = 0, of: Of = "validated"
) -> Key:
    """Half faithful and half not, as far as there are so many; the order and the numbers tell nothing."""
    meant = [one for one in judged if one.response.strip() and (of == "all" or one.valid == (of == "validated"))]
    sides = [sorted(_distinct(meant, faithful=side), key=_place) for side in (True, False)]
    if not any(sides):
        hint = "was it scored with sgsacc_validated, and gold's utterances?"
        raise UserError("no pair to draw from" if of == "all" else f"no {of} pair to draw from", file=source, hint=hint)
    rng = sgsacc.generator(seed, "annotate")
    wanted = (pairs - pairs // 2, pairs // 2)
    drawn = [one for side, count in zip(sides, wanted, strict=True) for one in rng.sample(side, min(count, len(side)))]
    rng.shuffle(drawn)
    width = len(str(len(drawn)))
    numbered = {f"p{number:0{width}}": _asked(one) for number, one in enumerate(drawn, 1)}
    return Key(__version__, source, meant[0].system, METRIC, recipe, of, seed, len(sides[0]), len(sides[1]), numbered)


# -- from a run --------------------------------------------------------------------------------------------------------


def _score(run: store.Run, path: str, system: str | None) -> Score:
    """SGSAcc's score of the system that is meant: its recipe goes into the key."""
    hint = "make one with troth nlg … --out RUN"
    scores = {score.system: score for score in run.scores if (score.metric, score.group) == (METRIC, "all")}
    if run.command != "nlg" or not scores:
        raise UserError(f"not a run with {METRIC}", file=path, hint=hint)
    if system is None and len(scores) > 1:
        raise UserError("the run holds several systems", file=path, hint=f"--system {' or '.join(scores)}")
    if system is not None and system not in scores:
        raise UserError(f"no system is called '{system}'", file=path, hint=near(system, scores) or ", ".join(scores))
    return scores[system] if system is not None else next(iter(scores.values()))


def judged(path: str, run: store.Run, system: str) -> list[Judged]:
    """Every act of the run's responses with its verdict."""
    told = {_place(one): one for one in _details(path, run) if one.system == system}
    scored, valid = _turns(path, system)
    texts, units = _texts(path, run, system)
    made, seen = [], set()
    for unit in units:
        turn = (unit.dialogue, unit.turn)
        for act, service in unit.due:
            verdict = _Detail(system, *turn, service.name, act.act, act.slot, act.values, entailed=True)
            seen.add(_place(verdict))
            verdict = told.get(_place(verdict), verdict)
            if turn in scored and turn in texts and references.candidates(act, service):
                made.append(
                    Judged(
                        system, *turn, service.name, act.act, act.slot, act.values, texts[turn].text, unit.previous,
                        verdict.entailed, turn in valid,
                    )
                )  # fmt: skip
    if not seen.issuperset(told):
        hint = "make the run again"
        raise UserError("the files that it was made from have changed since", file=path, hint=hint)
    return made


class _Detail(msgspec.Struct, frozen=True):
    """What is needed of a run's details."""

    system: str
    dialogue: str
    turn: int
    service: str
    act: str
    slot: str
    values: tuple[str, ...]
    entailed: bool


def _details(path: str, run: store.Run) -> list[_Detail]:
    try:
        return msgspec.convert(run.details, list[_Detail])
    except msgspec.ValidationError as error:
        raise UserError(
            f"its details are not verdicts on acts: {error}", file=path, hint="make the run again"
        ) from error


def _turns(path: str, system: str) -> tuple[set[Turn], set[Turn]]:
    """The turns that the run scored, and those that pass validation."""
    rows = store.rows(path).to_dicts()
    mine = [(row["metric"], (row["dialogue"], row["turn"])) for row in rows if row["system"] == system]
    scored, valid = ({turn for metric, turn in mine if metric == name} for name in (METRIC, VALIDATED))
    return scored, valid


def _texts(path: str, run: store.Run, system: str) -> tuple[dict[Turn, responses.Response], list[sgsacc.Unit]]:
    """The system's responses, and gold's system turns."""
    given = run.arguments
    try:
        gold, files = given["gold"], dict(_labels(given["responses"]))
        schemas = readers.schema(given["schema"]) if given.get("schema") else readers.schema_beside(gold)
        dialogues = list(readers.gold(gold))
        speakers: dict[str, list[Speaker]] = {one.id: [turn.speaker for turn in one.turns] for one in dialogues}
        said = responses.read(files[system], speakers, ids=given.get("ids"))
    except (KeyError, TypeError) as error:
        raise UserError(f"does not say what it was made from: {error}", file=path, hint="make it again") from error
    return said, [unit for dialogue in dialogues for unit in sgsacc.units(dialogue, schemas or {})]


# -- pairs -------------------------------------------------------------------------------------------------------------


def _distinct(judged: Sequence[Judged], *, faithful: bool) -> list[Judged]:
    """A turn may have the same act twice, which is one pair."""
    return list({_place(one): one for one in judged if one.entailed == faithful}.values())


def _place(one: Judged | _Detail) -> tuple[str, int, str, str, str, tuple[str, ...]]:
    return one.dialogue, one.turn, one.service, one.act, one.slot, one.values


def _asked(one: Judged) -> Asked:
    return Asked(
        one.dialogue, one.turn, one.service, one.act, one.slot, one.values, in_words(one.act, one.slot, one.values),
        one.previous, one.response, one.entailed,
    )  # fmt: skip


def in_words(act: str, slot: str, values: Sequence[str]) -> str:
    """The act for people who know no dialogue acts."""
    if act in WORDS:
        return WORDS[act]
    name, said = references.words(slot), ", ".join(values)
    if act == "REQUEST":
        return f"asks for: {name}" + (f" (such as {said})" if values else "")
    if act == "INFORM_COUNT":
        return f"tells how many results there are: {said}"
    if act == "OFFER_INTENT":
        return "offers to do: " + ", ".join(references.words(value).lower() for value in values)
    said = {"true": "yes", "false": "no"}.get(said.lower(), said)
    verb = VERBS.get(act, references.words(act.lower()))
    return f"{verb}: {name}" + (f" = {said}" if said else "") if name else verb


def _sheet(pairs: Mapping[str, Asked]) -> bytes:
    """With a byte order mark, by which spreadsheets know UTF-8."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for id, one in pairs.items():
        writer.writerow(map(harmless, (id, one.previous, one.utterance, one.service, one.words, "")))
    return text.getvalue().encode("utf-8-sig")


def harmless(cell: str) -> str:
    """What a spreadsheet would take for a formula begins with an apostrophe, and is text."""
    return f"'{cell}" if cell.lstrip(" ").startswith(FORMULA) else cell
