"""Errors that are the user's to mend: one line that says what, where and what next; never a traceback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Bad input or wrong use. The command line prints it as one line and exits with 2."""

    def __init__(
        self,
        what: str,
        *,
        file: str | None = None,
        dialogue: str | None = None,
        turn: int | None = None,
        hint: str | None = None,
    ) -> None:
        self.what, self.file, self.dialogue, self.turn, self.hint = what, file, dialogue, turn, hint
        super().__init__(self.line())

    def line(self) -> str:
        place = [f"dialogue {self.dialogue}"] if self.dialogue is not None else []
        if self.turn is not None:
            place.append(f"turn {self.turn}")
        parts = [self.file, ", ".join(place), self.what]
        text = ": ".join(part for part in parts if part)
        if self.hint:
            text += f" ({self.hint})"
        # Text from files may hold line breaks and control characters; an error stays one harmless line.
        return "".join(c if c.isprintable() else " " for c in text)

    def at(
        self,
        *,
        file: str | None = None,
        dialogue: str | None = None,
        turn: int | None = None,
        hint: str | None = None,
    ) -> UserError:
        """The same error with the place (and a next step) filled in where it was not known yet."""
        return type(self)(
            self.what,
            file=self.file or file,
            dialogue=self.dialogue if self.dialogue is not None else dialogue,
            turn=self.turn if self.turn is not None else turn,
            hint=self.hint or hint,
        )


class PredictionError(UserError):
    """Something wrong on the prediction's side of a pair: the file to name is the prediction's."""


class GoneError(Exception):
    """Whoever read our output has gone (`| head`)."""


def near(name: str, known: Iterable[str]) -> str | None:
    """A hint that names the closest known name, or None where nothing is close."""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"did you mean '{found[0]}'?" if found else None
