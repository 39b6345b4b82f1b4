"""A sheet for people: sampled pairs of an utterance and an act, to be marked faithful or not (SGSAcc, section 2.2).

Half of the pairs are marked faithful by SGSAcc and half unfaithful, from turns that pass validation, in mixed order.
The metric's verdict is not in the sheet: it is in the key, a file beside it, by the pairs' numbers.

Texts and verdicts come from what a run of `troth nlg` keeps of its dialogues (`troth.storage.explorer`): no file that
it was made from is read again, and no model is asked. The pairs' ids end in a mark of the drawn pairs, so that a sheet
fits no other sheet's key.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from troth.core.errors import UserError, near
from troth.core.score import Score
from troth.core.table import harmless
from troth.core.version import __version__
from troth.responses import references, sgsacc
from troth.storage import explorer
from troth.storage import runs as store
from troth.storage.files import check_new, new_file

Of = Literal["validated", "excluded", "all"]

COLUMNS = ("id", "previous turn", "utterance", "service", "act", "faithful")
ANSWER = "faithful"
METRIC, VALIDATED = "sgsacc", "sgsacc_validated"

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
        check_new(name)
    if pairs < 2:
        raise UserError(f"{pairs} pairs cannot be balanced", hint="take 2 or more; the paper has 400")
    found = store.load(run)
    score = _score(found, run, system, of)
    key = sample(judged(run, score.system), source=run, recipe=score.recipe, pairs=pairs, seed=seed, of=of)
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
    asked = [_asked(one) for one in drawn]
    width, ending = len(str(len(drawn))), mark(asked)
    numbered = {f"p{number:0{width}}-{ending}": one for number, one in enumerate(asked, 1)}
    return Key(__version__, source, meant[0].system, METRIC, recipe, of, seed, len(sides[0]), len(sides[1]), numbered)


# -- from a run --------------------------------------------------------------------------------------------------------


def _score(run: store.Run, path: str, system: str | None, of: Of) -> Score:
    """SGSAcc's score of the system that is meant, by which its pairs are chosen: its recipe goes into the key."""
    hint = "make one with troth nlg … --out RUN"
    scores = {score.system: score for score in run.scores if (score.metric, score.group) == (METRIC, "all")}
    if run.command != "nlg" or not scores:
        raise UserError(f"not a run with {METRIC}", file=path, hint=hint)
    if system is None and len(scores) > 1:
        raise UserError("the run holds several systems", file=path, hint=f"--system {' or '.join(scores)}")
    if system is not None and system not in scores:
        raise UserError(f"no system is called '{system}'", file=path, hint=near(system, scores) or ", ".join(scores))
    score = scores[system] if system is not None else next(iter(scores.values()))
    if of == "all":
        return score
    validated = {other.system: other for other in run.scores if (other.metric, other.group) == (VALIDATED, "all")}
    if score.system not in validated:
        raise UserError(f"the run has no {VALIDATED}", file=path, hint="score that, too, or take --of all")
    return validated[score.system]


def judged(path: str, system: str) -> list[Judged]:
    """Every act of the run's responses with its verdict; acts that no rule puts into words have none."""
    folder = Path(path) if Path(path).is_dir() else Path(path).parent
    file = folder / explorer.NAME
    if not file.is_file():
        raise UserError(f"no {explorer.NAME} in it, which has the texts", file=path, hint="make the run again")
    return [one for dialogue in explorer.read(file).dialogues for one in _of_dialogue(dialogue, system)]


def _of_dialogue(dialogue: explorer.DialogueView, system: str) -> Iterator[Judged]:
    said = {line.index: line.text for line in dialogue.utterances}
    for answer in (answer for track in dialogue.tracks if track.system == system for answer in track.answers):
        valid = not any(told.excluded for told in answer.acts)
        for told in answer.acts:
            if answer.text is not None and told.entailed is not None:
                yield Judged(
                    system, dialogue.id, answer.index, told.service, told.act, told.slot, told.values, answer.text,
                    said.get(answer.index - 1, ""), told.entailed, valid,
                )  # fmt: skip


# -- pairs -------------------------------------------------------------------------------------------------------------


def _distinct(judged: Sequence[Judged], *, faithful: bool) -> list[Judged]:
    """A turn may have the same act twice, which is one pair."""
    return list({_place(one): one for one in judged if one.entailed == faithful}.values())


def _place(one: Judged) -> tuple[str, int, str, str, str, tuple[str, ...]]:
    return one.dialogue, one.turn, one.service, one.act, one.slot, one.values


def _asked(one: Judged) -> Asked:
    return Asked(
        one.dialogue, one.turn, one.service, one.act, one.slot, one.values, in_words(one.act, one.slot, one.values),
        one.previous, one.response, one.entailed,
    )  # fmt: skip


def mark(pairs: Iterable[Asked]) -> str:
    """A short hash of what is asked, in its order, without the metric's verdicts."""
    asked = [msgspec.structs.replace(one, faithful=False) for one in pairs]
    return hashlib.sha256(msgspec.json.encode(asked)).hexdigest()[:6]


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
    writer = csv.writer(text, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    for id, one in pairs.items():
        writer.writerow(map(harmless, (id, one.previous, one.utterance, one.service, one.words, "")))
    return text.getvalue().encode("utf-8-sig")
