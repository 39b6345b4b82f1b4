"""Reads what Inform and Success need: systems' files in mwzeval's format, goals, booked domains and the database.

Everything can be a file or the same values in memory. Dialogue ids are compared in MultiWOZ's normal form: `mul0484`
for `MUL0484.json`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from troth import readers
from troth.core.errors import UserError
from troth.core.names import Path, is_path, path_of
from troth.core.records import Dialogue, Pair
from troth.readers import plain, source
from troth.readers.decode import decode, error_context
from troth.responses.multiwoz.database import DOMAINS
from troth.responses.multiwoz.success import DomainGoal, MultiwozTurn
from troth.text.mwzeval import mwzeval_response, mwzeval_slot, mwzeval_value, unknown_placeholders
from troth.text.normalize import dialogue_id

T = TypeVar("T")
States = dict[str, dict[str, str]]  # domain to slot to value
Goals = dict[str, dict[str, DomainGoal]]  # by dialogue and domain
Booked = dict[str, list[frozenset[str]]]  # by dialogue, for each system turn
Tables = dict[str, list[dict[str, Any]]]  # rows of the database by domain
DONTCARE = "dontcare"


class MultiwozSystem(NamedTuple):
    """The turns of one system by dialogue, and how many of its placeholders are not known."""

    turns: dict[str, list[MultiwozTurn]]
    unknown: int = 0

    @property
    def has_states(self) -> bool:
        return all(turn.state is not None for turns in self.turns.values() for turn in turns)

    @property
    def has_domains(self) -> bool:
        return all(turn.domains is not None for turns in self.turns.values() for turn in turns)


def read_system(data: Path | Mapping[str, Any]) -> MultiwozSystem:
    """A system's turns: `{dialogue: [{"response": …, "state": …, "active_domains": …}, …]}`; the last two may lack."""
    unknown: list[str] = []

    def parse(raw: object) -> list[MultiwozTurn]:
        turns = []
        for number, item in enumerate(plain.sequence(raw, "the dialogue")):
            with error_context(turn=number):
                row = plain.mapping(item, "the turn")
                text = plain.text_of(row, "response", "the turn")
                domains = _texts(row["active_domains"], "'active_domains'") if "active_domains" in row else None
                state = normalize_state(row["state"]) if "state" in row else None
                unknown.extend(unknown_placeholders(text))
                turns.append(MultiwozTurn(mwzeval_response(text), state, domains))
        return turns

    return MultiwozSystem(_read(data, parse), len(unknown))


def normalize_state(raw: object) -> States:
    """A state in mwzeval's form."""
    return {
        domain: {
            mwzeval_slot(slot): mwzeval_value(slot, plain.value_text(value, f"{domain}-{slot}"))
            for slot, value in plain.mapping(slots, f"'state' of '{domain}'").items()
        }
        for domain, slots in plain.mapping(raw, "'state'").items()
    }


def read_goals(data: Path | Mapping[str, Any]) -> Goals:
    """The user's goals: `{dialogue: {domain: {"informable": {slot: value}, "requestable": [PHONE, …]}}}`."""

    def parse(raw: object) -> dict[str, DomainGoal]:
        try:
            return msgspec.convert(raw, dict[str, DomainGoal])
        except msgspec.ValidationError as error:
            what = f"is not a goal: {error}"
            raise UserError(what, hint='{"hotel": {"informable": {…}, "requestable": […]}, …}') from error

    return _read(data, parse)


def read_booked(data: Path | Mapping[str, Any]) -> Booked:
    """The domains that are booked by each system turn: `{dialogue: [[], ["hotel"], …]}`."""
    return _read(
        data, lambda raw: [frozenset(_texts(domains, "the turn")) for domains in plain.sequence(raw, "the dialogue")]
    )


def read_references(data: Path | Mapping[str, Any]) -> dict[str, list[str]]:
    """Reference responses by dialogue, in mwzeval's form.

    Plain texts are mwzeval's own files of references, which are normalised already; rows with a `response` are not.
    """

    def parse(raw: object) -> list[str]:
        rows = plain.sequence(raw, "the dialogue")
        return [row if isinstance(row, str) else _response(row) for row in rows]

    return _read(data, parse)


def _response(row: object) -> str:
    return mwzeval_response(plain.text_of(plain.mapping(row, "the turn"), "response", "the turn"))


def read_states(data: Path | Iterable[Dialogue]) -> dict[str, list[States]]:
    """Gold states by dialogue, for systems without states: files in any format with states, or dialogues.

    As in mwzeval, a slot without a preference is left out, and only the first value of a slot counts.
    """
    items: Iterable[Dialogue | Pair] = readers.read(path_of(data)) if is_path(data) else data
    states: dict[str, list[States]] = {}
    for item in items:
        dialogue = item.gold if isinstance(item, Pair) else item
        states[dialogue_id(dialogue.id)] = [
            {
                service: {
                    mwzeval_slot(slot): mwzeval_value(slot, values[0])
                    for slot, values in slots.items()
                    if values and DONTCARE not in values
                }
                for service, slots in plain.states(turn).items()
            }
            for _, turn in dialogue.user_turns()
        ]
    return states


def read_tables(data: Path | Mapping[str, Any]) -> Tables:
    """The tables of attraction, hotel, restaurant and train: a ZIP or a folder with `hotel_db.json`, …, or rows."""
    if not is_path(data):
        tables = {domain: plain.sequence(data[domain], domain) for domain in DOMAINS if domain in data}
        lacking, path = [domain for domain in DOMAINS if domain not in tables], None
    else:
        path = path_of(data)
        tables = {}
        for document in source.documents(path):
            domain = next((name for name in DOMAINS if document.name.rsplit("/")[-1].startswith(f"{name}_db.json")), "")
            if domain:
                tables[domain] = decode(document, list[dict[str, Any]])
        lacking = [domain for domain in DOMAINS if domain not in tables]
    if lacking:
        hint = "MultiWOZ's attraction_db.json, hotel_db.json, restaurant_db.json and train_db.json"
        raise UserError(f"the database has no table of {', '.join(lacking)}", file=path, hint=hint)
    return tables


def _read(data: Path | Mapping[str, Any], parse: Callable[[object], T]) -> dict[str, T]:
    """What is parsed from each dialogue's entry of a file or of a mapping; errors name file and dialogue."""
    document = source.first(path_of(data)) if is_path(data) else None
    entries = ((dialogue_id(key), raw) for key, raw in data.items()) if document is None else plain.dialogues(document)  # type: ignore[union-attr]
    parsed: dict[str, T] = {}
    with error_context(file=None if document is None else document.name):
        for name, raw in entries:
            with error_context(dialogue=name):
                parsed[name] = parse(raw)
    return parsed


def _texts(value: object, what: str) -> tuple[str, ...]:
    return tuple(plain.text(item, what) for item in plain.sequence(value, what))


def pad_turns(texts: Sequence[str], number: int) -> list[str]:
    """As many texts as there are reference turns: empty ones for turns without a response."""
    return [*texts[:number], *[""] * (number - len(texts))]
