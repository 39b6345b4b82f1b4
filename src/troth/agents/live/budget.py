"""A budget of what a live run may ask: requests or tokens.

Every request counts that a server may bill, also one that fails and is repeated. Where a server reports no tokens, or
zero, they are estimated by the length of what was sent and received.
"""

from __future__ import annotations

import re
import threading

from troth.core.errors import UserError
from troth.core.trajectories import Usage

EXHAUSTED = "budget"
UNITS = {"": 1, "k": 1_000, "m": 1_000_000}
PER_TOKEN = 4  # characters, about


class UnansweredError(Exception):
    """No usable answer after all tries; the text is the reason, in a few words."""


class Budget:
    """What a run may ask: a number of requests or of tokens. Answers from the journal cost nothing."""

    def __init__(self, text: str | int | None = None) -> None:
        """`text`: such as `500`, `500 calls`, `200k tokens`; None: without a limit."""
        limit = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([km]?)\s*(calls?|tokens?)?", str(text or "").strip().lower())
        if text is not None and (limit is None or float(limit[1]) <= 0):
            raise UserError(f"'{text}' is not a valid budget", hint="such as 500, 500calls or 200ktokens")
        self.unit = "tokens" if limit is not None and (limit[3] or "").startswith("token") else "calls"
        self.limit = None if limit is None else float(limit[1]) * UNITS[limit[2]]
        self.calls = self.tokens = 0
        self._lock = threading.Lock()

    def stop(self) -> None:
        """From now on nothing more is asked."""
        self.limit = 0

    def charge(self, sent: int) -> None:
        """Counts a request of `sent` characters before it is sent; UnansweredError once the budget is used up."""
        with self._lock:
            used = self.tokens if self.unit == "tokens" else self.calls
            if self.limit is not None and used >= self.limit:
                raise UnansweredError(EXHAUSTED)
            self.calls += 1
            self.tokens += estimate_tokens(sent)

    def settle(self, sent: int, received: int, usage: Usage | None) -> None:
        """Counts the answer to a request, and what the server reports in place of the estimates."""
        with self._lock:
            self.tokens += (usage.output_tokens if usage is not None else 0) or estimate_tokens(received)
            if usage is not None and usage.input_tokens:
                self.tokens += usage.input_tokens - estimate_tokens(sent)


def estimate_tokens(characters: int) -> int:
    return characters // PER_TOKEN + 1
