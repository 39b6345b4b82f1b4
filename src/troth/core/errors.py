"""Errors that the user can fix: one line that says what is wrong, where, and what to do next; never a traceback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TypedDict, Unpack

NAMED, SAID, PATH = 200, 1000, 4096  # characters of a name, a statement and a path that an error shows


class ErrorPlace(TypedDict, total=False):
    """Where an error is, and what the user can do next; each part may be unknown."""

    file: str | None
    dialogue: str | None
    turn: int | None
    hint: str | None
    option: str | None  # the keyword that has a wrong value; the command line names its flag instead


class UserError(Exception):
    """Bad input or wrong use. The command line prints it as one line and exits with 2."""

    def __init__(self, what: str, **place: Unpack[ErrorPlace]) -> None:
        self.what, self.file, self.dialogue = what, place.get("file"), place.get("dialogue")
        self.turn, self.hint, self.option = place.get("turn"), place.get("hint"), place.get("option")
        super().__init__(self.line())

    def line(self) -> str:
        place = [f"dialogue {truncate(self.dialogue, NAMED)}"] if self.dialogue is not None else []
        if self.turn is not None:
            place.append(f"turn {self.turn}")
        what = self.what if self.option is None else f"{self.option} {self.what}"
        parts = [self.file and truncate(self.file, PATH), ", ".join(place), truncate(what)]
        text = ": ".join(part for part in parts if part)
        if self.hint:
            text += f" ({truncate(self.hint)})"
        return one_line(text)

    def at(self, **place: Unpack[ErrorPlace]) -> UserError:
        """The same error with its location (and a next step) added, where they were not known yet."""
        return type(self)(
            self.what,
            file=self.file or place.get("file"),
            dialogue=self.dialogue if self.dialogue is not None else place.get("dialogue"),
            turn=self.turn if self.turn is not None else place.get("turn"),
            hint=self.hint or place.get("hint"),
            option=self.option or place.get("option"),
        )

    def rename_option(self, option: str) -> UserError:
        """The same error under another name of the option: its flag on the command line."""
        place = ErrorPlace(file=self.file, dialogue=self.dialogue, turn=self.turn, hint=self.hint, option=option)
        return type(self)(self.what, **place)


class PredictionError(UserError):
    """An error in the prediction of a pair: the message names the prediction's file."""


class ImmediateExit(BaseException):
    """An interrupt that ends the command at once: stopping its libraries would take seconds."""


class OutputClosedError(Exception):
    """The reader of our output has closed the pipe (`| head`)."""


def suggest_name(name: str, known: Iterable[str]) -> str | None:
    """A hint that names the closest known name, or None where nothing is close."""
    if len(name) > NAMED:  # no slip of the pen, and comparing takes long
        return None
    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"did you mean '{matches[0]}'?" if matches else None


def truncate(text: str, length: int = SAID) -> str:
    """The text, or the beginning and end of a long one: a file may contain a name of ten megabytes."""
    return text if len(text) <= length else f"{text[: length - length // 4]} … {text[-(length // 4) :]}"


def one_line(text: str) -> str:
    """Text without line breaks and control characters, which text from files may hold."""
    return "".join(c if c.isprintable() else " " for c in text)
