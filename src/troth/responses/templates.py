"""Responses by template (T2G2: Kale and Rastogi 2020): each act becomes a sentence, the sentences become the response.

A folder holds a file of templates for each service (docs/formats.md, templates). As in the authors' generator, of a
repeated key the last line counts, and the sentences of a turn come in the order of `ORDER`, then the others, each in
the order of the acts; a frame that confirms begins with `CONFIRM`. Their generator fails where there is no template or
no file for a service. Ours leaves the act out and reports it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import msgspec

from troth.core import names
from troth.core.decode import reading
from troth.core.errors import UserError, suggest_name
from troth.core.records import Act, Frame, Turn
from troth.readers import source
from troth.responses import corpus
from troth.storage.files import new_file

ENDING = ".tsv"
VALUE, SEPARATOR = "@", "!!"
ORDER = ("SELECT", "INFORM_COUNT", "NOTIFY_SUCCESS", "NOTIFY_FAILURE", "INFORM", "REQUEST", "CONFIRM")
BY_INTENT = ("NOTIFY_FAILURE", "NOTIFY_SUCCESS", "INFORM_COUNT", "OFFER_INTENT")
OWN = ("True", "False", "dontcare")  # values with sentences of their own
CONFIRM = "Please confirm the following details:"

Templates = dict[str, dict[str, str]]  # service to key to text


class Sentence(NamedTuple):
    """An act in words; the text is None where there is no template for it."""

    service: str
    act: Act
    key: str
    text: str | None


class TemplateResponse(NamedTuple):
    """The response to a turn, empty if no act has a template, and the acts that have none."""

    text: str
    lacking: tuple[Sentence, ...]


class MissingTemplate(msgspec.Struct, frozen=True):
    """A template that acts of gold need and that does not exist."""

    service: str
    key: str
    acts: int
    hint: str | None


class TemplateSummary(msgspec.Struct, frozen=True):
    """How many responses were written, and how many acts they leave out."""

    responses: int
    partial: int  # responses that leave out an act
    silent: int  # turns without any template: no response is written
    without_acts: int  # turns without acts
    acts: int
    lacking: list[MissingTemplate]  # the most frequent first


def respond(gold: names.Path, folder: names.Path, out: names.Path, *, format: str | None = None) -> TemplateSummary:
    """Writes a response for each of gold's system turns to the new file `out`, in the layout that `nlg` reads."""
    known = read(names.path_of(folder))
    count: Counter[str] = Counter()
    lacking: Counter[tuple[str, str]] = Counter()
    with new_file(names.path_of(out)) as file:
        for _, dialogue in corpus.read_dialogues(gold, format):
            for number, turn in enumerate(dialogue.turns):
                if turn.speaker != "SYSTEM":
                    continue
                acts = sum(len(frame.acts) for frame in turn.frames)
                rendered = render_turn(turn, known)
                lacking.update((sentence.service, sentence.key) for sentence in rendered.lacking)
                count.update(acts=acts, without_acts=not acts, silent=bool(acts and not rendered.text))
                if rendered.text:
                    count.update(responses=1, partial=bool(rendered.lacking))
                    row = {"dialogue": dialogue.id, "turn": number, "response": rendered.text}
                    file.write(msgspec.json.encode(row) + b"\n")
        if not count["responses"]:
            hint = "are these its services?"
            raise UserError("no act of its system turns has a template", file=names.path_of(gold), hint=hint)
    ranked = sorted(lacking.items(), key=lambda item: (-item[1], item[0]))
    absent = [MissingTemplate(*owner, acts, nearest_name(*owner, known)) for owner, acts in ranked]
    totals = {name: count[name] for name in ("responses", "partial", "silent", "without_acts", "acts")}
    return TemplateSummary(**totals, lacking=absent)


def read(folder: str) -> Templates:
    """Every `.tsv` file of a folder, under its service's name."""
    path = Path(folder)
    with reading(folder):
        if not path.is_dir():
            raise UserError("no such folder", file=folder, hint="name the folder with the services' .tsv files")
        templates = {file.stem: _read_file(file) for file in sorted(path.glob(f"*{ENDING}"))}
    if not templates:
        raise UserError(f"no {ENDING} file in this folder", file=folder, hint="one per service, such as Hotels_2.tsv")
    return templates


def _read_file(file: Path) -> dict[str, str]:
    lines = source.read_text(file).split("\n")
    texts = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        key, _, text = (part.strip() for part in line.partition("\t"))
        problem = _line_problem(key, text)
        if problem is not None:
            raise UserError(f"line {number}: {problem}", file=str(file), hint="see docs/formats.md, templates")
        texts[key] = text
    return texts


def _line_problem(key: str, text: str) -> str | None:
    if not key or not text or "\t" in text:
        return "is not a key, a tab and a text"
    if key.count(VALUE) != text.count(VALUE):
        return f"{key.count(VALUE)} {VALUE} in the key and {text.count(VALUE)} in the text"
    return None


def template_key(act: Act, frame: Frame) -> str:
    marks = VALUE * len(act.values)
    if act.act in BY_INTENT:
        parts = [act.act, *filter(None, [_intent(act, frame)])]
        return SEPARATOR.join([*parts, "count", *filter(None, [marks])] if act.act == "INFORM_COUNT" else parts)
    parts = [act.act, *filter(None, [act.slot])]
    if act.slot and act.values:
        parts.append(act.values[0] if len(act.values) == 1 and act.values[0] in OWN else marks)
    return SEPARATOR.join(parts)


def render_frame(frame: Frame, templates: Templates) -> list[Sentence]:
    """The frame's acts in words, in the order in which they are said."""
    known = templates.get(frame.service, {})
    acts = sorted(frame.acts, key=lambda act: ORDER.index(act.act) if act.act in ORDER else len(ORDER))
    keyed = [(act, template_key(act, frame)) for act in acts]
    return [Sentence(frame.service, act, k, _fill(known[k], act) if k in known else None) for act, k in keyed]


def render_turn(turn: Turn, templates: Templates) -> TemplateResponse:
    texts: list[str] = []
    lacking: list[Sentence] = []
    for frame in turn.frames:
        sentences = render_frame(frame, templates)
        if any(sentence.act.act == "CONFIRM" and sentence.text is not None for sentence in sentences):
            texts.append(CONFIRM)
        texts += [sentence.text for sentence in sentences if sentence.text is not None]
        lacking += [sentence for sentence in sentences if sentence.text is None]
    return TemplateResponse(" ".join(texts), tuple(lacking))


def fingerprint(templates: Templates) -> str:
    """A short hash of all texts under their keys."""
    parts = [(service, sorted(texts.items())) for service, texts in sorted(templates.items())]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:8]


def nearest_name(service: str, key: str, templates: Templates) -> str | None:
    """The nearest key or service where a template is lacking."""
    known = templates.get(service)
    return suggest_name(service, templates) if known is None else suggest_name(key, known)


def _intent(act: Act, frame: Frame) -> str | None:
    if act.act == "OFFER_INTENT" and act.values:
        return act.values[0]
    return frame.service_call.method if frame.service_call else None


def _fill(text: str, act: Act) -> str:
    first, *rest = text.split(VALUE)  # as many as there are values, or, for a sentence of its own, none
    return first + "".join(value + part for value, part in zip(act.values, rest, strict=False))
