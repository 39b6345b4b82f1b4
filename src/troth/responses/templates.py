"""Responses by template (T2G2: Kale and Rastogi 2020): each act becomes a sentence, the sentences become the response.

A folder holds a file of templates for each service, `Hotels_2.tsv`, a template a line, with a tab between its key and
its text:

    ACT                             GOODBYE, REQ_MORE
    ACT!!slot                       REQUEST!!city, an act without values
    ACT!!slot!!@                    OFFER!!name!!@, one value; @@ for two, @@@ for three
    ACT!!slot!!True                 INFORM!!has_wifi!!True: True, False and dontcare have sentences of their own
    ACT!!intent                     NOTIFY_SUCCESS!!BookHotel, NOTIFY_FAILURE!!…, OFFER_INTENT!!…
    INFORM_COUNT!!intent!!count!!@

In the text, each @ stands for a value, in order. The intent is that of the frame's service call; for OFFER_INTENT, the
one that is offered. Of a key that stands there twice, the last counts. All that is as in the authors' generator, and so
is the order of a turn's sentences: SELECT, INFORM_COUNT, NOTIFY_SUCCESS, NOTIFY_FAILURE, INFORM, REQUEST, CONFIRM, then
the others, each in the order of the acts; a frame that confirms begins with "Please confirm the following details:".

Theirs fails where there is no template. Ours leaves the act out and says so; where nothing that confirms is left, the
phrase is left out, too. Nor does it mind a service without a file.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

import msgspec

from troth.core.errors import UserError, near
from troth.core.records import Act, Frame, Turn

ENDING = ".tsv"
VALUE, SEPARATOR = "@", "!!"
ORDER = ("SELECT", "INFORM_COUNT", "NOTIFY_SUCCESS", "NOTIFY_FAILURE", "INFORM", "REQUEST", "CONFIRM")
BY_INTENT = ("NOTIFY_FAILURE", "NOTIFY_SUCCESS", "INFORM_COUNT", "OFFER_INTENT")
OWN = ("True", "False", "dontcare")  # values with sentences of their own
CONFIRM = "Please confirm the following details:"

Templates = dict[str, dict[str, str]]  # service to key to text


class Sentence(NamedTuple):
    """An act in words; None where no template is there for it."""

    service: str
    act: Act
    key: str
    text: str | None


class Response(NamedTuple):
    text: str
    lacking: tuple[Sentence, ...]


def read(folder: str) -> Templates:
    """Every `.tsv` file of a folder, under its service's name."""
    place = Path(folder)
    try:
        if not place.is_dir():
            raise UserError("no such folder", file=folder, hint="name the folder with the services' .tsv files")
        found = {file.stem: _file(file) for file in sorted(place.glob(f"*{ENDING}"))}
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", file=error.filename or folder) from error
    if not found:
        raise UserError(f"no {ENDING} file in this folder", file=folder, hint="one a service, such as Hotels_2.tsv")
    return found


def _file(file: Path) -> dict[str, str]:
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise UserError("not valid UTF-8", file=str(file), hint="save it as UTF-8") from error
    made = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        key, _, text = (part.strip() for part in line.partition("\t"))
        problem = _problem(key, text)
        if problem is not None:
            raise UserError(f"line {number}: {problem}", file=str(file), hint="see docs/formats.md, templates")
        made[key] = text
    return made


def _problem(key: str, text: str) -> str | None:
    if not key or not text or "\t" in text:
        return "is not a key, a tab and a text"
    if key.count(VALUE) != text.count(VALUE):
        return f"{key.count(VALUE)} {VALUE} in the key and {text.count(VALUE)} in the text"
    return None


def key(act: Act, frame: Frame) -> str:
    """What the act's template is found by."""
    marks = VALUE * len(act.values)
    if act.act in BY_INTENT:
        parts = [act.act, *filter(None, [_intent(act, frame)])]
        return SEPARATOR.join([*parts, "count", *filter(None, [marks])] if act.act == "INFORM_COUNT" else parts)
    parts = [act.act, *filter(None, [act.slot])]
    if act.slot and act.values:
        parts.append(act.values[0] if len(act.values) == 1 and act.values[0] in OWN else marks)
    return SEPARATOR.join(parts)


def sentences(frame: Frame, templates: Templates) -> list[Sentence]:
    """The frame's acts in words, in the order in which they are said."""
    known = templates.get(frame.service, {})
    made = []
    for act in sorted(frame.acts, key=lambda act: ORDER.index(act.act) if act.act in ORDER else len(ORDER)):
        name = key(act, frame)
        made.append(Sentence(frame.service, act, name, _filled(known[name], act) if name in known else None))
    return made


def response(turn: Turn, templates: Templates) -> Response:
    """What the turn says by its templates, and the acts that have none; an empty text if none has."""
    said: list[str] = []
    lacking: list[Sentence] = []
    for frame in turn.frames:
        made = sentences(frame, templates)
        texts = [sentence.text for sentence in made if sentence.text is not None]
        if any(sentence.act.act == "CONFIRM" and sentence.text is not None for sentence in made):
            said.append(CONFIRM)
        said += texts
        lacking += [sentence for sentence in made if sentence.text is None]
    return Response(" ".join(said), tuple(lacking))


def fingerprint(templates: Templates) -> str:
    """A short hash of all texts under their keys: whatever moves what is said."""
    told = [(service, sorted(texts.items())) for service, texts in sorted(templates.items())]
    return hashlib.sha256(msgspec.json.encode(told)).hexdigest()[:8]


def hint(service: str, key: str, templates: Templates) -> str | None:
    """What may have been meant where a template is lacking."""
    known = templates.get(service)
    return near(service, templates) if known is None else near(key, known)


def _intent(act: Act, frame: Frame) -> str | None:
    if act.act == "OFFER_INTENT" and act.values:
        return act.values[0]
    return frame.service_call.method if frame.service_call else None


def _filled(text: str, act: Act) -> str:
    first, *rest = text.split(VALUE)  # as many as there are values, or, for a sentence of its own, none
    return first + "".join(value + part for value, part in zip(act.values, rest, strict=False))
