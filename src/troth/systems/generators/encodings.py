"""The input of a generator: the acts of a system turn as text, in one of three encodings (Kale and Rastogi 2020).

- `template`: T2G2's sentences, one for each act, by the templates of its service; where there is none, a generic one.
- `naive`: acts, slots and values as they are, `offer ( hotel_name = Lantern Rooms )`.
- `schema`: the same with descriptions from the schema in place of names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from troth.core.errors import UserError
from troth.core.records import Act, Frame, Schema, Service
from troth.responses import references
from troth.responses.corpus import ActCorpus
from troth.responses.sgsacc import SystemTurn
from troth.responses.templates import CONFIRM, Templates, render_frame
from troth.systems.text import TextExample, TextNetwork
from troth.text.identifiers import humanize

Encoding = Literal["template", "naive", "schema"]
RESPONSE = " response: "  # what a decoder writes after; an encoder needs no such mark
SLOTTED = ("INFORM", "REQUEST", "CONFIRM", "OFFER")  # acts that say nothing without a slot


class ResponseTurn(NamedTuple):
    """A system turn that is to be put into words, with its acts by service."""

    system: SystemTurn
    frames: tuple[Frame, ...]


def response_turns(corpus: ActCorpus) -> list[ResponseTurn]:
    """The system turns that have acts; an act that cannot be said is an error."""
    frames = {
        (dialogue.id, number): turn.frames
        for dialogue in corpus.dialogues
        for number, turn in enumerate(dialogue.turns)
    }
    turns = [ResponseTurn(turn, frames[turn.key]) for turn in corpus.turns if turn.acts]
    for turn in turns:
        bare = next((act for act, _ in turn.system.acts if not act.slot and (act.values or act.act in SLOTTED)), None)
        if bare is not None:
            raise UserError(f"act {bare.act} has no slot", dialogue=turn.system.dialogue, turn=turn.system.turn,
                            hint="name the slot that it is about")  # fmt: skip
    return turns


def encode_acts(turn: ResponseTurn, schema: Schema, how: Encoding, templates: Templates) -> str:
    if how == "template":
        return " ".join(_sentences(turn.frames, schema, templates))
    return " ".join(_linear(act, service, described=how == "schema") for act, service in turn.system.acts)


def _sentences(frames: Sequence[Frame], schema: Schema, templates: Templates) -> Iterator[str]:
    for frame in frames:
        sentences = render_frame(frame, templates)
        if any(sentence.act.act == "CONFIRM" for sentence in sentences):
            yield CONFIRM
        for sentence in sentences:
            yield generic_sentence(sentence.act, schema[frame.service]) if sentence.text is None else sentence.text


def generic_sentence(act: Act, service: Service) -> str:
    """A sentence for an act of any service, by the schema alone."""
    name = humanize(act.slot)
    if act.act == "REQUEST":
        return f"What is the {name}{': ' + ' or '.join(act.values) if act.values else ''}?"
    if act.act == "OFFER_INTENT":
        offer = references.candidates(act, service)[0].removeprefix("Offer to ")
        return f"Would you like to {offer}?"
    text = next(iter(references.candidates(act, service)), act.act.replace("_", " ").capitalize())
    return text if text.endswith((".", "?")) else f"{text}."


def _linear(act: Act, service: Service, *, described: bool) -> str:
    slot = references.slot_description(act, service) if described else ""
    values = f" = {', '.join(act.values)}" if act.values else ""
    inside = f"{slot or act.slot}{values}"
    return f"{act.act.lower()} ( {inside} )" if inside else f"{act.act.lower()} ( )"


def source_of(network: TextNetwork, text: str) -> Sequence[int]:
    """A turn's text in tokens; where it is too long, its beginning is lost."""
    return network.source(text, RESPONSE if network.decoder else "")


def example(network: TextNetwork, text: str, response: str) -> TextExample:
    return network.example((text, RESPONSE if network.decoder else ""), response)
